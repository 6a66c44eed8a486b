//! The parts of a session that the agent decides: its outputs, the end at `timeout=`, and the last words.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::attach;
use super::outputs::Outputs;
use crate::engines::Context;
use crate::session::{BlackBoxOutput, Destination, Exhausted, Owner};
use jvmti::Jni;
use options::StackSource;
use output::Writer;
use output::console;
use stacks::{TopFrames, TopFramesTally};

/// The owner of a session.
pub(super) struct ProfileOwner {
    outputs: Outputs,
    /// Set while the last attempt to open an output has failed, which is reported once.
    has_failed: AtomicBool,
    /// Reports at the end how stacks were taken (`details=y`, `stacks=verify`).
    top_frames: Option<Arc<TopFrames>>,
}

impl ProfileOwner {
    pub(super) fn new(outputs: Outputs, context: &Context) -> Self {
        let options = &context.options;
        let tells_stacks = options.details || options.stacks == StackSource::Verify;
        Self {
            outputs,
            has_failed: AtomicBool::new(false),
            top_frames: tells_stacks.then(|| context.top_frames.clone()),
        }
    }
}

impl Owner for ProfileOwner {
    fn open_next(&self) -> Option<(Destination, Writer)> {
        match self.outputs.open_next() {
            Ok(opened) => {
                self.has_failed.store(false, Ordering::Relaxed);
                Some(opened)
            }
            Err(error) => {
                if !self.has_failed.swap(true, Ordering::Relaxed) {
                    console::line(format_args!(
                        "{error}; the profile continues in the output that it has"
                    ));
                }
                None
            }
        }
    }

    fn has_place_for_exhausted(&self) -> bool {
        self.outputs.has_place_for_exhausted()
    }

    fn open_exhausted(&self, exhausted: &Exhausted) -> Option<(PathBuf, Writer)> {
        match self.outputs.open_exhausted(exhausted) {
            Ok(opened) => Some(opened),
            Err(error) => {
                console::line(format_args!("out of memory ({exhausted}): {error}"));
                None
            }
        }
    }

    fn open_black_box(&self) -> Option<BlackBoxOutput> {
        match self.outputs.open_black_box() {
            Ok(opened) => Some(opened),
            Err((path, error)) => {
                let path = path.display();
                console::line(format_args!(
                    "blackbox=y: {path}: {error}; the profile continues without a black box"
                ));
                None
            }
        }
    }

    fn closed(&self, file: Option<&Path>, is_whole: bool) {
        self.outputs.closed(file, is_whole);
    }

    fn time_is_up(&self, jni: Jni<'_>, is_running: &dyn Fn() -> bool) {
        attach::time_is_up(jni, is_running);
    }

    fn client_has_gone(&self, jni: Jni<'_>, is_running: &dyn Fn() -> bool) {
        attach::client_has_gone(jni, is_running);
    }

    fn ended(&self) {
        if let Some(top_frames) = &self.top_frames {
            say_how_stacks_were_taken(top_frames);
        }
    }
}

fn say_how_stacks_were_taken(top_frames: &TopFrames) {
    let Some(tally) = top_frames.tally().filter(|tally| tally.asked > 0) else {
        return;
    };
    let TopFramesTally {
        known,
        composed,
        asked,
        checked,
        differences,
    } = tally;
    console::line(format_args!(
        "stacks: {known} known again, {composed} of them new ones of known frames, {asked} asked of the VM, {checked} checked, {differences} differed"
    ));
}
