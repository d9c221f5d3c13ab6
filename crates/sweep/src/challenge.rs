//! A challenger in turns with the source that holds the record.

use assay_bench::measure::{self, Measurement};
use assay_bench::reference::Reference;
use assay_bench::registry::{Case, Resolved};
use assay_bench::runner::Loaded;
use assay_bench::stats::{self, Order};
use assay_board::{Held, LEAST, ROUNDS, Raced};
use assay_device::{Device, Error};

/// Times a kernel in turns with the holder. Where the first race is won there are more, each with inputs of its own: the
/// board gives the record only to who wins all of them. Both are compiled anew for each, so that what one compiled program has
/// over an equal one (where it lies in memory, say) does not last through all of them.
pub(crate) fn run(
    device: &mut dyn Device,
    loaded: &mut Loaded,
    source: &Resolved,
    held: &Held,
    case: &Case,
    plan: &measure::Plan,
    references: &mut [Box<dyn Reference>],
) -> Result<(Option<Measurement>, Option<Raced>), Error> {
    let mut raced = Raced {
        holder: held.hash.clone(),
        rounds: Vec::new(),
        holder_is_sound: false,
    };
    let holder = match Loaded::compile(device, &held.path, &held.text) {
        Ok(holder) => Some(holder),
        Err(error @ (Error::Cancelled | Error::NoDevice(_))) => return Err(error),
        // It compiled once, so something around it has changed.
        Err(_) => None,
    };
    let Some(mut holder) = holder else {
        let measured = measure::measure(device, loaded, case, plan, references)?;
        return Ok((measured, Some(raced)));
    };
    let first = measure::race(device, loaded, Some(&mut holder), case, plan, references);
    let first = match first {
        Ok(first) => first,
        Err(error @ (Error::Cancelled | Error::NoDevice(_))) => return Err(error),
        // One of the two cannot be run. Alone, each tells whether it is the one.
        Err(_) => {
            let holder = measure::measure(device, &mut holder, case, plan, &mut []);
            let measured = measure::measure(device, loaded, case, plan, references)?;
            let lost = holder.is_err_and(|error| is_broken(&error));
            return Ok((measured, lost.then_some(raced)));
        }
    };
    raced.holder_is_sound = true;
    let mut won = first.as_ref().is_some_and(|one| round(one, &mut raced));
    while won && raced.rounds.len() < ROUNDS {
        let plan = measure::Plan {
            seed: plan.seed.wrapping_add(raced.rounds.len() as u64),
            ..*plan
        };
        let mut own = Loaded::compile(device, &source.path, &source.text)?;
        let mut holder = Loaded::compile(device, &held.path, &held.text)?;
        let again = measure::race(device, &mut own, Some(&mut holder), case, &plan, &mut [])?;
        won = again.as_ref().is_some_and(|one| round(one, &mut raced));
    }
    Ok((first, Some(raced)))
}

/// Notes a race; returns true if the challenger won it.
fn round(measured: &Measurement, raced: &mut Raced) -> bool {
    let Some(holder) = &measured.holder else {
        return false;
    };
    raced.holder_is_sound &= holder.steady_results && holder.examined.is_right();
    raced
        .rounds
        .push((holder.samples.clone(), measured.samples.clone()));
    let found = stats::race(&holder.samples, &measured.samples, LEAST);
    found.is_some_and(|found| found.order == Order::SecondFaster)
}

/// Returns true if a holder that fails so has lost the record. Not for want of time: who challenges sets the limit.
fn is_broken(error: &Error) -> bool {
    !matches!(
        error,
        Error::TimeOut { .. } | Error::Cancelled | Error::NoDevice(_) | Error::OutOfMemory { .. }
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_holder_that_is_too_slow_for_a_limit_has_not_lost() {
        let late = Error::TimeOut {
            dispatch: 0,
            function: "relu_f32".to_owned(),
            after: Duration::from_millis(1),
        };
        assert!(!is_broken(&late));
        let gone = Error::NoFunction {
            name: "relu_f32".to_owned(),
            nearest: Vec::new(),
            count: 0,
        };
        assert!(is_broken(&gone));
    }
}
