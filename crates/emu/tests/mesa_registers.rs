//! Mesa-compiled kernels that need from 24 to 64 live values: every row of the
//! occupancy table, and spills to the stack.
#![allow(clippy::needless_range_loop, reason = "threads and lanes are numbers")]

mod common;
use common::{Kernel, Random};

/// `aN = fma(aN, v, aM);` in source order.
fn steps(source: &str) -> Vec<(usize, usize)> {
    let number = |text: &str| text.trim().trim_start_matches('a').parse().unwrap();
    source
        .lines()
        .filter_map(|line| {
            let (to, rest) = line.trim().split_once(" = fma(")?;
            let from = rest.trim_end_matches(");").rsplit(',').next()?;
            Some((number(to), number(from)))
        })
        .collect()
}

fn chain(name: &str, threads: usize) {
    let mut k = Kernel::open(name);
    let steps = steps(&k.source);
    let values = steps.len();
    let mut random = Random::new(80);
    let length = threads + 64 * (values - 1);
    let x = random.f32s(length, -1.0, 1.0);
    let y = random.f32s(5, -0.9, 0.9);
    let out = k.out("o", length);
    k.f32s("x", &x);
    k.f32s("y", &y);
    k.u32("n", y.len() as u32);
    k.launch.sequential = true;
    k.run([threads as u32, 1, 1]);
    let found = k.read_f32(out);
    for i in 0..threads.min(64) {
        let mut a: Vec<f32> = (0..values).map(|n| x[i + 64 * n]).collect();
        for v in &y {
            for (to, from) in &steps {
                a[*to] = a[*to].mul_add(*v, a[*from]);
            }
        }
        let mine: Vec<f32> = (0..values).map(|n| found[i + 64 * n]).collect();
        assert_eq!(mine, a, "{name} thread {i}");
    }
}

macro_rules! chains {
    ($($name:ident: $threads:expr;)+) => {$(
        #[test]
        fn $name() {
            chain(stringify!($name), $threads);
        }
    )+};
}

chains! {
    regs_24: 64;
    regs_26: 64;
    regs_30: 64;
    regs_32: 64;
    regs_36: 64;
    regs_40: 64;
    regs_48: 64;
    regs_56: 64;
    regs_64: 64;
}

/// Threads 64 apart write the same places, so one simdgroup pair is enough to check.
#[test]
fn regs_48_wg1024_spills() {
    chain("regs_48_wg1024", 64);
}
