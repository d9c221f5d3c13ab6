//! A launch for a kernel nobody wrote one for: small, from the types of its arguments, and only if the kernel is clean
//! with it.

use super::execute::Subject;
use super::launches;
use super::tree::Tree;
use assay_device::{Checks, CpuKernel};
use assay_launch::Written;
use assay_launch::guess::{Guess, guess};

/// A guessed launch with which the kernel is clean.
pub(super) fn launch(subject: &Subject<'_>, tree: &Tree) -> Option<Guess> {
    let kernel = CpuKernel::new(subject.library, subject.function, &[], None).ok()?;
    let facts = kernel.facts();
    let Guess(launch) = guess(&facts.arguments, facts.max_threads)?;
    let sizes = launch.first_sizes().ok()?;
    let checks = Checks::default();
    let (found, _) = subject.check(&launch, &sizes, checks, tree).ok()?;
    subject.run(&launch, &sizes, tree).ok()?;
    found.is_empty().then_some(Guess(launch))
}

/// Threads of a grid that a CPU runs and checks in passing.
const FEW_THREADS: u64 = 1 << 16;

/// A size that most tiles divide.
const SMALL: u64 = 128;

/// Smaller sizes at which a kernel is clean, where those of its launch are too many for a CPU.
pub(super) fn smaller(subject: &Subject<'_>, launch: &Written, tree: &Tree) -> Option<Vec<String>> {
    let sizes = launch.first_sizes().ok()?;
    let (extent, threadgroup) = launch.geometry(&sizes).ok()?;
    let threads = extent.threads(threadgroup).map_or(u64::MAX, product);
    if threads <= FEW_THREADS {
        return None;
    }
    let large = launch.sizes.iter();
    let large = large.filter(|size| size.values.iter().any(|v| *v > SMALL));
    let names: Vec<String> = large.map(|size| format!("{}={SMALL}", size.name)).collect();
    let launch = launches::at_sizes(launch, &names).ok()?;
    let sizes = launch.first_sizes().ok()?;
    let checks = Checks::default();
    let (found, _) = subject.check(&launch, &sizes, checks, tree).ok()?;
    found.is_empty().then_some(names)
}

fn product(extent: [u32; 3]) -> u64 {
    extent
        .iter()
        .fold(1, |product, axis| product.saturating_mul(u64::from(*axis)))
}
