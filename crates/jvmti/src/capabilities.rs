//! What the VM does only on request.

use super::env::{Env, jvmti};
use super::error::JvmtiError;
use super::sys;

/// A capability that the VM grants only on request. `scripts/capabilities` measures what each costs while nothing happens.
#[derive(Clone, Copy, Debug)]
pub enum Capability {
    /// For [`Env::thread_cpu_time`] and [`Env::current_thread_cpu_time`].
    ThreadCpuTime,
    /// For [`Env::source_file`].
    SourceFileName,
    /// For [`Env::line`].
    LineNumbers,
    /// For [`super::Event::Allocation`].
    AllocationEvents,
    /// For [`super::Event::GarbageCollection`].
    GarbageCollectionEvents,
    /// For [`Env::class_histogram`].
    HeapWalk,
    /// For the monitor events such as [`super::Event::MonitorEnter`], and [`Env::monitor_usage`].
    MonitorEvents,
    /// For [`Env::contended_monitor`]. The VM grants it only when it starts.
    ContendedMonitor,
    /// For [`Env::owned_monitors`]. The VM grants it only when it starts. Before JDK 16 it turns C2's escape analysis off
    /// (JDK-8227745).
    OwnedMonitors,
    /// For [`super::Event::ClassFile`] and [`Env::retransform`].
    Retransform,
    /// For [`super::Event::ResourceExhausted`].
    ResourceExhaustedEvents,
}

/// The bit of `can_support_value_objects`, which headers before JDK 28 do not have.
const CAN_SUPPORT_VALUE_OBJECTS: usize = 45;

impl Env {
    /// Requests capabilities from the VM, all or none.
    pub fn request(self, capabilities: &[Capability]) -> Result<(), JvmtiError> {
        let mut wanted = sys::jvmtiCapabilities::default();
        for capability in capabilities {
            match capability {
                Capability::ThreadCpuTime => {
                    wanted.set_can_get_thread_cpu_time(1);
                    wanted.set_can_get_current_thread_cpu_time(1);
                }
                Capability::SourceFileName => wanted.set_can_get_source_file_name(1),
                Capability::LineNumbers => wanted.set_can_get_line_numbers(1),
                Capability::AllocationEvents => {
                    wanted.set_can_generate_sampled_object_alloc_events(1);
                    if self.can_support_value_objects() {
                        wanted._bitfield_1.set_bit(CAN_SUPPORT_VALUE_OBJECTS, true);
                    }
                }
                Capability::GarbageCollectionEvents => {
                    wanted.set_can_generate_garbage_collection_events(1);
                }
                Capability::HeapWalk => wanted.set_can_tag_objects(1),
                Capability::MonitorEvents => {
                    wanted.set_can_generate_monitor_events(1);
                    wanted.set_can_get_monitor_info(1);
                }
                Capability::ContendedMonitor => wanted.set_can_get_current_contended_monitor(1),
                Capability::OwnedMonitors => wanted.set_can_get_owned_monitor_info(1),
                Capability::Retransform => wanted.set_can_retransform_classes(1),
                Capability::ResourceExhaustedEvents => {
                    wanted.set_can_generate_resource_exhaustion_heap_events(1);
                    wanted.set_can_generate_resource_exhaustion_threads_events(1);
                }
            }
        }
        self.add_capabilities(&wanted)
    }

    /// Returns `true` if the VM has events for objects without identity. It sends none without a capability that a VM
    /// without such objects does not know.
    pub fn can_support_value_objects(self) -> bool {
        let mut potential = sys::jvmtiCapabilities::default();
        // SAFETY: the structure receives the answer.
        let answer = unsafe { jvmti!(self, GetPotentialCapabilities, &mut potential) };
        answer.is_ok() && potential._bitfield_1.get_bit(CAN_SUPPORT_VALUE_OBJECTS)
    }

    /// Adds the capabilities set in `wanted`, all or none.
    pub(super) fn add_capabilities(
        self,
        wanted: &sys::jvmtiCapabilities,
    ) -> Result<(), JvmtiError> {
        // SAFETY: the VM reads the structure during the call only.
        unsafe { jvmti!(self, AddCapabilities, wanted) }
    }
}
