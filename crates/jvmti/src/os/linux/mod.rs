//! Linux.

pub(crate) mod clock;
pub(crate) mod key;
pub(crate) mod library;
pub(crate) mod pages;
pub(crate) mod peek;
pub(crate) mod process_exit;
