//! Mean and standard deviation of a figure over several runs, and the confidence interval of a difference.

/// Mean and standard deviation of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Number of figures, at least 1.
    pub count: usize,
    /// Sum of the figures.
    pub total: f64,
    /// Arithmetic mean of the figures.
    pub mean: f64,
    /// Standard deviation of the sample (divisor `count - 1`); `None` for a single figure.
    pub deviation: Option<f64>,
}

impl Spread {
    /// Computes the statistics; `None` without figures.
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

    /// Returns the 95 % confidence interval of `other.mean - self.mean`, by Welch's t-test: the two samples
    /// may have different variances. `None` if a sample has fewer than two figures, or if both variances are
    /// zero.
    #[expect(clippy::cast_precision_loss, reason = "nobody compares 2^53 runs")]
    pub fn interval_to(&self, other: &Self) -> Option<(f64, f64)> {
        let error = |side: &Self| side.deviation.map(|deviation| deviation.powi(2) / side.count as f64);
        let (own, others) = (error(self)?, error(other)?);
        let sum = own + others;
        if sum <= 0.0 {
            return None;
        }
        let term = |error: f64, count: usize| error.powi(2) / (count - 1) as f64;
        let freedom = sum.powi(2) / (term(own, self.count) + term(others, other.count));
        let (difference, margin) = (other.mean - self.mean, t_quantile(freedom) * sum.sqrt());
        Some((difference - margin, difference + margin))
    }
}

/// Returns the two-sided 95 % quantile of Student's t distribution with `freedom` degrees of freedom.
fn t_quantile(freedom: f64) -> f64 {
    // The quantile is 12.7 for one degree of freedom, falls with more, and Welch's test never has fewer.
    let (mut low, mut high) = (0.0, 20.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if two_sided_tail(middle, freedom) > 0.05 { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// Returns the probability that Student's t is further from zero than `t`.
fn two_sided_tail(t: f64, freedom: f64) -> f64 {
    beta(freedom / (freedom + t * t), freedom / 2.0, 0.5)
}

/// The regularized incomplete beta function.
fn beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (1.0 - x).ln()).exp();
    // The continued fraction converges fast on one side of the mean; symmetry gives the other side.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(x, a, b) / a
    } else {
        1.0 - front * fraction(1.0 - x, b, a) / b
    }
}

/// The continued fraction of the incomplete beta function, by Lentz's method.
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

/// The logarithm of the gamma function for `x > 0`, by Stirling's series, which is exact enough from 10 on.
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

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-6 * b.abs()
    }

    #[test]
    fn quantiles_equal_those_of_printed_tables() {
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
    fn one_figure_has_no_deviation_and_no_figures_have_no_mean() {
        assert_eq!(Spread::of(&[]), None);
        let one = Spread::of(&[7.0]).unwrap();
        assert_eq!((one.count, one.mean, one.deviation), (1, 7.0, None));
        let four = Spread::of(&[2.0, 4.0, 4.0, 6.0]).unwrap();
        assert!(four.mean == 4.0 && near(four.deviation.unwrap(), 1.632_993));
    }

    #[test]
    fn the_interval_is_that_of_welchs_test() {
        let (base, head) = (Spread::of(&[10.0, 12.0, 14.0]).unwrap(), Spread::of(&[20.0, 26.0]).unwrap());
        // Errors 4/3 and 9, so freedom (31/3)² / ((4/3)²/2 + 9²) = 1.304, whose quantile is 7.4624 by
        // integration.
        let (low, high) = base.interval_to(&head).unwrap();
        assert!(near(low, -12.988_315) && near(high, 34.988_315), "{low} to {high}");
    }

    #[test]
    fn there_is_no_interval_without_variance_or_for_one_figure() {
        let (same, one) = (Spread::of(&[3.0, 3.0]).unwrap(), Spread::of(&[3.0]).unwrap());
        assert_eq!(same.interval_to(&same), None);
        assert_eq!(same.interval_to(&one), None);
        let other = Spread::of(&[3.0, 5.0]).unwrap();
        assert!(same.interval_to(&other).is_some(), "one side with variance is enough");
    }
}
