//! Where the VM counts its own memory. It exports nothing of that, so the counters are found by the symbols in its library's file.

use hprof_footprint::{Memory, Tracking, TrackingVariables, VmVariable};

use super::flags::VmFlags;
use crate::env::Env;
use crate::native_code::{Variable, variables};
use crate::vm_kind::vm_structs::VmStructs;

/// A variable that HotSpot exports.
const EXPORTED: &str = "gHotSpotVMStructs";
const NAMES: &str = "_ZN7NMTUtil8_stringsE";
/// The same up to JDK 17: names for people alone.
const OLD_NAMES: &str = "_ZN7NMTUtil18_memory_type_namesE";
const MALLOC: &str = "_ZN19MallocMemorySummary9_snapshotE";
const MAPPED: &str = "_ZN20VirtualMemorySummary9_snapshotE";
const LEVEL: &str = "_ZN10MemTracker15_tracking_levelE";

/// Finds the counters; `None` if the VM does not count, or its library does not say where.
pub(super) fn find(env: Env, flags: VmFlags, memory: &dyn Memory) -> Option<Tracking> {
    if !flags.tracks_memory() {
        return None;
    }
    let exported = (EXPORTED, VmStructs::exported_address(env.vm())?);
    let function = env.vm().function_address().addr();
    let wanted = [NAMES, OLD_NAMES, MALLOC, MAPPED, LEVEL];
    let found = variables(function, exported, wanted);
    let [names, old_names, malloc, mapped, level] = found
        .map(|variable| variable.map(|Variable { address, size }| VmVariable { address, size }));
    let pointers = if names.is_some() { 2 } else { 1 };
    let variables = TrackingVariables {
        names: names.or(old_names)?,
        pointers,
        malloc: malloc?,
        mapped: mapped?,
        level: level?,
    };
    Tracking::new(&variables, memory)
}
