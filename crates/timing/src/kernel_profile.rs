//! The process-wide recorder under the names of mlx-native's `kernel_profile`, for a
//! switch without further changes: `use assay_timing::kernel_profile;`.
//!
//! As there, recording is unconditional and callers ask [`is_enabled`] first. Different
//! from there, on purpose:
//! - `MLX_PROFILE_CB=0` is off, and dispatch mode turns the command-buffer table on.
//! - A duration of 0 or 2^64 − 1 is counted as invalid and does not enter the figures.
//! - Ticks are converted with slope and offset once there are two clock pairs; a single
//!   pair still gives its ratio, none 1:1.
//! - The dispatches kept are the last 65,536; the rest is counted as dropped.
//!
//! ```
//! use assay_timing::kernel_profile;
//!
//! kernel_profile::reset();
//! if !kernel_profile::is_enabled() {
//!     // Nothing set in the environment; recording works all the same.
//! }
//! kernel_profile::record("layer.attn", 120_000);
//! kernel_profile::record("layer.attn", 80_000);
//! let (label, entry) = kernel_profile::dump().remove(0);
//! assert_eq!((label.as_str(), entry.count, entry.total_ns), ("layer.attn", 2, 200_000));
//! ```

use crate::label::LabelId;
use crate::recorder::{COMMAND_BUFFERS, DISPATCHES, Recorder, RecorderOptions};
use crate::sample::{CommandBufferId, DispatchSample, StoredDispatch};
use crate::snapshot::{DispatchRecord, LabelStats};
use crate::switch::Switches;
use crate::sync::lock;
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, OnceLock};

/// A label's figures, as `kernel_profile` has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProfileEntry {
    /// Number of samples.
    pub count: u64,
    /// Their sum; stays at 2^64 − 1 once there ([`LabelStats::total_ns`] goes on).
    pub total_ns: u64,
    /// The shortest.
    pub min_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

impl From<&LabelStats> for ProfileEntry {
    fn from(stats: &LabelStats) -> ProfileEntry {
        ProfileEntry {
            count: stats.count,
            total_ns: u64::try_from(stats.total_ns).unwrap_or(u64::MAX),
            min_ns: stats.min_ns,
            max_ns: stats.max_ns,
        }
    }
}

/// One dispatch, as `kernel_profile` has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DispatchEntry {
    /// Label of the command buffer.
    pub cb_label: String,
    /// Kind of operation or kernel name.
    pub op_kind: &'static str,
    /// Place among the command buffer's dispatches, from 0.
    pub dispatch_index: u32,
    /// Duration.
    pub gpu_ns: u64,
    /// Start, in host nanoseconds.
    pub start_gpu_ns: u64,
    /// End, in host nanoseconds.
    pub end_gpu_ns: u64,
}

impl From<&DispatchRecord> for DispatchEntry {
    fn from(record: &DispatchRecord) -> DispatchEntry {
        DispatchEntry {
            cb_label: record.label.as_ref().to_owned(),
            op_kind: static_text(&record.kernel),
            dispatch_index: record.index,
            gpu_ns: record.gpu_ns,
            start_gpu_ns: record.start_ns,
            end_gpu_ns: record.end_ns,
        }
    }
}

/// A text that lives as long as the program, as the old structure asks for. Each
/// different text is kept once, and their number is bounded.
fn static_text(text: &str) -> &'static str {
    static TEXTS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut texts = lock(&TEXTS);
    if let Some(known) = texts.get(text) {
        return known;
    }
    if texts.len() >= crate::recorder::MAX_LABELS {
        return "Other";
    }
    let kept: &'static str = Box::leak(text.to_owned().into_boxed_str());
    texts.insert(kept);
    kept
}

impl Recorder {
    /// Labels with their figures, by total time. More: [`snapshot`](Self::snapshot).
    pub fn dump(&self) -> Vec<(String, ProfileEntry)> {
        let snapshot = self.snapshot();
        let with_samples = snapshot.labels.iter().filter(|label| label.count > 0);
        with_samples
            .map(|label| (label.label.as_ref().to_owned(), label.into()))
            .collect()
    }

    /// The dispatches kept, grouped by the label of their command buffer: groups in the
    /// order of their first dispatch, dispatches in the order of recording.
    pub fn dump_dispatches(&self) -> Vec<(String, Vec<DispatchEntry>)> {
        let snapshot = self.snapshot();
        let mut groups: Vec<(String, Vec<DispatchEntry>)> = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        for record in &snapshot.dispatches {
            let place = *places.entry(&record.label).or_insert_with(|| {
                groups.push((record.label.as_ref().to_owned(), Vec::new()));
                groups.len() - 1
            });
            groups[place].1.push(record.into());
        }
        groups
    }

    /// Records a dispatch given with its texts; [`record_dispatch`](Self::record_dispatch)
    /// with label numbers is faster.
    pub fn record_dispatch_entry(&self, entry: &DispatchEntry) {
        self.store_dispatch(&StoredDispatch {
            sample: DispatchSample {
                command_buffer: CommandBufferId::NONE,
                label: self.label(&entry.cb_label),
                kernel: self.label(entry.op_kind),
                index: entry.dispatch_index,
                start_ns: entry.start_gpu_ns,
                end_ns: entry.end_gpu_ns,
            },
            gpu_ns: entry.gpu_ns,
        });
    }
}

/// The process-wide recorder's switches, where asking costs one load.
static SWITCHES: AtomicU8 = AtomicU8::new(UNREAD);
/// Looks like everything on.
const UNREAD: u8 = 0xff;

/// The process-wide recorder, its switches read from the environment on first use.
pub fn global() -> &'static Recorder {
    static GLOBAL: OnceLock<Recorder> = OnceLock::new();
    GLOBAL.get_or_init(|| {
        let options = RecorderOptions {
            switches: Switches::from_environment(),
            ..RecorderOptions::default()
        };
        Recorder::with_mirror(&options, Some(&SWITCHES))
    })
}

/// Off costs one load and one test; only "on" and "not read yet" look twice.
#[inline]
fn is_on(switch: u8) -> bool {
    let switches = SWITCHES.load(Ordering::Relaxed);
    switches & switch != 0 && (switches != UNREAD || first_look(switch))
}

#[cold]
fn first_look(switch: u8) -> bool {
    global();
    SWITCHES.load(Ordering::Relaxed) & switch != 0
}

/// Whether figures per command buffer are wanted. The environment is read once.
#[inline]
pub fn is_enabled() -> bool {
    is_on(COMMAND_BUFFERS)
}

/// Whether samples per dispatch are wanted.
#[inline]
pub fn is_dispatch_enabled() -> bool {
    is_on(DISPATCHES)
}

/// Overrides the environment.
pub fn set_switches(switches: Switches) {
    global().set_switches(switches);
}

/// Adds a GPU duration to a label.
#[inline]
pub fn record(label: &str, gpu_ns: u64) {
    global().record(label, gpu_ns);
}

/// Adds a GPU duration to a label of [`label`].
#[inline]
pub fn record_id(label: LabelId, gpu_ns: u64) {
    global().record_id(label, gpu_ns);
}

/// A label's number in the process-wide recorder.
pub fn label(text: &str) -> LabelId {
    global().label(text)
}

/// Records one dispatch.
pub fn record_dispatch(entry: DispatchEntry) {
    global().record_dispatch_entry(&entry);
}

/// Takes in one reading of both clocks.
pub fn record_clock_pair(cpu_ns: u64, gpu_ticks: u64) {
    global().record_clock_pair(cpu_ns, gpu_ticks);
}

/// Converts GPU ticks to host nanoseconds; 1:1 while there is no clock pair.
pub fn convert_gpu_ticks_to_ns(gpu_ticks: u64) -> u64 {
    global().convert_gpu_ticks_to_ns(gpu_ticks)
}

/// Starts over; see [`Recorder::reset`].
pub fn reset() {
    global().reset();
}

/// Labels with their figures, by total time.
pub fn dump() -> Vec<(String, ProfileEntry)> {
    global().dump()
}

/// Dispatches grouped by their command buffer's label.
pub fn dump_dispatches() -> Vec<(String, Vec<DispatchEntry>)> {
    global().dump_dispatches()
}
