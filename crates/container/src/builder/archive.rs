//! Fat archives.

use super::small;
use crate::fat;
use crate::gpu::{CPU_TYPE_AIR, CPU_TYPE_APPLE_GPU, Gpu};

/// Collects slices and writes a fat archive.
#[derive(Clone, Debug, Default)]
pub struct ArchiveBuilder {
    slices: Vec<(u32, u32, Vec<u8>)>,
}

const SLICE_ALIGNMENT: usize = 16;

impl ArchiveBuilder {
    /// An archive without slices.
    pub fn new() -> Self {
        ArchiveBuilder::default()
    }

    /// Adds a slice with these Mach-O numbers.
    pub fn slice(mut self, cpu_type: u32, subtype: u32, bytes: &[u8]) -> Self {
        self.slices.push((cpu_type, subtype, bytes.to_vec()));
        self
    }

    /// Adds machine code for a GPU.
    pub fn gpu(self, gpu: Gpu, image: &[u8]) -> Self {
        self.slice(CPU_TYPE_APPLE_GPU, gpu.subtype, image)
    }

    /// Adds a metallib as an AIR slice.
    pub fn air(self, metallib: &[u8]) -> Self {
        const AIR_2_6: u32 = 10;
        self.slice(CPU_TYPE_AIR, AIR_2_6, metallib)
    }

    /// The archive's bytes.
    pub fn build(&self) -> Vec<u8> {
        let mut out = fat::MAGIC.to_vec();
        out.extend(small(self.slices.len()).to_be_bytes());
        let mut offset = (8 + 20 * self.slices.len()).next_multiple_of(SLICE_ALIGNMENT);
        for (cpu_type, subtype, bytes) in &self.slices {
            let alignment = SLICE_ALIGNMENT.trailing_zeros();
            let size = small(bytes.len());
            for word in [*cpu_type, *subtype, small(offset), size, alignment] {
                out.extend(word.to_be_bytes());
            }
            offset = (offset + bytes.len()).next_multiple_of(SLICE_ALIGNMENT);
        }
        for (_, _, bytes) in &self.slices {
            super::align(&mut out, SLICE_ALIGNMENT);
            out.extend(bytes);
        }
        out
    }
}
