//! The variables of a library, those that it does not offer to others too.

use std::path::PathBuf;

use object::read::{Object, ObjectSymbol, ObjectSymbolTable, SymbolKind};

use super::elf::{Elf, Source};
use super::library::{build_id, debug_files};
use super::mappings::Mapping;

/// A variable of a library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Variable {
    /// Its address in this process.
    pub(crate) address: usize,
    /// Its bytes.
    pub(crate) size: usize,
}

/// Returns the variables with these names, as they are in the file of the library that has the function; `None` for what it does not
/// have. `known` is a variable that the library offers to others: its name, and its address in this process.
pub(crate) fn variables<const N: usize>(
    function: usize,
    known: (&str, usize),
    names: [&str; N],
) -> [Option<Variable>; N] {
    let mut mappings = Mapping::of_code().into_iter();
    let has_it = |mapping: &Mapping| (mapping.begin..mapping.end).contains(&function);
    let Some(mapping) = mappings.find(has_it).filter(|mapping| !mapping.is_removed) else {
        return [None; N];
    };
    let source = Source::File(mapping.path.clone());
    let found = source.with_elf(|library| {
        let own = look_up(library, known, names);
        if own.iter().all(Option::is_some) {
            return own;
        }
        let apart = debug_files(&mapping.path, library).into_iter();
        let mut apart = apart.filter_map(|file| look_up_apart(file, library, known, names));
        apart.next().unwrap_or(own)
    });
    found.unwrap_or([None; N])
}

fn look_up_apart<const N: usize>(
    file: PathBuf,
    library: &Elf<'_>,
    known: (&str, usize),
    names: [&str; N],
) -> Option<[Option<Variable>; N]> {
    let found = Source::File(file)
        .with_elf(|elf| (build_id(elf) == build_id(library)).then(|| look_up(elf, known, names)));
    found.flatten()
}

fn look_up<const N: usize>(
    elf: &Elf<'_>,
    (known, known_address): (&str, usize),
    names: [&str; N],
) -> [Option<Variable>; N] {
    let mut found = [None; N];
    let mut moved = None;
    let symbols = elf.symbol_table().into_iter();
    let symbols = symbols.flat_map(|table| table.symbols());
    for symbol in symbols.filter(|symbol| symbol.kind() == SymbolKind::Data) {
        let Ok(name) = symbol.name_bytes() else {
            continue;
        };
        let address = symbol.address() as usize;
        if name == known.as_bytes() {
            moved = Some(known_address.wrapping_sub(address));
        }
        if let Some(place) = names.iter().position(|wanted| wanted.as_bytes() == name) {
            let size = symbol.size() as usize;
            found[place] = Some(Variable { address, size });
        }
    }
    // Without the distance that the library was moved by, no address is known.
    let Some(moved) = moved else {
        return [None; N];
    };
    found.map(|variable| {
        variable.map(|Variable { address, size }| Variable {
            address: address.wrapping_add(moved),
            size,
        })
    })
}
