//! The commands to an agent, however it was loaded.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::Duration;

use super::{EXACT, busy, end, go, made, profile, steps, text};
use hprof_format::Root;

use crate::harness::{Jvm, Program, agent, any_jvm, cli};
use crate::heap::dump::heap::{File, Thing};
use crate::profile::Profile;

on_every_jvm!(the_status_says_what_is_going_on, and 26);

fn the_status_says_what_is_going_on(jvm: &Jvm) {
    let run = steps(jvm, &[], &["make:1"]);
    let none = run.hprof_well("status", &[]);
    assert_eq!(
        none,
        format!(
            "no profile is running in process {}: the agent is not loaded",
            run.id()
        )
    );
    let output = run.path("x.txt");
    let output = fs::canonicalize(output.parent().expect("a folder"))
        .expect("it")
        .join("x.txt");
    let started = run.hprof_well("attach", &["cpu=samples,verbose=n,file=x.txt"]);
    assert_eq!(started, format!("profiling into {}", output.display()));
    let status = run.hprof_well("status", &[]);
    assert!(status.starts_with("profiling for "), "{status}");
    let what = format!(
        " s into {} (cpu=samples,verbose=n,file=x.txt,force=n)",
        output.display()
    );
    assert!(status.contains(&what), "{status}");
    assert!(
        run.hprof_well("dump", &[])
            .starts_with("dumped; profiling for ")
    );
    let stopped = run.hprof_well("stop", &[]);
    assert_eq!(
        stopped,
        format!("stopped; the profile is in {}", output.display())
    );
    let status = run.hprof_well("status", &[]);
    assert!(status.starts_with("no profile is running; "), "{status}");
    go(&run, 1);
    end(run);
}

on_every_jvm!(a_profile_from_the_start_can_be_stopped_and_another_started, and 17);

fn a_profile_from_the_start_can_be_stopped_and_another_started(jvm: &Jvm) {
    let program = Program::java(jvm, "cpu=samples,verbose=n,file=a.txt", &[]);
    let run = program
        .program("attach", "Steps")
        .args(["busy:400", "make:99"])
        .start();
    run.wait_for_output("ready");
    go(&run, 1);
    run.hprof_well("stop", &[]);
    run.hprof_well("attach", &[&format!("{EXACT}b.txt")]);
    go(&run, 2);
    run.hprof_well("stop", &[]);
    let (first, second) = (profile(&run, "a.txt"), profile(&run, "b.txt"));
    end(run);
    assert!(busy(&first, first.samples()) > 0.5, "{}", jvm.feature);
    assert!(first.threads.iter().any(|thread| thread.name == "main"));
    assert!(second.threads.iter().any(|thread| thread.name == "main"));
    assert_eq!(
        made(&second, "Steps$Thing", "Steps.make"),
        99,
        "{}",
        jvm.feature
    );
}

on_every_jvm!(attaching_is_no_request_for_a_dump, and 28);

fn attaching_is_no_request_for_a_dump(jvm: &Jvm) {
    let program = Program::java(jvm, "cpu=samples,file=x.txt", &[]);
    let run = program.program("attach", "Steps").arg("make:1").start();
    run.wait_for_output("ready");
    // The first request makes the VM open its socket, by SIGQUIT.
    run.hprof_well("status", &[]);
    go(&run, 1);
    let run = end(run);
    assert!(!run.stdout.contains("Full thread dump"), "{}", run.stdout);
    let profile = Profile::parse(&run.read("x.txt"));
    assert_eq!(profile.dumps.len(), 1, "{}: that at the end", jvm.feature);
}

on_every_jvm!(sigquit_dumps_while_a_profile_runs_and_only_then, and 25);

fn sigquit_dumps_while_a_profile_runs_and_only_then(jvm: &Jvm) {
    let run = steps(jvm, &[], &["make:5", "make:6"]);
    run.hprof_well("attach", &[&format!("{EXACT}x.txt")]);
    go(&run, 1);
    run.send("QUIT");
    run.wait_until(|| text(&run, "x.txt").contains("SITES END"));
    run.hprof_well("stop", &[]);
    let whole = text(&run, "x.txt");
    run.send("QUIT");
    run.wait_until(|| run.output("stdout").matches("Full thread dump").count() == 2);
    go(&run, 2);
    assert_eq!(text(&run, "x.txt"), whole, "{}", jvm.feature);
    end(run);
    assert_eq!(Profile::parse(&whole).sites.len(), 2, "{}", jvm.feature);
}

#[test]
fn a_dump_at_the_end_is_not_what_stops_a_profile() {
    let run = steps(any_jvm(), &[], &["make:7"]);
    run.hprof_well("attach", &[&format!("{EXACT}x.txt,doe=n")]);
    go(&run, 1);
    run.hprof_well("stop", &[]);
    assert_eq!(
        made(&profile(&run, "x.txt"), "Steps$Thing", "Steps.make"),
        7
    );
    end(run);
}

#[test]
fn help_is_for_the_one_who_asks() {
    let run = steps(any_jvm(), &[], &["make:1"]);
    assert!(run.hprof_well("attach", &["help"]).contains("\ncpu="));
    go(&run, 1);
    let run = end(run);
    assert_eq!((&*run.stderr, &*run.stdout), ("", "ready\ndone 1\nend\n"));
}

#[test]
fn the_command_finds_the_library_that_came_with_it() {
    for library in ["bin/libhprof.so", "lib/libhprof.so"] {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["bin", "lib"] {
            fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        let command = folder.path().join("bin/hprof");
        fs::copy(cli(), &command).expect("a copy");
        let run = steps(any_jvm(), &[], &["make:1"]);
        let attach = || {
            let mut hprof = Command::new(&command);
            let arguments = [
                "attach",
                &run.id().to_string(),
                "cpu=samples,verbose=n,file=x.txt",
            ];
            hprof.args(arguments).output().expect("hprof")
        };
        let missing = attach();
        assert!(String::from_utf8_lossy(&missing.stderr).contains("name it with --agent"));
        fs::copy(agent(), folder.path().join(library)).expect("a copy");
        let found = attach();
        assert!(found.status.success(), "{library}: {found:?}");
        // The library that the program has loaded needs no name.
        let stop = Command::new(&command)
            .args(["stop", &run.id().to_string()])
            .output();
        assert!(stop.expect("hprof").status.success());
        go(&run, 1);
        end(run);
    }
}

on_every_jvm!(the_list_names_the_program_and_whether_it_has_the_agent, and 26);

fn the_list_names_the_program_and_whether_it_has_the_agent(jvm: &Jvm) {
    let run = steps(jvm, &[], &["make:1"]);
    let entry = || {
        let list = Command::new(cli()).arg("list").output().expect("hprof");
        let list = String::from_utf8(list.stdout).expect("UTF-8");
        let id = run.id().to_string();
        let mut lines = list
            .lines()
            .map(|line| line.split_whitespace().map(str::to_owned));
        let entry =
            lines.find_map(|mut words| (words.next()? == id).then(|| words.collect::<Vec<_>>()));
        entry.unwrap_or_else(|| panic!("{id} is missing: {list}"))
    };
    let before = entry();
    let version = jvm.feature.to_string();
    assert!(before[0].starts_with(&version), "{before:?}");
    assert_eq!(before[1..], ["-", "Steps", "make:1"]);
    run.hprof_well("attach", &["cpu=samples,file=x.txt"]);
    assert_eq!(entry()[1..], ["yes", "Steps", "make:1"]);
    go(&run, 1);
    end(run);
}

on_every_jvm!(a_stop_adds_no_dump_of_the_heap_to_those_on_request, and 17);

fn a_stop_adds_no_dump_of_the_heap_to_those_on_request(jvm: &Jvm) {
    let run = steps(jvm, &[], &["make:1"]);
    let heap = |file: &str| format!("heap=dump,format=b,verbose=n,file={file}");
    run.hprof_well("attach", &[&heap("asked.hprof")]);
    run.hprof_well("dump", &["--yes"]);
    run.hprof_well("dump", &["--yes"]);
    run.hprof_well("stop", &["--yes"]);
    run.hprof_well("attach", &[&heap("none.hprof")]);
    run.hprof_well("stop", &["--yes"]);
    for (file, dumps) in [("asked.hprof", 2), ("none.hprof", 1)] {
        let checked = Command::new(cli())
            .arg("check")
            .arg(run.path(file))
            .output()
            .expect("hprof runs");
        let said = String::from_utf8(checked.stdout).expect("text");
        let ends = format!(" {dumps} HEAP DUMP END");
        assert!(said.contains(&ends), "{file}: {said}");
    }
    go(&run, 1);
    end(run);
}

on_every_jvm!(a_vm_that_is_starting_is_waited_for, and 17);

fn a_vm_that_is_starting_is_waited_for(jvm: &Jvm) {
    for delay in [60, 120, 180, 240] {
        let run = Program::bare_java(jvm, &[])
            .program("attach", "Steps")
            .arg("make:1")
            .start();
        thread::sleep(Duration::from_millis(delay));
        run.hprof_well("attach", &["cpu=samples,verbose=n,file=x.txt"]);
        run.wait_for_output("ready");
        go(&run, 1);
        end(run);
    }
}

on_every_jvm!(a_fork_dumps_the_heap_if_that_is_requested, and 17);

fn a_fork_dumps_the_heap_if_that_is_requested(jvm: &Jvm) {
    let run = steps(jvm, &["-XX:+UseSerialGC"], &["make:1"]);
    run.hprof_well("attach", &["heap=dump,format=b,verbose=n,file=x.hprof"]);
    let usual = "; heap dump by the VM's dumper: the fastest; the program stood still for ";
    let forked = "; heap dump by JVMTI in a forked child: asked for; the program stood still for ";
    for (options, how) in [(&[][..], usual), (&["--fork"], forked)] {
        let said = run.hprof_well("dump", options);
        assert!(said.contains(how), "{}: {said}", jvm.feature);
    }
    run.hprof_well("stop", &[]);
    run.hprof_well("attach", &["cpu=samples,verbose=n,file=y.txt"]);
    for verb in ["dump", "stop"] {
        let (is_well, said) = run.hprof(verb, &["--fork"]);
        let refused = "dumper=fork is for profiles with heap=dump or heap=all";
        assert!(!is_well && said.contains(refused), "{said}");
    }
    run.hprof_well("stop", &[]);
    run.hprof_well("attach", &["heap=dump,format=b,verbose=n,file=z.hprof"]);
    let stopped = run.hprof_well("stop", &["--fork"]);
    assert!(stopped.contains(forked), "{}: {stopped}", jvm.feature);
    go(&run, 1);
    let run = end(run);
    let file = File::read(&run.path("x.hprof"));
    assert_eq!(file.dumps.len(), 2);
    let noted = |how: &str| {
        let how = how.trim_start_matches("; ");
        file.notes.iter().any(|note| note.starts_with(how))
    };
    assert!(noted(usual) && noted(forked), "{:?}", file.notes);
    assert_eq!(File::read(&run.path("z.hprof")).dumps.len(), 1);
}

on_every_jvm!(the_heap_of_a_running_program_is_looked_at, and 28);

fn the_heap_of_a_running_program_is_looked_at(jvm: &Jvm) {
    let run = steps(jvm, &["-XX:+UseSerialGC"], &["make:1"]);
    let folder = run.path("tmp");
    fs::create_dir(&folder).expect("a folder");
    let process = run.id().to_string();
    let questions = [
        &["leaks", &process, "--threshold", "1"][..],
        &["heap", "summary", &process],
        &["heap", "who", &process, "--class", "java.lang.String"],
    ];
    for question in questions {
        let mut hprof = Command::new(cli());
        let output = hprof.args(question).env("TMPDIR", &folder).output();
        let output = output.expect("hprof");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{question:?}: {said}");
        let how = ": heap dump by JVMTI in a forked child: asked for; the program stood still for ";
        assert!(said.contains(how), "{question:?}: {said}");
        assert!(!output.stdout.is_empty(), "{question:?}");
        let left = fs::read_dir(&folder).expect("the folder").count();
        assert_eq!(left, 0, "{question:?}");
    }
    let status = run.hprof_well("status", &[]);
    assert!(status.starts_with("no profile is running; "), "{status}");
    go(&run, 1);
    end(run);
}

on_every_jvm!(the_heap_is_dumped_beside_a_profile, and 25);

fn the_heap_is_dumped_beside_a_profile(jvm: &Jvm) {
    let run = steps(
        jvm,
        &["-XX:+UseSerialGC"],
        &["make:7", "make:1000", "make:10"],
    );
    go(&run, 1);
    run.hprof_well("attach", &[&format!("{EXACT}x.txt")]);

    // Seven are alive that the profile has not seen. The dump must leave nothing of that to the profile.
    let dump_into = "heap,heap=dump,format=b,dumper=fork,verbose=n,file=";
    let early = run.path("early.hprof");
    let said = run.jcmd_load(&format!("{dump_into}{}", early.display()));
    assert!(said.contains("return code: 0"), "{said}");
    go(&run, 2);

    let mut who = Command::new(cli());
    let process = run.id().to_string();
    let output = who
        .args(["heap", "who", &process, "--class", "Steps$Thing"])
        .output();
    let output = output.expect("hprof");
    let shown = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{shown}");
    assert!(shown.contains("Steps.make("), "{shown}");
    let how = ": heap dump by JVMTI in a forked child: asked for; the program stood still for ";
    assert!(shown.contains(how), "{shown}");

    let (file, other) = (run.path("heap.hprof"), run.path("other.hprof"));
    let said = run.jcmd_load(&format!("{dump_into}{}", file.display()));
    assert!(said.contains("return code: 0"), "{said}");
    for options in [
        "heap=sites",
        "heap=all,format=b",
        "heap=dump,format=b,cpu=samples",
        "heap=dump,format=b,net=localhost:9",
    ] {
        let said = run.jcmd_load(&format!("heap,{options},file={}", other.display()));
        assert!(
            !said.contains("return code: 0") && !other.exists(),
            "{options}: {said}"
        );
    }
    let status = run.hprof_well("status", &[]);
    assert!(status.starts_with("profiling for "), "{status}");
    go(&run, 3);
    run.hprof_well("stop", &[]);
    let said = run.jcmd_load(&format!("{dump_into}{}", other.display()));
    assert!(
        !said.contains("return code: 0") && !other.exists(),
        "no profile: {said}"
    );
    let profile = profile(&run, "x.txt");
    assert_eq!(made(&profile, "Steps$Thing", "Steps.make"), 1_010);
    let sites = profile.one_sites().rows.iter();
    let alive = sites.filter(|site| site.class == "Steps$Thing");
    let alive: u64 = alive.map(|site| site.live).sum();
    assert_eq!(alive, 10, "the seven have died since the first dump");
    let _run = end(run);

    let file = File::read(&file);
    let dump = file.dump();
    let things = dump.objects.values().filter_map(|thing| match thing {
        Thing::Instance { class, trace, .. } => Some((class, *trace)),
        _ => None,
    });
    let made = things.filter(|(class, _)| dump.classes[class].name == "Steps$Thing");
    let made: Vec<u32> = made.map(|(_, trace)| trace).collect();
    assert_eq!(made.len(), 1_000);
    for trace in made {
        let frames = file.frames(trace);
        assert!(frames[0].starts_with("Steps.make("), "{frames:?}");
    }
    let threads: Vec<&str> = file.threads.values().map(String::as_str).collect();
    assert!(threads.contains(&"main"), "{threads:?}");
    for (_, root) in &dump.roots {
        if let Root::Thread { thread, .. } = root {
            assert!(
                file.threads.contains_key(&thread.0),
                "{root:?}: {threads:?}"
            );
        }
    }
}
