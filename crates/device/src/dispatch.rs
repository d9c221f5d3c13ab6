//! What is run, over which threads, with what bound to it.

use crate::ids::{BufferId, PipelineId};

/// How many threads a dispatch has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extent {
    /// So many threads; threadgroups at the edges may be smaller.
    Threads([u32; 3]),
    /// So many whole threadgroups.
    Groups([u32; 3]),
}

/// What an index of a kernel's arguments is given.
#[derive(Clone, Debug, PartialEq, Eq)]
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
}

/// One run of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dispatch {
    /// The kernel.
    pub pipeline: PipelineId,
    /// How many threads.
    pub extent: Extent,
    /// Threads of a threadgroup in each direction.
    pub threadgroup: [u32; 3],
    /// What is bound, by index.
    pub bindings: Vec<(u32, Binding)>,
}

impl Dispatch {
    /// A run with nothing bound.
    pub fn new(pipeline: PipelineId, extent: Extent, threadgroup: [u32; 3]) -> Self {
        Self {
            pipeline,
            extent,
            threadgroup,
            bindings: Vec::new(),
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
        self.bindings.iter().any(|(index, binding)| {
            place
                == match binding {
                    Binding::ThreadgroupMemory(_) => assay_ssa::Binding::Threadgroup(*index),
                    _ => assay_ssa::Binding::Buffer(*index),
                }
        })
    }

    /// Binds something to an index, in place of what was bound there.
    #[must_use]
    pub fn bind(mut self, index: u32, binding: Binding) -> Self {
        let memory = |binding: &Binding| matches!(binding, Binding::ThreadgroupMemory(_));
        self.bindings
            .retain(|(known, old)| *known != index || memory(old) != memory(&binding));
        self.bindings.push((index, binding));
        self
    }
}
