//! Figures of agreement between predicted and measured times.

/// The geometric mean of `max(p/m, m/p)`: 1 is perfect, 1.2 is "a fifth off, either way".
pub fn factor(ratios: &[f64]) -> f64 {
    if ratios.is_empty() {
        return f64::NAN;
    }
    let sum: f64 = ratios.iter().map(|ratio| ratio.ln().abs()).sum();
    (sum / ratios.len() as f64).exp()
}

/// The geometric mean of the ratios: 1 without bias.
pub fn bias(ratios: &[f64]) -> f64 {
    let sum: f64 = ratios.iter().map(|ratio| ratio.ln()).sum();
    (sum / ratios.len().max(1) as f64).exp()
}

/// The median of `|p/m - 1|`.
pub fn median_error(ratios: &[f64]) -> f64 {
    let errors: Vec<f64> = ratios.iter().map(|ratio| (ratio - 1.0).abs()).collect();
    quantile(&errors, 0.5)
}

/// A quantile by linear interpolation; not a number without values.
pub fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else {
        return f64::NAN;
    };
    let at = share.clamp(0.0, 1.0) * last as f64;
    let below = at.floor() as usize;
    let above = at.ceil() as usize;
    sorted[below] + (sorted[above] - sorted[below]) * (at - below as f64)
}

/// Kendall's τ-b: concordant minus discordant pairs, ties counted on each side.
pub fn kendall(first: &[f64], second: &[f64]) -> f64 {
    let (mut agreement, mut in_first, mut in_second) = (0i64, 0i64, 0i64);
    for i in 0..first.len().min(second.len()) {
        for j in 0..i {
            let a = order(first[i], first[j]);
            let b = order(second[i], second[j]);
            agreement += a * b;
            in_first += a * a;
            in_second += b * b;
        }
    }
    let pairs = (in_first as f64 * in_second as f64).sqrt();
    if pairs == 0.0 {
        f64::NAN
    } else {
        agreement as f64 / pairs
    }
}

fn order(a: f64, b: f64) -> i64 {
    match a.total_cmp(&b) {
        std::cmp::Ordering::Less => -1,
        std::cmp::Ordering::Equal => 0,
        std::cmp::Ordering::Greater => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factor_treats_too_fast_and_too_slow_alike() {
        assert!((factor(&[2.0, 0.5]) - 2.0).abs() < 1e-12);
        assert!((bias(&[2.0, 0.5]) - 1.0).abs() < 1e-12);
        assert!((median_error(&[1.1, 0.5, 3.0]) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn kendall_is_one_for_the_same_order_and_minus_one_for_the_reverse() {
        assert_eq!(kendall(&[1.0, 2.0, 3.0], &[10.0, 20.0, 21.0]), 1.0);
        assert_eq!(kendall(&[1.0, 2.0, 3.0], &[3.0, 2.0, 1.0]), -1.0);
        // One tie in the second: 2 of 3 pairs agree, √(3·2) in the denominator.
        let tied = kendall(&[1.0, 2.0, 3.0], &[1.0, 2.0, 2.0]);
        assert!((tied - 2.0 / 6f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn quantiles_interpolate() {
        assert_eq!(quantile(&[3.0, 1.0, 2.0], 0.5), 2.0);
        assert_eq!(quantile(&[0.0, 10.0], 0.25), 2.5);
        assert!(quantile(&[], 0.5).is_nan());
    }
}
