//! `budget=`: while tracking every allocation would cost the program more than its share, a sample of them is tracked.
//!
//! `costs` measures what tracking costs, `controller` decides on the step, `steps` holds the interval of each step and the
//! one in force, `errors` sums up how far the estimates may be off, `regulator` is the thread that connects them.

mod controller;
mod costs;
mod errors;
mod regulator;
mod steps;

pub(super) use costs::{Costs, EventCosts};
pub(super) use errors::{EstimateErrors, Uncertainty};
pub(super) use regulator::regulate;
pub(super) use steps::{Step, Steps};
