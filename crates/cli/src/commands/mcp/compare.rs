//! The tool `compare`: two kernels run on the same inputs, and the buffers they leave.

use super::worker::{Done, Job};
use crate::confine;
use crate::failure::Failure;
use crate::launch::Disk;
use assay_launch::element::Element;
use assay_launch::npy::Array;
use assay_report::envelope::Envelope;
use serde::Serialize;
use std::path::{Path, PathBuf};

#[cfg(test)]
use schemars::JsonSchema;

/// Two kernels compared by what they compute.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct Document {
    /// Whether every buffer has the same bytes.
    same: bool,
    /// Buffer by buffer.
    buffers: Vec<Compared>,
    /// What was run before, as `assay run` reports it.
    before: serde_json::Value,
    /// What was run after.
    after: serde_json::Value,
}

/// A buffer after both runs.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct Compared {
    index: u32,
    /// The type of its numbers.
    #[serde(rename = "type")]
    element: String,
    /// How many numbers it has.
    length: usize,
    /// How many of them differ in their bits.
    differ: usize,
    /// The first that differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<First>,
    /// The largest difference; not there for numbers that are not finite.
    #[serde(skip_serializing_if = "Option::is_none")]
    largest_absolute: Option<f64>,
    /// The largest difference divided by the larger of both magnitudes.
    #[serde(skip_serializing_if = "Option::is_none")]
    largest_relative: Option<f64>,
}

/// An element that differs.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct First {
    element: usize,
    before: String,
    after: String,
}

/// Runs both command lines of a job and compares what they leave.
pub(super) fn run(job: &Job) -> Result<Done, Failure> {
    let folder = tempfile::tempdir()?;
    let place = folder.path().canonicalize()?;
    let mut roots = job.roots.clone();
    roots.push(place.clone());
    confine::to(roots);
    let mut reports = Vec::new();
    for (side, line) in [("before", &job.line), ("after", &job.after)] {
        let mut line = line.clone();
        for index in &job.buffers {
            let file = file(&place, side, *index);
            line.push(format!("--out={index}={}", file.display()));
        }
        let done = job.run(&line);
        if done.error.is_some() {
            return Ok(done);
        }
        let report = serde_json::from_str(&done.output);
        let mut report: serde_json::Value =
            report.map_err(|error| Failure::input(format!("{side}: no report: {error}")))?;
        if let Some(report) = report.as_object_mut() {
            // Where files lay for a moment says nothing.
            report.remove("files");
        }
        reports.push(report);
    }
    let compared: Result<Vec<Compared>, Failure> = job
        .buffers
        .iter()
        .map(|index| {
            let [before, after] = ["before", "after"].map(|side| file(&place, side, *index));
            let array = |path: &Path| {
                let name = path.display().to_string();
                assay_launch::inputs::array(&Disk::default(), &name)
            };
            compared(*index, &array(&before)?, &array(&after)?)
        })
        .collect();
    let buffers = compared?;
    let after = reports.pop().unwrap_or_default();
    let before = reports.pop().unwrap_or_default();
    let document = Document {
        same: buffers.iter().all(|buffer| buffer.differ == 0),
        buffers,
        before,
        after,
    };
    Ok(Done {
        code: u8::from(!document.same),
        output: Envelope::new("assay.compare", 1, document).to_json(),
        error: None,
    })
}

fn file(folder: &Path, side: &str, index: u32) -> PathBuf {
    folder.join(format!("{side}-{index}.npy"))
}

fn compared(index: u32, before: &Array, after: &Array) -> Result<Compared, Failure> {
    let unlike = |why: &str| {
        Failure::usage(format!("buffer {index}: {why}"))
            .advice("describe the buffer alike on both sides")
    };
    if before.descr != after.descr {
        return Err(unlike("its types differ"));
    }
    if before.data.len() != after.data.len() {
        return Err(unlike("its lengths differ"));
    }
    let element = Element::of_array(&before.descr).ok_or_else(|| unlike("an unknown type"))?;
    let pairs = || {
        let before = before.data.chunks_exact(element.size);
        before.zip(after.data.chunks_exact(element.size))
    };
    let mut compared = Compared {
        index,
        element: element.name.to_owned(),
        length: pairs().count(),
        differ: 0,
        first: None,
        largest_absolute: None,
        largest_relative: None,
    };
    let (mut absolute, mut relative) = (0.0_f64, 0.0_f64);
    for (position, (a, b)) in pairs().enumerate().filter(|(_, (a, b))| a != b) {
        let ((a_text, a), (b_text, b)) = (element.show(a), element.show(b));
        if compared.differ == 0 {
            compared.first = Some(First {
                element: position,
                before: a_text,
                after: b_text,
            });
        }
        compared.differ += 1;
        let number = |value: Option<serde_json::Number>| value.and_then(|value| value.as_f64());
        let difference = match (number(a), number(b)) {
            (Some(a), Some(b)) => {
                let difference = (a - b).abs();
                relative = relative.max(difference / a.abs().max(b.abs()));
                difference
            }
            _ => f64::INFINITY,
        };
        absolute = absolute.max(difference);
    }
    if compared.differ > 0 && absolute.is_finite() {
        compared.largest_absolute = Some(absolute);
        compared.largest_relative = Some(relative).filter(|value| value.is_finite());
    }
    Ok(compared)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_is_current() {
        crate::schema::check::<Document>("assay.compare", 1);
    }

    fn array(values: &[f32]) -> Array {
        Array {
            descr: "<f4".to_owned(),
            shape: vec![values.len() as u64],
            data: values
                .iter()
                .flat_map(|value| value.to_le_bytes())
                .collect(),
        }
    }

    #[test]
    fn bits_decide_and_sizes_of_differences_are_told() {
        let same = compared(1, &array(&[1.0, 2.0]), &array(&[1.0, 2.0])).unwrap();
        assert_eq!((same.differ, same.largest_absolute), (0, None));
        // Zeros of both signs are equal numbers and other bits.
        let zeros = compared(1, &array(&[0.0, 2.0]), &array(&[-0.0, 2.0])).unwrap();
        assert_eq!((zeros.differ, zeros.largest_absolute), (1, Some(0.0)));
        let far = compared(1, &array(&[4.0, 2.0]), &array(&[4.0, 1.0])).unwrap();
        assert_eq!(far.first.as_ref().unwrap().element, 1);
        assert_eq!(
            (far.largest_absolute, far.largest_relative),
            (Some(1.0), Some(0.5))
        );
        let broken = compared(1, &array(&[f32::NAN]), &array(&[1.0])).unwrap();
        assert_eq!((broken.differ, broken.largest_absolute), (1, None));
        assert!(compared(1, &array(&[1.0]), &array(&[1.0, 2.0])).is_err());
    }
}
