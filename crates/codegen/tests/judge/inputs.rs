//! Inputs for a kernel nobody has described: sizes and values from its argument list and
//! from how the program reads each argument.
//!
//! Scalars are small, so that products of a few of them stay inside the buffers; what
//! lies outside stops both sides, which is a result too, but a poorer one. Each trial
//! takes other sizes, and the last has numbers that make floats misbehave.

use super::values::{Random, SIDES, Sizes, array, block, scalar_named};
use assay_ssa::builtin::Family;
use assay_ssa::{
    Binding, Callee, CastOp, Function, InstData, Kernel, Module, Scalar, Value, ValueDef,
};

/// Trials that every kernel is given.
pub(crate) const TRIALS: usize = 3;

/// More of them, for kernels that finished none: all sizes the same, from what a filter
/// of a convolution fits into to multiples of the largest tiles. The last is one
/// threadgroup with patience: some kernels do a fixed amount of work.
pub(crate) const MORE_TRIALS: usize = SIDES.len() + 1;

/// Elements of a buffer whose size nothing says, at first.
const ELEMENTS: usize = 20_000;

/// The most bytes of such a buffer: some kernels have the sizes written into them.
const LARGEST: u64 = 64 << 20;

/// Bytes given to each `[[threadgroup(n)]]` argument, at first and at most.
const THREADGROUP_BYTES: u32 = 4096;
const MOST_THREADGROUP_BYTES: u32 = 32 << 10;

/// What a kernel is given.
#[derive(Clone, Debug)]
pub(crate) struct Inputs {
    pub(crate) grid: [u32; 3],
    pub(crate) threadgroup: [u32; 3],
    /// Threads work together, so that threadgroups must stay whole.
    pub(crate) whole: bool,
    pub(crate) buffers: Vec<(u32, Vec<u8>)>,
    pub(crate) threadgroup_memory: Vec<(u32, u32)>,
    /// Operations of one simdgroup after which the executor gives up.
    pub(crate) max_steps: u64,
    trial: usize,
    arrays: Vec<Array>,
}

/// A buffer that may be longer than what is known of it.
#[derive(Clone, Copy, Debug)]
struct Array {
    index: u32,
    /// Bytes of a struct at its start: what follows belongs to an array at the struct's end, as tools write `T last[1]`.
    fixed: usize,
    scalar: Scalar,
    random: Random,
}

impl Inputs {
    /// One thread and one buffer.
    #[allow(dead_code, reason = "only some tests have inputs of their own")]
    pub(crate) fn of_one_buffer(bytes: usize) -> Inputs {
        Inputs {
            grid: [1; 3],
            threadgroup: [1; 3],
            whole: false,
            buffers: vec![(0, vec![0; bytes])],
            threadgroup_memory: Vec::new(),
            max_steps: 1 << 22,
            trial: 0,
            arrays: Vec::new(),
        }
    }

    pub(crate) fn new(module: &Module, kernel: &Kernel, trial: usize, seed: u64) -> Inputs {
        let (mut grid, threadgroup) = geometry(kernel, trial);
        let whole = calls(module, kernel, |family| {
            let together = [Family::Simd, Family::Quad, Family::Matrix, Family::Barrier];
            together.contains(&family)
        }) || kernel
            .arguments
            .iter()
            .any(|argument| matches!(argument.binding, Binding::Threadgroup(_)));
        let tiles = calls(module, kernel, |family| family == Family::Matrix);
        if whole {
            for (size, group) in grid.iter_mut().zip(threadgroup) {
                *size = size.next_multiple_of(group);
            }
        }
        let mut inputs = Inputs {
            grid,
            threadgroup,
            whole,
            buffers: Vec::new(),
            threadgroup_memory: Vec::new(),
            max_steps: 1_000_000,
            trial,
            arrays: Vec::new(),
        };
        if trial + 1 == TRIALS + MORE_TRIALS {
            inputs.grid = threadgroup;
            inputs.max_steps = 64_000_000;
        }
        let reads = Reads::of(module, kernel);
        for argument in &kernel.arguments {
            match argument.binding {
                Binding::Buffer(index) => {
                    let mut random = Random::new(seed ^ (u64::from(index) << 8) ^ trial as u64);
                    let known = inputs.buffers.iter().any(|(other, _)| *other == index);
                    if known {
                        continue;
                    }
                    let fields = argument
                        .param
                        .map_or(&[][..], |param| reads.of_param(param));
                    let bytes = match argument.buffer_size {
                        Some(size) => {
                            let sizes = match Sizes::of(trial) {
                                Sizes::Odd | Sizes::Tiny if tiles => Sizes::Tiles,
                                other => other,
                            };
                            let scalar = fields.last().map_or(Scalar::I32, |field| field.scalar);
                            inputs.arrays.push(Array {
                                index,
                                fixed: size as usize,
                                scalar,
                                random,
                            });
                            block(size as usize, fields, sizes, &mut random)
                        }
                        None => {
                            let size = (argument.size.max(4) as usize).min(64);
                            let scalar = scalar_named(&argument.type_name)
                                .or_else(|| fields.first().map(|field| field.scalar));
                            let scalar = scalar.unwrap_or(Scalar::I32);
                            inputs.arrays.push(Array {
                                index,
                                fixed: 0,
                                scalar,
                                random,
                            });
                            array(ELEMENTS * size, scalar, trial, random)
                        }
                    };
                    inputs.buffers.push((index, bytes));
                }
                Binding::Threadgroup(index) => {
                    inputs.threadgroup_memory.push((index, THREADGROUP_BYTES));
                }
                _ => {}
            }
        }
        inputs
    }

    /// Makes a buffer longer, so that it has so many bytes; a struct at its start stays. Nothing
    /// changes if it would be too long.
    pub(crate) fn grow(&mut self, index: u32, bytes: u64) -> bool {
        let known = self.arrays.iter().find(|array| array.index == index);
        let place = self.buffers.iter_mut().find(|(other, _)| *other == index);
        let (Some(known), Some((_, data))) = (known, place) else {
            return false;
        };
        if bytes > LARGEST || bytes <= data.len() as u64 {
            return false;
        }
        let wanted = bytes.max(2 * data.len() as u64).min(LARGEST);
        let wanted = (wanted as usize).next_multiple_of(64);
        let mut longer = array(wanted, known.scalar, self.trial, known.random);
        for (place, byte) in longer.iter_mut().zip(data.iter().take(known.fixed)) {
            *place = *byte;
        }
        *data = longer;
        true
    }

    /// Doubles the threadgroup memory of every argument, while one threadgroup's fits.
    pub(crate) fn grow_threadgroup_memory(&mut self) -> bool {
        let all: u32 = self.threadgroup_memory.iter().map(|(_, bytes)| bytes).sum();
        let fits = all > 0 && 2 * all <= MOST_THREADGROUP_BYTES;
        if fits {
            for (_, bytes) in &mut self.threadgroup_memory {
                *bytes *= 2;
            }
        }
        fits
    }

    /// The same inputs with fewer threads, smallest first.
    pub(crate) fn smaller(&self) -> Vec<Inputs> {
        let threads = |grid: [u32; 3]| grid.iter().product::<u32>();
        let group = self.threadgroup;
        let mut tried: Vec<([u32; 3], [u32; 3])> = vec![(group, group)];
        if !self.whole {
            let small = [[1; 3], [2, 1, 1], [32, 1, 1]];
            tried.splice(0..0, small.map(|size| (size, size)));
        }
        for axis in 0..3 {
            let mut cut = self.grid;
            cut[axis] = group[axis];
            tried.push((cut, group));
        }
        tried
            .into_iter()
            .filter(|(grid, _)| threads(*grid) < threads(self.grid))
            .map(|(grid, threadgroup)| Inputs {
                grid,
                threadgroup,
                ..self.clone()
            })
            .collect()
    }
}

/// Whether a kernel calls a builtin of some family.
fn calls(module: &Module, kernel: &Kernel, is: impl Fn(Family) -> bool) -> bool {
    let Some(function) = module.functions.get(kernel.function) else {
        return false;
    };
    let mut insts = function.all_insts();
    insts.any(|inst| match function.inst(inst) {
        InstData::Call {
            callee: Callee::Builtin(call),
            ..
        } => is(call.info().family),
        _ => false,
    })
}

/// A grid with a few threadgroups and, in the first trial, an odd tail.
fn geometry(kernel: &Kernel, trial: usize) -> ([u32; 3], [u32; 3]) {
    let most = kernel.max_threads.unwrap_or(256).clamp(1, 1024);
    let axes = kernel.arguments.iter().filter_map(|argument| {
        let Binding::Builtin(_) = argument.binding else {
            return None;
        };
        let digit = argument.type_name.chars().last()?.to_digit(10)?;
        Some(digit.clamp(1, 3))
    });
    let one = |grid, group| ([grid, 1, 1], [group, 1, 1]);
    match axes.max().unwrap_or(1) {
        1 => match trial {
            0 => one(most * 2 + 2, most),
            1 => one(96, most.min(32)),
            _ => one(most, most),
        },
        2 => {
            let side = if most >= 256 { 16 } else { 8u32.min(most) };
            let high = side.min(most / side.max(1)).max(1);
            match trial {
                0 => ([side + 3, high + 1, 1], [side, high, 1]),
                1 => ([most.min(64) * 2, 3, 1], [most.min(64), 1, 1]),
                _ => ([side * 2, high, 1], [side, high, 1]),
            }
        }
        _ => {
            let wide = most.min(32);
            let deep = (most / wide / 2).clamp(1, 2);
            let high = if most / wide >= 2 { 2 } else { 1 };
            match trial {
                0 => ([wide + 2, 3, 2], [wide, 1, 1]),
                1 => ([wide * 2, 2, 2], [wide, high, deep]),
                _ => ([wide, high, deep], [wide, high, deep]),
            }
        }
    }
}

/// A number read from an argument at a fixed place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    pub(super) offset: usize,
    pub(super) scalar: Scalar,
    pub(super) lanes: usize,
}

/// How the program reads its arguments.
struct Reads {
    fields: Vec<Vec<Field>>,
}

impl Reads {
    fn of(module: &Module, kernel: &Kernel) -> Reads {
        let mut reads = Reads { fields: Vec::new() };
        let Some(function) = module.functions.get(kernel.function) else {
            return reads;
        };
        for access in accesses(function) {
            let Some(scalar) = access.ty.element() else {
                continue;
            };
            let param = access.param as usize;
            if reads.fields.len() <= param {
                reads.fields.resize(param + 1, Vec::new());
            }
            reads.fields[param].push(Field {
                offset: access.offset,
                scalar,
                lanes: usize::from(access.ty.lanes()).max(1),
            });
        }
        reads
    }

    fn of_param(&self, param: u32) -> &[Field] {
        self.fields.get(param as usize).map_or(&[], Vec::as_slice)
    }
}

struct Access {
    param: u32,
    offset: usize,
    ty: assay_ssa::Type,
    store: bool,
    loc: Option<assay_ssa::Loc>,
}

/// Loads and stores whose address is a parameter with something added.
fn accesses(function: &Function) -> Vec<Access> {
    let mut found = Vec::new();
    for &block in function.blocks() {
        for &inst in function.insts(block) {
            let (ptr, ty, store) = match *function.inst(inst) {
                InstData::Load { ptr, .. } => (ptr, function.result_type(inst), false),
                InstData::Store { ptr, value, .. } | InstData::AtomicRmw { ptr, value, .. } => {
                    (ptr, function.ty(value), true)
                }
                InstData::AtomicCompareExchange { ptr, desired, .. } => {
                    (ptr, function.ty(desired), true)
                }
                _ => continue,
            };
            if let Some((param, offset)) = root(function, ptr) {
                found.push(Access {
                    param,
                    offset,
                    ty,
                    store,
                    loc: function.loc(inst),
                });
            }
        }
    }
    found
}

/// The parameter an address comes from, and the constant part of what was added.
fn root(function: &Function, mut ptr: Value) -> Option<(u32, usize)> {
    let mut offset = 0i64;
    for _ in 0..64 {
        match function.def(ptr) {
            ValueDef::Param(block, index) if Some(block) == function.entry() => {
                return Some((index, usize::try_from(offset).unwrap_or(0)));
            }
            ValueDef::Result(inst) => match *function.inst(inst) {
                InstData::PtrAdd {
                    base, offset: more, ..
                } => {
                    offset += more;
                    ptr = base;
                }
                InstData::Cast {
                    op: CastOp::Bitcast,
                    arg,
                    ..
                } => ptr = arg,
                _ => return None,
            },
            _ => return None,
        }
    }
    None
}

/// Lines of the source that store to the buffer of an index.
pub(crate) fn store_lines(module: &Module, kernel: &Kernel, buffer: u32) -> Vec<String> {
    let argument = kernel
        .arguments
        .iter()
        .find(|argument| argument.binding == Binding::Buffer(buffer));
    let param = argument.and_then(|argument| argument.param);
    let Some(function) = module.functions.get(kernel.function) else {
        return Vec::new();
    };
    let mut lines: Vec<String> = accesses(function)
        .iter()
        .filter(|access| access.store && Some(access.param) == param)
        .filter_map(|access| {
            let place = module.locations.resolve(access.loc?, |_| true)?;
            let file = module.locations.file_name(place.file);
            Some(format!("{file}:{}", place.line))
        })
        .collect();
    lines.sort();
    lines.dedup();
    lines
}
