//! The offsets in the VM that a stack walk needs, from its own tables. Anything not in the tables is taken from the
//! known versions.

use crate::vm_kind::vm_structs::VmStructs;
use crate::vm_kind::{Release, TestedVm};

/// The size of a word on a stack.
pub(super) const WORD: usize = size_of::<usize>();

/// Offsets of fields, in bytes.
pub(super) struct Layout {
    pub(super) thread: ThreadLayout,
    pub(super) anchor: AnchorLayout,
    pub(super) frame: FrameLayout,
    pub(super) blob: BlobLayout,
    pub(super) nmethod: NmethodLayout,
}

/// Offsets in `JavaThread`.
pub(super) struct ThreadLayout {
    pub(super) size: usize,
    pub(super) stack_base: usize,
    pub(super) stack_size: usize,
    pub(super) anchor: usize,
}

/// Offsets in `JavaFrameAnchor`, and of the anchor for outer frames in a `JavaCallWrapper`.
pub(super) struct AnchorLayout {
    pub(super) sp: usize,
    pub(super) pc: usize,
    pub(super) fp: usize,
    pub(super) in_call_wrapper: usize,
}

/// Offsets from the frame pointer: in an interpreted frame, and in the one by which the VM enters Java.
pub(super) struct FrameLayout {
    pub(super) sender_sp: isize,
    pub(super) method: isize,
    pub(super) bcp: isize,
    pub(super) call_wrapper: isize,
}

/// Offsets in `CodeBlob`.
pub(super) struct BlobLayout {
    pub(super) name: usize,
    pub(super) frame_size: usize,
}

/// Offsets in `nmethod`.
pub(super) struct NmethodLayout {
    pub(super) method: usize,
    pub(super) compile_id: usize,
    pub(super) pc_desc_size: usize,
    pub(super) debug_info: DebugInfoLayout,
    /// The number of byte values that UNSIGNED5 excludes: 1 since JDK 20, before that 0.
    pub(super) excluded_bytes: u32,
}

/// The location of an `nmethod`'s debug information.
pub(super) enum DebugInfoLayout {
    /// In the code heap, after the code.
    Behind {
        code_begin: usize,
        deopt_handlers: [usize; 2],
        scopes_pcs_offset: usize,
        /// The data after the `PcDesc`s.
        dependencies_offset: usize,
        scopes_data_begin: usize,
    },
    /// In separate memory; from JDK 24.
    Apart {
        code_offset: usize,
        deopt_handler_offsets: [usize; 2],
        immutable_data: usize,
        immutable_data_size: usize,
        scopes_pcs_offset: usize,
        scopes_data_offset: usize,
    },
}

impl Layout {
    /// Finds the layout; `None` if the VM does not export it, or if it is not known: JDK 11 on processors other
    /// than x86_64, and frames of code that takes value objects.
    pub(super) fn find(vm: TestedVm) -> Option<Self> {
        let structs = vm.structs();
        let offset = |type_name, name| structs.offset(type_name, name);
        if vm.release() == Release::Jdk11 && !cfg!(target_arch = "x86_64") || vm.has_value_objects()
        {
            return None;
        }
        Some(Self {
            thread: ThreadLayout {
                size: structs.size_of(c"JavaThread")?,
                stack_base: offset(c"JavaThread", c"_stack_base")?,
                stack_size: offset(c"JavaThread", c"_stack_size")?,
                anchor: offset(c"JavaThread", c"_anchor")?,
            },
            anchor: AnchorLayout {
                sp: offset(c"JavaFrameAnchor", c"_last_Java_sp")?,
                pc: offset(c"JavaFrameAnchor", c"_last_Java_pc")?,
                fp: offset(c"JavaFrameAnchor", c"_last_Java_fp")?,
                in_call_wrapper: offset(c"JavaCallWrapper", c"_anchor")?,
            },
            frame: FrameLayout::find(structs)?,
            blob: BlobLayout {
                name: offset(c"CodeBlob", c"_name")?,
                frame_size: offset(c"CodeBlob", c"_frame_size")?,
            },
            nmethod: NmethodLayout::find(vm)?,
        })
    }
}

impl FrameLayout {
    /// Finds the offsets. The VM's tables have them on x86_64; after the last stack pointer come the method, its
    /// mirror, the method data, the cache, the locals and the bytecode pointer, in all versions. The tables on aarch64
    /// do not have them: there is one more word before the bytecode pointer (padding, from JDK 20 on the extended stack
    /// pointer).
    fn find(structs: VmStructs) -> Option<Self> {
        if cfg!(target_arch = "aarch64") {
            return Some(Self::in_words(-1, -3, -9, -8));
        }
        let last_sp = structs.constant(c"frame::interpreter_frame_last_sp_offset")?;
        Some(Self::in_words(
            structs.constant(c"frame::interpreter_frame_sender_sp_offset")?,
            last_sp - 1,
            last_sp - 6,
            structs.constant(c"frame::entry_frame_call_wrapper_offset")?,
        ))
    }

    fn in_words(sender_sp: isize, method: isize, bcp: isize, call_wrapper: isize) -> Self {
        let bytes = |words| words * WORD as isize;
        Self {
            sender_sp: bytes(sender_sp),
            method: bytes(method),
            bcp: bytes(bcp),
            call_wrapper: bytes(call_wrapper),
        }
    }
}

impl NmethodLayout {
    fn find(vm: TestedVm) -> Option<Self> {
        let structs = vm.structs();
        let method = structs.offset(c"CompiledMethod", c"_method");
        Some(Self {
            method: method.or_else(|| structs.offset(c"nmethod", c"_method"))?,
            compile_id: structs.offset(c"nmethod", c"_compile_id")?,
            pc_desc_size: structs.size_of(c"PcDesc")?,
            debug_info: DebugInfoLayout::find(structs)?,
            excluded_bytes: u32::from(vm.release() >= Release::Jdk21),
        })
    }
}

impl DebugInfoLayout {
    fn find(structs: VmStructs) -> Option<Self> {
        let nmethod = |name| structs.offset(c"nmethod", name);
        let compiled = |name| structs.offset(c"CompiledMethod", name);
        let blob = |name| structs.offset(c"CodeBlob", name);
        let scopes_pcs_offset = nmethod(c"_scopes_pcs_offset")?;
        let Some(immutable_data) = nmethod(c"_immutable_data") else {
            return Some(Self::Behind {
                code_begin: blob(c"_code_begin")?,
                deopt_handlers: [
                    compiled(c"_deopt_handler_begin")?,
                    compiled(c"_deopt_mh_handler_begin")?,
                ],
                scopes_pcs_offset,
                dependencies_offset: nmethod(c"_dependencies_offset")?,
                scopes_data_begin: compiled(c"_scopes_data_begin")?,
            });
        };
        let deopt_handler_offsets = match nmethod(c"_deopt_handler_entry_offset") {
            // From JDK 26 on there is one.
            Some(only) => [only; 2],
            None => [
                nmethod(c"_deopt_handler_offset")?,
                nmethod(c"_deopt_mh_handler_offset")?,
            ],
        };
        Some(Self::Apart {
            code_offset: blob(c"_code_offset")?,
            deopt_handler_offsets,
            immutable_data,
            immutable_data_size: nmethod(c"_immutable_data_size")?,
            scopes_pcs_offset,
            scopes_data_offset: nmethod(c"_scopes_data_offset")?,
        })
    }
}
