//! Cures of findings: the recipes that answer one, applied and predicted; the best that is proven.
//!
//! Which recipes answer which finding is a table of steps, so that what is tried depends on nothing but the finding, and a
//! report with cures takes seconds.

use crate::attempts::{Failure, Genome, Prediction, Verified};
use crate::session::{Level, Prepared, Workbench};
use crate::workbench::{Bench, Launch, Made};
use rayon::prelude::*;

/// Steps that answer a finding, by its rule; `@` is a line it names. Steps of one cure are separated by spaces.
const ANSWERS: &[(&str, &[&str])] = &[
    (
        "scattered-access",
        &[
            "interleave",
            "interleave:line=@",
            "swap-axes:x,y",
            "simdgroup-rows:rows=4",
            "stage:x=16,y=16,k=16",
        ],
    ),
    ("bank-conflicts", &["pad:line=@"]),
    (
        "redundant-loads",
        &[
            "block:x=16,y=8,columns=4,rows=4,k=8",
            "matrices:m=32,n=32,k=16",
            "coarsen:x=4,strided",
            "stage:x=16,y=16,k=16",
        ],
    ),
    ("serial-threads", &["share-branch:line=@"]),
    (
        "atomics-contention",
        &["combine-atomics:line=@,loop", "combine-atomics:line=@"],
    ),
    (
        "narrow-loads",
        &["coarsen:x=4,block vectorize", "coarsen:x=8,block vectorize"],
    ),
    (
        "needless-barriers",
        &[
            "relax-barrier:line=@",
            "relax-barrier",
            "relax-barrier:line=@,simdgroup",
            "relax-barrier:simdgroup",
        ],
    ),
    (
        "partial-simdgroups",
        &[
            "threadgroup:x=256",
            "threadgroup:x=32,y=8",
            "threadgroup:x=32,y=4",
        ],
    ),
    (
        "too-few-threadgroups",
        &[
            "threadgroup:x=32",
            "threadgroup:x=64",
            "simdgroup-rows:rows=1",
        ],
    ),
];

/// Lines of a finding that steps are tried at.
const LINES: usize = 2;

/// A rewriting must be so much faster than an edit of the source to be preferred: an edit is a patch of a few lines.
const WORTH: f64 = 0.9;

/// The share of the time below which nothing is offered.
const LEAST: f64 = 0.03;

/// The recipes that may answer a rule's findings, as steps.
pub fn answers(rule: &str) -> &'static [&'static str] {
    let known = ANSWERS.iter().find(|(id, _)| *id == rule);
    known.map_or(&[], |(_, steps)| steps)
}

/// A cure that was applied, predicted and proven.
#[derive(Clone, Debug)]
pub struct Cured {
    /// The steps, as `--recipe` takes them.
    pub steps: Vec<String>,
    /// The predicted time.
    pub prediction: Prediction,
    /// `E` for the same bytes, `R` for floats added in another order.
    pub class: String,
    /// The whole source.
    pub source: String,
    /// It is the author's text with edits.
    pub is_edit: bool,
    /// What was proven.
    pub verified: Verified,
}

/// What became of the cures of a finding.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The one to take.
    pub cured: Option<Cured>,
    /// Those that were not taken, and why.
    pub refused: Vec<(String, String)>,
}

/// A cure that has a predicted time.
struct Candidate {
    genome: Genome,
    prepared: Prepared<Made>,
    prediction: Prediction,
    is_edit: bool,
}

/// The genomes that answer a finding.
fn genomes(rule: &str, lines: &[u32]) -> Vec<Genome> {
    let mut all = Vec::new();
    for steps in answers(rule) {
        let places = match steps.contains('@') {
            true => lines.iter().take(LINES).map(u32::to_string).collect(),
            false => vec![String::new()],
        };
        for place in places {
            let steps = steps.split(' ').map(|step| step.replace('@', &place));
            all.push(Genome {
                knobs: Vec::new(),
                steps: steps.collect(),
            });
        }
    }
    all
}

/// Applies, predicts and proves what answers a finding at lines of a source. Where the launch is too large to prove anything here,
/// what would help is among the refused, with what it is predicted to bring.
pub fn cures<L: Launch>(
    bench: &Bench<'_, L>,
    rule: &str,
    lines: &[u32],
    before_us: f64,
    proves: bool,
) -> Outcome {
    let mut outcome = Outcome::default();
    let genomes = genomes(rule, lines);
    let tried: Vec<Result<_, Failure>> = genomes
        .par_iter()
        .map(|genome| candidate(bench, genome.clone()))
        .collect();
    let mut candidates = Vec::new();
    for (genome, tried) in genomes.iter().zip(tried) {
        match tried {
            Ok(one) => candidates.push(one),
            Err(failure) => refuse(&mut outcome, genome, &failure.why),
        }
    }
    let rank = |one: &Candidate| match one.is_edit {
        true => one.prediction.time_us * WORTH,
        false => one.prediction.time_us,
    };
    candidates.sort_by(|a, b| rank(a).total_cmp(&rank(b)));
    for one in candidates {
        if one.prediction.time_us > before_us * (1.0 - LEAST) {
            refuse(
                &mut outcome,
                &one.genome,
                "it is predicted to bring less than 3 %",
            );
            continue;
        }
        if !proves {
            let brings = 100.0 * (1.0 - one.prediction.time_us / before_us);
            let why = format!(
                "it is predicted to bring {brings:.0} %; the launch is too large to prove it here, assay rewrite proves it"
            );
            refuse(&mut outcome, &one.genome, &why);
            continue;
        }
        match bench.verify(&one.genome, Level::Quick) {
            Ok(verified) => {
                outcome.cured = Some(Cured {
                    steps: one.genome.steps,
                    prediction: one.prediction,
                    class: one.prepared.class,
                    source: one.prepared.source,
                    is_edit: one.is_edit,
                    verified,
                });
                break;
            }
            Err(failure) => refuse(&mut outcome, &one.genome, &failure.why),
        }
    }
    outcome
}

fn refuse(outcome: &mut Outcome, genome: &Genome, why: &str) {
    outcome
        .refused
        .push((genome.steps.join(" "), why.to_owned()));
}

fn candidate<L: Launch>(bench: &Bench<'_, L>, genome: Genome) -> Result<Candidate, Failure> {
    let prepared = bench.prepare(&genome)?;
    let prediction = bench.predict(&prepared)?;
    let is_edit = !prepared.source.starts_with(assay_rewrite::PREAMBLE);
    Ok(Candidate {
        genome,
        prepared,
        prediction,
        is_edit,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_answer_is_a_step() {
        for (rule, answers) in ANSWERS {
            for steps in *answers {
                for step in steps.split(' ') {
                    let step = step.replace('@', "7");
                    let parsed = step.parse::<assay_rewrite::recipe::Step>();
                    assert_eq!(parsed.map(|parsed| parsed.to_string()), Ok(step), "{rule}");
                }
            }
        }
    }

    #[test]
    fn steps_at_lines_are_tried_at_the_heaviest() {
        let all = genomes("bank-conflicts", &[12, 3, 5]);
        let steps: Vec<String> = all.iter().flat_map(|genome| genome.steps.clone()).collect();
        assert_eq!(steps, ["pad:line=12", "pad:line=3"]);
        assert!(genomes("unknown", &[1]).is_empty());
    }
}
