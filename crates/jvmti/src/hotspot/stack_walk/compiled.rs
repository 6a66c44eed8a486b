//! Compiled code: the sizes of its frames, and the number of methods inlined at an address.

use std::ffi::{CStr, c_char};
use std::hash::BuildHasher;
use std::ptr;

use foldhash::fast::FixedState;

use super::super::code_heap::{BlockStart, CodeBlob};
use super::layout::{DebugInfoLayout, Layout, NmethodLayout, WORD};
use super::probe::MemoryReader;
use crate::vm_kind::vm_structs::read;

/// The most methods that can be inlined into each other; HotSpot's own limit is far lower.
const MOST_INLINED: u16 = 1_000;

/// The facts about a return address in code that is not the interpreter's.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct CodePlace {
    /// The code.
    pub(super) blob: CodeBlob,
    /// The start of its block.
    pub(super) start: BlockStart,
    /// Distinguishes the code from other code that was at the same address before.
    pub(super) identity: u32,
    /// The frame's key; see `FrameKey`.
    pub(super) key: u64,
    /// The size of its frame, in words.
    pub(super) frame_words: u32,
    /// The number of methods that the frame stands for.
    pub(super) frames: u16,
    pub(super) kind: PlaceKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlaceKind {
    /// In compiled methods, or in the code that calls a native one.
    Compiled,
    /// In a stub that calls the VM and belongs to no method.
    Stub,
    /// At the end of a virtual thread's stack.
    ContinuationEntry,
}

/// Code of other kinds, which has no frame of a known size, cannot be walked.
const UNWALKABLE: [&CStr; 3] = [c"DeoptimizationBlob", c"UncommonTrapBlob", c"ExceptionBlob"];

impl Layout {
    /// Determines the facts about a return address; `None` if its frame cannot be walked.
    ///
    /// # Safety
    /// The blob is in use and holds `pc`, which is a return address of a frame of the current thread: that frame keeps
    /// the VM from freeing the blob.
    pub(super) unsafe fn place(
        &self,
        (blob, start): (CodeBlob, BlockStart),
        pc: usize,
        continuation_entry: Option<usize>,
    ) -> Option<CodePlace> {
        // SAFETY: every blob has these fields; its name lives as long as it does.
        let (frame_words, name) = unsafe {
            let name: usize = read(blob.0 + self.blob.name);
            let frame_words: i32 = read(blob.0 + self.blob.frame_size);
            if name == 0 || frame_words < 2 {
                return None;
            }
            let name = CStr::from_ptr(ptr::with_exposed_provenance::<c_char>(name));
            (frame_words as u32, name)
        };
        // SAFETY: the caller's promise; only an nmethod has these names.
        let (kind, frames) = unsafe {
            if name == c"nmethod" {
                (
                    PlaceKind::Compiled,
                    self.nmethod.frames_at(blob, pc, continuation_entry)?,
                )
            } else if name == c"native nmethod" {
                (PlaceKind::Compiled, 1)
            } else if UNWALKABLE.contains(&name) {
                return None;
            } else {
                (PlaceKind::Stub, 0)
            }
        };
        let is_entry = kind == PlaceKind::Compiled
            // SAFETY: as above.
            && continuation_entry == Some(unsafe { read(blob.0 + self.nmethod.method) });
        let kind = if is_entry {
            PlaceKind::ContinuationEntry
        } else {
            kind
        };
        // SAFETY: as above, and as is said at `identity`.
        let identity = unsafe { self.identity(blob, kind) };
        Some(CodePlace {
            blob,
            start,
            identity,
            key: FixedState::default().hash_one((pc, identity)),
            frame_words,
            frames,
            kind,
        })
    }

    /// Returns a number that distinguishes code from other code at the same address at other times: the number of its
    /// compilation, which the VM never reuses. Stubs that call the VM have none, but few are ever freed: for those the
    /// name must be the same.
    ///
    /// # Safety
    /// The blob was found by `CodeHeaps::blob`: so much of it can be read as the head of a compiled method needs, also
    /// where it is of another kind than was thought.
    #[inline]
    pub(super) unsafe fn identity(&self, blob: CodeBlob, kind: PlaceKind) -> u32 {
        // SAFETY: the caller's promise.
        unsafe {
            match kind {
                PlaceKind::Stub => read::<usize>(blob.0 + self.blob.name) as u32,
                _ => read(blob.0 + self.nmethod.compile_id),
            }
        }
    }
}

/// The debug information of one compiled method.
pub(super) struct DebugInfo<'a> {
    pub(super) code_begin: usize,
    pub(super) pcs_begin: usize,
    pub(super) pcs_end: usize,
    pub(super) data_begin: usize,
    pub(super) data_end: usize,
    /// The means to read it, and whether the memory is kept; `None` if it is, and is just read.
    pub(super) reader: Option<(&'a MemoryReader, bool)>,
}

impl DebugInfo<'_> {
    /// Returns the number of 32 bits at an address, which is a multiple of four, within its bounds.
    ///
    /// # Safety
    /// Without a reader the memory is kept.
    #[inline(always)]
    unsafe fn int_at(&self, address: usize) -> Option<i32> {
        let Some((memory, is_kept)) = self.reader else {
            // SAFETY: the caller's promise.
            return Some(unsafe { read(address) });
        };
        let at = address & (WORD - 1);
        let word = memory.word_at(address.wrapping_sub(at), is_kept)?;
        Some((word >> (8 * at)) as i32)
    }

    /// Returns the byte at an address within its bounds.
    ///
    /// # Safety
    /// As for `int_at`.
    #[inline(always)]
    unsafe fn byte_at(&self, address: usize) -> Option<u8> {
        match self.reader {
            Some((memory, is_kept)) => memory.byte_at(address, is_kept),
            // SAFETY: the caller's promise.
            None => Some(unsafe { read(address) }),
        }
    }
}

impl NmethodLayout {
    /// Returns the number of methods inlined into each other at a return address; `None` if the VM has no information
    /// about it, or is going to discard the frame.
    ///
    /// # Safety
    /// The blob is an nmethod that is not freed meanwhile.
    unsafe fn frames_at(
        &self,
        blob: CodeBlob,
        pc: usize,
        continuation_entry: Option<usize>,
    ) -> Option<u16> {
        // SAFETY: the caller's promise.
        unsafe {
            if continuation_entry == Some(read(blob.0 + self.method)) {
                return Some(0);
            }
            let info = self.debug_info(blob, pc)?;
            let scope = self.scope_of(&info, pc)?;
            self.count_scopes(&info, scope)
        }
    }

    /// Returns the debug information of a compiled method; `None` if `pc` is where a frame continues that the VM is
    /// going to discard.
    ///
    /// # Safety
    /// As for `frames_at`.
    unsafe fn debug_info(&self, blob: CodeBlob, pc: usize) -> Option<DebugInfo<'static>> {
        // SAFETY: the caller's promise.
        unsafe {
            if self.is_discarded_at(blob, pc) {
                return None;
            }
            self.debug_info_of(blob)
        }
    }

    /// Returns `true` for an address at which a frame continues that the VM is going to discard.
    ///
    /// # Safety
    /// As for `frames_at`.
    #[inline(always)]
    pub(super) unsafe fn is_discarded_at(&self, blob: CodeBlob, pc: usize) -> bool {
        let head = blob.0;
        // SAFETY: the caller's promise; the tables say that the fields are there.
        unsafe {
            match self.debug_info {
                DebugInfoLayout::Behind {
                    deopt_handlers: [one, other],
                    ..
                } => read::<usize>(head + one) == pc || read::<usize>(head + other) == pc,
                DebugInfoLayout::Apart {
                    deopt_handler_offsets: [one, other],
                    ..
                } => {
                    let is_at = |offset: i32| offset > 0 && head + offset as usize == pc;
                    is_at(read(head + one)) || is_at(read(head + other))
                }
            }
        }
    }

    /// # Safety
    /// As for `frames_at`.
    #[inline(always)]
    pub(super) unsafe fn debug_info_of(&self, blob: CodeBlob) -> Option<DebugInfo<'static>> {
        let head = blob.0;
        // SAFETY: the caller's promise; the tables say that the fields are there.
        unsafe {
            let number = |offset: usize| match read::<i32>(head + offset) {
                ..0 => None,
                number => Some(number as usize),
            };
            match self.debug_info {
                DebugInfoLayout::Behind {
                    code_begin,
                    scopes_pcs_offset,
                    dependencies_offset,
                    scopes_data_begin,
                    ..
                } => {
                    let pcs_begin = head.wrapping_add(number(scopes_pcs_offset)?);
                    Some(DebugInfo {
                        code_begin: read(head + code_begin),
                        pcs_begin,
                        pcs_end: head.wrapping_add(number(dependencies_offset)?),
                        data_begin: read(head + scopes_data_begin),
                        data_end: pcs_begin,
                        reader: None,
                    })
                }
                DebugInfoLayout::Apart {
                    code_offset,
                    immutable_data,
                    immutable_data_size,
                    scopes_pcs_offset,
                    scopes_data_offset,
                    ..
                } => {
                    let data: usize = read(head + immutable_data);
                    let data_begin = data.wrapping_add(number(scopes_data_offset)?);
                    Some(DebugInfo {
                        code_begin: head.wrapping_add(number(code_offset)?),
                        pcs_begin: data.wrapping_add(number(scopes_pcs_offset)?),
                        pcs_end: data_begin,
                        data_begin,
                        data_end: data.wrapping_add(number(immutable_data_size)?),
                        reader: None,
                    })
                }
            }
        }
    }

    /// Returns the position in the data of the scope for exactly this return address.
    ///
    /// # Safety
    /// As for `desc_from`.
    #[inline(always)]
    pub(super) unsafe fn scope_of(&self, info: &DebugInfo<'_>, pc: usize) -> Option<usize> {
        // SAFETY: the caller's promise.
        let (offset, scope) = unsafe { self.desc_from(info, pc) }?;
        if offset as usize != pc.wrapping_sub(info.code_begin) {
            return None;
        }
        Some(scope)
    }

    /// Returns the offset of the first `PcDesc` at this address or after it, and the position of its scope in the data:
    /// the `PcDesc`s are ordered by offset.
    ///
    /// # Safety
    /// The information is that of an nmethod that is not freed meanwhile, unless it says that it is not kept.
    #[inline(always)]
    pub(super) unsafe fn desc_from(&self, info: &DebugInfo<'_>, pc: usize) -> Option<(u32, usize)> {
        let wanted = pc.checked_sub(info.code_begin)?;
        if wanted > i32::MAX as usize {
            return None;
        }
        let wanted = wanted as i32;
        let size = self.pc_desc_size;
        let (mut low, mut high) = (
            0,
            info.pcs_end
                .checked_sub(info.pcs_begin)?
                .checked_div(size)?,
        );
        let count = high;
        while low < high {
            let middle = (low + high) / 2;
            let desc = info.pcs_begin + middle * size;
            // SAFETY: a `PcDesc` between the first and the last: its offset in the code, then where its scope is.
            if unsafe { info.int_at(desc) }? < wanted {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if low == count {
            return None;
        }
        let desc = info.pcs_begin + low * size;
        // SAFETY: as above.
        let (offset, scope) = unsafe { (info.int_at(desc)?, info.int_at(desc + 4)?) };
        if offset < 0 || scope < 0 {
            return None;
        }
        Some((offset as u32, scope as usize))
    }

    /// Counts the scopes: each begins with the position of the one it is inlined into, 0 for none.
    ///
    /// # Safety
    /// As for `scope_of`.
    unsafe fn count_scopes(&self, info: &DebugInfo<'_>, mut scope: usize) -> Option<u16> {
        for count in 1..MOST_INLINED {
            // 0 is the scope of code without debug information.
            if scope == 0 {
                return None;
            }
            // SAFETY: the caller's promise.
            let outer = unsafe { self.unsigned5(info, &mut scope) }? as usize;
            if outer == 0 {
                return Some(count);
            }
            scope = outer;
        }
        None
    }

    /// Reads the number at `offset` and moves `offset` after it: one to five bytes in HotSpot's UNSIGNED5, lowest
    /// first. A byte of 192 or more is followed by another, which counts 64 times as much.
    ///
    /// # Safety
    /// As for `desc_from`.
    #[inline(always)]
    pub(super) unsafe fn unsigned5(&self, info: &DebugInfo<'_>, offset: &mut usize) -> Option<u32> {
        let mut sum = 0_u32;
        let mut index = 0;
        while index < 5 {
            let address = info.data_begin.wrapping_add(*offset);
            let is_within = address >= info.data_begin && address < info.data_end;
            if !is_within {
                return None;
            }
            *offset += 1;
            // SAFETY: a byte of the data.
            let byte = u32::from(unsafe { info.byte_at(address) }?);
            let digit = byte.checked_sub(self.excluded_bytes)?;
            sum = sum.wrapping_add(digit << (6 * index));
            if byte < 192 || index == 4 {
                return Some(sum);
            }
            index += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a layout of which only the encoding of numbers matters.
    fn nmethod(excluded_bytes: u32) -> NmethodLayout {
        NmethodLayout {
            method: 0,
            compile_id: 0,
            pc_desc_size: 16,
            debug_info: DebugInfoLayout::Apart {
                code_offset: 0,
                deopt_handler_offsets: [0; 2],
                immutable_data: 0,
                immutable_data_size: 0,
                scopes_pcs_offset: 0,
                scopes_data_offset: 0,
            },
            excluded_bytes,
        }
    }

    fn info(descs: &[[i32; 4]], data: &[u8]) -> DebugInfo<'static> {
        let pcs = descs.as_ptr_range();
        let data = data.as_ptr_range();
        DebugInfo {
            code_begin: 0x1000,
            pcs_begin: pcs.start.expose_provenance(),
            pcs_end: pcs.end.addr(),
            data_begin: data.start.expose_provenance(),
            data_end: data.end.addr(),
            reader: None,
        }
    }

    #[test]
    fn numbers_are_read_as_each_version_writes_them() {
        let cases: [(&[u8], u32, u32); 8] = [
            (&[0], 0, 0),
            (&[191], 0, 191),
            (&[192, 0], 0, 192),
            (&[192, 1], 0, 256),
            (&[1], 1, 0),
            (&[191], 1, 190),
            (&[192, 1], 1, 191),
            (
                &[255, 255, 255, 255, 255],
                0,
                0xff + (255 << 6) + (255 << 12) + (255 << 18),
            ),
        ];
        for (bytes, excluded, number) in cases {
            let nmethod = nmethod(excluded);
            // SAFETY: the bytes are there.
            let found = unsafe { nmethod.unsigned5(&info(&[], bytes), &mut 0) };
            let number = if bytes.len() == 5 {
                number.wrapping_add(255 << 24)
            } else {
                number
            };
            assert_eq!(found, Some(number), "{bytes:?}");
        }
        let is_none = |excluded, byte: u8| {
            // SAFETY: as above.
            unsafe { nmethod(excluded).unsigned5(&info(&[], &[byte]), &mut 0) }.is_none()
        };
        assert!(is_none(0, 200), "not terminated");
        assert!(is_none(1, 0), "newer versions never write this byte");
    }

    #[test]
    fn methods_inlined_into_each_other_are_counted() {
        // At 1 a method that is not inlined, at 3 one inlined in it, at 5 one inlined in that.
        let data = [9, 0, 9, 1, 9, 3, 9];
        let descs = [
            [-1, 0, 0, 0],
            [4, 5, 0, 0],
            [8, 1, 0, 0],
            [12, 0, 0, 0],
            [i32::MAX, 0, 0, 0],
        ];
        let info = info(&descs, &data);
        let frames = |pc| {
            let nmethod = nmethod(0);
            // SAFETY: both tables are there.
            unsafe { nmethod.count_scopes(&info, nmethod.scope_of(&info, pc)?) }
        };
        assert_eq!(frames(0x1004), Some(3));
        assert_eq!(frames(0x1008), Some(1));
        assert_eq!(frames(0x100c), None, "no debug information");
        assert_eq!(frames(0x1006), None, "not a place that the VM tells of");
        assert_eq!(frames(0xfff), None, "not of this code");
    }

    #[test]
    fn debug_information_that_is_gone_is_none() {
        const NOWHERE: usize = 0x696d_6f74_612f_7470;
        let memory = MemoryReader::new();
        let info = DebugInfo {
            code_begin: 0x1000,
            pcs_begin: NOWHERE,
            pcs_end: NOWHERE + 64,
            data_begin: NOWHERE,
            data_end: NOWHERE + 64,
            reader: Some((&memory, false)),
        };
        let nmethod = nmethod(0);
        // SAFETY: it is not said to be kept.
        unsafe {
            assert_eq!(nmethod.desc_from(&info, 0x1004), None);
            assert_eq!(nmethod.unsigned5(&info, &mut 0), None);
        }
    }
}
