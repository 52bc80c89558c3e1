//! Several figures of one sort: their mean, how far they scatter, and how sure a difference of two means is.

/// Figures of several runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// How many.
    pub count: usize,
    /// Their sum.
    pub total: f64,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation, that of a sample; one figure alone has none.
    pub deviation: Option<f64>,
}

impl Spread {
    /// That of these figures; of none there is none.
    #[expect(clippy::cast_precision_loss, reason = "nobody compares 2^53 runs")]
    pub fn of(figures: &[f64]) -> Option<Self> {
        let count = figures.len();
        if count == 0 {
            return None;
        }
        let total: f64 = figures.iter().sum();
        let mean = total / count as f64;
        let squares: f64 = figures.iter().map(|figure| (figure - mean).powi(2)).sum();
        let deviation = (count > 1).then(|| (squares / (count - 1) as f64).sqrt());
        Some(Self { count, total, mean, deviation })
    }

    /// The 95 % interval of the difference between the mean of another and this one, by Welch's t: the two need not
    /// scatter alike. None where a side has fewer than two figures, or where neither scatters.
    #[expect(clippy::cast_precision_loss, reason = "nobody compares 2^53 runs")]
    pub fn interval_to(&self, other: &Self) -> Option<(f64, f64)> {
        let error = |side: &Self| side.deviation.map(|deviation| deviation.powi(2) / side.count as f64);
        let (own, others) = (error(self)?, error(other)?);
        let both = own + others;
        if both <= 0.0 {
            return None;
        }
        let part = |error: f64, count: usize| error.powi(2) / (count - 1) as f64;
        let freedom = both.powi(2) / (part(own, self.count) + part(others, other.count));
        let (difference, reach) = (other.mean - self.mean, t_quantile(freedom) * both.sqrt());
        Some((difference - reach, difference + reach))
    }
}

/// Where 95 % of Student's t with that many degrees of freedom end on either side.
fn t_quantile(freedom: f64) -> f64 {
    // One degree of freedom has 12.7, and Welch's are never fewer.
    let (mut low, mut high) = (0.0, 20.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if outside(middle, freedom) > 0.05 { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// How much of Student's t lies beyond this value on both sides.
fn outside(t: f64, freedom: f64) -> f64 {
    beta(freedom / (freedom + t * t), freedom / 2.0, 0.5)
}

/// The regularised incomplete beta function.
fn beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (1.0 - x).ln()).exp();
    // The fraction converges fast on one side of the mean; the other side is its mirror.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(x, a, b) / a
    } else {
        1.0 - front * fraction(1.0 - x, b, a) / b
    }
}

/// The continued fraction of the incomplete beta function, by the method of Lentz.
fn fraction(x: f64, a: f64, b: f64) -> f64 {
    let nonzero = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / nonzero(1.0 - (a + b) * x / (a + 1.0));
    let mut value = d;
    for step in 1..300 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = value;
        for numerator in [even, odd] {
            d = 1.0 / nonzero(1.0 + numerator * d);
            c = nonzero(1.0 + numerator / c);
            value *= c * d;
        }
        if (value - before).abs() < 1e-15 * value.abs() {
            break;
        }
    }
    value
}

/// The logarithm of the gamma function of a number above zero: Stirling's series, which is exact enough from ten on.
fn ln_gamma(x: f64) -> f64 {
    if x < 10.0 {
        return ln_gamma(x + 1.0) - x.ln();
    }
    let square = x * x;
    let series = 1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - 1.0 / (1680.0 * square)) / square) / square;
    (x - 0.5) * x.ln() - x + 0.5 * std::f64::consts::TAU.ln() + series / x
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(one: f64, two: f64) -> bool {
        (one - two).abs() < 1e-6 * two.abs()
    }

    #[test]
    fn quantiles_are_those_of_the_printed_tables() {
        let table = [
            (1.0, 12.706),
            (2.0, 4.303),
            (3.0, 3.182),
            (5.0, 2.571),
            (10.0, 2.228),
            (30.0, 2.042),
            (120.0, 1.980),
        ];
        for (freedom, expected) in table {
            assert!((t_quantile(freedom) - expected).abs() < 5e-4, "{freedom}: {}", t_quantile(freedom));
        }
        assert!((t_quantile(1e6) - 1.95997).abs() < 1e-4, "many degrees are the normal distribution");
    }

    #[test]
    fn a_mean_of_one_has_no_deviation_and_of_none_there_is_no_mean() {
        assert_eq!(Spread::of(&[]), None);
        let one = Spread::of(&[7.0]).unwrap();
        assert_eq!((one.count, one.mean, one.deviation), (1, 7.0, None));
        let four = Spread::of(&[2.0, 4.0, 4.0, 6.0]).unwrap();
        assert!(four.mean == 4.0 && near(four.deviation.unwrap(), 1.632_993));
    }

    #[test]
    fn the_interval_is_that_of_welch() {
        let (base, head) = (Spread::of(&[10.0, 12.0, 14.0]).unwrap(), Spread::of(&[20.0, 26.0]).unwrap());
        // Errors 4/3 and 9, so freedom (31/3)² / ((4/3)²/2 + 9²) = 1.304, whose quantile is 7.4624 by integration.
        let (low, high) = base.interval_to(&head).unwrap();
        assert!(near(low, -12.988_315) && near(high, 34.988_315), "{low} to {high}");
    }

    #[test]
    fn there_is_no_interval_without_scatter_or_of_one_figure() {
        let (same, one) = (Spread::of(&[3.0, 3.0]).unwrap(), Spread::of(&[3.0]).unwrap());
        assert_eq!(same.interval_to(&same), None);
        assert_eq!(same.interval_to(&one), None);
        let other = Spread::of(&[3.0, 5.0]).unwrap();
        assert!(same.interval_to(&other).is_some(), "one side that scatters is enough");
    }
}
