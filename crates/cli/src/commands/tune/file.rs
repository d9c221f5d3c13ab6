//! The launch of a file's kernel: flags, or a comment of the source.

use super::oracle::FileOracle;
use crate::failure::Failure;
use crate::launch::Inputs;
use crate::prediction::Launched;
use crate::prediction::inputs::Given;
use crate::relaunch;
use assay_launch::Sizes;
use assay_launch::element::Element;
use assay_predict::{Argument, Memory};
use assay_rewrite::recipe::Geometry;
use assay_tune::session::Level;
use assay_tune::workbench::{Input, Launch, Plan};

/// Relative to the largest magnitude of a buffer, how far floats that are added in another order may be apart.
const TOLERANCE: f64 = 1e-4;
/// The same for floats of 16 bits.
const HALF_TOLERANCE: f64 = 2e-2;

/// A launch by flags.
pub(crate) struct FileLaunch {
    pub(crate) launched: Launched,
    geometry: Geometry,
    timed: Sizes,
    /// Where candidates are proven.
    pub(super) plan: Plan,
    tolerance: Option<f64>,
    /// What says what is right, besides the original.
    pub(super) oracle: Option<FileOracle>,
}

impl FileLaunch {
    pub(crate) fn new(launched: Launched, tolerance: Option<f64>) -> Result<FileLaunch, Failure> {
        let geometry = relaunch::geometry(&launched)?;
        let timed = launched.launch.cases()?.into_iter().next();
        Ok(FileLaunch {
            geometry,
            timed: timed.unwrap_or_default(),
            launched,
            plan: Plan::default(),
            tolerance,
            oracle: None,
        })
    }

    /// What every index is bound to, as it is written.
    pub(super) fn written(&self) -> Vec<(u32, String)> {
        let launch = &self.launched.launch;
        let all = launch.buffers.iter().chain(&launch.bytes);
        all.filter_map(|text| crate::launch::split("--buffer", text).ok())
            .map(|(index, text)| (index, text.to_owned()))
            .collect()
    }

    /// How far results may be off, in words.
    pub(super) fn tolerance_in_words(&self) -> String {
        let given = match &self.oracle {
            Some(_) => {
                "An oracle says what is right, relative to what goes into each result.".to_owned()
            }
            None => format!(
                "Floats may differ from the original's by {} of the largest magnitude of their buffer; 16-bit floats by {}. Whole numbers must be the same.",
                self.tolerance.unwrap_or(TOLERANCE),
                self.tolerance.unwrap_or(HALF_TOLERANCE)
            ),
        };
        given + " Buffers that the original only reads must stay as they are."
    }

    /// All sizes that were given.
    pub(super) fn given(&self) -> Result<Vec<Sizes>, Failure> {
        self.launched.launch.cases()
    }
}

impl Launch for FileLaunch {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn timed(&self) -> &Sizes {
        &self.timed
    }

    fn sizes(&self, level: Level) -> &[Sizes] {
        self.plan.sizes(level)
    }

    fn is_checked(&self, sizes: &Sizes) -> bool {
        !self.plan.unchecked.contains(sizes)
    }

    fn inputs(&self, sizes: &Sizes, seed: u64) -> Result<Vec<(u32, Input)>, String> {
        let mut launch = self.launched.launch.clone();
        for (place, text) in (0..).zip(&mut launch.buffers) {
            *text = seeded(text, seed.wrapping_mul(31) + place);
        }
        let inputs = Inputs::new(&launch, &[], sizes).map_err(|failure| failure.message)?;
        let buffers = inputs.buffers.into_iter();
        let buffers = buffers.map(|it| (it.index, Input::Buffer(it.element, it.data)));
        let bytes = inputs.bytes.into_iter();
        let bytes = bytes.map(|(index, bytes)| (index, Input::Bytes(bytes)));
        Ok(buffers.chain(bytes).collect())
    }

    fn arguments(
        &self,
        sizes: &Sizes,
        memory: &mut Memory,
    ) -> Result<Vec<(u32, Argument)>, String> {
        let given = Given::new(&self.launched.launch, &[], sizes);
        let given = given.map_err(|failure| failure.message)?;
        given.arguments(memory).map_err(|failure| failure.message)
    }

    fn tolerance(&self, element: &Element) -> f64 {
        let usual = if element.size >= 4 {
            TOLERANCE
        } else {
            HALF_TOLERANCE
        };
        self.tolerance.unwrap_or(usual)
    }

    fn judged(
        &self,
        sizes: &Sizes,
        seed: u64,
        buffers: &[(u32, Vec<u8>)],
    ) -> Option<Result<f64, String>> {
        let oracle = self.oracle.as_ref()?;
        let inputs = self.inputs(sizes, seed);
        Some(inputs.and_then(|inputs| oracle.judge(sizes, &inputs, buffers)))
    }
}

/// Random contents with another seed; others as they are.
fn seeded(text: &str, seed: u64) -> String {
    let parts: Vec<&str> = text.split(':').collect();
    match parts.as_slice() {
        [word, element, shape] if word.trim_end().ends_with("=random") => {
            format!("{word}:{element}:{shape}:{seed}")
        }
        [word, element, shape, own] if word.trim_end().ends_with("=random") => {
            let own: u64 = own.parse().unwrap_or(0);
            format!("{word}:{element}:{shape}:{}", own.wrapping_add(seed))
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::seeded;

    #[test]
    fn only_random_contents_change_with_the_seed() {
        assert_eq!(seeded("0=random:f32:N", 7), "0=random:f32:N:7");
        assert_eq!(seeded("0=random:f32:N:2", 7), "0=random:f32:N:9");
        assert_eq!(seeded("0=zeros:f32:N", 7), "0=zeros:f32:N");
        assert_eq!(seeded("0=random.npy", 7), "0=random.npy");
    }
}
