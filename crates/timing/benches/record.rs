//! What recording costs, beside a stand-in for the scheme it replaces, in one run:
//!
//! ```text
//! cargo bench -p assay-timing              # the table
//! cargo bench -p assay-timing -- --check   # and exit 1 if a bar is missed
//! ```
//!
//! The stand-in is written here in the shape of the old module: one mutex around a map
//! from owned label to figures, one around a growing list of dispatches. Times are the
//! *processor* time of the recording threads per record, so that a machine with fewer
//! cores than threads does not count waiting for a core; each figure is the median of
//! several rounds, ours and the stand-in's in turn.
#![allow(clippy::print_stdout, clippy::exit)]

use assay_timing::{CommandBufferId, DispatchEntry, DispatchSample, Recorder};
use std::hint::black_box;
use std::sync::Barrier;

const ROUNDS: usize = 9;
const CALLS: usize = 1_000_000;
const LABEL: &str = "decode.layer.attention";

/// The scheme this crate replaces.
mod old {
    use std::collections::HashMap;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicI8, Ordering};

    #[derive(Default)]
    pub(crate) struct Figures {
        pub(crate) count: u64,
        total_ns: u64,
        min_ns: u64,
        max_ns: u64,
    }

    pub(crate) struct Dispatch {
        pub(crate) label: String,
        pub(crate) kind: &'static str,
        pub(crate) index: u32,
        pub(crate) ns: u64,
        pub(crate) start: u64,
        pub(crate) end: u64,
    }

    pub(crate) static ENABLED: AtomicI8 = AtomicI8::new(0);

    #[derive(Default)]
    pub(crate) struct Profile {
        pub(crate) table: Mutex<HashMap<String, Figures>>,
        pub(crate) dispatches: Mutex<Vec<Dispatch>>,
    }

    impl Profile {
        pub(crate) fn record(&self, label: &str, ns: u64) {
            let mut table = self.table.lock().unwrap();
            let figures = table.entry(label.to_string()).or_default();
            if figures.count == 0 || ns < figures.min_ns {
                figures.min_ns = ns;
            }
            figures.max_ns = figures.max_ns.max(ns);
            figures.count += 1;
            figures.total_ns = figures.total_ns.saturating_add(ns);
        }

        pub(crate) fn record_dispatch(&self, dispatch: Dispatch) {
            self.dispatches.lock().unwrap().push(dispatch);
        }
    }

    pub(crate) fn is_enabled() -> bool {
        ENABLED.load(Ordering::Relaxed) == 1
    }
}

/// Processor time of the calling thread in nanoseconds.
fn thread_ns() -> f64 {
    #[repr(C)]
    struct TimeSpec {
        seconds: std::ffi::c_long,
        nanoseconds: std::ffi::c_long,
    }
    unsafe extern "C" {
        fn clock_gettime(clock: std::ffi::c_int, time: *mut TimeSpec) -> std::ffi::c_int;
    }
    const THREAD_CPU_TIME: std::ffi::c_int = if cfg!(target_os = "macos") { 16 } else { 3 };
    let mut time = TimeSpec {
        seconds: 0,
        nanoseconds: 0,
    };
    // SAFETY: the structure has the C layout of `struct timespec` on 64-bit Unix and
    // outlives the call.
    unsafe { clock_gettime(THREAD_CPU_TIME, &mut time) };
    time.seconds as f64 * 1e9 + time.nanoseconds as f64
}

/// Durations as a decode loop has them: mostly alike, a few long ones.
fn durations() -> Vec<u64> {
    (0..1024u64)
        .map(|n| 40_000 + n * 7919 % 9_000 + if n % 97 == 0 { 200_000 } else { 0 })
        .collect()
}

/// Processor time per call of `work` with `threads` threads making `calls` calls each.
fn per_call(threads: usize, calls: usize, work: &(impl Fn(u64) + Sync)) -> f64 {
    let durations = durations();
    let barrier = Barrier::new(threads);
    let total: f64 = std::thread::scope(|scope| {
        let run = || {
            // First samples allocate; a program's steady state does not.
            durations.iter().for_each(|ns| work(*ns));
            barrier.wait();
            let start = thread_ns();
            for call in 0..calls {
                work(black_box(durations[call & 1023]));
            }
            thread_ns() - start
        };
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum()
    });
    total / (threads * calls) as f64
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

struct Report<'old> {
    old: &'old old::Profile,
    missed: usize,
}

impl Report<'_> {
    /// Measures both in turn, prints a row and gives our figure.
    fn row(
        &mut self,
        name: &str,
        threads: usize,
        bar: Option<f64>,
        ours: impl Fn(u64) + Sync,
        old: impl Fn(u64) + Sync,
    ) -> f64 {
        let (mut our_times, mut old_times) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            our_times.push(per_call(threads, CALLS / threads, &ours));
            // The old list grows without end; a round starts as a program does.
            *self.old.dispatches.lock().unwrap() = Vec::new();
            old_times.push(per_call(threads, CALLS / threads, &old));
        }
        let (ours, old) = (median(our_times), median(old_times));
        let verdict = match bar {
            Some(bar) if ours <= bar => format!("≤ {bar:.1}  ok"),
            Some(bar) => {
                self.missed += 1;
                format!("≤ {bar:.1}  MISSED")
            }
            None => String::new(),
        };
        println!(
            "{name:<34} {threads:>7} {ours:>9.2} {old:>9.2} {:>7.1}x  {verdict}",
            old / ours
        );
        ours
    }
}

fn main() {
    let check = std::env::args().any(|argument| argument == "--check");
    let recorder = Recorder::new();
    let label = recorder.label(LABEL);
    // Other labels, so that looking one up is not looking the only one up.
    for layer in 0..200 {
        recorder.record(&format!("decode.layer.{layer}"), 1);
    }
    let old = old::Profile::default();
    for layer in 0..200 {
        old.record(&format!("decode.layer.{layer}"), 1);
    }
    println!("host processor time in ns per call (not GPU time), median of {ROUNDS} rounds\n");
    println!(
        "{:<34} {:>7} {:>9} {:>9} {:>8}  bar",
        "", "threads", "this", "old", "ratio"
    );
    let mut report = Report {
        old: &old,
        missed: 0,
    };

    assay_timing::set_switches(assay_timing::Switches::default());
    report.row(
        "off: if is_enabled() { record }",
        1,
        Some(1.0),
        |ns| {
            if assay_timing::is_enabled() {
                recorder.record_id(label, ns);
            }
        },
        |ns| {
            if old::is_enabled() {
                old.record(LABEL, ns);
            }
        },
    );
    let record_old = |ns| old.record(LABEL, ns);
    let record_id = |ns| recorder.record_id(label, ns);
    let record = |ns| recorder.record(black_box(LABEL), ns);
    let alone = report.row("record by id", 1, Some(15.0), record_id, record_old);
    let alone_text = report.row("record by string", 1, Some(40.0), record, record_old);
    for threads in [2, 4, 8] {
        let bar = Some(2.0 * alone);
        report.row(
            "record by id, same label",
            threads,
            bar,
            record_id,
            record_old,
        );
    }
    for threads in [2, 4, 8] {
        let bar = Some(2.0 * alone_text);
        report.row(
            "record by string, same label",
            threads,
            bar,
            record,
            record_old,
        );
    }
    report.row(
        "global record by string",
        1,
        Some(40.0),
        |ns| assay_timing::record(black_box(LABEL), ns),
        record_old,
    );
    dispatches(&mut report, &recorder, &old);

    if report.missed > 0 {
        println!("\n{} bars missed", report.missed);
        if check {
            std::process::exit(1);
        }
    }
}

fn dispatches(report: &mut Report<'_>, recorder: &Recorder, old: &old::Profile) {
    let (label, kernel) = (recorder.label(LABEL), recorder.label("rms_norm_f16"));
    let by_id = |ns| {
        recorder.record_dispatch(&DispatchSample {
            command_buffer: CommandBufferId::from_raw(1),
            label,
            kernel,
            index: 3,
            start_ns: 1_000_000,
            end_ns: 1_000_000 + ns,
        });
    };
    let old_dispatch = |ns| {
        old.record_dispatch(old::Dispatch {
            label: black_box(LABEL).to_string(),
            kind: "RmsNorm",
            index: 3,
            ns,
            start: 1_000_000,
            end: 1_000_000 + ns,
        });
    };
    report.row("dispatch by id", 1, Some(25.0), by_id, old_dispatch);
    report.row("dispatch by id", 2, None, by_id, old_dispatch);
    let entry = |ns| {
        recorder.record_dispatch_entry(&DispatchEntry {
            cb_label: black_box(LABEL).to_string(),
            op_kind: "RmsNorm",
            dispatch_index: 3,
            gpu_ns: ns,
            start_gpu_ns: 1_000_000,
            end_gpu_ns: 1_000_000 + ns,
        });
    };
    report.row("dispatch, old interface", 1, None, entry, old_dispatch);
    let kept = old.dispatches.lock().unwrap();
    black_box(
        kept.iter()
            .map(|d| {
                d.ns + d.start + d.end + u64::from(d.index) + (d.label.len() + d.kind.len()) as u64
            })
            .max(),
    );
}
