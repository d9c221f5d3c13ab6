//! What the sandbox costs a compile: one kernel compiled in turns with and without, medians of both, and the difference.
//!
//! ```text
//! cargo run --release -p assay-msl --example sandbox_cost -- clang-22
//! ```

use assay_msl::{Compiler, Options, Sandbox, Source, compile, sandbox};
use std::path::Path;
use std::time::{Duration, Instant};

const ROUNDS: usize = 100;

/// CPU time of this process and of its children that have ended, in ticks; 0 where the system does not tell.
fn ticks() -> u64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let (_, fields) = text.rsplit_once(')').unwrap_or_default();
    let numbers = fields.split_whitespace().skip(11).take(4);
    numbers
        .filter_map(|number| number.parse::<u64>().ok())
        .sum()
}

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
    let (mut work_with, mut work_without) = (0, 0);
    once(&confined)?;
    for _ in 0..ROUNDS {
        let begun = ticks();
        without.push(once(&bare)?);
        let between = ticks();
        with.push(once(&confined)?);
        work_without += between - begun;
        work_with += ticks() - between;
    }
    // A tick of Linux is 10 ms: over all rounds that is exact enough, and other programs do not count.
    let work = |ticks: u64| ticks as f64 * 10.0 / ROUNDS as f64;
    // Rounds are pairs, so what else the machine does meanwhile falls on both.
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    let pairs = with.iter().zip(&without);
    let mut more: Vec<f64> = pairs
        .map(|(with, without)| milliseconds(*with) - milliseconds(*without))
        .collect();
    more.sort_by(f64::total_cmp);
    let more = more[more.len() / 2];
    with.sort();
    without.sort();
    let least = milliseconds(with[0]) - milliseconds(without[0]);
    let middle = |times: &[Duration]| milliseconds(times[times.len() / 2]);
    let (with, without) = (middle(&with), middle(&without));
    let what = match sandbox() {
        Sandbox::Present(what) => what,
        Sandbox::Missing(why) => why,
    };
    #[allow(clippy::print_stdout, reason = "an example")]
    {
        println!(
            "{what}: {with:.2} ms with, {without:.2} ms without (medians of {ROUNDS}); {more:.2} ms more in the middle pair, \
             {least:.2} ms between the fastest of both; CPU time {:.1} ms with, {:.1} ms without (host)",
            work(work_with),
            work(work_without),
        );
    }
    Ok(())
}
