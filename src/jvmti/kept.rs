//! Objects that are held for a while.

use std::ffi::CStr;
use std::ptr;

use super::jni::{Jni, Local, Object, jni};

const OBJECT: &CStr = c"java/lang/Object";

/// References that keep objects alive and in sight, in arrays that nobody else knows.
pub struct KeptObjects<'a> {
    jni: Jni<'a>,
    element: Local<'a>,
    arrays: Vec<Local<'a>>,
    free: std::ops::Range<i32>,
}

/// References in one array, beyond the first.
const KEPT: i32 = 4_096;

impl<'a> KeptObjects<'a> {
    /// None yet; the first array takes as many as `first`. `None` where the heap has no room for it.
    pub fn new(jni: Jni<'a>, first: usize) -> Option<Self> {
        let mut kept = Self {
            jni,
            element: jni.find_class(OBJECT)?,
            arrays: Vec::new(),
            free: 0..0,
        };
        kept.grow(i32::try_from(first).ok()?.max(1))?;
        Some(kept)
    }

    /// Keeps an object; `None` where the heap has no room for it.
    pub fn keep(&mut self, object: Object<'_>) -> Option<()> {
        let index = match self.free.next() {
            Some(index) => index,
            None => {
                self.grow(KEPT)?;
                self.free.next()?
            }
        };
        let array = self.arrays.last()?;
        // SAFETY: the index is one of the array's, which takes any object.
        unsafe {
            jni!(
                self.jni,
                SetObjectArrayElement,
                array.object().raw,
                index,
                object.raw
            )
        };
        (!self.jni.clear_exception()).then_some(())
    }

    /// The arrays, in the order of their making.
    pub fn arrays(&self) -> impl Iterator<Item = Object<'_>> {
        self.arrays.iter().map(Local::object)
    }

    fn grow(&mut self, length: i32) -> Option<()> {
        let class = self.element.object().raw;
        // SAFETY: the class is `java.lang.Object`, the length not negative, the first element null.
        let raw = unsafe { jni!(self.jni, NewObjectArray, length, class, ptr::null_mut()) };
        if self.jni.clear_exception() {
            return None;
        }
        self.arrays.push(Local::new(self.jni, raw)?);
        self.free = 0..length;
        Some(())
    }
}
