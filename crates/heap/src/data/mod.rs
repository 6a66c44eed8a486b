//! A dump as tables: its records, classes and objects, the references between them, and the dominator tree. Every object
//! has a number, and all tables are indexed by it.

pub(crate) mod births;
pub(crate) mod classes;
pub(crate) mod contents;
pub(crate) mod counts;
pub(crate) mod dominators;
pub(crate) mod dump;
pub(crate) mod error;
pub(crate) mod facts;
pub(crate) mod find_layout;
pub(crate) mod findings;
pub(crate) mod first_pass;
pub(crate) mod graph;
pub(crate) mod heap;
pub(crate) mod ids;
pub(crate) mod label;
pub(crate) mod layout;
pub(crate) mod mapping;
pub(crate) mod memory;
pub(crate) mod names;
pub(crate) mod narrow;
pub(crate) mod object_record;
pub(crate) mod objects;
pub(crate) mod offsets;
pub(crate) mod packed;
pub(crate) mod places;
pub(crate) mod progress;
pub(crate) mod ranks;
pub(crate) mod records;
pub(crate) mod reference_pass;
pub(crate) mod references;
pub(crate) mod rows;
pub(crate) mod saved;
pub(crate) mod sections;
pub(crate) mod varint;
pub(crate) mod ways;
