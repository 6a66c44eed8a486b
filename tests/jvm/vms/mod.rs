//! What differs from VM to VM.

pub(crate) mod aot_cache;
pub(crate) mod bundle;
pub(crate) mod collectors;
pub(crate) mod other_vms;
