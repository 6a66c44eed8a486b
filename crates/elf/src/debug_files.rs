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
        let apart = self.with_debug_file(Symbols::read);
        apart.filter(Symbols::has_all).unwrap_or(own)
    }

    /// Calls the function with the file that has been made of the library for debuggers, if there is one.
    pub(super) fn with_debug_file<T>(&self, body: impl Fn(&Elf<'_>) -> T) -> Option<T> {
        let Self::File(path) = self else {
            return None;
        };
        let found = self.with_elf(|library| {
            let mut files = debug_files(path, library).into_iter();
            files.find_map(|file| {
                let apart = Self::File(file)
                    .with_elf(|elf| (build_id(elf) == build_id(library)).then(|| body(elf)));
                apart.flatten()
            })
        });
        found.flatten()
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
