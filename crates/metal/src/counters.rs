//! Counters: timestamps where compute encoders begin and end, which is all that Apple's GPUs offer. They are those of
//! this CPU, or modelled (`clock`).

use crate::device;
use crate::plain;
use crate::report::wrong_use;
use assay_foundation::collections::array;
use assay_foundation::data::data;
use assay_foundation::set_error;
use assay_foundation::string::{Range, string};
use assay_objc::root::NSOBJECT;
use assay_objc::{Id, Strong, class};
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Sample buffers that may be alive in a process: Metal refuses the 33rd (WebKit 48756).
const MOST_BUFFERS: usize = 32;
/// Most samples of a buffer: 32 KB of timestamps.
const MOST_SAMPLES: u64 = 4096;

static BUFFERS: AtomicUsize = AtomicUsize::new(0);

/// `MTLCommonCounterSetTimestamp`.
#[unsafe(no_mangle)]
pub static MTLCommonCounterSetTimestamp: AtomicPtr<assay_objc::Object> = AtomicPtr::new(null_mut());

/// Makes the names of counters.
pub(crate) fn register() {
    MTLCommonCounterSetTimestamp.store(string("timestamp").into_owned(), Relaxed);
}

/// The counter sets of the device: one.
pub(crate) fn sets() -> Strong {
    static SET: OnceLock<Strong> = OnceLock::new();
    // SAFETY: the class has no state.
    let set = SET.get_or_init(|| unsafe { COUNTER_SET.make(()) });
    array(vec![set.clone()])
}

class! {
    /// `id<MTLCounterSet>`: timestamps.
    pub COUNTER_SET = "AssayMTLCounterSet": NSOBJECT, (), ["MTLCounterSet"];
    - "name" "@@:" (this) -> Id { MTLCommonCounterSetTimestamp.load(Relaxed) }
    - "counters" "@@:" (this) -> Id { array(vec![COUNTER.make(())]).autoreleased() }
}
class! {
    /// `id<MTLCounter>`.
    pub COUNTER = "AssayMTLCounter": NSOBJECT, (), ["MTLCounter"];
    - "name" "@@:" (this) -> Id { string("GPUTimestamp").autoreleased() }
}

/// Timestamps, by index.
#[derive(Debug, Default)]
pub struct Samples {
    taken: Vec<AtomicU64>,
    label: Strong,
}

impl Drop for Samples {
    fn drop(&mut self) {
        if !self.taken.is_empty() {
            BUFFERS.fetch_sub(1, Relaxed);
        }
    }
}

/// A sample buffer as a descriptor wants it; nil with an error where Metal makes none.
pub(crate) unsafe fn sample_buffer(descriptor: Id, error: *mut Id) -> Id {
    // SAFETY: a descriptor or nil; the caller's place is null or writable.
    unsafe {
        let count: u64 = plain::get(descriptor, c"sampleCount").unwrap_or(0);
        let label: Id = plain::get(descriptor, c"label").unwrap_or(null_mut());
        let refuse = |why: &str| {
            set_error(error, "MTLCounterErrorDomain", 0, why);
            null_mut()
        };
        if !(1..=MOST_SAMPLES).contains(&count) {
            return refuse(&format!("{count} samples: expected 1 to {MOST_SAMPLES}"));
        }
        if BUFFERS.fetch_add(1, Relaxed) >= MOST_BUFFERS {
            BUFFERS.fetch_sub(1, Relaxed);
            return refuse("Cannot allocate sample buffer");
        }
        assay_foundation::no_error(error);
        let samples = Samples {
            taken: (0..count).map(|_| AtomicU64::new(0)).collect(),
            label: Strong::retain(label),
        };
        SAMPLES.make(samples).into_owned()
    }
}

/// `MTLCounterErrorValue`: the time of a sample is not known.
pub(crate) const UNKNOWN: u64 = u64::MAX;

/// Sets a sample, on the thread of the queue.
pub(crate) fn set(buffer: &Strong, index: usize, time: u64) {
    // SAFETY: the command keeps the buffer.
    let samples = unsafe { SAMPLES.state::<Samples>(buffer.id()) };
    match samples.and_then(|samples| samples.taken.get(index)) {
        Some(place) => place.store(time, Relaxed),
        None => wrong_use(&format!(
            "a counter sample at index {index} lies outside its buffer"
        )),
    }
}

class! {
    /// `id<MTLCounterSampleBuffer>`.
    pub SAMPLES = "AssayMTLCounterSampleBuffer": NSOBJECT, Samples, ["MTLCounterSampleBuffer"];
    - "device" "@@:" (this) -> Id { device::shared() }
    - "label" "@@:" (this) -> Id { this.label.id() }
    - "sampleCount" "Q@:" (this) -> u64 { this.taken.len() as u64 }
    - "resolveCounterRange:" "@@:{_NSRange=QQ}" (this, range: Range) -> Id {
        let wanted = this.taken.get(range.location..range.location.saturating_add(range.length));
        let Some(wanted) = wanted else { return null_mut() };
        let bytes = wanted.iter().flat_map(|taken| taken.load(Relaxed).to_ne_bytes());
        data(bytes.collect()).autoreleased()
    }
}

/// Attachments of a pass.
const ATTACHMENTS: usize = 4;

/// The list of attachments of a pass; each is there from the start.
#[derive(Debug, Default)]
pub struct Attachments([OnceLock<Strong>; ATTACHMENTS]);

class! {
    /// `MTLComputePassSampleBufferAttachmentDescriptorArray`.
    pub ATTACHMENT_LIST = "MTLComputePassSampleBufferAttachmentDescriptorArray": NSOBJECT, Attachments, [];
    - "objectAtIndexedSubscript:" "@@:Q" (this, index: u64) -> Id {
        let place = usize::try_from(index).ok().and_then(|index| this.0.get(index));
        let Some(place) = place else {
            wrong_use(&format!("sampleBufferAttachments[{index}]: expected less than {ATTACHMENTS}"));
            return null_mut();
        };
        place.get_or_init(|| plain::ATTACHMENT_DESCRIPTOR.make(plain::Fields::default())).id()
    }
}

/// The samples that a pass wants: sample buffer, index where its encoder begins, index where it ends.
pub(crate) unsafe fn of_pass(descriptor: Id) -> Vec<(Strong, Option<usize>, Option<usize>)> {
    // SAFETY: a descriptor of a pass, or nil; `Attachments` is the state of the class.
    unsafe {
        let list: Id = plain::get(descriptor, c"sampleBufferAttachments").unwrap_or(null_mut());
        let Some(list) = ATTACHMENT_LIST.state::<Attachments>(list) else {
            return Vec::new();
        };
        let used = list.0.iter().filter_map(OnceLock::get);
        let wanted = used.filter_map(|one| {
            let buffer: Id = plain::get(one.id(), c"sampleBuffer")?;
            let index = |name| {
                // The largest number means that no sample is taken.
                let index: u64 = plain::get(one.id(), name).filter(|index| *index != u64::MAX)?;
                usize::try_from(index).ok()
            };
            let (start, end) = (
                index(c"startOfEncoderSampleIndex"),
                index(c"endOfEncoderSampleIndex"),
            );
            (!buffer.is_null()).then(|| (Strong::retain(buffer), start, end))
        });
        wanted.collect()
    }
}
