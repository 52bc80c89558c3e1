//! Exact conversion of decimal numbers to integers.

/// Multiplies a JSON number by ten to a power and rounds half up to an integer.
///
/// Does not use floats, so `3e-06` dollars are exactly 3,000,000 pico-dollars. Returns `None` for a negative
/// number and for one that does not fit.
pub(crate) const fn scaled(number: &str, power: i32) -> Option<u64> {
    let (mut value, mut power, mut in_fraction) = (0u128, power, false);
    let mut rest = number.as_bytes();
    while let [byte, tail @ ..] = rest {
        rest = tail;
        match *byte {
            // No price has more than 30 digits; further ones only move the decimal point.
            b'0'..=b'9' if value >= 10u128.pow(30) => power += !in_fraction as i32,
            b'0'..=b'9' => {
                value = value * 10 + (*byte - b'0') as u128;
                power -= in_fraction as i32;
            }
            b'.' => in_fraction = true,
            b'e' | b'E' => {
                power = power.saturating_add(exponent(tail));
                break;
            }
            _ => return None,
        }
    }
    shifted(value, power)
}

/// Parses the exponent after an `e`; saturates.
const fn exponent(digits: &[u8]) -> i32 {
    let (mut rest, sign) = match digits {
        [b'-', rest @ ..] => (rest, -1),
        [b'+', rest @ ..] => (rest, 1),
        rest => (rest, 1),
    };
    let mut value = 0i32;
    while let [byte, tail @ ..] = rest {
        rest = tail;
        value = value.saturating_mul(10).saturating_add(byte.wrapping_sub(b'0') as i32);
    }
    value.saturating_mul(sign)
}

/// Multiplies by ten to a power, rounding half up.
const fn shifted(mut value: u128, mut power: i32) -> Option<u64> {
    while power < -1 && value > 0 {
        value /= 10;
        power += 1;
    }
    if power < 0 {
        value = (value + 5) / 10;
    }
    while power > 0 && value > 0 && value <= u64::MAX as u128 {
        value *= 10;
        power -= 1;
    }
    if value > u64::MAX as u128 { None } else { Some(value as u64) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_price_is_exact_however_it_is_written() {
        for number in ["3e-06", "3E-6", "0.000003", "0.03e-4", "30e-7", "3.0e-06", "0.000003000"] {
            assert_eq!(scaled(number, 12), Some(3_000_000), "{number}");
        }
        assert_eq!(scaled("18.75", 6), Some(18_750_000));
        assert_eq!(scaled("1e+3", 0), Some(1_000));
        assert_eq!(scaled("0", 12), Some(0));
    }

    #[test]
    fn fractions_are_rounded_half_up() {
        assert_eq!(scaled("2.0000000000000002e-07", 12), Some(200_000));
        assert_eq!(scaled("1.9999999999999999e-07", 12), Some(200_000));
        assert_eq!(scaled("0.5", 0), Some(1));
        assert_eq!(scaled("0.49999", 0), Some(0));
        assert_eq!(scaled("9e-99999999999", 12), Some(0));
    }

    #[test]
    fn negative_and_too_large_numbers_are_none() {
        for number in ["-1", "-0.5", "1e30", "1e99999999999", "18446744073709551616", "abc"] {
            assert_eq!(scaled(number, 0), None, "{number}");
        }
        assert_eq!(scaled("0e99999999999", 0), Some(0));
        assert_eq!(scaled("18446744073709551615", 0), Some(u64::MAX));
        let long = format!("1{}", "0".repeat(50));
        assert_eq!(scaled(&format!("{long}e-50"), 0), Some(1));
    }

    proptest! {
        #[test]
        fn moving_the_decimal_point_back_and_forth_changes_nothing(value: u64, shift in 0..19i32) {
            prop_assert_eq!(scaled(&format!("{value}e-{shift}"), shift), Some(value));
        }
    }
}
