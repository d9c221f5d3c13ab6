//! The launch of a kernel of the registry, with its oracle.

use crate::failure::Failure;
use assay_bench::Dtype;
use assay_bench::gate::{self, Comparison};
use assay_bench::inputs::{self, Kind};
use assay_bench::oracle;
use assay_bench::registry::{Case, CaseBinding, CaseRole, Kernel, Pass, SizeUse};
use assay_bench::runner::Loaded;
use assay_device::{CpuDevice, Settings};
use assay_launch::element::Element;
use assay_launch::{Inputs, Sizes};
use assay_rewrite::recipe::Geometry;
use assay_tune::attempts::{Failure as TuneFailure, Stage};
use assay_tune::fingerprint::Fingerprint;
use assay_tune::session::Level;
use assay_tune::workbench::{Examined, Launch, Plan};
use std::time::Duration;

/// Operations a simdgroup may run in loops while a candidate is examined.
const MOST_STEPS: u64 = 40_000_000;
/// How long one run of a source that a model wrote may take.
const LONGEST_RUN: Duration = Duration::from_secs(120);

/// A kernel of the registry.
pub(crate) struct RegistryLaunch<'a> {
    kernel: &'a Kernel,
    pub(super) dtype: Dtype,
    geometry: Geometry,
    timed: Sizes,
    plan: Plan,
    /// The kernel's function.
    pub(crate) function: String,
}

impl<'a> RegistryLaunch<'a> {
    pub(crate) fn new(kernel: &'a Kernel) -> Result<RegistryLaunch<'a>, Failure> {
        let [pass] = kernel.passes.as_slice() else {
            return Err(Failure::usage(format!(
                "{} is {} dispatches, and one is tuned at a time",
                kernel.name,
                kernel.passes.len()
            ))
            .advice("tune one of its functions as a file, with its launch"));
        };
        let dtype = kernel.dtypes.first().copied().unwrap_or(Dtype::F32);
        let sizes_of = |uses: &[SizeUse]| -> Result<Vec<Sizes>, Failure> {
            let sets = kernel.sizes.iter().filter(|set| uses.contains(&set.use_));
            sets.map(|set| Ok(case(kernel, &set.sizes, dtype)?.sizes))
                .collect()
        };
        let reference = sizes_of(&[SizeUse::Reference])?.into_iter().next();
        let timed = reference
            .ok_or_else(|| Failure::input(format!("{} has no reference size", kernel.name)))?;
        let quick = sizes_of(&[SizeUse::Quick, SizeUse::Odd])?;
        Ok(RegistryLaunch {
            kernel,
            dtype,
            geometry: geometry(kernel, pass, &timed),
            plan: Plan {
                full: quick.clone(),
                quick,
                held_out: sizes_of(&[SizeUse::HeldOut])?,
                ..Plan::default()
            },
            timed,
            function: format!("{}_{dtype}", pass.function),
        })
    }

    /// What the arguments are, a line each.
    pub(super) fn described(&self) -> Vec<String> {
        let mut lines = vec![format!("{}: {}", self.function, self.kernel.summary)];
        let Ok(case) = self.case(&self.timed) else {
            return lines;
        };
        let pass = case.passes.first();
        let bindings = pass.map_or(&[][..], |pass| pass.bindings.as_slice());
        for (index, binding) in bindings.iter().enumerate() {
            let CaseBinding::Argument(place) = binding else {
                continue;
            };
            let Some(argument) = case.arguments.get(*place) else {
                continue;
            };
            let (what, shape) = match &argument.role {
                CaseRole::Input { shape, .. } => ("input", format!("{shape:?}")),
                CaseRole::Output { shape } => ("output", format!("{shape:?}")),
                CaseRole::Scratch { .. } => ("scratch", String::new()),
                CaseRole::Scalar { value } => ("scalar", format!("= {value}")),
            };
            let line = format!(
                "buffer {index}: {what} {} {} {shape}",
                argument.name, argument.dtype
            );
            lines.push(line.trim_end().to_owned());
        }
        lines
    }

    /// How far results may be off, in words.
    pub(super) fn tolerance_in_words(&self) -> String {
        let tolerance = self.kernel.tolerance(self.dtype);
        let relative = tolerance.map_or(0.0, |it| it.relative);
        format!(
            "Every element is compared with an exact result; it may be off by {relative:e} relative to what goes into it. \
             Inputs must stay as they are, outputs are written completely, at any size."
        )
    }

    /// The kernel with a candidate's geometry; knobs are sizes.
    fn with_geometry(&self, candidate: &Examined<'_>) -> Option<Kernel> {
        let mut kernel = self.kernel.clone();
        let pass = kernel.passes.first_mut()?;
        *pass = candidate.geometry.to_pass(pass);
        for set in &mut kernel.sizes {
            set.sizes.extend(candidate.knobs.clone());
        }
        Some(kernel)
    }

    fn plan(&self, candidate: &Examined<'_>, level: Level) -> gate::Plan {
        let seed = Fingerprint::default()
            .with(candidate.source.as_bytes())
            .text();
        let seed = seed
            .get(..16)
            .and_then(|it| u64::from_str_radix(it, 16).ok());
        let held_out = level == Level::HeldOut;
        // A stranger's source is tried where its time is claimed, whatever that takes.
        let reference = self
            .kernel
            .sizes
            .iter()
            .find(|set| set.use_ == SizeUse::Reference);
        let timed = reference.filter(|_| held_out && candidate.is_written);
        gate::Plan {
            seed: seed.unwrap_or(1),
            trials: 1,
            sizes: match held_out {
                true => vec![SizeUse::HeldOut],
                false => vec![SizeUse::Quick, SizeUse::Odd],
            },
            dtypes: vec![self.dtype],
            timed: timed.map(|set| set.name.clone()),
            random_sizes: if held_out { 2 } else { 1 },
        }
    }

    fn case(&self, sizes: &Sizes) -> Result<Case, String> {
        case(self.kernel, sizes, self.dtype).map_err(|failure| failure.message)
    }

    /// The pass as a description writes it.
    pub(super) fn pass(geometry: &assay_tune::attempts::Geometry) -> String {
        let list = |formulas: &[String]| {
            let mut words: Vec<String> =
                formulas.iter().map(|text| format!("\"{text}\"")).collect();
            while words.len() > 1 && words.last().is_some_and(|word| word == "\"1\"") {
                words.pop();
            }
            words.join(", ")
        };
        let (name, grid) = match geometry.groups.is_empty() {
            true => ("grid", &geometry.grid),
            false => ("groups", &geometry.groups),
        };
        let mut text = format!(
            "[[passes]] {name} = [{}] threadgroup = [{}]",
            list(grid),
            list(&geometry.threadgroup)
        );
        for (index, value) in &geometry.numbers {
            text += &format!(", and \"{value}\" bound to {index}");
        }
        text
    }
}

fn case(kernel: &Kernel, sizes: &Sizes, dtype: Dtype) -> Result<Case, Failure> {
    Case::with_sizes(kernel, "tuned", SizeUse::Reference, sizes, dtype)
        .map_err(|error| Failure::input(format!("{}: {error}", kernel.name)))
}

fn geometry(kernel: &Kernel, pass: &Pass, timed: &Sizes) -> Geometry {
    let mut geometry = Geometry::of_pass(pass, &kernel.arguments);
    geometry.sizes = timed.clone();
    geometry
}

impl Launch for RegistryLaunch<'_> {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn timed(&self) -> &Sizes {
        &self.timed
    }

    fn sizes(&self, level: Level) -> &[Sizes] {
        self.plan.sizes(level)
    }

    fn inputs(&self, sizes: &Sizes, seed: u64) -> Result<Inputs, String> {
        let case = self.case(sizes)?;
        let pass = case.passes.first().ok_or("no dispatch")?;
        Ok(inputs::bound(&case, pass, seed))
    }

    fn tolerance(&self, _element: &Element) -> f64 {
        0.0
    }

    fn examined(&self, candidate: &Examined<'_>, level: Level) -> Result<bool, TuneFailure> {
        let limits = |why: String| TuneFailure::new(Stage::Limits, why);
        let kernel = self
            .with_geometry(candidate)
            .ok_or_else(|| limits("no dispatch".to_owned()))?;
        let mut device = CpuDevice::new(Settings {
            max_steps: Some(MOST_STEPS),
            timeout: candidate.is_written.then_some(LONGEST_RUN),
            ..Settings::default()
        })
        .map_err(|error| limits(error.to_string()))?;
        let library = device.add(candidate.library.clone());
        let library = library.map_err(|error| limits(error.to_string()))?;
        let mut loaded = Loaded::of(library);
        let plan = self.plan(candidate, level);
        let verdict = gate::examine(&mut device, &mut loaded, &kernel, &plan);
        let verdict = verdict.map_err(|error| limits(error.to_string()))?;
        match verdict.findings.first() {
            None => Ok(true),
            Some(finding) => Err(TuneFailure::new(Stage::Oracle, finding.to_string())),
        }
    }

    fn judged(
        &self,
        sizes: &Sizes,
        seed: u64,
        buffers: &[(u32, Vec<u8>)],
    ) -> Option<Result<f64, String>> {
        let judge = || {
            let case = self.case(sizes)?;
            let inputs = inputs::random(&case, seed, Kind::Usual);
            let answers = oracle::answers(&case, &inputs).map_err(|error| error.to_string())?;
            let pass = case.passes.first().ok_or("no dispatch")?;
            let outputs = case.arguments.iter().enumerate();
            let outputs =
                outputs.filter(|(_, argument)| matches!(argument.role, CaseRole::Output { .. }));
            let mut worst = 0.0f64;
            for ((place, argument), answer) in outputs.zip(&answers) {
                let bound = |binding: &CaseBinding| matches!(binding, CaseBinding::Argument(known) if *known == place);
                let index = pass.bindings.iter().position(bound).unwrap_or(usize::MAX);
                let bytes = buffers.iter().find(|(known, _)| *known as usize == index);
                let bytes = bytes.map_or(&[][..], |(_, bytes)| bytes.as_slice());
                let found = Comparison::new(bytes, argument.dtype, answer, &case.tolerance);
                if !found.is_right() {
                    return Err(format!("output \"{}\": {found}", argument.name));
                }
                if let Some(element) = found.worst.filter(|element| element.allowed > 0.0) {
                    worst = worst.max((element.got - element.expected).abs() / element.allowed);
                }
            }
            Ok(worst)
        };
        Some(judge())
    }
}
