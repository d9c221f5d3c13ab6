//! Logs of kernels (`os_log`): records that a dispatch leaves in a buffer of its own become lines, for the handlers of a log state or for
//! standard error. `metal_logging` of crate `msl` writes them and says what they look like.

use crate::plain;
use crate::resource::lock;
use assay_exec::Bindings;
use assay_foundation::string::string;
use assay_objc::block::{Block, Callback};
use assay_objc::diagnostics::tell;
use assay_objc::root::NSOBJECT;
use assay_objc::{Id, Strong, class};
use std::sync::Mutex;

/// The number of the buffer among what has an address: nothing else gets it.
pub(crate) const NUMBER: u32 = 1;

/// Defined for sources that are compiled with logging.
pub(crate) const MACRO: &str = "__ASSAY_LOGGING=1";

/// Bytes of a buffer where none are asked for, and the least and most.
const USUAL: i64 = 1 << 20;
const LEAST: i64 = 1 << 10;
const MOST: i64 = 1 << 30;

/// `MTLLogLevel`, from 1 on.
const LEVELS: [&str; 5] = ["debug", "info", "notice", "error", "fault"];

/// Who wants to see logs.
#[derive(Debug, Default)]
pub struct LogState {
    /// The least level.
    level: i64,
    bytes: i64,
    handlers: Mutex<Vec<Callback>>,
}

/// A log state as a descriptor wants it.
///
/// # Safety
/// The descriptor must be one, or nil.
pub(crate) unsafe fn log_state(descriptor: Id) -> Strong {
    // SAFETY: the caller's promise; `LogState` is the state of the class.
    unsafe {
        LOG_STATE.make(LogState {
            level: plain::get(descriptor, c"level").unwrap_or(0),
            bytes: plain::get(descriptor, c"bufferSize").unwrap_or(0),
            handlers: Mutex::default(),
        })
    }
}

class! {
    /// `id<MTLLogState>`.
    pub LOG_STATE = "AssayMTLLogState": NSOBJECT, LogState, ["MTLLogState"];
    - "addLogHandler:" "v@:@?" (this, block: *const Block) { lock(&this.handlers).extend(Callback::keep(block)); }
}

/// Gives a dispatch a buffer for its logs; one without room if there is no log state, as on a Mac.
pub(crate) fn bind(state: &Strong, bindings: &mut Bindings) -> Box<[u32]> {
    // SAFETY: the reference keeps it.
    let state = unsafe { LOG_STATE.state::<LogState>(state.id()) };
    let bytes = match state {
        Some(state) if state.bytes > 0 => state.bytes.clamp(LEAST, MOST),
        Some(_) => USUAL,
        // Records that do not fit are left out: all of them.
        None => 8,
    };
    let mut words = vec![0; bytes as usize / 4].into_boxed_slice();
    words[1] = words.len() as u32 - 2;
    // SAFETY: the words live until the dispatch has run, and only its kernels access them.
    let buffer =
        unsafe { assay_exec::Buffer::lent(words.as_mut_ptr().cast(), words.len() * 4, true) };
    bindings.set_resident(NUMBER, buffer, "the log");
    words
}

/// Tells what a dispatch has logged.
pub(crate) fn deliver(state: &Strong, words: &[u32]) {
    // SAFETY: the reference keeps it.
    let Some(state) = (unsafe { LOG_STATE.state::<LogState>(state.id()) }) else {
        return;
    };
    let wanted = words.first().copied().unwrap_or(0) as usize;
    let room = words.get(2..).unwrap_or_default();
    let mut rest = room.get(..wanted.min(room.len())).unwrap_or_default();
    while let Some((record, after)) = Record::read(rest) {
        rest = after;
        if i64::from(record.level) >= state.level {
            record.tell(&lock(&state.handlers));
        }
    }
    if wanted > room.len() {
        tell(&format!(
            "log: {} bytes of messages did not fit: bufferSize of the log state has {}",
            (wanted - room.len()) * 4,
            room.len() * 4
        ));
    }
}

/// A value of a message.
enum Value {
    Signed(Vec<i64>),
    Unsigned(Vec<u64>),
    Float(Vec<f64>),
    Text(String),
}

struct Record {
    level: u32,
    subsystem: String,
    category: String,
    message: String,
}

impl Record {
    /// The first record, and what follows it. A record that was not finished has a level of zero, and ends the log.
    fn read(words: &[u32]) -> Option<(Record, &[u32])> {
        let [level, lengths @ .., arguments] =
            words.get(..5)?.try_into().ok().map(|head: [u32; 5]| head)?;
        if level == 0 {
            return None;
        }
        let mut rest = words.get(5..)?;
        let mut texts = [const { String::new() }; 3];
        for (text, length) in texts.iter_mut().zip(lengths) {
            *text = take_text(&mut rest, length)?;
        }
        let mut values = Vec::new();
        for _ in 0..arguments {
            values.push(take_value(&mut rest)?);
        }
        let [subsystem, category, format] = texts;
        let record = Record {
            level,
            subsystem,
            category,
            message: message(&format, values),
        };
        Some((record, rest))
    }

    fn tell(&self, handlers: &[Callback]) {
        if handlers.is_empty() {
            let level = LEVELS.get(self.level as usize - 1).unwrap_or(&"notice");
            let from = [&*self.subsystem, &*self.category].join(":");
            let from = if from == ":" {
                String::new()
            } else {
                format!(" {from}")
            };
            return tell(&format!("log: {level}{from}: {}", self.message));
        }
        let texts = [&self.subsystem, &self.category, &self.message].map(|text| string(text));
        for handler in handlers {
            let (function, block) = handler.function();
            // SAFETY: such blocks take two strings, a level and a string.
            unsafe {
                let handler: unsafe extern "C-unwind" fn(*mut Block, Id, Id, i64, Id) =
                    std::mem::transmute(function);
                let [subsystem, category, message] = texts.each_ref().map(Strong::id);
                handler(block, subsystem, category, i64::from(self.level), message);
            }
        }
    }
}

fn take<'w>(words: &mut &'w [u32], count: usize) -> Option<&'w [u32]> {
    let (taken, rest) = words.split_at_checked(count)?;
    *words = rest;
    Some(taken)
}

fn take_text(words: &mut &[u32], length: u32) -> Option<String> {
    let bytes: Vec<u8> = take(words, length as usize)?
        .iter()
        .map(|word| *word as u8)
        .collect();
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn take_value(words: &mut &[u32]) -> Option<Value> {
    let kind = *take(words, 1)?.first()?;
    let count = kind >> 8;
    if kind & 0xff == 3 {
        return take_text(words, count).map(Value::Text);
    }
    let pairs = take(words, 2 * count as usize)?.chunks_exact(2);
    let bits: Vec<u64> = pairs
        .map(|pair| u64::from(pair[0]) | u64::from(pair[1]) << 32)
        .collect();
    Some(match kind & 0xff {
        0 => Value::Signed(bits.iter().map(|bits| *bits as i64).collect()),
        1 => Value::Unsigned(bits),
        _ => Value::Float(
            bits.iter()
                .map(|bits| f64::from(f32::from_bits(*bits as u32)))
                .collect(),
        ),
    })
}

/// A format with its values, as `printf` has them; `%v4f` is a vector.
fn message(format: &str, values: Vec<Value>) -> String {
    let mut values = values.into_iter();
    let mut text = String::new();
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        text.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            text.push('%');
            rest = after;
            continue;
        }
        let is_conversion = |c: char| "diouxXcsfFeEgGaAp".contains(c);
        let Some(end) = rest.find(is_conversion) else {
            text.push('%');
            break;
        };
        let (flags, conversion) = (&rest[..end], rest.as_bytes()[end]);
        match values.next() {
            Some(value) => text.push_str(&shown(value, flags, conversion)),
            None => text.push_str("(missing)"),
        }
        rest = &rest[end + 1..];
    }
    text.push_str(rest);
    text
}

fn shown(value: Value, flags: &str, conversion: u8) -> String {
    let flags = flags.split(['v', 'h', 'l']).next().unwrap_or("");
    let (width, precision) = flags.split_once('.').unwrap_or((flags, ""));
    let digits = width.trim_start_matches(['-', '+', ' ', '#', '0']);
    let signs = &width[..width.len() - digits.len()];
    let width = digits.parse().unwrap_or(0);
    let precision = precision.parse().ok();
    let one = |number: f64, whole: i128| {
        let text = match conversion {
            b'x' | b'p' => format!("{:x}", whole as u64),
            b'X' => format!("{:X}", whole as u64),
            b'o' => format!("{:o}", whole as u64),
            b'c' => String::from(whole as u8 as char),
            b'e' | b'E' => exponent(number, precision.unwrap_or(6)),
            b'g' | b'G' => general(number, precision.unwrap_or(6)),
            b'f' | b'F' | b'a' | b'A' => format!("{number:.*}", precision.unwrap_or(6)),
            _ => whole.to_string(),
        };
        let text = match signs.contains('+') && !text.starts_with('-') {
            true => format!("+{text}"),
            false => text,
        };
        match () {
            () if signs.contains('-') => format!("{text:<width$}"),
            () if signs.contains('0') => zeros(&text, width),
            () => format!("{text:>width$}"),
        }
    };
    let all: Vec<String> = match value {
        Value::Text(text) => return format!("{text:>width$}"),
        Value::Signed(all) => all.iter().map(|n| one(*n as f64, i128::from(*n))).collect(),
        Value::Unsigned(all) => all.iter().map(|n| one(*n as f64, i128::from(*n))).collect(),
        Value::Float(all) => all.iter().map(|n| one(*n, *n as i128)).collect(),
    };
    all.join(",")
}

fn zeros(text: &str, width: usize) -> String {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text),
    };
    format!(
        "{sign}{digits:0>width$}",
        width = width.saturating_sub(sign.len())
    )
}

/// `%e`: an exponent of two digits at least.
fn exponent(number: f64, precision: usize) -> String {
    let text = format!("{number:.precision$e}");
    let Some((mantissa, exponent)) = text.split_once('e') else {
        return text;
    };
    let (sign, digits) = match exponent.strip_prefix('-') {
        Some(digits) => ('-', digits),
        None => ('+', exponent),
    };
    format!("{mantissa}e{sign}{digits:0>2}")
}

/// `%g`: as many digits as matter.
fn general(number: f64, precision: usize) -> String {
    let precision = precision.max(1);
    let scientific = exponent(number, precision - 1);
    let Some((mantissa, power)) = scientific.split_once('e') else {
        return scientific;
    };
    let power: i32 = power.parse().unwrap_or(0);
    let bare = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if power < -4 || power >= precision as i32 {
        return format!("{}{}", bare(mantissa), &scientific[mantissa.len()..]);
    }
    let decimals = (precision as i32 - 1 - power).max(0) as usize;
    bare(&format!("{number:.decimals$}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_formatted_as_printf_does() {
        let values = vec![
            Value::Signed(vec![-7]),
            Value::Float(vec![0.5]),
            Value::Unsigned(vec![255]),
            Value::Text("text".to_owned()),
            Value::Float(vec![1.0, 2.5]),
            Value::Float(vec![1e-7]),
        ];
        let format = "%04d|%.2f|%5x|%s|%v2f|%g|100%%";
        assert_eq!(
            message(format, values),
            "-007|0.50|   ff|text|1.000000,2.500000|1e-07|100%"
        );
        assert_eq!(
            message("%d and %d", vec![Value::Signed(vec![1])]),
            "1 and (missing)"
        );
        assert_eq!(general(0.0001, 6), "0.0001");
        assert_eq!(general(1234567.0, 6), "1.23457e+06");
    }

    #[test]
    fn a_record_that_was_cut_off_is_not_read() {
        let record = [2, 0, 0, 1, 0, u32::from(b'x')];
        let (read, rest) = Record::read(&record).expect("whole");
        assert_eq!((read.level, &*read.message, rest.len()), (2, "x", 0));
        assert!(Record::read(&record[..5]).is_none());
        assert!(Record::read(&[0; 8]).is_none());
    }
}
