//! When objects were made and how long they lived.
//!
//! `clock` gives the moment in which an object is made, which costs an allocation a load and a comparison. `moments` keeps
//! the times of the moments, `deaths` counts what died after it had survived a collection,
//! `peak` what was alive after the collection that left most, `course` what was alive over time.

mod clock;
mod course;
mod deaths;
mod moments;
mod peak;

pub(super) use clock::{Birth, Clock};
pub(super) use course::{Course, CourseReport, Look};
pub(super) use deaths::Deaths;
pub(super) use moments::{Before, Moments};
pub(super) use peak::{PeakObjects, PeakWatch};
