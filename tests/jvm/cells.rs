//! The collectors of the JVMs, and one test for each.

use std::fmt;
use std::process::Command;
use std::sync::OnceLock;

use crate::harness::{Jvm, jvms};

/// A collector of a JVM.
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
    /// The options that choose it.
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

    /// Whether a GC can be forced while the VM ends; where not, what the last GC has left counts as alive.
    pub fn ends_with_a_gc(&self) -> bool {
        !matches!(self.collector, "Z" | "Shenandoah")
    }
}

/// Every collector that every JVM has.
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

/// Runs `check` on one collector of one JVM; says so where there is none.
pub fn on_cell(feature: u32, collector: &str, check: impl FnOnce(&Cell)) {
    let cell = cells()
        .iter()
        .find(|cell| cell.jvm.feature == feature && cell.collector == collector);
    match cell {
        Some(cell) => check(cell),
        None => println!("skipped: there is no JDK {feature} with the collector {collector}"),
    }
}

/// Declares a module with one test for each collector of each JVM, all of which call a `fn(&Cell)`.
macro_rules! on_every_cell {
    ($name:ident: $check:expr) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            on_every_cell!(jdk_11 11 $check);
            on_every_cell!(jdk_17 17 $check);
            on_every_cell!(jdk_21 21 $check);
            on_every_cell!(jdk_25 25 $check);
        }
    };
    ($jdk:ident $feature:literal $check:expr) => {
        mod $jdk {
            #[allow(unused_imports)]
            use super::*;
            on_every_cell!(serial $feature "Serial" $check);
            on_every_cell!(parallel $feature "Parallel" $check);
            on_every_cell!(g1 $feature "G1" $check);
            on_every_cell!(z $feature "Z" $check);
            on_every_cell!(shenandoah $feature "Shenandoah" $check);
        }
    };
    ($collector:ident $feature:literal $name:literal $check:expr) => {
        #[test]
        fn $collector() {
            $crate::cells::on_cell($feature, $name, $check);
        }
    };
}
