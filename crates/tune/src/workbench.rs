//! The workbench of a kernel: recipes, printer, compiler, executor and time model behind [`Workbench`].
//!
//! | step | what is done |
//! |---|---|
//! | knobs | values go into the source's macros, the compiler's command line or function constants |
//! | recipes | steps are applied to the program one after the other, geometry follows as formulas |
//! | source | the program is printed as Metal and compiled again; what only has other knobs is the user's own text |
//! | time | machine code of that source, executed in part and replayed on the chip |
//! | proof | that source run by the executor beside the original: equal bytes for class E, the oracle or a tolerance for class R; and checked for what no kernel may do |
//!
//! Whoever describes the launch (flags, a comment, the registry) implements [`Launch`].

mod compare;
mod draw;
mod elsewhere;
mod proof;
mod sizes;
mod source_filter;
mod subject;
mod time;
mod variant;
mod written;

pub use draw::Cost;
pub use elsewhere::{Compared, FLOOR, guard, shapes};
pub use sizes::{Drawing, Plan, as_given, odd, quick, suitable};
pub use source_filter::{LONGEST_SOURCE, Unwanted, unwanted};
pub use subject::{Origin, Subject};
pub use time::instructions;

use crate::attempts::{self, Failure, Genome, Prediction, Stage, Verified};
use crate::fingerprint::Fingerprint;
use crate::session::{Level, Prepared, Proposal, Workbench, Written};
use assay_agx::Program;
use assay_launch::element::Element;
use assay_launch::template::Grid;
use assay_launch::{Inputs, Sizes};
use assay_predict::Target;
use assay_rewrite::recipe::{Geometry, Step, choices};
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex};
use variant::Variant;

/// The seed of contents as the launch writes them.
pub const AS_WRITTEN: u64 = 1;

/// How the kernel is dispatched, and what its buffers hold.
pub trait Launch: Sync {
    /// Grid, threadgroup and the whole numbers among arguments, as formulas.
    fn geometry(&self) -> &Geometry;

    /// The sizes that times are about.
    fn timed(&self) -> &Sizes;

    /// All sizes that the claim is about, the timed ones first.
    fn cases(&self) -> Vec<Sizes> {
        vec![self.timed().clone()]
    }

    /// How often a program has each of the cases: then the time is that of all its dispatches together, and not the geometric mean.
    fn counts(&self) -> &[f64] {
        &[]
    }

    /// Returns true if a candidate may be slower than the original at some of them.
    fn is_slower_allowed(&self) -> bool {
        false
    }

    /// The sizes that something is proven at.
    fn sizes(&self, level: Level) -> &[Sizes];

    /// Returns true if runs at these sizes are small enough to be checked.
    fn is_checked(&self, _sizes: &Sizes) -> bool {
        true
    }

    /// How sizes are drawn where a candidate may change its mind; not without this.
    fn drawing(&self) -> Option<&Drawing> {
        None
    }

    /// What is bound at certain sizes. [`AS_WRITTEN`] is the seed of what every other command sees; another means other
    /// random numbers.
    fn inputs(&self, sizes: &Sizes, seed: u64) -> Result<Inputs, String>;

    /// How far results may be from the original's where floats are added in another order, relative to the largest
    /// magnitude of their buffer.
    fn tolerance(&self, element: &Element) -> f64;

    /// Returns true if a person said how far results may be: bias and fewer bits within it are then asked for.
    fn is_tolerance_asked(&self) -> bool {
        false
    }

    /// The largest error by an oracle, in units of what is allowed, of the contents of all buffers after a run; none
    /// without an oracle.
    fn judged(
        &self,
        _sizes: &Sizes,
        _seed: u64,
        _buffers: &[(u32, Vec<u8>)],
    ) -> Option<Result<f64, String>> {
        None
    }

    /// Examines a candidate by more than its results beside the original's: a registry's whole gate. `Ok(false)` if there
    /// is nothing more.
    fn examined(&self, _candidate: &Examined<'_>, _level: Level) -> Result<bool, Failure> {
        Ok(false)
    }
}

/// A candidate as [`Launch::examined`] sees it.
#[derive(Clone, Copy, Debug)]
pub struct Examined<'c> {
    /// What runs.
    pub library: &'c assay_front::Library,
    /// Its source.
    pub source: &'c str,
    /// How it is dispatched.
    pub geometry: &'c Geometry,
    /// Numbers of knobs that its formulas use.
    pub knobs: &'c Sizes,
    /// A model wrote the source, or part of it.
    pub is_written: bool,
}

/// What is needed to predict a candidate.
#[derive(Debug)]
pub struct Made {
    geometry: Geometry,
    cases: Vec<MadeAt>,
}

/// A candidate at certain sizes.
#[derive(Debug)]
struct MadeAt {
    program: Program,
    /// The sizes that the launch names.
    named: Sizes,
    /// The same with the numbers of knobs.
    sizes: Sizes,
}

/// The workbench of one kernel.
pub struct Bench<'a, L: Launch> {
    subject: Subject<'a>,
    launch: &'a L,
    /// The chips that times are about, the principal one first.
    targets: Vec<&'a Target>,
    /// Whatever decides a prediction or a proof besides program and geometry.
    context: String,
    applied: Mutex<FxHashMap<Genome, Result<Arc<Variant>, Failure>>>,
    original: proof::Original,
    written: Mutex<FxHashMap<String, Arc<Written>>>,
}

impl<'a, L: Launch> Bench<'a, L> {
    /// The workbench of a subject; `context` names what the launch says about contents and what results are compared with,
    /// so that predictions and proofs are found again only where they hold.
    pub fn new(
        subject: Subject<'a>,
        launch: &'a L,
        targets: impl IntoIterator<Item = &'a Target>,
        context: &str,
    ) -> Bench<'a, L> {
        Bench {
            subject,
            launch,
            targets: targets.into_iter().collect(),
            context: format!(
                "{} {} {context} {:?} {:?}",
                env!("CARGO_PKG_VERSION"),
                assay_launch::contents::VERSION,
                launch.cases(),
                launch.counts()
            ),
            applied: Mutex::default(),
            original: proof::Original::default(),
            written: Mutex::default(),
        }
    }

    /// The machine code of the original at the launch's sizes.
    pub fn original_code(&self) -> Result<Program, Failure> {
        let genome = Genome::default();
        let sizes = self.sizes_of(self.launch.timed(), &genome);
        let shape = self.launch.geometry().at(&sizes);
        let (_, threadgroup) =
            shape.map_err(|error| Failure::new(Stage::Limits, error.to_string()))?;
        self.subject.code(&genome, None, threadgroup)
    }

    /// The sizes that times are about, in words.
    pub fn timed_in_words(&self) -> String {
        assay_launch::describe(self.launch.timed())
    }

    /// The kernel.
    pub fn subject(&self) -> &Subject<'a> {
        &self.subject
    }

    /// Refuses values of knobs that the kernel has not: whoever proposes may have made them up.
    fn known_knobs(&self, genome: &Genome) -> Result<(), Failure> {
        let declared = match written::is_written(genome) {
            true => self.written_knobs(genome)?,
            false => self.subject.knobs.clone(),
        };
        for (name, value) in &genome.knobs {
            let why = match declared.knobs.iter().find(|knob| knob.name == *name) {
                None => format!("there is no knob {name}"),
                Some(knob) if knob.values.iter().any(|known| known.text == *value) => continue,
                Some(_) => format!("{value} is no value of the knob {name}"),
            };
            return Err(Failure::new(Stage::Apply, why));
        }
        Ok(())
    }

    /// The program of a genome with its geometry.
    fn applied(&self, genome: &Genome) -> Result<Arc<Variant>, Failure> {
        let known = self.applied.lock().ok();
        if let Some(found) = known.and_then(|known| known.get(genome).cloned()) {
            return found;
        }
        let made = self.apply(genome).map(Arc::new);
        if let Ok(mut known) = self.applied.lock() {
            known.insert(genome.clone(), made.clone());
        }
        made
    }

    fn apply(&self, genome: &Genome) -> Result<Variant, Failure> {
        let Some((last, before)) = genome.steps.split_last() else {
            let geometry = self.launch.geometry().clone();
            let applied = self.subject.program(&genome.knobs, geometry)?;
            return Ok(Variant::original(applied, self.subject.text(&genome.knobs)));
        };
        if written::is_step(last) {
            return self.apply_written(genome).map(Variant::from);
        }
        let parent = Genome {
            knobs: genome.knobs.clone(),
            steps: before.to_vec(),
        };
        let parent = self.applied(&parent)?;
        let fail = |why: String| Failure::new(Stage::Apply, format!("{last}: {why}"));
        let step: Step = last.parse().map_err(|error| fail(format!("{error}")))?;
        self.next(genome, &parent, &step)
    }

    /// The source of a genome.
    fn source(&self, genome: &Genome, applied: &Variant) -> Result<Option<String>, Failure> {
        if genome.steps.is_empty() {
            return Ok(self.subject.text(&genome.knobs));
        }
        if written::is_plain(genome) {
            return self.written_text(genome).map(Some);
        }
        if let Some(text) = applied.text() {
            return Ok(Some(text.clone()));
        }
        let printed = applied.candidate.print();
        let printed =
            printed.map_err(|error| Failure::new(Stage::Print, format!("not printed: {error}")))?;
        Ok(Some(printed))
    }

    /// A candidate at certain sizes.
    fn made(&self, genome: &Genome, cases: &[Sizes]) -> Result<Made, Failure> {
        let applied = self.applied(genome)?;
        let source = self.source(genome, &applied)?;
        self.made_of(
            genome,
            source.as_deref(),
            &applied.candidate.geometry,
            cases,
        )
    }

    fn made_of(
        &self,
        genome: &Genome,
        source: Option<&str>,
        geometry: &Geometry,
        cases: &[Sizes],
    ) -> Result<Made, Failure> {
        let mut shapes = Vec::new();
        for named in cases {
            let sizes = self.sizes_of(named, genome);
            let shape = geometry.at(&sizes);
            let (_, threadgroup) =
                shape.map_err(|error| Failure::new(Stage::Limits, error.to_string()))?;
            shapes.push((named.clone(), sizes, threadgroup));
        }
        let threadgroups: Vec<[u32; 3]> = shapes.iter().map(|shape| shape.2).collect();
        let programs = self.subject.codes(genome, source, &threadgroups)?;
        let cases = shapes.into_iter().zip(programs);
        let cases = cases.map(|((named, sizes, _), program)| MadeAt {
            program,
            named,
            sizes,
        });
        Ok(Made {
            geometry: geometry.clone(),
            cases: cases.collect(),
        })
    }

    /// Makes sure that a text, compiled as the user's own, has the machine code of a candidate.
    pub fn confirm(&self, text: &str, genome: &Genome) -> Result<(), Failure> {
        let made = self.made(genome, &self.launch.cases())?;
        for case in &made.cases {
            let shape = made.geometry.at(&case.sizes);
            let (_, threadgroup) =
                shape.map_err(|error| Failure::new(Stage::Limits, error.to_string()))?;
            let code = self
                .subject
                .code_of_text(text, &genome.knobs, threadgroup)?;
            if time::identity(&code) != time::identity(&case.program) {
                let why = "the kernel becomes another program among the others of its file";
                return Err(Failure::new(Stage::Compile, why));
            }
        }
        Ok(())
    }

    /// Sizes with the numbers of knobs.
    fn sizes_of(&self, sizes: &Sizes, genome: &Genome) -> Sizes {
        let mut all = sizes.clone();
        all.extend(self.subject.numbers(&genome.knobs));
        all.extend(self.written_numbers(genome));
        all
    }
}

impl<L: Launch> Workbench for Bench<'_, L> {
    type Made = Made;

    fn prepare(&self, genome: &Genome) -> Result<Prepared<Made>, Failure> {
        self.known_knobs(genome)?;
        let applied = self.applied(genome)?;
        let source = self.source(genome, &applied)?;
        let geometry = &applied.candidate.geometry;
        let made = self.made_of(genome, source.as_deref(), geometry, &self.launch.cases())?;
        let Some(first) = made.cases.first() else {
            return Err(Failure::new(Stage::Limits, "the launch has no sizes"));
        };
        let shape = geometry
            .at(&first.sizes)
            .map_err(|error| Failure::new(Stage::Limits, error.to_string()))?;
        let numbers: Vec<String> = added(geometry)
            .map(|(index, formula)| format!("{index}={formula}"))
            .collect();
        let program = Fingerprint::default()
            .with(time::identity(&first.program).as_bytes())
            .with(format!("{shape:?} {:?} {numbers:?}", geometry.threadgroup_memory).as_bytes())
            .with(self.context.as_bytes());
        Ok(Prepared {
            program: program.text(),
            class: applied.class.letter().to_string(),
            geometry: recorded(geometry),
            source: source.unwrap_or_default(),
            made,
        })
    }

    fn predict(&self, prepared: &Prepared<Made>) -> Result<Prediction, Failure> {
        time::predict(&prepared.made, self.launch, &self.targets)
    }

    fn choices(&self, genome: &Genome) -> Vec<Proposal> {
        let Ok(applied) = self.applied(genome) else {
            return Vec::new();
        };
        let mut proposals = Vec::new();
        for choice in choices(&applied.candidate) {
            let steps = choice.steps.unwrap_or_default();
            proposals.extend(steps.iter().map(|step| Proposal {
                recipe: choice.recipe.id.to_owned(),
                step: step.to_string(),
            }));
        }
        proposals
    }

    fn offer(&self, written: &Written) -> Option<String> {
        let step = written.step();
        let mut known = self.written.lock().ok()?;
        known.insert(step.clone(), Arc::new(written.clone()));
        Some(step)
    }

    fn verify(&self, genome: &Genome, level: Level) -> Result<Verified, Failure> {
        if level == Level::Full {
            self.above_floor(genome)?;
        }
        proof::verify(self, genome, level)
    }

    fn doubt(&self, genome: &Genome) -> Option<f64> {
        self.doubt_of(genome)
    }
}

/// Numbers that recipes added to the arguments.
fn added(geometry: &Geometry) -> impl Iterator<Item = (u32, &str)> {
    let added = geometry.numbers.iter().filter(|number| number.added);
    added.map(|number| (number.buffer, number.value.text()))
}

/// A geometry as attempts record it.
pub fn recorded(geometry: &Geometry) -> attempts::Geometry {
    let texts = |formulas: &[assay_launch::Formula]| -> Vec<String> {
        formulas
            .iter()
            .map(|formula| formula.text().to_owned())
            .collect()
    };
    let (grid, groups) = match &geometry.grid {
        Grid::Threads(threads) => (texts(threads), Vec::new()),
        Grid::Groups(groups) => (Vec::new(), texts(groups)),
    };
    attempts::Geometry {
        grid,
        groups,
        threadgroup: texts(&geometry.threadgroup),
        threadgroup_memory: (0..).zip(texts(&geometry.threadgroup_memory)).collect(),
        numbers: added(geometry)
            .map(|(index, text)| (index, text.to_owned()))
            .collect(),
    }
}
