//! Class loaders: two classes of one name are different where their loaders are.

use std::sync::atomic::{AtomicU32, Ordering};

/// A class loader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LoaderId(pub(super) u32);

/// The loader table. Loaders are told apart by their objects, which only the VM can compare: whoever asks the VM keeps
/// the objects, this table gives out the ids.
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
    /// A loader that was not seen before.
    pub fn add(&self) -> LoaderId {
        LoaderId(self.next.fetch_add(1, Ordering::Relaxed))
    }
}
