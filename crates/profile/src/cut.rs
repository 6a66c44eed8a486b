//! Stacks that lost their outermost frames because the profile was made with a limit on frames (`depth=`).

use crate::model::{Frame, FrameId, FrameKind, Profile, StackId, Stacks};

/// The class of the frames by which an agent charges what has no Java stack, such as `<unsampled>`.
const STAND_IN_CLASS: &str = "java.lang.Thread";

/// Methods at which the stack of a thread begins. A stack that ends with one of them is whole.
const ROOTS: [(&str, &str); 8] = [
    ("java.lang.Thread", "run"),
    ("java.lang.VirtualThread", "run"),
    ("java.lang.ref.Finalizer$FinalizerThread", "run"),
    ("java.lang.ref.Reference$ReferenceHandler", "run"),
    ("java.util.concurrent.ForkJoinWorkerThread", "run"),
    ("jdk.internal.misc.InnocuousThread", "run"),
    ("jdk.internal.vm.Continuation", "enter"),
    ("jdk.internal.vm.Continuation", "enterSpecial"),
];
/// The most limits of a recording that are named.
const MOST_DEPTHS: usize = 4;
/// The signature of a program's first method.
const MAIN: &str = "([Ljava/lang/String;)V";

impl Profile {
    /// Returns the number of frames at which a stack was cut: it is as long as the limit allows and does not end where
    /// the stack of a thread begins.
    #[must_use]
    pub fn cut_at(&self, stack: StackId) -> Option<u32> {
        if let Some(cut) = &self.cut {
            return cut[stack.0 as usize];
        }
        let frames = self.stacks.frames(stack);
        let length = u32::try_from(frames.len()).unwrap_or(u32::MAX);
        let outermost = self.frame(*frames.last()?);
        let is_cut = self.depths.contains(&length) && !self.is_root(outermost);
        is_cut.then_some(length)
    }

    /// Takes for each stack of a recording the number of frames at which it was cut.
    pub(crate) fn mark_cut_stacks(&mut self, mut cut: Vec<Option<u32>>) {
        let mut depths: Vec<u32> = cut.iter().copied().flatten().collect();
        depths.sort_unstable();
        depths.dedup();
        // The frame of a state is one more than the limit.
        depths.truncate(MOST_DEPTHS);
        self.depths = depths;
        self.about_depth = Some("-XX:FlightRecorderOptions=stackdepth=512 keeps whole stacks");
        cut.resize(self.stacks.len(), None);
        self.cut = Some(cut);
    }

    fn is_root(&self, frame: &Frame) -> bool {
        if frame.kind == FrameKind::Marker || self.is_stand_in(frame) {
            return true;
        }
        let text = |name| self.names.text(name);
        let is_main = || {
            let signature = frame.signature.map(text);
            text(frame.method) == "main" && signature.is_none_or(|signature| signature == MAIN)
        };
        ROOTS.contains(&(text(frame.class), text(frame.method))) || is_main()
    }

    /// Returns the frame that is written like a method and stands for something else.
    pub(crate) fn stand_in(&mut self, name: &str) -> FrameId {
        let frame = Frame {
            class: self.names.intern(STAND_IN_CLASS),
            method: self.names.intern(name),
            signature: None,
            source: None,
            line: None,
            kind: FrameKind::Java,
        };
        self.intern_frame(frame)
    }

    /// Returns `true` for a frame that is written like a method and stands for something else: `<unsampled>`, `<GC>`.
    pub(crate) fn is_stand_in(&self, frame: &Frame) -> bool {
        let method = self.names.text(frame.method);
        method.starts_with('<')
            && self.names.text(frame.class) == STAND_IN_CLASS
            && !matches!(method, "<init>" | "<clinit>")
    }

    /// Returns `true` for a stack under which the agent added small rows up, instead of the frames further out.
    pub(crate) fn is_folded(&self, stack: StackId) -> bool {
        let outermost = self.stacks.frames(stack).last();
        outermost.is_some_and(|&frame| {
            let frame = self.frame(frame);
            self.is_stand_in(frame) && self.names.text(frame.method) == "<folded>"
        })
    }

    /// Returns the same with one more frame around each stack that was cut, `[cut at 4 frames]`: a tree of callees
    /// has them below one node instead of next to each other at its root.
    #[must_use]
    pub fn with_cut_marked(mut self) -> Profile {
        let mut stacks = Stacks::default();
        let mut cut = Vec::with_capacity(self.stacks.len());
        for stack in self.stacks.ids() {
            let cut_at = self.cut_at(stack);
            cut.push(cut_at);
            let marker = cut_at.map(|frames| self.marker(&format!("[cut at {frames} frames]")));
            let frames: Vec<FrameId> = self.stacks.frames(stack).to_vec();
            stacks.push(frames.into_iter().chain(marker));
        }
        self.stacks = stacks;
        self.cut = Some(cut);
        self
    }
}
