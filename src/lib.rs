//! HPROF, the heap and CPU profiling agent, for current JVMs.
//!
//! The VM loads this library and calls `Agent_OnLoad`, or `Agent_OnAttach` when it is already running. `agent` reads the
//! options and builds the session; `session` is one profile from beginning to end; `engines` measure. What they build on
//! is in crates of its own: `jvmti` wraps the VM, `stacks` takes stacks, `names` keeps the names in them, `output` writes
//! the records, `memory` and `locks` are for all of them.

#![forbid(unsafe_code)]
// Tables ask for their memory, which tests need not: see `clippy.toml`.
#![cfg_attr(not(test), warn(clippy::disallowed_types))]
#![cfg_attr(
    not(test),
    deny(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss
    )
)]

mod agent;
mod engines;
mod os;
mod session;

use agent::Started;
use jvmti::{Jni, ReturnedBytes, Vm};
use output::console;

jvmti::export_agent!(crate::Hprof);

/// The agent, as the VM and the jar's class `io.hprof.Agent` call it.
struct Hprof;

impl jvmti::Agent for Hprof {
    fn on_load(vm: Vm, options: &str) -> bool {
        match agent::start(vm, options) {
            Ok(Started::Running) => true,
            Ok(Started::Help(help)) => {
                console::to_stdout(&help);
                std::process::exit(0)
            }
            Err(error) if error.is_lack_of_descriptors() => {
                console::line(format_args!(
                    "{error}; the program continues without a profile"
                ));
                true
            }
            Err(error) => {
                console::line(format_args!("{error}"));
                false
            }
        }
    }

    fn on_attach(vm: Vm, command: &str) -> bool {
        agent::attach(vm, command)
    }

    fn begin_count(jni: Jni<'_>, all_threads: bool) -> i64 {
        agent::begin_count(jni, all_threads)
    }

    fn end_count(jni: Jni<'_>, number: i64) -> ReturnedBytes {
        agent::end_count(jni, number)
    }

    fn live_of_count(jni: Jni<'_>, number: i64) -> ReturnedBytes {
        agent::live_of_count(jni, number)
    }
}
