//! The modelled clock: with `ASSAY_METAL_CLOCK` every time that the program asks of the GPU is a prediction. What is committed goes through a
//! socket, written as a recording is; `assay metal run --clock modelled` listens, and answers with a line of JSON per command buffer.
//!
//! The modelled GPU begins with the host's time of the first commit, and from then on no time of the host is in what it tells. A time that
//! cannot be predicted is unknown: Metal's value for a counter's error, and zero for a command buffer's times.

use crate::command::{Command, Edge};
use crate::counters;
use crate::queue::CommandBuffer;
use crate::record::Recorder;
use crate::report::log;
use crate::resource::lock;
use crate::settings::settings;
use assay_foundation::system::nanoseconds;
use assay_objc::diagnostics::tell;
use serde_json::Value;
use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};

/// When something began and ended, in microseconds of the modelled GPU.
type Span = [f64; 2];

/// A command buffer's times.
#[derive(Debug, Default)]
struct Times {
    whole: Option<Span>,
    encoders: Vec<Option<Span>>,
}

#[derive(Debug, Default)]
struct Answers {
    by_number: HashMap<u64, Times>,
    /// Nobody answers any more.
    has_ended: bool,
    chip: String,
    /// What all command buffers took, and how many have no time.
    total_us: f64,
    unknown: u64,
}

struct Clock {
    recorder: Mutex<Option<Recorder<UnixStream>>>,
    answers: Mutex<Answers>,
    changed: Condvar,
    /// The host's time of the first commit.
    start: u64,
}

/// Returns true if times are modelled.
pub(crate) fn is_on() -> bool {
    settings().clock.is_some() && !crate::fork::is_forked()
}

static CLOCK: OnceLock<Option<Clock>> = OnceLock::new();

/// The clock, connected with the first command buffer.
fn clock() -> Option<&'static Clock> {
    let path = settings().clock.as_ref().filter(|_| is_on())?;
    CLOCK.get_or_init(|| connect(path)).as_ref()
}

fn connect(path: &Path) -> Option<Clock> {
    let connected = UnixStream::connect(path).and_then(|out| {
        let answers = out.try_clone()?;
        Ok((Recorder::begin(out)?, answers))
    });
    let (recorder, answers) = match connected {
        Ok(both) => both,
        Err(why) => {
            tell(&format!(
                "no modelled clock at {}: {why}; GPU times are unknown",
                path.display()
            ));
            return None;
        }
    };
    // A thread of its own, so that a commit never waits for an answer.
    let listen = std::thread::Builder::new().name("metal clock".to_owned());
    listen
        .spawn(move || listen_to(BufReader::new(answers)))
        .ok()?;
    Some(Clock {
        recorder: Mutex::new(Some(recorder)),
        answers: Mutex::default(),
        changed: Condvar::new(),
        start: nanoseconds(),
    })
}

fn listen_to(answers: impl BufRead) {
    let Some(clock) = clock() else { return };
    for line in answers.lines() {
        let Ok(line) = line else { break };
        let Ok(answer) = serde_json::from_str::<Value>(&line) else {
            break;
        };
        clock.take(&answer);
    }
    lock(&clock.answers).has_ended = true;
    clock.changed.notify_all();
}

fn span(value: &Value) -> Option<Span> {
    Some([value.get(0)?.as_f64()?, value.get(1)?.as_f64()?])
}

impl Clock {
    fn take(&self, answer: &Value) {
        let all = |name: &str| answer[name].as_array().cloned().unwrap_or_default();
        for one in all("unknown") {
            let [kernel, why] = [0, 1].map(|at| one[at].as_str().unwrap_or_default().to_owned());
            tell(&format!(
                "clock: kernel \"{kernel}\" has no modelled time: {why}"
            ));
        }
        let times = Times {
            whole: span(&answer["span_us"]),
            encoders: all("encoders_us").iter().map(span).collect(),
        };
        let mut answers = lock(&self.answers);
        if let Some(chip) = answer["chip"].as_str() {
            chip.clone_into(&mut answers.chip);
        }
        let Some(number) = answer["id"].as_u64() else {
            return;
        };
        match times.whole {
            Some([start, end]) => answers.total_us += end - start,
            None => answers.unknown += 1,
        }
        answers.by_number.insert(number, times);
        drop(answers);
        self.changed.notify_all();
    }

    fn wait_for(&self, number: u64) -> Times {
        let mut answers = lock(&self.answers);
        loop {
            if let Some(times) = answers.by_number.remove(&number) {
                return times;
            }
            if answers.has_ended {
                return Times::default();
            }
            answers = self
                .changed
                .wait(answers)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn nanoseconds(&self, us: f64) -> u64 {
        self.start + (us * 1e3).round() as u64
    }
}

/// A command buffer is committed.
pub(crate) fn committed(buffer: &CommandBuffer) {
    let Some(clock) = clock() else { return };
    let mut place = lock(&clock.recorder);
    if let Some(recorder) = place.as_mut()
        && let Err(why) = recorder
            .command_buffer(buffer)
            .and_then(|()| recorder.flush())
    {
        tell(&format!("the modelled clock ends here: {why}"));
        *place = None;
        lock(&clock.answers).has_ended = true;
        clock.changed.notify_all();
    }
}

/// The times of a command buffer that has run, start and end, in nanoseconds; samples of its encoders are taken.
pub(crate) fn completed(number: u64, commands: &[Command]) -> [u64; 2] {
    let Some(clock) = clock() else { return [0; 2] };
    let times = clock.wait_for(number);
    let mut encoder = 0;
    for command in commands {
        match command {
            Command::Begin(_) => encoder += 1,
            Command::Sample(samples, index, edge) => {
                // An encoder's first sample is encoded before it.
                let own = match edge {
                    Edge::Start => times.encoders.get(encoder),
                    Edge::End => encoder
                        .checked_sub(1)
                        .and_then(|own| times.encoders.get(own)),
                };
                let span = own.copied().flatten();
                let time = span.map(|span| clock.nanoseconds(span[*edge as usize]));
                counters::set(samples, *index, time.unwrap_or(counters::UNKNOWN));
            }
            _ => {}
        }
    }
    let whole = times.whole.map(|span| span.map(|us| clock.nanoseconds(us)));
    log(2, || match times.whole {
        Some([start, end]) => format!("command buffer {number}: {:.3} µs (modelled)", end - start),
        None => format!("command buffer {number}: no modelled time"),
    });
    whole.unwrap_or_default()
}

/// What the clock has told in all: the chip, seconds, command buffers without a time; nothing if times are the host's.
pub(crate) fn summary() -> Option<(String, f64, u64)> {
    let clock = CLOCK.get()?.as_ref()?;
    let answers = lock(&clock.answers);
    Some((
        answers.chip.clone(),
        answers.total_us * 1e-6,
        answers.unknown,
    ))
}
