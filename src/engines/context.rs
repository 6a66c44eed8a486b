//! The parts of the agent that one session and its engines share.

use std::path::PathBuf;
use std::sync::Arc;

use jvmti::{AgentThreads, Capability, Env, RegisteredThreads, VirtualThreads};
use names::Tables;
use names::frame::FrameId;
use options::{Format, Options};
use output::Journal;
use stacks::{Stacks, TopFrames};

/// The parts of the agent that one session and its engines share.
#[derive(Clone)]
pub struct Context {
    /// The user's options.
    pub options: Arc<Options>,
    /// The VM.
    pub env: Env,
    /// The VM's virtual threads, if it has them.
    pub virtual_threads: Option<VirtualThreads>,
    /// The agent's own threads.
    pub agent_threads: Arc<AgentThreads>,
    /// The threads that have a serial number.
    pub registered: Arc<RegisteredThreads>,
    /// The names of the profiled program that the agent has met.
    pub tables: Arc<Tables>,
    /// Takes and names stacks.
    pub stacks: Arc<Stacks>,
    /// Identifies stacks where that happens millions of times.
    pub top_frames: Arc<TopFrames>,
    /// Takes records in the order in which things happen.
    pub journal: Arc<Journal>,
    /// The path next to which temporary files may be put.
    pub path: PathBuf,
}

impl Context {
    /// Returns the outermost frame of rows in which small rows are added up; `None` if those are left out.
    pub(super) fn folded(&self) -> Option<FrameId> {
        self.options.folds().then(|| self.stacks.folded_frame())
    }

    /// Returns `true` if the output has a place for the times of samples: text has the original's layout.
    pub(super) fn keeps_times(&self) -> bool {
        self.options.format == Format::Binary
    }
}

/// The capabilities of the VM that an option needs.
pub struct Requirement {
    /// The option.
    pub option: &'static str,
    /// The capabilities.
    pub capabilities: &'static [Capability],
}
