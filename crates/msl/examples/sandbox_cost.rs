//! What the sandbox costs a compile: one kernel compiled in turns with and without, medians of both.
//!
//! ```text
//! cargo run --release -p assay-msl --example sandbox_cost -- clang-22
//! ```

use assay_msl::{Compiler, Options, Sandbox, Source, compile, sandbox};
use std::path::Path;
use std::time::Instant;

const ROUNDS: usize = 60;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let program = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "clang".to_owned());
    let confined = Compiler::new(program);
    let bare = Compiler {
        confined: false,
        ..confined.clone()
    };
    let folder = std::env::temp_dir().join("assay-sandbox-cost");
    let within = std::env::current_dir()?;
    // A compiler without identity keeps no bitcode: every round compiles.
    let options = Options {
        within: Some(vec![within]),
        ..Options::new(folder)
    };
    let text = b"kernel void k(device float* x, uint i [[thread_position_in_grid]]) { x[i] *= 2; }";
    let path = Path::new("k.metal");
    let once = |compiler: &Compiler| {
        let before = Instant::now();
        compile(Source { path, text }, compiler, &options).map(|_| before.elapsed())
    };
    let (mut with, mut without) = (Vec::new(), Vec::new());
    once(&confined)?;
    for _ in 0..ROUNDS {
        without.push(once(&bare)?);
        with.push(once(&confined)?);
    }
    let median = |times: &mut Vec<std::time::Duration>| {
        times.sort();
        times[times.len() / 2].as_secs_f64() * 1e3
    };
    let (with, without) = (median(&mut with), median(&mut without));
    let what = match sandbox() {
        Sandbox::Present(what) => what,
        Sandbox::Missing(why) => why,
    };
    #[allow(clippy::print_stdout, reason = "an example")]
    {
        println!(
            "{what}: {with:.2} ms with, {without:.2} ms without, {:.2} ms more (host)",
            with - without
        );
    }
    Ok(())
}
