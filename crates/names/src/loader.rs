//! Class loaders: classes of the same name are different if their loaders are.

use std::sync::atomic::{AtomicU32, Ordering};

/// The id of a class loader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LoaderId(pub(super) u32);

/// The loader table. Loaders are distinguished by their objects, which only the VM can compare: the caller keeps the
/// objects, and this table only assigns ids.
pub struct Loaders {
    next: AtomicU32,
}

impl LoaderId {
    /// The boot loader, which has no object.
    pub const BOOT: Self = Self(0);
}

impl Default for Loaders {
    fn default() -> Self {
        Self {
            next: AtomicU32::new(LoaderId::BOOT.0 + 1),
        }
    }
}

impl Loaders {
    /// Assigns an id to a new loader.
    pub fn add(&self) -> LoaderId {
        LoaderId(self.next.fetch_add(1, Ordering::Relaxed))
    }
}
