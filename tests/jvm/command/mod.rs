//! The command with programs that run, and what is shipped.

pub(crate) mod attach;
pub(crate) mod book;
pub(crate) mod live;
pub(crate) mod mcp;
pub(crate) mod packages;
pub(crate) mod record;
