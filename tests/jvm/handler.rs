//! The symbols referenced by the signal handler of `engine=async`.

use std::process::Command;

use crate::harness::{agent, is_release_build, skip};

/// Its section in the library.
const SECTION: &str = "hprof_handler";

/// The functions that a handler may call: POSIX and Linux allow them, or they are functions of the C library that only
/// return the address of the thread's `errno`, or the thread's own value in a slot. AsyncGetCallTrace and the previous
/// handler are called by address.
const ALLOWED: [&str; 3] = ["__errno_location", "pthread_getspecific", "syscall"];

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
            called.push(symbol);
        }
    }
    called.retain(|symbol| !own.contains(symbol));
    println!("{called:?}");
    assert!(called.contains(&"syscall"), "calls are found: {called:?}");
    let refused: Vec<_> = called
        .iter()
        .filter(|symbol| !ALLOWED.contains(symbol))
        .collect();
    assert!(refused.is_empty(), "{refused:?}");
}
