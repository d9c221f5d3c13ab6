//! Emptying caches before a sample.
//!
//! Memory that is larger than any cache is gone through: by the CPU where the kernel runs on it, by a kernel of our own
//! on a GPU.

use super::Cache;
use crate::runner::Loaded;
use assay_device::{Binding, BufferId, Device, Dispatch, Error, Extent, Origin, Storage};

/// More than the system-level cache of any of these chips (96 MB on the largest), and than a CPU's.
const BYTES: usize = 256 << 20;

const SOURCE: &str = "#include <metal_stdlib>
kernel void assay_go_through(device uint4 *memory [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    memory[i] += 1;
}
";

/// What caches are filled with in place of the kernel's data.
pub(super) enum Caches {
    AsTheyAre,
    Host(Vec<u8>),
    Gpu {
        buffer: BufferId,
        dispatch: Dispatch,
    },
}

impl Caches {
    pub(super) fn new(device: &mut dyn Device, cache: Cache) -> Result<Self, Error> {
        match (cache, device.facts().origin) {
            (Cache::Rotating, _) => Ok(Self::AsTheyAre),
            (Cache::Cold, Origin::Host) => Ok(Self::Host(vec![0; BYTES])),
            (Cache::Cold, Origin::Measured) => {
                let loaded = Loaded::compile(device, "assay_go_through.metal", SOURCE)?;
                let pipeline = loaded.alone(device, "assay_go_through")?;
                let buffer = device.buffer(BYTES as u64, Storage::Private)?;
                let threads = Extent::Threads([(BYTES / 16) as u32, 1, 1]);
                let dispatch = Dispatch::new(pipeline, threads, [256, 1, 1])
                    .bind(0, Binding::Buffer { buffer, offset: 0 });
                Ok(Self::Gpu { buffer, dispatch })
            }
        }
    }

    pub(super) fn empty(&mut self, device: &mut dyn Device) -> Result<(), Error> {
        match self {
            Self::AsTheyAre => {}
            Self::Host(memory) => {
                // One byte of every line of 64.
                for byte in memory.iter_mut().step_by(64) {
                    *byte = byte.wrapping_add(1);
                }
                std::hint::black_box(memory);
            }
            Self::Gpu { dispatch, .. } => {
                device.run(vec![dispatch.clone()])?;
            }
        }
        Ok(())
    }

    pub(super) fn release(self, device: &mut dyn Device) -> Result<(), Error> {
        match self {
            Self::Gpu { buffer, .. } => device.release(buffer),
            Self::AsTheyAre | Self::Host(_) => Ok(()),
        }
    }
}
