//! The JVMs and their garbage collectors, with one test for each.

use std::fmt;
use std::sync::OnceLock;

use crate::harness::{Jvm, Program, any_jvm, jvms, skip};

/// The versions with tests of their own. 28 is in early access.
pub const MATRIX: [u32; 7] = [11, 17, 21, 25, 26, 27, 28];

/// A garbage collector of a JVM.
pub struct Cell {
    pub jvm: &'static Jvm,
    pub collector: &'static str,
}

impl fmt::Display for Cell {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.jvm.feature, self.collector)
    }
}

impl Cell {
    /// Returns one for what does not depend on the JVM or its collector.
    pub fn any() -> Cell {
        Cell {
            jvm: any_jvm(),
            collector: "Serial",
        }
    }

    /// Returns the options that choose it.
    pub fn vm_options(&self) -> [&'static str; 2] {
        let choose = match self.collector {
            "Serial" => "-XX:+UseSerialGC",
            "Parallel" => "-XX:+UseParallelGC",
            "G1" => "-XX:+UseG1GC",
            "Z" => "-XX:+UseZGC",
            "Shenandoah" => "-XX:+UseShenandoahGC",
            other => panic!("{other}"),
        };
        ["-XX:+UnlockExperimentalVMOptions", choose]
    }

    /// Returns `true` if a GC can be forced while the VM ends; otherwise everything the last GC has left counts as
    /// alive.
    pub fn ends_with_a_gc(&self) -> bool {
        !matches!(self.collector, "Z" | "Shenandoah")
    }
}

/// Returns every garbage collector of every JVM.
pub fn cells() -> &'static [Cell] {
    static CELLS: OnceLock<Vec<Cell>> = OnceLock::new();
    CELLS.get_or_init(|| {
        let all = jvms().iter().flat_map(|jvm| {
            ["Serial", "Parallel", "G1", "Z", "Shenandoah"].map(|collector| Cell { jvm, collector })
        });
        all.filter(|cell| {
            let java = Program::bare_java(cell.jvm, &cell.vm_options());
            java.arg("-version").run().status.success()
        })
        .collect()
    })
}

/// Runs `check` on the JVM of a version; reports if there is none.
pub fn on_jvm(feature: u32, check: impl Fn(&'static Jvm)) {
    match jvms().iter().find(|jvm| jvm.feature == feature) {
        Some(jvm) => check(jvm),
        None => skip(&format!(
            "tests on JVM {feature}: it is not among those to test on"
        )),
    }
}

/// Runs `check` on the JVMs from a version on that the matrix does not name.
pub fn on_others_from(oldest: u32, check: impl Fn(&'static Jvm)) {
    let others = jvms().iter().filter(|jvm| !MATRIX.contains(&jvm.feature));
    others.filter(|jvm| jvm.feature >= oldest).for_each(check);
}

/// As `on_jvm`, only if there is a compiler too.
pub fn on_jdk(feature: u32, check: impl Fn(&'static Jvm)) {
    on_jvm(feature, |jvm| with_compiler(jvm, &check));
}

/// As `on_others_from`, only if there is a compiler too.
pub fn on_other_jdks_from(oldest: u32, check: impl Fn(&'static Jvm)) {
    on_others_from(oldest, |jvm| with_compiler(jvm, &check));
}

fn with_compiler(jvm: &'static Jvm, check: impl Fn(&'static Jvm)) {
    if !jvm.has_compiler() {
        skip(&format!(
            "tests of the compiler of JVM {}: there is none",
            jvm.feature
        ));
        return;
    }
    check(jvm);
}

/// Runs `check` with one garbage collector of the JVM of a version, whatever the case of its name; reports if there is none.
pub fn on_cell(feature: u32, collector: &str, check: impl Fn(&Cell)) {
    on_jvm(feature, |jvm| with_collector(jvm, collector, &check));
}

/// As `on_others_from`, with one garbage collector.
pub fn on_other_cells_from(oldest: u32, collector: &str, check: impl Fn(&Cell)) {
    on_others_from(oldest, |jvm| with_collector(jvm, collector, &check));
}

fn with_collector(jvm: &Jvm, collector: &str, check: impl Fn(&Cell)) {
    let mut cells = cells().iter();
    let is_it = |cell: &&Cell| {
        std::ptr::eq(cell.jvm, jvm) && cell.collector.eq_ignore_ascii_case(collector)
    };
    match cells.find(is_it) {
        Some(cell) => check(cell),
        None => skip(&format!(
            "tests on JVM {} with the collector {collector}: there is none",
            jvm.feature
        )),
    }
}

/// Declares one test for each JVM, in a module with the name of the `fn(&Jvm)` that they call.
///
/// With `and 25`, the tests on 25 and on a JVM of the other age run by default, one of up to 21 or one from 25 on, and
/// `scripts/test --all` runs the others too. The four pairs together are all JVMs, so the tests of a feature take them in turn.
/// Without it all run always, which is for code that differs from version to version.
macro_rules! on_every_jvm {
    ($check:ident) => {
        on_every_jvm!($check: jdk_11 on_jvm 11, jdk_17 on_jvm 17, jdk_21 on_jvm 21, jdk_25 on_jvm 25, jdk_26 on_jvm 26,
            jdk_27 on_jvm 27, jdk_28 on_jvm 28, other_jvms on_others_from 11);
    };
    ($check:ident, and 17) => {
        on_every_jvm!($check: jdk_17 on_jvm 17, jdk_27 on_jvm 27, other_jvms on_others_from 11;
            left out jdk_11 on_jvm 11, jdk_21 on_jvm 21, jdk_25 on_jvm 25, jdk_26 on_jvm 26, jdk_28 on_jvm 28);
    };
    ($check:ident, and 25) => {
        on_every_jvm!($check: jdk_11 on_jvm 11, jdk_25 on_jvm 25, other_jvms on_others_from 11;
            left out jdk_17 on_jvm 17, jdk_21 on_jvm 21, jdk_26 on_jvm 26, jdk_27 on_jvm 27, jdk_28 on_jvm 28);
    };
    ($check:ident, and 26) => {
        on_every_jvm!($check: jdk_21 on_jvm 21, jdk_26 on_jvm 26, other_jvms on_others_from 11;
            left out jdk_11 on_jvm 11, jdk_17 on_jvm 17, jdk_25 on_jvm 25, jdk_27 on_jvm 27, jdk_28 on_jvm 28);
    };
    ($check:ident, and 28) => {
        on_every_jvm!($check: jdk_11 on_jvm 11, jdk_28 on_jvm 28, other_jvms on_others_from 11;
            left out jdk_17 on_jvm 17, jdk_21 on_jvm 21, jdk_25 on_jvm 25, jdk_26 on_jvm 26, jdk_27 on_jvm 27);
    };
    ($check:ident from 21) => {
        on_every_jvm!($check: jdk_21 on_jvm 21, jdk_25 on_jvm 25, jdk_26 on_jvm 26, jdk_27 on_jvm 27, jdk_28 on_jvm 28,
            other_jvms on_others_from 21);
    };
    ($check:ident from 21, and 25) => {
        on_every_jvm!($check: jdk_21 on_jvm 21, jdk_25 on_jvm 25, jdk_27 on_jvm 27, other_jvms on_others_from 21;
            left out jdk_26 on_jvm 26, jdk_28 on_jvm 28);
    };
    ($check:ident from 21, and 26) => {
        on_every_jvm!($check: jdk_21 on_jvm 21, jdk_26 on_jvm 26, jdk_27 on_jvm 27, other_jvms on_others_from 21;
            left out jdk_25 on_jvm 25, jdk_28 on_jvm 28);
    };
    ($check:ident from 21, and 28) => {
        on_every_jvm!($check: jdk_21 on_jvm 21, jdk_27 on_jvm 27, jdk_28 on_jvm 28, other_jvms on_others_from 21;
            left out jdk_25 on_jvm 25, jdk_26 on_jvm 26);
    };
    ($check:ident from 25) => {
        on_every_jvm!($check: jdk_25 on_jvm 25, jdk_26 on_jvm 26, jdk_27 on_jvm 27, jdk_28 on_jvm 28, other_jvms on_others_from 25);
    };
    ($check:ident from 25, and 25) => {
        on_every_jvm!($check: jdk_25 on_jvm 25, jdk_27 on_jvm 27, other_jvms on_others_from 25;
            left out jdk_26 on_jvm 26, jdk_28 on_jvm 28);
    };
    ($check:ident on 17 and 27) => {
        on_every_jvm!($check: jdk_17 on_jvm 17, jdk_27 on_jvm 27);
    };
    ($check:ident: $($test:ident $on:ident $feature:literal),*
        $(; left out $($other:ident $on_other:ident $other_feature:literal),*)?) => {
        mod $check {
            $(
                #[test]
                fn $test() {
                    $crate::cells::$on($feature, super::$check);
                }
            )*
            $($(
                #[test]
                #[ignore = "scripts/test --all runs it"]
                fn $other() {
                    $crate::cells::$on_other($other_feature, super::$check);
                }
            )*)?
        }
    };
}

/// As `on_every_jvm`, for JVMs with a compiler. Those of 26 and 28 are not fetched.
macro_rules! on_every_jdk {
    ($check:ident, and 17) => {
        on_every_jvm!($check: jdk_17 on_jdk 17, jdk_27 on_jdk 27, other_jvms on_other_jdks_from 11;
            left out jdk_11 on_jdk 11, jdk_21 on_jdk 21, jdk_25 on_jdk 25, jdk_26 on_jdk 26, jdk_28 on_jdk 28);
    };
    ($check:ident, and 25) => {
        on_every_jvm!($check: jdk_11 on_jdk 11, jdk_25 on_jdk 25, other_jvms on_other_jdks_from 11;
            left out jdk_17 on_jdk 17, jdk_21 on_jdk 21, jdk_26 on_jdk 26, jdk_27 on_jdk 27, jdk_28 on_jdk 28);
    };
}

/// Declares one test for each garbage collector of each JVM, in a module with the name of the `fn(&Cell)` that they
/// call; `and 25` is as in `on_every_jvm`.
macro_rules! on_every_cell {
    ($check:ident) => {
        on_every_cell!($check with [serial, parallel, g1, z, shenandoah]);
    };
    ($check:ident, and $fourth:tt) => {
        on_every_cell!($check with [serial, parallel, g1, z, shenandoah], and $fourth);
    };
    ($check:ident with $collectors:tt) => {
        mod $check {
            on_cells_of!($check jdk_11 11 runs $collectors leaves []);
            on_cells_of!($check jdk_17 17 runs $collectors leaves []);
            on_cells_of!($check jdk_21 21 runs $collectors leaves []);
            on_cells_of!($check jdk_25 25 runs $collectors leaves []);
            on_cells_of!($check jdk_26 26 runs $collectors leaves []);
            on_cells_of!($check jdk_27 27 runs $collectors leaves []);
            on_cells_of!($check jdk_28 28 runs $collectors leaves []);
            on_cells_of!($check other_jvms from 11 $collectors);
        }
    };
    ($check:ident with $collectors:tt, and 17) => {
        mod $check {
            on_cells_of!($check jdk_11 11 runs [] leaves $collectors);
            on_cells_of!($check jdk_17 17 runs $collectors leaves []);
            on_cells_of!($check jdk_21 21 runs [] leaves $collectors);
            on_cells_of!($check jdk_25 25 runs [] leaves $collectors);
            on_cells_of!($check jdk_26 26 runs [] leaves $collectors);
            on_cells_of!($check jdk_27 27 runs $collectors leaves []);
            on_cells_of!($check jdk_28 28 runs [] leaves $collectors);
            on_cells_of!($check other_jvms from 11 $collectors);
        }
    };
    ($check:ident with $collectors:tt, and 25) => {
        mod $check {
            on_cells_of!($check jdk_11 11 runs $collectors leaves []);
            on_cells_of!($check jdk_17 17 runs [] leaves $collectors);
            on_cells_of!($check jdk_21 21 runs [] leaves $collectors);
            on_cells_of!($check jdk_25 25 runs $collectors leaves []);
            on_cells_of!($check jdk_26 26 runs [] leaves $collectors);
            on_cells_of!($check jdk_27 27 runs [] leaves $collectors);
            on_cells_of!($check jdk_28 28 runs [] leaves $collectors);
            on_cells_of!($check other_jvms from 11 $collectors);
        }
    };
    ($check:ident with $collectors:tt, and 26) => {
        mod $check {
            on_cells_of!($check jdk_11 11 runs [] leaves $collectors);
            on_cells_of!($check jdk_17 17 runs [] leaves $collectors);
            on_cells_of!($check jdk_21 21 runs $collectors leaves []);
            on_cells_of!($check jdk_25 25 runs [] leaves $collectors);
            on_cells_of!($check jdk_26 26 runs $collectors leaves []);
            on_cells_of!($check jdk_27 27 runs [] leaves $collectors);
            on_cells_of!($check jdk_28 28 runs [] leaves $collectors);
            on_cells_of!($check other_jvms from 11 $collectors);
        }
    };
    ($check:ident with $collectors:tt, and 28) => {
        mod $check {
            on_cells_of!($check jdk_11 11 runs $collectors leaves []);
            on_cells_of!($check jdk_17 17 runs [] leaves $collectors);
            on_cells_of!($check jdk_21 21 runs [] leaves $collectors);
            on_cells_of!($check jdk_25 25 runs [] leaves $collectors);
            on_cells_of!($check jdk_26 26 runs [] leaves $collectors);
            on_cells_of!($check jdk_27 27 runs [] leaves $collectors);
            on_cells_of!($check jdk_28 28 runs $collectors leaves []);
            on_cells_of!($check other_jvms from 11 $collectors);
        }
    };
}

/// As `on_every_cell`, if five of the 35 cells are enough: the oldest JVM, 21, the newest release and two others, each
/// with one garbage collector. The ten rows together are the full product, so tests of one feature take rows in turn.
/// `scripts/test --all` runs the other cells too.
macro_rules! on_paired_cells {
    ($check:ident, row 0) => {
        on_paired_cells!($check: jdk_11 11 serial, jdk_17 17 z, jdk_21 21 parallel, jdk_25 25 none, jdk_26 26 shenandoah, jdk_27 27 g1, jdk_28 28 none);
    };
    ($check:ident, row 1) => {
        on_paired_cells!($check: jdk_11 11 parallel, jdk_17 17 none, jdk_21 21 g1, jdk_25 25 shenandoah, jdk_26 26 none, jdk_27 27 z, jdk_28 28 serial);
    };
    ($check:ident, row 2) => {
        on_paired_cells!($check: jdk_11 11 g1, jdk_17 17 serial, jdk_21 21 z, jdk_25 25 none, jdk_26 26 parallel, jdk_27 27 shenandoah, jdk_28 28 none);
    };
    ($check:ident, row 3) => {
        on_paired_cells!($check: jdk_11 11 z, jdk_17 17 none, jdk_21 21 shenandoah, jdk_25 25 parallel, jdk_26 26 none, jdk_27 27 serial, jdk_28 28 g1);
    };
    ($check:ident, row 4) => {
        on_paired_cells!($check: jdk_11 11 shenandoah, jdk_17 17 g1, jdk_21 21 serial, jdk_25 25 none, jdk_26 26 z, jdk_27 27 parallel, jdk_28 28 none);
    };
    ($check:ident, row 5) => {
        on_paired_cells!($check: jdk_11 11 serial, jdk_17 17 none, jdk_21 21 parallel, jdk_25 25 z, jdk_26 26 none, jdk_27 27 g1, jdk_28 28 shenandoah);
    };
    ($check:ident, row 6) => {
        on_paired_cells!($check: jdk_11 11 parallel, jdk_17 17 shenandoah, jdk_21 21 g1, jdk_25 25 none, jdk_26 26 serial, jdk_27 27 z, jdk_28 28 none);
    };
    ($check:ident, row 7) => {
        on_paired_cells!($check: jdk_11 11 g1, jdk_17 17 none, jdk_21 21 z, jdk_25 25 serial, jdk_26 26 none, jdk_27 27 shenandoah, jdk_28 28 parallel);
    };
    ($check:ident, row 8) => {
        on_paired_cells!($check: jdk_11 11 z, jdk_17 17 parallel, jdk_21 21 shenandoah, jdk_25 25 none, jdk_26 26 g1, jdk_27 27 serial, jdk_28 28 none);
    };
    ($check:ident, row 9) => {
        on_paired_cells!($check: jdk_11 11 shenandoah, jdk_17 17 none, jdk_21 21 serial, jdk_25 25 g1, jdk_26 26 none, jdk_27 27 parallel, jdk_28 28 z);
    };
    ($check:ident: $($jvm:ident $feature:literal $collector:ident),*) => {
        mod $check {
            $(on_cells_of!($check $jvm $feature only $collector);)*
            on_cells_of!($check other_jvms from 11 [serial, parallel, g1, z, shenandoah]);
        }
    };
}

/// The tests of one JVM in `on_every_cell` and `on_paired_cells`.
macro_rules! on_cells_of {
    ($check:ident $jvm:ident $feature:literal only serial) => {
        on_cells_of!($check $jvm $feature runs [serial] leaves [parallel, g1, z, shenandoah]);
    };
    ($check:ident $jvm:ident $feature:literal only parallel) => {
        on_cells_of!($check $jvm $feature runs [parallel] leaves [serial, g1, z, shenandoah]);
    };
    ($check:ident $jvm:ident $feature:literal only g1) => {
        on_cells_of!($check $jvm $feature runs [g1] leaves [serial, parallel, z, shenandoah]);
    };
    ($check:ident $jvm:ident $feature:literal only z) => {
        on_cells_of!($check $jvm $feature runs [z] leaves [serial, parallel, g1, shenandoah]);
    };
    ($check:ident $jvm:ident $feature:literal only shenandoah) => {
        on_cells_of!($check $jvm $feature runs [shenandoah] leaves [serial, parallel, g1, z]);
    };
    ($check:ident $jvm:ident $feature:literal only none) => {
        on_cells_of!($check $jvm $feature runs [] leaves [serial, parallel, g1, z, shenandoah]);
    };
    ($check:ident $jvm:ident $feature:literal runs [$($test:ident),*] leaves [$($other:ident),*]) => {
        mod $jvm {
            $(
                #[test]
                fn $test() {
                    $crate::cells::on_cell($feature, stringify!($test), super::super::$check);
                }
            )*
            $(
                #[test]
                #[ignore = "scripts/test --all runs it"]
                fn $other() {
                    $crate::cells::on_cell($feature, stringify!($other), super::super::$check);
                }
            )*
        }
    };
    ($check:ident $jvm:ident from $oldest:literal [$($test:ident),*]) => {
        mod $jvm {
            $(
                #[test]
                fn $test() {
                    $crate::cells::on_other_cells_from($oldest, stringify!($test), super::super::$check);
                }
            )*
        }
    };
}
