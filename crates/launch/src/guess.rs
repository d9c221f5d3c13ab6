//! A launch for a kernel that says none: sizes, grid and contents from the names and types of its arguments.
//!
//! A whole number that a kernel takes is one of its sizes, unless its name says that it is a stride, an offset or a flag.
//! Positions say how many axes the grid has, and whether a thread or a threadgroup owns an element. What is left open gives
//! several [`candidates`]; whoever can run the kernel tries them at [`small`] sizes and takes the first in whose bounds it
//! stays.

mod names;

use crate::Size;
use crate::element::Element;
use crate::texture::Declared;
use crate::written::Written;
use assay_ssa::{Argument, ArgumentAccess, Binding, Builtin};
use assay_texture::{Class, Dimension};
use names::{Meaning, is_offsets, is_output, is_row, is_vector, meaning};

/// Bytes of an argument in threadgroup memory.
const MEMORY: u32 = 4096;
/// Most words of a struct that are guessed.
const MOST_WORDS: u32 = 64;
/// Threads of a threadgroup with one axis.
const THREADS: u32 = 256;
/// The name of a size that the kernel does not take as an argument.
const FREE: &str = "R";

/// A launch that was not written by anybody: it is marked as a guess wherever it is shown or kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Guess(pub Written);

/// The likeliest launch for these arguments, at small sizes; none where an argument's type does not say what it holds.
///
/// ```
/// use assay_launch::guess::guess;
/// use assay_ssa::{Argument, ArgumentAccess, Binding, Builtin};
/// let x = Argument { type_name: "float".to_owned(), size: 4, access: ArgumentAccess::Read,
///     ..Argument::new("x", Binding::Buffer(0)) };
/// let n = Argument { type_name: "uint".to_owned(), size: 4, buffer_size: Some(4),
///     ..Argument::new("n", Binding::Buffer(1)) };
/// let i = Argument { type_name: "uint".to_owned(),
///     ..Argument::new("i", Binding::Builtin(Builtin::ThreadPositionInGrid)) };
/// let launch = guess(&[x, n, i], 1024).expect("a launch").0;
/// assert_eq!(launch.to_string(), "--size n=1024 --grid n --threadgroup 256 --arg x=random:n --arg n=n");
/// ```
pub fn guess(arguments: &[Argument], max_threads: u32) -> Option<Guess> {
    let first = candidates(arguments, max_threads).into_iter().next()?;
    Some(Guess(first.with_sizes(&small(&first))))
}

/// Launches for these arguments, the likeliest first.
pub fn candidates(arguments: &[Argument], max_threads: u32) -> Vec<Written> {
    let signature = Signature::new(arguments, max_threads);
    let mut found = Vec::new();
    for room in ROOMS {
        for grid in signature.grids() {
            if let Some(launch) = signature.launch(&grid, room)
                && !found.contains(&launch)
            {
                found.push(launch);
            }
        }
    }
    found
}

/// Sizes of a guessed launch at which a kernel is tried.
pub fn small(launch: &Written) -> Vec<Size> {
    capped(launch, if launch.sizes.len() == 1 { 1024 } else { 64 })
}

/// Sizes of a guessed launch for a kernel whose threads loop over them.
pub fn moderate(launch: &Written) -> Vec<Size> {
    capped(launch, if launch.sizes.len() == 1 { 2048 } else { 256 })
}

fn capped(launch: &Written, most: u64) -> Vec<Size> {
    let sizes = launch.sizes.iter().map(|size| Size {
        name: size.name.clone(),
        values: size.values.iter().map(|value| (*value).min(most)).collect(),
    });
    sizes.collect()
}

/// How many elements buffers have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Room {
    /// What names say: a matrix product's operands, a bias as long as a row.
    Named,
    /// The product of all sizes, so many times: a thread may own several elements.
    Times(u32),
    /// The same, and indices that are all 0.
    Zeroed(u32),
}

/// How many elements are tried, in turn.
const ROOMS: [Room; 6] = [
    Room::Named,
    Room::Times(1),
    Room::Times(4),
    Room::Times(16),
    Room::Zeroed(4),
    Room::Zeroed(16),
];

/// What the arguments of a kernel say about its launch.
struct Signature<'a> {
    arguments: &'a [Argument],
    max_threads: u32,
    /// The names of its sizes, in the order of its arguments.
    sizes: Vec<&'a str>,
    /// The axes of its position in the grid, and the name of that argument.
    thread: Option<(usize, &'a str)>,
    /// The axes of its threadgroup's position.
    group: Option<usize>,
    /// It asks where in its threadgroup a thread is.
    within: bool,
    /// Threadgroups have two axes.
    is_flat: bool,
}

/// A grid to try.
struct Shape {
    /// `--grid n` or `--groups R`.
    flag: String,
    /// A size of its own, with its value.
    free: Option<u64>,
}

impl<'a> Signature<'a> {
    fn new(arguments: &'a [Argument], max_threads: u32) -> Signature<'a> {
        let position = |wanted: Builtin| {
            let mut all = arguments.iter();
            let found = all.find(|it| it.binding == Binding::Builtin(wanted))?;
            Some((axes(&found.type_name), found.name.as_str()))
        };
        let sizes = arguments.iter().filter(|it| is_whole_number(it));
        let sizes = sizes.filter(|it| meaning(&it.name) == Meaning::Size);
        let within = [
            Builtin::ThreadPositionInThreadgroup,
            Builtin::ThreadIndexInThreadgroup,
            Builtin::ThreadsPerThreadgroup,
        ];
        let (thread, group) = (
            position(Builtin::ThreadPositionInGrid),
            position(Builtin::ThreadgroupPositionInGrid),
        );
        let own = within.into_iter().filter_map(position);
        let widest = own.map(|(axes, _)| axes).max();
        let threads = thread.map(|(axes, _)| axes);
        Signature {
            arguments,
            max_threads: max_threads.max(1),
            sizes: sizes.map(|it| it.name.as_str()).collect(),
            thread,
            group: group.map(|(axes, _)| axes),
            within: widest.is_some(),
            is_flat: widest.max(threads).is_some_and(|axes| axes > 1),
        }
    }

    /// Grids to try, the likeliest first.
    fn grids(&self) -> Vec<Shape> {
        let given = |flag: String| Shape { flag, free: None };
        let sizes = &self.sizes;
        let product = sizes.join("*");
        match (self.thread, self.group) {
            (Some((1, name)), _) => match sizes.as_slice() {
                [] => vec![free("--grid", 1 << 18)],
                [one] if is_row(name) && !is_row(one) => {
                    vec![free("--grid", 1024), given(format!("--grid {one}"))]
                }
                [one] => vec![given(format!("--grid {one}")), free("--grid", 1024)],
                [first, .., last] => {
                    let mut words = vec![product.as_str(), self.rows(), first, last];
                    if is_row(name) {
                        words.rotate_left(1);
                    }
                    let grids = words
                        .into_iter()
                        .map(|word| given(format!("--grid {word}")));
                    grids.collect()
                }
            },
            (Some((axes, _)), _) => self.planes("--grid", axes, 1),
            (None, Some(1)) => match sizes.as_slice() {
                [] | [_] => vec![free("--groups", 1024)],
                _ => {
                    let words = [self.rows(), product.as_str()];
                    let grids = words
                        .into_iter()
                        .map(|word| given(format!("--groups {word}")));
                    grids.collect()
                }
            },
            (None, Some(axes)) => {
                let tiles = [32, 64, 16, 8].into_iter();
                tiles
                    .flat_map(|tile| self.planes("--groups", axes, tile))
                    .collect()
            }
            (None, None) if self.within => vec![given("--groups 1".to_owned())],
            (None, None) => vec![given("--grid 1".to_owned())],
        }
    }

    /// A grid of two or three axes, whose threadgroups own tiles.
    fn planes(&self, flag: &str, axes: usize, tile: u32) -> Vec<Shape> {
        let cut = |size: &str| match tile {
            1 => size.to_owned(),
            _ => format!("ceil_div({size},{tile})"),
        };
        let depth = |size: Option<&str>| match (axes, size) {
            (3, Some(size)) => format!(",{size}"),
            (3, None) => ",4".to_owned(),
            _ => String::new(),
        };
        let (flag, free) = match self.sizes.as_slice() {
            [] => (
                format!("{flag} {0},{0}{1}", cut(FREE), depth(None)),
                Some(512),
            ),
            [one] => (format!("{flag} {0},{0}{1}", cut(one), depth(None)), None),
            [..] => {
                let (columns, rows) = (self.columns(), self.rows());
                let mut rest = self.sizes.iter();
                let third = rest.find(|size| **size != columns && **size != rows);
                let third = third.copied().or(Some("1"));
                let plane = format!("{},{}", cut(columns), cut(rows));
                (format!("{flag} {plane}{}", depth(third)), None)
            }
        };
        vec![Shape { flag, free }]
    }

    /// The size that counts rows.
    fn rows(&self) -> &'a str {
        let named = self.sizes.iter().find(|size| is_row(size));
        named.or(self.sizes.first()).copied().unwrap_or(FREE)
    }

    /// The size that a row has: of M, N and K it is N.
    fn columns(&self) -> &'a str {
        let rows = self.rows();
        let is = |name: &str| {
            self.sizes
                .iter()
                .find(move |size| size.eq_ignore_ascii_case(name))
        };
        let other = self.sizes.iter().find(|size| **size != rows);
        is("n")
            .filter(|size| **size != rows)
            .or(other)
            .copied()
            .unwrap_or(rows)
    }

    /// The launch with this grid and buffers of that size.
    fn launch(&self, grid: &Shape, room: Room) -> Option<Written> {
        // Rows come before what a row has.
        let mut sizes: Vec<&str> = grid.free.map(|_| FREE).into_iter().collect();
        sizes.extend(&self.sizes);
        let value = match (sizes.len(), room, self.thread) {
            (1, _, Some((2.., _))) => 512,
            (1, ..) => 1 << 18,
            (2, ..) => 1024,
            (3, Room::Named, _) => 512,
            (3, ..) => 128,
            (4, ..) => 32,
            _ => 16,
        };
        let of = |size: &&str| match grid.free {
            Some(free) if **size == *FREE => free,
            Some(_) => value.min(1024),
            None => value,
        };
        let mut words: Vec<String> = sizes
            .iter()
            .map(|size| format!("--size {size}={}", of(size)))
            .collect();
        words.push(grid.flag.clone());
        words.push(format!("--threadgroup {}", self.threadgroup()));
        for argument in self.arguments {
            words.extend(self.argument(argument, &sizes, room)?);
        }
        let (_, written) = Written::parse(&words.join(" ")).ok()?;
        Some(written)
    }

    fn threadgroup(&self) -> String {
        if !self.is_flat {
            return self.max_threads.min(THREADS).to_string();
        }
        let (x, y) = match self.max_threads {
            256.. => (16, 16),
            128.. => (16, 8),
            64.. => (8, 8),
            32.. => (8, 4),
            _ => (1, 1),
        };
        format!("{x},{y}")
    }

    /// The flag of one argument; none of a position.
    fn argument(&self, argument: &Argument, sizes: &[&str], room: Room) -> Option<Option<String>> {
        let by_name = is_name(&argument.name);
        let target = |index: u32| match by_name {
            true => argument.name.clone(),
            false => index.to_string(),
        };
        Some(Some(match argument.binding {
            Binding::Buffer(index) => {
                format!(
                    "--arg {}={}",
                    target(index),
                    self.buffer(argument, sizes, room)?
                )
            }
            Binding::Threadgroup(index) => format!("--tgmem {}={MEMORY}", target(index)),
            Binding::Texture(index) => {
                format!("--texture {}={}", target(index), texture(argument)?)
            }
            Binding::Sampler(index) => format!("--sampler {}=linear", target(index)),
            Binding::Builtin(_) => return Some(None),
            Binding::StageIn(_) | Binding::Other => return None,
        }))
    }

    fn buffer(&self, argument: &Argument, sizes: &[&str], room: Room) -> Option<String> {
        if !argument.members.is_empty() {
            return None;
        }
        if let Some(bytes) = argument.buffer_size {
            return value(self, argument, bytes, sizes);
        }
        let known = Element::in_metal(&argument.type_name);
        // Of a template's parameter only the size is known; a struct is not guessed.
        let is_parameter = argument
            .type_name
            .trim_start_matches("const ")
            .starts_with('T');
        let element = known.or_else(|| match argument.size {
            2 if is_parameter => Element::named("f16"),
            4 if is_parameter => Element::named("f32"),
            _ => None,
        })?;
        let named = match known {
            Some(_) => String::new(),
            None => format!("{}:", element.name),
        };
        let count = self.count(&argument.name, sizes, room);
        let is_float = matches!(element.name, "f32" | "f16" | "bf16");
        let is_atomic = argument.type_name.contains("atomic_");
        let bound = match room {
            Room::Zeroed(_) => "1".to_owned(),
            _ => least(sizes),
        };
        Some(match argument.access {
            _ if is_atomic => format!("zeros:{named}{count}"),
            ArgumentAccess::Read if is_float || element.size == 1 => {
                format!("random:{named}{count}")
            }
            ArgumentAccess::Read if is_offsets(&argument.name) => format!("iota:{count}+1"),
            ArgumentAccess::Read => format!("index:{count}:{bound}"),
            ArgumentAccess::Write => format!("zeros:{named}{count}"),
            _ if is_output(&argument.name) || !is_float => format!("zeros:{named}{count}"),
            _ => format!("random:{named}{count}"),
        })
    }

    /// How many elements a buffer has.
    fn count(&self, name: &str, sizes: &[&str], room: Room) -> String {
        let product = match sizes {
            [] => "1024".to_owned(),
            _ => sizes.join("*"),
        };
        let is_plane =
            sizes.len() == 1 && (self.is_flat || self.group.is_some_and(|axes| axes > 1));
        let product = match sizes {
            [one] if is_plane => format!("{one}*{one}"),
            // Each threadgroup owns a block.
            [FREE] if self.thread.is_none() => format!("{FREE}*{}", self.max_threads.min(THREADS)),
            _ => product,
        };
        match room {
            Room::Times(1) => product,
            Room::Times(times) | Room::Zeroed(times) => format!("{times}*{product}"),
            Room::Named => match sizes {
                [_, column] if is_vector(name) => (*column).to_owned(),
                [_, _, _] => self.operand(name, &product),
                _ => product,
            },
        }
    }

    /// The elements of an operand of a matrix product.
    fn operand(&self, name: &str, product: &str) -> String {
        let (rows, columns) = (self.rows(), self.columns());
        let mut rest = self.sizes.iter();
        let Some(inner) = rest.find(|size| **size != rows && **size != columns) else {
            return product.to_owned();
        };
        match name.to_ascii_lowercase().as_str() {
            "a" | "x" | "lhs" | "left" | "input" => format!("{rows}*{inner}"),
            "b" | "w" | "rhs" | "right" | "weight" | "weights" => format!("{inner}*{columns}"),
            _ => format!("{rows}*{columns}"),
        }
    }
}

/// A grid with a size of its own.
fn free(flag: &str, value: u64) -> Shape {
    Shape {
        flag: format!("{flag} {FREE}"),
        free: Some(value),
    }
}

/// A value of a few bytes.
fn value(
    signature: &Signature<'_>,
    argument: &Argument,
    bytes: u32,
    sizes: &[&str],
) -> Option<String> {
    let Some(element) = Element::in_metal(&argument.type_name) else {
        // A struct: whatever it holds, its whole numbers are sizes that fit.
        let words = bytes.div_ceil(4);
        let fits = bytes.is_multiple_of(4) && (1..=MOST_WORDS).contains(&words);
        let word = sizes.first().copied().unwrap_or("64");
        return fits.then(|| format!("u32:{}", vec![word; words as usize].join(",")));
    };
    let lanes = (bytes as usize / element.size).max(1);
    let is_float = matches!(element.name, "f32" | "f16" | "bf16");
    let one = match (is_float, meaning(&argument.name)) {
        (true, _) if argument.name.to_ascii_lowercase().contains("eps") => "1e-5".to_owned(),
        (true, _) => "0.5".to_owned(),
        (false, Meaning::Size) if lanes > 1 => least(sizes),
        (false, Meaning::Size) => argument.name.clone(),
        (false, Meaning::Fixed(value)) => value.to_string(),
        (false, Meaning::Stride) => match signature.sizes.len() {
            0 | 1 => "1".to_owned(),
            _ => signature.columns().to_owned(),
        },
    };
    Some(vec![one; lanes].join(","))
}

/// The least of some sizes, as a formula.
fn least(sizes: &[&str]) -> String {
    let words = sizes.iter().map(|size| (*size).to_owned());
    let least = words.reduce(|all, one| format!("min({all},{one})"));
    least.unwrap_or_else(|| "64".to_owned())
}

/// Texels such as a kernel declares.
fn texture(argument: &Argument) -> Option<String> {
    let declared = Declared::parse(&argument.type_name)?;
    if declared.multisampled || declared.array {
        return None;
    }
    let extents = match declared.dimension {
        Dimension::D1 | Dimension::Buffer => "512",
        Dimension::D2 => "512x512",
        Dimension::D3 => "64x64x64",
        Dimension::Cube => "64x64",
    };
    let format = match (declared.depth, declared.class) {
        (true, _) => "depth32Float",
        (_, Class::Unsigned) => "rgba8Uint",
        (_, Class::Signed) => "rgba8Sint",
        _ => "rgba8Unorm",
    };
    let word = match argument.access {
        ArgumentAccess::Write => "zeros",
        _ => "random",
    };
    Some(format!("{word}:{format}:{extents}"))
}

/// The axes of a position: `uint` has one, `uint2` two.
fn axes(type_name: &str) -> usize {
    match type_name.chars().last() {
        Some('2') => 2,
        Some('3') => 3,
        _ => 1,
    }
}

fn is_name(name: &str) -> bool {
    let letters = |c: char| c.is_alphanumeric() || c == '_';
    !name.is_empty() && name.chars().all(letters) && !name.starts_with(|c: char| c.is_ascii_digit())
}

/// Returns true if an argument is one whole number, by a name that formulas can use.
fn is_whole_number(argument: &Argument) -> bool {
    let element = Element::in_metal(&argument.type_name);
    let whole = ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"];
    let is_one = element.is_some_and(|element| {
        whole.contains(&element.name) && argument.buffer_size == Some(element.size as u32)
    });
    is_one && is_name(&argument.name) && matches!(argument.binding, Binding::Buffer(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(name: &str, type_name: &str, size: u32, access: ArgumentAccess) -> Argument {
        Argument {
            type_name: type_name.to_owned(),
            size,
            access,
            ..Argument::new(name, Binding::Buffer(0))
        }
    }

    fn number(name: &str) -> Argument {
        Argument {
            buffer_size: Some(4),
            ..buffer(name, "uint", 4, ArgumentAccess::Read)
        }
    }

    fn position(type_name: &str, builtin: Builtin) -> Argument {
        Argument {
            type_name: type_name.to_owned(),
            ..Argument::new("g", Binding::Builtin(builtin))
        }
    }

    fn first(arguments: &[Argument]) -> String {
        candidates(arguments, 1024)[0].to_string()
    }

    #[test]
    fn a_matrix_product_has_its_operands() {
        let (read, write) = (ArgumentAccess::Read, ArgumentAccess::Write);
        let arguments = [
            buffer("A", "float", 4, read),
            buffer("B", "float", 4, read),
            buffer("C", "float", 4, write),
            number("M"),
            number("N"),
            number("K"),
            position("uint2", Builtin::ThreadPositionInGrid),
        ];
        assert_eq!(
            first(&arguments),
            "--size M=512 --size N=512 --size K=512 --grid N,M --threadgroup 16,16 --arg A=random:M*K \
             --arg B=random:K*N --arg C=zeros:M*N --arg M=M --arg N=N --arg K=K"
        );
    }

    #[test]
    fn a_threadgroup_for_each_row_gets_rows() {
        let read = ArgumentAccess::Read;
        let arguments = [
            buffer("x", "half", 2, read),
            buffer("weight", "half", 2, read),
            buffer("out", "half", 2, ArgumentAccess::ReadWrite),
            number("D"),
            position("uint", Builtin::ThreadgroupPositionInGrid),
            position("uint", Builtin::ThreadPositionInThreadgroup),
        ];
        assert_eq!(
            first(&arguments),
            "--size R=1024 --size D=1024 --groups R --threadgroup 256 --arg x=random:R*D --arg weight=random:D \
             --arg out=zeros:R*D --arg D=D"
        );
    }

    #[test]
    fn what_cannot_be_known_is_not_guessed() {
        let opaque = buffer("p", "Node", 24, ArgumentAccess::Read);
        let thread = position("uint", Builtin::ThreadPositionInGrid);
        assert!(candidates(&[opaque, thread], 1024).is_empty());
    }
}
