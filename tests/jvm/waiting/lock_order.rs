//! The order of the agent's locks, checked by its debug build while programs run (`crates/locks/src/lib.rs`).

use std::ffi::OsString;
use std::io::{copy, sink};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::{fs, thread};

use crate::harness::{Jvm, Program, Running, skip};

/// Returns the library that Cargo has built for this test; `None` if it does not check.
fn checking_agent() -> Option<PathBuf> {
    let test = std::env::current_exe().expect("this test");
    let library = test.with_file_name("libhprof.so");
    let checks = cfg!(debug_assertions)
        && fs::read(&library).is_ok_and(|bytes| {
            let mut windows = bytes.windows(b"lock order: ".len());
            windows.any(|window| window == b"lock order: ")
        });
    if !checks {
        skip("the order of the agent's locks: the tests come without a debug build of it");
    }
    checks.then_some(library)
}

/// Starts `Steady` with that agent, and waits until it is under way.
fn steady(jvm: &Jvm, agent: Option<(&Path, &str)>) -> Running {
    let mut program = Program::bare_java(jvm, &[]);
    if let Some((library, options)) = agent {
        let mut argument = OsString::from("-agentpath:");
        argument.push(library);
        argument.push("=");
        argument.push(options);
        program = program.arg(argument);
    }
    let run = program.program("periods", "Steady").start();
    run.wait_for_output("ready");
    run
}

/// Ends `Steady`, and asserts that nothing has been found.
fn end(run: Running, options: &str) {
    fs::write(run.path("stop"), "").expect("the folder can be written");
    let run = run.wait();
    assert!(run.status.success(), "{options}: {}", run.stderr);
    let faults = ["lock order", "a fault of the agent"];
    let is_sound = !faults.iter().any(|fault| run.stderr.contains(fault));
    assert!(is_sound, "{options}: {}", run.stderr);
}

fn reports_keep_to_the_order(jvm: &Jvm) {
    let Some(library) = checking_agent() else {
        return;
    };
    for options in [
        "heap=sites,cpu=samples,monitor=y,thread=y,vmthreads=y,file=a.txt",
        "heap=all,format=b,file=a.hprof",
        "heap=dump,dumper=jvmti,format=b,file=a.hprof",
        "cpu=samples,engine=jvmti,file=a.txt",
        "cpu=times,thread=y,file=a.txt",
    ] {
        let run = steady(jvm, Some((&library, options)));
        run.send("QUIT");
        run.wait_for_stderr("done.");
        end(run, options);
    }
}

fn periods_keep_to_the_order(jvm: &Jvm) {
    let Some(library) = checking_agent() else {
        return;
    };
    let options = "heap=sites,cpu=samples,monitor=y,rotate=1s,keep=2,file=a.txt";
    let run = steady(jvm, Some((&library, options)));
    run.wait_until(|| run.path("a.3.txt").exists());
    end(run, options);
}

fn a_profile_over_the_network_keeps_to_the_order(jvm: &Jvm) {
    let Some(library) = checking_agent() else {
        return;
    };
    let receiver = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = receiver.local_addr().expect("bound").port();
    let reader = thread::spawn(move || {
        let (mut connection, _) = receiver.accept().expect("the agent connects");
        copy(&mut connection, &mut sink())
    });
    let options = format!("heap=sites,cpu=samples,format=b,net=127.0.0.1:{port}");
    let run = steady(jvm, Some((&library, &options)));
    run.send("QUIT");
    run.wait_for_stderr("done.");
    end(run, &options);
    let bytes = reader.join().expect("no panic").expect("the profile");
    assert!(bytes > 0);
}

fn attaching_keeps_to_the_order(jvm: &Jvm) {
    let Some(library) = checking_agent() else {
        return;
    };
    let run = steady(jvm, None);
    let library = library.display();
    for options in ["heap=sites,cpu=samples,monitor=y", "cpu=times"] {
        for command in [
            &*format!("start,{options},file=a.txt,force=y"),
            "dump",
            "status",
            "stop",
        ] {
            run.jcmd(&format!("JVMTI.agent_load {library} \"{command}\""));
        }
    }
    end(run, "attached");
}

on_every_jvm!(reports_keep_to_the_order, and 28);
on_every_jvm!(periods_keep_to_the_order, and 25);
on_every_jvm!(a_profile_over_the_network_keeps_to_the_order, and 26);
on_every_jvm!(attaching_keeps_to_the_order, and 17);
