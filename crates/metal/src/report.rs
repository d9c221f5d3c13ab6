//! What is told about a run: reports and faults of kernels, wrong uses of the API, dispatches without an order, and a summary at exit.

use crate::clock;
use crate::command::Origin;
use crate::settings::{leaks, settings};
use crate::stack::Stack;
use crate::suppress;
use assay_objc::diagnostics::{alive, objects_outside_pools, tell};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

static DISPATCHES: AtomicU64 = AtomicU64::new(0);
static NANOSECONDS: AtomicU64 = AtomicU64::new(0);
static SUPPRESSED: AtomicU64 = AtomicU64::new(0);
/// By kind of report how many there were, repetitions counted.
static COUNTS: [AtomicU64; 4] = [const { AtomicU64::new(0) }; 4];
/// How often what is the same was told: only the first time it is shown.
static TOLD: LazyLock<Mutex<HashMap<String, u64>>> = LazyLock::new(Mutex::default);
/// Most different reports that are shown.
const SHOWN: usize = 500;

/// Kinds of reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A kernel did what it must not.
    Check,
    /// A kernel was stopped.
    Fault,
    /// The program used the API wrongly.
    Validation,
    /// Nothing orders two dispatches that touch the same bytes.
    Race,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::Fault => "fault",
            Self::Validation => "validation",
            Self::Race => "race",
        }
    }
}

/// Something that is told.
#[derive(Debug)]
pub(crate) struct Told<'a> {
    pub(crate) kind: Kind,
    /// What, in one word.
    pub(crate) rule: &'a str,
    /// In words.
    pub(crate) text: String,
    /// What reports have in common that are one and the same; the text if empty.
    pub(crate) same: String,
    /// The line of the kernel's source.
    pub(crate) source: Option<String>,
    /// What it is about.
    pub(crate) origins: Vec<&'a Origin>,
    /// The calls that led to a wrong use.
    pub(crate) stack: Option<Stack>,
}

static ENCODERS: AtomicU64 = AtomicU64::new(0);

/// Counts a compute encoder.
pub(crate) fn encoder_made() {
    ENCODERS.fetch_add(1, Relaxed);
}

/// Compute encoders made so far.
pub(crate) fn encoders() -> u64 {
    ENCODERS.load(Relaxed)
}

/// Wrong uses so far.
pub(crate) fn wrong_uses() -> u64 {
    COUNTS[Kind::Validation as usize].load(Relaxed)
}

/// Counts a dispatch and the CPU's time for it.
pub(crate) fn dispatched(time: Duration) {
    DISPATCHES.fetch_add(1, Relaxed);
    NANOSECONDS.fetch_add(u64::try_from(time.as_nanos()).unwrap_or(0), Relaxed);
}

/// Tells something, unless it is known or was told. Returns false if it is known.
pub(crate) fn report(told: &Told<'_>) -> bool {
    let kernel = told
        .origins
        .first()
        .map_or(told.text.as_str(), |origin| origin.kernel.as_str());
    if suppress::is_known(told.rule, kernel) {
        SUPPRESSED.fetch_add(1, Relaxed);
        return false;
    }
    if let Some(count) = COUNTS.get(told.kind as usize) {
        count.fetch_add(1, Relaxed);
    }
    let same = if told.same.is_empty() {
        &told.text
    } else {
        &told.same
    };
    let is_new = {
        let mut all = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
        let room = all.len() < SHOWN;
        let times = all
            .entry(format!("{}: {same}", told.kind.name()))
            .or_default();
        *times += 1;
        *times == 1 && room
    };
    if is_new {
        tell(&shown(told));
        append(&document(told));
    }
    if settings().stop {
        end(1);
    }
    true
}

/// Ends the process at once, as after a summary.
fn end(code: i32) -> ! {
    summary();
    flush();
    // SAFETY: the process ends; nothing of it is used any more.
    unsafe { _exit(code) }
}

fn shown(told: &Told<'_>) -> String {
    let kind = told.kind.name();
    let mut text = match told.rule == kind {
        true => format!("{kind}: {}", told.text),
        false => format!("{kind}: {}: {}", told.rule, told.text),
    };
    if let Some(line) = &told.source {
        text.push_str(&format!("\n  | {line}"));
    }
    for origin in &told.origins {
        text.push_str(&format!("\n  {origin}"));
        if let Some(stack) = &origin.stack {
            text.push_str(&format!(", encoded by{stack}"));
        }
    }
    if let Some(stack) = &told.stack {
        text.push_str(&format!("{stack}"));
    }
    text
}

fn document(told: &Told<'_>) -> Value {
    let mut document = json!({ "kind": told.kind.name(), "rule": told.rule, "text": told.text });
    let frames = |stack: &Option<Stack>| stack.as_ref().map(Stack::frames).unwrap_or_default();
    if let Some(origin) = told.origins.first() {
        document["kernel"] = json!(origin.kernel);
        let one = |origin: &&Origin| json!({ "text": origin.to_string(), "stack": frames(&origin.stack) });
        document["dispatches"] = told.origins.iter().map(one).collect();
    }
    if let Some(line) = &told.source {
        document["source"] = json!(line);
    }
    if told.stack.is_some() {
        document["stack"] = json!(frames(&told.stack));
    }
    document
}

/// Appends a line to the file of `ASSAY_METAL_REPORT`: in one piece, since processes share it.
fn append(document: &Value) {
    if let Some(path) = &settings().report {
        let file = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(path);
        if let Ok(mut file) = file {
            // A report that cannot be written has been shown.
            let _ = file.write_all(format!("{document}\n").as_bytes());
        }
    }
}

/// Tells that a kernel was stopped.
pub(crate) fn fault(origin: &Origin, text: String) {
    let told = Told {
        kind: Kind::Fault,
        rule: "fault",
        same: format!("{} {text}", origin.kernel),
        text,
        source: None,
        origins: vec![origin],
        stack: None,
    };
    report(&told);
}

/// Tells that the API was used wrongly, with the calls that led here.
pub(crate) fn wrong_use(text: &str) {
    report(&Told {
        kind: Kind::Validation,
        rule: "api-use",
        text: text.to_owned(),
        same: String::new(),
        source: None,
        origins: Vec::new(),
        stack: Some(Stack::here()),
    });
}

/// Tells that a dispatch was set up wrongly, which shows when it runs.
pub(crate) fn wrong_dispatch(origin: &Origin, text: &str) {
    report(&Told {
        kind: Kind::Validation,
        rule: "api-use",
        text: text.to_owned(),
        same: format!("{} {text}", origin.kernel),
        source: None,
        origins: vec![origin],
        stack: None,
    });
}

/// Tells what happens, at a level of `ASSAY_METAL_LOG`.
pub(crate) fn log(level: u32, text: impl FnOnce() -> String) {
    if settings().log >= level {
        tell(&text());
    }
}

fn summary() {
    // The recording, suppressions and objects that a child has are its parent's.
    let is_child = crate::fork::is_forked();
    if !is_child {
        crate::record::finish();
    }
    let [reports, faults, wrong, races] = COUNTS.each_ref().map(|count| count.load(Relaxed));
    let all = reports + faults + wrong + races;
    let suppressed = SUPPRESSED.load(Relaxed);
    let seconds = NANOSECONDS.load(Relaxed) as f64 * 1e-9;
    let dispatches = DISPATCHES.load(Relaxed);
    if let Some(all) = crate::deferred::count().filter(|_| !is_child) {
        tell(&format!(
            "{dispatches} of {all} dispatches ran: the program could read their results, or they could not be put off"
        ));
    }
    let modelled = if is_child { None } else { clock::summary() };
    if settings().log > 0 || settings().check || all > 0 || modelled.is_some() {
        let mut text = format!(
            "{dispatches} dispatches, {seconds:.3} s in kernels (host time); {reports} reports, {faults} faults, {wrong} wrong uses, {races} races"
        );
        if let Some((chip, seconds, unknown)) = &modelled {
            text.push_str(&format!(
                "; GPU times: {seconds:.6} s in command buffers, modelled for {chip}"
            ));
            if *unknown == 1 {
                text.push_str(", 1 command buffer without a time");
            } else if *unknown > 0 {
                text.push_str(&format!(", {unknown} command buffers without a time"));
            }
        }
        if suppressed > 0 {
            text.push_str(&format!("; {suppressed} suppressed"));
        }
        tell(&text);
    }
    if !is_child {
        for line in suppress::unused() {
            tell(&format!("suppression {line} matched nothing"));
        }
    }
    let gpu = modelled.map(|(chip, seconds, unknown)| json!({ "chip": chip, "modelled_seconds": seconds, "unknown": unknown }));
    append(&json!({ "summary": {
        "dispatches": dispatches, "host_seconds": seconds, "reports": reports, "faults": faults, "wrong_uses": wrong,
        "races": races, "suppressed": suppressed, "gpu": gpu,
    } }));
    if leaks() && !is_child {
        for (class, count) in alive() {
            tell(&format!("left: {count} {class}"));
        }
        tell(&format!(
            "{} objects were autoreleased outside a pool",
            objects_outside_pools()
        ));
    }
}

/// A child made by `fork` counts what happens in itself.
pub(crate) fn begin_anew() {
    for count in COUNTS
        .iter()
        .chain([&DISPATCHES, &NANOSECONDS, &SUPPRESSED, &ENCODERS])
    {
        count.store(0, Relaxed);
    }
}

/// Returns true if a checked run had reports.
fn has_failed() -> bool {
    settings().check && COUNTS.iter().any(|count| count.load(Relaxed) > 0)
}

/// At exit. A program that would end well although a checked run had reports ends with 1, as with other sanitizers.
extern "C" fn at_exit(status: i32, _: *mut std::ffi::c_void) {
    summary();
    if status == 0 && has_failed() {
        flush();
        // SAFETY: the process ends; what was registered before this library is loaded is not run, which is the loader's own.
        unsafe { _exit(1) };
    }
}

/// Writes what C's streams still hold, which `_exit` would drop.
fn flush() {
    // SAFETY: null stands for all streams.
    unsafe { fflush(std::ptr::null_mut()) };
}

unsafe extern "C" {
    fn on_exit(
        function: extern "C" fn(i32, *mut std::ffi::c_void),
        argument: *mut std::ffi::c_void,
    ) -> i32;
    fn _exit(status: i32) -> !;
    fn fflush(stream: *mut std::ffi::c_void) -> i32;
}

pub(crate) fn register() {
    // SAFETY: the function is there until the end. Without it there is no summary.
    unsafe { on_exit(at_exit, std::ptr::null_mut()) };
}
