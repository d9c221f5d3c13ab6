//! `assay board verify`: runs what holds a record again, and compares.

use crate::engine::Engine;
use crate::saver::Extras;
use crate::work::usual_plan;
use crate::{Failure, Kind, Saver, World, board_error, fresh_seed, turn};
use assay_bench::gate::{Finding, Verdict, What};
use assay_bench::measure::{self, Measurement};
use assay_bench::registry::{Case, Kernel, Registry, Resolved};
use assay_bench::runner::Loaded;
use assay_board::verify::{Answer, Judgement, Spread, judge};
use assay_board::{Board, Entry, Filter, Provenance, Subject};
use assay_device::Origin;
use assay_report::blocks::View;
use assay_report::number;
use assay_report::style::Role;
use assay_report::table::{Cell, Column, Table};
use serde::Serialize;

/// What is run again, and how.
#[derive(Debug)]
pub struct Question<'a> {
    /// Kernels, as they were named.
    pub names: &'a [String],
    /// Which of their results.
    pub filter: Filter,
    /// One trial at small sizes and few samples.
    pub quick: bool,
    /// How often each is timed.
    pub rounds: u8,
    /// Where random inputs come from.
    pub seed: Option<u64>,
}

/// What came of running records again.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Report {
    /// Where all random inputs came from; absent where each worker chose its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// One per source; results of other devices were passed over.
    pub results: Vec<Again>,
}

/// One source, run again.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Again {
    pub kernel: String,
    pub dtype: String,
    pub size_set: String,
    pub device: String,
    /// Whose clock: `measured` is a GPU's, `host` a CPU's.
    pub origin: &'static str,
    pub source_hash: String,
    /// Whether it is still right.
    pub right: bool,
    /// What is wrong.
    pub findings: Vec<String>,
    /// What is missing, or has changed since the board was told.
    pub notes: Vec<String>,
    /// How the times compare, if it is right.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compared: Option<Compared>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Compared {
    /// `tie`; `within-spread`: the middle runs differ, but runs of this source differ as much among themselves;
    /// `faster`; `slower`.
    pub answer: &'static str,
    /// Runs that were on the board.
    pub board: Runs,
    /// Runs now.
    pub now: Runs,
    /// The board's middle median divided by the one now: above 1 is faster now.
    pub ratio: f64,
    /// Ends of the interval of the ratio at 95 %.
    pub ratio_low: f64,
    pub ratio_high: f64,
    /// Every sample of each new run.
    pub samples_ms: Vec<Vec<f64>>,
}

/// Medians of runs of a source.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Runs {
    pub runs: usize,
    pub fastest_ms: f64,
    pub middle_ms: f64,
    pub slowest_ms: f64,
}

/// Runs records of this machine again. New runs are saved.
pub fn run(
    asked: &Question<'_>,
    board: &Board,
    saver: &mut Saver,
    world: &World<'_>,
) -> Result<Report, Failure> {
    let found = entries(asked, board, world)?;
    let seed = asked.seed.unwrap_or_else(fresh_seed);
    let mut results = Vec::new();
    for (origin, entries) in found {
        let mut work = Work {
            quick: asked.quick,
            rounds: asked.rounds,
            seed,
            origin,
            board,
            engine: Engine::on(origin, asked.quick, None, world)?,
            saver,
            world,
        };
        for entry in &entries {
            let _turn = turn::wait(origin, &entry.kernel, world)?;
            results.push(work.again(entry)?);
        }
    }
    Ok(Report {
        seed: Some(seed),
        results,
    })
}

/// What can be run again here, by clock.
fn entries(
    asked: &Question<'_>,
    board: &Board,
    world: &World<'_>,
) -> Result<Vec<(Origin, Vec<Entry>)>, Failure> {
    let found = board.entries(&asked.filter).map_err(board_error)?;
    let names = asked.names.join(", ");
    let Some(first) = found.first() else {
        let message = format!("nothing verified of {names} is on the board");
        return Err(Failure::input(message).advice("assay bench NAME puts it there"));
    };
    let elsewhere = format!(
        "{names}: the results are of {}, which is not this machine",
        first.device.heading()
    );
    let mut here = Vec::new();
    for origin in [Origin::Measured, Origin::Host] {
        let device = (world.setting)(origin, None).device;
        let of_here = |entry: &&Entry| {
            entry.device.origin == origin.name()
                && entry.device.name == device
                && !entry.mode.split(' ').any(|word| word == "cold")
        };
        let entries: Vec<Entry> = found.iter().filter(of_here).cloned().collect();
        if !entries.is_empty() {
            here.push((origin, entries));
        }
    }
    match here.is_empty() {
        true => {
            Err(Failure::new(Kind::Missing, elsewhere)
                .advice("run assay board verify on that machine"))
        }
        false => Ok(here),
    }
}

struct Work<'a> {
    quick: bool,
    rounds: u8,
    seed: u64,
    origin: Origin,
    board: &'a Board,
    engine: Engine,
    saver: &'a mut Saver,
    world: &'a World<'a>,
}

impl Work<'_> {
    /// Runs a source again.
    fn again(&mut self, entry: &Entry) -> Result<Again, Failure> {
        let input = |message: String| Failure::input(format!("{}: {message}", entry.title()));
        let described = self.described(entry)?;
        let registry = &described.registry;
        let kernel = registry.kernel(&entry.kernel);
        let kernel = kernel.map_err(|error| input(error.to_string()))?;
        let dtype = kernel.dtypes.iter().find(|it| it.name() == entry.dtype);
        let dtype = dtype.ok_or_else(|| input(format!("there is no {} of it", entry.dtype)))?;
        let case = Case::new(kernel, &entry.size_set, *dtype);
        let case = case.map_err(|error| input(error.to_string()))?;
        if case.sizes != entry.sizes {
            return Err(input(format!(
                "the {} sizes have changed since: the times are of different work",
                entry.size_set
            )));
        }
        let source = Resolved {
            path: entry.run.source_path.clone(),
            text: entry.source.clone().unwrap_or_default(),
            hash: entry.source_hash.clone(),
        };
        let (verdict, rounds) = self.measure(kernel, &source, &case)?;
        let of = |word: &str| entry.mode.split(' ').any(|it| it == word);
        let earlier = self.board.samples(entry).map_err(board_error)?;
        let subject = Subject {
            kernel,
            source: &source,
            case: &case,
            provenance: Provenance {
                description: &described.text,
                foreign: of("foreign"),
                quick: of("quick") || self.quick,
                seeded: of("seeded"),
            },
        };
        for measured in &rounds {
            let setting = (self.world.setting)(measured.origin, self.engine.compiler.as_ref());
            let extras = Extras::default();
            self.saver
                .save(subject, &verdict, measured, setting, extras)?;
        }
        let new: Vec<Vec<f64>> = rounds.into_iter().map(|round| round.samples).collect();
        let judged = judge(&earlier, &new).map(|judged| Compared::new(&judged, &new));
        Ok(Again {
            notes: described.notes,
            ..Again::new(entry, self.origin, &verdict, judged)
        })
    }

    /// What the kernel was described as when the run was taken; what is missing of that is said.
    fn described(&self, entry: &Entry) -> Result<Described, Failure> {
        let input = |message: String| Failure::input(format!("{}: {message}", entry.title()));
        let built_in = Registry::embedded().map_err(|error| input(error.to_string()))?;
        let own = built_in.kernel(&entry.kernel).ok();
        let now = own.map(|kernel| built_in.provenance(kernel));
        let kept = match &entry.description_hash {
            Some(hash) => Some(self.board.source(hash).map_err(board_error)?),
            None => None,
        };
        let Some(text) = kept else {
            let note =
                "the board does not have the description it was examined by: today's is used";
            return Ok(Described {
                registry: built_in.clone(),
                text: now.unwrap_or_default(),
                notes: vec![note.to_owned()],
            });
        };
        if now.as_ref() == Some(&text) {
            return Ok(Described {
                registry: built_in.clone(),
                text,
                notes: Vec::new(),
            });
        }
        let foreign = entry.mode.split(' ').any(|word| word == "foreign");
        let note = match foreign {
            true => {
                "described by somebody's folder of kernels, with tolerances and operations of its own"
            }
            false => "the built-in description has changed since: the one on the board is used",
        };
        let folder = format!("{}/{}", entry.set, entry.kernel);
        let source = entry.source.clone().unwrap_or_default();
        let files = [
            (format!("{folder}/kernel.toml"), text.as_str()),
            (format!("{folder}/{}.metal", entry.kernel), source.as_str()),
        ];
        let files = files.iter().map(|(path, text)| (path.as_str(), *text));
        let registry = Registry::from_files(files).map_err(|error| {
            input(format!(
                "the description on the board cannot be read any more: {error}"
            ))
        })?;
        Ok(Described {
            registry,
            text,
            notes: vec![note.to_owned()],
        })
    }

    /// Examines a source, and times it in rounds if it is right.
    fn measure(
        &mut self,
        kernel: &Kernel,
        source: &Resolved,
        case: &Case,
    ) -> Result<(Verdict, Vec<Measurement>), Failure> {
        let input = |error: &dyn std::fmt::Display| {
            Failure::input(format!("{} {}: {error}", kernel.name, case.dtype))
        };
        let device = &mut *self.engine.device;
        let loaded = Loaded::compile(device, &source.path, &source.text);
        let mut loaded = loaded.map_err(|error| match left_out(&source.text) {
            Some(include) => input(&format!(
                "it includes {include}, which was not there when the source was kept"
            )),
            None => input(&error),
        })?;
        let engine = &mut self.engine;
        let verdict = engine.examine(&mut loaded, kernel, source, case, self.seed);
        let verdict = verdict.map_err(|error| input(&error))?;
        if !verdict.is_right() {
            return Ok((verdict, Vec::new()));
        }
        let mut rounds = Vec::new();
        for round in 0..self.rounds {
            let plan = usual_plan(self.quick, self.seed.wrapping_add(u64::from(round)));
            let device = &mut *self.engine.device;
            let measured = measure::measure(device, &mut loaded, case, &plan, &mut []);
            rounds.extend(measured.map_err(|error| input(&error))?);
        }
        // Results of timed runs count as much as those before.
        let mut verdict = verdict;
        for measured in &rounds {
            if measured.examined.wrong.is_some() || !measured.steady_results {
                verdict.findings.push(Finding {
                    size_set: case.size_set.clone(),
                    dtype: case.dtype,
                    seed: self.seed,
                    what: What::Timed(measured.examined.wrong.clone()),
                });
            }
        }
        Ok((verdict, rounds))
    }
}

/// A kernel's description, and what is to be said about it.
struct Described {
    registry: Registry,
    text: String,
    notes: Vec<String>,
}

/// The first include of a file that the text of a source still has: everything that was found is in the text.
fn left_out(text: &str) -> Option<&str> {
    let mut includes = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("#include"));
    includes.find(|rest| rest.trim().starts_with('"'))
}

impl Runs {
    fn new(spread: &Spread) -> Self {
        Self {
            runs: spread.runs,
            fastest_ms: spread.fastest * 1e3,
            middle_ms: spread.middle * 1e3,
            slowest_ms: spread.slowest * 1e3,
        }
    }
}

impl Compared {
    /// New samples beside those of the board.
    pub fn new(judged: &Judgement, new: &[Vec<f64>]) -> Self {
        let ratio = judged.comparison.ratio;
        let ms = |run: &Vec<f64>| run.iter().map(|seconds| seconds * 1e3).collect();
        Self {
            answer: judged.answer.name(),
            board: Runs::new(&judged.earlier),
            now: Runs::new(&judged.new),
            ratio: ratio.value,
            ratio_low: ratio.low,
            ratio_high: ratio.high,
            samples_ms: new.iter().map(ms).collect(),
        }
    }
}

impl Again {
    fn new(entry: &Entry, origin: Origin, verdict: &Verdict, compared: Option<Compared>) -> Self {
        Self {
            kernel: entry.kernel.clone(),
            dtype: entry.dtype.clone(),
            size_set: entry.size_set.clone(),
            device: entry.device.name.clone(),
            origin: origin.name(),
            source_hash: entry.source_hash.clone(),
            right: verdict.is_right(),
            findings: verdict.findings.iter().map(Finding::to_string).collect(),
            notes: Vec::new(),
            compared,
        }
    }

    /// Returns true if it is right and not slower.
    pub fn is_fine(&self) -> bool {
        let slower = |compared: &Compared| compared.answer == Answer::Slower.name();
        self.right && !self.compared.as_ref().is_some_and(slower)
    }

    fn cells(&self) -> [Cell; 6] {
        let time = |ms: f64| number::nanoseconds(ms * 1e6);
        let name = format!("{} {}", self.kernel, self.dtype);
        let (board, now, ratio, answer) = match &self.compared {
            Some(compared) => (
                time(compared.board.middle_ms),
                time(compared.now.middle_ms),
                format!(
                    "{:.2} ({:.2} to {:.2})",
                    compared.ratio, compared.ratio_low, compared.ratio_high
                ),
                compared.answer,
            ),
            None if self.right => (String::new(), String::new(), String::new(), "no time"),
            None => (String::new(), String::new(), String::new(), "WRONG"),
        };
        let role = match (self.is_fine(), answer) {
            (false, _) => Role::Bad,
            (true, "faster") => Role::Good,
            _ => Role::Figure,
        };
        [
            name.into(),
            self.size_set.clone().into(),
            board.into(),
            now.into(),
            ratio.into(),
            Cell::new(answer.replace('-', " "), role),
        ]
    }
}

impl Report {
    /// For people.
    pub fn text(&self, view: &View, saved: Option<String>) -> String {
        let mut table = Table::new([
            Column::left("kernel").shrink(),
            Column::left("sizes").shrink(),
            Column::right("board"),
            Column::right("now"),
            Column::right("times as fast (95 %)"),
            Column::left("answer"),
        ])
        .painter(view.painter);
        for result in &self.results {
            table.row(result.cells());
        }
        let mut text = table.render(view.width);
        for result in &self.results {
            for finding in &result.findings {
                text += &format!("\n{} {}: {finding}\n", result.kernel, result.dtype);
            }
            for note in &result.notes {
                text += &format!("\n{} {}: {note}\n", result.kernel, result.dtype);
            }
        }
        let mut clocks: Vec<String> = Vec::new();
        for result in &self.results {
            let clock = format!("{} times of {}", result.origin, result.device);
            if !clocks.contains(&clock) {
                clocks.push(clock);
            }
        }
        let seed = self.seed.map_or("seeds of the workers".to_owned(), |seed| {
            format!("seed {seed}")
        });
        let clocks = format!("\n{seed}; {}", clocks.join(", "));
        text += &assay_report::wrap::wrap(&clocks, view.width, 0).join("\n      ");
        text.push('\n');
        if let Some(saved) = saved {
            text += &assay_report::wrap::wrap(&saved, view.width, 0).join("\n      ");
            text.push('\n');
        }
        text
    }
}
