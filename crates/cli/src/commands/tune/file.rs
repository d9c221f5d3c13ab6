//! The launch of a file's kernel: flags, or a comment of the source.

use super::oracle;
use crate::failure::Failure;
use crate::launch::Launched;
use crate::prediction::task;
use assay_bench::oracle::launched::Oracle;
use assay_launch::element::Element;
use assay_launch::{Inputs, Sizes};
use assay_rewrite::recipe::Geometry;
use assay_tune::session::Level;
use assay_tune::workbench::{AS_WRITTEN, Drawing, Launch, Plan};

/// Relative to the largest magnitude of a buffer, how far floats that are added in another order may be apart.
const TOLERANCE: f64 = 1e-4;
/// The same for floats of 16 bits.
const HALF_TOLERANCE: f64 = 2e-2;

/// A launch by flags.
pub(crate) struct FileLaunch {
    pub(crate) launched: Launched,
    geometry: Geometry,
    timed: Sizes,
    /// All sizes that the claim is about.
    cases: Vec<Sizes>,
    /// How often a program has each of them; empty where no program was recorded.
    pub(super) counts: Vec<f64>,
    /// It may be slower at some of them.
    pub(super) may_be_slower: bool,
    /// Where candidates are proven.
    pub(crate) plan: Plan,
    tolerance: Option<f64>,
    /// What says what is right, besides the original.
    pub(super) oracle: Option<Oracle>,
}

impl FileLaunch {
    pub(crate) fn new(launched: Launched, tolerance: Option<f64>) -> Result<FileLaunch, Failure> {
        let geometry = Geometry::of_launch(&launched.launch).map_err(|_| task::no_launch())?;
        Ok(FileLaunch {
            timed: geometry.sizes.clone(),
            cases: launched.launch.cases()?,
            counts: Vec::new(),
            may_be_slower: false,
            geometry,
            launched,
            plan: Plan::default(),
            tolerance,
            oracle: None,
        })
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
}

impl Launch for FileLaunch {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn timed(&self) -> &Sizes {
        &self.timed
    }

    fn cases(&self) -> Vec<Sizes> {
        self.cases.clone()
    }

    fn counts(&self) -> &[f64] {
        &self.counts
    }

    fn is_slower_allowed(&self) -> bool {
        self.may_be_slower
    }

    fn sizes(&self, level: Level) -> &[Sizes] {
        self.plan.sizes(level)
    }

    fn drawing(&self) -> Option<&Drawing> {
        self.plan.drawing.as_ref()
    }

    fn is_tolerance_asked(&self) -> bool {
        self.tolerance.is_some()
    }

    fn is_checked(&self, sizes: &Sizes) -> bool {
        !self.plan.unchecked.contains(sizes)
    }

    fn inputs(&self, sizes: &Sizes, seed: u64) -> Result<Inputs, String> {
        let mut launched = self.launched.clone();
        let by = seed.wrapping_sub(AS_WRITTEN) << 32;
        for bound in &mut launched.launch.buffers {
            let index = bound.index().unwrap_or_default();
            bound.value.reseed(index, by);
        }
        let inputs = launched.inputs(sizes);
        inputs.map_err(|mistake| mistake.message)
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
        let judged = self.inputs(sizes, seed);
        Some(judged.and_then(|inputs| oracle::judge(oracle, self, sizes, &inputs, buffers)))
    }
}
