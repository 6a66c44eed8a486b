//! The stacks of a profile as those of a recording.

use hprof_jfr::{Frame, Method, Recording, StackId as Written};

use crate::jfr::MARKER_CLASS;
use crate::model::{FrameId, FrameKind, Profile, StackId};
use crate::write::class_file_name;

/// The signature of a method of which none is known: readers parse it, so there must be one.
const NO_SIGNATURE: &str = "()V";

/// The stacks and frames that have been written.
pub(super) struct WrittenStacks {
    written: Vec<Option<Written>>,
    frames: Vec<Option<Frame>>,
}

impl WrittenStacks {
    pub(super) fn new(profile: &Profile) -> WrittenStacks {
        WrittenStacks {
            written: vec![None; profile.stacks.len()],
            frames: vec![None; profile.frames().len()],
        }
    }

    /// Returns a stack, adding it if it is new.
    pub(super) fn written(
        &mut self,
        profile: &Profile,
        stack: StackId,
        recording: &mut Recording,
    ) -> Written {
        let place = stack.0 as usize;
        if let Some(written) = self.written[place] {
            return written;
        }
        let frames = profile.stacks.frames(stack).iter();
        let frames: Vec<Frame> = frames
            .map(|&id| {
                let known = self.frames[id.0 as usize];
                known.unwrap_or_else(|| {
                    let new = frame(profile, id, recording);
                    self.frames[id.0 as usize] = Some(new);
                    new
                })
            })
            .collect();
        let is_cut = profile.cut_at(stack).is_some();
        let written = recording.stacks.push(&frames, is_cut);
        self.written[place] = Some(written);
        written
    }
}

fn frame(profile: &Profile, id: FrameId, recording: &mut Recording) -> Frame {
    let frame = profile.frame(id);
    let text = |name| profile.names.text(name);
    let class = match frame.kind {
        FrameKind::Marker => MARKER_CLASS.to_owned(),
        _ => class_file_name(text(frame.class)),
    };
    let symbols = &mut recording.symbols;
    let class = recording.classes.intern(symbols, &class);
    let signature = frame.signature.map_or(NO_SIGNATURE, text);
    let method = Method {
        class,
        name: symbols.intern(text(frame.method)),
        signature: symbols.intern(signature),
    };
    let frame_type = match frame.kind {
        FrameKind::Java => "Java",
        FrameKind::Compiled => "JIT compiled",
        FrameKind::Native => "Native",
        FrameKind::Marker => "Marker",
    };
    Frame {
        method: recording.methods.intern(method),
        line: frame.line,
        frame_type: recording.frame_types.intern(frame_type),
    }
}
