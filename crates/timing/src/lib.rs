#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]
// Library code returns errors; tests may panic.
#![cfg_attr(
    not(test),
    warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

pub mod capi;
mod cell;
mod check;
mod clock;
mod export;
mod histogram;
pub mod kernel_profile;
mod label;
#[cfg(any(target_os = "macos", metal_runtime))]
pub mod metal;
mod recorder;
mod ring;
mod sample;
pub mod sampling;
mod shard;
mod snapshot;
mod switch;
mod sync;
mod tally;
mod timeline;

pub use check::{
    AGREES_UP_TO, Cause, Comparison, CrossCheck, MISSING_BELOW, SUSPECT_ABOVE, Verdict,
};
pub use clock::{ClockCounts, ClockFit, ClockQuality};
pub use export::{
    RecordedBuffer, RecordedDispatch, RecordedLosses, RecordedProcess, Recording, TextOptions,
};
pub use histogram::{Bucket, Histogram, PERCENTILE_ERROR};
pub use kernel_profile::{
    DispatchEntry, ProfileEntry, convert_gpu_ticks_to_ns, dump, dump_dispatches, global,
    is_dispatch_enabled, is_enabled, label, record, record_clock_pair, record_dispatch, record_id,
    reset, set_switches,
};
pub use label::{LabelId, LabelLosses, MAX_LABEL_BYTES, OVERFLOW_LABEL};
pub use recorder::{MAX_LABELS, MAX_RING, Recorder, RecorderOptions};
pub use sample::{
    CommandBufferId, CommandBufferSample, DispatchSample, ERROR_TIMESTAMP, Invalid, InvalidCounts,
    Sampling, TimeSource, seconds_to_ns,
};
pub use snapshot::{
    ClockReport, CommandBufferRecord, DispatchRecord, LabelStats, Losses, Process, Snapshot,
};
pub use switch::Switches;
pub use timeline::{Gap, Timeline};
