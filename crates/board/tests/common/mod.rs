//! Runs for tests: real kernels and verdicts, made-up times.

#![allow(dead_code, reason = "each test file uses its part")]

use assay_bench::Dtype;
use assay_bench::gate::{Comparison, Tried, Ulps, Verdict};
use assay_bench::measure::{Cache, Examined, Measurement};
use assay_bench::random::Random;
use assay_bench::registry::{Case, Kernel, Registry, Resolved, hash};
use assay_bench::stats::{Stop, Summary};
use assay_board::{Outcome, Provenance, ROUNDS, Raced, Refused, Setting, Subject};
use assay_device::Origin;

/// A new board: a file, or, where `ASSAY_TEST_POSTGRES` names a server, a database of its own there. Every test that is
/// not about files is run with both.
pub(crate) struct Fresh {
    folder: tempfile::TempDir,
    address: Option<String>,
}

impl Fresh {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            address: database(),
        }
    }

    /// Where the board is.
    pub(crate) fn path(&self) -> std::path::PathBuf {
        match &self.address {
            Some(address) => address.into(),
            None => self.folder.path().join("deep/er/board.db"),
        }
    }

    pub(crate) fn is_file(&self) -> bool {
        self.address.is_none()
    }

    pub(crate) fn open(&self) -> assay_board::Board {
        assay_board::Board::open(self.path()).unwrap()
    }
}

/// An empty database on the server of `ASSAY_TEST_POSTGRES`, an address that ends at the server: `postgres://me@host:port`.
#[cfg(feature = "postgres")]
pub(crate) fn database() -> Option<String> {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let server = std::env::var("ASSAY_TEST_POSTGRES").ok()?;
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let name = format!(
        "board_{}_{}_{number}",
        std::process::id(),
        now.unwrap().as_nanos()
    );
    let mut client =
        postgres::Client::connect(&format!("{server}/postgres"), postgres::NoTls).unwrap();
    client
        .batch_execute(&format!("CREATE DATABASE {name}"))
        .unwrap();
    Some(format!("{server}/{name}"))
}

#[cfg(not(feature = "postgres"))]
pub(crate) fn database() -> Option<String> {
    None
}

/// A kernel of the registry.
pub(crate) fn kernel(name: &str) -> &'static Kernel {
    Registry::embedded().unwrap().kernel(name).unwrap()
}

/// A verdict that compared one output and found nothing.
pub(crate) fn right(dtype: Dtype) -> Verdict {
    Verdict {
        seed: 7,
        findings: Vec::new(),
        tried: vec![Tried {
            size_set: "quick".to_owned(),
            dtype,
            output: "y".to_owned(),
            comparison: Comparison {
                elements: 1024,
                compared: 1024,
                wrong: 0,
                unwritten: 0,
                not_finite: 0,
                max_absolute: 1e-7,
                max_relative: 1e-7,
                worst: None,
                ulps: Ulps { counts: [0; 16] },
            },
        }],
    }
}

/// Times around a median, with a floor and a tail.
pub(crate) fn times(seed: u64, milliseconds: f64) -> Vec<f64> {
    let mut random = Random::new(seed);
    let time = |_| milliseconds / 1e3 * (1.0 - 0.02 * (1.0 - random.unit()).ln());
    (0..40).map(time).collect()
}

pub(crate) fn measurement(origin: Origin, samples: Vec<f64>) -> Measurement {
    Measurement {
        origin,
        wall: samples.clone(),
        batch: 1,
        cache: Cache::Rotating,
        warm_up: 3,
        warm_up_stable: None,
        sets: 2,
        stop: Stop::Precise,
        summary: Summary::of(&samples).unwrap_or_else(|| Summary::of(&[1.0]).unwrap()),
        drift: None,
        modes: None,
        samples,
        steady_results: true,
        examined: Examined {
            compared: 1024,
            elements: 4096,
            ..Examined::default()
        },
        holder: None,
        rivals: Vec::new(),
    }
}

pub(crate) fn source(text: &str) -> Resolved {
    Resolved {
        path: "mine.metal".to_owned(),
        text: text.to_owned(),
        hash: hash(text),
    }
}

/// An M2 with eight cores.
pub(crate) fn mac() -> Setting {
    Setting {
        device: "Apple M2, 8 cores".to_owned(),
        chip: Some("m2".to_owned()),
        gpu_cores: Some(8),
        environment: [("system".to_owned(), "macOS 15.1".to_owned())].into(),
        taken_at: 1_700_000_000,
        mode: String::new(),
    }
}

pub(crate) fn pc() -> Setting {
    Setting {
        device: "CPU, 2 threads".to_owned(),
        taken_at: 1_700_000_100,
        ..Setting::default()
    }
}

/// A run of `name` in single precision at the reference sizes.
pub(crate) fn outcome(name: &str, text: &str, samples: Vec<f64>, setting: Setting) -> Outcome {
    attempt(name, text, samples, setting).unwrap()
}

pub(crate) fn attempt(
    name: &str,
    text: &str,
    samples: Vec<f64>,
    setting: Setting,
) -> Result<Outcome, Refused> {
    let kernel = kernel(name);
    let case = Case::new(kernel, "reference", Dtype::F32).unwrap();
    let subject = Subject {
        kernel,
        source: &source(text),
        case: &case,
        provenance: BUILT_IN,
    };
    let origin = match setting.chip {
        Some(_) => Origin::Measured,
        None => Origin::Host,
    };
    let measured = measurement(origin, samples);
    Outcome::new(subject, &right(Dtype::F32), &measured, setting)
}

/// As described by the program itself, examined with all there is.
pub(crate) const BUILT_IN: Provenance<'static> = Provenance {
    description: "built in",
    foreign: false,
    quick: false,
    seeded: false,
};

/// A run of a challenger, in turns with the holder as often as it takes: by how much it is faster.
pub(crate) fn challenge(
    name: &str,
    text: &str,
    holder: &str,
    seed: u64,
    faster: f64,
    setting: Setting,
) -> Outcome {
    let round = |seed: u64| {
        let held = times(seed, 2.0);
        let own = times(seed + 1000, 2.0);
        let own = own.iter().map(|time| time / faster).collect();
        (held, own)
    };
    outcome(name, text, times(seed, 2.0 / faster), setting).with_race(Raced {
        holder: source(holder).hash,
        rounds: (0..ROUNDS as u64)
            .map(|number| round(seed + 500 * number))
            .collect(),
        holder_is_sound: true,
    })
}
