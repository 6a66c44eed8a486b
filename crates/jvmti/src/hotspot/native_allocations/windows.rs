//! On Windows the calls of allocators are not intercepted, so none of these can be made.

mod samples;

use std::sync::Arc;

use crate::env::Env;
use crate::jni::Jni;
use crate::native_code::NativeFunction;

pub use samples::{AllocationSample, LostAllocations, NoNativeAllocations};

/// There are none.
pub enum NativeAllocations {}

/// There is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrackedBlock {}

#[allow(missing_docs, reason = "there is no value that has these methods")]
impl TrackedBlock {
    pub fn left(self, _: u64) -> u64 {
        match self {}
    }
}

#[allow(missing_docs, reason = "as above")]
impl NativeAllocations {
    pub const MOST_READS: usize = 1;
    pub const MANY: usize = 1;

    /// Returns the reason why there are none.
    pub fn begin(_: Env, _: Jni<'_>, _: u32, _: usize) -> Result<Self, NoNativeAllocations> {
        Err(NoNativeAllocations::Vm(
            "the agent cannot intercept the allocators of Windows",
        ))
    }

    pub fn look_for_libraries(&self) {
        match *self {}
    }

    pub fn refresh(&self, _: Jni<'_>) -> bool {
        match *self {}
    }

    pub fn malloc_library(&self) -> Arc<str> {
        match *self {}
    }

    pub fn stop(&self) {
        match *self {}
    }

    pub fn native_function(&self, _: usize) -> Option<NativeFunction> {
        match *self {}
    }

    pub fn read(&self, _: &mut Vec<AllocationSample>) {
        match *self {}
    }

    pub fn take_lost(&self) -> LostAllocations {
        match *self {}
    }

    pub fn take_untracked(&self) -> u64 {
        match *self {}
    }
}
