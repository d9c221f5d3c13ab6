//! A complete GPU program: what containers open, code generators produce, emulators run
//! and profilers read.

use crate::isa::Isa;
use crate::placeholder::Placeholder;

/// A compiled compute kernel.
///
/// Plain data: whoever makes one fills in what it knows. Sizes and maps that are not
/// known (raw code has none) stay `None` or empty; they are never guessed.
///
/// ```
/// use assay_agx::{Isa, Program};
/// let program = Program { code: vec![0x88, 0x00], ..Program::new(Isa::G13, "nothing") };
/// assert_eq!(program.walk().count(), 1);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Program {
    /// Instruction set of `code` and `constant_program`.
    pub isa: Isa,
    /// The kernel's name; empty when unknown.
    pub name: String,
    /// Machine code of the main program.
    pub code: Vec<u8>,
    /// Byte offset in `code` where execution starts.
    pub entry: u32,
    /// Machine code that runs once per dispatch, before the main program, and writes
    /// uniforms. Empty when there is none.
    pub constant_program: Vec<u8>,
    /// Values the driver puts into uniforms before anything runs.
    pub constants: Vec<UniformConstants>,
    /// Constant data the program reads from memory, as one block of bytes. The driver puts
    /// it at an address that is a multiple of 256; [`BoundValue::DataAddress`] says where
    /// the program expects to find it.
    pub data: Vec<u8>,
    /// Operations of the main program whose encoding is not publicly known, ascending by offset.
    pub placeholders: Vec<Placeholder>,
    /// Where arguments and system values are found.
    pub bindings: Vec<Binding>,
    /// Half registers the program needs (highest used plus one), if stated.
    pub half_registers: Option<u16>,
    /// Half uniforms the program uses, if stated.
    pub half_uniforms: Option<u16>,
    /// Static threadgroup memory in bytes, if stated.
    pub threadgroup_bytes: Option<u32>,
    /// Stack (scratch) bytes per thread, if stated.
    pub scratch_bytes: Option<u32>,
    /// Threads per threadgroup the program was compiled for, if fixed.
    pub threadgroup_size: Option<[u32; 3]>,
    /// The most threads per threadgroup that the source declares, if it does.
    pub declared_threads: Option<u32>,
    /// Source lines, ascending by offset.
    pub lines: Vec<Line>,
    /// Calls that were inlined, callers first.
    pub calls: Vec<Call>,
    /// Source files that `lines` and `calls` refer to by index.
    pub files: Vec<String>,
}

/// Values preloaded into consecutive half uniforms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct UniformConstants {
    /// First half uniform.
    pub first_half: u16,
    /// One value per half.
    pub values: Vec<u16>,
}

/// One value that the driver places in uniforms.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Binding {
    /// What it is.
    pub value: BoundValue,
    /// First half uniform.
    pub first_half: u16,
    /// How many half uniforms.
    pub halves: u16,
}

/// What a [`Binding`] holds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum BoundValue {
    /// The address of the buffer at `[[buffer(index)]]`: a 64-bit uniform.
    BufferAddress {
        /// Index of the buffer.
        index: u32,
    },
    /// Bytes of the constant at `[[buffer(index)]]`, passed by value.
    BufferBytes {
        /// Index of the buffer.
        index: u32,
        /// First byte.
        offset: u32,
    },
    /// The address of a byte of [`Program::data`]: a 64-bit uniform.
    DataAddress {
        /// Which byte.
        offset: u32,
    },
    /// The address of the heap of texture descriptors: a 64-bit uniform. The low word of a texture's handle is the byte
    /// offset of its descriptor there.
    DescriptorHeap,
    /// The handle of the texture at `[[texture(index)]]`, as argument buffers hold them: a 64-bit uniform.
    TextureHandle {
        /// Index of the texture.
        index: u32,
    },
    /// The handle of the sampler at `[[sampler(index)]]`: a 64-bit uniform, of which the low 16 bits are the index of its
    /// descriptor in the heap of samplers.
    SamplerHandle {
        /// Index of the sampler.
        index: u32,
    },
    /// A value of the dispatch, one axis at a time.
    System(SystemValue, Axis),
}

/// A value of the dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum SystemValue {
    /// Threads in the grid.
    ThreadsPerGrid,
    /// Threads in a full threadgroup.
    ThreadsPerThreadgroup,
    /// Threadgroups in the grid.
    ThreadgroupsPerGrid,
    /// Offset of the grid's origin.
    GridOrigin,
    /// Bytes of dynamically sized threadgroup memory before an argument.
    ThreadgroupOffset(u32),
    /// Width, height and depth of the texture at an index, of level 0.
    TextureSize(u32),
    /// Layers, levels and samples of the texture at an index.
    TextureCounts(u32),
}

/// An axis of a three-dimensional value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[allow(missing_docs, reason = "the names say it")]
pub enum Axis {
    X,
    Y,
    Z,
}

/// The source line of the code from `offset` to the next line's offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Line {
    /// Byte offset in the main program.
    pub offset: u32,
    /// Index in [`Program::files`].
    pub file: u32,
    /// Line number from 1; 0 when the code has no source line.
    pub line: u32,
    /// Column from 1; 0 when unknown.
    pub column: u32,
    /// The call that brought the line here by inlining, in [`Program::calls`]; none for lines of the kernel itself.
    pub call: Option<u32>,
}

/// A call that was inlined.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Call {
    /// The function that was called, as its source names it; empty when unknown.
    pub function: String,
    /// The file of the call, index in [`Program::files`].
    pub file: u32,
    /// The line of the call.
    pub line: u32,
    /// The call that the calling function was inlined by, always earlier in [`Program::calls`]; none for the kernel.
    pub caller: Option<u32>,
}

impl Program {
    /// An empty program.
    pub fn new(isa: Isa, name: impl Into<String>) -> Program {
        Program {
            isa,
            name: name.into(),
            ..Program::default()
        }
    }

    /// Walks over the main program.
    pub fn walk(&self) -> crate::Walk<'_> {
        crate::walk(self.isa, &self.code)
    }

    /// Walks over the constant program.
    pub fn walk_constant_program(&self) -> crate::Walk<'_> {
        crate::walk(self.isa, &self.constant_program)
    }

    /// The source line of the instruction at byte `offset`.
    pub fn line_at(&self, offset: u32) -> Option<&Line> {
        let after = self.lines.partition_point(|line| line.offset <= offset);
        self.lines.get(after.checked_sub(1)?)
    }

    /// The placeholder at byte `offset`.
    pub fn placeholder_at(&self, offset: u32) -> Option<&Placeholder> {
        Placeholder::at(&self.placeholders, offset)
    }
}
