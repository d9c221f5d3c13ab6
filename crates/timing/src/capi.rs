//! The C interface, declared in `include/assay_timing.h`: the process-wide recorder for
//! programs in C, C++, Python and whatever else calls C.
//!
//! The functions are always compiled; the feature `capi` exports them under their own
//! names. Build a library with
//! `cargo rustc -p assay-timing --release --features capi --crate-type staticlib` (or
//! `cdylib`). No function fails on bad data: a null label is the empty one, bytes that are
//! not UTF-8 are replaced and counted, null structures are ignored.

#![allow(unsafe_code)]

use crate::kernel_profile::{self, global};
use crate::label::LabelId;
use crate::sample::{CommandBufferId, CommandBufferSample, DispatchSample};
use crate::switch::Switches;
use std::ffi::{CStr, CString, c_char};
use std::slice;

/// `AssayTimingCommandBuffer`: a finished command buffer; times that are not known are 0.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct AssayTimingCommandBuffer {
    /// From `assay_timing_begin_command_buffer`, or 0.
    pub id: u64,
    /// From `assay_timing_label`.
    pub label: u32,
    /// Tells command queues apart.
    pub queue: u32,
    /// Created by the host.
    pub created_ns: u64,
    /// Committed by the host.
    pub committed_ns: u64,
    /// Scheduled for the GPU.
    pub scheduled_ns: u64,
    /// Started by the GPU.
    pub start_ns: u64,
    /// Finished by the GPU.
    pub end_ns: u64,
    /// Reported to the host as finished.
    pub completed_ns: u64,
}

/// `AssayTimingDispatch`: one dispatch.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct AssayTimingDispatch {
    /// The command buffer's number, or 0.
    pub command_buffer: u64,
    /// The command buffer's label.
    pub label: u32,
    /// The kernel's name, a label too.
    pub kernel: u32,
    /// Place in the command buffer.
    pub index: u32,
    /// Start.
    pub start_ns: u64,
    /// End.
    pub end_ns: u64,
}

/// `AssayTimingStats`: a label's figures.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct AssayTimingStats {
    /// Samples with a time.
    pub count: u64,
    /// Their sum, at most 2^64 − 1.
    pub total_ns: u64,
    /// The shortest.
    pub min_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// The median, within 1 %.
    pub p50_ns: u64,
    /// The 99th percentile, within 1 %.
    pub p99_ns: u64,
    /// Samples without a time.
    pub invalid: u64,
}

/// A label's bytes up to its final zero; a null pointer is the empty label.
///
/// # Safety
/// `label` is null or points to a string that ends with a zero byte.
unsafe fn bytes<'label>(label: *const c_char) -> &'label [u8] {
    if label.is_null() {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(label) }.to_bytes()
}

/// Whether figures per command buffer are wanted.
#[cfg_attr(feature = "capi", unsafe(no_mangle))]
pub extern "C" fn assay_timing_is_enabled() -> bool {
    kernel_profile::is_enabled()
}

/// Whether samples per dispatch are wanted.
#[cfg_attr(feature = "capi", unsafe(no_mangle))]
pub extern "C" fn assay_timing_is_dispatch_enabled() -> bool {
    kernel_profile::is_dispatch_enabled()
}

/// Overrides the environment variables.
#[cfg_attr(feature = "capi", unsafe(no_mangle))]
pub extern "C" fn assay_timing_set_enabled(command_buffers: bool, dispatches: bool) {
    kernel_profile::set_switches(Switches {
        command_buffers,
        dispatches,
    });
}

/// A label's number, for the calls that take one.
///
/// # Safety
/// `label` is null or points to a string that ends with a zero byte.
#[cfg_attr(feature = "capi", unsafe(no_mangle))]
pub unsafe extern "C" fn assay_timing_label(label: *const c_char) -> u32 {
    // SAFETY: the caller's promise.
    global().label_bytes(unsafe { bytes(label) }).get()
}

/// A label's number, from bytes with a length, which may contain zeros.
///
/// # Safety
/// `label` is null or points to `length` readable bytes.
#[cfg_attr(feature = "capi", unsafe(no_mangle))]
pub unsafe extern "C" fn assay_timing_label_n(label: *const c_char, length: usize) -> u32 {
    if label.is_null() {
        return global().label_bytes(&[]).get();
    }
    // SAFETY: the caller's promise.
    let bytes = unsafe { slice::from_raw_parts(label.cast::<u8>(), length) };
    global().label_bytes(bytes).get()
}

/// Adds a GPU duration to a label.
///
/// # Safety
/// `label` is null or points to a string that ends with a zero byte.
#[cfg_attr(feature = "capi", unsafe(no_mangle))]
pub unsafe extern "C" fn assay_timing_record(label: *const c_char, gpu_ns: u64) {
    // SAFETY: the caller's promise.
    let label = global().label_bytes(unsafe { bytes(label) });
    global().record_id(label, gpu_ns);
}

/// Adds a GPU duration to a label given by its number: the fast way.
#[cfg_attr(feature = "capi", unsafe(no_mangle))]
pub extern "C" fn assay_timing_record_id(label: u32, gpu_ns: u64) {
    global().record_id(LabelId::from_raw(label), gpu_ns);
}

/// A number for a command buffer about to be encoded.
#[cfg_attr(feature = "capi", unsafe(no_mangle))]
pub extern "C" fn assay_timing_begin_command_buffer() -> u64 {
    global().begin_command_buffer().get()
}

/// Records a finished command buffer.
///
/// # Safety
/// `buffer` is null or points to a structure.
#[cfg_attr(feature = "capi", unsafe(no_mangle))]
pub unsafe extern "C" fn assay_timing_record_command_buffer(
    buffer: *const AssayTimingCommandBuffer,
) {
    // SAFETY: the caller's promise.
    let Some(buffer) = (unsafe { buffer.as_ref() }) else {
        return;
    };
    let known = |ns: u64| (ns != 0).then_some(ns);
    let (id, label) = (
        CommandBufferId::from_raw(buffer.id),
        LabelId::from_raw(buffer.label),
    );
    global().record_command_buffer(&CommandBufferSample {
        queue: buffer.queue,
        created_ns: known(buffer.created_ns),
        committed_ns: known(buffer.committed_ns),
        scheduled_ns: known(buffer.scheduled_ns),
        completed_ns: known(buffer.completed_ns),
        ..CommandBufferSample::new(id, label, buffer.start_ns, buffer.end_ns)
    });
}

/// Records one dispatch.
///
/// # Safety
/// `dispatch` is null or points to a structure.
#[cfg_attr(feature = "capi", unsafe(no_mangle))]
pub unsafe extern "C" fn assay_timing_record_dispatch(dispatch: *const AssayTimingDispatch) {
    // SAFETY: the caller's promise.
    let Some(dispatch) = (unsafe { dispatch.as_ref() }) else {
        return;
    };
    global().record_dispatch(&DispatchSample {
        command_buffer: CommandBufferId::from_raw(dispatch.command_buffer),
        label: LabelId::from_raw(dispatch.label),
        kernel: LabelId::from_raw(dispatch.kernel),
        index: dispatch.index,
        start_ns: dispatch.start_ns,
        end_ns: dispatch.end_ns,
    });
}

/// Takes in one reading of both clocks.
#[cfg_attr(feature = "capi", unsafe(no_mangle))]
pub extern "C" fn assay_timing_record_clock_pair(cpu_ns: u64, gpu_ticks: u64) {
    global().record_clock_pair(cpu_ns, gpu_ticks);
}

/// Converts GPU ticks to host nanoseconds.
#[cfg_attr(feature = "capi", unsafe(no_mangle))]
pub extern "C" fn assay_timing_convert_gpu_ticks_to_ns(gpu_ticks: u64) -> u64 {
    global().convert_gpu_ticks_to_ns(gpu_ticks)
}

/// Starts over.
#[cfg_attr(feature = "capi", unsafe(no_mangle))]
pub extern "C" fn assay_timing_reset() {
    global().reset();
}

/// Fills in a label's figures; false, and zeros, if nothing was recorded under it.
///
/// # Safety
/// `stats` is null or points to a structure that may be written.
#[cfg_attr(feature = "capi", unsafe(no_mangle))]
pub unsafe extern "C" fn assay_timing_stats(label: u32, stats: *mut AssayTimingStats) -> bool {
    // SAFETY: the caller's promise.
    let Some(stats) = (unsafe { stats.as_mut() }) else {
        return false;
    };
    *stats = AssayTimingStats::default();
    let Some(found) = global().label_stats(LabelId::from_raw(label)) else {
        return false;
    };
    let entry = kernel_profile::ProfileEntry::from(&found);
    *stats = AssayTimingStats {
        count: entry.count,
        total_ns: entry.total_ns,
        min_ns: entry.min_ns,
        max_ns: entry.max_ns,
        p50_ns: found.percentile(50.0).unwrap_or(0),
        p99_ns: found.percentile(99.0).unwrap_or(0),
        invalid: found.invalid.total(),
    };
    true
}

/// Formats of `assay_timing_report`, `AssayTimingFormat` in C.
pub const FORMATS: [&str; 6] = [
    "text",
    "json",
    "csv",
    "dispatch_csv",
    "chrome_trace",
    "recording",
];

/// Everything recorded, in a format of [`FORMATS`] by its place; null for an unknown one.
/// To be freed with `assay_timing_free`.
#[cfg_attr(feature = "capi", unsafe(no_mangle))]
pub extern "C" fn assay_timing_report(format: u32) -> *mut c_char {
    let snapshot = global().snapshot();
    let text = match format {
        0 => snapshot.to_text(),
        1 => snapshot.to_json(),
        2 => snapshot.to_csv(),
        3 => snapshot.to_dispatch_csv(),
        4 => snapshot.to_chrome_trace(),
        5 => snapshot.to_recording(),
        _ => return std::ptr::null_mut(),
    };
    // A zero byte would end the C string early; only a label in CSV can carry one.
    let text = text.replace('\0', "\u{fffd}");
    CString::new(text).map_or(std::ptr::null_mut(), CString::into_raw)
}

/// Frees what `assay_timing_report` returned; null is fine.
///
/// # Safety
/// `text` is null or came from `assay_timing_report` and was not freed before.
#[cfg_attr(feature = "capi", unsafe(no_mangle))]
pub unsafe extern "C" fn assay_timing_free(text: *mut c_char) {
    if !text.is_null() {
        // SAFETY: the caller's promise.
        drop(unsafe { CString::from_raw(text) });
    }
}
