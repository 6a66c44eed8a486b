//! The facts about the run in a text profile.

use crate::cells::Cell;
use crate::harness::{Jvm, Program};
use crate::profile::Profile;

on_every_jvm!(the_head_names_the_jdk_the_options_and_the_process, and 17);

fn the_head_names_the_jdk_the_options_and_the_process(jvm: &Jvm) {
    let run = Program::new(jvm, "cpu=samples,depth=7,file=x.txt", "Exits")
        .arg("wait")
        .env("_JAVA_HPROF_OPTIONS", "verbose=n")
        .start();
    let pid = run.id().to_string();
    run.wait_for_output("ready");
    run.send("TERM");
    let run = run.wait();
    let text = run.read("x.txt");
    let profile = Profile::parse(&text);
    let fact = |label: &str| &*profile.head[label];
    let version = format!("{}.", jvm.feature);
    assert!(fact("JDK").starts_with(&version), "{}", fact("JDK"));
    assert!(fact("JDK").contains("Server VM"), "{}", fact("JDK"));
    assert_eq!(fact("Options"), "cpu=samples,depth=7,file=x.txt,verbose=n");
    assert_eq!(fact("Process"), pid);
    let created = text.lines().next().expect("a line");
    assert!(created.ends_with(fact("Started")), "{created}");
    let length = profile.length.expect("it has an end");
    assert!((0.001..3_600.0).contains(&length), "{length}");
}

on_every_jvm!(the_head_names_the_program_and_no_secret, and 28);

fn the_head_names_the_program_and_no_secret(jvm: &Jvm) {
    let run = |options: &str| {
        let flags = ["-Dplain=1", "-Ddb.Password=hunter2"];
        Program::with_vm_options(jvm, options, &flags, "Hello")
            .arg("two words")
            .arg("--db-passwd")
            .arg("hunter3")
            .arg("--port")
            .arg("80")
            .env("JAVA_TOOL_OPTIONS", "-Dmore=2 -Dapi.token=hunter4")
            .run_well()
    };
    let text = run("cpu=samples,verbose=n,file=x.txt").read("x.txt");
    let binary = run("cpu=samples,verbose=n,file=x.hprof").checked_text("x.hprof");
    for text in [&text, &binary] {
        assert!(!text.contains("hunter"), "{text}");
        let profile = Profile::parse(text);
        let fact = |label: &str| &*profile.head[label];
        assert_eq!(
            fact("Program"),
            "Hello two words [REDACTED] [REDACTED] --port 80"
        );
        let flags = fact("Flags");
        assert!(flags.contains("-Dplain=1 [REDACTED] "), "{flags}");
        assert!(
            flags.ends_with("(JAVA_TOOL_OPTIONS: -Dmore=2 [REDACTED])"),
            "{flags}"
        );
        assert!(fact("Options").starts_with("cpu=samples,verbose=n,file=x."));
        // `27.0.1`, and of one in early access `28-ea`.
        let feature = jvm.feature.to_string();
        let update = fact("JDK").strip_prefix(&*feature);
        assert!(update.is_some_and(|update| update.starts_with(['.', '-'])));
        assert!(profile.head.contains_key("Started"));
        let length = profile.length.expect("it has an end");
        assert!((0.001..3_600.0).contains(&length), "{length}");
    }
}

on_every_cell!(the_head_names_the_collector, and 25);

fn the_head_names_the_collector(cell: &Cell) {
    let run = Program::with_vm_options(
        cell.jvm,
        "cpu=samples,verbose=n,file=x.txt",
        &cell.vm_options(),
        "Hello",
    );
    let profile = Profile::parse(&run.run_well().read("x.txt"));
    assert_eq!(profile.head["Collector"], cell.collector, "{cell}");
}

on_every_jvm!(an_attached_profile_says_so_and_a_killed_program_tells_no_length, and 26);

fn an_attached_profile_says_so_and_a_killed_program_tells_no_length(jvm: &Jvm) {
    let run = Program::bare_java(jvm, &[])
        .program("attach", "Steps")
        .start();
    run.wait_for_output("ready");
    run.hprof_well("attach", &["cpu=samples,verbose=n,file=x.txt"]);
    run.wait_until(|| {
        let text = std::fs::read_to_string(run.path("x.txt"));
        text.is_ok_and(|text| text.ends_with('\n'))
    });
    run.send("KILL");
    let profile = Profile::parse(&run.wait().read("x.txt"));
    assert!(profile.head.contains_key("Attached"), "{}", jvm.feature);
    assert_eq!(profile.length, None, "{}", jvm.feature);
}
