//! Names the frames that a thread has found on its own stack, in a signal handler or in a hook, some time ago.

use jvmti::{FrameInfo, HeldMethod, Jni, LocalRef, SampledFrame};
use names::frame::FrameId;
use stacks::{MixedFrame, Stacks};

/// The name, in place of a function, of code of a library that is gone.
const UNLOADED: &str = "<unloaded-library>";
/// The name, in place of methods, of the outer frames of a virtual thread that are not on its carrier's stack.
const IN_HEAP: &str = "<frames-in-heap>";
/// The name, in place of methods, of the outer frames of a stack that took too long to walk.
const CUT: &str = "<frames-cut>";

/// The means to name frames.
#[derive(Clone, Copy)]
pub(super) struct SampledFrames<'s, 'j> {
    /// Names methods of Java.
    pub(super) stacks: &'s Stacks,
    /// Names native code.
    pub(super) function: &'s dyn Fn(usize) -> Option<FrameId>,
    /// The VM, if it may be asked.
    pub(super) jni: Option<Jni<'j>>,
}

impl<'j> SampledFrames<'_, 'j> {
    /// Returns the frames of the sample of that number, and puts what must be kept until they are named into `held`.
    pub(super) fn all(
        self,
        frames: &[SampledFrame],
        sample: u64,
        held: &mut Vec<LocalRef<'j>>,
    ) -> Vec<MixedFrame> {
        let frames = frames.iter();
        frames
            .map(|&frame| self.frame(frame, sample, held))
            .collect()
    }

    fn frame(self, frame: SampledFrame, sample: u64, held: &mut Vec<LocalRef<'j>>) -> MixedFrame {
        match frame {
            SampledFrame::Java { method, location } => {
                let frame = |method| FrameInfo { method, location };
                let is_named = |method| self.stacks.is_named(frame(method));
                let classes = self.stacks.watched_classes();
                let found = classes.and_then(|it| it.method(self.jni, (method, sample), is_named));
                match found {
                    Some(HeldMethod { method, class }) => {
                        held.extend(class);
                        MixedFrame::Java(frame(method))
                    }
                    None => MixedFrame::Named(self.stacks.unloaded_frame()),
                }
            }
            SampledFrame::Known(frame) => MixedFrame::Java(frame),
            SampledFrame::InHeap => MixedFrame::Named(self.stacks.stand_in(IN_HEAP)),
            SampledFrame::Cut => MixedFrame::Named(self.stacks.stand_in(CUT)),
            SampledFrame::Native(instruction) => {
                // Without one, it is of a library that has been unloaded since.
                let function = (self.function)(instruction);
                MixedFrame::Named(function.unwrap_or_else(|| self.stacks.stand_in(UNLOADED)))
            }
        }
    }
}
