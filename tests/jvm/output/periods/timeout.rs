//! A profile that ends by itself.

use super::{Sums, end, steady};
use crate::harness::Jvm;
use crate::heap::sites::count;
use crate::profile::Profile;

on_every_jvm!(time_ends_the_profile_and_not_the_program, and 26);

fn time_ends_the_profile_and_not_the_program(jvm: &Jvm) {
    let options = "heap=sites,cpu=times,include=Steady*,cutoff=0,timeout=2s,file=x.txt";
    let run = steady(jvm, options).start();
    run.wait_for_stderr("hprof: time is up: stopped; the profile is in");
    // When a profile has ended, another can begin.
    run.hprof_well("attach", &["heap=sites,cutoff=0,file=y.txt,verbose=n"]);
    let run = end(run);
    let first = Profile::parse(&run.read("x.txt"));
    let sums = Sums::of(&[first]);
    let all = Sums::told_by(&run);
    assert!(
        sums.items <= all.items && sums.calls <= all.calls,
        "{sums:?} of {all:?}"
    );
    let second = Profile::parse(&run.read("y.txt"));
    // Objects allocated earlier are in no row of their own.
    let items = count(&second, second.one_sites(), "Steady$Item", "");
    assert_eq!(items.live, all.kept, "{}", jvm.feature);
}
