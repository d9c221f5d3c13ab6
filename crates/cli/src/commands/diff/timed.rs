//! Predicted times of both sides.

use super::Args;
use crate::context::Context;
use crate::failure::Failure;
use crate::launch::{self, Asked};
use crate::load::Loaded;
use crate::prediction::{self, Launched, Pass, target, targets, task};
use assay_chip::Chip;
use assay_front::Bytes;
use assay_launch::Written;
use assay_predict::{Cache, Compared, Predicted, Sampling, Target};
use std::path::Path;

/// One kernel of one file.
pub(super) struct Side<'a> {
    pub(super) loaded: &'a Loaded,
    /// Its file.
    pub(super) path: &'a Path,
    pub(super) bytes: &'a Bytes,
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
    context: &Context,
) -> Result<Option<Result<Compared, String>>, Failure> {
    let launches = (launch_of(before, args)?, launch_of(after, args)?);
    let launches = match launches {
        (None, None) => guessed(before, after, args, context)?,
        written => written,
    };
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
    let by_flags = old.is_by_flags() || new.is_by_flags();
    let both = predicted(before, &old, target, args)
        .and_then(|old| Ok((old, predicted(after, &new, target, args)?)));
    match both {
        Ok((old, new)) => Ok(Some(Ok(Compared::new(old, new, target)))),
        Err(failure) if by_flags => Err(failure),
        Err(failure) => Ok(Some(Err(format!("no predicted time: {}", failure.message)))),
    }
}

/// One guess for both sides: that of the side before, if it fits the other as well.
fn guessed(
    before: &Side<'_>,
    after: &Side<'_>,
    args: &Args,
    context: &Context,
) -> Result<(Option<Launched>, Option<Launched>), Failure> {
    let flags = flags_of(before, args)?;
    let Some(old) = before.asked(args).launch_or_none(flags, context)? else {
        return Ok((None, None));
    };
    let other = after.asked(args);
    let same = Launched::new(
        old.launch.clone(),
        other.kernel,
        other.arguments,
        &old.files,
    );
    let new = match same {
        Ok(new) => Launched {
            origin: old.origin,
            ..new
        },
        Err(_) => return Ok((None, None)),
    };
    Ok((Some(old), Some(new)))
}

fn flags_of(side: &Side<'_>, args: &Args) -> Result<Written, Failure> {
    let flags = args.model.launch.written()?;
    Ok(match side.own {
        Some(text) => launch::written(side.option, text)?.or(flags),
        None => flags,
    })
}

fn launch_of(side: &Side<'_>, args: &Args) -> Result<Option<Launched>, Failure> {
    side.asked(args).written(flags_of(side, args)?)
}

impl<'a> Side<'a> {
    fn asked(&self, args: &'a Args) -> Asked<'a> {
        let code = &args.model.code;
        Asked {
            path: self.path,
            bytes: self.bytes,
            kernel: &self.loaded.program.name,
            arguments: &self.loaded.arguments,
            options: code.source.options(self.path),
            constants: &code.values.constants,
        }
    }
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
