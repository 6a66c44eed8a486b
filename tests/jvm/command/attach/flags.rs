//! The VM's flags that the agent sets for a profile.

use super::steps;
use crate::harness::{Jvm, Program, Running};

/// The flags that JDK 11 needs to send an event for every allocation.
const BUFFERS: [&str; 2] = ["TLABRefillWasteFraction", "ResizeTLAB"];

fn buffers(run: &Running) -> [Option<String>; 2] {
    BUFFERS.map(|flag| run.vm_flag(flag))
}

on_every_jvm!(a_stop_puts_back_what_was_set_for_allocations, and 26);

fn a_stop_puts_back_what_was_set_for_allocations(jvm: &Jvm) {
    let attached = steps(jvm, &[], &["make:1"]);
    let before = buffers(&attached);
    assert!(before[1].is_some(), "{}: the VM tells", jvm.feature);
    let set = match jvm.feature {
        11 => ["1", "false"].map(|value| Some(value.to_owned())),
        _ => before.clone(),
    };
    let options = "heap=sites,verbose=n,file=x.txt";
    let loaded = Program::java(jvm, options, &[]).program("attach", "Steps");
    let loaded = loaded.arg("make:1").start();
    loaded.wait_for_output("ready");
    assert_eq!(buffers(&loaded), set, "{}, from the start", jvm.feature);
    loaded.hprof_well("stop", &[]);
    assert_eq!(buffers(&loaded), before, "{}, from the start", jvm.feature);
    for run in [&attached, &loaded] {
        for options in [options, "heap=sites,sample=512k,verbose=n,file=y.txt"] {
            run.hprof_well("attach", &[&format!("{options},force=y")]);
            if !options.contains("sample") {
                assert_eq!(buffers(run), set, "{}, attached", jvm.feature);
            }
            run.hprof_well("stop", &[]);
            assert_eq!(buffers(run), before, "{}, attached", jvm.feature);
        }
    }
}
