//! Proof of the fastest, and the decision.

use super::journal::{Error, Journal};
use super::{Level, Workbench};
use crate::attempts::{Attempt, Decision, Failure, Verified};
use crate::shrink::{Claim, Selection, shrink};

/// Attempts whose proof is tried, the fastest first.
const FINALISTS: usize = 10;

/// How a session ended.
#[derive(Clone, Debug)]
pub struct Found {
    /// The original.
    pub original: Attempt,
    /// The fastest attempt that was proven, if one is faster than the original.
    pub winner: Option<Attempt>,
    /// What its gain is worth.
    pub claim: Claim,
    /// What was decided.
    pub decision: Decision,
    /// What was proven about the winner.
    pub proof: Proof,
    /// Attempts.
    pub attempts: usize,
    /// Those that failed.
    pub failed: usize,
    /// It was stopped before its evaluations were used up.
    pub stopped: bool,
    /// Why models were not asked any more, where a budget ended first.
    pub end_of_budget: Option<String>,
}

/// What was proven about a winner.
#[derive(Clone, Debug, Default)]
pub struct Proof {
    /// At all sizes, with several inputs.
    pub full: Option<Verified>,
    /// At sizes that were held out.
    pub held_out: Option<Verified>,
    /// Faster attempts that were not right.
    pub refused: Vec<(u32, Failure)>,
}

pub(super) fn decide<W: Workbench>(
    journal: &mut Journal<'_, W>,
    original: u32,
) -> Result<Found, Error> {
    let mut proof = Proof::default();
    let base = journal.time(original).unwrap_or(f64::INFINITY);
    let mut finalists = journal.fastest();
    finalists.retain(|&ordinal| journal.time(ordinal).is_some_and(|time| time < base));
    let mut winner = None;
    for &ordinal in finalists.iter().take(FINALISTS) {
        // What fails the small sizes need not run the large ones.
        let mut verified = journal.verify(ordinal, Level::Quick)?;
        if verified.is_ok() {
            verified = journal.verify(ordinal, Level::Full)?;
        }
        match verified {
            Ok(verified) => {
                proof.full = Some(verified);
                winner = Some(ordinal);
                break;
            }
            Err(failure) => proof.refused.push((ordinal, failure)),
        }
    }
    let claim = claim(journal, original, winner);
    let mut decision = judged(journal, winner, &claim);
    // Sizes that were held out are looked at once, and only for what would be kept.
    if let (Some(ordinal), true) = (winner, decision.kept) {
        match journal.verify(ordinal, Level::HeldOut)? {
            Ok(verified) => proof.held_out = Some(verified),
            Err(failure) => {
                decision.kept = false;
                decision.reason = format!("at sizes that were held out: {}", failure.why);
                proof.refused.push((ordinal, failure));
            }
        }
    }
    if !journal.stopped {
        journal.end(&decision)?;
    }
    let attempt = |ordinal: u32| journal.attempt(ordinal).cloned();
    let Some(original) = attempt(original) else {
        let failure = Failure::new(crate::attempts::Stage::Model, "the original is missing");
        return Err(Error::Original(failure));
    };
    let failed = journal
        .attempts
        .iter()
        .filter(|attempt| attempt.time().is_none());
    Ok(Found {
        original,
        winner: winner.and_then(attempt),
        claim,
        decision,
        proof,
        attempts: journal.attempts.len(),
        failed: failed.count(),
        stopped: journal.stopped,
        end_of_budget: journal.end_of_budget.clone(),
    })
}

fn claim<W: Workbench>(journal: &Journal<'_, W>, original: u32, winner: Option<u32>) -> Claim {
    let time = |ordinal: u32| journal.time(ordinal).unwrap_or(f64::NAN);
    let Some(winner) = winner else {
        return Claim {
            predicted: 1.0,
            expected: 1.0,
            claimed: 1.0,
            high: 1.0,
        };
    };
    // A gain that rests on a constant of which little is known is worth less than others of its size.
    let genome = journal.attempt(winner).map(|attempt| &attempt.genome);
    let doubt = genome.and_then(|genome| journal.workbench.doubt(genome));
    let candidates: Vec<f64> = journal.attempts.iter().filter_map(Attempt::time).collect();
    shrink(&Selection {
        original: time(original),
        winner: time(winner),
        candidates: &candidates,
        error: journal.options.error.max(doubt.unwrap_or(0.0)),
    })
}

fn judged<W: Workbench>(journal: &Journal<'_, W>, winner: Option<u32>, claim: &Claim) -> Decision {
    let tie = journal.options.tie;
    let kept = winner.is_some() && claim.claimed > tie;
    let reason = match winner {
        None if journal.attempts.len() == 1 && journal.next_call() > 0 => {
            "no answer of the model held a proposal that could be tried".to_owned()
        }
        None if journal.attempts.len() == 1 => {
            "there is nothing to try: no knobs, and no recipe applies (assay rewrite --list says why)".to_owned()
        }
        None => "no attempt that computes the same is predicted faster".to_owned(),
        Some(_) if !kept => format!(
            "predicted {:.2} times as fast; corrected for being the best of many that is {:.2}, and {tie:.2} or less is a tie",
            claim.predicted, claim.claimed
        ),
        Some(_) => format!(
            "{:.2} times as fast, corrected for being the best of many",
            claim.claimed
        ),
    };
    Decision {
        winner,
        kept,
        gain: claim.predicted,
        claimed: claim.claimed,
        reason,
    }
}
