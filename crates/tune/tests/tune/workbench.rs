//! A workbench whose programs are texts and whose times follow from them.

use assay_tune::attempts::{
    Database, Failure, Genome, Geometry, NewSession, Prediction, SessionId, Stage, Verified,
};
use assay_tune::fingerprint;
use assay_tune::session::{
    Found, Level, Options, Prepared, Proposal, Surroundings, Workbench, run,
};
use assay_tune::space::Space;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Recipes with what each brings at best.
const RECIPES: [(&str, f64); 4] = [
    ("coarsen", 1.8),
    ("stage", 1.4),
    ("threadgroup", 1.1),
    ("wrong", 4.0),
];

#[derive(Debug, Default)]
pub(crate) struct Fake {
    /// How long a prediction takes.
    pub(crate) pause: Duration,
    /// Predictions made.
    pub(crate) predicted: AtomicUsize,
    /// Nothing brings anything.
    pub(crate) hopeless: bool,
}

impl Workbench for Fake {
    type Made = f64;

    fn prepare(&self, genome: &Genome) -> Result<Prepared<f64>, Failure> {
        let mut time = 1000.0;
        for (_, value) in &genome.knobs {
            let value: f64 = value
                .parse()
                .map_err(|_| Failure::new(Stage::Compile, "no number"))?;
            time *= 1.0 + 0.05 * (value - 8.0).abs();
        }
        for step in &genome.steps {
            let (recipe, factor) = step.split_once(":x=").unwrap_or((step, "1"));
            let factor: f64 = factor.parse().unwrap_or(1.0);
            let (_, best) = RECIPES
                .iter()
                .find(|(name, _)| *name == recipe)
                .unwrap_or(&("", 1.0));
            if factor > 6.0 {
                return Err(Failure::new(Stage::Limits, "more registers than there are"));
            }
            let gain = 1.0 + (best - 1.0) * (1.0 - (factor - 4.0).abs() / 4.0);
            time /= if self.hopeless { 1.0 } else { gain };
        }
        // A step that was applied twice changes nothing.
        let mut steps = genome.steps.clone();
        steps.dedup();
        Ok(Prepared {
            program: fingerprint::of(&format!("{:?} {steps:?} {}", genome.knobs, self.hopeless)),
            class: "E".to_owned(),
            geometry: Geometry::default(),
            source: format!("// {genome}\n"),
            made: time,
        })
    }

    fn predict(&self, prepared: &Prepared<f64>) -> Result<Prediction, Failure> {
        self.predicted.fetch_add(1, Ordering::SeqCst);
        std::thread::sleep(self.pause);
        Ok(Prediction {
            time_us: prepared.made,
            low_us: prepared.made / 1.3,
            high_us: prepared.made * 1.3,
            limited_by: "memory latency".to_owned(),
            class: "compute".to_owned(),
            terms: vec![("memory latency".to_owned(), prepared.made)],
        })
    }

    fn choices(&self, genome: &Genome) -> Vec<Proposal> {
        let used = |recipe: &str| {
            genome
                .steps
                .iter()
                .filter(|step| step.starts_with(recipe))
                .count()
        };
        let recipes = RECIPES.iter().filter(|(recipe, _)| used(recipe) < 1);
        let steps = recipes.flat_map(|(recipe, _)| {
            [2, 3, 4, 8].map(|factor| Proposal {
                recipe: (*recipe).to_owned(),
                step: format!("{recipe}:x={factor}"),
            })
        });
        steps.collect()
    }

    fn verify(&self, genome: &Genome, _level: Level) -> Result<Verified, Failure> {
        match genome.steps.iter().any(|step| step.starts_with("wrong")) {
            true => Err(Failure::new(
                Stage::Results,
                "buffer 0 differs at element 3",
            )),
            false => Ok(Verified {
                identical: true,
                comparisons: 3,
                ..Verified::default()
            }),
        }
    }
}

pub(crate) fn options(seed: u64, evaluations: usize) -> Options {
    Options {
        seed,
        evaluations,
        error: 0.05,
        tie: 1.15,
        recipes: true,
        chip: "m2".to_owned(),
        model: "test 1".to_owned(),
        now: 0,
    }
}

pub(crate) fn start(database: &mut Database, seed: u64) -> SessionId {
    let key = format!("key {seed}");
    database
        .start(&NewSession {
            key: &key,
            kernel: "k",
            chip: "m2",
            seed,
            command: "assay tune k.metal",
            now: 0,
        })
        .expect("a session")
}

pub(crate) fn search(
    fake: &Fake,
    database: &mut Database,
    session: SessionId,
    space: Option<&Space>,
    options: &Options,
    stop: &dyn Fn() -> bool,
) -> Found {
    let surroundings = Surroundings {
        database,
        session,
        stop,
        interrupted: &|| false,
        progress: &|_| {},
    };
    run(fake, space, options, surroundings).expect("a session that ends")
}
