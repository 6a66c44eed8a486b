//! Kinds and their tags; those of the records inside a heap dump.

macro_rules! kinds {
    ($(#[$about:meta])* $kinds:ident: $($(#[$doc:meta])* $kind:ident = $tag:literal, $name:literal;)*) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum $kinds {
            $($(#[$doc])* $kind = $tag,)*
        }

        impl $kinds {
            /// Every kind, ordered by tag.
            pub const ALL: &[$kinds] = &[$($kinds::$kind,)*];

            /// Returns the kind for a tag; `None` if the format has no such tag.
            #[inline]
            #[must_use]
            pub fn from_tag(tag: u8) -> Option<$kinds> {
                match tag {
                    $($tag => Some($kinds::$kind),)*
                    _ => None,
                }
            }

            /// Returns the tag of records of this kind.
            #[must_use]
            pub fn tag(self) -> u8 {
                self as u8
            }

            /// Returns the kind's name as in the format's description: `LOAD CLASS`, `INSTANCE DUMP`.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $($kinds::$kind => $name,)*
                }
            }
        }

        impl std::fmt::Display for $kinds {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.pad(self.name())
            }
        }
    };
}

pub(crate) use kinds;

kinds! {
    /// The kind of a record inside a heap dump, according to its tag. Ordered by tag.
    HeapKind:
    /// A global reference of native code.
    RootJniGlobal = 0x01, "ROOT JNI GLOBAL";
    /// A local reference of native code.
    RootJniLocal = 0x02, "ROOT JNI LOCAL";
    /// A local variable of a Java method.
    RootJavaFrame = 0x03, "ROOT JAVA FRAME";
    /// An object on a thread's native stack.
    RootNativeStack = 0x04, "ROOT NATIVE STACK";
    /// A class of the system.
    RootStickyClass = 0x05, "ROOT STICKY CLASS";
    /// An object that a thread waits for.
    RootThreadBlock = 0x06, "ROOT THREAD BLOCK";
    /// A monitor that a thread owns.
    RootMonitorUsed = 0x07, "ROOT MONITOR USED";
    /// A thread that is alive.
    RootThread = 0x08, "ROOT THREAD OBJECT";
    /// A class, its statics and the layout of its instances.
    Class = 0x20, "CLASS DUMP";
    /// A plain object.
    Instance = 0x21, "INSTANCE DUMP";
    /// An array of references.
    ObjectArray = 0x22, "OBJECT ARRAY DUMP";
    /// An array of a primitive type.
    PrimitiveArray = 0x23, "PRIMITIVE ARRAY DUMP";
    /// Android's: a string literal.
    RootInternedString = 0x89, "ROOT INTERNED STRING";
    /// Android's: an object that waits for its finalizer.
    RootFinalizing = 0x8A, "ROOT FINALIZING";
    /// Android's: an object that a debugger holds.
    RootDebugger = 0x8B, "ROOT DEBUGGER";
    /// Android's: an object that is being cleaned up after its reference was cleared.
    RootReferenceCleanup = 0x8C, "ROOT REFERENCE CLEANUP";
    /// Android's: an object that the VM holds.
    RootVmInternal = 0x8D, "ROOT VM INTERNAL";
    /// Android's: a monitor that native code holds.
    RootJniMonitor = 0x8E, "ROOT JNI MONITOR";
    /// Android's: an object that nothing keeps alive.
    RootUnreachable = 0x90, "ROOT UNREACHABLE";
    /// Android's: an array of a primitive type, without its elements.
    PrimitiveArrayWithoutData = 0xC3, "PRIMITIVE ARRAY NODATA DUMP";
    /// Android's: the heap, of several, that the following objects belong to.
    HeapInfo = 0xFE, "HEAP DUMP INFO";
    /// An object kept alive for an unknown reason.
    RootUnknown = 0xFF, "ROOT UNKNOWN";
}
