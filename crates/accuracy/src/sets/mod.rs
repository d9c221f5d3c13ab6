//! The published sets, one module each: which rows are usable and what each row ran.
//!
//! The rows come from the fixture files; geometry, buffers and scalars that a fixture
//! does not state are facts read from the publisher's host code.

mod apple_numerical;
mod bkvogel;
mod crynux;
mod gemm_metal;
mod metal_sci;
mod metalbench;

use crate::case::{Case, Cases, Set};
use crate::{Error, Result};
use serde::de::DeserializeOwned;
use std::path::Path;

/// All rows of the chosen sets, from the folder of fixtures.
pub fn read(fixtures: &Path, sets: &[Set]) -> Result<Cases> {
    let mut all = Cases::default();
    for set in sets {
        all.extend(match set {
            Set::MetalBench => metalbench::read(&json(fixtures, "metalbench-m2.json")?),
            Set::MetalSci => metal_sci::read(&json(fixtures, "metal-sci-m1pro.json")?),
            Set::GemmMetal => gemm_metal::read(&json(fixtures, "gemm-metal-m3.json")?),
            Set::Bkvogel => bkvogel::read(&json(fixtures, "bkvogel-m1max.json")?),
            Set::AppleNumerical => {
                apple_numerical::read(&json(fixtures, "applenumerical-m1.json")?)
            }
            Set::Crynux => crynux::read(&json(fixtures, "crynux-m1max.json")?),
        });
    }
    Ok(all)
}

fn json<T: DeserializeOwned>(fixtures: &Path, name: &str) -> Result<T> {
    let path = fixtures.join(name);
    let fail = |error: String| Error::from(format!("{}: {error}", path.display()));
    let text = std::fs::read(&path).map_err(|error| fail(error.to_string()))?;
    serde_json::from_slice(&text).map_err(|error| fail(error.to_string()))
}

/// Checks the threadgroup memory that the publisher recorded against what our compiler
/// finds in the source. Returns the reason to leave the case out.
pub fn contradiction(case: &Case, compiled_bytes: u32) -> Option<String> {
    /// Padding between variables may differ.
    const PADDING: u32 = 16;
    let recorded = case.recorded_threadgroup_bytes?;
    (recorded.abs_diff(compiled_bytes) > PADDING).then(|| {
        "threadgroup memory recorded is not that of the source: another source was measured"
            .to_owned()
    })
}

/// Wall-clock protocols: what a command buffer costs besides the GPU's work, in µs.
/// AppleNumericalComputing's empty runs take 160–200 µs on macOS 12.
const SUBMISSION_US: f64 = 170.0;

/// Operations and bytes of a product of matrices of floats.
fn product_work(m: u32, n: u32, k: u32) -> (f64, f64) {
    let [m, n, k] = [m, n, k].map(f64::from);
    (2.0 * m * n * k, 4.0 * (m * k + k * n + m * n))
}
