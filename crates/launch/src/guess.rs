//! A launch for a kernel that says none: small, from the types of its arguments.

use crate::Size;
use crate::contents::{Contents, Made, Shape, Values, Word};
use crate::element::Element;
use crate::formula::Formula;
use crate::template::Grid;
use crate::written::{Bound, Target, Written};
use assay_ssa::{Argument, ArgumentAccess, Binding};

/// Threads along an axis.
const SIDE: u32 = 64;
/// Bytes of an argument in threadgroup memory.
const MEMORY: u64 = 4096;
/// Most values of an argument that is a struct or an array.
const MOST_VALUES: usize = 16;

/// A launch that nobody wrote: whoever shows or keeps it says so, and whoever uses it first makes sure that the kernel is
/// clean with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Guess(pub Written);

/// A launch that fits the arguments of a kernel, as far as types tell; none for textures, structs and the like.
///
/// ```
/// use assay_launch::guess::guess;
/// use assay_ssa::{Argument, ArgumentAccess, Binding};
/// let x = Argument { type_name: "float".to_owned(), size: 4, access: ArgumentAccess::Read,
///     ..Argument::new("x", Binding::Buffer(0)) };
/// let launch = guess(&[x], 1024).expect("a launch").0;
/// assert_eq!(launch.to_string(), "--size N=64 --grid N --threadgroup 64 --buffer 0=random:f32:N*N");
/// ```
pub fn guess(arguments: &[Argument], max_threads: u32) -> Option<Guess> {
    let mut positions = arguments
        .iter()
        .filter(|it| matches!(it.binding, Binding::Builtin(_)));
    let plane = positions.any(|it| it.type_name.ends_with(['2', '3']));
    let size = Formula::parse("N").ok()?;
    let number = |n: u32| Formula::number(u64::from(n));
    let mut written = Written {
        sizes: vec![Size {
            name: "N".to_owned(),
            values: vec![SIDE.into()],
        }],
        ..Written::default()
    };
    let (grid, threadgroup) = if plane {
        (
            [size.clone(), size, number(1)],
            [number(8), number(8), number(1)],
        )
    } else {
        let threads = number(max_threads.min(SIDE));
        (
            [size, number(1), number(1)],
            [threads, number(1), number(1)],
        )
    };
    written.grid = Some(Grid::Threads(grid));
    written.threadgroup = Some(threadgroup);
    for argument in arguments {
        match argument.binding {
            Binding::Buffer(index) => buffer(&mut written, argument, index)?,
            Binding::Threadgroup(index) => written.memory.push(Bound {
                target: Target::Index(index),
                value: Formula::number(MEMORY),
            }),
            Binding::Builtin(_) => {}
            _ => return None,
        }
    }
    Some(Guess(written))
}

fn buffer(written: &mut Written, argument: &Argument, index: u32) -> Option<()> {
    let element = Element::in_metal(&argument.type_name)?;
    let target = Target::Index(index);
    let is_float = matches!(element.name, "f32" | "f16" | "bf16");
    if let Some(bytes) = argument.buffer_size {
        let count = (bytes as usize / element.size).clamp(1, MOST_VALUES);
        let value = if is_float { "0.5" } else { "N" };
        let value = Values::new(&vec![value; count].join(","), Some(element));
        written.bytes.push(Bound { target, value });
        return Some(());
    }
    let shape = match (argument.size as usize / element.size).max(1) {
        1 => "N*N".to_owned(),
        lanes => format!("N*N*{lanes}"),
    };
    let only_read = argument.access == ArgumentAccess::Read;
    let word = match (only_read, is_float) {
        (true, true) => Word::Random,
        (true, false) => Word::Index(Formula::parse("N").ok()?),
        (false, _) => Word::Zeros,
    };
    let value = Contents::Made(Made {
        word,
        element: Some(element),
        shape: Some(Shape::new(&shape).ok()?),
        seed: None,
    });
    written.buffers.push(Bound { target, value });
    Some(())
}
