//! The agent gets no memory: the program does not notice, and the profile ends with one line.
//!
//! A malloc that fails for the agent alone is preloaded (`scripts/lib/failing_malloc.c`). `scripts/stress --memory` is
//! the long form of this, which also uses `ulimit -v`.

use crate::harness::{Jvm, Program, c_library};
use crate::profile::Profile;

const NO_MEMORY: &str = "hprof: the system gives the agent no memory";
const ENDS: &str = "hprof: the system gives the agent no memory; the profile ends here\n";
const NEVER_BEGAN: &str = "hprof: the system gives the agent no memory; there will be no profile\n";

/// Prepares a program whose agent gets no memory from its allocation of that number on. It continues for some rounds after
/// that, or does only these if it is not to `wait` for it.
fn without_memory(jvm: &Jvm, options: &str, from: u32, wait: bool) -> Option<Program> {
    let library = c_library("scripts/lib/failing_malloc.c")?;
    let program = Program::java(jvm, options, &["-Xmx128m"])
        .program("exits", "Shortage")
        .arg("20")
        .env("LD_PRELOAD", library.to_str().expect("UTF-8"))
        .env("HPROF_MALLOC_FROM", &from.to_string())
        .env("HPROF_MALLOC_SIGN", "failed");
    Some(if wait { program.arg("failed") } else { program })
}

on_every_jvm!(a_program_goes_on_when_its_agent_gets_no_memory, and 17);

fn a_program_goes_on_when_its_agent_gets_no_memory(jvm: &Jvm) {
    for (options, from) in [
        ("heap=sites,format=b,file=x.hprof", 1_500),
        (
            "heap=all,dumper=jvmti,cpu=samples,format=b,file=x.hprof",
            4_000,
        ),
        ("cpu=times,file=x.txt", 8_000),
        ("monitor=y,cpu=samples,file=x.txt", 1_500),
    ] {
        let Some(program) = without_memory(jvm, options, from, true) else {
            return;
        };
        let run = program.run();
        let context = format!("{} {options}: {} {}", jvm.feature, run.status, run.stderr);
        assert!(
            run.status.success() && run.stdout.ends_with("done\n"),
            "{context}"
        );
        // With `cpu=times` it may happen while the loaded classes are redefined, at the start.
        let has_ended = run.stderr.contains(ENDS);
        let never_began = options.starts_with("cpu=times") && run.stderr.contains(NEVER_BEGAN);
        assert!(has_ended || never_began, "{context}");
        assert_eq!(run.stderr.matches(NO_MEMORY).count(), 1, "{context}");
        let text = match options.contains("format=b") {
            true => run.checked_text("x.hprof"),
            false => run.read("x.txt"),
        };
        let profile = Profile::parse(&text);
        assert!(profile.length.is_some(), "{context}");
        assert_eq!(profile.no_memory, has_ended, "{context}");
    }
}

on_every_jvm!(an_agent_that_gets_no_memory_at_the_start_refuses_to_start, and 28);

fn an_agent_that_gets_no_memory_at_the_start_refuses_to_start(jvm: &Jvm) {
    let Some(program) = without_memory(jvm, "cpu=samples,file=x.txt", 5, false) else {
        return;
    };
    let run = program.run();
    assert_eq!(
        run.status.code(),
        Some(1),
        "{}: {}",
        jvm.feature,
        run.stderr
    );
    assert_eq!(run.stderr.trim_end(), NO_MEMORY, "{}", jvm.feature);
}

on_every_jvm!(what_threads_keep_for_the_agent_needs_no_memory_later, and 25);

/// glibc ends the process if a thread's first use of thread-local data, or a destructor for them, gets no memory.
fn what_threads_keep_for_the_agent_needs_no_memory_later(jvm: &Jvm) {
    for options in [
        "heap=sites,file=x.txt",
        "monitor=y,cpu=samples,interval=1,file=x.txt",
    ] {
        let Some(program) = without_memory(jvm, options, 0, false) else {
            return;
        };
        let run = program.env("HPROF_MALLOC_THREADS", "1").run();
        let context = format!("{} {options}: {} {}", jvm.feature, run.status, run.stderr);
        assert!(
            run.status.success() && run.stdout.ends_with("done\n"),
            "{context}"
        );
        assert!(!run.stderr.contains(NO_MEMORY), "{context}");
        assert!(
            Profile::parse(&run.read("x.txt")).length.is_some(),
            "{context}"
        );
    }
}
