//! Memory.

use rustix::process::{Resource, getrlimit};

/// Returns the memory that this process may take; `None` if the system does not reveal how much is free.
#[must_use]
pub fn available() -> Option<u64> {
    let data = getrlimit(Resource::Data).current;
    let free = super::own::free_memory();
    free.into_iter().chain(data).min()
}
