//! Is it right? What a run left in its buffers beside an oracle, arrays in files, or another kernel.

use super::reference;
use super::work::Work;
use crate::context::Context;
use crate::failure::Failure;
use crate::{configuration, oracle};
use assay_bench::gate::{Elements, Limits};
use assay_bench::oracle::launched::{Expected, Launched as Ran, Oracle};
use assay_bench::oracle::{Answer, Definition};
use assay_bench::registry::Tolerance;
use assay_engine::ran::{Judged, Verdict, Worst};
use assay_launch::inputs::of_buffer;
use assay_launch::{Buffer, Sizes};
use assay_report::number::grouped;

/// Wrong elements that are shown of an output.
const SHOWN: usize = 8;
/// Roundings that are allowed for what is done to each element.
const ROUNDINGS: f64 = 64.0;

/// Flags that say what is right, and how far results may be off.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Is it right")]
pub(super) struct RightArgs {
    /// Compare with what an oracle says: an expression per output (y[i] = 2 * x[i]), a Python file with `def oracle`, or a
    /// command that answers requests (docs/references.md). Exit code 1 when an element is wrong
    #[arg(long, value_name = "EXPR|FILE.py|PROGRAM", conflicts_with_all = ["check", "counts", "serve", "capture"])]
    oracle: Option<String>,

    /// Compare a buffer with an array: y=FILE.npy; may be repeated
    #[arg(long, value_name = "NAME=FILE.npy", conflicts_with_all = ["check", "counts", "serve", "capture", "oracle"])]
    expect: Vec<String>,

    /// Compare with what another kernel leaves in its buffers, given the same inputs: a file, and the kernel in it if it
    /// has another name
    #[arg(long, value_name = "OTHER.metal[:KERNEL]", conflicts_with_all = ["check", "counts", "serve", "capture", "oracle", "expect"])]
    against: Option<String>,

    /// How far an element may be off, relative to what it should be [default: by error analysis]
    #[arg(long, value_name = "R", value_parser = tolerance)]
    rtol: Option<f64>,

    /// How far an element may be off in any case
    #[arg(long, value_name = "A", value_parser = tolerance)]
    atol: Option<f64>,

    /// How many units of the last place an element may be off
    #[arg(long, value_name = "N")]
    ulps: Option<u64>,
}

fn tolerance(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok();
    let value = value.filter(|value| *value >= 0.0 && value.is_finite());
    value.ok_or_else(|| format!("`{text}` is not a number from 0, such as 1e-5"))
}

/// What is compared with, found before anything is judged.
pub(super) struct Right {
    pub(super) by: String,
    pub(super) expected: Vec<Expected>,
    /// Tolerances that come with the oracle: relative to what went into an element, and absolute.
    pub(super) own: Option<(f64, f64)>,
    /// As many terms may be added up for one element.
    pub(super) terms: u64,
}

/// As many terms as a reduction of an expression may have: those of the largest size, or of the longest axis. An expression
/// without one adds nothing up.
fn terms_of(definition: &Definition, sizes: &Sizes, buffers: &[Buffer]) -> u64 {
    if let Definition::Expression(expression) = definition
        && !expression.text().contains('<')
    {
        return 1;
    }
    let axes = buffers.iter().flat_map(|buffer| &buffer.shape).copied();
    let longest = sizes.values().copied().max().or(axes.max());
    longest.unwrap_or(1)
}

/// The verdict on a run that just ended; none when nothing says what is right.
pub(super) fn verdict(
    work: &mut Work<'_>,
    sizes: &Sizes,
    context: &Context,
) -> Result<Option<Verdict>, Failure> {
    let flags = work.args.right.clone();
    let right = match (&flags.oracle, &flags.against) {
        (Some(text), _) => {
            let by = format!("the oracle {text}");
            Some(of_oracle(work, sizes, oracle::parse(text)?, by, None)?)
        }
        (None, Some(other)) => Some(reference::of_kernel(work, sizes, other)?),
        (None, None) if !flags.expect.is_empty() => Some(reference::of_files(work, &flags.expect)?),
        (None, None) => of_configuration(work, sizes, context),
    };
    let Some(right) = right else {
        for (flag, is_given) in [
            ("--rtol", flags.rtol.is_some()),
            ("--atol", flags.atol.is_some()),
            ("--ulps", flags.ulps.is_some()),
        ] {
            if is_given {
                return Err(Failure::usage(format!("{flag}: nothing says what is right"))
                    .advice("add --oracle 'y[i] = 2 * x[i]', --expect y=FILE.npy or --against OTHER.metal"));
            }
        }
        return Ok(None);
    };
    let after = work.after()?;
    let (limits, allowed) = limits(&flags, &right);
    let is_to_scale = flags.rtol.is_none() && flags.atol.is_none();
    let outputs = right.expected.into_iter().map(|expected| {
        let answer = match is_to_scale {
            true => expected.answer,
            false => Answer::exact(expected.answer.values),
        };
        let bytes = after.iter().find(|(index, _)| *index == expected.index);
        let bytes = bytes.map_or(&[][..], |(_, bytes)| bytes.as_slice());
        let found = Elements::compare(bytes, expected.dtype, &answer, &limits, SHOWN);
        let buffer = work.inputs.buffer(expected.index);
        let shape = buffer.map_or(&[][..], |buffer| buffer.shape.as_slice());
        Judged {
            index: expected.index,
            name: expected.name,
            elements: found.count,
            wrong: found.wrong,
            largest_ulps: (found.ulps != u64::MAX).then_some(found.ulps),
            largest_error: found.largest,
            worst: found
                .worst
                .iter()
                .map(|off| Worst::new(off.place, off.expected, off.got, off.ulps, shape))
                .collect(),
        }
    });
    let outputs: Vec<Judged> = outputs.collect();
    Ok(Some(Verdict {
        right: outputs.iter().all(|output| output.wrong == 0),
        by: right.by,
        allowed,
        outputs,
    }))
}

/// How far results may be off, and that in words.
fn limits(flags: &RightArgs, right: &Right) -> (Limits, String) {
    let of = |relative: f64, absolute: f64| Limits {
        tolerance: Tolerance {
            relative,
            absolute,
            reason: String::new(),
        },
        ulps: flags.ulps.unwrap_or(0),
    };
    let ulps = flags.ulps.map(|ulps| format!("{ulps} ulps"));
    if flags.rtol.is_some() || flags.atol.is_some() {
        let (relative, absolute) = (flags.rtol.unwrap_or(0.0), flags.atol.unwrap_or(0.0));
        let words = format!("{absolute:e} + {relative:e} × expected");
        let or = ulps.map_or(String::new(), |ulps| format!(", or {ulps}"));
        return (of(relative, absolute), words + &or);
    }
    if let Some(ulps) = ulps {
        return (of(0.0, 0.0), ulps);
    }
    if let Some((relative, absolute)) = right.own {
        let words =
            format!("{relative:e} of what went into an element, and {absolute:e} (assay.toml)");
        return (of(relative, absolute), words);
    }
    let terms = right.terms.max(1);
    let relative = (ROUNDINGS + 2.0 * (terms as f64).sqrt()) * f64::from(f32::EPSILON) / 2.0;
    let why = match terms {
        1 => "66 × 2⁻²⁴, for what adds nothing up".to_owned(),
        _ => format!(
            "(64 + 2√{terms}) × 2⁻²⁴, for sums of up to {} terms",
            grouped(terms)
        ),
    };
    let words = format!("{relative:.1e} of what went into an element: {why}");
    (of(relative, 0.0), words)
}

fn of_oracle(
    work: &Work<'_>,
    sizes: &Sizes,
    definition: Definition,
    by: String,
    own: Option<(f64, f64)>,
) -> Result<Right, Failure> {
    let terms = terms_of(&definition, sizes, &work.inputs.buffers);
    let oracle = Oracle {
        definition,
        tolerance: Tolerance {
            relative: 0.0,
            absolute: 0.0,
            reason: String::new(),
        },
    };
    let ran = Ran {
        function: &work.facts.function,
        arguments: &work.facts.arguments,
        inputs: &work.inputs,
        sizes,
    };
    let expected = oracle.expected(&ran).map_err(|why| {
        let names = work
            .inputs
            .buffers
            .iter()
            .filter_map(|it| of_buffer(&work.facts.arguments, it.index));
        let names: Vec<&str> = names.map(|argument| argument.name.as_str()).collect();
        Failure::usage(format!("--oracle: {why}"))
            .advice(format!("its names are the kernel's: {}", names.join(", ")))
    })?;
    Ok(Right {
        by,
        expected,
        own,
        terms,
    })
}

/// The expression that assay.toml has for the kernel, whose names are those of its launch: one by flags may have others.
fn of_configuration(work: &Work<'_>, sizes: &Sizes, context: &Context) -> Option<Right> {
    if work.launched.is_by_flags() {
        return None;
    }
    let configured = configuration::of(&work.args.file)?;
    let written = configured.oracle(&work.facts.function)?;
    let (text, relative, absolute) = written.parts();
    let by = "the oracle of assay.toml".to_owned();
    let own = Some((relative, absolute));
    let right = oracle::parse(text).and_then(|it| of_oracle(work, sizes, it, by, own));
    match right {
        Ok(right) => Some(right),
        Err(why) => {
            context.note(&format!("note: assay.toml: {}", why.message));
            None
        }
    }
}
