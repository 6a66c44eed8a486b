//! The requirements of the files on a system, read from the files themselves.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::{has, packages, platforms, run};
use crate::harness::skip;

/// The newest glibc whose symbols may be used: that of RHEL 7, and of `manylinux2014`.
const NEWEST_GLIBC: (u32, u32) = (2, 17);
/// The largest size of a library, in bytes.
const LARGEST_LIBRARY: u64 = 3_500_000;
/// The parts of glibc, which every system with glibc has.
const GLIBC_LIBRARIES: [&str; 8] = [
    "libc.so.6",
    "libm.so.6",
    "libdl.so.2",
    "libpthread.so.0",
    "librt.so.1",
    "libutil.so.1",
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
];

fn readelf(options: &str, file: &Path) -> String {
    run(Command::new("readelf").args(["-W", options]).arg(file))
}

/// Returns the names in brackets after a word: `Shared library: [libc.so.6]`.
fn needed(file: &Path) -> BTreeSet<String> {
    let dynamic = readelf("-d", file);
    let lines = dynamic.lines().filter(|line| line.contains("(NEEDED)"));
    lines
        .filter_map(|line| Some(line.split_once('[')?.1.trim_end_matches(']').to_owned()))
        .collect()
}

/// A dynamic symbol.
struct Symbol {
    name: String,
    is_defined: bool,
    /// `true` if it may be undefined.
    is_weak: bool,
}

/// Returns the symbols of a file: number, value, size, type, binding, visibility, section, name.
fn symbols(file: &Path) -> Vec<Symbol> {
    let table = readelf("--dyn-syms", file);
    let rows = table
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    rows.filter(|row| row.len() >= 8 && row[0].ends_with(':') && row[0] != "Num:")
        .map(|row| Symbol {
            name: row[7].split('@').next().unwrap_or_default().to_owned(),
            is_defined: row[6] != "UND",
            is_weak: row[4] == "WEAK",
        })
        .collect()
}

/// The library and the command of each platform.
fn each_file(check: impl Fn(&str, &Path)) {
    if !has("readelf") {
        return;
    }
    for (platform, root) in platforms() {
        for file in ["lib/libhprof.so", "bin/hprof"] {
            check(&platform, &root.join(file));
        }
    }
}

#[test]
fn glibc_2_17_is_new_enough() {
    each_file(|platform, file| {
        if !platform.ends_with("-gnu") {
            return;
        }
        let versions = readelf("-V", file);
        let wanted: BTreeSet<(u32, u32)> = versions
            .split("GLIBC_")
            .skip(1)
            .map(|rest| {
                let number = |c: char| c.is_ascii_digit() || c == '.';
                let version: String = rest.chars().take_while(|&c| number(c)).collect();
                let mut parts = version
                    .split('.')
                    .map(|part| part.parse().expect("a number"));
                (parts.next().expect("major"), parts.next().unwrap_or(0))
            })
            .collect();
        let newest = wanted.last().copied().expect("it needs glibc");
        assert!(newest <= NEWEST_GLIBC, "{}: {wanted:?}", file.display());
        assert!(!versions.contains("GLIBC_PRIVATE"), "{}", file.display());
        let strange: Vec<_> = needed(file)
            .into_iter()
            .filter(|library| !GLIBC_LIBRARIES.contains(&library.as_str()))
            .collect();
        assert!(strange.is_empty(), "{}: {strange:?}", file.display());
    });
}

#[test]
fn musl_has_every_symbol_that_is_needed() {
    let loader = Path::new("/lib/ld-musl-x86_64.so.1");
    if !loader.exists() {
        return skip("the symbols that the packages for musl need: musl is not installed");
    }
    let has: BTreeSet<String> = symbols(loader)
        .into_iter()
        .filter_map(|symbol| symbol.is_defined.then_some(symbol.name))
        .collect();
    assert!(has.contains("dlopen"), "{}: {has:?}", loader.display());
    each_file(|platform, file| {
        if !platform.ends_with("-musl") {
            return;
        }
        let libraries = needed(file);
        let is_musl = |library: &String| library == "libc.so" || library.starts_with("libc.musl-");
        assert!(
            libraries.iter().all(is_musl),
            "{}: {libraries:?}",
            file.display()
        );
        let unknown: Vec<_> = symbols(file)
            .into_iter()
            .filter(|symbol| !symbol.is_defined && !symbol.is_weak)
            .map(|symbol| symbol.name)
            .filter(|name| !has.contains(name))
            .collect();
        assert!(unknown.is_empty(), "{}: {unknown:?}", file.display());
    });
}

#[test]
fn the_library_shows_what_the_vm_calls_and_nothing_else() {
    each_file(|_, file| {
        if !file.ends_with("libhprof.so") {
            return;
        }
        for symbol in symbols(file).into_iter().filter(|symbol| symbol.is_defined) {
            let name = symbol.name;
            let is_the_vms = name.starts_with("Agent_On") || name.starts_with("Java_");
            assert!(is_the_vms, "{}: {name}", file.display());
        }
    });
}

#[test]
fn the_libraries_are_small_and_their_debug_information_is_beside_them() {
    for (platform, root) in platforms() {
        let library = root.join("lib/libhprof.so");
        let size = fs::metadata(&library).expect("a library").len();
        println!("{platform}: libhprof.so has {size} bytes");
        assert!(size <= LARGEST_LIBRARY, "{platform}: {size} bytes");
        let debug = packages().expect("packages").join("debug").join(&platform);
        for name in ["libhprof.so.debug", "hprof.debug"] {
            assert!(debug.join(name).is_file(), "{platform}: {name}");
        }
        let sections = readelf("-S", &library);
        assert!(sections.contains(".gnu_debuglink"), "{platform}");
        assert!(!sections.contains(".debug_line"), "{platform}");
    }
}

#[test]
fn no_file_tells_where_it_was_built() {
    let home = std::env::var("HOME").unwrap_or_else(|_| "/root".to_owned());
    each_file(|_, file| {
        let bytes = fs::read(file).expect("a file");
        for place in [env!("CARGO_MANIFEST_DIR"), &format!("{home}/.cargo")] {
            let is_there = bytes
                .windows(place.len())
                .any(|part| part == place.as_bytes());
            assert!(!is_there, "{}: {place}", file.display());
        }
    });
}
