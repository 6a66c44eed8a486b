//! Code as the handler meets it: what kind it is, and which methods an instruction of it belongs to.

use super::super::super::code_heap::CodeBlob;
use super::super::VmStructs;
use super::super::compiled::DebugInfo;
use super::super::layout::{DebugInfoLayout, WORD};
use super::super::probe::MemoryReader;
use super::read;

/// The kinds of code that matter here.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CodeKind {
    /// A compiled method.
    Compiled,
    /// Code that calls a native method.
    Native,
    /// Between the interpreter and compiled code, or the choice of an implementation: it has no frame.
    Frameless,
    /// Code whose frames have no known size.
    Unwalkable,
    /// A stub.
    Stub,
}

/// The beginnings of the names of code, as many bytes as tell them apart.
const COMPILED: &[u8; 8] = b"nmethod\0";
const NATIVE: &[u8; 8] = b"native n";
const FRAMELESS: [&[u8; 8]; 3] = [b"I2C/C2I ", b"vtable c", b"MethodHa"];
const UNWALKABLE: [&[u8; 8]; 3] = [b"Deoptimi", b"Uncommon", b"Exceptio"];

/// Offsets in `CodeBlob` and `nmethod`, besides those of `Layout`.
pub(super) struct CodeLayout {
    name: usize,
    /// The offset of the byte for the kind, and its value for adapters, whose name is another where they come from an AOT cache;
    /// from JDK 24 on.
    adapter: Option<(usize, u8)>,
    frame_complete: FrameComplete,
    entry: EntryLayout,
    original_pc: usize,
    metadata: MetadataLayout,
}

/// The location of a method's entry after the check of the receiver's class.
enum EntryLayout {
    Address(usize),
    /// From the beginning of the code; from JDK 24 on.
    Distance(usize),
}

/// The offset of the number that says from where on the frame is there, which is half as long from JDK 24 on.
enum FrameComplete {
    Int(usize),
    Short(usize),
}

/// The location of the methods that a compiled method refers to.
enum MetadataLayout {
    /// In the code heap, before the debug information.
    Behind(usize),
    /// In separate memory, after the relocations; from JDK 24.
    Apart {
        data: usize,
        size: usize,
        relocations: usize,
    },
}

impl CodeLayout {
    pub(super) fn find(structs: VmStructs) -> Option<Self> {
        let blob = |name| structs.offset(c"CodeBlob", name);
        let nmethod = |name| structs.offset(c"nmethod", name);
        let frame_complete = structs.field(c"CodeBlob", c"_frame_complete_offset")?;
        let at = frame_complete.offset;
        Some(Self {
            name: blob(c"_name")?,
            adapter: adapter(structs),
            frame_complete: if frame_complete.is_of(c"int") {
                FrameComplete::Int(at)
            } else if frame_complete.is_of(c"int16_t") {
                FrameComplete::Short(at)
            } else {
                return None;
            },
            entry: match nmethod(c"_verified_entry_point") {
                Some(address) => EntryLayout::Address(address),
                None => EntryLayout::Distance(nmethod(c"_verified_entry_offset")?),
            },
            original_pc: nmethod(c"_orig_pc_offset")?,
            metadata: match nmethod(c"_metadata_offset") {
                Some(offset) => MetadataLayout::Behind(offset),
                None => MetadataLayout::Apart {
                    data: blob(c"_mutable_data")?,
                    size: blob(c"_mutable_data_size")?,
                    relocations: blob(c"_relocation_size")?,
                },
            },
        })
    }

    /// Returns the kind of some code. If it is not certain that a thread is in it, its header may be that of code which
    /// is being made or freed, and hold anything.
    ///
    /// # Safety
    /// The blob is in use. If `is_certain`, it is not freed meanwhile.
    #[inline(always)]
    pub(super) unsafe fn kind(
        &self,
        memory: &MemoryReader,
        blob: CodeBlob,
        is_certain: bool,
    ) -> CodeKind {
        // SAFETY: every code has these fields.
        let (is_adapter, name) = unsafe {
            let is_adapter = match self.adapter {
                Some((at, number)) => read::<u8>(blob.0 + at) == number,
                None => false,
            };
            (is_adapter, read::<usize>(blob.0 + self.name))
        };
        if is_adapter {
            return CodeKind::Frameless;
        }
        // Every code has a name, which ends with a 0 and lives as long as the code.
        let Some(begin) = text_at(memory, name, is_certain) else {
            return CodeKind::Unwalkable;
        };
        if begin == word_of(COMPILED) {
            CodeKind::Compiled
        } else if begin == word_of(NATIVE) {
            CodeKind::Native
        } else if is_one_of(begin, FRAMELESS) {
            CodeKind::Frameless
        } else if is_one_of(begin, UNWALKABLE) {
            CodeKind::Unwalkable
        } else {
            CodeKind::Stub
        }
    }

    /// Returns `true` for the stubs by which virtual threads are continued.
    ///
    /// # Safety
    /// As for `kind`.
    #[inline(always)]
    pub(super) unsafe fn is_of_continuations(&self, memory: &MemoryReader, blob: CodeBlob) -> bool {
        // SAFETY: as in `kind`.
        let name = unsafe { read::<usize>(blob.0 + self.name) };
        let is_at = |distance: usize, part: &[u8; 8]| {
            text_at(memory, name.wrapping_add(distance), false) == Some(word_of(part))
        };
        is_at(0, b"StubRout") && is_at(8, b"ines (co") && is_at(16, b"ntinuati")
    }

    /// Returns the number of bytes of code after which the frame is there; `None` if it has none.
    ///
    /// # Safety
    /// As for `kind`.
    #[inline(always)]
    pub(super) unsafe fn frame_complete(&self, blob: CodeBlob) -> Option<usize> {
        // SAFETY: the caller's promise.
        let offset = unsafe {
            match self.frame_complete {
                FrameComplete::Int(at) => read::<i32>(blob.0 + at),
                FrameComplete::Short(at) => i32::from(read::<i16>(blob.0 + at)),
            }
        };
        if offset < 0 {
            None
        } else {
            Some(offset as usize)
        }
    }

    /// Returns the entry of a method whose code begins at `code_begin`.
    ///
    /// # Safety
    /// As for `kind`, and the blob is code of a method.
    #[inline(always)]
    pub(super) unsafe fn entry(&self, blob: CodeBlob, code_begin: usize) -> usize {
        // SAFETY: the caller's promise.
        unsafe {
            match self.entry {
                EntryLayout::Address(at) => read(blob.0 + at),
                EntryLayout::Distance(at) => {
                    code_begin.wrapping_add(usize::from(read::<u16>(blob.0 + at)))
                }
            }
        }
    }

    /// Returns the distance from the stack pointer of a frame of this method to the return address that the VM has
    /// replaced, if it has.
    ///
    /// # Safety
    /// As for `kind`, and the blob is a compiled method.
    #[inline(always)]
    pub(super) unsafe fn original_pc(&self, blob: CodeBlob) -> usize {
        // SAFETY: the caller's promise.
        unsafe { read::<i32>(blob.0 + self.original_pc) as usize }
    }

    /// Returns the method of that index in the debug information; `None` if it is none. `is_certain` is false for code
    /// that may not be of a frame.
    ///
    /// # Safety
    /// As for `original_pc`, but where `is_certain` is false.
    #[inline(always)]
    pub(super) unsafe fn method(
        &self,
        memory: &MemoryReader,
        blob: CodeBlob,
        info: &DebugInfo<'_>,
        index: u32,
        is_certain: bool,
    ) -> Option<usize> {
        // SAFETY: the caller's promise; the bounds of the table are the VM's.
        unsafe {
            let number = |offset: usize| read::<i32>(blob.0 + offset) as usize;
            let (begin, end) = match self.metadata {
                MetadataLayout::Behind(offset) => {
                    (blob.0.wrapping_add(number(offset)), info.data_begin)
                }
                MetadataLayout::Apart {
                    data,
                    size,
                    relocations,
                } => {
                    let data: usize = read(blob.0 + data);
                    (
                        data.wrapping_add(number(relocations)),
                        data.wrapping_add(number(size)),
                    )
                }
            };
            let before = (index as usize).checked_sub(1)?;
            let address = begin.wrapping_add(before.wrapping_mul(WORD));
            if address < begin || address.wrapping_add(WORD) > end {
                return None;
            }
            memory.word_at(address, is_certain)
        }
    }
}

fn adapter(structs: VmStructs) -> Option<(usize, u8)> {
    let kind = structs.offset(c"CodeBlob", c"_kind")?;
    let number = structs.constant(c"CodeBlobKind::Adapter")?;
    let is_byte = structs.size_of(c"CodeBlobKind")? == 1;
    is_byte.then_some((kind, u8::try_from(number).ok()?))
}

impl DebugInfoLayout {
    /// Returns where the code of a blob begins.
    ///
    /// # Safety
    /// The blob is in use, and is not freed meanwhile.
    #[inline(always)]
    pub(super) unsafe fn code_begin(&self, blob: CodeBlob) -> usize {
        // SAFETY: the caller's promise; every code has this field.
        unsafe {
            match *self {
                Self::Behind { code_begin, .. } => read(blob.0 + code_begin),
                Self::Apart { code_offset, .. } => blob
                    .0
                    .wrapping_add(read::<i32>(blob.0 + code_offset) as usize),
            }
        }
    }
}

/// Returns the first eight bytes of a text; `None` if they cannot be read.
#[inline(always)]
fn text_at(memory: &MemoryReader, address: usize, is_certain: bool) -> Option<usize> {
    if address == 0 {
        return None;
    }
    memory.unaligned_word_at(address, is_certain)
}

/// Returns eight bytes as a word that is read from memory.
#[inline(always)]
fn word_of(text: &[u8; 8]) -> usize {
    usize::from_ne_bytes(*text)
}

#[inline(always)]
fn is_one_of(begin: usize, texts: [&[u8; 8]; 3]) -> bool {
    let [one, other, third] = texts;
    begin == word_of(one) || begin == word_of(other) || begin == word_of(third)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_whose_header_holds_anything_has_no_kind() {
        const NOWHERE: usize = 0x696d_6f74_612f_7470;
        let layout = CodeLayout {
            name: WORD,
            adapter: None,
            frame_complete: FrameComplete::Int(0),
            entry: EntryLayout::Address(0),
            original_pc: 0,
            metadata: MetadataLayout::Behind(0),
        };
        let kind = |name: usize| {
            let header = [0, name];
            let blob = CodeBlob(header.as_ptr().expose_provenance());
            // SAFETY: the header is there, and nothing of it is taken for certain.
            unsafe {
                let memory = MemoryReader::new();
                let kind = layout.kind(&memory, blob, false);
                (kind, layout.is_of_continuations(&memory, blob))
            }
        };
        for name in [NOWHERE, 0, 8, usize::MAX, usize::MAX - 10] {
            assert!(kind(name) == (CodeKind::Unwalkable, false), "{name:x}");
        }
        let of = |name: &[u8; 40]| kind(name.as_ptr().expose_provenance());
        let named = |name: &str| {
            let mut bytes = [0; 40];
            bytes[..name.len()].copy_from_slice(name.as_bytes());
            of(&bytes)
        };
        assert!(named("nmethod") == (CodeKind::Compiled, false));
        assert!(named("native nmethod") == (CodeKind::Native, false));
        assert!(named("StubRoutines (compiler stubs)") == (CodeKind::Stub, false));
        assert!(named("StubRoutines (continuation stubs)") == (CodeKind::Stub, true));
    }
}
