//! Accounts of one process over time.

use crate::account::Account;
use crate::trend::{Point, Trend, trend};

/// The most accounts that are kept.
const MOST: usize = 1_000;

/// The accounts, the oldest first.
#[derive(Clone, Debug, Default)]
pub struct Course(Vec<Account>);

/// What of a process will run out first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// What lives in the Java heap reaches `-Xmx`.
    HeapIsFull,
    /// Direct buffers reach `-XX:MaxDirectMemorySize`.
    DirectIsFull,
    /// What counts against the cgroup's limit reaches it.
    IsKilled,
}

/// When something runs out.
#[derive(Clone, Debug, PartialEq)]
pub struct Forecast {
    /// What happens.
    pub fate: Fate,
    /// The growth that leads to it.
    pub trend: Trend,
    /// The bytes that are left, if the limit is known.
    pub left: Option<u64>,
}

impl Course {
    /// Adds an account. Where there are too many, every second one is given up.
    pub fn push(&mut self, account: Account) {
        if self.0.len() == MOST {
            let mut number = 0;
            self.0.retain(|_| {
                number += 1;
                number % 2 == 1
            });
        }
        self.0.push(account);
    }

    /// Returns the accounts, the oldest first.
    #[must_use]
    pub fn accounts(&self) -> &[Account] {
        &self.0
    }

    /// Returns the first account.
    #[must_use]
    pub fn first(&self) -> Option<&Account> {
        self.0.first()
    }

    /// Returns the last account.
    #[must_use]
    pub fn last(&self) -> Option<&Account> {
        self.0.last()
    }

    /// Returns what collections have left, once for each that has left something else than the one before.
    #[must_use]
    pub fn live(&self) -> Vec<Point> {
        let all = self.0.iter().filter_map(|account| {
            Some(Point {
                time: account.time,
                bytes: account.vm.heap?.after_collection?,
            })
        });
        let mut points: Vec<Point> = all.collect();
        points.dedup_by_key(|point| point.bytes);
        points
    }

    /// Returns the resident set.
    #[must_use]
    pub fn resident(&self) -> Vec<Point> {
        let all = self.0.iter().map(|account| Point {
            time: account.time,
            bytes: account.resident(),
        });
        all.collect()
    }

    /// Returns when the heap will be full, when there can be no more direct buffers, if they grow, and when the process will be
    /// killed.
    #[must_use]
    pub fn forecasts(&self) -> Vec<Forecast> {
        let Some(last) = self.last() else {
            return Vec::new();
        };
        let heap = last.vm.heap.map(|heap| {
            let trend = trend(&self.live());
            let live = match trend {
                Trend::Grows { now, .. } => whole(now),
                Trend::Unknown { .. } => 0,
            };
            Forecast {
                fate: Fate::HeapIsFull,
                trend,
                left: Some(heap.limit.saturating_sub(live)),
            }
        });
        let killed = Forecast {
            fate: Fate::IsKilled,
            trend: trend(&self.resident()),
            left: last.cgroup.and_then(|group| group.left()),
        };
        // Most programs have few direct buffers, of which there is nothing to say.
        let direct = self
            .direct()
            .filter(|direct| direct.trend.millis_until(0.0).is_some());
        heap.into_iter().chain(direct).chain([killed]).collect()
    }
}

impl Course {
    fn direct(&self) -> Option<Forecast> {
        let bytes = |account: &Account| {
            Some(Point {
                time: account.time,
                bytes: account.vm.direct?,
            })
        };
        let points: Vec<Point> = self.0.iter().filter_map(bytes).collect();
        let facts = self.last()?.vm;
        Some(Forecast {
            fate: Fate::DirectIsFull,
            trend: trend(&points),
            left: facts
                .direct_limit
                .zip(facts.direct)
                .map(|(limit, used)| limit.saturating_sub(used)),
        })
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "bytes; what is negative is none"
)]
fn whole(bytes: f64) -> u64 {
    bytes as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::{Amounts, JavaHeap};
    use crate::cgroup::Cgroup;
    use crate::part::Part;

    const MB: u64 = 1 << 20;

    /// An account a second, of a process with so many MB alive and resident.
    fn course(of: impl Fn(u64) -> (u64, u64)) -> Course {
        let mut course = Course::default();
        for second in 0..60 {
            let (live, resident) = of(second);
            let mut account = Account {
                time: 1_000 * second,
                ..Account::default()
            };
            account.vm.heap = Some(JavaHeap {
                limit: 1_000 * MB,
                after_collection: Some(live * MB),
                ..JavaHeap::default()
            });
            account.parts[Part::Malloc] = Amounts {
                committed: resident * MB,
                resident: resident * MB,
            };
            account.cgroup = Some(Cgroup {
                limit: Some(2_000 * MB),
                used: Some((resident + 600) * MB),
                file: Some(500 * MB),
                shared: Some(100 * MB),
                ..Cgroup::default()
            });
            course.push(account);
        }
        course
    }

    #[test]
    fn the_time_to_death_is_that_of_the_growth() {
        let growing = course(|second| (100 + second, 300 + 2 * second));
        let forecasts = growing.forecasts();
        let seconds = |place: usize| -> f64 {
            let forecast: &Forecast = &forecasts[place];
            let left = forecast.left.expect("a limit") as f64;
            let until = forecast.trend.millis_until(left).expect("it grows");
            (until.start() / 1e3).round()
        };
        // 1,000 - 159 at 1 a second.
        assert_eq!(seconds(0), 841.0);
        // 1,018 are used, of which 400 are files that can be read again: 1,382 are left, at 2 a second.
        assert_eq!(seconds(1), 691.0);
        let steady = course(|_| (100, 300)).forecasts();
        assert!(
            steady
                .iter()
                .all(|forecast| matches!(forecast.trend, Trend::Unknown { .. }))
        );
    }

    #[test]
    fn direct_buffers_have_a_limit_of_their_own() {
        let mut growing = Course::default();
        for mut account in course(|_| (100, 300)).0 {
            account.vm.direct = Some((100 + account.time / 1_000) * MB);
            account.vm.direct_limit = Some(300 * MB);
            growing.push(account);
        }
        let forecasts = growing.forecasts();
        let direct = forecasts
            .iter()
            .find(|forecast| forecast.fate == Fate::DirectIsFull);
        let direct = direct.expect("they grow");
        assert_eq!(direct.left, Some(141 * MB));
        let fates = |course: Course| course.forecasts().len();
        assert_eq!(fates(course(|_| (100, 300))), 2);
    }

    #[test]
    fn a_collection_is_one_point() {
        let seldom = course(|second| (100 + second / 10, 300));
        assert_eq!(seldom.live().len(), 6);
        assert_eq!(seldom.resident().len(), 60);
    }

    #[test]
    fn the_number_of_accounts_is_bounded() {
        let mut course = Course::default();
        for time in 0..10_000 {
            course.push(Account {
                time,
                ..Account::default()
            });
        }
        assert!((500..=1_000).contains(&course.accounts().len()));
        assert_eq!(course.first().map(|first| first.time), Some(0));
        assert_eq!(course.last().map(|last| last.time), Some(9_999));
    }
}
