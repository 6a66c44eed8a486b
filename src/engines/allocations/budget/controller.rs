//! Decides when allocations are sampled, and how sparsely.

use std::time::Duration;

use super::costs::Spent;
use super::steps::{Step, Steps};
use jvmti::Interval;

/// The time over which costs are compared with the budget.
pub(super) const WINDOW: Duration = Duration::from_secs(1);
/// Costs of less CPU time than this in a window, in nanoseconds, hurt nobody.
const HARMLESS: f64 = 5e6;
/// The number of events whose mean cost is worth looking at.
const ENOUGH: f64 = 100.0;
/// The least part of the CPU time that is taken for the program's own.
const LEAST_OWN: f64 = 0.1;
/// The estimated cost of a sample in nanoseconds: more than one of many events in a row, but threads do not contend.
const SAMPLE: f64 = 4_000.0;
/// A wider step is expected to cost at most this part of the budget, and a narrower one that part. What lies between the
/// budget and `ROOM` keeps the step.
const TARGET: f64 = 0.25;
const ROOM: f64 = 0.5;
/// The number of windows in a row that must have room for a narrower step.
const CALM_WINDOWS: u32 = 3;
/// The number of windows that are waited for at most, after narrower steps that cost too much.
const MOST_CALM_WINDOWS: u32 = 300;

/// Chooses the step.
pub(super) struct Controller {
    /// The share of the program's CPU time that tracking may cost.
    budget: f64,
    /// The last cost of one event at the first step, in nanoseconds.
    first_event: f64,
    /// The windows in a row that had room for a narrower step.
    calm: u32,
    /// The windows in a row that must have room.
    needed_calm: u32,
    /// The windows since the last change to a narrower step; `None` if there was none since the last to a wider one.
    narrower_since: Option<u32>,
}

impl Controller {
    pub(super) fn new(percentage: u8) -> Self {
        Self {
            budget: f64::from(percentage) / 100.0,
            first_event: 0.0,
            calm: 0,
            needed_calm: CALM_WINDOWS,
            narrower_since: None,
        }
    }

    /// Returns `true` if the window must not last any longer: its costs exceed what is allowed in a whole one, if the
    /// program continues using the CPU as it did in this part.
    pub(super) fn is_exceeded(&self, current: Step, spent: Spent, part: Duration) -> bool {
        let part = part.as_secs_f64() / WINDOW.as_secs_f64();
        self.is_above(self.budget / part, current, spent)
    }

    fn is_above(&self, limit: f64, current: Step, spent: Spent) -> bool {
        let cost = cost(current, spent);
        cost > HARMLESS && share(cost, spent.process) > limit
    }

    /// Returns the step for the next window; `spent` is what the last one cost, at the step `current`.
    pub(super) fn next(&mut self, steps: &Steps, current: Step, spent: Spent) -> Step {
        if current == Step::default() && spent.events >= ENOUGH {
            self.first_event = cost(current, spent) / spent.events;
        }
        self.narrower_since = self.narrower_since.map(|windows| windows + 1);
        if self
            .narrower_since
            .is_some_and(|windows| windows > 2 * self.needed_calm)
        {
            // It has lasted.
            (self.needed_calm, self.narrower_since) = (CALM_WINDOWS, None);
        }
        match self.is_above(self.budget, current, spent) {
            true => self.wider(steps, current, spent),
            false => self.narrower(steps, current, spent),
        }
    }

    fn wider(&mut self, steps: &Steps, current: Step, spent: Spent) -> Step {
        if self.narrower_since.take().is_some() {
            self.needed_calm = (2 * self.needed_calm).min(MOST_CALM_WINDOWS);
        }
        self.calm = 0;
        let mut wider = steps.all().filter(|&step| step > current);
        let fits =
            |&step: &Step| self.expected(steps, current, step, spent) <= TARGET * self.budget;
        let widest = steps.all().next_back().unwrap_or(current);
        wider.find(fits).unwrap_or(widest)
    }

    fn narrower(&mut self, steps: &Steps, current: Step, spent: Spent) -> Step {
        let mut narrower = steps.all().filter(|&step| step < current);
        let fits = |&step: &Step| self.expected(steps, current, step, spent) <= ROOM * self.budget;
        let Some(step) = narrower.find(fits) else {
            self.calm = 0;
            return current;
        };
        self.calm += 1;
        if self.calm < self.needed_calm {
            return current;
        }
        self.calm = 0;
        self.narrower_since = Some(0);
        step
    }

    /// Returns the share of the CPU time that tracking would have cost at `step`, when it was `spent` at the current one.
    fn expected(&self, steps: &Steps, current: Step, step: Step, spent: Spent) -> f64 {
        let events = match steps.interval(step) {
            Interval::Every => spent.objects,
            Interval::Bytes(bytes) => (spent.bytes / f64::from(bytes)).min(spent.objects),
        };
        let are_alike = current > Step::default() && spent.events >= ENOUGH;
        let event = match (step == Step::default(), are_alike) {
            (true, _) => self.first_event,
            (false, true) => spent.of_events / spent.events,
            (false, false) => SAMPLE,
        };
        let cost = events * event;
        // Where nearly all was cost, the small difference of the two says nothing.
        let own = (spent.process - spent.of_events).max(LEAST_OWN * spent.process);
        share(cost, own + cost)
    }
}

/// Returns what tracking has cost. At a wider step, what is not done in events is the rest of what the first step has left:
/// objects that have not been swept. A wider step would not save that.
fn cost(current: Step, spent: Spent) -> f64 {
    match current == Step::default() {
        true => spent.of_events + spent.others,
        false => spent.of_events,
    }
}

/// Returns the share of the costs in the CPU time of the process. The two are measured by different clocks.
fn share(cost: f64, process: f64) -> f64 {
    cost / process.max(cost).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: f64 = 1e9;

    /// A program on one CPU: what a window costs if it makes that many objects of 32 bytes in a second of its own, and each
    /// event takes that many nanoseconds.
    fn window(steps: &Steps, step: Step, objects: f64, event: f64) -> Spent {
        let seen = match steps.interval(step) {
            Interval::Every => 1.0,
            Interval::Bytes(bytes) => 32.0 / f64::from(bytes),
        };
        let own = 1.0 / (1.0 + objects * seen * event / SECOND);
        let events = objects * own * seen;
        Spent {
            events,
            objects: objects * own,
            bytes: objects * own * 32.0,
            process: SECOND,
            of_events: events * event,
            others: 0.0,
        }
    }

    fn steps_of(rates: impl IntoIterator<Item = f64>) -> Vec<u8> {
        let steps = Steps::new(Interval::Every, true);
        let mut controller = Controller::new(20);
        let mut step = Step::default();
        let next = rates.into_iter().map(|objects| {
            step = controller.next(&steps, step, window(&steps, step, objects, 1000.0));
            step.number()
        });
        next.collect()
    }

    #[test]
    fn a_program_below_the_budget_is_counted_exactly() {
        assert!(steps_of([200_000.0; 100]).iter().all(|&step| step == 0));
        assert!(steps_of([0.0; 10]).iter().all(|&step| step == 0));
    }

    #[test]
    fn a_program_that_only_allocates_is_sampled_for_good() {
        let steps = steps_of([20e6; 1000]);
        assert!(!steps.contains(&0), "{steps:?}");
        let settled = &steps[10..];
        assert!(settled.iter().all(|step| step == &settled[0]), "{steps:?}");
    }

    #[test]
    fn what_is_over_is_counted_exactly_again() {
        let steps = steps_of([20e6; 10].into_iter().chain([10_000.0; 10]));
        assert!(steps[9] > 0);
        assert_eq!(steps.last(), Some(&0));
    }

    /// The predicted costs are below half of the budget; the real ones are far above it.
    #[test]
    fn a_step_that_proves_too_narrow_is_tried_less_and_less_often() {
        let steps = Steps::new(Interval::Every, true);
        let mut controller = Controller::new(20);
        let mut step = Step::default();
        let mut tried = Vec::new();
        for number in 0..2000 {
            let (objects, event) = if step == Step::default() {
                (1e6, 2000.0)
            } else {
                (20_000.0, 100.0)
            };
            let next = controller.next(&steps, step, window(&steps, step, objects, event));
            if next == Step::default() {
                tried.push(number);
            }
            step = next;
        }
        assert!(tried.len() < 16, "{tried:?}");
    }

    #[test]
    fn what_is_left_to_sweep_makes_no_step_wider() {
        let steps = Steps::new(Interval::Every, true);
        let mut controller = Controller::new(20);
        let step = controller.next(
            &steps,
            Step::default(),
            window(&steps, Step::default(), 20e6, 1000.0),
        );
        let mut spent = window(&steps, step, 20e6, 1000.0);
        spent.others = 0.5 * SECOND;
        assert_eq!(controller.next(&steps, step, spent), step);
    }

    #[test]
    fn a_window_ends_when_its_budget_is_spent() {
        let controller = Controller::new(20);
        let spent = Spent {
            process: 0.2 * SECOND,
            of_events: 0.1 * SECOND,
            ..Spent::default()
        };
        assert!(!controller.is_exceeded(Step::default(), spent, WINDOW / 5));
        assert!(controller.is_exceeded(Step::default(), spent, WINDOW / 2));
        let little = Spent {
            process: HARMLESS,
            of_events: HARMLESS,
            ..Spent::default()
        };
        assert!(!controller.is_exceeded(Step::default(), little, WINDOW));
    }
}
