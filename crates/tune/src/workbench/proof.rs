//! Proof of candidates: the printed source compiled again, run by the executor beside the original.

use super::compare::{apart, first_difference};
use super::draw::Draws;
use super::sizes::OriginalRuns;
use super::written::is_written;
use super::{AS_WRITTEN, Bench, Examined, Launch, Subject};
use crate::attempts::{Failure, Genome, Stage, Verified};
use crate::session::Level;
use assay_device::{Checks, Error, FaultKind, Report, Settings};
use assay_engine as engine;
use assay_launch::element::Element;
use assay_launch::{Dtype, Extent, Inputs, Sizes, Start, describe};
use assay_rewrite::recipe::{Applied, Class, Geometry};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// Operations a simdgroup may run in loops.
const MOST_STEPS: u64 = 4_000_000;

/// How long one run of a source that a model wrote may take on this CPU.
const LONGEST_RUN: std::time::Duration = std::time::Duration::from_secs(60);

/// Inputs that finalists are compared with at each size.
const SEEDS: u64 = 3;
/// The seed of inputs that the search never saw.
const UNSEEN: u64 = 1000;

/// Numbers of a candidate's program that sizes are drawn around, and further ones of the original's.
const MOST_NUMBERS: usize = 16;

/// A bias that a stranger's source may not have unless it was asked for.
const MOST_BIAS: f64 = 4e-6;

/// The share of floats of 16 bits that rounding of longer ones in another order may change.
const MOST_DIFFERING: f64 = 0.1;

/// Two units in the last place of the largest number: what floats of 16 bits may be apart where the original calculates
/// with more.
const TWO_ULPS: [(&str, f64); 2] = [("f16", 1.0 / 512.0), ("bf16", 1.0 / 64.0)];

/// What buffers hold, by index.
type Contents = Vec<(u32, Vec<u8>)>;

/// A kernel on the executor.
pub(super) struct Runner(engine::Runner);

impl Runner {
    /// The kernel of a genome, with everything in it that can be checked if asked for.
    pub(super) fn new(
        subject: &Subject<'_>,
        genome: &Genome,
        source: Option<&str>,
        checked: bool,
    ) -> Result<Runner, Failure> {
        let (library, constants) = subject.runs(genome, source, checked)?;
        let settings = Settings {
            max_steps: Some(MOST_STEPS),
            timeout: is_written(genome).then_some(LONGEST_RUN),
            checks: checked.then_some(Checks::default()),
            ..Settings::default()
        };
        let made = engine::Runner::new(&library, &subject.function, &constants, settings);
        let made = made.map_err(|error| Failure::new(Stage::Compile, error.to_string()))?;
        Ok(Runner(made))
    }

    /// Runs a dispatch on fresh buffers; what they hold afterwards.
    pub(super) fn run(
        &mut self,
        inputs: &Inputs,
        geometry: &Geometry,
        sizes: &Sizes,
    ) -> Result<Contents, Failure> {
        let (shape, inputs) = with_geometry(inputs, geometry, sizes)?;
        self.0.run(shape, &inputs).map_err(failed)
    }

    /// Runs slowly; what the kernel did that it must not.
    pub(super) fn check(
        &mut self,
        inputs: &Inputs,
        geometry: &Geometry,
        sizes: &Sizes,
    ) -> Result<Vec<Report>, Failure> {
        let (shape, inputs) = with_geometry(inputs, geometry, sizes)?;
        let mut reports = self.0.check(shape, &inputs).map_err(failed)?;
        reports.retain(|report| !report.kind.is_warning());
        Ok(reports)
    }
}

/// What is bound, with the numbers and the threadgroup memory of a geometry.
fn with_geometry(
    inputs: &Inputs,
    geometry: &Geometry,
    sizes: &Sizes,
) -> Result<((Extent, [u32; 3]), Inputs), Failure> {
    let limits = |error: assay_launch::Error| Failure::new(Stage::Limits, error.to_string());
    let fits = inputs.fits();
    fits.map_err(|mistake| Failure::new(Stage::Limits, mistake.message))?;
    let (grid, threadgroup) = geometry.at(sizes).map_err(limits)?;
    let mut inputs = inputs.clone();
    for number in geometry.numbers.iter().filter(|number| number.added) {
        let value = number.value.number_at(sizes).map_err(limits)?;
        let bytes = value.to_le_bytes().to_vec();
        inputs.bytes.push((number.buffer, bytes));
    }
    inputs.memory.clear();
    for (index, formula) in (0..).zip(&geometry.threadgroup_memory) {
        let bytes = formula.number_at(sizes).map_err(limits)?;
        if bytes > 0 {
            inputs.memory.push((index, bytes));
        }
    }
    Ok(((Extent::Threads(grid), threadgroup), inputs))
}

fn failed(error: Error) -> Failure {
    let stage = match &error {
        Error::TimeOut { .. } | Error::Cancelled => Stage::Abandoned,
        Error::Fault(fault) if matches!(fault.kind, FaultKind::TooManySteps) => Stage::Abandoned,
        Error::Fault(_) => Stage::Check,
        _ => Stage::Limits,
    };
    Failure::new(stage, error.to_string())
}

/// What the original left at certain sizes with certain inputs.
struct Expected {
    inputs: Inputs,
    buffers: Vec<(u32, Vec<u8>)>,
    /// Its error by the oracle, in units of what is allowed.
    error: Option<f64>,
}

/// Sizes in words, and a seed.
type Trial = (String, u64);

/// The original's results, each computed once.
#[derive(Default)]
pub(super) struct Original {
    runner: Mutex<Option<Runner>>,
    /// Runs that say where the original is clean.
    trials: Mutex<Option<OriginalRuns>>,
    expected: Mutex<FxHashMap<Trial, Arc<Expected>>>,
}

impl<L: Launch> Bench<'_, L> {
    /// What the original leaves in its buffers.
    fn original_run(&self, inputs: &Inputs, own: &Sizes) -> Result<Contents, Failure> {
        let poisoned = || Failure::new(Stage::Results, "an earlier run was interrupted");
        let mut runner = self.original.runner.lock().map_err(|_| poisoned())?;
        if runner.is_none() {
            *runner = Some(Runner::new(&self.subject, &Genome::default(), None, false)?);
        }
        let Some(runner) = runner.as_mut() else {
            return Err(poisoned());
        };
        runner.run(inputs, self.launch.geometry(), own)
    }

    /// How far a float may be from the original's.
    fn allowed(&self, element: &Element) -> f64 {
        let usual = self.launch.tolerance(element);
        let few = TWO_ULPS.iter().find(|(name, _)| *name == element.name);
        match few.filter(|_| !self.launch.is_tolerance_asked() && !self.is_narrow()) {
            Some((_, few)) => usual.min(*few),
            None => usual,
        }
    }

    /// Returns true if the original calculates with floats of 16 bits.
    fn is_narrow(&self) -> bool {
        let original = self.applied(&Genome::default());
        original.is_ok_and(|original| original.candidate.is_narrow())
    }

    fn expected(&self, sizes: &Sizes, seed: u64) -> Result<Arc<Expected>, Failure> {
        let trial = (describe(sizes), seed);
        let known = self.original.expected.lock().ok();
        if let Some(found) = known.and_then(|known| known.get(&trial).cloned()) {
            return Ok(found);
        }
        let model = |why: String| Failure::new(Stage::Limits, why);
        let genome = Genome::default();
        let own = self.sizes_of(sizes, &genome);
        let inputs = self.launch.inputs(&own, seed).map_err(model)?;
        let inputs = inputs.filled();
        let inputs = inputs.map_err(|mistake| model(mistake.message))?;
        let buffers = self.original_run(&inputs, &own)?;
        let error = match self.launch.judged(&own, seed, &buffers) {
            None => None,
            Some(judged) => Some(judged.map_err(|why| Failure::new(Stage::Oracle, why))?),
        };
        let expected = Arc::new(Expected {
            inputs,
            buffers,
            error,
        });
        if let Ok(mut known) = self.original.expected.lock() {
            known.insert(trial, Arc::clone(&expected));
        }
        Ok(expected)
    }
}

/// Proves a candidate at a level.
pub(super) fn verify<L: Launch>(
    bench: &Bench<'_, L>,
    genome: &Genome,
    level: Level,
) -> Result<Verified, Failure> {
    let applied = bench.applied(genome)?;
    let source = bench.source(genome, &applied)?;
    let geometry = &applied.candidate.geometry;
    let mut runner = Runner::new(&bench.subject, genome, source.as_deref(), false)?;
    let mut verified = Verified {
        identical: true,
        ..Verified::default()
    };
    let drawn = match level {
        Level::Full => around_numbers(bench, &applied)?,
        Level::Quick | Level::HeldOut => Vec::new(),
    };
    let all: Vec<&Sizes> = bench.launch.sizes(level).iter().chain(&drawn).collect();
    for &sizes in &all {
        for seed in seeds(bench, level, sizes) {
            let expected = bench.expected(sizes, seed)?;
            let own = bench.sizes_of(sizes, genome);
            let found = runner.run(&expected.inputs, geometry, &own)?;
            let at = |why: String| match sizes.is_empty() {
                true => why,
                false => format!("at {}: {why}", describe(sizes)),
            };
            compare(
                bench,
                applied.class,
                (sizes, seed),
                &expected,
                &found,
                &mut verified,
            )
            .map_err(|failure| Failure::new(failure.stage, at(failure.why)))?;
        }
        verified.sizes.push(describe(sizes));
    }
    unbiased(bench, genome, &verified)?;
    check(
        bench,
        genome,
        source.as_deref(),
        geometry,
        (level, &all),
        &mut verified,
    )?;
    if level == Level::Full {
        other_contents(bench, genome, &mut runner, &applied)?;
    }
    if is_written(genome) && level == Level::Full {
        over_old_results(
            bench,
            genome,
            &mut runner,
            applied.class,
            geometry,
            &mut verified,
        )?;
    }
    examine(bench, genome, source.as_deref(), geometry, level)?;
    Ok(verified)
}

/// The seeds of inputs at certain sizes.
fn seeds<L: Launch>(
    bench: &Bench<'_, L>,
    level: Level,
    sizes: &Sizes,
) -> std::ops::RangeInclusive<u64> {
    match level {
        Level::Full
            if bench.launch.sizes(Level::Quick).contains(sizes)
                && sizes != bench.launch.timed() =>
        {
            1..=SEEDS
        }
        Level::Quick | Level::Full => 1..=1,
        Level::HeldOut => UNSEEN..=UNSEEN,
    }
}

/// Sizes around the numbers of a candidate's program and the original's, where the original is clean.
fn around_numbers<L: Launch>(
    bench: &Bench<'_, L>,
    applied: &Applied,
) -> Result<Vec<Sizes>, Failure> {
    let Some(drawing) = bench.launch.drawing() else {
        return Ok(Vec::new());
    };
    let original = bench.applied(&Genome::default())?;
    let mut draws = Draws::new(bench.launch.timed(), 3);
    let landmarks = |applied: &Applied| {
        applied
            .candidate
            .landmarks(draws.most())
            .unwrap_or_default()
    };
    let (own, new) = (landmarks(&original), landmarks(applied));
    let mut numbers: Vec<u64> = Vec::new();
    let mut add = |set: Vec<u64>| {
        // Large ones first: small ones are met by chance.
        let fresh = set
            .into_iter()
            .rev()
            .filter(|number| !numbers.contains(number));
        let fresh: Vec<u64> = fresh.take(MOST_NUMBERS).collect();
        numbers.extend(fresh);
    };
    let without = |all: &BTreeSet<u64>, known: &BTreeSet<u64>| -> Vec<u64> {
        all.difference(known).copied().collect()
    };
    add(without(&new.compared, &own.compared));
    add(without(&new.factors, &own.factors));
    add(own.compared.into_iter().collect());
    let wishes = draws.around(numbers);
    let poisoned = || Failure::new(Stage::Results, "an earlier run was interrupted");
    let mut trials = bench.original.trials.lock().map_err(|_| poisoned())?;
    let trials = match trials.as_mut() {
        Some(trials) => trials,
        None => trials.insert(OriginalRuns::new(&bench.subject)?),
    };
    Ok(trials.of_wishes(&bench.subject, bench.launch, wishes, drawing))
}

/// Refuses a stranger's source whose results are larger or smaller than the original's by a factor, unless a tolerance was
/// asked for.
fn unbiased<L: Launch>(
    bench: &Bench<'_, L>,
    genome: &Genome,
    verified: &Verified,
) -> Result<(), Failure> {
    // Where there is an oracle, its errors before and after say it.
    let judged = verified.error_after.is_some();
    let bias = verified
        .bias
        .filter(|bias| bias.abs() > MOST_BIAS && !judged);
    match bias.filter(|_| is_written(genome) && !bench.launch.is_tolerance_asked()) {
        None => Ok(()),
        Some(bias) => {
            let side = if bias > 0.0 { "larger" } else { "smaller" };
            let why = format!(
                "results are {side} than the original's by {:.1e} on the whole: a bias, which rounding is not",
                bias.abs()
            );
            Err(Failure::new(Stage::Results, why))
        }
    }
}

/// How many times as far as usual results may be apart on other contents, and how far where an oracle says what is usual.
const MANY_TIMES: f64 = 8.0;
const OTHER: f64 = 1e-3;
const OTHER_NARROW: f64 = 0.1;

/// What other contents are called, and how a number becomes one of them.
type OtherContents = (&'static str, fn(f64) -> f64);

/// Contents that separate right from nearly right, made of what a launch binds.
const CONTENTS: [OtherContents; 3] = [
    ("300 times as large", |x| x * 300.0),
    ("far below zero", |x| -300.0 * x.abs() - 100.0),
    ("of few values", |x| (x * 2.0).round()),
];

/// Runs a candidate on floats of other kinds than the launch's: large, negative, often equal.
fn other_contents<L: Launch>(
    bench: &Bench<'_, L>,
    genome: &Genome,
    runner: &mut Runner,
    applied: &Applied,
) -> Result<(), Failure> {
    let Some(sizes) = bench.launch.sizes(Level::Quick).first() else {
        return Ok(());
    };
    let expected = bench.expected(sizes, 1)?;
    let geometry = &applied.candidate.geometry;
    for (kind, change) in CONTENTS {
        let mut inputs = expected.inputs.clone();
        let floats = inputs
            .buffers
            .iter_mut()
            .filter(|it| it.element.name == "f32");
        for input in floats {
            let numbers = Dtype::F32.decode(&input.data());
            if numbers.iter().any(|number| *number != 0.0) {
                let changed: Vec<f64> = numbers.into_iter().map(change).collect();
                input.start = Start::Bytes(Dtype::F32.encode(&changed));
            }
        }
        let own = bench.sizes_of(sizes, &Genome::default());
        if inputs == expected.inputs {
            continue;
        }
        // Where the original itself has no answer, nothing can be asked.
        let Ok(before) = bench.original_run(&inputs, &own) else {
            continue;
        };
        let after = runner.run(&inputs, geometry, &bench.sizes_of(sizes, genome))?;
        let refuse = |why: String| Failure::new(Stage::Results, format!("on floats {kind}: {why}"));
        match (applied.class, first_difference(&before, &after)) {
            (_, None) => {}
            (Class::Exact, Some(why)) => return Err(refuse(why)),
            (Class::Reassociating, Some(_)) => {
                let tolerance = |element: &Element| {
                    let allowed = bench.allowed(element);
                    match (allowed > 0.0, element.size < 4) {
                        (true, _) => MANY_TIMES * allowed,
                        // An oracle decides about the launch's own contents; it has no answer to others.
                        (false, false) => OTHER,
                        (false, true) => OTHER_NARROW,
                    }
                };
                apart(&inputs, &before, &after, &tolerance).map_err(refuse)?;
            }
        }
    }
    Ok(())
}

/// What outputs hold in place of zeros: NaN in every type.
const OLD: [u8; 2] = 0x7fda_u16.to_le_bytes();

/// Runs a candidate over outputs that hold something, where the original overwrites all of it: a source that looks at what
/// is there, or leaves parts out, shows itself.
fn over_old_results<L: Launch>(
    bench: &Bench<'_, L>,
    genome: &Genome,
    runner: &mut Runner,
    class: Class,
    geometry: &Geometry,
    verified: &mut Verified,
) -> Result<(), Failure> {
    let Some(sizes) = bench.launch.sizes(Level::Quick).first() else {
        return Ok(());
    };
    let expected = bench.expected(sizes, 1)?;
    let own = bench.sizes_of(sizes, &Genome::default());
    let mut inputs = expected.inputs.clone();
    for input in &mut inputs.buffers {
        let after = expected.buffers.iter();
        let mut after = after.filter(|(known, _)| *known == input.index);
        if after
            .next()
            .is_some_and(|(_, after)| input.data() != *after)
        {
            let old = OLD.into_iter().cycle().take(input.size() as usize);
            input.start = Start::Bytes(old.collect());
        }
    }
    let again = bench.original_run(&inputs, &own)?;
    if again != expected.buffers {
        return Ok(());
    }
    let found = runner.run(&inputs, geometry, &bench.sizes_of(sizes, genome))?;
    let expected = Expected {
        inputs,
        buffers: again,
        error: expected.error,
    };
    compare(bench, class, (sizes, 1), &expected, &found, verified).map_err(|failure| {
        let why = format!("over buffers that hold old results: {}", failure.why);
        Failure::new(failure.stage, why)
    })
}

/// Lets the launch look at a finalist by more than results: the whole gate of a registry.
fn examine<L: Launch>(
    bench: &Bench<'_, L>,
    genome: &Genome,
    source: Option<&str>,
    geometry: &Geometry,
    level: Level,
) -> Result<(), Failure> {
    if level == Level::Quick || genome.is_original() {
        return Ok(());
    }
    let (library, _) = bench.subject.runs(genome, source, false)?;
    let mut knobs = bench.subject.numbers(&genome.knobs);
    knobs.extend(bench.written_numbers(genome));
    let candidate = Examined {
        library: &library,
        source: source.unwrap_or_default(),
        geometry,
        knobs: &knobs,
        is_written: is_written(genome),
    };
    bench.launch.examined(&candidate, level).map(|_| ())
}

fn compare<L: Launch>(
    bench: &Bench<'_, L>,
    class: Class,
    (sizes, seed): (&Sizes, u64),
    expected: &Expected,
    found: &[(u32, Vec<u8>)],
    verified: &mut Verified,
) -> Result<(), Failure> {
    verified.comparisons += 1;
    let differs = first_difference(&expected.buffers, found);
    let Some(why) = differs else {
        verified.error_before = largest(verified.error_before, expected.error);
        verified.error_after = largest(verified.error_after, expected.error);
        return Ok(());
    };
    if class == Class::Exact {
        return Err(Failure::new(Stage::Results, why));
    }
    verified.identical = false;
    if let Some(index) = changed_input(expected, found) {
        let why = format!("buffer {index}, which the original only reads, differs");
        return Err(Failure::new(Stage::Results, why));
    }
    let judged = bench.launch.judged(sizes, seed, found);
    // An oracle decides; without one the original does, within a tolerance.
    let tolerance = |element: &_| match judged {
        Some(_) => f64::INFINITY,
        None => bench.allowed(element),
    };
    let difference = apart(&expected.inputs, &expected.buffers, found, &tolerance)
        .map_err(|why| Failure::new(Stage::Results, why))?;
    verified.largest_difference = verified.largest_difference.max(difference.largest);
    let exact = !bench.launch.is_tolerance_asked() && !bench.is_narrow();
    if judged.is_none() && exact && difference.differing > MOST_DIFFERING {
        let why = format!(
            "{:.0} % of the numbers of 16 bits differ: fewer bits than the original calculates with",
            difference.differing * 100.0
        );
        return Err(Failure::new(Stage::Results, why));
    }
    let larger = |bias: &f64| verified.bias.is_none_or(|known| bias.abs() > known.abs());
    verified.bias = difference.bias.filter(larger).or(verified.bias);
    if let Some(judged) = judged {
        let error = judged.map_err(|why| Failure::new(Stage::Oracle, why))?;
        verified.error_before = largest(verified.error_before, expected.error);
        verified.error_after = largest(verified.error_after, Some(error));
    }
    Ok(())
}

/// The first buffer that the original leaves as it was and a candidate does not.
fn changed_input(expected: &Expected, found: &[(u32, Vec<u8>)]) -> Option<u32> {
    let before = |index: u32| expected.inputs.buffer(index).map(|buffer| buffer.data());
    let pairs = expected.buffers.iter().zip(found);
    let mut changed = pairs.filter(|((index, original), (_, candidate))| {
        before(*index).is_some_and(|data| data == *original) && candidate != original
    });
    changed.next().map(|((index, _), _)| *index)
}

fn largest(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (a, b) => a.or(b),
    }
}

/// Runs a candidate slowly where the original is known to be clean.
fn check<L: Launch>(
    bench: &Bench<'_, L>,
    genome: &Genome,
    source: Option<&str>,
    geometry: &Geometry,
    (level, all): (Level, &[&Sizes]),
    verified: &mut Verified,
) -> Result<(), Failure> {
    let most = if level == Level::Quick { 1 } else { all.len() };
    let small = all.iter().filter(|sizes| bench.launch.is_checked(sizes));
    let mut runner = Runner::new(&bench.subject, genome, source, true)?;
    for sizes in small.take(most) {
        let own = bench.sizes_of(sizes, genome);
        let inputs = bench.launch.inputs(&own, AS_WRITTEN);
        let inputs = inputs.map_err(|why| Failure::new(Stage::Limits, why))?;
        let reports = runner.check(&inputs, geometry, &own)?;
        if let Some(report) = reports.first() {
            let at = match sizes.is_empty() {
                true => String::new(),
                false => format!("at {}: ", describe(sizes)),
            };
            return Err(Failure::new(Stage::Check, format!("{at}{report}")));
        }
        verified.checked += 1;
    }
    Ok(())
}
