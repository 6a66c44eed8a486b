//! The VM's flags that the agent uses, found by the tables that HotSpot exports for debuggers: to learn which garbage
//! collector runs, and to set a flag from within.

use std::ffi::{CStr, c_char, c_int};
use std::ptr::NonNull;

use crate::env::Env;
use crate::vm_kind::vm_structs::{VmStructs, is};

/// A flag that is a C++ `bool`.
#[derive(Clone, Copy, Debug)]
pub enum BoolFlag {
    /// Compilers record which methods are inlined at every instruction, not only at safepoints. Read at each
    /// compilation.
    DebugNonSafepoints,
    /// Threads have allocation buffers.
    UseTlab,
    /// The sizes of allocation buffers adapt to the threads. Read at each collection.
    ResizeTlab,
    /// The garbage collector is Serial.
    UseSerialGc,
    /// The garbage collector is Parallel.
    UseParallelGc,
    /// The garbage collector is G1.
    UseG1Gc,
    /// A collection that the program asks for takes place while it runs, as far as the collector can. Read at each of them.
    ExplicitGcInvokesConcurrent,
    /// There is no garbage collector.
    UseEpsilonGc,
    /// The garbage collector is Concurrent Mark Sweep (JDK 11).
    UseConcMarkSweepGc,
    /// The garbage collector is ZGC.
    UseZgc,
    /// The garbage collector is Shenandoah.
    UseShenandoahGc,
    /// Code compiled before the VM started is used (JDK 11).
    UseAot,
    /// Calls of JNI are checked, and the VM's handlers of signals (`-Xcheck:jni`).
    CheckJniCalls,
    /// The compiler is written in Java.
    UseJvmciCompiler,
    /// Pointers to classes have half the size, and classes are in a space of their own.
    UseCompressedClassPointers,
    /// An OutOfMemoryError ends the process.
    ExitOnOutOfMemoryError,
    /// An OutOfMemoryError aborts the process.
    CrashOnOutOfMemoryError,
}

/// A flag that is a number of the size of a pointer.
#[derive(Clone, Copy, Debug)]
pub enum NumberFlag {
    /// JDK 11: the rest of an allocation buffer is worth keeping if it is larger than the buffer's size divided by
    /// this. The VM adopts it when it gives a thread a buffer of another size.
    TlabRefillWasteFraction,
    /// The highest level at which methods are compiled: 4 is the optimizing compiler, up to 3 it is the other one. Read
    /// whenever a method may be compiled.
    TieredStopAtLevel,
    /// The bytes that are reserved for classes to which compressed pointers refer.
    CompressedClassSpaceSize,
    /// The most bytes of the Java heap: what `-Xmx` says, or what the VM has chosen.
    MaxHeapSize,
}

impl BoolFlag {
    fn name(self) -> &'static CStr {
        match self {
            Self::DebugNonSafepoints => c"DebugNonSafepoints",
            Self::UseTlab => c"UseTLAB",
            Self::ResizeTlab => c"ResizeTLAB",
            Self::UseSerialGc => c"UseSerialGC",
            Self::UseParallelGc => c"UseParallelGC",
            Self::UseG1Gc => c"UseG1GC",
            Self::ExplicitGcInvokesConcurrent => c"ExplicitGCInvokesConcurrent",
            Self::UseEpsilonGc => c"UseEpsilonGC",
            Self::UseConcMarkSweepGc => c"UseConcMarkSweepGC",
            Self::UseZgc => c"UseZGC",
            Self::UseShenandoahGc => c"UseShenandoahGC",
            Self::UseAot => c"UseAOT",
            Self::CheckJniCalls => c"CheckJNICalls",
            Self::UseJvmciCompiler => c"UseJVMCICompiler",
            Self::UseCompressedClassPointers => c"UseCompressedClassPointers",
            Self::ExitOnOutOfMemoryError => c"ExitOnOutOfMemoryError",
            Self::CrashOnOutOfMemoryError => c"CrashOnOutOfMemoryError",
        }
    }
}

impl NumberFlag {
    fn name(self) -> &'static CStr {
        match self {
            Self::TlabRefillWasteFraction => c"TLABRefillWasteFraction",
            Self::TieredStopAtLevel => c"TieredStopAtLevel",
            Self::CompressedClassSpaceSize => c"CompressedClassSpaceSize",
            Self::MaxHeapSize => c"MaxHeapSize",
        }
    }

    fn kind(self) -> FlagType {
        match self {
            Self::TlabRefillWasteFraction => FlagType::Uintx,
            Self::TieredStopAtLevel => FlagType::Intx,
            Self::CompressedClassSpaceSize | Self::MaxHeapSize => FlagType::SizeT,
        }
    }
}

/// The type of a flag in the VM's table: a name up to JDK 15, later a number of HotSpot's `JVMFlag::TYPE_…`.
#[derive(Clone, Copy)]
enum FlagType {
    Bool,
    Intx,
    Uintx,
    SizeT,
    Text,
}

impl FlagType {
    fn name(self) -> &'static CStr {
        match self {
            Self::Bool => c"bool",
            Self::Intx => c"intx",
            Self::Uintx => c"uintx",
            Self::SizeT => c"size_t",
            Self::Text => c"ccstr",
        }
    }

    fn number(self) -> c_int {
        match self {
            Self::Bool => 0,
            Self::Intx => 3,
            Self::Uintx => 4,
            Self::SizeT => 6,
            Self::Text => 8,
        }
    }
}

/// The offset of a flag's type in its row.
#[derive(Clone, Copy)]
enum TypeField {
    Name { offset: usize },
    Number { offset: usize },
}

/// The bits of a row's `_flags` that tell the origin of the value: 0 for the default (`JVMFlag::VALUE_ORIGIN_MASK`, on
/// JDK 11 to 25).
const ORIGIN: c_int = 0xf;

/// The flags of this VM.
#[derive(Clone, Copy)]
pub struct VmFlags {
    flags: *const u8,
    count: usize,
    size: usize,
    name_offset: usize,
    value_offset: usize,
    origin_offset: Option<usize>,
    type_field: TypeField,
}

/// The flags of a VM in which they may be set.
#[derive(Clone, Copy)]
pub struct SettableFlags(VmFlags);

// SAFETY: the tables are constants of the VM's library, which is never unloaded.
unsafe impl Send for VmFlags {}
// SAFETY: as above.
unsafe impl Sync for VmFlags {}

impl VmFlags {
    /// Finds the flags; `None` in a VM that does not export them.
    pub(crate) fn find(structs: VmStructs) -> Option<Self> {
        let field = |name| structs.field(c"JVMFlag", name);
        let flags = field(c"flags")?.not_null()?.cast::<*const u8>();
        let count = field(c"numFlags")?.not_null()?.cast::<usize>();
        let kind = field(c"_type")?;
        let offset = kind.offset;
        let type_field = match kind.is_of(c"int") {
            true => TypeField::Number { offset },
            false => TypeField::Name { offset },
        };
        Some(Self {
            // SAFETY: the tables say that these static fields are there, and of these types.
            flags: unsafe { *flags },
            // SAFETY: as above.
            count: unsafe { *count },
            size: structs.size_of(c"JVMFlag")?,
            name_offset: field(c"_name")?.offset,
            value_offset: field(c"_addr")?.offset,
            origin_offset: field(c"_flags").map(|field| field.offset),
            type_field,
        })
    }

    /// Returns `true` if the VM has the flag, and it is on.
    pub fn is_on(&self, flag: BoolFlag) -> bool {
        let value = self.value(flag.name(), FlagType::Bool);
        // SAFETY: `value` has found a C++ bool that lives as long as the VM.
        value.is_some_and(|value| unsafe { value.as_ptr().read_volatile() } != 0)
    }

    /// Returns `true` if the VM has the flag.
    pub fn has(&self, flag: BoolFlag) -> bool {
        self.row(flag.name(), FlagType::Bool).is_some()
    }

    /// Returns `true` if the VM has the flag and its value is the default: set neither on the command line nor by the
    /// VM itself. Changes by [`SettableFlags::switch`] do not count.
    pub fn is_default(&self, flag: BoolFlag) -> bool {
        let row = self.row(flag.name(), FlagType::Bool);
        row.zip(self.origin_offset).is_some_and(|(row, offset)| {
            // SAFETY: a row of the table; the tables say that the field is there, and of this size.
            unsafe { *row.add(offset).cast::<c_int>() & ORIGIN == 0 }
        })
    }

    /// Returns the value of a flag; `None` if the VM has none of that name and type.
    pub fn number(&self, flag: NumberFlag) -> Option<usize> {
        let value = self.value(flag.name(), flag.kind())?;
        // SAFETY: `value` has found a uintx, an intx or a size_t, which have the size and the alignment of a pointer.
        Some(unsafe { value.cast::<usize>().as_ptr().read_volatile() })
    }

    /// Returns `true` if the VM counts its own memory by purpose (`-XX:NativeMemoryTracking=summary` or `detail`).
    pub(crate) fn tracks_memory(&self) -> bool {
        let value = self.value(c"NativeMemoryTracking", FlagType::Text);
        value.is_some_and(|value| {
            // SAFETY: `value` has found a pointer to a text that lives as long as the VM.
            unsafe {
                let text = value.cast::<*const c_char>().as_ptr().read_volatile();
                !text.is_null() && !is(text, c"off")
            }
        })
    }

    /// Returns the address of a flag's value.
    fn value(&self, name: &CStr, kind: FlagType) -> Option<NonNull<u8>> {
        let row = self.row(name, kind)?;
        // SAFETY: a row of the table, which has a pointer to the value.
        NonNull::new(unsafe { *row.add(self.value_offset).cast::<*mut u8>() })
    }

    /// Returns the row of a flag.
    fn row(&self, name: &CStr, kind: FlagType) -> Option<*const u8> {
        (0..self.count).find_map(|index| {
            // SAFETY: the table has `count` rows of `size` bytes, each with a pointer to its name.
            unsafe {
                let flag = self.flags.add(index * self.size);
                let flag_name = *flag.add(self.name_offset).cast::<*const c_char>();
                (is(flag_name, name) && self.is_of(flag, kind)).then_some(flag)
            }
        })
    }

    /// # Safety
    /// `flag` is a row of the table.
    unsafe fn is_of(&self, flag: *const u8, kind: FlagType) -> bool {
        // SAFETY: the tables say that the field is there, and of this type.
        unsafe {
            match self.type_field {
                TypeField::Name { offset } => {
                    is(*flag.add(offset).cast::<*const c_char>(), kind.name())
                }
                TypeField::Number { offset } => *flag.add(offset).cast::<c_int>() == kind.number(),
            }
        }
    }
}

impl SettableFlags {
    /// Returns the flags for reading.
    pub fn flags(&self) -> VmFlags {
        self.0
    }

    /// Switches a flag; returns `false` if the VM has none of that name and type.
    pub fn switch(&self, flag: BoolFlag, on: bool) -> bool {
        let Some(value) = self.0.value(flag.name(), FlagType::Bool) else {
            return false;
        };
        // SAFETY: `value` has found a C++ bool that lives as long as the VM. One byte changes at once, and the VM reads
        // it anew whenever it needs it, so it finds the old value or the new one.
        unsafe { value.as_ptr().write_volatile(u8::from(on)) };
        true
    }

    /// Sets a flag; returns `false` if the VM has none of that name and type.
    pub fn set(&self, flag: NumberFlag, number: usize) -> bool {
        let Some(value) = self.0.value(flag.name(), flag.kind()) else {
            return false;
        };
        // SAFETY: as in `VmFlags::number`. An aligned word changes at once: the VM finds the old value or the new one.
        unsafe { value.cast::<usize>().as_ptr().write_volatile(number) };
        true
    }
}

impl Env {
    /// Returns the VM's flags; `None` in a VM that is not known.
    pub fn flags(self) -> Option<VmFlags> {
        VmFlags::find(self.vm_structs()?)
    }

    /// Returns the VM's flags for writing.
    pub fn settable_flags(self) -> Option<SettableFlags> {
        self.flags().map(SettableFlags)
    }
}
