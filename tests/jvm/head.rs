//! What a text profile says of the run that it is from.

use crate::harness::{Program, jvms};
use crate::profile::Profile;
use crate::cells::cells;

#[test]
fn the_head_names_the_jdk_the_options_and_the_process() {
    for jvm in jvms() {
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
}

#[test]
fn the_head_names_the_collector() {
    for cell in cells() {
        let run = Program::with_vm_options(
            cell.jvm,
            "cpu=samples,verbose=n,file=x.txt",
            &cell.vm_options(),
            "Hello",
        );
        let profile = Profile::parse(&run.run_well().read("x.txt"));
        assert_eq!(profile.head["Collector"], cell.collector, "{cell}");
    }
}

#[test]
fn an_attached_profile_says_so_and_a_killed_program_tells_no_length() {
    for jvm in jvms() {
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
}
