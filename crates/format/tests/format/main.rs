//! The format as its users see it: encoders, reader and checker from outside the crate.

mod binary;
mod check;
mod command;
mod common;
mod reader;
mod round_trip;
mod text;
