//! Bands: how far off predictions of unseen kernels are, by class.

use crate::stats::quantile;
use assay_predict::Class;

/// The share of kernels a band shall hold.
pub const SHARE: f64 = 0.8;

/// All classes.
pub const CLASSES: [Class; 5] = [
    Class::Short,
    Class::FewThreadgroups,
    Class::Matrix,
    Class::Bandwidth,
    Class::Compute,
];

/// The constant that holds the band of a class.
pub fn constant(class: Class) -> &'static str {
    match class {
        Class::Short => "band_short",
        Class::FewThreadgroups => "band_few",
        Class::Matrix => "band_matrix",
        Class::Bandwidth => "band_bandwidth",
        Class::Compute => "band_compute",
    }
}

/// So many kernels of all classes stand beside those of the class itself: small classes
/// lean on the rest.
const LEAN: f64 = 8.0;

/// An unseen kernel: its class, fold and predicted over measured time.
#[derive(Clone, Copy, Debug)]
pub struct Residual {
    /// Class as predicted.
    pub class: Class,
    /// Fold it was judged in.
    pub fold: usize,
    /// Predicted over measured time.
    pub ratio: f64,
}

/// The half width of the band of a class: a time is expected within ×/÷ of it.
pub fn half_width(residuals: &[Residual], class: Class) -> f64 {
    let logs = |own: bool| -> Vec<f64> {
        let chosen = residuals
            .iter()
            .filter(|residual| !own || residual.class == class);
        chosen.map(|residual| residual.ratio.ln().abs()).collect()
    };
    let (own, all) = (logs(true), logs(false));
    let everyone = quantile(&all, SHARE);
    let n = own.len() as f64;
    let mixed = if own.is_empty() {
        everyone
    } else {
        (n * quantile(&own, SHARE) + LEAN * everyone) / (n + LEAN)
    };
    mixed.exp()
}

/// Coverage and median half width when each kernel's band comes from the other folds.
pub fn check(residuals: &[Residual]) -> (f64, f64) {
    let mut widths = Vec::new();
    let mut held = 0;
    for residual in residuals {
        let others: Vec<Residual> = residuals
            .iter()
            .filter(|other| other.fold != residual.fold)
            .copied()
            .collect();
        let width = half_width(&others, residual.class);
        widths.push(width);
        held += usize::from(residual.ratio.ln().abs() <= width.ln());
    }
    let coverage = held as f64 / residuals.len().max(1) as f64;
    (coverage, quantile(&widths, 0.5))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_band_holds_four_of_five_and_small_classes_lean_on_the_rest() {
        let residual = |n: usize| Residual {
            class: if n == 0 {
                Class::Matrix
            } else {
                Class::Compute
            },
            fold: n % 5,
            ratio: 1.0 + n as f64 / 100.0,
        };
        let residuals: Vec<Residual> = (0..50).map(residual).collect();
        let compute = half_width(&residuals, Class::Compute);
        assert!((1.37..1.43).contains(&compute), "{compute}");
        assert!(half_width(&residuals, Class::Matrix) > 1.3);
        let (coverage, width) = check(&residuals);
        assert!((0.7..0.9).contains(&coverage), "{coverage}");
        assert!((1.3..1.5).contains(&width), "{width}");
    }
}
