//! A launch for a kernel nobody wrote one for: small, from the types of its arguments, and only if the kernel is clean
//! with it.

use super::execute::Subject;
use super::launches;
use super::tree::Tree;
use assay_device::{Checks, CpuKernel};
use assay_launch::Written;
use assay_launch::contents::{Contents, Shape};
use assay_launch::guess::{Guess, guess};

/// A guessed launch with which the kernel is clean.
pub(super) fn launch(subject: &Subject<'_>, tree: &Tree) -> Option<Guess> {
    let kernel = CpuKernel::new(subject.library, subject.function, &[], None).ok()?;
    let facts = kernel.facts();
    let Guess(launch) = guess(&facts.arguments, facts.max_threads)?;
    let is_clean = |launch: &Written| is_clean(subject, launch, tree);
    is_clean(&launch).then(|| Guess(exact(launch, &is_clean)))
}

/// Returns true if a kernel runs with a launch, and a checked run finds nothing.
fn is_clean(subject: &Subject<'_>, launch: &Written, tree: &Tree) -> bool {
    let Ok(sizes) = launch.first_sizes() else {
        return false;
    };
    let checks = Checks::default();
    let checked = subject.check(launch, &sizes, checks, tree);
    checked.is_ok_and(|(found, _)| found.is_empty()) && subject.run(launch, &sizes, tree).is_ok()
}

/// The launch with buffers that are no larger than the kernel needs: an access beyond the last element is then one beyond the
/// buffer. All of them if that is clean, or else one after the other.
fn exact(launch: Written, is_clean: &dyn Fn(&Written) -> bool) -> Written {
    let mut all = launch.clone();
    for place in 0..launch.buffers.len() {
        all = smaller_buffer(&all, place).unwrap_or(all);
    }
    if all == launch || is_clean(&all) {
        return all;
    }
    let mut best = launch;
    for place in 0..best.buffers.len() {
        if let Some(tried) = smaller_buffer(&best, place)
            && is_clean(&tried)
        {
            best = tried;
        }
    }
    best
}

/// The launch with a row of a buffer in place of a square.
fn smaller_buffer(launch: &Written, place: usize) -> Option<Written> {
    let mut launch = launch.clone();
    let Contents::Made(made) = &mut launch.buffers.get_mut(place)?.value else {
        return None;
    };
    let shape = made.shape.as_ref()?.to_string();
    let rest = shape.strip_prefix("N*N")?;
    made.shape = Some(Shape::new(&format!("N{rest}")).ok()?);
    Some(launch)
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
