//! The functions of a library by their addresses.

use std::sync::Arc;

use memory::{List, Map, OrStop};
use object::read::{Object, ObjectSymbol, ObjectSymbolTable, SymbolKind};

use super::demangled::demangled;
use super::source::Elf;

/// The functions of a library.
#[derive(Default)]
pub struct Symbols {
    /// Sorted by their addresses.
    functions: List<Symbol>,
    /// The names as they are in the file, one after the other.
    names: List<u8>,
    /// `true` if the library has more than what it offers to others.
    has_all: bool,
    /// The names that were asked for, by the address of the function.
    known: Map<u64, Arc<str>>,
}

struct Symbol {
    begin: u64,
    size: u64,
    /// Its name's place among the names.
    name: usize,
    length: u32,
}

impl Symbols {
    /// Reads the functions of a library: all if the file has them, else those that it offers to others.
    pub(super) fn read(elf: &Elf<'_>) -> Self {
        let mut symbols = Self::default();
        if let Some(table) = elf.symbol_table() {
            symbols.add(table.symbols());
        }
        symbols.has_all = !symbols.functions.is_empty();
        if !symbols.has_all
            && let Some(table) = elf.dynamic_symbol_table()
        {
            symbols.add(table.symbols());
        }
        // Those of one address stay in their order, which is that of their names.
        let functions = &mut symbols.functions;
        functions.sort_unstable_by_key(|symbol| (symbol.begin, symbol.name));
        symbols
    }

    fn add<'data>(&mut self, symbols: impl Iterator<Item = impl ObjectSymbol<'data>>) {
        let symbols = symbols.filter(|symbol| {
            symbol.kind() == SymbolKind::Text && symbol.is_definition() && symbol.address() != 0
        });
        for symbol in symbols {
            let Ok(name) = symbol.name_bytes() else {
                continue;
            };
            let Ok(length) = u32::try_from(name.len()) else {
                continue;
            };
            let symbol = Symbol {
                begin: symbol.address(),
                size: symbol.size(),
                name: self.names.len(),
                length,
            };
            self.functions.push(symbol).or_stop();
            self.names.extend_from_slice(name).or_stop();
        }
    }

    /// Returns `true` if the library has more than what it offers to others.
    pub(super) fn has_all(&self) -> bool {
        self.has_all
    }

    /// Returns the name of the function at an address. Where none has it, the name is what `otherwise` returns as the
    /// beginning of the function, in angle brackets.
    pub fn name(&mut self, address: u64, otherwise: impl FnOnce() -> u64) -> Arc<str> {
        let found = self.symbol(address);
        let begin = found.map_or_else(otherwise, |symbol| symbol.begin);
        if let Some(known) = self.known.get(&begin) {
            return known.clone();
        }
        let name: Arc<str> = match found {
            Some(symbol) => {
                let end = symbol.name + symbol.length as usize;
                demangled(&self.names[symbol.name..end]).into()
            }
            None => format!("<{begin:#x}>").into(),
        };
        self.known.insert(begin, name.clone()).or_stop();
        name
    }

    /// Returns the symbol that an address belongs to. One without a size, as in assembly, reaches to the next.
    fn symbol(&self, address: u64) -> Option<&Symbol> {
        /// Symbols of the same place, or inside of each other, that are looked at.
        const MOST: usize = 8;
        let after = self
            .functions
            .partition_point(|symbol| symbol.begin <= address);
        let before = self.functions[..after].iter().rev().take(MOST);
        let has = |symbol: &&Symbol| symbol.size == 0 || address - symbol.begin < symbol.size;
        before.into_iter().find(has)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_the_name_of_the_function_around_it() {
        let mut symbols = Symbols::default();
        for (begin, size, name) in [
            (0x10, 0x10, "one"),
            (0x40, 0x20, "_ZN2GC4workEj"),
            (0x80, 0, "last"),
        ] {
            let symbol = Symbol {
                begin,
                size,
                name: symbols.names.len(),
                length: name.len() as u32,
            };
            symbols.functions.push(symbol).expect("little");
            let name = name.as_bytes();
            symbols.names.extend_from_slice(name).expect("little");
        }
        let mut name = |address| symbols.name(address, || 0x2_0000).to_string();
        assert_eq!(name(0x10), "one");
        assert_eq!(name(0x1f), "one");
        assert_eq!(name(0x20), "<0x20000>", "between two functions");
        assert_eq!(name(0x41), "GC::work");
        assert_eq!(name(0x1000), "last");
        assert_eq!(name(0xf), "<0x20000>");
    }
}
