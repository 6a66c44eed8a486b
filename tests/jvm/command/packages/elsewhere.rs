//! The packages for Windows and macOS.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::{has, package, run};
use crate::harness::skip;

const PROFILE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/crates/cli/tests/profiles/alloc.hprof.gz"
);

/// Unpacks the package with this end, and returns the folder in it; reports if there is none.
fn unpacked(end: &str, folder: &Path) -> Option<PathBuf> {
    let package = package("hprof-", end)?;
    let mut unpack = match end.ends_with(".zip") {
        true => Command::new("python3"),
        false => Command::new("tar"),
    };
    match end.ends_with(".zip") {
        true => unpack
            .args(["-m", "zipfile", "-e"])
            .arg(&package)
            .arg(folder),
        false => unpack.arg("-xf").arg(&package).arg("-C").arg(folder),
    };
    run(&mut unpack);
    let name = package.file_name()?.to_str()?;
    let name = name.trim_end_matches(".zip").trim_end_matches(".tar.gz");
    Some(folder.join(name))
}

/// Returns the names in a folder.
fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    names
        .map(|name| name.to_str().expect("a name in Unicode").to_owned())
        .collect()
}

/// The libraries that every Windows has.
const OF_WINDOWS: [&str; 12] = [
    "advapi32.dll",
    "api-ms-win-core-synch-l1-2-0.dll",
    "bcrypt.dll",
    "bcryptprimitives.dll",
    "iphlpapi.dll",
    "kernel32.dll",
    "msvcrt.dll",
    "ntdll.dll",
    "ole32.dll",
    "shell32.dll",
    "userenv.dll",
    "ws2_32.dll",
];

#[test]
fn the_zip_has_the_command_and_the_library_and_they_need_only_windows() {
    let folder = TempDir::new().expect("a folder");
    let Some(home) = unpacked("-windows-x86_64.zip", folder.path()) else {
        return;
    };
    let expected = [
        "CHANGELOG.md",
        "LICENSE-APACHE",
        "LICENSE-MIT",
        "THIRD-PARTY.txt",
        "book",
        "hprof.dll",
        "hprof.exe",
    ];
    assert_eq!(names(&home), BTreeSet::from(expected.map(str::to_owned)));
    assert!(home.join("book/index.md").is_file());
    if !has("objdump") {
        return;
    }
    for name in ["hprof.exe", "hprof.dll"] {
        let head = run(Command::new("objdump").arg("-p").arg(home.join(name)));
        assert!(head.contains("file format pei-x86-64"), "{name}: {head}");
        let needed = head
            .lines()
            .filter_map(|line| line.trim().strip_prefix("DLL Name: "));
        let strange: Vec<_> = needed
            .filter(|library| !OF_WINDOWS.contains(&library.to_lowercase().as_str()))
            .collect();
        assert!(strange.is_empty(), "{name}: {strange:?}");
        if name == "hprof.dll" {
            for entry in ["Agent_OnLoad", "Agent_OnAttach"] {
                assert!(head.contains(&format!("] {entry}\n")), "{entry}: {head}");
            }
        }
    }
}

#[test]
fn the_jar_has_the_library_for_windows() {
    // What `scripts/package` makes of all platforms, or of this one.
    let (Some(jar), Some(_)) = (
        package("hprof-", ".jar"),
        package("hprof-", "-windows-x86_64.zip"),
    ) else {
        return;
    };
    let listed = run(Command::new("python3")
        .args(["-m", "zipfile", "-l"])
        .arg(&jar));
    for name in ["hprof.exe", "hprof.dll", "SHA256"] {
        let path = format!("native/windows-x86_64/{name}");
        assert!(listed.contains(&path), "{path}: {listed}");
    }
}

#[test]
fn the_command_of_the_zip_reads_profiles_on_windows() {
    let folder = TempDir::new().expect("a folder");
    let Some(home) = unpacked("-windows-x86_64.zip", folder.path()) else {
        return;
    };
    if !has("wine") {
        return;
    }
    if std::env::var_os("WINEPREFIX").is_none() {
        skip(
            "running the command of the zip: $WINEPREFIX is not set; scripts/test-windows makes such a folder",
        );
        return;
    }
    let hprof = home.join("hprof.exe");
    let printed = run(Command::new("wine")
        .arg(&hprof)
        .args(["check", PROFILE])
        .env("WINEDEBUG", "-all"));
    assert!(printed.contains("ALLOC SITES"), "{printed}");
}

/// What the head of a program for macOS says.
#[derive(Debug, Default)]
struct MachO {
    processor: u32,
    libraries: Vec<String>,
    oldest_system: Option<u32>,
    is_signed: bool,
}

/// Reads the load commands, as `<mach-o/loader.h>` has them.
fn mach_o(bytes: &[u8]) -> MachO {
    let word = |at: usize| {
        let bytes = bytes[at..at + 4].try_into().expect("four bytes");
        u32::from_le_bytes(bytes)
    };
    assert_eq!(word(0), 0xFEED_FACF, "MH_MAGIC_64");
    let mut found = MachO {
        processor: word(4),
        ..MachO::default()
    };
    let mut at = 32;
    for _ in 0..word(16) {
        match word(at) {
            // LC_LOAD_DYLIB: the place of its name.
            0xC => {
                let name = &bytes[at + word(at + 8) as usize..at + word(at + 4) as usize];
                let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
                found.libraries.push(String::from_utf8_lossy(name).into());
            }
            // LC_VERSION_MIN_MACOSX and LC_BUILD_VERSION.
            0x24 => found.oldest_system = Some(word(at + 8)),
            0x32 => found.oldest_system = Some(word(at + 12)),
            // LC_CODE_SIGNATURE.
            0x1D => found.is_signed = true,
            _ => {}
        }
        at += word(at + 4) as usize;
    }
    found
}

#[test]
fn the_commands_for_macos_need_only_the_system() {
    // The oldest versions that Rust's programs run on, which the wheels promise, too.
    for (architecture, processor, oldest) in [
        ("aarch64", 0x0100_000C, 11 << 16),
        ("x86_64", 0x0100_0007, 10 << 16 | 12 << 8),
    ] {
        let folder = TempDir::new().expect("a folder");
        let end = format!("-macos-{architecture}.tar.gz");
        let Some(home) = unpacked(&end, folder.path()) else {
            continue;
        };
        let found = mach_o(&fs::read(home.join("bin/hprof")).expect("the command"));
        assert_eq!(found.processor, processor, "{found:?}");
        assert!(
            found.oldest_system.is_some_and(|version| version <= oldest),
            "{found:?}"
        );
        // The kernel of aarch64 starts nothing without a signature.
        assert!(found.is_signed || architecture == "x86_64", "{found:?}");
        for library in &found.libraries {
            let is_systems =
                library.starts_with("/usr/lib/lib") || library.starts_with("/System/Library/");
            assert!(is_systems, "{library}");
        }
        assert!(home.join("share/man/man1/hprof.1.gz").is_file());
    }
}
