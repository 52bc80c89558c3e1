//! Divides whole numbers in proportion, so that the parts add up again.

/// Divides an amount in proportion to weights, or evenly if all weights are zero.
///
/// Each part is the difference of two rounded running sums, so the parts add up and none is off by more than
/// one.
pub(crate) fn divide(amount: i128, weights: impl Iterator<Item = u128> + Clone) -> Vec<i128> {
    let sum: u128 = weights.clone().fold(0, u128::saturating_add);
    let even = sum == 0;
    let count = weights.clone().count() as u128;
    let whole = if even { count } else { sum };
    let (mut seen, mut given) = (0u128, 0i128);
    weights
        .map(|weight| {
            seen = seen.saturating_add(if even { 1 } else { weight });
            let upto = share(amount, seen, whole);
            upto - std::mem::replace(&mut given, upto)
        })
        .collect()
}

/// Computes `amount * part / whole`, with reduced precision if the product would overflow.
fn share(amount: i128, part: u128, whole: u128) -> i128 {
    if part >= whole {
        return amount;
    }
    let size = amount.unsigned_abs();
    let scaled = match size.checked_mul(part) {
        Some(product) => product / whole,
        None => size.saturating_mul(part >> 40) / (whole >> 40).max(1),
    };
    let scaled = i128::try_from(scaled.min(size)).unwrap_or(i128::MAX);
    if amount < 0 { -scaled } else { scaled }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::divide;

    #[test]
    fn parts_are_proportional_to_weights_and_add_up() {
        assert_eq!(divide(10, [1u128, 1, 2].into_iter()), [2, 3, 5]);
        assert_eq!(divide(-10, [1u128, 1, 2].into_iter()), [-2, -3, -5]);
        assert_eq!(divide(7, [0u128, 0].into_iter()), [3, 4]);
        assert_eq!(divide(7, std::iter::empty()), [] as [i128; 0]);
    }

    proptest! {
        #[test]
        fn parts_add_up(amount in any::<i64>(), weights in proptest::collection::vec(any::<u64>(), 1..20)) {
            let parts = divide(i128::from(amount), weights.iter().map(|&weight| u128::from(weight)));
            prop_assert_eq!(parts.iter().sum::<i128>(), i128::from(amount));
            prop_assert!(parts.iter().all(|&part| part == 0 || (part < 0) == (amount < 0)));
        }
    }
}
