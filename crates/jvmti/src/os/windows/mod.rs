//! Windows.

/// `true` if what is known of the inside of VMs was tested on this system. Its compiler lays classes out in other ways.
pub(crate) const IS_TESTED_HERE: bool = false;

pub(crate) mod clock;
pub(crate) mod key;
pub(crate) mod library;
pub(crate) mod other_thread;
pub(crate) mod pages;
pub(crate) mod peek;
pub(crate) mod process_exit;
