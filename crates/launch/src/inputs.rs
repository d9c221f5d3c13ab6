//! What a launch binds, at certain sizes: every command sees the same bytes in the same buffers.

use crate::contents::{Contents, MOST_BYTES, Made, Shape, Word};
use crate::element::Element;
use crate::fill::Fill;
use crate::mistake::Mistake;
use crate::npy::Array;
use crate::written::{Bound, Written, bad_values};
use crate::{Sizes, written};
use assay_ssa::{Argument, ArgumentAccess, Binding};
use std::borrow::Cow;

/// Reads files that launches name. What is read is decided by whoever implements it: below a folder, or not at all.
pub trait Files {
    /// The bytes of a file; the mistake is about the file, or about whoever named it.
    fn read(&self, name: &str) -> Result<Cow<'_, [u8]>, Mistake>;
}

/// No file can be read.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&self, name: &str) -> Result<Cow<'_, [u8]>, Mistake> {
        Err(Mistake::usage(format!(
            "{name}: files are not read here: expected contents such as zeros:f32:64"
        )))
    }
}

/// The array of a file.
pub fn array(files: &dyn Files, name: &str) -> Result<Array, Mistake> {
    let bytes = files.read(name)?;
    Array::parse(&bytes).map_err(|problem| {
        Mistake::file(format!("{name} is not an array: {problem}"))
            .advice("numpy.save writes such files")
    })
}

/// Everything that is bound to buffers and threadgroup memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inputs {
    /// Buffers.
    pub buffers: Vec<Buffer>,
    /// A few values instead of a buffer, by index.
    pub bytes: Vec<(u32, Vec<u8>)>,
    /// Bytes of threadgroup memory, by index.
    pub memory: Vec<(u32, u32)>,
    /// Indices that are bound to the buffer of another index.
    pub aliases: Vec<(u32, u32)>,
}

/// A buffer as it is before a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Buffer {
    /// The index it is bound to.
    pub index: u32,
    /// The type of its elements.
    pub element: &'static Element,
    /// Its extents.
    pub shape: Vec<u64>,
    /// What it holds.
    pub start: Start,
    /// The kernel writes it, or it starts as zeros where nothing says what the kernel does.
    pub is_output: bool,
    /// The launch says nothing about it but how large it is.
    pub starts_as_zeros: bool,
    /// Nothing has written it: a check reports reads of what the kernel has not written itself.
    pub is_unwritten: bool,
}

/// What a buffer holds before a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Start {
    /// Elements by a rule, which need not be made before they are touched.
    Fill(Fill),
    /// These bytes.
    Bytes(Vec<u8>),
}

impl Buffer {
    /// Its length in bytes.
    pub fn size(&self) -> u64 {
        match &self.start {
            Start::Bytes(bytes) => bytes.len() as u64,
            Start::Fill(_) => {
                let elements = self
                    .shape
                    .iter()
                    .fold(1u64, |all, n| all.saturating_mul(*n));
                elements.saturating_mul(self.element.size as u64)
            }
        }
    }

    /// Its bytes.
    pub fn data(&self) -> Cow<'_, [u8]> {
        match &self.start {
            Start::Bytes(bytes) => Cow::Borrowed(bytes),
            Start::Fill(fill) => Cow::Owned(fill.bytes(self.size() as usize)),
        }
    }
}

impl Inputs {
    /// The same with the bytes of all buffers made.
    pub fn filled(mut self) -> Result<Inputs, Mistake> {
        self.fits()?;
        for buffer in &mut self.buffers {
            buffer.start = Start::Bytes(buffer.data().into_owned());
        }
        Ok(self)
    }

    /// The bytes of all buffers together.
    pub fn bytes(&self) -> u64 {
        let sizes = self.buffers.iter().map(Buffer::size);
        sizes.fold(0, u64::saturating_add)
    }

    /// Refuses buffers that are too large to be made as a whole.
    pub fn fits(&self) -> Result<(), Mistake> {
        let mut buffers = self.buffers.iter();
        match buffers.find(|buffer| buffer.size() > MOST_BYTES) {
            Some(buffer) => Err(Mistake::usage(format!(
                "buffer {}: {} bytes are more than fit in {} bytes",
                buffer.index,
                buffer.size(),
                MOST_BYTES
            ))
            .advice("give smaller sizes, as in --size N=1024; assay predict makes no buffers")),
            None => Ok(()),
        }
    }

    /// The buffers that a kernel is run for: of those it may write the ones that start as zeros, or all where none does.
    pub fn outputs(&self) -> Vec<&Buffer> {
        let written = || self.buffers.iter().filter(|buffer| buffer.is_output);
        let fresh: Vec<&Buffer> = written().filter(|it| it.starts_as_zeros).collect();
        match fresh.is_empty() {
            true => written().collect(),
            false => fresh,
        }
    }

    /// The buffer of an index.
    pub fn buffer(&self, index: u32) -> Option<&Buffer> {
        self.buffers.iter().find(|buffer| buffer.index == index)
    }

    /// An index is bound once.
    fn fresh(&self, option: &str, index: u32) -> Result<(), Mistake> {
        let buffers = self.buffers.iter().map(|buffer| buffer.index);
        let bytes = self.bytes.iter().map(|(index, _)| *index);
        let aliases = self.aliases.iter().map(|(index, _)| *index);
        if buffers
            .chain(bytes)
            .chain(aliases)
            .any(|known| known == index)
        {
            return Err(Mistake::usage(format!(
                "{option} {index}=…: index {index} is bound twice"
            ))
            .advice("leave one of them out: a name and its index mean the same argument"));
        }
        Ok(())
    }
}

impl Written {
    /// What is bound at certain sizes to a kernel with these arguments; none if nothing is known of the kernel.
    pub fn inputs(
        &self,
        arguments: &[Argument],
        sizes: &Sizes,
        files: &dyn Files,
    ) -> Result<Inputs, Mistake> {
        let mut inputs = Inputs::default();
        // As many elements as the largest buffer has, for outputs that say no shape.
        let mut largest: Option<Vec<u64>> = None;
        let (open, shaped): (Vec<_>, Vec<_>) = self
            .buffers
            .iter()
            .partition(|it| matches!(&it.value, Contents::Made(made) if made.shape.is_none()));
        for bound in shaped.into_iter().chain(open) {
            let bad = |why: String| {
                Mistake::usage(format!("--buffer {bound}: {why}"))
                    .advice(crate::contents::BUFFER_FORMS)
            };
            let index = unresolved(bound)?;
            inputs.fresh("--buffer", index)?;
            let argument = of_buffer(arguments, index);
            let own = argument.and_then(|it| Element::in_metal(&it.type_name));
            let (element, shape, start) = match &bound.value {
                Contents::Made(made) => {
                    let element = made.element.or(own).ok_or_else(|| bad(no_type(argument)))?;
                    let shape = match &made.shape {
                        Some(shape) => {
                            shape_of(shape, made, argument, element, sizes).map_err(bad)?
                        }
                        None => self.open_shape(largest.as_deref(), sizes)?,
                    };
                    let fill = made.fill(element, index, sizes).map_err(bad)?;
                    (element, shape, Start::Fill(fill))
                }
                Contents::Same(of) => {
                    let of = aliased(of, arguments).map_err(bad)?;
                    inputs.aliases.push((index, of));
                    continue;
                }
                Contents::File(name) => {
                    let array = array(files, name)
                        .map_err(|mistake| in_flag("--buffer", bound, mistake))?;
                    let element = element_of(name, &array)?;
                    (element, array.shape, Start::Bytes(array.data))
                }
            };
            let count = |shape: &[u64]| shape.iter().fold(1u64, |all, n| all.saturating_mul(*n));
            if largest
                .as_ref()
                .is_none_or(|known| count(known) < count(&shape))
            {
                largest = Some(shape.clone());
            }
            inputs.buffers.push(Buffer {
                index,
                element,
                shape,
                start,
                is_output: is_output(argument, &bound.value),
                starts_as_zeros: bound.value.starts_as_zeros(),
                is_unwritten: matches!(&bound.value, Contents::Made(made) if made.word == Word::Empty),
            });
        }
        for (index, of) in &inputs.aliases {
            if inputs.buffer(*of).is_none() {
                return Err(Mistake::usage(format!(
                    "--buffer {index}=same:{of}: no buffer is bound at index {of}"
                ))
                .advice(
                    "name the index or the argument of a buffer that has contents of its own",
                ));
            }
        }
        let place = |buffer: &Buffer| {
            self.buffers
                .iter()
                .position(|it| it.index() == Some(buffer.index))
        };
        inputs.buffers.sort_by_key(place);
        for bound in &self.bytes {
            let index = unresolved(bound)?;
            inputs.fresh("--bytes", index)?;
            let bytes = bound.value.bytes(sizes);
            let mut bytes = bytes.map_err(|why| bad_values(bound, &why))?;
            pad_three(of_buffer(arguments, index), &mut bytes);
            inputs.bytes.push((index, bytes));
        }
        inputs.memory = self.memory(arguments, sizes)?;
        Ok(inputs)
    }

    /// Bytes of threadgroup memory, by index; memory without an index is that of the only argument there is.
    pub fn memory(
        &self,
        arguments: &[Argument],
        sizes: &Sizes,
    ) -> Result<Vec<(u32, u32)>, Mistake> {
        let mut memory = Vec::new();
        for bound in &self.memory {
            let bytes = bound.value.number_at(sizes);
            let bytes = bytes.map_err(|error| written::unknown_size("--tgmem", &error))?;
            memory.push((unresolved(bound)?, bytes));
        }
        if let Some(formula) = &self.memory_in_all {
            let own = arguments.iter().filter_map(|it| match it.binding {
                Binding::Threadgroup(index) => Some(index),
                _ => None,
            });
            let mut own = own.filter(|index| !memory.iter().any(|(known, _)| known == index));
            if let (Some(index), None) = (own.next(), own.next()) {
                let bytes = formula.number_at(sizes);
                let bytes = bytes.map_err(|error| written::unknown_size("--tgmem", &error))?;
                memory.push((index, bytes));
            }
        }
        Ok(memory)
    }

    /// The shape of an output that says none: that of the largest buffer, or of the grid, whichever has more elements.
    fn open_shape(&self, largest: Option<&[u64]>, sizes: &Sizes) -> Result<Vec<u64>, Mistake> {
        let (extent, threadgroup) = self.geometry(sizes)?;
        let threads = extent.threads(threadgroup);
        let threads = threads.unwrap_or([u32::MAX; 3]).map(u64::from);
        let mut grid: Vec<u64> = threads.into_iter().rev().skip_while(|n| *n == 1).collect();
        if grid.is_empty() {
            grid.push(1);
        }
        let count = |shape: &[u64]| shape.iter().fold(1u64, |all, n| all.saturating_mul(*n));
        Ok(match largest {
            Some(shape) if count(shape) >= count(&grid) => shape.to_vec(),
            _ => grid,
        })
    }
}

/// The index of the buffer that `same:` names, by index or by argument.
fn aliased(of: &str, arguments: &[Argument]) -> Result<u32, String> {
    let mut named = arguments.iter().filter(|argument| argument.name == of);
    let named = named.find_map(|argument| match argument.binding {
        Binding::Buffer(index) => Some(index),
        _ => None,
    });
    let index = of.parse().ok().or(named);
    index.ok_or_else(|| format!("`{of}` is not a buffer of the kernel"))
}

/// The extents of made contents. Where the type is the argument's own, its vectors count as one element.
fn shape_of(
    shape: &Shape,
    made: &Made,
    argument: Option<&Argument>,
    element: &Element,
    sizes: &Sizes,
) -> Result<Vec<u64>, String> {
    let mut axes = shape.axes(sizes)?;
    let lanes = argument.map_or(1, |it| u64::from(it.size) / element.size as u64);
    if made.element.is_none() && lanes > 1 {
        axes.push(lanes);
    }
    let bytes = axes
        .iter()
        .try_fold(element.size as u64, |all, n| all.checked_mul(*n));
    bytes.ok_or_else(|| format!("{shape} is more than fits"))?;
    Ok(axes)
}

/// Returns true if a buffer is what a kernel computes: the kernel writes it, or, where nothing says what the kernel does,
/// it starts as zeros.
pub fn is_output(argument: Option<&Argument>, contents: &Contents) -> bool {
    match argument.map(|argument| argument.access) {
        None | Some(ArgumentAccess::Unknown) => contents.starts_as_zeros(),
        Some(ArgumentAccess::Read) => false,
        Some(ArgumentAccess::Write | ArgumentAccess::ReadWrite) => true,
    }
}

/// The argument bound to `[[buffer(index)]]`.
pub fn of_buffer(arguments: &[Argument], index: u32) -> Option<&Argument> {
    let mut arguments = arguments.iter();
    arguments.find(|argument| argument.binding == Binding::Buffer(index))
}

/// The index of something bound, whose name a launch for this kernel has resolved.
pub(crate) fn unresolved<T: std::fmt::Display>(bound: &Bound<T>) -> Result<u32, Mistake> {
    bound.index().ok_or_else(|| {
        Mistake::usage(format!(
            "{bound}: nothing is known of the names of this program's arguments: expected INDEX="
        ))
    })
}

/// The element type of an array in a file.
pub(crate) fn element_of(name: &str, array: &Array) -> Result<&'static Element, Mistake> {
    Element::of_array(&array.descr).ok_or_else(|| {
        Mistake::file(format!(
            "{name} holds `{}`, which Metal does not have",
            array.descr
        ))
        .advice("numpy's .astype('float32') makes it one Metal has")
    })
}

/// A mistake in a flag: a file that is not one is whoever's who wrote the flag.
pub(crate) fn in_flag<T: std::fmt::Display>(
    flag: &str,
    bound: &Bound<T>,
    mistake: Mistake,
) -> Mistake {
    if mistake.blame == crate::mistake::Blame::File {
        return mistake;
    }
    Mistake::usage(format!("{flag} {bound}: {}", mistake.message))
        .advice(crate::contents::BUFFER_FORMS)
}

fn no_type(argument: Option<&Argument>) -> String {
    match argument {
        Some(argument) => format!(
            "it names no type, and \"{}\" is {} in the kernel: expected zeros:TYPE:SHAPE",
            argument.name, argument.type_name
        ),
        None => "it names no type: expected zeros:TYPE:SHAPE".to_owned(),
    }
}

/// Three values for a vector of three: in memory it takes the room of four.
fn pad_three(argument: Option<&Argument>, bytes: &mut Vec<u8>) {
    let Some(argument) = argument.filter(|a| a.type_name.ends_with('3')) else {
        return;
    };
    let size = argument.buffer_size.map_or(0, |size| size as usize);
    if Element::in_metal(&argument.type_name)
        .is_some_and(|element| size == element.size * 4 && bytes.len() == element.size * 3)
    {
        bytes.resize(size, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn argument(name: &str, binding: Binding, type_name: &str, size: u32) -> Argument {
        Argument {
            type_name: type_name.to_owned(),
            size,
            ..Argument::new(name, binding)
        }
    }

    fn kernel() -> Vec<Argument> {
        let count = Argument {
            buffer_size: Some(4),
            ..argument("n", Binding::Buffer(0), "uint", 4)
        };
        let read = Argument {
            access: ArgumentAccess::Read,
            ..argument("x", Binding::Buffer(1), "float4", 16)
        };
        let written = Argument {
            access: ArgumentAccess::Write,
            ..argument("y", Binding::Buffer(2), "half", 2)
        };
        let shared = argument("tile", Binding::Threadgroup(0), "float", 4);
        vec![count, read, written, shared]
    }

    fn inputs(text: &str) -> Result<Inputs, Mistake> {
        let (_, mut written) = Written::parse(text)?;
        written.resolve("k", &kernel())?;
        let sizes = written.first_sizes()?;
        written.inputs(&kernel(), &sizes, &NoFiles)
    }

    #[test]
    fn arguments_by_name_have_the_types_of_the_kernel() {
        let found = inputs(
            "--size N=8 --grid N --threadgroup 8 --arg n=N --arg x=random:NxN --arg y=out --arg tile=N*4",
        )
        .expect("a launch");
        assert_eq!(found.bytes, [(0, vec![8, 0, 0, 0])]);
        assert_eq!(found.memory, [(0, 32)]);
        let [x, y] = found.buffers.as_slice() else {
            panic!("{found:?}")
        };
        assert_eq!((x.index, x.element.name, x.is_output), (1, "f32", false));
        assert_eq!(x.shape, [8, 8, 4]);
        assert_eq!((y.index, y.element.name, y.is_output), (2, "f16", true));
        assert_eq!(y.size(), 8 * 8 * 4 * 2);
        let same = inputs(
            "--size N=8 --grid N --threadgroup 8 --bytes 0=u32:N --buffer 1=random:f32:NxNx4 \
             --buffer 2=zeros:f16:8x8x4 --tgmem N*4",
        );
        assert_eq!(Ok(found), same);
    }

    #[test]
    fn a_buffer_is_bound_twice_or_holds_nothing() {
        let found =
            inputs("--grid 8 --threadgroup 8 --arg x=empty:8 --buffer 2=same:x --bytes 0=u32:1");
        let found = found.expect("a launch");
        assert_eq!(found.aliases, [(2, 1)]);
        assert!(found.buffers.len() == 1 && found.buffers[0].is_unwritten);
        for wrong in ["2=same:none", "2=same:2", "1=same:2"] {
            let line = format!("--grid 8 --threadgroup 8 --buffer {wrong}");
            assert!(inputs(&line).is_err(), "{wrong}");
        }
    }

    #[test]
    fn random_buffers_that_say_no_seed_differ() {
        let found =
            inputs("--grid 8 --threadgroup 8 --buffer 0=random:f32:64 --buffer 1=random:f32:64");
        let found = found.expect("a launch");
        assert_ne!(found.buffers[0].data(), found.buffers[1].data());
        let own = inputs("--grid 8 --threadgroup 8 --buffer 0=random:f32:64:2");
        assert_eq!(
            own.expect("a launch").buffers[0].data(),
            found.buffers[1].data()
        );
    }

    #[test]
    fn names_that_are_not_there_bring_the_nearest() {
        let mistake = inputs("--grid 8 --threadgroup 8 --arg xs=random:8").unwrap_err();
        assert!(
            mistake.to_string().contains("has no argument named xs"),
            "{mistake}"
        );
        assert!(mistake.advice.is_some_and(|advice| advice.contains("x")));
        let mistake = inputs("--grid 8 --threadgroup 8 --buffer tile=zeros:f32:8").unwrap_err();
        assert!(mistake.to_string().contains("threadgroup"), "{mistake}");
        let mistake = inputs("--grid 8 --threadgroup 8 --arg x=random:8 --buffer 1=zeros:f32:8");
        assert!(mistake.unwrap_err().to_string().contains("bound twice"));
    }
}
