//! What a child sends, and why there may be none.

use std::io;

use crate::error::JvmtiError;
use crate::heap_walk::HeapVisitor;

/// A visitor that works in a forked child.
pub trait ForkedVisitor: HeapVisitor {
    /// Called in the child when all objects have been visited but the last. Returns the child's last message.
    fn finish(&mut self) -> Vec<u8>;
}

/// A message of the child.
#[derive(Debug)]
pub enum ChildMessage {
    /// Output.
    Content(Vec<u8>),
    /// A question, for which the child waits.
    Question(Vec<u8>),
    /// The last message.
    Last(Vec<u8>),
}

/// The reason why there is no walk in a child.
#[derive(Debug, thiserror::Error)]
pub enum NoChild {
    /// The VM refused the walk.
    #[error(transparent)]
    Jvmti(#[from] JvmtiError),
    /// The system refused the fork.
    #[error("the process cannot be forked: {0}")]
    Fork(io::Error),
    /// The VM begins with another object than before.
    #[error("the VM's list of threads has changed")]
    OtherThread,
    /// The program has begun to use classes that the visitor does not know.
    #[error("classes were loaded meanwhile")]
    OtherClasses,
    /// There is nothing to walk over.
    #[error("the VM reports no object")]
    NoRoot,
}
