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
use assay_ssa::Binding as ArgumentBinding;
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
    let both = match launches {
        (None, None) => return Ok(None),
        (Some(old), Some(new)) => Ok((old, new)),
        (Some(old), None) => fitted(&old, before, after, args, context).map(|new| (old, new)),
        (None, Some(new)) => fitted(&new, after, before, args, context).map(|old| (old, new)),
    };
    let (old, new) = match both {
        Ok(both) => both,
        Err(missing) => return Ok(Some(Err(missing))),
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

/// The launch of the only side that has one, for the other: a changed copy of a kernel is launched as the kernel is.
fn fitted(
    launched: &Launched,
    owner: &Side<'_>,
    other: &Side<'_>,
    args: &Args,
    context: &Context,
) -> Result<Launched, String> {
    let names = |side: &Side<'_>| side.loaded.program.name.clone();
    let fitted = match takes_the_same(owner, other) {
        true => on(launched, other, args).ok(),
        false => None,
    };
    let fitted = fitted.ok_or_else(|| {
        format!(
            "no predicted time: {} has no launch, and takes other arguments than {}; give it one with {}, or in a comment \
             // assay: launch of its source",
            names(other),
            names(owner),
            other.option
        )
    })?;
    context.note(&format!(
        "note: {} has no launch; it gets that of {}",
        other.path.display(),
        owner.path.display()
    ));
    Ok(fitted)
}

/// One guess for both sides: that of the side before, if it fits the other as well.
fn guessed(
    before: &Side<'_>,
    after: &Side<'_>,
    args: &Args,
    context: &Context,
) -> Result<(Option<Launched>, Option<Launched>), Failure> {
    let flags = flags_of(before, args)?;
    let old = before.asked(args).launch_or_none(flags, context)?;
    let new = old.as_ref().map(|old| on(old, after, args));
    Ok(match (old, new) {
        (Some(old), Some(Ok(new))) => (Some(old), Some(new)),
        _ => (None, None),
    })
}

/// Returns true if both kernels take the same buffers, whatever their names.
fn takes_the_same(one: &Side<'_>, other: &Side<'_>) -> bool {
    let buffers = |side: &Side<'_>| -> Vec<(ArgumentBinding, String)> {
        let arguments = side.loaded.arguments.iter();
        let buffers = arguments.filter(|argument| argument.space.is_some());
        let types = buffers.map(|one| (one.binding, one.type_name.replace("const ", "")));
        types.collect()
    };
    let (one, other) = (buffers(one), buffers(other));
    one.len() == other.len() && one.iter().all(|buffer| other.contains(buffer))
}

/// The same launch of another side.
fn on(launched: &Launched, side: &Side<'_>, args: &Args) -> Result<Launched, Failure> {
    let asked = side.asked(args);
    let same = Launched::new(
        launched.launch.clone(),
        asked.kernel,
        asked.arguments,
        &launched.files,
    )?;
    Ok(Launched {
        origin: launched.origin,
        ..same
    })
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
