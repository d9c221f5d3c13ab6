//! Nothing is left of ten thousand dispatches, and no object is outside a pool.

use super::{alone, gpu, increment, ints, pipeline, read, runtime};
use crate::{GpuDevice, Storage};
use std::time::{Duration, Instant};

const DISPATCHES: u32 = 10_000;

/// The number of objects once it no longer falls: a queue's thread frees a command buffer after it has called its handlers.
fn settled(at_most: i64) -> i64 {
    let end = Instant::now() + Duration::from_secs(5);
    loop {
        let alive = runtime::all_alive();
        if alive <= at_most || Instant::now() > end {
            return alive;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Runs all dispatches in submissions of a size, and prints what a dispatch takes from encoding to completion.
fn run(device: &mut dyn GpuDevice, how: &str, each: u32, expected_encoders: u64) {
    let pipeline = pipeline(device, "increment");
    let buffer = ints(device, &[0; 64], Storage::Shared);
    let submit = |device: &mut dyn GpuDevice| {
        let dispatches = (0..each).map(|_| increment(pipeline, buffer, 0, 64));
        device.run(dispatches.collect()).expect("runs");
    };
    // What is made once is there after the first.
    submit(device);
    let steady = settled(0);
    let (encoders, outside) = (runtime::encoders(), runtime::outside_pools());
    let start = Instant::now();
    for _ in 0..DISPATCHES / each {
        submit(device);
    }
    let time = start.elapsed().as_secs_f64() * 1e6 / f64::from(DISPATCHES);
    let made = runtime::encoders() - encoders;
    println!("{how}: {DISPATCHES} dispatches, {made} encoders, {time:.1} µs per dispatch (host)");
    assert_eq!(made, expected_encoders, "{how}");
    assert_eq!(settled(steady), steady, "{how}: objects are left");
    assert_eq!(
        runtime::outside_pools(),
        outside,
        "{how}: objects outside a pool"
    );
    let counted = i32::try_from(DISPATCHES + each).expect("small");
    assert_eq!(read(device, buffer), [counted; 64]);
}

#[test]
fn ten_thousand_dispatches_leave_nothing() {
    let _alone = alone();
    let wrong = runtime::wrong_uses();
    run(&mut *gpu(false), "one dispatch a submission", 1, 10_000);
    run(
        &mut *gpu(false),
        "a hundred dispatches a submission",
        100,
        100,
    );
    run(
        &mut *gpu(true),
        "a hundred dispatches a submission, each timed",
        100,
        10_000,
    );
    assert_eq!(runtime::outside_pools(), 0);
    assert_eq!(
        runtime::wrong_uses(),
        wrong,
        "Metal's validation would refuse something"
    );
    let buffers = runtime::alive(c"AssayMTLCommandBuffer");
    assert_eq!(buffers, 0, "command buffers are left");
}
