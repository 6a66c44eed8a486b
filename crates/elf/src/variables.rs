//! The variables of a library, those that it does not offer to others too.

use object::read::{Object, ObjectSymbol, ObjectSymbolTable, SymbolKind};

use super::source::{Elf, Source};

/// A variable of a library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its address in this process.
    pub address: usize,
    /// Its bytes.
    pub size: usize,
}

/// A variable that the library offers to others, so that its address is known.
#[derive(Clone, Copy, Debug)]
pub struct Exported<'name> {
    /// Its name in the file.
    pub name: &'name str,
    /// Its address in this process.
    pub address: usize,
}

impl Source {
    /// Returns the variables with these names, as the file has them; `None` for what it does not have.
    pub fn variables<const N: usize>(
        &self,
        exported: Exported<'_>,
        names: [&str; N],
    ) -> [Option<Variable>; N] {
        let found = self.with_elf(|elf| look_up(elf, exported, names));
        found.unwrap_or([None; N])
    }
}

fn look_up<const N: usize>(
    elf: &Elf<'_>,
    exported: Exported<'_>,
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
        if name == exported.name.as_bytes() {
            moved = Some(exported.address.wrapping_sub(address));
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

#[cfg(test)]
mod tests {
    use std::hint::black_box;
    use std::path::PathBuf;

    use super::*;

    static KNOWN_OF_THIS_TEST: [u64; 2] = [1, 2];
    static HIDDEN_OF_THIS_TEST: [u64; 3] = [3, 4, 5];

    /// Returns the name that the file has for a variable of this test.
    fn name(program: &Source, variable: &str) -> String {
        let found = program.with_elf(|elf| {
            let symbols = elf.symbol_table().into_iter();
            let mut symbols = symbols.flat_map(|table| table.symbols());
            let found = symbols.find(|symbol| {
                symbol.kind() == SymbolKind::Data
                    && symbol.name().is_ok_and(|name| name.contains(variable))
            });
            found.and_then(|symbol| symbol.name().ok().map(str::to_owned))
        });
        found.flatten().expect("a variable of this file")
    }

    #[test]
    fn variables_have_their_addresses_and_sizes() {
        let program: PathBuf = std::env::current_exe().expect("this test");
        let program = Source::File(program);
        let known = name(&program, "KNOWN_OF_THIS_TEST");
        let hidden = name(&program, "HIDDEN_OF_THIS_TEST");
        let exported = Exported {
            name: &known,
            address: black_box(&KNOWN_OF_THIS_TEST).as_ptr().addr(),
        };
        let names = [hidden.as_str(), "missing"];
        let variable = Variable {
            address: black_box(&HIDDEN_OF_THIS_TEST).as_ptr().addr(),
            size: 24,
        };
        assert_eq!(program.variables(exported, names), [Some(variable), None]);
        let unknown = Exported {
            name: "missing",
            ..exported
        };
        assert_eq!(program.variables(unknown, names), [None; 2]);
        assert_eq!(Source::Gone.variables(exported, names), [None; 2]);
    }
}
