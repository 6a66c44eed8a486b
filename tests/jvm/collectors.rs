//! Every collector of every JVM.

use crate::harness::{Program, jvms};
use crate::profile::Profile;

#[test]
fn every_collector() {
    let collectors = ["Serial", "Parallel", "G1", "Z", "Shenandoah", "Epsilon"];
    for jvm in jvms() {
        for collector in collectors {
            let choose = format!("-XX:+Use{collector}GC");
            let vm_options = ["-XX:+UnlockExperimentalVMOptions", &*choose, "-Xmx256m"];
            let run = Program::with_vm_options(jvm, "cpu=samples,file=x.txt", &vm_options, "Exits")
                .arg("return")
                .run();
            if run.stderr.contains("not supported") || run.stderr.contains("Unrecognized VM option")
            {
                println!("{}: has no {collector}", jvm.feature);
                continue;
            }
            assert!(
                run.status.success(),
                "{} {collector}: {}",
                jvm.feature,
                run.stderr
            );
            let profile = Profile::parse(&run.read("x.txt"));
            println!(
                "{} {collector}: busy {:.2}",
                jvm.feature,
                profile.share("Exits.busy")
            );
            assert!(
                profile.share("Exits.busy") > 0.5,
                "{} {collector}",
                jvm.feature
            );
        }
    }
}
