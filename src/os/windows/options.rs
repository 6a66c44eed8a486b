//! Options that a system lacks.

use options::{Clock, Dumper, OptionError, Options};

/// Returns an error for an option that needs what only Linux has.
pub(crate) fn check(options: &Options) -> Result<(), OptionError> {
    let forks = matches!(options.dumper, Dumper::Fork | Dumper::ForkOnly);
    let charges_contexts = options.clock == Clock::Samples;
    let refused = [
        (charges_contexts, "clock", "samples", "cpu or wall"),
        (options.native, "native", "y", "n"),
        (options.native_memory.is_some(), "native", "malloc", "n"),
        (options.vm_threads, "vmthreads", "y", "n"),
        (options.black_box, "blackbox", "y", "n"),
        (options.live.is_some(), "live", "...", "left out"),
        (forks, "dumper", "fork", "auto, vm or jvmti"),
    ];
    let first = refused.into_iter().find(|&(is_given, ..)| is_given);
    first.map_or(Ok(()), |(_, name, value, allowed)| {
        Err(OptionError::Value {
            name,
            value: value.to_owned(),
            allowed: format!("{allowed} on Windows"),
        })
    })
}
