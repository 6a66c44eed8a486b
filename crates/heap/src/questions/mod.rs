//! The questions that a dump can answer, each in a file of its own.

pub(crate) mod allocated;
pub(crate) mod appeared;
pub(crate) mod areas;
pub(crate) mod diff;
pub(crate) mod groups;
pub(crate) mod growing;
pub(crate) mod histogram;
pub(crate) mod holders;
pub(crate) mod keeping;
pub(crate) mod leaks;
pub(crate) mod loaders;
pub(crate) mod members;
pub(crate) mod outside_heap;
pub(crate) mod own_code;
pub(crate) mod paths;
pub(crate) mod search;
pub(crate) mod show;
pub(crate) mod summary;
pub(crate) mod suspects;
pub(crate) mod turnover;
pub(crate) mod unreached;
pub(crate) mod usual;
pub(crate) mod walk;
pub(crate) mod waste;
