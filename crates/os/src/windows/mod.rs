//! Windows.

pub mod files;
pub mod folders;
pub mod mapping;
pub mod memory;
pub mod private_file;
pub mod process;
mod security;
pub mod signals;
pub mod sockets;
pub mod terminal;
