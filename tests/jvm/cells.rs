//! The JVMs and their garbage collectors, with one test for each.

use std::fmt;
use std::process::Command;
use std::sync::OnceLock;

use crate::harness::{Jvm, any_jvm, jvms, skip};

/// The versions with tests of their own.
const MATRIX: [u32; 4] = [11, 17, 21, 25];

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
            let mut java = Command::new(cell.jvm.home.join("bin/java"));
            let asked = java.args(cell.vm_options()).arg("-version").output();
            asked.expect("java").status.success()
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

/// Runs `check` with one garbage collector of the JVM of a version; reports if there is none.
pub fn on_cell(feature: u32, collector: &str, check: impl Fn(&Cell)) {
    on_jvm(feature, |jvm| with_collector(jvm, collector, &check));
}

/// As `on_others_from`, with one garbage collector.
pub fn on_other_cells_from(oldest: u32, collector: &str, check: impl Fn(&Cell)) {
    on_others_from(oldest, |jvm| with_collector(jvm, collector, &check));
}

fn with_collector(jvm: &Jvm, collector: &str, check: impl Fn(&Cell)) {
    let mut cells = cells().iter();
    match cells.find(|cell| std::ptr::eq(cell.jvm, jvm) && cell.collector == collector) {
        Some(cell) => check(cell),
        None => skip(&format!(
            "tests on JVM {} with the collector {collector}: there is none",
            jvm.feature
        )),
    }
}

/// Declares one test for each JVM, in a module with the name of the `fn(&Jvm)` that they call.
macro_rules! on_every_jvm {
    ($check:ident) => {
        on_every_jvm!($check: jdk_11 on_jvm 11, jdk_17 on_jvm 17, jdk_21 on_jvm 21, jdk_25 on_jvm 25,
            other_jvms on_others_from 11);
    };
    ($check:ident from 21) => {
        on_every_jvm!($check: jdk_21 on_jvm 21, jdk_25 on_jvm 25, other_jvms on_others_from 21);
    };
    ($check:ident from 25) => {
        on_every_jvm!($check: jdk_25 on_jvm 25, other_jvms on_others_from 25);
    };
    ($check:ident on 17 and 25) => {
        on_every_jvm!($check: jdk_17 on_jvm 17, jdk_25 on_jvm 25);
    };
    ($check:ident: $($test:ident $on:ident $feature:literal),*) => {
        mod $check {
            $(
                #[test]
                fn $test() {
                    $crate::cells::$on($feature, super::$check);
                }
            )*
        }
    };
}

/// As `on_every_jvm`, for JVMs with a compiler.
macro_rules! on_every_jdk {
    ($check:ident) => {
        on_every_jvm!($check: jdk_11 on_jdk 11, jdk_17 on_jdk 17, jdk_21 on_jdk 21, jdk_25 on_jdk 25,
            other_jvms on_other_jdks_from 11);
    };
}

/// Declares one test for each garbage collector of each JVM, in a module with the name of the `fn(&Cell)` that they
/// call.
macro_rules! on_every_cell {
    ($check:ident) => {
        on_every_cell!($check with [serial "Serial", parallel "Parallel", g1 "G1", z "Z", shenandoah "Shenandoah"]);
    };
    ($check:ident with $collectors:tt) => {
        mod $check {
            on_every_cell!($check jdk_11 on_cell 11 $collectors);
            on_every_cell!($check jdk_17 on_cell 17 $collectors);
            on_every_cell!($check jdk_21 on_cell 21 $collectors);
            on_every_cell!($check jdk_25 on_cell 25 $collectors);
            on_every_cell!($check other_jvms on_other_cells_from 11 $collectors);
        }
    };
    ($check:ident $jvm:ident $on:ident $feature:literal [$($test:ident $collector:literal),*]) => {
        mod $jvm {
            $(
                #[test]
                fn $test() {
                    $crate::cells::$on($feature, $collector, super::super::$check);
                }
            )*
        }
    };
}

/// As `on_every_cell`, if five of the twenty cells are enough: each JVM and each garbage collector once or twice. The
/// four rows together are the full product, so tests of one feature take rows in turn. `scripts/test --all` runs the
/// other cells too.
macro_rules! on_paired_cells {
    ($check:ident, row 0) => {
        mod $check {
            on_paired_cells!($check jdk_11 11 [serial "Serial", shenandoah "Shenandoah"] others [parallel "Parallel", g1 "G1", z "Z"]);
            on_paired_cells!($check jdk_17 17 [parallel "Parallel"] others [serial "Serial", g1 "G1", z "Z", shenandoah "Shenandoah"]);
            on_paired_cells!($check jdk_21 21 [g1 "G1"] others [serial "Serial", parallel "Parallel", z "Z", shenandoah "Shenandoah"]);
            on_paired_cells!($check jdk_25 25 [z "Z"] others [serial "Serial", parallel "Parallel", g1 "G1", shenandoah "Shenandoah"]);
            on_every_cell!($check other_jvms on_other_cells_from 11
                [serial "Serial", parallel "Parallel", g1 "G1", z "Z", shenandoah "Shenandoah"]);
        }
    };
    ($check:ident, row 1) => {
        mod $check {
            on_paired_cells!($check jdk_11 11 [z "Z"] others [serial "Serial", parallel "Parallel", g1 "G1", shenandoah "Shenandoah"]);
            on_paired_cells!($check jdk_17 17 [serial "Serial", shenandoah "Shenandoah"] others [parallel "Parallel", g1 "G1", z "Z"]);
            on_paired_cells!($check jdk_21 21 [parallel "Parallel"] others [serial "Serial", g1 "G1", z "Z", shenandoah "Shenandoah"]);
            on_paired_cells!($check jdk_25 25 [g1 "G1"] others [serial "Serial", parallel "Parallel", z "Z", shenandoah "Shenandoah"]);
            on_every_cell!($check other_jvms on_other_cells_from 11
                [serial "Serial", parallel "Parallel", g1 "G1", z "Z", shenandoah "Shenandoah"]);
        }
    };
    ($check:ident, row 2) => {
        mod $check {
            on_paired_cells!($check jdk_11 11 [g1 "G1"] others [serial "Serial", parallel "Parallel", z "Z", shenandoah "Shenandoah"]);
            on_paired_cells!($check jdk_17 17 [z "Z"] others [serial "Serial", parallel "Parallel", g1 "G1", shenandoah "Shenandoah"]);
            on_paired_cells!($check jdk_21 21 [serial "Serial", shenandoah "Shenandoah"] others [parallel "Parallel", g1 "G1", z "Z"]);
            on_paired_cells!($check jdk_25 25 [parallel "Parallel"] others [serial "Serial", g1 "G1", z "Z", shenandoah "Shenandoah"]);
            on_every_cell!($check other_jvms on_other_cells_from 11
                [serial "Serial", parallel "Parallel", g1 "G1", z "Z", shenandoah "Shenandoah"]);
        }
    };
    ($check:ident, row 3) => {
        mod $check {
            on_paired_cells!($check jdk_11 11 [parallel "Parallel"] others [serial "Serial", g1 "G1", z "Z", shenandoah "Shenandoah"]);
            on_paired_cells!($check jdk_17 17 [g1 "G1"] others [serial "Serial", parallel "Parallel", z "Z", shenandoah "Shenandoah"]);
            on_paired_cells!($check jdk_21 21 [z "Z"] others [serial "Serial", parallel "Parallel", g1 "G1", shenandoah "Shenandoah"]);
            on_paired_cells!($check jdk_25 25 [serial "Serial", shenandoah "Shenandoah"] others [parallel "Parallel", g1 "G1", z "Z"]);
            on_every_cell!($check other_jvms on_other_cells_from 11
                [serial "Serial", parallel "Parallel", g1 "G1", z "Z", shenandoah "Shenandoah"]);
        }
    };
    ($check:ident $jvm:ident $feature:literal
        [$($test:ident $collector:literal),*] others [$($other:ident $other_collector:literal),*]) => {
        mod $jvm {
            $(
                #[test]
                fn $test() {
                    $crate::cells::on_cell($feature, $collector, super::super::$check);
                }
            )*
            $(
                #[test]
                #[ignore = "scripts/test --all runs every cell"]
                fn $other() {
                    $crate::cells::on_cell($feature, $other_collector, super::super::$check);
                }
            )*
        }
    };
}

/// The cells that the macros above run by default, read from their own text.
mod coverage {
    use std::collections::{BTreeMap, BTreeSet};
    use std::fs;
    use std::path::Path;

    const COLLECTORS: [&str; 5] = ["Serial", "Parallel", "G1", "Z", "Shenandoah"];

    type Chosen = BTreeSet<(u32, String)>;

    /// The cells of each row, after a check that the row has all others as ignored tests.
    fn rows() -> BTreeMap<u32, Chosen> {
        let mut rows: BTreeMap<u32, Chosen> = BTreeMap::new();
        let mut row = 0;
        for line in include_str!("cells.rs").lines() {
            let line = line.trim();
            if let Some(number) = line.strip_prefix("($check:ident, row ") {
                row = number[..1].parse().expect("a row");
            }
            let Some(rest) = line.strip_prefix("on_paired_cells!($check jdk_") else {
                continue;
            };
            let feature: u32 = rest[..2].parse().expect("a version");
            let (chosen, others) = rest.split_once("others").expect("two lists");
            let named = |list: &str| -> Vec<String> {
                let names = list.split('"').skip(1).step_by(2);
                names.map(str::to_owned).collect()
            };
            let all: BTreeSet<String> = [named(chosen), named(others)]
                .concat()
                .into_iter()
                .collect();
            assert_eq!(
                all,
                COLLECTORS.map(str::to_owned).into(),
                "row {row}, {feature}"
            );
            let cells = named(chosen).into_iter().map(|name| (feature, name));
            rows.entry(row).or_default().extend(cells);
        }
        rows
    }

    /// Collects the rows that the tests below a folder take, by their feature.
    fn taken(folder: &Path, feature: Option<&str>, found: &mut BTreeMap<String, BTreeSet<u32>>) {
        for entry in fs::read_dir(folder).expect("the tests") {
            let path = entry.expect("a file").path();
            let name = path
                .file_stem()
                .expect("a name")
                .to_string_lossy()
                .into_owned();
            let feature = feature.unwrap_or(&name);
            if path.is_dir() {
                taken(&path, Some(feature), found);
            } else if name != "cells" {
                let text = fs::read_to_string(&path).expect("a source");
                let calls = text.split("on_paired_cells!(").skip(1);
                let rows =
                    calls.filter_map(|call| call.split_once(", row ")?.1[..1].parse::<u32>().ok());
                found.entry(feature.to_owned()).or_default().extend(rows);
            }
        }
    }

    #[test]
    fn each_row_has_every_jvm_and_every_collector() {
        let rows = rows();
        assert_eq!(rows.keys().copied().collect::<Vec<_>>(), [0, 1, 2, 3]);
        for (row, chosen) in &rows {
            let jvms: BTreeSet<u32> = chosen.iter().map(|cell| cell.0).collect();
            let collectors: BTreeSet<&str> = chosen.iter().map(|cell| &*cell.1).collect();
            assert_eq!(jvms, super::MATRIX.into(), "row {row}");
            assert_eq!(collectors, COLLECTORS.into(), "row {row}");
        }
        let all: Chosen = rows.into_values().flatten().collect();
        assert_eq!(all.len(), super::MATRIX.len() * COLLECTORS.len());
    }

    /// A row is enough for each measurement to meet each JVM and each collector; all rows, for JVMs and collectors to meet.
    #[test]
    fn every_measurement_meets_every_jvm_and_every_collector() {
        let mut found = BTreeMap::new();
        let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/jvm");
        taken(&tests, None, &mut found);
        // CPU samples: collectors.rs takes them in every cell.
        for feature in ["dump", "monitor", "sites", "times"] {
            let rows = found.get(feature).map_or(0, BTreeSet::len);
            assert!(rows > 0, "no test of {feature} takes a row of cells");
        }
        let all: BTreeSet<u32> = found.into_values().flatten().collect();
        assert_eq!(all, [0, 1, 2, 3].into());
    }
}
