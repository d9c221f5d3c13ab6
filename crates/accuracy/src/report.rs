//! Every figure of agreement, computed once, and the page that shows them.

use crate::bands::Residual;
use crate::case::Set;
use crate::digest;
use crate::fit::{FREE_M3, Start, cross_validate, fit, loss, without};
use crate::folds::folds;
use crate::judge::{chip, prediction, ratios, roofline, with_cores};
use crate::ranking::{TaskRanking, Variant, rank};
use crate::search::{Limits, minimise};
use crate::stats::{bias, factor, kendall, median_error};
use crate::store::{Store, Stored};
use crate::{Error, Result};
use assay_chip::Chip;
use assay_predict::{Constants, Prediction};

/// Folds of the cross-validation.
pub const FOLDS: usize = 6;

/// A set as judged.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The cases, with predicted over measured time.
    pub rows: Vec<Row>,
    /// Numbers of cores that agree best.
    pub cores: u32,
    /// The constants used, where they are the same for all rows.
    pub constants: Option<Constants>,
}

/// A case as judged.
#[derive(Clone, Debug)]
pub struct Row {
    /// Name within the set.
    pub name: String,
    /// Task and size.
    pub group: String,
    /// Task or family.
    pub family: String,
    /// Measured time.
    pub measured_us: f64,
    /// Predicted over measured time.
    pub ratio: f64,
    /// Roofline over measured time.
    pub roofline: Option<f64>,
    /// Products of matrices.
    pub matrices: bool,
    /// No dispatch has more than one threadgroup.
    pub single: bool,
    /// Fold, where there are folds.
    pub fold: usize,
    /// What the model says limits it.
    pub limited_by: &'static str,
    /// Class of its band.
    pub class: assay_predict::Class,
    /// Where the time goes, as shares of the predicted time.
    pub terms: Vec<(&'static str, f64)>,
}

impl Judged {
    /// Predicted over measured times.
    pub fn ratios(&self) -> Vec<f64> {
        self.rows.iter().map(|row| row.ratio).collect()
    }

    /// Kendall's τ between predicted and measured times.
    pub fn kendall(&self) -> f64 {
        let measured: Vec<f64> = self.rows.iter().map(|row| row.measured_us).collect();
        let predicted: Vec<f64> = self.rows.iter().map(Row::predicted_us).collect();
        kendall(&measured, &predicted)
    }

    /// Ranking of the variants of each task; predictions nearer to each other than `tie` are one.
    pub fn ranking(&self, tie: f64) -> Vec<TaskRanking> {
        rank(&self.variants(), tie)
    }

    /// The cases as variants of their tasks.
    pub fn variants(&self) -> Vec<Variant<'_>> {
        self.rows
            .iter()
            .map(|row| Variant {
                group: &row.group,
                task: &row.family,
                measured: row.measured_us,
                predicted: row.predicted_us(),
            })
            .collect()
    }

    /// Residuals for bands; kernels of MetalBench are tasks of their own.
    pub fn residuals(&self, set: Set) -> Vec<Residual> {
        let residual = |row: &Row| Residual {
            class: row.class,
            task: match set {
                Set::MetalBench => format!("{set}/{}", row.name),
                _ => format!("{set}/{}", row.family),
            },
            ratio: row.ratio,
        };
        self.rows.iter().map(residual).collect()
    }
}

impl Row {
    /// Predicted time.
    pub fn predicted_us(&self) -> f64 {
        self.ratio * self.measured_us
    }
}

/// A class of the table: its name, and which kernels are in it.
pub type ClassRule = (&'static str, fn(&Row) -> bool);

/// Classes of the table; a kernel can be in several.
pub const CLASSES: [ClassRule; 5] = [
    ("< 30 µs", |row| row.measured_us < 30.0),
    ("30–300 µs", |row| {
        (30.0..=300.0).contains(&row.measured_us)
    }),
    ("> 300 µs", |row| row.measured_us > 300.0),
    ("simdgroup matrices", |row| row.matrices),
    ("single threadgroup", |row| row.single),
];

fn judged(
    cases: &[&Stored],
    ratios: &[f64],
    folds: &[usize],
    chip: &Chip,
    constants: &Constants,
) -> Result<Vec<Row>> {
    let rows = cases.iter().zip(ratios).enumerate();
    rows.map(|(index, (case, ratio))| {
        let prediction = prediction(case, chip, constants)
            .map_err(|error| Error::from(format!("{}: {error}", case.id)))?;
        Ok(Row {
            name: case.name().to_owned(),
            group: case.group.clone(),
            family: case.family.clone(),
            measured_us: case.measured_us,
            ratio: *ratio,
            roofline: roofline(case, chip),
            matrices: case.has_matrices(),
            single: case.single_threadgroup(),
            fold: folds.get(index).copied().unwrap_or(0),
            limited_by: prediction.limited_by,
            class: prediction.class,
            terms: shares(&prediction),
        })
    })
    .collect()
}

/// Terms as shares of the time, the largest first.
fn shares(prediction: &Prediction) -> Vec<(&'static str, f64)> {
    let terms = prediction.terms.iter();
    let mut shares: Vec<(&'static str, f64)> = terms
        .map(|term| (term.name, term.us / prediction.time_us))
        .collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    shares
}

/// What stays together in a fold of MetalBench's kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Together {
    /// Kernels of one source file.
    Sources,
    /// Kernels of one geometry and shape: all activations, all normalisations of rows.
    Geometries,
}

/// Folds of MetalBench's kernels.
pub fn metalbench_folds(cases: &[&Stored], together: Together) -> Vec<usize> {
    let key = |case: &&Stored| match together {
        Together::Sources => digest::sha256(case.id.as_bytes()),
        Together::Geometries => case.family.clone(),
    };
    let keys: Vec<String> = cases.iter().map(key).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    folds(&keys, FOLDS)
}

/// MetalBench by given constants, without fitting.
pub fn with_constants(store: &Store, set: Set, constants: &Constants) -> Result<Judged> {
    let cases = store.of(set);
    let (chip, cores) = chip(set)?;
    let folds = metalbench_folds(&cases, Together::Sources);
    let ratios = ratios(&cases, &chip, constants);
    Ok(Judged {
        rows: judged(&cases, &ratios, &folds, &chip, constants)?,
        cores: cores[0],
        constants: Some(*constants),
    })
}

/// MetalBench, cross-validated.
pub fn cross_validated(store: &Store, together: Together, limits: Limits) -> Result<Judged> {
    let cases = store.of(Set::MetalBench);
    let (chip, cores) = chip(Set::MetalBench)?;
    let folds = metalbench_folds(&cases, together);
    let start = Start::published(&chip);
    let ratios = cross_validate(&start, &cases, &folds, &chip, limits);
    Ok(Judged {
        rows: judged(&cases, &ratios, &folds, &chip, &start.constants)?,
        cores: cores[0],
        constants: None,
    })
}

/// MetalBench, cross-validated without a term: the factor after whole fits from the published
/// values, as with it.
pub fn without_term(store: &Store, off: &[(&str, f64)], limits: Limits) -> Result<f64> {
    let cases = store.of(Set::MetalBench);
    let (chip, _) = chip(Set::MetalBench)?;
    let folds = metalbench_folds(&cases, Together::Sources);
    let start = without(&Start::published(&chip), off);
    let ratios = cross_validate(&start, &cases, &folds, &chip, limits);
    Ok(factor(&ratios))
}

/// A set by constants fitted elsewhere; free are only the number of cores, where it was
/// not published, and the cost between dispatches, where there are several.
pub fn transferred(store: &Store, set: Set, constants: &Constants) -> Result<Judged> {
    let cases = store.of(set);
    let (base, cores) = chip(set)?;
    let several = cases.iter().any(|case| case.repeat > 1);
    let mut best: Option<(f64, u32, Constants)> = None;
    for &cores in cores {
        let chip = with_cores(&base, cores);
        let between = |log: f64| Constants {
            between_us: log.exp(),
            ..*constants
        };
        let here = constants.between_us.ln();
        // The cost between dispatches only adds to the time.
        let unmoved = ratios(&cases, &chip, constants);
        let added = |log: f64| log.exp() - constants.between_us;
        let value = |point: &[f64]| {
            let rows = cases.iter().zip(&unmoved);
            let moved: Vec<f64> = rows
                .map(|(case, ratio)| ratio + added(point[0]) * case.gaps() / case.measured_us)
                .collect();
            loss(&moved)
        };
        let (log, value) = if several {
            let (point, value) = minimise(&[here], Limits::default(), value);
            (point[0], value)
        } else {
            (here, value(&[here]))
        };
        if best.is_none_or(|(known, ..)| value < known) {
            best = Some((value, cores, between(log)));
        }
    }
    let (_, cores, constants) = best.ok_or("a chip without cores")?;
    let chip = with_cores(&base, cores);
    let ratios = ratios(&cases, &chip, &constants);
    Ok(Judged {
        rows: judged(&cases, &ratios, &[], &chip, &constants)?,
        cores,
        constants: Some(constants),
    })
}

/// gemm-metal: each kernel by constants of the generation fitted on the others.
pub fn leave_one_kernel_out(
    store: &Store,
    constants: &Constants,
    free: &[(&str, f64)],
) -> Result<Judged> {
    let cases = store.of(Set::GemmMetal);
    let (chip, cores) = chip(Set::GemmMetal)?;
    let families: Vec<&str> = cases.iter().map(|case| case.family.as_str()).collect();
    let folds = folds(&families, cases.len());
    let mut constants = *constants;
    for (name, value) in free {
        constants.set(name, *value);
    }
    let names: Vec<&str> = free.iter().map(|(name, _)| *name).collect();
    let start = Start::at(&chip, constants, &names);
    let ratios = cross_validate(&start, &cases, &folds, &chip, Limits::default());
    let all = fit(&start, &cases, &chip, Limits::default());
    Ok(Judged {
        rows: judged(&cases, &ratios, &folds, &chip, &all)?,
        cores: cores[0],
        constants: Some(all),
    })
}

/// Residuals of all sets: MetalBench as given, the others by constants that were fitted without them.
pub fn unseen(store: &Store, constants: &Constants, m2: &Judged) -> Result<Vec<Residual>> {
    let mut all = m2.residuals(Set::MetalBench);
    for set in Set::ALL {
        let judged = match set {
            Set::MetalBench => continue,
            Set::GemmMetal => leave_one_kernel_out(store, constants, FREE_M3)?,
            set => transferred(store, set, constants)?,
        };
        all.extend(judged.residuals(set));
    }
    Ok(all)
}

/// One line of agreement.
pub fn line(rows: &[&Row]) -> String {
    let ratios: Vec<f64> = rows.iter().map(|row| row.ratio).collect();
    format!(
        "n {:3}  factor {:.3}  bias {:.3}  median error {:4.1} %",
        rows.len(),
        factor(&ratios),
        bias(&ratios),
        100.0 * median_error(&ratios)
    )
}
