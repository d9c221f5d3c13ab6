//! Code for a kernel twice as long takes about twice the time: no pass is quadratic in statements or in conditions.
//!
//! Times are those this thread spent on a CPU, where the system says so (Linux counts in steps of up to 10 ms). Other work on
//! the machine can only lengthen them, so both kernels are timed in turns until the least times hold, [`ROUNDS`] times at most; the
//! longer kernel has sixteen times the statements and may take 2.3 times the time for each doubling. Four doublings, because one step
//! past a cache of the CPU costs more than the margin of two.

use std::fmt::Write;
use std::time::{Duration, Instant};

/// Per doubling.
const MOST: f64 = 2.3;
const DOUBLINGS: i32 = 4;
const ROUNDS: usize = 8;

/// Time this thread has spent on a CPU.
fn spent(start: Instant) -> Duration {
    let schedule = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = schedule.and_then(|text| text.split(' ').next()?.parse().ok());
    nanoseconds.map_or_else(|| start.elapsed(), Duration::from_nanos)
}

/// `body` follows the address `v3` of the thread's number in `x` and `v4` of that in `y`.
fn kernel(body: &str) -> String {
    format!(
        "module \"m\"\n\
         kernel \"k\" f0 {{\n\
             \"x\" buffer 0 param 0 space device read_write type \"float\" size 4 align 4 noalias\n\
             \"y\" buffer 1 param 1 space device read type \"float\" size 4 align 4 noalias\n\
             \"i\" builtin thread_position_in_grid type \"uint\"\n\
         }}\n\
         function f0 \"k\" -> void convergent {{\n\
         b0(v0: ptr.device, v1: ptr.device):\n\
             v2: i32 = call thread_position_in_grid()\n\
             v3: ptr.device = ptr_add nuw inbounds v0 + zext v2 * 4\n\
             v4: ptr.device = ptr_add nuw inbounds v1 + zext v2 * 4\n\
         {body}    return\n}}\n"
    )
}

/// `x[i + k] = y[i + k] * c` so many times.
fn accesses(count: usize) -> String {
    let (mut body, mut next) = (String::new(), 5);
    for k in 0..count {
        let [from, read, product, to] = [next, next + 1, next + 2, next + 3];
        next += 4;
        let _ = write!(
            body,
            "v{from}: ptr.device = ptr_add nuw inbounds v4 + {offset}\n\
             v{read}: f32 = load v{from} align 4\n\
             v{product}: f32 = fmul v{read}, f32 {k}.5\n\
             v{to}: ptr.device = ptr_add nuw inbounds v3 + {offset}\n\
             store v{to}, v{product} align 4\n",
            offset = 4 * k,
        );
    }
    kernel(&body)
}

/// `if (y[i + k] > c) x[i] += y[k]` so many times.
fn conditions(count: usize) -> String {
    let (mut body, mut next) = (String::new(), 5);
    for k in 0..count {
        let [from, read, test, old, new] = [next, next + 1, next + 2, next + 3, next + 4];
        next += 5;
        let (then, after) = (2 * k + 1, 2 * k + 2);
        let _ = write!(
            body,
            "v{from}: ptr.device = ptr_add nuw inbounds v4 + {offset}\n\
             v{read}: f32 = load v{from} align 4\n\
             v{test}: i1 = fcmp ogt v{read}, f32 {k}.5\n\
             branch v{test}, b{then}, b{after}\n\
             b{then}:\n\
             v{old}: f32 = load v3 align 4\n\
             v{new}: f32 = fadd v{old}, v{read}\n\
             store v3, v{new} align 4\n\
             jump b{after}\n\
             b{after}:\n",
            offset = 4 * k,
        );
    }
    kernel(&body)
}

/// The time to optimise a program and make its code.
fn time(text: &str) -> f64 {
    let mut module = assay_ssa::parse(text).unwrap_or_else(|error| panic!("{error}"));
    let start = Instant::now();
    let before = spent(start);
    assay_opt::pipeline::optimize(&mut module).expect("a program");
    assay_codegen::generate(&module, "k", &assay_codegen::Options::default()).expect("code");
    (spent(start) - before).as_secs_f64()
}

#[test]
fn twice_the_statements_take_about_twice_the_time() {
    type Make = fn(usize) -> String;
    let shapes: [(&str, Make, usize); 2] = [
        ("accesses", accesses, 1000),
        ("conditions", conditions, 250),
    ];
    for (name, make, least) in shapes {
        let most = least << DOUBLINGS;
        let texts = [least, most].map(make);
        let [mut short, mut long] = [f64::MAX; 2];
        let holds = (0..ROUNDS).any(|round| {
            short = short.min(time(&texts[0]));
            long = long.min(time(&texts[1]));
            // The short kernel's first run warms the program up.
            round > 0 && long <= short * MOST.powi(DOUBLINGS)
        });
        assert!(holds, "{name}: {least}: {short:.3} s, {most}: {long:.3} s");
    }
}
