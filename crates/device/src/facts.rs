//! What devices and kernels are like.

use crate::time::Origin;
use assay_ssa::Argument;

/// What a device is and how much it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceFacts {
    /// Its name.
    pub name: String,
    /// Where its times come from.
    pub origin: Origin,
    /// Threads of a simdgroup.
    pub execution_width: u32,
    /// Most threads of a threadgroup in each direction.
    pub max_threadgroup: [u32; 3],
    /// Most threadgroup memory of a threadgroup, in bytes.
    pub max_threadgroup_memory: u32,
    /// Most bytes that can be bound without a buffer.
    pub max_inline_bytes: u32,
    /// Largest buffer, in bytes.
    pub max_buffer: u64,
}

/// What a device knows about a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PipelineFacts {
    /// The kernel.
    pub function: String,
    /// Most threads of a threadgroup. A GPU's answer depends on the registers the kernel needs; the CPU knows only
    /// Metal's limit and what the source declares, so its answer is an upper bound of a GPU's.
    pub max_threads: u32,
    /// Threadgroup memory the kernel declares, in bytes.
    pub threadgroup_memory: u32,
    /// Threads of a simdgroup.
    pub execution_width: u32,
    /// What a dispatch binds, in source order. Empty where the device cannot tell.
    pub arguments: Vec<Argument>,
}

/// Where a buffer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Storage {
    /// Memory that CPU and GPU both see.
    #[default]
    Shared,
    /// Memory of the GPU alone.
    Private,
}
