//! The format as its users see it: encoders, reader and checker from outside the crate.

mod binary;
mod check;
mod common;
mod monitor;
mod reader;
mod round_trip;
mod text;
