//! Every garbage collector of every JVM.

use crate::cells::Cell;
use crate::harness::{Jvm, Program, skip};
use crate::profile::Profile;

on_every_cell!(every_collector, and 17);

fn every_collector(cell: &Cell) {
    assert_busy(cell.jvm, &cell.vm_options());
}

on_every_jvm!(the_collector_that_collects_nothing, and 28);

fn the_collector_that_collects_nothing(jvm: &Jvm) {
    let vm_options = ["-XX:+UnlockExperimentalVMOptions", "-XX:+UseEpsilonGC"];
    let bare = Program::bare_java(jvm, &vm_options).arg("-version").run();
    if !bare.status.success() {
        skip(&format!(
            "tests on JVM {} with the collector Epsilon: there is none",
            jvm.feature
        ));
        return;
    }
    assert_busy(jvm, &vm_options);
}

fn assert_busy(jvm: &Jvm, vm_options: &[&str]) {
    let vm_options = [vm_options, &["-Xmx256m"]].concat();
    let run = Program::with_vm_options(jvm, "cpu=samples,file=x.txt", &vm_options, "Exits")
        .arg("return")
        .run();
    assert!(
        run.status.success(),
        "{} {vm_options:?}: {}",
        jvm.feature,
        run.stderr
    );
    let profile = Profile::parse(&run.read("x.txt"));
    let busy = profile.share("Exits.busy");
    println!("{} {vm_options:?}: busy {busy:.2}", jvm.feature);
    assert!(busy > 0.5, "{} {vm_options:?}", jvm.feature);
}
