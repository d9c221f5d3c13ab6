//! What others say: figures that nobody here has verified.

use crate::error::Error;
use crate::query::Filter;
use crate::record::keep_source;
use crate::sql::{self, Failed, Row, values};
use crate::store::Board;
use assay_bench::score::{self, KnownPeaks, Score, Work};
use assay_chip::Chip;
use serde::Serialize;

/// A figure from another program. It is shown apart from results and never ranked with them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Claim {
    /// The kernel.
    pub kernel: String,
    /// The device, in the other program's words: `apple-m2`.
    pub device: String,
    /// GPU cores, where they are told.
    pub gpu_cores: Option<u32>,
    /// What it was read from: `metalbench-session` or `metalbench-result`.
    pub format: String,
    /// When it was taken, in the other program's words.
    pub taken_at: Option<String>,
    /// The time; none where the file has no number.
    pub time_ms: Option<f64>,
    /// The reference's time divided by the kernel's, if it is a number.
    pub speedup: Option<f64>,
    /// The reference that the speed-up is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speedup_over: Option<String>,
    /// Billions of operations per second.
    pub gflops: Option<f64>,
    /// Billions of bytes per second.
    pub gbps: Option<f64>,
    /// Samples.
    pub iterations: Option<u64>,
    /// Whether the other program found it right.
    pub correct: Option<bool>,
    /// The largest error it found.
    pub max_error: Option<f64>,
    /// The source file.
    pub source_path: Option<String>,
    /// The hash of the source, where it came with the figure.
    pub source_hash: Option<String>,
    /// What speaks against it.
    pub doubts: Vec<String>,
    /// The source itself.
    #[serde(skip)]
    pub(crate) source: Option<String>,
    /// All the file says, but for the source.
    #[serde(skip)]
    pub(crate) body: String,
}

/// What an import did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Claims that are new on the board.
    pub new: usize,
    /// Claims that were there already.
    pub known: usize,
}

impl Claim {
    /// The chip, where it is one we know.
    pub fn chip(&self) -> Option<Chip> {
        let chip = Chip::named(&self.device).ok()?;
        match self.gpu_cores {
            Some(cores) => chip.with(&format!("cores={cores}")).ok(),
            None => Some(chip),
        }
    }

    /// What its chip can do at most, as far as that is known.
    pub fn peaks(&self) -> KnownPeaks {
        self.chip().as_ref().map(KnownPeaks::of).unwrap_or_default()
    }

    /// Operations per byte, as far as its rates tell.
    pub fn intensity(&self) -> Option<f64> {
        let intensity = self.gflops? / self.gbps?;
        intensity.is_finite().then_some(intensity)
    }

    /// What a speed-up in a file of this format is over. MetalBench has no other reference than MLX.
    fn reference(&self) -> Option<String> {
        let known = self.speedup.is_some() && self.format.starts_with("metalbench");
        known.then(|| "mlx".to_owned())
    }

    /// The speed-up with what it is over; empty where there is none.
    pub(crate) fn shown_speedup(&self) -> String {
        let over = match &self.speedup_over {
            Some(reference) => format!(" over {reference}"),
            None => String::new(),
        };
        let times = |speedup| format!("{}×{over}", crate::render::figure(speedup));
        self.speedup.map_or(String::new(), times)
    }

    /// Reasons to doubt the claim: values above physical limits, or wrong by its own words.
    fn find_doubts(&self) -> Vec<String> {
        let seconds = self.time_ms.unwrap_or(0.0) / 1e3;
        let (gflops, gbps) = (self.gflops.unwrap_or(0.0), self.gbps.unwrap_or(0.0));
        let work = Work {
            flops: (gflops * seconds * 1e9) as u64,
            bytes: (gbps * seconds * 1e9) as u64,
        };
        let score = (seconds > 0.0).then_some(Score {
            gflops,
            gbps,
            intensity: self.intensity(),
            stability: 1.0,
            speedup: self.speedup,
        });
        let found = score::impossible(work, seconds, score.as_ref(), self.peaks());
        let mut doubts: Vec<String> = found.iter().map(ToString::to_string).collect();
        if self.correct == Some(false) {
            doubts.push("the program that measured it calls it wrong".to_owned());
        }
        doubts
    }
}

impl Board {
    /// Takes claims in. All of them, or none; one that is there already stays one.
    pub fn import(&mut self, claims: &[Claim], now: i64) -> Result<Imported, Error> {
        self.write(|session| {
            let mut imported = Imported::default();
            for claim in claims {
                if let (Some(hash), Some(text)) = (&claim.source_hash, &claim.source) {
                    keep_source(session, hash, text)?;
                }
                let rows = session.execute(
                    "INSERT INTO claim (kernel, device, gpu_cores, format, taken_at, imported_at, time,
                        speedup, gflops, gbps, iterations, correct, max_error, source_path, source, body)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)
                     ON CONFLICT DO NOTHING",
                    &values![
                        &claim.kernel,
                        &claim.device,
                        claim.gpu_cores,
                        &claim.format,
                        claim.taken_at.as_ref(),
                        now,
                        claim.time_ms.map(|ms| ms / 1e3),
                        claim.speedup,
                        claim.gflops,
                        claim.gbps,
                        claim.iterations,
                        claim.correct,
                        claim.max_error,
                        claim.source_path.as_ref(),
                        claim.source_hash.as_ref(),
                        &claim.body,
                    ],
                )?;
                imported.new += usize::from(rows > 0);
                imported.known += usize::from(rows == 0);
            }
            Ok(imported)
        })
    }

    /// What others say, by kernel and device, the newest first.
    pub fn claims(&self, filter: &Filter) -> Result<Vec<Claim>, Error> {
        let query = "SELECT kernel, device, gpu_cores, format, taken_at, time, speedup, gflops, gbps, iterations, correct,
                            max_error, source_path, source
                     FROM claim ORDER BY kernel, device, format, id DESC";
        let mut claims = self.read(|session| sql::rows(session, query, &[], claim))?;
        claims.retain(|claim| {
            let chip = claim.chip();
            let chip = chip.as_ref().map(|chip| chip.name);
            filter.takes_kernel(&claim.kernel) && filter.takes_device(&claim.device, chip)
        });
        Ok(claims)
    }
}

fn claim(row: &Row) -> Result<Claim, Failed> {
    let time: Option<f64> = row.get("time")?;
    let iterations: Option<i64> = row.get("iterations")?;
    let mut claim = Claim {
        kernel: row.get("kernel")?,
        device: row.get("device")?,
        gpu_cores: row.get("gpu_cores")?,
        format: row.get("format")?,
        taken_at: row.get("taken_at")?,
        time_ms: time.map(|seconds| seconds * 1e3),
        speedup: row.get("speedup")?,
        gflops: row.get("gflops")?,
        gbps: row.get("gbps")?,
        iterations: iterations.and_then(|count| u64::try_from(count).ok()),
        correct: row.get("correct")?,
        max_error: row.get("max_error")?,
        source_path: row.get("source_path")?,
        source_hash: row.get("source")?,
        ..Claim::default()
    };
    claim.speedup_over = claim.reference();
    claim.doubts = claim.find_doubts();
    Ok(claim)
}
