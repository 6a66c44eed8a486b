//! The JVMTI functions the agent uses, made safe.

use std::ffi::{CStr, c_char, c_void};
use std::ops::Deref;
use std::ptr::{self, NonNull};

use super::error::JvmtiError;
use super::jni::{Jni, LocalRef, Object, Vm};
use super::session_id::SessionId;
use super::sys;

/// The largest answer except for lists, with room to spare: modified UTF-8 has at most 64 KB.
const ANSWER: usize = 64 * 1024;
/// The memory that must be left before a class is named: other threads take memory between the look and the VM's request. Too slow to
/// look for at every method.
const CLASS_NAME: usize = 1 << 20;

/// The agent's JVMTI environment. The VM lets every thread use it.
#[derive(Clone, Copy)]
pub struct Env {
    pub(super) raw: NonNull<sys::jvmtiEnv>,
    pub(super) vm: Vm,
    /// Distinguishes data kept on threads from that of earlier sessions.
    pub(super) session: SessionId,
}

// SAFETY: the JVMTI specification: an environment may be used on every thread.
unsafe impl Send for Env {}
// SAFETY: as above.
unsafe impl Sync for Env {}

/// Calls a function of the JVMTI table and turns its code into a `Result`. All versions since 11 have tables of the
/// same size, in which an older VM leaves the slots of newer functions null.
macro_rules! jvmti {
    ($env:expr, $function:ident $(, $argument:expr)*) => {{
        $crate::vm_call::before_call(stringify!($function));
        let env = $env.as_raw();
        match (**env).$function {
            Some(function) => $crate::env::checked(stringify!($function), function(env $(, $argument)*)),
            None => $crate::env::checked(stringify!($function), sys::JVMTI_ERROR_NOT_AVAILABLE),
        }
    }};
}
pub(super) use jvmti;

/// Turns the code of a JVMTI function into a `Result`.
pub(super) fn checked(function: &'static str, code: sys::jvmtiError) -> Result<(), JvmtiError> {
    match code {
        sys::JVMTI_ERROR_NONE => Ok(()),
        code => Err(JvmtiError { function, code }),
    }
}

/// A method. Every value comes from the VM, which recognizes its own ids for as long as it lives: HotSpot never frees
/// the memory they point to, up to JDK 25, and looks them up in a table from 26 on. Asking about a method whose class
/// is gone is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct MethodId(sys::jmethodID);

impl MethodId {
    /// Wraps the VM's id of a method.
    pub(super) fn from_raw(id: sys::jmethodID) -> Self {
        Self(id)
    }

    /// Wraps the VM's id of a method; `None` for null.
    pub(super) fn non_null(id: sys::jmethodID) -> Option<Self> {
        (!id.is_null()).then_some(Self(id))
    }

    /// Returns the id as a number.
    pub(super) fn address(self) -> usize {
        self.0.addr()
    }

    /// Creates the id with that number, in a VM whose ids are numbers.
    pub(super) fn of_number(number: usize) -> Self {
        Self(ptr::without_provenance_mut(number))
    }

    /// Creates an id that no VM knows, for tests of what only compares ids.
    #[doc(hidden)]
    pub fn made_up(number: usize) -> Self {
        Self(ptr::without_provenance_mut(number))
    }
}

// SAFETY: the pointer is a number to this type, whose methods do not follow it. JNI lets an id be used on every thread.
unsafe impl Send for MethodId {}
// SAFETY: as above.
unsafe impl Sync for MethodId {}

/// One frame of a stack, as the VM reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct FrameInfo {
    /// The method.
    pub method: MethodId,
    /// The bytecode index, -1 in a native method.
    pub location: i64,
}

// The VM writes `jvmtiFrameInfo`s into a slice of `FrameInfo`s.
const _: () = assert!(
    size_of::<FrameInfo>() == size_of::<sys::jvmtiFrameInfo>()
        && std::mem::offset_of!(FrameInfo, method)
            == std::mem::offset_of!(sys::jvmtiFrameInfo, method)
        && std::mem::offset_of!(FrameInfo, location)
            == std::mem::offset_of!(sys::jvmtiFrameInfo, location)
);

impl Default for FrameInfo {
    fn default() -> Self {
        Self {
            method: MethodId(ptr::null_mut()),
            location: -1,
        }
    }
}

/// A method's name and signature.
pub struct MethodName {
    /// `main`.
    pub name: String,
    /// `([Ljava/lang/String;)V`.
    pub signature: String,
}

/// The VM's information about a thread.
pub struct ThreadInfo<'a> {
    /// Its name; may be empty.
    pub name: String,
    /// Its group, unless the thread has ended.
    pub group: Option<LocalRef<'a>>,
}

/// The VM's information about a thread group.
pub struct GroupInfo<'a> {
    /// Its name.
    pub name: String,
    /// The parent group; `None` at the top.
    pub parent: Option<LocalRef<'a>>,
}

impl Env {
    /// Wraps the environment that the VM passes to a callback. It must not be used for thread storage, because the
    /// session is not known.
    pub(super) fn of_callback(raw: *mut sys::jvmtiEnv, jni: Jni<'_>) -> Option<Self> {
        Some(Self {
            raw: NonNull::new(raw)?,
            vm: Vm::of(jni)?,
            session: SessionId::NONE,
        })
    }

    pub(super) fn as_raw(self) -> *mut sys::jvmtiEnv {
        self.raw.as_ptr()
    }

    /// Returns `true` while the VM is being initialized, that is, during `Agent_OnLoad`.
    pub fn is_loading(self) -> bool {
        let mut phase = 0;
        // SAFETY: `phase` receives the answer.
        let answer = unsafe { jvmti!(self, GetPhase, &mut phase) };
        answer.is_ok() && phase == sys::JVMTI_PHASE_ONLOAD
    }

    pub(crate) fn vm(self) -> Vm {
        self.vm
    }

    /// Returns a system property of the VM's, such as `java.vm.name`; `None` if there is none of that name.
    pub fn property(self, name: &CStr) -> Option<String> {
        let mut value = ptr::null_mut();
        // SAFETY: the name is NUL-terminated, and `value` receives the answer.
        unsafe { jvmti!(self, GetSystemProperty, name.as_ptr(), &mut value) }.ok()?;
        Some(self.text(value))
    }

    /// Runs `body` with the current thread's JNI environment; `None` if the thread is not attached to the VM.
    pub fn with_current_jni<T>(self, body: impl FnOnce(Jni<'_>) -> T) -> Option<T> {
        self.vm.with_current(body)
    }

    /// Writes the stack of a thread (`None` = the current one) to `frames`, innermost first; returns the number of
    /// frames written.
    pub fn stack_trace(
        self,
        thread: Option<Object<'_>>,
        frames: &mut [FrameInfo],
    ) -> Result<usize, JvmtiError> {
        let mut count = 0;
        // SAFETY: `FrameInfo` has the layout of jvmtiFrameInfo, and the VM writes at most `frames.len()` of them.
        unsafe {
            jvmti!(
                self,
                GetStackTrace,
                thread.map_or(ptr::null_mut(), |thread| thread.raw),
                0,
                frames.len().try_into().unwrap_or(sys::jint::MAX),
                frames.as_mut_ptr().cast(),
                &mut count
            )?;
        }
        Ok(count as usize)
    }

    /// Returns the CPU time that the thread has used since it started, in nanoseconds.
    pub fn thread_cpu_time(self, thread: Object<'_>) -> Result<u64, JvmtiError> {
        let mut nanos = 0;
        // SAFETY: `nanos` receives the answer.
        unsafe { jvmti!(self, GetThreadCpuTime, thread.raw, &mut nanos)? };
        Ok(nanos as u64)
    }

    /// As [`Env::thread_cpu_time`], for the current thread.
    pub fn current_thread_cpu_time(self) -> Result<u64, JvmtiError> {
        let mut nanos = 0;
        // SAFETY: `nanos` receives the answer.
        unsafe { jvmti!(self, GetCurrentThreadCpuTime, &mut nanos)? };
        Ok(nanos as u64)
    }

    /// Returns all live platform threads.
    pub fn all_threads<'a>(self, jni: Jni<'a>) -> Result<Vec<LocalRef<'a>>, JvmtiError> {
        let mut count = 0;
        let mut threads = ptr::null_mut();
        // SAFETY: both receive answers; `Buffer` frees the array.
        unsafe { jvmti!(self, GetAllThreads, &mut count, &mut threads)? };
        let threads = Buffer::new(self, threads, count);
        jni.announce_locals(threads.len());
        Ok(threads
            .iter()
            .filter_map(|&raw| LocalRef::new(jni, raw))
            .collect())
    }

    /// Returns a thread's name and group.
    pub fn thread_info<'a>(
        self,
        jni: Jni<'a>,
        thread: Object<'_>,
    ) -> Result<ThreadInfo<'a>, JvmtiError> {
        room_for_answer("GetThreadInfo", ANSWER)?;
        let mut info = sys::jvmtiThreadInfo::default();
        // SAFETY: `info` receives the answer.
        unsafe { jvmti!(self, GetThreadInfo, thread.raw, &mut info)? };
        drop(LocalRef::new(jni, info.context_class_loader));
        Ok(ThreadInfo {
            name: self.text(info.name),
            group: LocalRef::new(jni, info.thread_group),
        })
    }

    /// Returns a thread group's name and parent.
    pub fn group_info<'a>(
        self,
        jni: Jni<'a>,
        group: Object<'_>,
    ) -> Result<GroupInfo<'a>, JvmtiError> {
        room_for_answer("GetThreadGroupInfo", ANSWER)?;
        let mut info = sys::jvmtiThreadGroupInfo::default();
        // SAFETY: `info` receives the answer.
        unsafe { jvmti!(self, GetThreadGroupInfo, group.raw, &mut info)? };
        Ok(GroupInfo {
            name: self.text(info.name),
            parent: LocalRef::new(jni, info.parent),
        })
    }

    /// Returns `true` if the thread has started and not ended; `false` if that cannot be determined.
    pub(super) fn is_alive(self, thread: Object<'_>) -> bool {
        self.has_state(thread, sys::JVMTI_THREAD_STATE_ALIVE)
    }

    /// Returns `true` if the thread has started and ended; `false` if that cannot be determined.
    pub(super) fn has_ended(self, thread: Object<'_>) -> bool {
        self.has_state(thread, sys::JVMTI_THREAD_STATE_TERMINATED)
    }

    fn has_state(self, thread: Object<'_>, wanted: u32) -> bool {
        let mut state = 0;
        // SAFETY: `state` receives the answer.
        let answer = unsafe { jvmti!(self, GetThreadState, thread.raw, &mut state) };
        answer.is_ok() && state & wanted as sys::jint != 0
    }

    /// Returns a method's name and signature.
    pub fn method_name(self, method: MethodId) -> Result<MethodName, JvmtiError> {
        room_for_answer("GetMethodName", ANSWER)?;
        let (mut name, mut signature) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: both receive answers; the VM checks the method id.
        unsafe {
            jvmti!(
                self,
                GetMethodName,
                method.0,
                &mut name,
                &mut signature,
                ptr::null_mut()
            )?
        };
        Ok(MethodName {
            name: self.text(name),
            signature: self.text(signature),
        })
    }

    /// Returns `true` if the method's class, and the method with it, has been redefined since; `false` if that cannot
    /// be determined.
    pub fn is_obsolete(self, method: MethodId) -> bool {
        let mut is_obsolete = false;
        // SAFETY: `is_obsolete` receives the answer; the VM checks the method id.
        let answer = unsafe { jvmti!(self, IsMethodObsolete, method.0, &mut is_obsolete) };
        answer.is_ok() && is_obsolete
    }

    /// Returns the class that declares the method.
    pub fn method_class<'a>(
        self,
        jni: Jni<'a>,
        method: MethodId,
    ) -> Result<Option<LocalRef<'a>>, JvmtiError> {
        let mut class = ptr::null_mut();
        // SAFETY: `class` receives the answer; the VM checks the method id.
        unsafe { jvmti!(self, GetMethodDeclaringClass, method.0, &mut class)? };
        Ok(LocalRef::new(jni, class))
    }

    /// Returns the source line of a bytecode index; `None` if the class has no line numbers.
    pub fn line(self, method: MethodId, location: i64) -> Result<Option<u32>, JvmtiError> {
        room_for_answer("GetLineNumberTable", ANSWER)?;
        let mut count = 0;
        let mut table = ptr::null_mut();
        // SAFETY: both receive answers; the VM checks the method id; `Buffer` frees the table.
        let answer = unsafe { jvmti!(self, GetLineNumberTable, method.0, &mut count, &mut table) };
        match answer {
            Err(JvmtiError {
                code: sys::JVMTI_ERROR_ABSENT_INFORMATION | sys::JVMTI_ERROR_NATIVE_METHOD,
                ..
            }) => {
                return Ok(None);
            }
            answer => answer?,
        }
        let table = Buffer::new(self, table, count);
        // Compilers emit the table in any order; the matching entry is the one with the greatest start that is not
        // greater than the index.
        let entry = table
            .iter()
            .filter(|entry| entry.start_location <= location)
            .max_by_key(|entry| entry.start_location);
        Ok(entry.and_then(|entry| u32::try_from(entry.line_number).ok()))
    }

    /// Returns a class's signature, `Ljava/lang/String;`.
    pub fn class_signature(self, class: Object<'_>) -> Result<String, JvmtiError> {
        room_for_answer("GetClassSignature", CLASS_NAME)?;
        let mut signature = ptr::null_mut();
        // SAFETY: `signature` receives the answer.
        unsafe {
            jvmti!(
                self,
                GetClassSignature,
                class.raw,
                &mut signature,
                ptr::null_mut()
            )?
        };
        Ok(self.text(signature))
    }

    /// Returns the name of the file that a class was compiled from, if the class has it.
    pub fn source_file(self, class: Object<'_>) -> Result<Option<String>, JvmtiError> {
        room_for_answer("GetSourceFileName", ANSWER)?;
        let mut name = ptr::null_mut();
        // SAFETY: `name` receives the answer.
        let answer = unsafe { jvmti!(self, GetSourceFileName, class.raw, &mut name) };
        match answer {
            Ok(()) => Ok(Some(self.text(name))),
            Err(JvmtiError {
                code: sys::JVMTI_ERROR_ABSENT_INFORMATION,
                ..
            }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the loader of a class, `None` for the boot loader.
    pub fn class_loader<'a>(
        self,
        jni: Jni<'a>,
        class: Object<'_>,
    ) -> Result<Option<LocalRef<'a>>, JvmtiError> {
        let mut loader = ptr::null_mut();
        // SAFETY: `loader` receives the answer.
        unsafe { jvmti!(self, GetClassLoader, class.raw, &mut loader)? };
        Ok(LocalRef::new(jni, loader))
    }

    /// Returns a number that never changes for an object, and mostly differs between objects.
    pub fn identity_hash(self, object: Object<'_>) -> Result<i32, JvmtiError> {
        let mut hash = 0;
        // SAFETY: `hash` receives the answer.
        unsafe { jvmti!(self, GetObjectHashCode, object.raw, &mut hash)? };
        Ok(hash)
    }

    /// Copies a string of the VM (modified UTF-8) and frees it.
    pub(super) fn text(self, raw: *mut c_char) -> String {
        let buffer = Buffer::new(self, raw, 0);
        if buffer.start.is_null() {
            return String::new();
        }
        // SAFETY: JVMTI ends every string it returns with a NUL, and `buffer` still owns it.
        let bytes = unsafe { CStr::from_ptr(buffer.start) }.to_bytes();
        simd_cesu8::mutf8::decode_lossy(bytes).into_owned()
    }
}

/// Memory that JVMTI allocated for the agent, freed on drop.
pub(super) struct Buffer<T> {
    env: Env,
    start: *mut T,
    length: usize,
}

impl<T> Buffer<T> {
    /// Takes ownership of an array of `length` elements; null stands for an empty one.
    pub(super) fn new(env: Env, start: *mut T, length: sys::jint) -> Self {
        Self {
            env,
            start,
            length: usize::try_from(length).unwrap_or(0),
        }
    }
}

impl<T> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        if self.start.is_null() {
            return &[];
        }
        // SAFETY: the VM answered `length` initialized elements at `start`, and this value owns them.
        unsafe { std::slice::from_raw_parts(self.start, self.length) }
    }
}

impl<T> Drop for Buffer<T> {
    fn drop(&mut self) {
        // SAFETY: JVMTI allocated it, and nobody else frees it; null is allowed. A failure leaves it to the VM.
        let _ = unsafe { jvmti!(self.env, Deallocate, self.start.cast::<c_void>().cast()) };
    }
}

/// Makes sure that there is memory for an answer. HotSpot copies the answers of some functions into memory without
/// checking that it got any, so it is not asked if the system has only little left.
fn room_for_answer(function: &'static str, bytes: usize) -> Result<(), JvmtiError> {
    match memory::system_has(bytes) {
        true => Ok(()),
        false => Err(JvmtiError {
            function,
            code: sys::JVMTI_ERROR_OUT_OF_MEMORY,
        }),
    }
}
