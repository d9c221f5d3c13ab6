//! Known work: how many FLOPs an operation does and how many bytes it moves.
//!
//! A recording has times but not what was computed in them. A *work file* says it, one
//! operation a line, as comma- or tab-separated values:
//!
//! ```text
//! # label, FLOPs and bytes of one execution; empty or - where it is unknown
//! matmul,         137438953472, 100663296
//! upload:Blit *,  -,            16777216
//! ```
//!
//! The document of `assay run --counts --format json` is one, too: its kernel's counted
//! FLOPs and the memory lines it touched.

use crate::error::Error;
use serde::Deserialize;

/// An operation whose work is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    /// What it is called in labels; `*` stands for anything.
    pub pattern: String,
    /// Floating-point operations of one execution.
    pub flops: Option<f64>,
    /// Bytes one execution moves.
    pub bytes: Option<f64>,
    /// The file that says so.
    pub source: String,
}

/// Larger files are refused.
const LARGEST: usize = 64 << 20;
/// Bytes of a memory line, which `assay run --counts` counts.
const LINE: f64 = 128.0;

/// Reads a work file.
///
/// ```
/// let work = assay_trace::read_work("work.csv", b"label,flops,bytes\nmatmul,2e9,3000000\n")?;
/// assert_eq!(work[0].flops, Some(2e9));
/// # Ok::<(), assay_trace::Error>(())
/// ```
pub fn read_work(name: &str, bytes: &[u8]) -> Result<Vec<Work>, Error> {
    if bytes.len() > LARGEST {
        return Err(Error::Inconsistent(format!(
            "{name}: a work file of more than {LARGEST} bytes"
        )));
    }
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_start_matches('\u{feff}');
    if text.trim_start().starts_with(['{', '[']) {
        return counted(name, text);
    }
    let mut out = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let separator = if line.contains('\t') { '\t' } else { ',' };
        let mut cells = line.rsplitn(3, separator).map(str::trim);
        let (Some(bytes), Some(flops), Some(label)) = (cells.next(), cells.next(), cells.next())
        else {
            return Err(bad(name, index, "expected label, FLOPs and bytes"));
        };
        let label = label.trim_matches('"').trim();
        if out.is_empty() && flops.eq_ignore_ascii_case("flops") {
            continue;
        }
        let flops = number(flops).map_err(|what| bad(name, index, &what))?;
        let bytes = number(bytes).map_err(|what| bad(name, index, &what))?;
        out.push(Work {
            pattern: label.to_owned(),
            flops,
            bytes,
            source: name.to_owned(),
        });
    }
    Ok(out)
}

fn bad(name: &str, index: usize, what: &str) -> Error {
    Error::Inconsistent(format!("{name}, line {}: {what}", index + 1))
}

fn number(cell: &str) -> Result<Option<f64>, String> {
    if cell.is_empty() || cell == "-" {
        return Ok(None);
    }
    let plain = cell.replace('_', "");
    match plain.parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 0.0 => Ok(Some(value)),
        _ => Err(format!("{cell} is not a number of 0 or more")),
    }
}

#[derive(Deserialize)]
struct RunDocument {
    kernel: String,
    counts: Counts,
}

#[derive(Deserialize)]
struct Counts {
    threadgroups: u64,
    sampled: u64,
    flops: Option<u64>,
    device: Device,
}

#[derive(Deserialize)]
struct Device {
    bytes_loaded: u64,
    bytes_stored: u64,
    distinct_lines: u64,
}

fn counted(name: &str, text: &str) -> Result<Vec<Work>, Error> {
    let document: RunDocument = serde_json::from_str(text).map_err(|error| {
        Error::Inconsistent(format!(
            "{name}: JSON, but not what assay run --counts --format json writes: {error}"
        ))
    })?;
    let counts = &document.counts;
    if counts.sampled == 0 {
        return Err(Error::Inconsistent(format!(
            "{name}: no threadgroup was counted"
        )));
    }
    let whole = counts.threadgroups as f64 / counts.sampled as f64;
    let device = &counts.device;
    // Memory sees a line once however often the kernel asks for it. Of a part of the grid it is
    // not known how many lines the rest shares, so there the requests stand in.
    let bytes = if counts.sampled == counts.threadgroups {
        device.distinct_lines as f64 * LINE
    } else {
        (device.bytes_loaded as f64 + device.bytes_stored as f64) * whole
    };
    Ok(vec![Work {
        pattern: document.kernel,
        flops: counts.flops.map(|flops| flops as f64 * whole),
        bytes: Some(bytes),
        source: name.to_owned(),
    }])
}

impl Work {
    /// Returns true if a label is this operation's: the whole label, the same with numbers
    /// replaced by `#`, or its encoder's part, with `*` for anything.
    ///
    /// ```
    /// # let work = assay_trace::read_work("w", b"qkv,1,1\n")?;
    /// assert!(work[0].matches("layer 7:qkv"));
    /// assert!(!work[0].matches("layer 7:qkv_bias"));
    /// # Ok::<(), assay_trace::Error>(())
    /// ```
    pub fn matches(&self, label: &str) -> bool {
        let family = crate::label_family(label);
        let encoder = label.rsplit_once(':').map_or(label, |(_, encoder)| encoder);
        [label, family.as_str(), encoder.trim()]
            .iter()
            .any(|text| glob(&self.pattern, text))
    }
}

/// Returns true if `pattern`, in which `*` stands for anything, matches the whole text.
fn glob(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or("");
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let mut last = None;
    for piece in pieces {
        if let Some(middle) = last.replace(piece) {
            let middle: &str = middle;
            match rest.find(middle) {
                Some(at) => rest = rest.get(at + middle.len()..).unwrap_or(""),
                None => return false,
            }
        }
    }
    match last {
        Some(end) => rest.ends_with(end),
        None => rest.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_texts() {
        for (pattern, text, expected) in [
            ("matmul", "matmul", true),
            ("matmul", "matmul2", false),
            ("mat*", "matmul", true),
            ("*mul", "matmul", true),
            ("m*t*l", "matmul", true),
            ("m*x*l", "matmul", false),
            ("*", "", true),
            ("ab*ba", "aba", false),
        ] {
            assert_eq!(glob(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn bad_lines_are_named() {
        let error = read_work("w.csv", b"a,1,2\nb,x,2\n").expect_err("x is no number");
        assert_eq!(
            error.to_string(),
            "w.csv, line 2: x is not a number of 0 or more"
        );
        assert!(read_work("w.csv", b"alone\n").is_err());
        let unknown = read_work("w.tsv", b"a b\t-\t1_000\n").expect("a file");
        assert_eq!((unknown[0].flops, unknown[0].bytes), (None, Some(1000.0)));
    }

    #[test]
    fn counts_of_a_run_are_scaled_to_the_grid() {
        let document = r#"{"kernel":"saxpy","counts":{"threadgroups":10,"sampled":10,"flops":2000,
            "device":{"bytes_loaded":8000,"bytes_stored":4000,"distinct_lines":80}}}"#;
        let whole = read_work("run.json", document.as_bytes()).expect("a document");
        assert_eq!(
            (whole[0].flops, whole[0].bytes),
            (Some(2000.0), Some(10240.0))
        );
        let part = document.replace("\"sampled\":10", "\"sampled\":5");
        let part = read_work("run.json", part.as_bytes()).expect("a document");
        assert_eq!(
            (part[0].flops, part[0].bytes),
            (Some(4000.0), Some(24000.0))
        );
        assert!(read_work("x.json", b"{}").is_err());
    }
}
