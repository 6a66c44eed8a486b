//! Where a profile goes, and who reads it.

pub(crate) mod binary;
pub(crate) mod failures;
pub(crate) mod head;
pub(crate) mod messages;
pub(crate) mod net;
pub(crate) mod options;
pub(crate) mod output_files;
pub(crate) mod periods;
pub(crate) mod readers;
pub(crate) mod schemas;
pub(crate) mod tables;
