//! Windows cannot fork a process, so there is never a child.

mod messages;

use std::io;

use crate::heap_walk::{Tags, WantedValues};
use crate::jni::LocalRef;
use crate::prepared_classes::PreparedClasses;

pub use messages::{ChildMessage, ForkedVisitor, NoChild};

/// There is none.
pub enum ChildLink {}

/// There is none.
pub enum Child<'l> {
    /// Never.
    None(&'l ChildLink),
}

#[allow(missing_docs, reason = "there is no value that has these methods")]
impl ChildLink {
    /// Returns an error.
    pub fn new() -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub fn is_child(&self) -> bool {
        match *self {}
    }

    pub fn send_content(&self, _: &[u8]) -> bool {
        match *self {}
    }

    pub fn ask(&self, _: &[u8]) -> Option<u32> {
        match *self {}
    }

    pub fn answer(&self, _: u32) -> io::Result<()> {
        match *self {}
    }
}

#[allow(missing_docs, reason = "as above")]
impl Child<'_> {
    pub fn receive(&mut self, _: &dyn Fn() -> io::Result<()>) -> io::Result<ChildMessage> {
        match *self {
            Self::None(link) => match *link {},
        }
    }
}

#[allow(missing_docs, reason = "as above")]
impl Tags {
    pub fn follow_in_child<'l, V: ForkedVisitor>(
        &self,
        _: WantedValues,
        _: &mut V,
        link: &'l ChildLink,
        _: u64,
        _: &PreparedClasses,
    ) -> Result<Child<'l>, NoChild> {
        match *link {}
    }
}

/// Returns an error: there is no fork.
pub fn check_heap_is_private(_: &LocalRef<'_>) -> Result<(), &'static str> {
    Err("Windows cannot fork a process")
}
