//! Bands: how far off predictions of unseen kernels are, by class.

use assay_predict::Class;
use std::collections::BTreeMap;

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

/// An unseen kernel: its class, task and predicted over measured time.
#[derive(Clone, Debug)]
pub struct Residual {
    /// Class as predicted.
    pub class: Class,
    /// The task it is a variant of, with its set; what is left out together.
    pub task: String,
    /// Predicted over measured time.
    pub ratio: f64,
}

/// A task with more variants than this counts as so many: three hundred variants of six tasks say less than they seem to.
const MOST_OF_A_TASK: f64 = 8.0;

/// Residuals with what each counts.
fn weighted(residuals: &[Residual]) -> Vec<(&Residual, f64)> {
    let mut counts: BTreeMap<&str, f64> = BTreeMap::new();
    for residual in residuals {
        *counts.entry(&residual.task).or_default() += 1.0;
    }
    let weight = |residual: &Residual| {
        let count = counts.get(residual.task.as_str()).copied();
        (MOST_OF_A_TASK / count.unwrap_or(1.0)).min(1.0)
    };
    residuals.iter().map(|r| (r, weight(r))).collect()
}

/// The value that `share` of the weight does not exceed.
fn weighted_quantile(mut values: Vec<(f64, f64)>, share: f64) -> f64 {
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let whole: f64 = values.iter().map(|(_, weight)| weight).sum();
    let mut held = 0.0;
    for (value, weight) in &values {
        held += weight;
        if held >= share * whole {
            return *value;
        }
    }
    values.last().map_or(f64::NAN, |(value, _)| *value)
}

/// The half width of the band of a class: a time is expected within ×/÷ of it.
pub fn half_width(residuals: &[Residual], class: Class) -> f64 {
    let weighted = weighted(residuals);
    let logs = |own: bool| -> Vec<(f64, f64)> {
        let chosen = weighted.iter().filter(|(r, _)| !own || r.class == class);
        chosen
            .map(|(r, weight)| (r.ratio.ln().abs(), *weight))
            .collect()
    };
    let (own, all) = (logs(true), logs(false));
    let n: f64 = own.iter().map(|(_, weight)| weight).sum();
    let everyone = weighted_quantile(all, SHARE);
    let mixed = match own.is_empty() {
        true => everyone,
        false => (n * weighted_quantile(own, SHARE) + LEAN * everyone) / (n + LEAN),
    };
    mixed.exp()
}

/// How bands made from other tasks hold what they are about.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Coverage {
    /// Kernels.
    pub kernels: usize,
    /// Share of the kernels whose band held, tasks with many variants weighed as in [`half_width`].
    pub held: f64,
    /// Median half width.
    pub width: f64,
}

/// Coverage of the chosen kernels when each one's band comes from the other tasks.
pub fn check(residuals: &[Residual], chosen: impl Fn(&Residual) -> bool) -> Coverage {
    let mut widths: BTreeMap<(&str, Class), f64> = BTreeMap::new();
    let (mut held, mut all, mut found) = (0.0, 0.0, Vec::new());
    for (residual, weight) in weighted(residuals) {
        if !chosen(residual) {
            continue;
        }
        let key = (residual.task.as_str(), residual.class);
        let width = *widths.entry(key).or_insert_with(|| {
            let others = residuals.iter().filter(|other| other.task != residual.task);
            let others: Vec<Residual> = others.cloned().collect();
            half_width(&others, residual.class)
        });
        found.push((width, weight));
        all += weight;
        if residual.ratio.ln().abs() <= width.ln() {
            held += weight;
        }
    }
    Coverage {
        kernels: found.len(),
        held: held / all,
        width: weighted_quantile(found, 0.5),
    }
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
            task: format!("task {n}"),
            ratio: 1.0 + n as f64 / 100.0,
        };
        let residuals: Vec<Residual> = (0..50).map(residual).collect();
        let compute = half_width(&residuals, Class::Compute);
        assert!((1.37..1.43).contains(&compute), "{compute}");
        assert!(half_width(&residuals, Class::Matrix) > 1.3);
        let Coverage { held, width, .. } = check(&residuals, |_| true);
        assert!((0.7..0.9).contains(&held), "{held}");
        assert!((1.3..1.5).contains(&width), "{width}");
    }

    #[test]
    fn a_task_of_many_variants_counts_as_a_few() {
        let residual = |task: &str, ratio| Residual {
            class: Class::Compute,
            task: task.to_owned(),
            ratio,
        };
        let mut residuals = vec![residual("hundreds", 4.0); 300];
        residuals.extend((0..64).map(|n| residual(&format!("{n}"), 1.1)));
        assert!(half_width(&residuals, Class::Compute) < 1.2);
    }
}
