//! The symbols referenced by the signal handler of `engine=async`.

use std::process::Command;

use crate::harness::{agent, is_release_build, skip};

/// Its section in the library.
const SECTION: &str = "hprof_handler";

/// The functions that a handler may call: POSIX and Linux allow them, or they are functions of the C library that only
/// return the address of the thread's `errno`, or the thread's own value in a slot. AsyncGetCallTrace and the previous
/// handler are called by address.
const ALLOWED: [&str; 4] = [
    "__errno_location",
    "clock_gettime",
    "pthread_getspecific",
    "syscall",
];

/// The function that ends the process where a panic would leave a C function. The compiler adds a call of it after the
/// last instruction of the handler, unless it finds by itself that nothing in there panics. Nothing does: what begins a
/// panic is a call, too, and is not allowed.
const NEVER_REACHED: &str = "panic_cannot_unwind";

/// Returns the output of `objdump` for the section; `None` if it is missing, or the library is not the one that users
/// get.
fn disassembled() -> Option<String> {
    if !is_release_build() {
        skip("what the signal handler refers to: the agent is no release build");
        return None;
    }
    let objdump = Command::new("objdump")
        .args(["--disassemble", "--section", SECTION])
        .arg(agent())
        .output();
    match objdump {
        Ok(output) if output.status.success() => {
            Some(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        _ => {
            skip("what the signal handler refers to: there is no objdump");
            None
        }
    }
}

/// Returns the symbol in `call 1234 <symbol+0x56>` or `call *0x12(%rip)  # 1234 <symbol@GLIBC_2.2.5>`.
fn target(line: &str) -> Option<&str> {
    let (_, symbol) = line.rsplit_once('<')?;
    let symbol = symbol.split_once('>')?.0;
    Some(symbol.split(['+', '@']).next().unwrap_or(symbol))
}

/// Returns the function that the loader puts into the slot of `call *0x12(%rip)  # 1234 <_DYNAMIC+0x56>`, which has no
/// name of its own.
fn function_in_slot(line: &str) -> Option<String> {
    let (_, slot) = line.split_once("# ")?;
    let slot = u64::from_str_radix(slot.split_whitespace().next()?, 16).ok()?;
    let objdump = Command::new("objdump")
        .args(["--dynamic-reloc", "--syms"])
        .arg(agent())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&objdump.stdout).into_owned();
    // `0000000000001234 R_X86_64_RELATIVE  *ABS*+0x0000000000005678`, and `0000000000005678 l F .text ... name`.
    let place = |line: &str| u64::from_str_radix(line.split_whitespace().next()?, 16).ok();
    let of = |place_of: u64, kind: &str| {
        let mut lines = text.lines();
        let found = lines.find(|line| line.contains(kind) && place(line) == Some(place_of));
        found.and_then(|line| line.split_whitespace().last().map(str::to_owned))
    };
    let function = of(slot, "_RELATIVE")?;
    let function = u64::from_str_radix(function.strip_prefix("*ABS*+0x")?, 16).ok()?;
    of(function, " F .text")
}

#[test]
fn the_handler_calls_nothing_that_is_not_on_its_list() {
    let Some(text) = disassembled() else { return };
    let own: Vec<&str> = text
        .lines()
        .filter(|line| line.ends_with(">:"))
        .filter_map(target)
        .collect();
    assert!(!own.is_empty(), "the section is there: {text}");
    let mut called = Vec::new();
    for line in text.lines() {
        let Some(instruction) = line.rsplit('\t').next() else {
            continue;
        };
        // Of both processors: call, jmp and its kin; bl, b, b.eq, cbz, tbnz and their kin.
        let leaves = ["call", "j", "bl", "b ", "b.", "cb", "tb"]
            .iter()
            .any(|begin| instruction.starts_with(begin));
        if leaves && let Some(symbol) = target(instruction) {
            let function = match symbol {
                "_DYNAMIC" => function_in_slot(instruction),
                _ => None,
            };
            called.push(function.unwrap_or_else(|| symbol.to_owned()));
        }
    }
    called.retain(|symbol| !own.contains(&&**symbol) && !symbol.contains(NEVER_REACHED));
    println!("{called:?}");
    assert!(
        called.iter().any(|symbol| symbol == "syscall"),
        "calls are found: {called:?}"
    );
    let refused: Vec<_> = called
        .iter()
        .filter(|symbol| !ALLOWED.contains(&&***symbol))
        .collect();
    assert!(refused.is_empty(), "{refused:?}");
}
