//! Host time of kernels: `cargo bench -p assay-exec`.
//!
//! Kernels are compiled from `.metal` files, so a clang is needed; `ASSAY_CLANG` names it. Times are the least
//! of many runs, each on fresh buffers: other work on the machine only adds. (The scheduler's own account of CPU time
//! is late by up to a tick, which is as long as a run.)

#![allow(clippy::print_stdout, reason = "a program")]

use assay_exec::{Bindings, Buffer, Grid, Limits, Options, Program, Sample};
use assay_front::{Clang, Library, Source, SourceOptions};
use std::path::Path;
use std::time::Instant;

/// Runs of each measurement.
const RUNS: usize = 25;

type Failure = Box<dyn std::error::Error>;

/// One kernel with its data.
struct Case {
    name: &'static str,
    program: Program,
    grid: Grid,
    buffers: Vec<Buffer>,
    /// What is counted, how much of it there is, and the name of the rate.
    work: f64,
    unit: &'static str,
}

fn compile(folder: &str, file: &str, kernel: &str) -> Result<Program, Failure> {
    let clang = std::env::var("ASSAY_CLANG").unwrap_or_else(|_| "clang-19".to_owned());
    let mut compiler = assay_msl::Compiler::new(clang);
    compiler.identity = compiler.version().unwrap_or_default();
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join(folder)
        .join(format!("{file}.metal"));
    let text = std::fs::read(&path)?;
    let cache = std::env::temp_dir().join("assay-bench-headers");
    let source = Source {
        path: &path,
        text: &text,
    };
    let clang = Clang::new(compiler, cache);
    let library = Library::compile(source, &clang, &SourceOptions::default())?;
    let module = library.kernel(kernel)?.program(&[])?;
    Ok(Program::compile(&module, kernel, &Options::default())?)
}

impl Case {
    fn bindings(&self) -> Bindings {
        let mut bindings = Bindings::new();
        for (index, buffer) in (0..).zip(&self.buffers) {
            bindings.set(index, buffer.clone());
        }
        bindings
    }

    /// Least seconds of some runs of something: other work on the machine only adds.
    fn measure(&self, pool: &rayon::ThreadPool, run: impl Fn(&Self, &mut Bindings) + Sync) -> f64 {
        let mut least = f64::INFINITY;
        for _ in 0..RUNS {
            let mut bindings = self.bindings();
            let start = Instant::now();
            pool.install(|| run(self, &mut bindings));
            least = least.min(start.elapsed().as_secs_f64());
        }
        least
    }

    fn plain(&self, bindings: &mut Bindings) {
        self.program
            .run(&self.grid, bindings, &Limits::default())
            .expect("runs");
    }
}

impl Case {
    fn checked(&self, bindings: &mut Bindings) {
        let limits = Limits::default();
        let reports = self.program.check(&self.grid, bindings, &limits);
        assert_eq!(reports, Ok(vec![]), "{}", self.name);
    }

    fn counted(&self, bindings: &mut Bindings) {
        let limits = Limits::default();
        let counts = self
            .program
            .count(&self.grid, bindings, &limits, Sample::All);
        assert!(counts.is_ok(), "{}", self.name);
    }
}

fn floats(len: usize) -> Buffer {
    let values: Vec<f32> = (0..len)
        .map(|i| (i * 7919 % 1000) as f32 / 500.0 - 1.0)
        .collect();
    Buffer::from_slice(&values)
}

fn halves(len: usize) -> Buffer {
    let half = |value: f32| assay_num::f32_to_f16(value);
    let values: Vec<u16> = floats(len).to_vec().into_iter().map(half).collect();
    Buffer::from_slice(&values)
}

fn word(value: u32) -> Buffer {
    Buffer::from_slice(&[value])
}

fn cases() -> Result<Vec<Case>, Failure> {
    let examples = "../../examples/kernels";
    let (threads, rounds) = (1u32 << 14, 256u32);
    let n = 512u32;
    let square = || floats((n * n) as usize);
    let product = || vec![square(), square(), square(), word(n), word(n), word(n)];
    let flops = 2.0 * f64::from(n).powi(3);
    let rows = |count: usize| floats(count << 10);
    Ok(vec![
        Case {
            name: "multiply-adds",
            program: compile("benches", "multiply_add", "multiply_add")?,
            grid: Grid::line(threads, 256),
            buffers: vec![Buffer::zeroed(threads as usize * 4), word(rounds)],
            work: f64::from(threads) * f64::from(rounds) * 8.0,
            unit: "G multiply-adds/s",
        },
        Case {
            name: "matmul_tiled 512³",
            program: compile(examples, "matmul_tiled", "matmul_tiled")?,
            grid: Grid::threads([n, n, 1], [16, 16, 1]),
            buffers: product(),
            work: flops,
            unit: "GFLOP/s",
        },
        Case {
            name: "matmul_simdgroup 512³",
            program: compile(examples, "matmul_simdgroup", "matmul_simdgroup_f32")?,
            grid: Grid::threads([n / 16 * 32, n / 16, 1], [32, 1, 1]),
            buffers: product().drain(..5).collect(),
            work: flops,
            unit: "GFLOP/s",
        },
        Case {
            name: "softmax 1024×1024",
            program: compile(examples, "softmax", "softmax")?,
            grid: Grid::line(1024 * 256, 256),
            buffers: vec![rows(1024), rows(1024), word(1024)],
            work: 1024.0 * 256.0,
            unit: "ns a thread",
        },
        Case {
            name: "softmax_f16 1024×1024",
            program: compile(examples, "softmax_typed", "softmax_f16")?,
            grid: Grid::line(1024 * 32, 32),
            buffers: vec![halves(1 << 20), halves(1 << 20), word(1024)],
            work: 1024.0 * 32.0,
            unit: "ns a thread",
        },
        Case {
            name: "layernorm 1024×1024",
            program: compile(examples, "layernorm", "layernorm")?,
            grid: Grid::line(1024 * 256, 256),
            buffers: vec![
                rows(1024),
                rows(1024),
                rows(1),
                rows(1),
                word(1024),
                floats(1),
            ],
            work: 1024.0 * 256.0,
            unit: "ns a thread",
        },
    ])
}

fn main() -> Result<(), Failure> {
    let cores = std::thread::available_parallelism()?.get();
    let pool = |workers| rayon::ThreadPoolBuilder::new().num_threads(workers).build();
    let (one, all) = (pool(1)?, pool(cores)?);
    let wanted = std::env::args().nth(1).filter(|arg| !arg.starts_with('-'));
    for case in cases()? {
        if wanted
            .as_ref()
            .is_some_and(|wanted| !case.name.contains(wanted.as_str()))
        {
            continue;
        }
        let alone = case.measure(&one, Case::plain);
        let rate = if case.unit == "ns a thread" {
            alone / case.work * 1e9
        } else {
            case.work / alone / 1e9
        };
        if std::env::args().any(|arg| arg == "--plain") {
            println!("{:22} {rate:7.2} {} a core", case.name, case.unit);
            continue;
        }
        let together = case.measure(&all, Case::plain);
        let checked = case.measure(&one, Case::checked);
        let counted = case.measure(&one, Case::counted);
        println!(
            "{:22} {rate:7.2} {} a core; {:.2}× on {cores}; checking {:.1}×, counting {:.1}×",
            case.name,
            case.unit,
            alone / together,
            checked / alone,
            counted / alone
        );
    }
    Ok(())
}
