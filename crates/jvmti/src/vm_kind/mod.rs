//! Identifies the VM, and decides which operations that no specification guarantees are safe in it. Everything that
//! depends on a VM's version or vendor is decided here, and documented in `docs/limits/jvms.md`.
//!
//! Most of what the agent does is JVMTI and JNI, and works in every VM that has them. The rest, such as walking stacks
//! or reading the slots of references, depends on HotSpot's internals, and is used only in the releases that it was
//! tested on. Nothing else can make the values by which they are used: [`TestedVm`], and [`VmStructs`], HotSpot's
//! tables.

#[cfg(unix)]
mod call_trace;
pub(super) mod vm_structs;

use super::env::Env;
use super::hotspot::{BoolFlag, VmFlags};
use super::os::IS_TESTED_HERE;
use super::sys;
use super::vm_library::VmLibrary;
use vm_structs::VmStructs;

/// A release that the agent was tested on, as a product build of HotSpot with HotSpot's own compilers. They are ordered
/// by age.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Release {
    Jdk11,
    Jdk17,
    Jdk21,
    Jdk25,
    Jdk26,
    Jdk27,
    Jdk28,
}

/// A VM of a release that the agent was tested on. Of these it also knows what HotSpot's tables do not say.
#[derive(Clone, Copy)]
pub(super) struct TestedVm {
    release: Release,
    structs: VmStructs,
    has_value_objects: bool,
}

/// The kind of VM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VmKind {
    /// The version of Java, `None` if the VM does not reveal it.
    version: Option<u32>,
    /// The update of that version, 15 for `17.0.15`; `None` if there was none yet, or the VM does not reveal it.
    update: Option<u32>,
    inside: Inside,
    has_preview_features: bool,
}

/// The agent's knowledge of the VM's internals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inside {
    /// Everything that the agent uses.
    Tested(Release),
    /// A HotSpot between the tested ones, or on a system where they were not tested: only what its own tables say.
    Described,
    /// Nothing.
    Unknown,
}

/// The VM's description of itself.
struct VmDescription {
    /// `java.vm.specification.version`, which the command line can change on JDK 11.
    version: Option<u32>,
    /// The version in the tables for debuggers, which only HotSpot has.
    own_version: Option<u32>,
    /// `java.vm.name`.
    name: String,
    /// `java.vm.version`: GraalVM's names JVMCI.
    build: String,
    /// `jdk.debug`: `release`, `fastdebug` or `slowdebug`.
    debug_level: String,
    /// `true` if a compiler in Java is used.
    has_jvmci_compiler: bool,
    /// `true` if the program runs with `--enable-preview`.
    has_preview_features: bool,
}

/// HotSpot with both of its compilers: not Zero, Client or Minimal, whose internals differ.
const SERVER_VMS: [&str; 2] = [
    "OpenJDK 64-Bit Server VM",
    "Java HotSpot(TM) 64-Bit Server VM",
];

impl VmDescription {
    fn detect(env: Env) -> Self {
        let property = |name| env.property(name).unwrap_or_default();
        // Whether they can be trusted depends on these two answers.
        let structs = VmStructs::exported(env.vm());
        let flags = structs.and_then(VmFlags::find);
        Self {
            version: property(c"java.vm.specification.version").parse().ok(),
            own_version: structs.and_then(VmStructs::version),
            name: property(c"java.vm.name"),
            build: property(c"java.vm.version"),
            debug_level: property(c"jdk.debug"),
            has_jvmci_compiler: flags.is_some_and(|flags| flags.is_on(BoolFlag::UseJvmciCompiler)),
            has_preview_features: has_preview_features(env),
        }
    }

    /// Returns `true` if it is HotSpot as most vendors build it.
    fn is_plain_hotspot(&self) -> bool {
        SERVER_VMS.contains(&self.name.as_str())
            && self.debug_level == "release"
            && !self.build.contains("jvmci")
            && !self.has_jvmci_compiler
            && self.version.is_some()
            && self.version == self.own_version
    }

    fn update(&self) -> Option<u32> {
        let number = self.build.split(['+', '-']).next()?;
        number.split('.').nth(2)?.parse().ok()
    }

    fn kind(&self) -> VmKind {
        let inside = match self.version {
            _ if !self.is_plain_hotspot() => Inside::Unknown,
            Some(11..26) if !IS_TESTED_HERE => Inside::Described,
            _ if !IS_TESTED_HERE => Inside::Unknown,
            Some(11) => Inside::Tested(Release::Jdk11),
            Some(17) => Inside::Tested(Release::Jdk17),
            Some(21) => Inside::Tested(Release::Jdk21),
            Some(25) => Inside::Tested(Release::Jdk25),
            Some(26) => Inside::Tested(Release::Jdk26),
            Some(27) => Inside::Tested(Release::Jdk27),
            Some(28) => Inside::Tested(Release::Jdk28),
            Some(12..25) => Inside::Described,
            _ => Inside::Unknown,
        };
        // Faults depend on the code that runs, not on the version that the properties claim.
        VmKind {
            version: self.own_version.or(self.version),
            update: self.update(),
            inside,
            has_preview_features: self.has_preview_features,
        }
    }
}

/// Returns `true` if the program runs with `--enable-preview`.
fn has_preview_features(env: Env) -> bool {
    type IsPreviewEnabled = unsafe extern "C" fn() -> sys::jboolean;
    let library = VmLibrary::of(env.vm());
    let function = library.and_then(|library| library.symbol(c"JVM_IsPreviewEnabled"));
    // SAFETY: the VM exports a function of this type under this name, which returns a flag of the command line.
    function.is_some_and(|function| unsafe {
        std::mem::transmute::<*const std::ffi::c_void, IsPreviewEnabled>(function)()
    })
}

impl TestedVm {
    /// Returns the release.
    pub(super) fn release(self) -> Release {
        self.release
    }

    /// Returns HotSpot's tables.
    pub(super) fn structs(self) -> VmStructs {
        self.structs
    }

    /// Returns `true` if there are objects without identity. Compiled code passes their fields as arguments, and may
    /// enlarge its frame for them by a number that only the frame has.
    pub(super) fn has_value_objects(self) -> bool {
        self.has_value_objects
    }
}

impl VmKind {
    /// Returns the release, if it is one whose internals are known: its stacks may be walked, its code's methods looked
    /// up, its references' slots read, its counters cleared and its own dumper called.
    fn tested(self) -> Option<Release> {
        match self.inside {
            Inside::Tested(release) => Some(release),
            Inside::Described | Inside::Unknown => None,
        }
    }

    /// Returns the release, if stacks may be walked: on Windows that is all of the inside that is known to be the same.
    fn walked(self) -> Option<Release> {
        match (self.inside, self.version) {
            (Inside::Tested(release), _) => Some(release),
            (Inside::Described, Some(17)) => Some(Release::Jdk17),
            (Inside::Described, Some(21)) => Some(Release::Jdk21),
            (Inside::Described, Some(25)) => Some(Release::Jdk25),
            _ => None,
        }
    }

    /// Returns `true` if there may be objects without identity: `Integer` and others, from 28 on with
    /// `--enable-preview`. An unknown VM may be one that has them.
    pub fn has_value_objects(self) -> bool {
        self.has_preview_features && self.version.is_none_or(|version| version >= 28)
    }

    /// Returns `true` if the VM is HotSpot in a version that the agent knows at least by its own tables.
    pub fn is_known(self) -> bool {
        self.inside != Inside::Unknown
    }

    /// Returns `true` if allocations send no event when a thread allocates outside its allocation buffer and keeps the
    /// buffer (`MemAllocator::notify_allocation_jvmti_sampler`; fixed in JDK 16).
    pub fn loses_allocations_outside_buffers(self) -> bool {
        self.is_before(16)
    }

    /// Returns `true` if compiled code sends no event for memory it takes directly from the heap.
    pub fn loses_allocations_without_buffers(self) -> bool {
        self.is_before(21)
    }

    /// Returns `true` if the stack of a single thread is taken while all threads are stopped. An unknown VM may be one
    /// that does.
    pub fn stops_all_for_one_stack(self) -> bool {
        self.is_before(16) || self.version.is_none()
    }

    /// Returns `true` if removing tags during a heap pass corrupts the VM's memory with ZGC. An unknown VM may be one
    /// that does.
    pub(super) fn damages_tags_with_zgc(self) -> bool {
        self.is_before(15) || self.version.is_none()
    }

    /// Returns `true` if memory for classes comes in blocks of any size (before JDK-8251158).
    pub(super) fn has_old_metaspace(self) -> bool {
        self.is_before(16)
    }

    /// Returns `true` if the counters of Serial and Parallel say what a collection has left in the space for new objects, and not
    /// what is in it. With 11, 17 and 21 they do not, with 25 they do.
    pub(super) fn counts_new_objects_at_collections(self) -> bool {
        self.version.is_some_and(|version| version >= 25)
    }

    /// Returns `true` if redefining a class takes noticeably long. An unknown VM may be one where it does.
    pub fn redefines_slowly(self) -> bool {
        self.is_before(12) || self.version.is_none()
    }

    /// Returns `true` if the VM omits the virtual threads that wait for a monitor or own one.
    pub fn hides_virtual_threads_at_monitors(self) -> bool {
        self.version.is_some_and(|version| version >= 23)
    }

    fn is_before(self, version: u32) -> bool {
        self.version.is_some_and(|own| own < version)
    }
}

impl Env {
    /// Identifies the VM.
    pub fn vm_kind(self) -> VmKind {
        VmDescription::detect(self).kind()
    }

    /// Returns HotSpot's tables, if it is a version in which the agent knows what they mean.
    pub(super) fn vm_structs(self) -> Option<VmStructs> {
        let is_known = self.vm_kind().is_known();
        is_known.then(|| VmStructs::exported(self.vm()))?
    }

    /// Returns what is known of the VM's inside, if the agent was tested on its release.
    pub(super) fn tested_vm(self) -> Option<TestedVm> {
        let kind = self.vm_kind();
        self.known_vm(kind, kind.tested()?)
    }

    /// Returns what is known of the VM's stacks, if the agent was tested on those of its release.
    pub(super) fn walked_vm(self) -> Option<TestedVm> {
        let kind = self.vm_kind();
        self.known_vm(kind, kind.walked()?)
    }

    fn known_vm(self, kind: VmKind, release: Release) -> Option<TestedVm> {
        Some(TestedVm {
            release,
            structs: VmStructs::exported(self.vm())?,
            has_value_objects: kind.has_value_objects(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn hotspot(version: u32) -> VmDescription {
        VmDescription {
            version: Some(version),
            own_version: Some(version),
            name: "OpenJDK 64-Bit Server VM".to_owned(),
            build: format!("{version}.0.1+8"),
            debug_level: "release".to_owned(),
            has_jvmci_compiler: false,
            has_preview_features: false,
        }
    }

    fn inside(description: VmDescription) -> Inside {
        description.kind().inside
    }

    #[test]
    fn only_the_tested_releases_are_known_inside() {
        for version in 11..40 {
            let tested = match version {
                11 => Some(Release::Jdk11),
                17 => Some(Release::Jdk17),
                21 => Some(Release::Jdk21),
                25 => Some(Release::Jdk25),
                26 => Some(Release::Jdk26),
                27 => Some(Release::Jdk27),
                28 => Some(Release::Jdk28),
                _ => None,
            };
            let kind = hotspot(version).kind();
            let tested = tested.filter(|_| IS_TESTED_HERE);
            assert_eq!(kind.tested(), tested, "{version}");
        }
        let oracle = VmDescription {
            name: "Java HotSpot(TM) 64-Bit Server VM".to_owned(),
            ..hotspot(21)
        };
        assert_eq!(inside(oracle), inside(hotspot(21)));
    }

    #[test]
    fn other_builds_of_a_tested_version_are_not_known_inside() {
        for name in [
            "Eclipse OpenJ9 VM",
            "OpenJDK 64-Bit Zero VM",
            "OpenJDK 64-Bit Minimal VM",
            "OpenJDK Server VM",
            "Zing 64-Bit Tiered VM",
            "",
        ] {
            let name = name.to_owned();
            assert_eq!(
                inside(VmDescription {
                    name,
                    ..hotspot(21)
                }),
                Inside::Unknown
            );
        }
        for debug_level in ["fastdebug", "slowdebug", ""] {
            let debug_level = debug_level.to_owned();
            let build = VmDescription {
                debug_level,
                ..hotspot(25)
            };
            assert_eq!(inside(build), Inside::Unknown);
        }
        let graal = VmDescription {
            build: "21.0.1+12-jvmci-23.1-b22".to_owned(),
            ..hotspot(21)
        };
        assert_eq!(inside(graal), Inside::Unknown);
        let jvmci = VmDescription {
            has_jvmci_compiler: true,
            ..hotspot(17)
        };
        assert_eq!(inside(jvmci), Inside::Unknown);
    }

    #[test]
    fn a_version_that_somebody_only_claims_is_not_known_inside() {
        for (version, own_version) in [
            (Some(25), Some(26)),
            (Some(24), Some(11)),
            (Some(17), None),
            (None, Some(17)),
            (None, None),
        ] {
            let claimed = VmDescription {
                version,
                own_version,
                ..hotspot(17)
            };
            assert_eq!(inside(claimed), Inside::Unknown, "{version:?}");
        }
    }

    #[test]
    fn faults_of_old_versions_end_where_they_were_mended() {
        let kind = |version| hotspot(version).kind();
        assert!(kind(11).redefines_slowly() && !kind(12).redefines_slowly());
        assert!(kind(14).damages_tags_with_zgc() && !kind(15).damages_tags_with_zgc());
        assert!(kind(15).loses_allocations_outside_buffers());
        assert!(!kind(16).loses_allocations_outside_buffers());
        assert!(kind(20).loses_allocations_without_buffers());
        assert!(!kind(21).loses_allocations_without_buffers());
        assert!(!kind(22).hides_virtual_threads_at_monitors());
        assert!(kind(23).hides_virtual_threads_at_monitors());
        let claims_to_be_newer = VmDescription {
            version: Some(24),
            ..hotspot(11)
        };
        assert!(claims_to_be_newer.kind().damages_tags_with_zgc());
        let silent = VmDescription {
            version: None,
            own_version: None,
            ..hotspot(17)
        };
        let silent = silent.kind();
        assert!(silent.redefines_slowly() && silent.damages_tags_with_zgc());
        assert!(!silent.loses_allocations_without_buffers());
    }
}
