//! A launch for a kernel nobody wrote one for: small, from the types of its arguments, and only if the kernel is clean
//! with it.

use super::execute::Subject;
use super::launches;
use super::tree::Tree;
use crate::launch::{self, Described};
use assay_device::{Argument, ArgumentBinding, Checks, CpuKernel};
use assay_launch::element::Element;
use std::fmt::Write as _;

/// Threads along an axis.
const SIDE: u32 = 64;

/// Flags of a launch with which the kernel is clean.
pub(super) fn launch(subject: &Subject<'_>, tree: &Tree) -> Option<String> {
    let kernel = CpuKernel::new(subject.library, subject.function, &[], None).ok()?;
    let facts = kernel.facts();
    let flags = flags(&facts.arguments, facts.max_threads)?;
    let described = launch::written("a guess", &flags).ok()?;
    let sizes = described.launch.cases().ok()?.into_iter().next()?;
    let checks = Checks { arithmetic: false };
    let (found, _) = subject.check(&described, &sizes, checks, tree).ok()?;
    subject.run(&described, &sizes, tree).ok()?;
    found.is_empty().then_some(flags)
}

/// Threads of a grid that a CPU runs and checks in passing.
const FEW_THREADS: u64 = 1 << 16;

/// A size that most tiles divide.
const SMALL: u64 = 128;

/// Smaller sizes at which a kernel is clean, where those of its launch are too many for a CPU.
pub(super) fn smaller(
    subject: &Subject<'_>,
    launch: &Described,
    tree: &Tree,
) -> Option<Vec<String>> {
    let sizes = launch.launch.cases().ok()?.into_iter().next()?;
    let threadgroup = launch.launch.threadgroup(&sizes)?.ok()?;
    let threads = match launch.launch.extent(&sizes)?.ok()? {
        assay_launch::Extent::Threads(threads) => product(threads),
        assay_launch::Extent::Groups(groups) => {
            product(groups).saturating_mul(product(threadgroup))
        }
    };
    if threads <= FEW_THREADS {
        return None;
    }
    let large = launch
        .launch
        .sizes
        .iter()
        .filter(|size| size.values.iter().any(|v| *v > SMALL));
    let names: Vec<String> = large.map(|size| format!("{}={SMALL}", size.name)).collect();
    let launch = launches::at_sizes(launch, &names).ok()?;
    let sizes = launch.launch.cases().ok()?.into_iter().next()?;
    let checks = Checks { arithmetic: false };
    let (found, _) = subject.check(&launch, &sizes, checks, tree).ok()?;
    found.is_empty().then_some(names)
}

fn product(extent: [u32; 3]) -> u64 {
    extent
        .iter()
        .fold(1, |product, axis| product.saturating_mul(u64::from(*axis)))
}

fn flags(arguments: &[Argument], max_threads: u32) -> Option<String> {
    let positions = arguments
        .iter()
        .filter(|a| matches!(a.binding, ArgumentBinding::Builtin(_)));
    let mut positions = positions.map(|argument| argument.type_name.as_str());
    let plane = positions.any(|name| name.ends_with(['2', '3']));
    let mut flags = match plane {
        true => format!("--size N={SIDE} --grid N,N --threadgroup 8,8"),
        false => format!(
            "--size N={SIDE} --grid N --threadgroup {}",
            max_threads.min(SIDE)
        ),
    };
    for argument in arguments {
        match argument.binding {
            ArgumentBinding::Buffer(index) => {
                let _ = write!(flags, " {}", buffer(argument, index)?);
            }
            ArgumentBinding::Threadgroup(index) => {
                let _ = write!(flags, " --tgmem {index}=4096");
            }
            ArgumentBinding::Builtin(_) => {}
            _ => return None,
        }
    }
    Some(flags)
}

fn buffer(argument: &Argument, index: u32) -> Option<String> {
    let element = Element::in_metal(&argument.type_name)?;
    let is_float = matches!(element.name, "f32" | "f16" | "bf16");
    if let Some(bytes) = argument.buffer_size {
        let count = (bytes as usize / element.size).clamp(1, 16);
        let value = if is_float { "0.5" } else { "N" };
        let values = vec![value; count].join(",");
        return Some(format!("--bytes {index}={}:{values}", element.name));
    }
    let lanes = (argument.size as usize / element.size).max(1);
    let shape = match lanes {
        1 => "N*N".to_owned(),
        lanes => format!("N*N*{lanes}"),
    };
    let only_read = argument.access == assay_ssa::ArgumentAccess::Read;
    Some(match (only_read, is_float) {
        (true, true) => format!("--buffer {index}=random:{}:{shape}", element.name),
        (true, false) => format!("--buffer {index}=index:{}:{shape}:N", element.name),
        (false, _) => format!("--buffer {index}=zeros:{}:{shape}", element.name),
    })
}
