//! Numbers that a file contains only as shares of others.
//!
//! A share is printed in hundredths of a percent, so many numbers print alike. The numbers computed here print as in
//! the file, as long as the file does not contradict itself.

/// The printed share of everything.
const ALL: u64 = 10_000;

/// Nanoseconds in a millisecond.
const MILLISECOND: u128 = 1_000_000;

/// A row: its amount, its share, and the share of all rows down to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) amount: u64,
    pub(super) own: u64,
    pub(super) accumulated: u64,
}

/// Returns the total that the amounts are shares of: their sum if that fits the shares, otherwise about the middle of
/// the possible totals, without digits that the shares do not determine.
pub(super) fn whole(parts: &[Part]) -> u64 {
    let (mut low, mut high) = (0_u128, u128::from(u64::MAX));
    let mut sum = 0_u64;
    for part in parts {
        sum = sum.saturating_add(part.amount);
        for (amount, share) in [(part.amount, part.own), (sum, part.accumulated)] {
            if amount == 0 {
                continue;
            }
            let doubled = u128::from(amount) * 2 * u128::from(ALL);
            low = low.max(doubled / (2 * u128::from(share) + 1) + 1);
            if share > 0 {
                high = high.min((doubled - 1) / (2 * u128::from(share) - 1));
            }
        }
    }
    let fits = (low..=high).contains(&sum.into());
    if fits || low > high || high == u128::from(u64::MAX) {
        return sum;
    }
    let unit = known_unit(high - low + 1);
    let (low, high) = (low.div_ceil(unit), high / unit);
    // No more than the highest possible total, which is below 2^64.
    u64::try_from(low.midpoint(high) * unit).unwrap_or(u64::MAX)
}

/// Returns the largest power of ten that has a multiple among any `numbers` consecutive numbers.
fn known_unit(numbers: u128) -> u128 {
    10_u128.pow(numbers.checked_ilog10().unwrap_or_default())
}

/// Returns amounts with these own and accumulated shares of `whole`. They have no digits that the shares do not
/// determine, but as many as needed for all of them to print as in the file. If the last accumulated share is
/// everything, they add up to `whole`, up to less than the last known digit.
pub(super) fn parts(whole: u64, shares: &[(u64, u64)]) -> Vec<u64> {
    let unit = known_unit(u128::from(whole / ALL));
    // Old agents count whole milliseconds.
    let old = (unit < MILLISECOND).then_some(MILLISECOND);
    let finer = std::iter::successors(Some(unit), |&unit| (unit > 1).then_some(unit / 10));
    let rounded = old
        .into_iter()
        .chain(finer)
        .find_map(|unit| parts_in(whole, shares, unit, Misfit::Refused));
    let any = || parts_in(whole, shares, 1, Misfit::OwnShareCounts);
    rounded.or_else(any).unwrap_or_default()
}

/// The treatment of a row whose own share does not fit the accumulated ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Misfit {
    /// There is no result.
    Refused,
    /// The file contradicts itself, and the accumulated share is ignored.
    OwnShareCounts,
}

/// Returns [`parts`] that are multiples of `unit`.
fn parts_in(whole: u64, shares: &[(u64, u64)], unit: u128, misfit: Misfit) -> Option<Vec<u64>> {
    let multiples = |share| {
        let (low, high) = range(whole, share);
        (low.div_ceil(unit), high / unit)
    };
    let mut reachable = Vec::with_capacity(shares.len());
    let (mut low, mut high) = (0, 0);
    for &(own, accumulated) in shares {
        let (own_low, own_high) = multiples(own);
        let (all_low, all_high) = multiples(accumulated);
        let sums = (low + own_low, high + own_high);
        (low, high) = (sums.0.max(all_low), sums.1.min(all_high));
        if low > high || own_low > own_high {
            if misfit == Misfit::Refused {
                return None;
            }
            (low, high) = sums;
        }
        reachable.push((low, high));
    }
    let own: Vec<(u128, u128)> = shares.iter().map(|&(own, _)| multiples(own)).collect();
    let amounts = choose(u128::from(whole) / unit, &own, &reachable);
    let amount = |multiple| u64::try_from(multiple * unit).unwrap_or(u64::MAX);
    Some(amounts.into_iter().map(amount).collect())
}

/// Chooses one amount for each row from the reachable ranges, starting with the last sum.
fn choose(whole: u128, own: &[(u128, u128)], reachable: &[(u128, u128)]) -> Vec<u128> {
    let mut amounts = vec![0; own.len()];
    let Some(&(low, high)) = reachable.last() else {
        return amounts;
    };
    let mut sum = match (low..=high).contains(&whole) {
        true => whole,
        false => low.midpoint(high),
    };
    for index in (0..own.len()).rev() {
        let (own_low, own_high) = own[index];
        let (low, high) = match index {
            0 => (0, 0),
            _ => reachable[index - 1],
        };
        let low = low.max(sum.saturating_sub(own_high));
        let high = high.min(sum.saturating_sub(own_low)).max(low);
        let before = low.midpoint(high).min(sum);
        amounts[index] = sum - before;
        sum = before;
    }
    amounts
}

/// Returns the smallest and the largest amount that prints as `share` of `whole`.
fn range(whole: u64, share: u64) -> (u128, u128) {
    let (whole, share, all) = (u128::from(whole), u128::from(share), u128::from(ALL));
    let high = whole * (2 * share + 1) / (2 * all);
    let low = match share {
        0 => 0,
        _ => whole * (2 * share - 1) / (2 * all) + 1,
    };
    // Exactly in the middle, the printed value may be rounded either way.
    let exact = whole * (2 * share + 1) % (2 * all) == 0 && high > low;
    (low, high - u128::from(exact))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NANOS_PER_MILLI: u64 = 1_000_000;

    #[test]
    fn a_whole_is_the_sum_where_the_shares_say_so() {
        let part = |amount, own, accumulated| Part {
            amount,
            own,
            accumulated,
        };
        assert_eq!(whole(&[]), 0);
        assert_eq!(whole(&[part(3, 7500, 7500), part(1, 2500, 10_000)]), 4);
        let cut = whole(&[part(1000, 5000, 5000), part(500, 2500, 7500)]);
        assert!((1999..=2001).contains(&cut), "{cut}");
        assert_eq!(whole(&[part(3, 0, 0)]), 3);
        assert_eq!(whole(&[part(3, 1, 9999)]), 3, "no whole fits");
    }

    #[test]
    fn parts_add_up_to_the_whole() {
        let third = parts(1_000_000_000, &[(3333, 3333), (3333, 6667), (3333, 10_000)]);
        assert_eq!(third.iter().sum::<u64>(), 1_000_000_000);
        for amount in third {
            assert!((333_250_000..333_350_000).contains(&amount), "{amount}");
        }
        let whole = parts(75_000_000, &[(800, 800), (400, 1200), (8800, 10_000)]);
        assert_eq!(whole, [6_000_000, 3_000_000, 66_000_000]);
        assert_eq!(parts(0, &[(0, 0), (0, 0)]), [0, 0]);
        assert_eq!(parts(7, &[]), [0; 0]);
        assert_eq!(parts(100, &[(99_999_999, 0)]).len(), 1);
    }

    #[test]
    fn digits_that_no_share_tells_are_zeros() {
        // A hundredth of a percent is 248 ms here.
        let whole = 2_482_821 * NANOS_PER_MILLI;
        let shares = [(3216, 3216), (2004, 5220), (1, 5221)];
        let amounts = parts(whole, &shares);
        let step = 100 * NANOS_PER_MILLI;
        assert!(
            amounts.iter().all(|amount| amount % step == 0),
            "{amounts:?}"
        );
        assert_prints_as(whole, &shares, &amounts);
        let all = parts(whole, &[(6_000, 6_000), (4_000, 10_000)]);
        assert_eq!(all.iter().sum::<u64>(), whole / step * step);
    }

    #[test]
    fn amounts_have_more_digits_where_fewer_do_not_fit() {
        let whole = 2_482_821 * NANOS_PER_MILLI;
        let shares = [(3333, 3333), (3333, 6667), (3333, 10_000)];
        let amounts = parts(whole, &shares);
        assert_prints_as(whole, &shares, &amounts);
        assert!(amounts.iter().all(|amount| amount % NANOS_PER_MILLI == 0));
    }

    #[test]
    fn a_whole_has_no_digits_that_no_share_tells() {
        let half = Part {
            amount: 123_456_789,
            own: 5000,
            accumulated: 5000,
        };
        assert_eq!(whole(&[half]), 246_910_000);
    }

    fn assert_prints_as(whole: u64, shares: &[(u64, u64)], amounts: &[u64]) {
        let percent = |amount: u64| {
            (2 * 10_000 * u128::from(amount) + u128::from(whole)) / (2 * u128::from(whole))
        };
        let mut sum = 0;
        for (&amount, &(own, accumulated)) in amounts.iter().zip(shares) {
            sum += amount;
            assert_eq!(
                (percent(amount), percent(sum)),
                (u128::from(own), u128::from(accumulated)),
                "{amounts:?}"
            );
        }
    }
}
