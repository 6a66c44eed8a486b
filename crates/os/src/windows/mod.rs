//! Windows.

pub mod files;
pub mod folders;
pub mod mapping;
pub mod memory;
pub mod pipe;
pub mod private_file;
pub mod process;
pub mod programs;
pub mod remote_call;
mod security;
pub mod signals;
pub mod slow_send;
pub mod sockets;
pub mod terminal;
