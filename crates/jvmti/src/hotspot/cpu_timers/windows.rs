//! On Windows there are no timers on the CPU clocks of threads, so none of these can be made.

mod samples;

use std::time::Duration;

use crate::clock::ThreadCpuClock;
use crate::env::Env;
use crate::jni::{Jni, Object};
use crate::native_code::NativeFunction;

pub use samples::{NoCpuTimers, NoStack, SampledFrame, SampledStack, StackSample};

/// There is none.
#[derive(Clone, Copy)]
pub enum CpuTimerSupport {}

/// There are none.
pub enum CpuTimers {}

/// There is none.
pub enum TimedThread {}

impl CpuTimerSupport {
    /// Returns the reason why there is none.
    pub fn find(_: Env) -> Result<Self, NoCpuTimers> {
        Err(NoCpuTimers::Vm(
            "Windows has no timers on the CPU clocks of threads",
        ))
    }
}

#[allow(missing_docs, reason = "there is no value that has these methods")]
impl CpuTimers {
    pub const MOST_READS: usize = 1;

    pub fn new(
        support: CpuTimerSupport,
        _: Env,
        _: Jni<'_>,
        _: Duration,
        _: usize,
        _: bool,
    ) -> Result<Self, NoCpuTimers> {
        match support {}
    }

    pub fn of_contexts(
        support: CpuTimerSupport,
        _: Env,
        _: Jni<'_>,
        _: Duration,
    ) -> Result<Self, NoCpuTimers> {
        match support {}
    }

    pub fn set_depth(&self, _: usize) {
        match *self {}
    }

    pub fn add(
        &self,
        _: Jni<'_>,
        _: Object<'_>,
        _: u32,
    ) -> Result<Option<(TimedThread, Option<NoCpuTimers>)>, NoCpuTimers> {
        match *self {}
    }

    pub fn add_vm_thread(&self, _: i32, _: u32) -> Option<TimedThread> {
        match *self {}
    }

    pub fn walks(&self) -> bool {
        match *self {}
    }

    pub fn has_native_frames(&self) -> bool {
        match *self {}
    }

    pub fn refresh_native_code(&self) {
        match *self {}
    }

    pub fn native_function(&self, _: usize) -> Option<NativeFunction> {
        match *self {}
    }

    pub fn read(&self, _: &mut Vec<StackSample>) {
        match *self {}
    }

    pub fn take_lost(&self) -> u64 {
        match *self {}
    }

    pub fn outside_contexts(&self) -> u64 {
        match *self {}
    }

    pub fn has_the_signal(&self) -> bool {
        match *self {}
    }
}

#[allow(missing_docs, reason = "as above")]
impl TimedThread {
    pub fn arm(&self, _: Duration, _: Duration) {
        match *self {}
    }

    pub fn disarm(&self) {
        match *self {}
    }

    pub fn has_timer(&self) -> bool {
        match *self {}
    }

    pub fn interrupt(&self, _: u64) -> bool {
        match *self {}
    }

    pub fn charged(&self) -> u64 {
        match *self {}
    }

    pub fn apart(&self) -> u64 {
        match *self {}
    }

    pub fn is_gone(&self, _: bool) -> bool {
        match *self {}
    }

    pub fn clock(&self) -> ThreadCpuClock {
        match *self {}
    }

    pub fn tid(&self) -> i32 {
        match *self {}
    }

    pub fn carries(&self, _: Option<u32>) {
        match *self {}
    }
}

impl Drop for TimedThread {
    fn drop(&mut self) {
        match *self {}
    }
}

/// Returns 0: no sample is ever begun.
pub(super) fn samples_begun() -> u64 {
    0
}
