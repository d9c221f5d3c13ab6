//! Where things are: uniforms, threadgroup memory, stack.

use crate::{Error, ErrorKind};
use assay_agx::{Axis, Binding, BoundValue, SystemValue, UniformConstants, Width};
use assay_ssa::{Binding as Bound, GlobalData, GlobalId, Kernel, Module, Space};
use std::collections::HashMap;

/// How many half uniforms there are.
const HALVES: u16 = 512;
/// Bases of memory accesses are below this one.
pub(in crate::lower) const BASES: u16 = 256;
/// Heaps of textures are below this one.
const HEAPS: u16 = 128;
/// Constants leave this much room to values.
const CONSTANTS: u16 = 192;
/// What computed values and constants leave to the sizes of a dispatch, which are bound
/// when somebody first asks for them: three of them, three axes, a word each.
const SIZES: u16 = 18;
/// The alignment of a program's data.
const DATA_ALIGN: u32 = 256;
/// The most bytes of constant data.
const MOST_DATA: usize = 1 << 26;
const TOO_MUCH_DATA: &str = "more than 64 MB of constant data";

/// The layout of a kernel.
#[derive(Debug, Default)]
pub(in crate::lower) struct Layout {
    next: u16,
    pub(in crate::lower) bindings: Vec<Binding>,
    constants: HashMap<(u64, Width), u16>,
    listed: Vec<(u16, u64, Width)>,
    constant_halves: u16,
    params: Vec<Option<u16>>,
    heap: Option<u16>,
    systems: HashMap<(SystemValue, u8), u16>,
    globals: HashMap<GlobalId, u32>,
    tables: HashMap<GlobalId, u16>,
    /// Constant data, one table after the other.
    pub(in crate::lower) data: Vec<u8>,
    /// Bytes of threadgroup variables.
    pub(in crate::lower) threadgroup_bytes: u32,
    /// Bytes of thread variables.
    pub(in crate::lower) stack_bytes: u32,
}

/// What carries an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lower) enum Carrier {
    /// A uniform, from this half on.
    Uniform(u16),
    /// Nothing that can be generated.
    Unsupported(&'static str),
}

impl Layout {
    /// Lays out the static threadgroup memory of all globals a kernel uses, in order.
    pub(in crate::lower) fn global(&mut self, module: &Module, id: GlobalId) -> Option<u32> {
        if let Some(&start) = self.globals.get(&id) {
            return Some(start);
        }
        let global = module.globals.get(id)?;
        if global.space != Space::Threadgroup {
            return None;
        }
        // Vectors of up to 16 bytes are moved at once.
        let align = global.align.clamp(4, 256);
        let start = self.threadgroup_bytes.next_multiple_of(align);
        self.threadgroup_bytes = start.saturating_add(module.types.store_size(global.ty));
        self.globals.insert(id, start);
        Some(start)
    }

    /// The uniform with the address of constant data, which is laid out when first asked for.
    pub(in crate::lower) fn table(&mut self, module: &Module, id: GlobalId) -> Carrier {
        if let Some(&half) = self.tables.get(&id) {
            return Carrier::Uniform(half);
        }
        let Some(global) = module.globals.get(id) else {
            return Carrier::Unsupported("an unknown variable");
        };
        let size = module.types.store_size(global.ty) as usize;
        let start = self
            .data
            .len()
            .next_multiple_of(global.align.clamp(4, DATA_ALIGN) as usize);
        let (Some(end), Ok(offset)) = (start.checked_add(size), u32::try_from(start)) else {
            return Carrier::Unsupported(TOO_MUCH_DATA);
        };
        if end > MOST_DATA {
            return Carrier::Unsupported(TOO_MUCH_DATA);
        }
        self.data.resize(start, 0);
        match &global.data {
            GlobalData::Bytes(bytes) => self.data.extend(bytes.iter().take(size)),
            GlobalData::Zero => {}
            GlobalData::Undefined => {
                return Carrier::Unsupported("constant data that is not known");
            }
        }
        self.data.resize(end, 0);
        let Some(half) = self.bind(BoundValue::DataAddress { offset }, Width::W64) else {
            return Carrier::Unsupported("more arguments than uniforms hold");
        };
        self.tables.insert(id, half);
        Carrier::Uniform(half)
    }

    /// Where threadgroup memory sized at dispatch starts. All variables are known by now.
    pub(in crate::lower) fn dynamic_start(&self) -> u32 {
        self.threadgroup_bytes.next_multiple_of(16)
    }

    /// Reserves stack for a variable.
    pub(in crate::lower) fn alloca(&mut self, bytes: u32, align: u32) -> u32 {
        let start = self.stack_bytes.next_multiple_of(align.clamp(4, 16));
        self.stack_bytes = start.saturating_add(bytes.next_multiple_of(4));
        start
    }

    /// A uniform for a value that can be computed elsewhere if there is no room.
    pub(in crate::lower) fn uniform(&mut self, width: Width) -> Option<u16> {
        self.below(HALVES - SIZES, width)
    }

    fn below(&mut self, limit: u16, width: Width) -> Option<u16> {
        let halves = width.halves();
        let start = self.next.next_multiple_of(halves);
        if start + halves > limit {
            return None;
        }
        self.next = start + halves;
        Some(start)
    }

    /// The uniform of an argument, bound when it is first asked for.
    pub(in crate::lower) fn param(&mut self, kernel: &Kernel, param: u32) -> Carrier {
        let index = param as usize;
        if let Some(Some(half)) = self.params.get(index) {
            return Carrier::Uniform(*half);
        }
        let Some(argument) = kernel.argument_of_param(param) else {
            return Carrier::Unsupported("an unknown argument");
        };
        let (value, width) = match argument.binding {
            Bound::Buffer(index) => (BoundValue::BufferAddress { index }, Width::W64),
            Bound::Threadgroup(index) => (
                BoundValue::System(SystemValue::ThreadgroupOffset(index), Axis::X),
                Width::W16,
            ),
            Bound::Texture(index) => (BoundValue::TextureHandle { index }, Width::W64),
            Bound::Sampler(index) => (BoundValue::SamplerHandle { index }, Width::W64),
            _ => return Carrier::Unsupported("a stage-in argument"),
        };
        let Some(first_half) = self.bind(value, width) else {
            return Carrier::Unsupported("more arguments than uniforms hold");
        };
        if self.params.len() <= index {
            self.params.resize(index + 1, None);
        }
        self.params[index] = Some(first_half);
        Carrier::Uniform(first_half)
    }

    /// The uniform with the address of the heap of textures, bound when it is first asked for.
    pub(in crate::lower) fn texture_heap(&mut self) -> Carrier {
        if let Some(half) = self.heap {
            return Carrier::Uniform(half);
        }
        let half = self.bind(BoundValue::DescriptorHeap, Width::W64);
        match half.filter(|half| *half < HEAPS) {
            Some(half) => {
                self.heap = Some(half);
                Carrier::Uniform(half)
            }
            None => {
                Carrier::Unsupported("a heap of textures behind the uniforms that can name one")
            }
        }
    }

    /// The uniform of a value of the dispatch.
    pub(in crate::lower) fn system(&mut self, value: SystemValue, axis: u8) -> Option<u16> {
        if let Some(&half) = self.systems.get(&(value, axis)) {
            return Some(half);
        }
        let of = [Axis::X, Axis::Y, Axis::Z];
        let name = *of.get(usize::from(axis))?;
        let half = self.bind(BoundValue::System(value, name), Width::W32)?;
        self.systems.insert((value, axis), half);
        Some(half)
    }

    fn bind(&mut self, value: BoundValue, width: Width) -> Option<u16> {
        let first_half = self.below(HALVES, width)?;
        self.bindings.push(Binding {
            value,
            first_half,
            halves: width.halves(),
        });
        Some(first_half)
    }

    /// The uniform that holds a constant.
    pub(in crate::lower) fn constant(&mut self, bits: u64, width: Width) -> Option<u16> {
        if let Some(&half) = self.constants.get(&(bits, width)) {
            return Some(half);
        }
        let total = self.constant_halves + width.halves();
        if total > CONSTANTS {
            return None;
        }
        let half = self.uniform(width)?;
        self.constant_halves = total;
        self.constants.insert((bits, width), half);
        self.listed.push((half, bits, width));
        Some(half)
    }

    /// The constants as runs of halves.
    pub(in crate::lower) fn constants(&self) -> Vec<UniformConstants> {
        let mut listed = self.listed.clone();
        listed.sort_unstable_by_key(|(half, _, _)| *half);
        let mut runs: Vec<UniformConstants> = Vec::new();
        for (half, bits, width) in listed {
            let values = (0..width.halves()).map(|n| (bits >> (16 * n)) as u16);
            match runs.last_mut() {
                Some(run) if run.first_half + run.values.len() as u16 == half => {
                    run.values.extend(values);
                }
                _ => runs.push(UniformConstants {
                    first_half: half,
                    values: values.collect(),
                }),
            }
        }
        runs
    }

    /// How many half uniforms are used.
    pub(in crate::lower) fn half_uniforms(&self) -> u16 {
        self.next
    }

    /// Checks that threadgroup memory fits what one threadgroup may use.
    pub(in crate::lower) fn check(&self) -> Result<(), Error> {
        let limit = assay_chip::CoreFacts::get().threadgroup_limit;
        if self.threadgroup_bytes > limit {
            return Err(ErrorKind::TooLarge {
                what: crate::THREADGROUP_MEMORY,
                needed: u64::from(self.threadgroup_bytes),
                available: u64::from(limit),
            }
            .into());
        }
        Ok(())
    }
}
