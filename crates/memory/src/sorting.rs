//! Sorting by numbers, with one instance of the sort for all types: each other one takes 4 KB of the library.

use super::need;

/// Sorts by two numbers, of which the first counts more. What is equal keeps its order. If there is no memory for that, it unwinds
/// as [`need`] does.
pub fn sort_by_numbers<T>(items: &mut Vec<T>, numbers: impl Fn(&T) -> [u64; 2]) {
    need(
        items
            .len()
            .saturating_mul(size_of::<Placed>() + size_of::<Option<T>>()),
    );
    let order = items.iter().enumerate();
    let mut order: Vec<Placed> = order
        .map(|(place, item)| Placed(numbers(item), place))
        .collect();
    sort(&mut order);
    let mut taken: Vec<Option<T>> = items.drain(..).map(Some).collect();
    let sorted = order
        .into_iter()
        .filter_map(|Placed(_, place)| taken.get_mut(place)?.take());
    items.extend(sorted);
}

/// The numbers of an item, and its place.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Placed([u64; 2], usize);

#[inline(never)]
fn sort(order: &mut [Placed]) {
    order.sort_unstable();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_equal_keeps_its_order() {
        let mut items = vec![(2, 'a'), (1, 'b'), (2, 'c'), (1, 'd'), (0, 'e')];
        sort_by_numbers(&mut items, |&(number, _)| [number, 0]);
        assert_eq!(items, [(0, 'e'), (1, 'b'), (1, 'd'), (2, 'a'), (2, 'c')]);
        sort_by_numbers(&mut items, |&(number, letter)| {
            [!number, u64::from(letter == 'a')]
        });
        assert_eq!(items, [(2, 'c'), (2, 'a'), (1, 'b'), (1, 'd'), (0, 'e')]);
    }
}
