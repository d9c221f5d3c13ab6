//! Predicted times of both sides.

use super::Args;
use crate::failure::Failure;
use crate::launch;
use crate::load::Loaded;
use crate::prediction::{self, Launched, Pass, target, targets, task};
use assay_chip::Chip;
use assay_predict::{Cache, Compared, Predicted, Sampling, Target};

/// One kernel of one file.
pub(super) struct Side<'a> {
    pub(super) loaded: &'a Loaded,
    /// The text of its source, if it is text.
    pub(super) text: Option<&'a str>,
    /// Flags of this side only.
    pub(super) own: Option<&'a str>,
    /// The option that gives them.
    pub(super) option: &'static str,
}

/// What to predict for.
pub(super) fn of(args: &Args, chip: &Chip) -> Result<Target, Failure> {
    let file = args.model.chip_file.as_deref();
    let file = file.map(targets::read).transpose()?;
    target(chip.clone(), file.as_ref())
}

/// Both predictions; none when no side has a launch. The error of a side that has none is a
/// sentence.
pub(super) fn compared(
    before: &Side<'_>,
    after: &Side<'_>,
    target: &Target,
    args: &Args,
) -> Result<Option<Result<Compared, String>>, Failure> {
    let launches = (launch_of(before, args)?, launch_of(after, args)?);
    let (old, new) = match launches {
        (None, None) => return Ok(None),
        (Some(old), Some(new)) => (old, new),
        (old, _) => {
            let missing = if old.is_none() { before } else { after };
            return Ok(Some(Err(format!(
                "no predicted time: {} has no launch; give it with {}, or in a comment // assay: launch of its source",
                missing.loaded.program.name, missing.option
            ))));
        }
    };
    let by_flags = old.by_flags || new.by_flags;
    let both = predicted(before, &old, target, args)
        .and_then(|old| Ok((old, predicted(after, &new, target, args)?)));
    match both {
        Ok((old, new)) => Ok(Some(Ok(Compared::new(old, new, target)))),
        Err(failure) if by_flags => Err(failure),
        Err(failure) => Ok(Some(Err(format!("no predicted time: {}", failure.message)))),
    }
}

fn launch_of(side: &Side<'_>, args: &Args) -> Result<Option<Launched>, Failure> {
    let mut flags = args.model.launch.written()?;
    if let Some(text) = side.own {
        flags = launch::written(side.option, text)?.or(flags);
    }
    let Loaded {
        program, arguments, ..
    } = side.loaded;
    launch::find(side.text, &program.name, arguments, flags)
}

fn predicted(
    side: &Side<'_>,
    launched: &Launched,
    target: &Target,
    args: &Args,
) -> Result<Predicted, Failure> {
    let program = &side.loaded.program;
    let tasks = task::tasks(program, side.loaded.code(), launched, Sampling::default())?;
    // Of several sizes the first: both sides are compared at one.
    let task = tasks.into_iter().next();
    let task = task.ok_or_else(|| Failure::usage("the launch has no sizes"))?;
    let passes: Vec<Pass> = task.executed?;
    let state = match args.cold {
        true => Cache::Cold,
        false => Cache::Warm,
    };
    prediction::predicted(&task.kernel, task.code, &passes, 1, target, state)
}
