//! Host time of two example kernels, median of five runs.
//!
//! ```text
//! cargo run --release -p assay-exec --example speed -- /usr/bin/clang-19
//! ```

#![allow(clippy::print_stdout, reason = "a program")]

use assay_exec::{Bindings, Buffer, Grid, Limits, Options, Program};
use std::path::Path;
use std::time::Instant;

type Failure = Box<dyn std::error::Error>;

fn program(clang: &str, kernel: &str) -> Result<Program, Failure> {
    let mut compiler = assay_msl::Compiler::new(clang);
    compiler.identity = compiler.version().unwrap_or_default();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/kernels");
    let path = folder.join(format!("{kernel}.metal"));
    let text = std::fs::read(&path)?;
    let cache = std::env::temp_dir().join("assay-speed-headers");
    let source = assay_msl::Source {
        path: &path,
        text: &text,
    };
    let compiled = assay_msl::compile(source, &compiler, &assay_msl::Options::new(cache))?;
    let modules = assay_air::llvm::read(&compiled.code)?;
    let module = modules.first().ok_or("no module")?;
    let mut module = assay_air::lower(module, &assay_air::Options::default())?;
    assay_opt::pipeline::optimize(&mut module)?;
    Ok(Program::compile(&module, kernel, &Options::default())?)
}

/// Median seconds of five runs.
fn measure(program: &Program, grid: Grid, buffers: &[Buffer]) -> Result<f64, Failure> {
    let mut seconds = Vec::new();
    for _ in 0..5 {
        let mut bindings = Bindings::new();
        for (index, buffer) in (0..).zip(buffers) {
            bindings.set(index, buffer.clone());
        }
        let start = Instant::now();
        program.run(&grid, &mut bindings, &Limits::default())?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    Ok(seconds[2])
}

fn main() -> Result<(), Failure> {
    let clang = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "clang".to_owned());
    let threads = rayon::current_num_threads();
    let n = 512u32;
    let square = Buffer::from_slice(&vec![0.5f32; (n * n) as usize]);
    let size = Buffer::from_slice(&[n]);
    let buffers = [
        square.clone(),
        square.clone(),
        square,
        size.clone(),
        size.clone(),
        size,
    ];
    let grid = Grid::threads([n, n, 1], [16, 16, 1]);
    let seconds = measure(&program(&clang, "matmul_tiled")?, grid, &buffers)?;
    let flops = 2.0 * f64::from(n).powi(3);
    println!(
        "matmul_tiled 512³: {seconds:.3} s, {:.2} GFLOP/s on {threads} threads (host)",
        flops / seconds / 1e9
    );
    let rows = Buffer::from_slice(&vec![0.5f32; 1 << 20]);
    let buffers = [rows.clone(), rows, Buffer::from_slice(&[1024u32])];
    let seconds = measure(
        &program(&clang, "softmax")?,
        Grid::line(1024 * 256, 256),
        &buffers,
    )?;
    let each = seconds / f64::from(1024 * 256) * 1e9;
    println!(
        "softmax 1024×1024: {seconds:.3} s, {each:.1} ns a thread on {threads} threads (host)"
    );
    Ok(())
}
