//! Monitors and locks.

pub(crate) mod lock_order;
pub(crate) mod monitor;
pub(crate) mod threads;
