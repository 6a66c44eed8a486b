//! CPU time: samples, calls, and the stacks of both.

pub(crate) mod async_samples;
pub(crate) mod handler;
pub(crate) mod instrument;
pub(crate) mod jfr;
pub(crate) mod known_stacks;
pub(crate) mod native_frames;
pub(crate) mod sample_times;
pub(crate) mod samples;
pub(crate) mod signals;
pub(crate) mod stacks;
pub(crate) mod suspend;
pub(crate) mod times;
pub(crate) mod wall;
