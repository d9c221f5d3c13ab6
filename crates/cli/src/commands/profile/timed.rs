//! The predicted time that a profile leads with, where a launch is known.

use super::Args;
use crate::context::Context;
use crate::cures::Patient;
use crate::failure::Failure;
use crate::launch::Asked;
use crate::load::Loaded;
use crate::prediction::{Code, target, targets};
use crate::{progress, source};
use assay_engine::profiling::Timed;
use assay_front::Bytes;
use assay_predict::{Predicted, Sampling};
use assay_profile::{Finding, Profile};

/// Kernels of a file whose launches are guessed unasked.
const MOST_GUESSED: usize = 8;

/// The predicted time of every profile that has a launch, whose findings become those of the launch.
pub(super) fn predicted(
    loaded: &[Loaded],
    profiles: &mut [Profile],
    bytes: &Bytes,
    args: &Args,
    context: &Context,
) -> Result<Vec<Option<Predicted>>, Failure> {
    let guesses = profiles.len() <= MOST_GUESSED;
    let by_name = |profile: &Profile| {
        let found = loaded.iter().find(|one| one.program.name == profile.name);
        found.or(loaded.first().filter(|_| loaded.len() == 1))
    };
    if !args.model.launch.is_open() && profiles.len() > 1 {
        return Err(
            Failure::usage("a launch is for one kernel, and there are several").advice(
                "name one with -f, or write // assay: launch KERNEL … comments into the source",
            ),
        );
    }
    let is_one_of_several = profiles.len() > 1;
    let one = |profile: &mut Profile| match by_name(profile) {
        Some(loaded) => {
            let found = of(loaded, bytes, (guesses, is_one_of_several), args, context)?;
            Ok(found.map(|(predicted, findings)| {
                profile.findings = findings;
                predicted
            }))
        }
        None => Ok(None),
    };
    profiles.iter_mut().map(one).collect()
}

fn of(
    loaded: &Loaded,
    bytes: &Bytes,
    (guesses, is_one_of_several): (bool, bool),
    args: &Args,
    context: &Context,
) -> Result<Option<(Predicted, Vec<Finding>)>, Failure> {
    let model = &args.model;
    let program = &loaded.program;
    let flags = model.launch.written()?;
    let path = args.place()?.path();
    let asked = Asked {
        path,
        bytes,
        kernel: &program.name,
        arguments: &loaded.arguments,
        options: model.code.source.options(path),
        constants: &model.code.values.constants,
    };
    let found = match guesses {
        true => asked.launch_or_none(flags, context)?,
        false => asked.written(flags)?,
    };
    let Some(launched) = found else {
        return Ok(None);
    };
    let predict = || {
        let file = model.chip_file.as_deref().map(targets::read).transpose()?;
        let target = target(model.options()?.chip, file.as_ref())?;
        let text = std::str::from_utf8(bytes).ok();
        let timed = Timed {
            program,
            code: loaded.code(),
            launched: &launched,
            sources: &loaded.sources,
            text,
            sampling: Sampling::default(),
        };
        let (predicted, mut findings) = timed.predict(&target, progress::stage)?;
        let is_source = source::open(path, bytes).is_ok_and(|file| file.is_source());
        let text = text.filter(|_| is_source && loaded.code() == Code::Generated);
        let text = text.filter(|_| args.tries_cures(context) && !is_one_of_several);
        if let Some(text) = text {
            let patient = Patient {
                path,
                text,
                options: model.code.source.options(path),
                constants: &model.code.values.constants,
                kernel: &program.name,
                is_one_of_several: args.model.function.is_some(),
                launched: &launched,
                target: &target,
            };
            if let Err(failure) = patient.cure(&mut findings) {
                context.note(&format!("note: no cures were tried: {}", failure.message));
            }
        }
        Ok((predicted, findings))
    };
    match predict() {
        Ok(predicted) => Ok(Some(predicted)),
        Err(failure) if launched.is_by_flags() => Err(failure),
        Err(failure) => {
            context.note(&format!(
                "{}: no predicted time: {}",
                program.name, failure.message
            ));
            Ok(None)
        }
    }
}
