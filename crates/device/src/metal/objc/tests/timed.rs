//! Dispatches timed one by one, by `assay-timing` through Metal's counters.

use super::{alone, gpu, increment, ints, pipeline, read, runtime};
use crate::Storage;

/// Apple's GPUs sample where encoders begin and end, so each dispatch has its own.
#[test]
fn each_dispatch_is_timed_in_an_encoder_of_its_own() {
    let _alone = alone();
    let mut device = gpu(true);
    assert_eq!(device.dispatch_timing(), Ok("one encoder per dispatch"));
    let pipeline = pipeline(&mut *device, "increment");
    let buffer = ints(&mut *device, &[0; 4], Storage::Shared);
    let before = runtime::encoders();
    let dispatches: Vec<_> = (0..5).map(|_| increment(pipeline, buffer, 0, 4)).collect();
    let finished = device.run(dispatches).expect("runs");
    assert_eq!(runtime::encoders() - before, 5);
    assert_eq!(finished.dispatches.len(), 5);
    let total = finished.time().expect("has times").length;
    let sum: std::time::Duration = finished.dispatches.iter().map(|time| time.length).sum();
    assert!(sum <= total, "{sum:?} in {total:?}");
    assert_eq!(read(&mut *device, buffer), [5; 4]);
}

/// More command buffers are open than a process may have sample buffers: what cannot be timed runs untimed.
#[test]
fn sample_buffers_run_out_without_a_failure() {
    let _alone = alone();
    let mut device = gpu(true);
    let pipeline = pipeline(&mut *device, "increment");
    let buffer = ints(&mut *device, &[0; 4], Storage::Shared);
    let mut pending = Vec::new();
    for _ in 0..200 {
        let dispatches = (0..10).map(|_| increment(pipeline, buffer, 0, 4));
        pending.push(device.submit(dispatches.collect()).expect("submits"));
    }
    for submission in pending {
        device.wait(submission).expect("runs");
    }
    assert_eq!(read(&mut *device, buffer), [2000; 4]);
    assert!(runtime::alive(c"AssayMTLCounterSampleBuffer") <= 28);
}
