//! Files that have the symbols of a library which has none itself.

use std::path::{Path, PathBuf};

use object::read::Object;

use super::source::{Elf, Source};
use super::symbols::Symbols;

impl Source {
    /// Reads the symbols of the library, or those of the file that has been made of it for debuggers; none if it cannot be
    /// read.
    pub fn symbols(&self) -> Symbols {
        let own = self.with_elf(Symbols::read).unwrap_or_default();
        if own.has_all() {
            return own;
        }
        let Self::File(path) = self else {
            return own;
        };
        let apart = self.with_elf(|elf| {
            let mut files = debug_files(path, elf).into_iter();
            files.find_map(|file| Symbols::read_apart(file, elf))
        });
        apart.flatten().unwrap_or(own)
    }
}

impl Symbols {
    /// Reads the symbols of a library from the file that has been made for debuggers; `None` if it is not of that library.
    fn read_apart(file: PathBuf, library: &Elf<'_>) -> Option<Self> {
        let symbols = Source::File(file).with_elf(|elf| {
            let is_of_it = build_id(elf) == build_id(library);
            is_of_it.then(|| Self::read(elf))
        });
        symbols.flatten().filter(Self::has_all)
    }
}

/// Returns the files that may have the symbols of a library which has none itself.
fn debug_files(path: &Path, elf: &Elf<'_>) -> Vec<PathBuf> {
    const DEBUG: &str = "/usr/lib/debug";
    let mut files = Vec::new();
    if let Some(id) = build_id(elf)
        && let Some((first, rest)) = id.split_first()
    {
        let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
        files.push(PathBuf::from(format!(
            "{DEBUG}/.build-id/{first:02x}/{rest}.debug"
        )));
    }
    if let Ok(Some((name, _))) = elf.gnu_debuglink()
        && let Ok(name) = std::str::from_utf8(name)
        && let Some(folder) = path.parent()
        && !name.contains('/')
    {
        files.push(folder.join(name));
        files.push(folder.join(".debug").join(name));
        let below = folder.strip_prefix("/").unwrap_or(folder);
        files.push(Path::new(DEBUG).join(below).join(name));
    }
    files
}

fn build_id(elf: &Elf<'_>) -> Option<Vec<u8>> {
    let id = elf.build_id().ok()??;
    Some(id.to_vec())
}
