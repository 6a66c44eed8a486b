//! Traces whose frames are not all of Java.

use super::Stacks;
use jvmti::{FrameInfo, Jni, NativeFunction};
use memory::{List, OrStop};
use names::frame::{self, FrameId, Line};
use names::thread::ThreadSerial;
use names::trace::TraceId;

/// A frame of Java, or another one that has a name already.
#[derive(Clone, Copy)]
pub enum MixedFrame {
    /// A method of Java.
    Java(FrameInfo),
    /// Any other.
    Named(FrameId),
}

impl Stacks {
    /// Returns the trace of a stack that `thread` had a moment ago. Without the VM, it returns `None` unless all frames of
    /// Java have been seen before.
    pub fn mixed_trace(
        &self,
        jni: Option<Jni<'_>>,
        thread: ThreadSerial,
        frames: &[MixedFrame],
    ) -> Option<TraceId> {
        let java = frames.iter().filter_map(|frame| match *frame {
            MixedFrame::Java(frame) => Some(frame),
            MixedFrame::Named(_) => None,
        });
        let mut named = self.named(java).into_iter();
        let ids = frames.iter().map(|&frame| match frame {
            MixedFrame::Named(id) => Some(id),
            MixedFrame::Java(frame) => match (named.next().flatten(), jni) {
                (Some(id), _) => Some(id),
                (None, Some(jni)) => Some(self.name_frame(jni, frame)),
                (None, None) => None,
            },
        });
        let mut known = List::new();
        for id in ids {
            known.push(id?).or_stop();
        }
        Some(self.intern(thread, &known))
    }

    /// Returns `true` if a frame has been seen before, so that the VM need not be asked about it.
    pub fn is_named(&self, frame: FrameInfo) -> bool {
        self.names.lock().frames.contains_key(&frame)
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
