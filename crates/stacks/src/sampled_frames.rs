//! Names the frames that a thread has found on its own stack some time ago, in a signal handler or in a hook, and those of native
//! code among them.

use jvmti::{FoundMethod, FrameInfo, Jni, NativeFunction, SampledFrame};
use memory::{List, OrStop};
use names::frame::{self, FrameId, Line};

use super::Stacks;

/// The name, in place of a function, of code of a library that is gone.
const UNLOADED: &str = "<unloaded-library>";
/// The name, in place of methods, of the outer frames of a virtual thread that are not on its carrier's stack.
const IN_HEAP: &str = "<frames-in-heap>";
/// The name, in place of methods, of the outer frames of a stack that took too long to walk.
const CUT: &str = "<frames-cut>";

impl Stacks {
    /// Returns the tables' frames for those of the sample of that number; `function` names native code. `None` if the VM, which
    /// must not be asked without `jni`, has not named a method before that it gave an id for.
    pub fn sampled_frames(
        &self,
        jni: Option<Jni<'_>>,
        sample: u64,
        frames: &[SampledFrame],
        function: impl Fn(usize) -> Option<FrameId>,
    ) -> Option<List<FrameId>> {
        let mut ids = List::new();
        for &frame in frames {
            let id = match frame {
                SampledFrame::Java { method, location } => {
                    let frame = |method| FrameInfo { method, location };
                    let known = |method| self.seen_frame(frame(method));
                    let classes = self.watched_classes();
                    let found = classes.and_then(|it| it.method(jni, (method, sample), known));
                    match (found, jni) {
                        (Some(FoundMethod::Known(id)), _) => id,
                        (Some(FoundMethod::Held(method, _class)), Some(jni)) => {
                            self.name_frame(jni, frame(method))
                        }
                        _ => self.unloaded_frame(),
                    }
                }
                SampledFrame::Known(frame) => match jni {
                    Some(jni) => self.name_frame(jni, frame),
                    None => self.seen_frame(frame)?,
                },
                SampledFrame::InHeap => self.stand_in(IN_HEAP),
                SampledFrame::Cut => self.stand_in(CUT),
                // Without a function, it is of a library that has been unloaded since.
                SampledFrame::Native(instruction) => {
                    function(instruction).unwrap_or_else(|| self.stand_in(UNLOADED))
                }
            };
            ids.push(id).or_stop();
        }
        Some(ids)
    }

    /// Returns the frame of a function of native code. Its class is the library.
    pub fn native_frame(&self, function: &NativeFunction) -> FrameId {
        let tables = &self.tables;
        let loader = *self.native_loader.get_or_init(|| tables.loaders.add());
        let library = tables.strings.intern(&function.library);
        let class = tables
            .classes
            .intern(loader, library, || tables.objects.add());
        let method = frame::Method {
            class: class.id(),
            name: tables.strings.intern(&function.name),
            signature: tables.strings.intern("()V"),
            source_file: None,
        };
        tables.frames.intern(frame::Frame {
            method,
            line: Line::Native,
        })
    }
}
