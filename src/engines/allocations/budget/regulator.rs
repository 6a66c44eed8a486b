//! The thread `HPROF budget`, which changes the step.

use std::time::{Duration, Instant};

use super::controller::{Controller, WINDOW};
use super::costs::Costs;
use super::steps::Steps;
use crate::engines::worker::Worker;
use jvmti::Env;

/// The time between two looks at the costs.
const TICK: Duration = Duration::from_millis(50);

/// Keeps the costs within the budget until the worker is told to end.
pub(in super::super) fn regulate(
    env: Env,
    percentage: u8,
    costs: &Costs,
    steps: &Steps,
    worker: &Worker,
) {
    let mut controller = Controller::new(percentage);
    let (mut begin, mut before) = (Instant::now(), costs.so_far());
    while worker.sleep_until(Instant::now() + TICK) {
        let now = costs.so_far();
        let spent = now - before;
        let length = begin.elapsed();
        let current = steps.current();
        if length < WINDOW && !controller.is_exceeded(current, spent, length) {
            continue;
        }
        let next = controller.next(steps, current, spent);
        // The VM first: a thread that draws by the new interval must find the new step.
        if next != current && env.set_allocation_interval(steps.interval(next)).is_ok() {
            steps.enter(next);
        }
        (begin, before) = (Instant::now(), now);
    }
}
