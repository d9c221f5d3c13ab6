//! What is run, over which threads, with what bound to it.

use crate::ids::{BufferId, PipelineId};
use assay_launch::Extent;
use assay_texture::{Layout, Sampler};

/// What an index of a kernel's arguments is given.
#[derive(Clone, Debug, PartialEq)]
pub enum Binding {
    /// A buffer from an offset on.
    Buffer {
        /// The buffer.
        buffer: BufferId,
        /// Where it starts for the kernel, in bytes.
        offset: u64,
    },
    /// A few bytes of the dispatch's own.
    Bytes(Vec<u8>),
    /// Threadgroup memory of so many bytes. Its indices are counted apart from those of buffers.
    ThreadgroupMemory(u32),
    /// A texture whose texels lie in a buffer. Indices of textures are counted apart.
    Texture {
        /// The buffer.
        buffer: BufferId,
        /// What its bytes mean.
        layout: Layout,
        /// Nothing has written the texels yet: a check reports reads of them.
        undefined: bool,
    },
    /// A sampler. Indices of samplers are counted apart.
    Sampler(Sampler),
}

impl Binding {
    /// The argument that it is bound to at an index.
    pub fn place(&self, index: u32) -> assay_ssa::Binding {
        match self {
            Self::Buffer { .. } | Self::Bytes(_) => assay_ssa::Binding::Buffer(index),
            Self::ThreadgroupMemory(_) => assay_ssa::Binding::Threadgroup(index),
            Self::Texture { .. } => assay_ssa::Binding::Texture(index),
            Self::Sampler(_) => assay_ssa::Binding::Sampler(index),
        }
    }
}

/// One run of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Dispatch {
    /// The kernel.
    pub pipeline: PipelineId,
    /// How many threads.
    pub extent: Extent,
    /// Threads of a threadgroup in each direction.
    pub threadgroup: [u32; 3],
    /// What is bound, by index.
    pub bindings: Vec<(u32, Binding)>,
    /// Pointers, textures and samplers in argument buffers.
    pub members: Vec<Member>,
    /// Indices of buffers that nothing has written: a check reports reads of what the kernel has not written itself.
    pub unwritten: Vec<u32>,
}

/// A pointer, texture or sampler in an argument buffer.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// The argument buffer.
    pub index: u32,
    /// Where in it, in bytes.
    pub offset: u64,
    /// Its name, for messages: `0.weights`.
    pub name: String,
    /// What it is: a buffer, texture or sampler.
    pub binding: Binding,
}

impl Dispatch {
    /// A run with nothing bound.
    pub fn new(pipeline: PipelineId, extent: Extent, threadgroup: [u32; 3]) -> Self {
        Self {
            pipeline,
            extent,
            threadgroup,
            bindings: Vec::new(),
            members: Vec::new(),
            unwritten: Vec::new(),
        }
    }

    /// Bytes of the threadgroup memory that is bound.
    pub(crate) fn threadgroup_memory(&self) -> impl Iterator<Item = u32> + '_ {
        self.bindings
            .iter()
            .filter_map(|(_, binding)| match binding {
                Binding::ThreadgroupMemory(bytes) => Some(*bytes),
                _ => None,
            })
    }

    /// Returns true if something is bound there.
    pub(crate) fn is_bound(&self, place: assay_ssa::Binding) -> bool {
        let mut all = self.bindings.iter();
        all.any(|(index, binding)| binding.place(*index) == place)
    }

    /// Binds something to an index, in place of what was bound there.
    #[must_use]
    pub fn bind(mut self, index: u32, binding: Binding) -> Self {
        let place = binding.place(index);
        self.bindings
            .retain(|(known, old)| old.place(*known) != place);
        self.bindings.push((index, binding));
        self
    }
}
