//! The predicted time that a profile leads with, where a launch is known.

use super::Args;
use crate::context::Context;
use crate::cures::Patient;
use crate::failure::Failure;
use crate::launch::Asked;
use crate::load::Loaded;
use crate::prediction::{self, Code, lines, target, targets, task};
use crate::source;
use assay_engine::diagnosis;
use assay_front::Bytes;
use assay_predict::render::{self, time};
use assay_predict::{Cache, LineTime, Predicted, Sampling};
use assay_profile::render::{Lead, LeadLine, Sources};
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
        let tasks = task::tasks(program, loaded.code(), &launched, Sampling::default())?;
        let task = tasks.into_iter().next();
        let task = task.ok_or_else(|| Failure::usage("the launch has no sizes"))?;
        let passes = task.executed?;
        let state = Cache::Warm;
        let kernel = &task.kernel;
        let mut predicted = prediction::predicted(kernel, task.code, &passes, 1, &target, state)?;
        predicted.lines = lines::lines(&passes, 1, &target, state, Some(&loaded.sources))?;
        let text = std::str::from_utf8(bytes).ok();
        let mut findings: Vec<Finding> = Vec::new();
        for pass in &passes {
            findings.extend(diagnosis::findings(
                pass,
                &predicted,
                (&target, state),
                text,
            )?);
        }
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

/// What a page leads with.
pub(super) fn lead(
    profile: &Profile,
    predicted: Option<&Predicted>,
    sources: Option<&Sources>,
) -> Lead {
    let whole = predicted.map_or(0.0, |predicted| predicted.time_us);
    let line = |line: &LineTime| LeadLine {
        file: line.file.clone(),
        line: line.line,
        share: line.us / whole.max(f64::MIN_POSITIVE),
        why: format!("{}: {}", time(line.us), render::reasons(line)),
    };
    let lines = predicted.map_or(&[][..], |predicted| &predicted.lines);
    Lead {
        answer: assay_engine::answer::page(profile, predicted, sources),
        lines: lines.iter().map(line).collect(),
    }
}
