//! Numbers that a file tells only as shares of others.
//!
//! A share is printed in hundredths of a percent, so many numbers print alike. What is worked out here prints as the file has
//! it wherever the file does not contradict itself.

/// A share of everything is printed as this.
const ALL: u64 = 10_000;

/// Nanoseconds in a millisecond.
const MILLISECOND: u128 = 1_000_000;

/// A row: how much, its share, and the share of all rows down to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) amount: u64,
    pub(super) own: u64,
    pub(super) accumulated: u64,
}

/// What the amounts are shares of: their sum where that fits the shares, else the middle of what does.
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
    // Both are at most 2^64 - 1.
    ((low + high) / 2) as u64
}

/// Amounts with these own and accumulated shares of `whole`; they add up to it where the last share is everything.
pub(super) fn parts(whole: u64, shares: &[(u64, u64)]) -> Vec<u64> {
    let mut reachable = Vec::with_capacity(shares.len());
    let (mut low, mut high) = (0, 0);
    for &(own, accumulated) in shares {
        let (own_low, own_high) = range(whole, own);
        let (all_low, all_high) = range(whole, accumulated);
        let sums = (low + own_low, high + own_high);
        (low, high) = (sums.0.max(all_low), sums.1.min(all_high));
        if low > high {
            // The file contradicts itself: its own shares count.
            (low, high) = sums;
        }
        reachable.push((low, high));
    }
    choose(whole.into(), shares, &reachable)
}

/// From the last sum back, one for each row of what is reachable.
fn choose(whole: u128, shares: &[(u64, u64)], reachable: &[(u128, u128)]) -> Vec<u64> {
    let mut amounts = vec![0; shares.len()];
    let Some(&(low, high)) = reachable.last() else {
        return amounts;
    };
    let mut sum = match (low..=high).contains(&whole) {
        true => whole,
        false => low.midpoint(high),
    };
    for index in (0..shares.len()).rev() {
        let (own_low, own_high) = range(whole as u64, shares[index].0);
        let (low, high) = match index {
            0 => (0, 0),
            _ => reachable[index - 1],
        };
        let low = low.max(sum.saturating_sub(own_high));
        let high = high.min(sum.saturating_sub(own_low)).max(low);
        let before = likely(sum, low, high).min(sum);
        amounts[index] = u64::try_from(sum - before).unwrap_or(u64::MAX);
        sum = before;
    }
    amounts
}

/// The sum up to the row before one that reaches `sum`: where that can be, the row has whole milliseconds, as those of old
/// agents have.
fn likely(sum: u128, low: u128, high: u128) -> u128 {
    let least = sum.saturating_sub(high);
    let whole = least.next_multiple_of(MILLISECOND);
    match sum.checked_sub(whole) {
        Some(before) if before >= low => before,
        _ => low.midpoint(high),
    }
}

/// The smallest and the largest amount that prints as `share` of `whole`.
fn range(whole: u64, share: u64) -> (u128, u128) {
    let (whole, share, all) = (u128::from(whole), u128::from(share), u128::from(ALL));
    let high = whole * (2 * share + 1) / (2 * all);
    let low = match share {
        0 => 0,
        _ => whole * (2 * share - 1) / (2 * all) + 1,
    };
    // Exactly in the middle, printing may go either way.
    let exact = whole * (2 * share + 1) % (2 * all) == 0 && high > low;
    (low, high - u128::from(exact))
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
