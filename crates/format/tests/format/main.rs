//! The format as its users see it: encoders, reader and checker from outside the crate.

mod binary;
mod bounds;
mod broke_off;
mod check;
mod command;
mod common;
mod heap;
mod heap_check;
mod heap_reader;
mod heap_readers;
mod heap_text;
mod monitor;
mod old_tools;
mod reader;
mod round_trip;
mod text;
mod text_reader;
