//! A list of objects inside the Java heap: an array of arrays, so that no part of it is too large for any collector to
//! find room for.

use super::jni::{Global, Jni, Local, Object, jni};
use super::sys;

/// Keeps objects, in order. What it holds is alive.
pub struct ObjectList<'a> {
    jni: Jni<'a>,
    list: Global,
    chunk: Option<Local<'a>>,
    chunks: usize,
    length: usize,
}

impl<'a> ObjectList<'a> {
    /// Elements of each inner array: 235 KB, or 469 KB where references take 8 bytes, which no collector calls huge. A
    /// number that hardly any array of a program has.
    pub const CHUNK: usize = 60_013;

    /// An empty list with room for so many objects; `None` when the VM is out of memory.
    pub fn new(jni: Jni<'a>, room: usize) -> Option<Self> {
        let class = jni.find_class(c"java/lang/Object")?;
        let chunks = room.div_ceil(Self::CHUNK);
        let list = new_array(jni, &class, Self::outer_length(chunks))?;
        for index in 0..chunks {
            let chunk = new_array(jni, &class, Self::CHUNK)?;
            set(jni, &list, index, chunk.object());
        }
        Some(Self {
            jni,
            list: Global::new(jni, list.object())?,
            chunk: None,
            chunks,
            length: 0,
        })
    }

    /// Bytes of the Java heap that a list with so much room takes at the most.
    pub fn size(room: usize) -> u64 {
        let chunks = room.div_ceil(Self::CHUNK);
        (chunks * (Self::CHUNK * 8 + 24) + Self::outer_length(chunks) * 8 + 24) as u64
    }

    /// Appends an object; `false` when there is no room. One that has been collected is null in the list.
    pub fn push(&mut self, object: Object<'_>) -> bool {
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
        set(self.jni, chunk, index, object);
        self.length += 1;
        true
    }

    /// Shows the arrays that the list is made of.
    pub fn for_each_array(&self, mut look: impl FnMut(Object<'_>)) {
        look(self.list.object());
        for index in 0..self.chunks {
            if let Some(chunk) = self.chunk_at(index) {
                look(chunk.object());
            }
        }
    }

    fn chunk_at(&self, index: usize) -> Option<Local<'a>> {
        // SAFETY: the list is a live array of more than `index` elements.
        let raw = unsafe {
            jni!(
                self.jni,
                GetObjectArrayElement,
                self.list.raw,
                index as sys::jint
            )
        };
        Local::new(self.jni, raw)
    }

    /// Lets go of what is only needed for appending, so that nothing but [`ObjectList::reference`] holds the list.
    pub fn finish(&mut self) {
        self.chunk = None;
    }

    /// The length of the outer array.
    pub fn length_of_outer(&self) -> usize {
        Self::outer_length(self.chunks)
    }

    /// The reference that holds the list, as the VM's own dumper writes it: without the bits that tell kinds of
    /// references apart.
    pub fn reference(&self) -> u64 {
        self.list.raw.addr() as u64 & !7
    }

    /// More than is needed, so that hardly any array of a program has the same length.
    fn outer_length(chunks: usize) -> usize {
        chunks + 1_009
    }
}

fn new_array<'a>(jni: Jni<'a>, class: &Local<'a>, length: usize) -> Option<Local<'a>> {
    let length = sys::jsize::try_from(length).ok()?;
    // SAFETY: the class is a live reference; the elements start as null.
    let raw = unsafe { jni!(jni, NewObjectArray, length, class.raw, std::ptr::null_mut()) };
    if jni.clear_exception() {
        return None;
    }
    Local::new(jni, raw)
}

fn set(jni: Jni<'_>, array: &Local<'_>, index: usize, object: Object<'_>) {
    // SAFETY: the array is a live `Object[]`, longer than `index`, which takes every object; a weak reference whose
    // object is gone stands for null.
    unsafe {
        jni!(
            jni,
            SetObjectArrayElement,
            array.raw,
            index as sys::jsize,
            object.raw
        )
    }
}
