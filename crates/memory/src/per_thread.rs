//! Values that each thread keeps for itself. The standard library's `thread_local!` ends the process if there is no
//! memory for a thread's first use of it, or if the destructor of its value cannot be registered.

use std::cell::RefCell;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use super::allocator::system_refused;
use super::os::Key;
use super::{LARGE, claim};

type Slot<T> = RefCell<Option<T>>;

/// A value for each thread, dropped when the thread ends. Must be a static: the key is never released.
pub struct PerThread<T> {
    /// The key; the inner `None` means that the system has no key left.
    key: OnceLock<Option<Key>>,
    values: PhantomData<fn() -> T>,
}

impl<T: 'static> Default for PerThread<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: 'static> PerThread<T> {
    /// Creates the values; no thread has one yet.
    pub const fn new() -> Self {
        Self {
            key: OnceLock::new(),
            values: PhantomData,
        }
    }

    /// Runs `body` with the current thread's value, which is `None` at first. Returns `None` within another `body` on
    /// the same thread, and if the system has no room for another thread's value.
    #[inline]
    pub fn with<R>(&self, body: impl FnOnce(&mut Option<T>) -> R) -> Option<R> {
        let key = (*self.key.get_or_init(|| Key::new(drop_slot::<T>)))?;
        let slot = key.get().cast::<Slot<T>>();
        let slot = match slot.is_null() {
            true => new_slot(key)?,
            false => slot,
        };
        // SAFETY: `new_slot` made it from a box for this thread, which frees it at its end and is here instead.
        let slot = unsafe { &*slot };
        Some(body(&mut *slot.try_borrow_mut().ok()?))
    }
}

/// Creates the current thread's slot. The C library and others also keep data for each thread, and end the process if
/// there is no memory for it. This fails before they do, because it is the first thing that most threads do.
#[cold]
fn new_slot<T>(key: Key) -> Option<*mut Slot<T>> {
    if claim(LARGE).is_err() {
        system_refused();
        return None;
    }
    let slot = Box::into_raw(Box::new(Slot::<T>::new(None)));
    // The key's destructor takes what `Box::into_raw` gave for this type.
    if !key.set(slot.cast()) {
        // SAFETY: the system refused, so nobody else has it.
        drop(unsafe { Box::from_raw(slot) });
        return None;
    }
    Some(slot)
}

unsafe extern "C" fn drop_slot<T>(slot: *mut c_void) {
    // SAFETY: the system hands over what `new_slot` set for this key, once, at the thread's end.
    let slot = unsafe { Box::from_raw(slot.cast::<Slot<T>>()) };
    // The panic hook has reported it; unwinding further would end the process.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(slot)));
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::thread;

    use super::*;

    static DROPPED: AtomicU32 = AtomicU32::new(0);

    struct Counted(u32);

    impl Drop for Counted {
        fn drop(&mut self) {
            DROPPED.fetch_add(self.0, Ordering::Relaxed);
            assert!(self.0 != 3, "quietly");
        }
    }

    #[test]
    fn each_thread_has_its_own_until_it_ends() {
        static VALUES: PerThread<Counted> = PerThread::new();
        let threads = [1, 2, 3].map(|number| {
            thread::spawn(move || {
                assert!(VALUES.with(|value| value.is_none()).expect("a slot"));
                VALUES.with(|value| *value = Some(Counted(number)));
                VALUES.with(|value| value.as_ref().map(|value| value.0))
            })
        });
        let seen = threads.map(|thread| thread.join().expect("it ends well"));
        assert_eq!(seen, [1, 2, 3].map(|number| Some(Some(number))));
        assert_eq!(DROPPED.load(Ordering::Relaxed), 6);
        VALUES.with(|_| assert!(VALUES.with(|_| ()).is_none(), "it is taken"));
    }
}
