//! Numbers for people: digits grouped, units scaled, unknown said so.

/// Digits in groups of three: `17248` → `17,248`.
///
/// ```
/// assert_eq!(assay_report::number::grouped(17248), "17,248");
/// ```
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A byte count with a binary unit: `1536` → `1.5 KiB`.
///
/// ```
/// assert_eq!(assay_report::number::bytes(1536), "1.5 KiB");
/// assert_eq!(assay_report::number::bytes(100), "100 B");
/// ```
pub fn bytes(value: u64) -> String {
    scaled(value as f64, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB"])
}

/// A count of float operations with a decimal unit.
///
/// ```
/// assert_eq!(assay_report::number::flop(2.1e9), "2.1 GFLOP");
/// ```
pub fn flop(value: f64) -> String {
    let units = ["FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"];
    scaled(value, 1000.0, &units)
}

/// A duration in the unit that keeps it readable: `12_300.0` ns → `12.3 µs`.
///
/// ```
/// assert_eq!(assay_report::number::nanoseconds(12_300.0), "12.3 µs");
/// ```
pub fn nanoseconds(value: f64) -> String {
    scaled(value, 1000.0, &["ns", "µs", "ms", "s"])
}

fn scaled(mut value: f64, step: f64, units: &[&str]) -> String {
    let mut unit = 0;
    while value.abs() >= step && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    if value.fract() == 0.0 {
        format!("{value:.0} {}", units[unit])
    } else {
        format!("{value:.1} {}", units[unit])
    }
}

/// The value, or `unknown`: an unknown figure never prints as 0.
///
/// ```
/// assert_eq!(assay_report::number::or_unknown(None::<u32>), "unknown");
/// ```
pub fn or_unknown<T: std::fmt::Display>(value: Option<T>) -> String {
    value.map_or_else(|| "unknown".to_owned(), |value| value.to_string())
}
