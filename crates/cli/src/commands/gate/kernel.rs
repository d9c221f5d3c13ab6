//! One kernel: figures of its code, predicted times, what it computes, what it must not do.

use super::evaluate::{Evaluator, Unit};
use super::execute::{Limits, Ran, Stopped, Subject, relative_text};
use super::launches::Planned;
use super::tree::Tree;
use super::trials::{Trials, Tried};
use super::{launches, oracle};
use crate::failure::{Failure, Kind};
use crate::generate::Generator;
use crate::launch::{self, Launched};
use crate::phases;
use crate::prediction::{self, Code, lines, task};
use crate::source;
use assay_agx::{Isa, Program};
use assay_device::Checks;
use assay_front::Library;
use assay_gate::{Check, Failed, Found, Group, Kernel, LineCost, Right, Time};
use assay_launch::{Written, describe};
use assay_predict::{Cache, Sampling};
use assay_profile::{Options, Origin, Profile};
use assay_tune::fingerprint;
use std::collections::BTreeMap;

impl Evaluator<'_> {
    /// Everything about a kernel.
    pub(super) fn kernel(
        &self,
        unit: &Unit<'_>,
        library: &Library,
        checked: Option<&Library>,
        function: &str,
    ) -> Result<Kernel, Failure> {
        let mut kernel = Kernel::new(unit.file, function);
        kernel.line = assay_gate::declares(&unit.text, function);
        let launches = self.launches(unit, function);
        let launches = launches.unwrap_or_else(|failure| {
            kernel.failures.push(Failed {
                message: failure.message,
                place: None,
            });
            Vec::new()
        });
        if launches.is_empty() && kernel.failures.is_empty() {
            kernel.notes.push(
                "no launch: not run, no predicted time ([launch] in assay.toml, or a comment // assay: launch)".to_owned(),
            );
        }
        self.code(unit, library, function, &launches, &mut kernel)?;
        self.runs(unit, (library, checked), function, &launches, &mut kernel)?;
        Ok(kernel)
    }

    /// The launches of a kernel with their numbers: those of both sides of a comparison where they differ.
    pub(super) fn launches(
        &self,
        unit: &Unit<'_>,
        function: &str,
    ) -> Result<Vec<(u32, Planned)>, Failure> {
        let key = (unit.file.to_owned(), function.to_owned());
        let launches = match self.overrides.get(&key) {
            Some(launches) => launches.clone(),
            None => {
                let own = launches::planned(self.config, unit.group, Some(&unit.text), function)?;
                own.into_iter().map(Some).collect()
            }
        };
        let numbered = (0..).zip(launches);
        Ok(numbered.filter_map(|(n, it)| Some((n, it?))).collect())
    }

    /// Figures of the code, and predicted times.
    fn code(
        &self,
        unit: &Unit<'_>,
        library: &Library,
        function: &str,
        launches: &[(u32, Planned)],
        kernel: &mut Kernel,
    ) -> Result<(), Failure> {
        let constants = constants(unit.group)?;
        let first = launches.first().map(|(_, launch)| &launch.predict);
        let sizes = first.and_then(|launch| launch.first_sizes().ok());
        let sizes = sizes.unwrap_or_default();
        let threadgroup = first.and_then(|launch| launch.threadgroup(&sizes).ok()?);
        let generator = Generator {
            constants: &constants,
            isa: Isa::G13,
            threadgroup,
        };
        let found = library
            .kernel(function)
            .map_err(|error| source::failure(&unit.path, error))?;
        let made = match generator.generate(found, &mut phases::told()) {
            Ok(made) => made,
            Err(refused) => {
                let why = relative_text(&refused.message, unit.tree);
                kernel.notes.push(format!(
                    "no code could be generated, so nothing is known of its cost: {why}"
                ));
                kernel.content = hash_of(unit.text.as_bytes());
                return Ok(());
            }
        };
        let mut program = made.program;
        kernel.content = hash_of_code(&program);
        for file in &mut program.files {
            *file = unit.tree.relative(file);
        }
        let memory = first.and_then(|launch| launch.threadgroup_bytes(&sizes).ok()?);
        let options = Options {
            threadgroup,
            threadgroup_bytes: memory,
            origin: Origin::Assay,
            ..Options::new(self.chip.clone())
        };
        match Profile::new(&program, &options) {
            Ok(profile) => {
                kernel.figures = figures(&profile, made.frame.spilled_bytes);
                kernel.costs = costs(&program, &profile);
            }
            Err(error) => kernel.notes.push(format!("not profiled: {error}")),
        }
        for (number, launch) in launches {
            let launched = launch.predict.clone();
            let launched = launch::launched(launched, function, &made.arguments);
            match launched {
                Ok(launched) => {
                    let files = unit.tree.arrays();
                    let launched = Launched { files, ..launched };
                    self.predict(&program, &launched, *number, kernel);
                }
                Err(mistake) => kernel.notes.push(format!("no predicted time: {mistake}")),
            }
        }
        Ok(())
    }

    fn predict(&self, program: &Program, launch: &Launched, place: u32, kernel: &mut Kernel) {
        let cases = launch.launch.cases().unwrap_or_default();
        let tasks = task::tasks(program, Code::Generated, launch, Sampling::default());
        let tasks = match tasks {
            Ok(tasks) => tasks,
            Err(failure) => {
                kernel
                    .notes
                    .push(format!("no predicted time: {}", failure.message));
                return;
            }
        };
        for (number, (task, sizes)) in tasks.iter().zip(&cases).enumerate() {
            let passes = match &task.executed {
                Ok(passes) => passes,
                Err(failure) => {
                    kernel
                        .notes
                        .push(format!("no predicted time: {}", failure.message));
                    continue;
                }
            };
            for (target_number, target) in self.targets.iter().enumerate() {
                let state = Cache::Warm;
                let predicted =
                    prediction::predicted(&task.kernel, task.code, passes, 1, target, state);
                match predicted {
                    Ok(predicted) => kernel.times.push(Time {
                        chip: target.chip.name.to_owned(),
                        sizes: describe(sizes),
                        // Survives being written.
                        us: (predicted.time_us * 1e4).round() / 1e4,
                        launch: place,
                    }),
                    Err(failure) => {
                        kernel
                            .notes
                            .push(format!("no predicted time: {}", failure.message));
                    }
                }
                if place == 0
                    && number == 0
                    && target_number == 0
                    && let Ok(times) = lines::lines(passes, 1, target, state, None)
                {
                    for time in times {
                        let mut costs = kernel.costs.iter_mut();
                        if let Some(cost) =
                            costs.find(|c| c.line == time.line && c.file == time.file)
                        {
                            cost.us = time.us;
                        }
                    }
                }
            }
        }
    }

    /// Adds what a checked run found.
    fn checked(
        &self,
        found: Result<(Vec<Found>, Option<String>), Stopped>,
        kernel: &mut Kernel,
    ) -> Result<(), Failure> {
        let (found, note) = match found {
            Ok(found) => found,
            Err(stopped) => return tell(stopped, kernel),
        };
        for found in found {
            let mut known = kernel.findings.iter();
            if !known.any(|k| k.place == found.place && k.kind == found.kind) {
                kernel.findings.push(found);
            }
        }
        kernel.notes.extend(note);
        Ok(())
    }

    /// The oracle of a kernel. Programs of a pull request are not run: those of the base are.
    fn oracle(
        &self,
        function: &str,
        kernel: &mut Kernel,
    ) -> Result<Option<oracle::Ready>, Failure> {
        let Some(oracle) = self.config.oracle.get(function) else {
            return Ok(None);
        };
        if !self.may_run(oracle) {
            kernel.notes.push(
                "not judged by its oracle: it is a program that the base does not have, and a pull request's programs are \
                 not run"
                    .to_owned(),
            );
            return Ok(None);
        }
        let ready = oracle::Ready::new(oracle, self.programs());
        Ok(Some(ready.map_err(|why| {
            Failure::input(format!("the oracle of {function}: {why}")).advice(
                "it is in [oracle] of assay.toml; the guide's chapter on the gate shows one",
            )
        })?))
    }

    /// What the kernel computes, whether that is right, and what it must not do.
    fn runs(
        &self,
        unit: &Unit<'_>,
        (library, checked): (&Library, Option<&Library>),
        function: &str,
        launches: &[(u32, Planned)],
        kernel: &mut Kernel,
    ) -> Result<(), Failure> {
        let constants = constants(unit.group)?;
        let subject = Subject {
            library,
            function,
            constants: &constants,
            limits: Limits::of(self.config),
        };
        let oracle = self.oracle(function, kernel)?;
        kernel.has_oracle = oracle.is_some();
        let checks = Checks {
            arithmetic: unit.group.check == Check::Arithmetic,
            ..Checks::default()
        };
        for (number, launch) in launches {
            let launch = &launch.run;
            for sizes in &launch.cases()? {
                if unit.group.right != Right::Off {
                    match subject.run(launch, sizes, unit.tree) {
                        Ok(ran) => {
                            if let Some(oracle) = &oracle {
                                kernel.wrong.extend(judged(oracle, &ran, function)?);
                            }
                            kernel.results.push(ran.result(*number, ""));
                        }
                        Err(stopped) => tell(stopped, kernel)?,
                    }
                }
                if let Some(library) = checked {
                    let subject = Subject { library, ..subject };
                    let found = subject.check(launch, sizes, checks, unit.tree);
                    self.checked(found, kernel)?;
                }
            }
            if unit.group.right != Right::Off && kernel.failures.is_empty() {
                let checked = checked.map(|library| (library, checks));
                let place = (unit.tree, *number);
                vary(subject, checked, launch, place, oracle.as_ref(), kernel)?;
            }
        }
        kernel.notes.dedup();
        kernel.failures.dedup();
        Ok(())
    }
}

/// What an oracle says of a run.
fn judged(oracle: &oracle::Ready, ran: &Ran, function: &str) -> Result<Vec<Found>, Failure> {
    oracle.judge(ran).map_err(|why| {
        Failure::input(format!("the oracle of {function}: {why}"))
            .advice("it is in [oracle] of assay.toml; the guide's chapter on the gate shows one")
    })
}

/// Runs a kernel with its launch varied.
fn vary(
    subject: Subject<'_>,
    checked: Option<(&Library, Checks)>,
    launch: &Written,
    place: (&Tree, u32),
    oracle: Option<&oracle::Ready>,
    kernel: &mut Kernel,
) -> Result<(), Failure> {
    // What cannot be made ready was told when the launch itself was run.
    let Ok(mut trials) = Trials::new(subject, checked, place) else {
        return Ok(());
    };
    let all = match trials.run(launch) {
        Ok(all) => all,
        Err(stopped) => return tell(stopped, kernel),
    };
    for tried in all {
        kernel.results.push(match tried {
            Tried::Stopped(result) => result,
            Tried::Ran(name, ran) => {
                let mut result = ran.result(place.1, name);
                if let Some(oracle) = oracle {
                    // An oracle need not be made for a variation either: it counts if it was right before.
                    result.wrong = match oracle.judge(&ran) {
                        Ok(wrong) => wrong.first().map_or(String::new(), |it| it.message.clone()),
                        Err(why) => why,
                    };
                }
                result
            }
        });
    }
    Ok(())
}

fn tell(stopped: Stopped, kernel: &mut Kernel) -> Result<(), Failure> {
    match stopped {
        Stopped::Command(failure) => return Err(Failure::new(Kind::Interrupted, failure.message)),
        Stopped::Unsupported(why) => kernel.not_run = Some(why),
        Stopped::Failed(failed) => {
            if !kernel.failures.contains(&failed) {
                kernel.failures.push(failed);
            }
        }
    }
    Ok(())
}

/// The function constants of a group.
pub(super) fn constants(group: &Group) -> Result<Vec<assay_device::Constant>, Failure> {
    let constants = group.constants.iter().map(|text| {
        text.parse().map_err(|error| {
            Failure::input(format!("constants: {text}: {error}"))
                .advice("write INDEX=TYPE:VALUE or NAME=TYPE:VALUE, as in 0=bool:true")
        })
    });
    constants.collect()
}

fn figures(profile: &Profile, spilled: u32) -> BTreeMap<String, f64> {
    let main = &profile.main;
    let hot = main.hot_loop().map(|hot| {
        let blocks = hot.blocks.iter();
        let ranges = blocks.filter_map(|id| main.blocks.get(id.index()));
        let ranges: Vec<_> = ranges.map(|block| block.start..block.end).collect();
        let entries = main.code.entries().iter();
        let inside = entries.filter(|entry| ranges.iter().any(|r| r.contains(&entry.offset)));
        inside.count() as f64
    });
    let mut figures = BTreeMap::from([
        (
            "registers".to_owned(),
            f64::from(profile.occupancy.half_registers),
        ),
        ("occupancy".to_owned(), f64::from(profile.occupancy.threads)),
        ("spills".to_owned(), f64::from(spilled)),
        ("instructions".to_owned(), f64::from(main.instructions)),
    ]);
    figures.extend(hot.map(|hot| ("loop_instructions".to_owned(), hot)));
    figures
}

/// Instructions by source line.
fn costs(program: &Program, profile: &Profile) -> Vec<LineCost> {
    let mut sums: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    for entry in profile.main.code.entries() {
        let after = program
            .lines
            .partition_point(|line| line.offset <= entry.offset);
        let line = after
            .checked_sub(1)
            .and_then(|index| program.lines.get(index));
        if let Some(line) = line.filter(|line| line.line > 0) {
            *sums.entry((line.file, line.line)).or_default() += 1;
        }
    }
    let costs = sums.into_iter().filter_map(|((file, line), instructions)| {
        Some(LineCost {
            file: program.files.get(file as usize)?.clone(),
            line,
            instructions,
            us: 0.0,
        })
    });
    costs.collect()
}

/// A short hash, for what people copy.
fn hash_of(bytes: &[u8]) -> String {
    let mut text = fingerprint::of_bytes(bytes);
    text.truncate(16);
    text
}

/// A hash of machine code with its constant program and tables, without lines and names.
fn hash_of_code(program: &Program) -> String {
    hash_of(
        format!(
            "{:?}",
            (
                &program.code,
                &program.constant_program,
                &program.constants,
                &program.data,
                &program.placeholders
            )
        )
        .as_bytes(),
    )
}
