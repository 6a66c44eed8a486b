//! A list of objects inside the Java heap: an array of arrays, so that every garbage collector finds room for each
//! part.

use super::jni::{GlobalRef, Jni, LocalRef, Object, WeakObject, jni};
use super::sys;

/// Keeps objects, in order, and keeps them alive.
pub struct ObjectList<'a> {
    jni: Jni<'a>,
    list: GlobalRef,
    chunk: Option<LocalRef<'a>>,
    chunks: usize,
    length: usize,
}

impl<'a> ObjectList<'a> {
    /// The number of elements of each inner array: 235 KB, or 469 KB if references take 8 bytes, which no garbage
    /// collector treats as huge. Hardly any array of a program has this length.
    pub const CHUNK: usize = 60_013;

    /// Creates an empty list with room for that many objects; `None` if the VM is out of memory.
    pub fn new(jni: Jni<'a>, room: usize) -> Option<Self> {
        let class = jni.find_class(c"java/lang/Object")?;
        let chunks = room.div_ceil(Self::CHUNK);
        let list = new_array(jni, &class, Self::outer_length(chunks))?;
        for index in 0..chunks {
            let chunk = new_array(jni, &class, Self::CHUNK)?;
            // SAFETY: the local reference is valid.
            unsafe { set(jni, &list, index, chunk.object().raw) };
        }
        Some(Self {
            jni,
            list: GlobalRef::new(jni, list.object())?,
            chunk: None,
            chunks,
            length: 0,
        })
    }

    /// Returns the most bytes of the Java heap that a list with that much room takes.
    pub fn size(room: usize) -> u64 {
        let chunks = room.div_ceil(Self::CHUNK);
        (chunks * (Self::CHUNK * 8 + 24) + Self::outer_length(chunks) * 8 + 24) as u64
    }

    /// Appends an object; returns `false` if there is no room.
    pub fn push(&mut self, object: Object<'_>) -> bool {
        self.push_raw(object.raw)
    }

    /// As [`ObjectList::push`]; an object that has been collected becomes null in the list.
    pub fn push_weak(&mut self, object: WeakObject<'_>) -> bool {
        self.push_raw(object.raw)
    }

    fn push_raw(&mut self, object: sys::jobject) -> bool {
        let index = self.length % Self::CHUNK;
        if index == 0 {
            let chunk = self.length / Self::CHUNK;
            if chunk >= self.chunks {
                return false;
            }
            self.chunk = self.chunk_at(chunk);
        }
        let Some(chunk) = &self.chunk else {
            return false;
        };
        // SAFETY: the caller's reference is valid while it is borrowed.
        unsafe { set(self.jni, chunk, index, object) };
        self.length += 1;
        true
    }

    /// Calls `look` with each array that the list consists of.
    pub fn for_each_array(&self, mut look: impl FnMut(Object<'_>)) {
        look(self.list.object());
        for index in 0..self.chunks {
            if let Some(chunk) = self.chunk_at(index) {
                look(chunk.object());
            }
        }
    }

    fn chunk_at(&self, index: usize) -> Option<LocalRef<'a>> {
        // SAFETY: the list is a live array of more than `index` elements.
        let raw = unsafe {
            jni!(
                self.jni,
                GetObjectArrayElement,
                self.list.raw,
                index as sys::jint
            )
        };
        LocalRef::new(self.jni, raw)
    }

    /// Releases the references that are only needed for appending, so that only [`ObjectList::reference`] keeps the
    /// list alive.
    pub fn finish(&mut self) {
        self.chunk = None;
    }

    /// Returns the length of the outer array.
    pub fn length_of_outer(&self) -> usize {
        Self::outer_length(self.chunks)
    }

    /// Returns the reference that keeps the list alive, as the VM's own dumper writes it: without the bits for the kind
    /// of reference.
    pub fn reference(&self) -> u64 {
        self.list.raw.addr() as u64 & !7
    }

    /// Returns a length for the outer array: more than needed, so that hardly any array of a program has the same
    /// length.
    fn outer_length(chunks: usize) -> usize {
        chunks + 1_009
    }
}

fn new_array<'a>(jni: Jni<'a>, class: &LocalRef<'a>, length: usize) -> Option<LocalRef<'a>> {
    let length = sys::jsize::try_from(length).ok()?;
    // SAFETY: the class is a live reference; the elements start as null.
    let raw = unsafe { jni!(jni, NewObjectArray, length, class.raw, std::ptr::null_mut()) };
    if jni.clear_exception() {
        return None;
    }
    LocalRef::new(jni, raw)
}

/// # Safety
/// `object` must be a valid reference.
unsafe fn set(jni: Jni<'_>, array: &LocalRef<'_>, index: usize, object: sys::jobject) {
    // SAFETY: the array is a live `Object[]`, longer than `index`, which takes every object; a weak reference whose
    // object is gone stands for null.
    unsafe {
        jni!(
            jni,
            SetObjectArrayElement,
            array.raw,
            index as sys::jsize,
            object
        )
    }
}
