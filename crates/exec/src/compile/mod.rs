//! From a kernel in SSA form to bytecode.
//!
//! Blocks are laid out in the order of the control tree, in which definitions come before uses. Each value
//! gets registers of its own; conversions that keep the bits (and extractions by a known index) just name those of
//! their operand.

mod address;
mod aggregate;
mod allocate;
mod anchors;
mod bulk;
mod call;
mod coalesce;
mod control;
mod flushed;
mod instruction;
mod lane_function;
mod leaves;
mod memory;
mod observed_bytes;
mod padding;
mod remove_no_ops;
mod symbol;
mod texture;
mod used_elements;
mod verify;

use crate::class::Class;
use crate::code::{ConstantData, Guarded, List, Op, Padding, Place, Pointer, Program, Reg};
use crate::collective::Collective;
use crate::error::CompileError;
use crate::matrix::MatrixOp;
use crate::simd::SimdLevel;
use std::collections::HashMap;

use assay_ssa::{
    Binding, CastOp, Function, GlobalData, IdMap, IdSet, Inst, InstData, Kernel, Location, Module,
    Space, Value, ValueDef,
};

/// How a kernel is compiled.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Values of function constants that are still open in the program, by number, as the bits of their elements.
    pub constants: Vec<(u32, Vec<u64>)>,
    /// The vector instructions the program is run with. Results are the same with all.
    pub simd: SimdLevel,
    /// Leave guard zones between the objects of thread and threadgroup memory, for [`Program::check`].
    pub guards: bool,
    /// Take nothing of a read before a barrier for done that the barrier does not order, for [`Program::check`].
    pub pedantic: bool,
    /// Keep what [`Program::make_native`] needs.
    #[cfg(feature = "native")]
    pub native: bool,
}

impl Program {
    /// Compiles a kernel of an optimised module (`assay_opt::pipeline::optimize`). What cannot be run is
    /// refused here, by name.
    pub fn compile(module: &Module, kernel: &str, options: &Options) -> Result<Self, CompileError> {
        let Some(found) = module.kernel(kernel) else {
            let known: Vec<&str> = module.kernels.iter().map(|k| k.name.as_str()).collect();
            return Err(CompileError::NoKernel {
                name: kernel.to_owned(),
                known: known.join(", "),
            });
        };
        let malformed = |what: &str| CompileError::Malformed {
            kernel: kernel.to_owned(),
            what: what.to_owned(),
        };
        let function = module
            .functions
            .get(found.function)
            .ok_or_else(|| malformed("it has no function"))?;
        let tree = assay_opt::structurize::structurize(function).map_err(|reason| {
            CompileError::Control {
                kernel: kernel.to_owned(),
                reason,
            }
        })?;
        let mut compiler = Compiler::new(module, found, function, options);
        compiler.bind_parameters()?;
        compiler.tree(&tree)?;
        compiler.emit(Op::End);
        #[cfg(feature = "native")]
        compiler.keep_source();
        let program = &mut compiler.program;
        let sound = verify::verify(program)
            .and_then(|()| coalesce::coalesce(program))
            .map(|()| remove_no_ops::remove_no_ops(program))
            .and_then(|()| observed_bytes::observed_bytes(program))
            .and_then(|()| allocate::allocate(program));
        match sound.and_then(|()| verify::verify(program)) {
            Ok(()) => Ok(compiler.program),
            Err(what) => Err(malformed(what)),
        }
    }
}

/// Returns true if a function finds pointers to memory of the device in memory, or makes them of integers.
fn follows_pointers(function: &Function) -> bool {
    let found = |inst: Inst| {
        let made = match function.inst(inst) {
            InstData::Load { .. } => true,
            InstData::Cast { op, .. } => *op == CastOp::IntToPtr,
            _ => false,
        };
        let space = function
            .result(inst)
            .and_then(|result| function.ty(result).space());
        made && matches!(
            space,
            Some(Space::Device | Space::Constant | Space::Generic)
        )
    };
    let mut blocks = function.blocks().iter();
    blocks.any(|&block| function.insts(block).iter().any(|&inst| found(inst)))
}

pub(super) struct Compiler<'a> {
    pub(super) module: &'a Module,
    pub(super) function: &'a Function,
    options: &'a Options,
    pub(super) program: Program,
    values: IdMap<Value, Option<List>>,
    /// Places known already, by location.
    known_places: HashMap<assay_ssa::Loc, u32>,
    /// The instruction being compiled.
    pub(super) current: Option<Inst>,
    /// The last known place on the way to it.
    pub(super) near: u32,
    /// Labels of the scopes and loops around, with their slots.
    pub(super) scopes: Vec<control::Frame>,
    /// How often each value is used.
    pub(super) uses: IdMap<Value, u32>,
    /// Values that become part of the operations that use them.
    pub(super) folded: IdSet<Value>,
    /// Values made in a loop and used behind it.
    pub(super) escaping: IdSet<Value>,
    /// Single-precision values that are never denormal.
    pub(super) flushed: IdSet<Value>,
    /// Reads of device memory that are done before a barrier.
    pub(super) anchored: IdSet<Value>,
    /// Which elements of each vector are used.
    pub(super) parts: IdMap<Value, u32>,
    /// What each operation computes.
    #[cfg(feature = "native")]
    meanings: Vec<crate::native::Meaning>,
}

pub(super) type Done<T = ()> = Result<T, CompileError>;

impl<'a> Compiler<'a> {
    fn new(
        module: &'a Module,
        kernel: &'a Kernel,
        function: &'a Function,
        options: &'a Options,
    ) -> Self {
        let mut uses = IdMap::with_len(0, function.num_values());
        for &block in function.blocks() {
            for &inst in function.insts(block) {
                function.for_each_operand(inst, |value| uses[value] += 1);
            }
        }
        let folded = address::folded(function, &uses);
        Self {
            module,
            function,
            options,
            program: Program {
                name: kernel.name.clone(),
                arguments: kernel.arguments.clone(),
                max_threads: kernel.max_threads,
                ops: Vec::new(),
                origins: Vec::new(),
                places: Vec::new(),
                classes: Vec::new(),
                flops: Vec::new(),
                lists: Vec::new(),
                transfers: Vec::new(),
                collectives: Vec::new(),
                matrices: Vec::new(),
                products: Vec::new(),
                per_lane: Vec::new(),
                copies: Vec::new(),
                textures: Vec::new(),
                narrow: 0,
                wide: 0,
                slots: 0,
                constants: Vec::new(),
                pointers: Vec::new(),
                data: Vec::new(),
                frame: 0,
                static_threadgroup: 0,
                threadgroup_end: 0,
                guarded: options.guards.then(Guarded::default),
                padding: Padding::default(),
                in_order: false,
                in_turn: false,
                level: options.simd,
                follows_pointers: follows_pointers(function),
                reads_inactive: false,
                #[cfg(feature = "native")]
                native: Default::default(),
            },
            values: IdMap::with_len(None, function.num_values()),
            known_places: HashMap::new(),
            current: None,
            near: u32::MAX,
            scopes: Vec::new(),
            escaping: allocate::escaping(function, &folded),
            folded,
            flushed: flushed::flushed(function),
            anchored: match options.guards && !options.pedantic {
                true => anchors::anchored(function),
                false => IdSet::new(),
            },
            parts: used_elements::used(function),
            uses,
            #[cfg(feature = "native")]
            meanings: Vec::new(),
        }
    }

    /// Keeps the program as it is before registers are shared, for machine code.
    #[cfg(feature = "native")]
    fn keep_source(&mut self) {
        if !self.options.native || verify::verify(&self.program).is_err() {
            return;
        }
        let parameters = crate::native::parameters(self.function);
        let parameters = parameters.into_iter().flat_map(|(value, parameter)| {
            let list = self.values[value].unwrap_or_default();
            let regs = self.program.list(list).iter();
            regs.map(move |&reg| (reg, parameter))
        });
        let parameters = parameters.collect();
        let source =
            crate::native::Source::new(self.program.clone(), self.meanings.clone(), parameters);
        self.program.native = crate::native::Slot::of(source);
    }

    // ---- errors ----

    pub(super) fn unsupported<T>(&mut self, what: impl Into<String>) -> Done<T> {
        let place = self.place();
        Err(CompileError::Unsupported {
            kernel: self.program.name.clone(),
            what: what.into(),
            place: self
                .program
                .places
                .get(place as usize)
                .map(Place::to_string),
        })
    }

    pub(super) fn malformed<T>(&self, what: impl Into<String>) -> Done<T> {
        Err(CompileError::Malformed {
            kernel: self.program.name.clone(),
            what: what.into(),
        })
    }

    // ---- operations ----

    pub(super) fn emit(&mut self, op: Op) -> usize {
        let place = self.place();
        if place != u32::MAX {
            self.near = place;
        }
        let class = self.class(&op);
        self.program.classes.push(class);
        self.program.flops.push(0);
        #[cfg(feature = "native")]
        self.meanings
            .push(crate::native::meaning(self.function, self.current, &op));
        self.program.ops.push(op);
        self.program.origins.push(place);
        self.program.ops.len() - 1
    }

    /// The kind of instruction an operation stands for.
    fn class(&self, op: &Op) -> Class {
        let arithmetic = || {
            let inst = self.current.map(|inst| self.function.inst(inst));
            inst.map_or(Class::Issue, Class::of)
        };
        match op {
            Op::Load { .. }
            | Op::Store { .. }
            | Op::MemCopy { .. }
            | Op::BulkCopy { .. }
            | Op::MemSet { .. }
            | Op::Atomic { .. }
            | Op::CompareExchange { .. }
            | Op::Texture { .. } => Class::Memory,
            Op::Matrix { index } => match self.program.matrices.get(*index as usize) {
                Some(MatrixOp::Load { .. } | MatrixOp::Store { .. }) => Class::Memory,
                Some(MatrixOp::Diagonal { .. }) => Class::Issue,
                _ => Class::Matrix,
            },
            Op::Expect { .. } => Class::Bookkeeping,
            Op::Barrier { .. } | Op::Order { .. } => Class::Barrier,
            Op::If { .. } => Class::Branch,
            Op::MoveNarrow { .. } | Op::MoveWide { .. } | Op::Moves { .. } => Class::Bookkeeping,
            op if op.is_control() => Class::Bookkeeping,
            _ => arithmetic(),
        }
    }

    pub(super) fn emit_collective(&mut self, collective: Collective) {
        self.program.collectives.push(collective);
        let index = self.program.collectives.len() as u32 - 1;
        self.emit(Op::Collective { index });
    }

    pub(super) fn emit_matrix(&mut self, op: MatrixOp) {
        self.program.matrices.push(op);
        let index = self.program.matrices.len() as u32 - 1;
        self.emit(Op::Matrix { index });
    }

    /// The place in the source of the current instruction.
    fn place(&mut self) -> u32 {
        let Some(loc) = self.current.and_then(|inst| self.function.loc(inst)) else {
            return u32::MAX;
        };
        if let Some(&known) = self.known_places.get(&loc) {
            return known;
        }
        let locations = &self.module.locations;
        // The user's own line, not one of the library's headers.
        let locations_of = locations.user_chain(loc);
        let Some(&location) = locations_of.first() else {
            return u32::MAX;
        };
        let inlined = locations_of.iter().rev().skip(1);
        let chain = inlined.fold(self.program.name.clone(), |chain, location| {
            let name = locations.function_name(location).unwrap_or("?");
            format!("{chain} > {name}")
        });
        let line = |at: &Location| format!("{}:{}", locations.file_name(at.file), at.line);
        let outside = locations
            .chain(loc)
            .skip_while(|at| *at != location)
            .skip(1);
        self.program.places.push(Place {
            line: line(location),
            column: location.column,
            chain,
            callers: outside.map(line).collect(),
        });
        let place = self.program.places.len() as u32 - 1;
        self.known_places.insert(loc, place);
        place
    }

    pub(super) fn here(&self) -> u32 {
        self.program.ops.len() as u32
    }

    // ---- registers ----

    pub(super) fn register(&mut self, wide: bool) -> Reg {
        let count = if wide {
            &mut self.program.wide
        } else {
            &mut self.program.narrow
        };
        *count += 1;
        Reg {
            index: *count - 1,
            wide,
        }
    }

    /// A register that holds the same number in all lanes.
    pub(super) fn constant(&mut self, wide: bool, bits: u64) -> Reg {
        let reg = self.register(wide);
        self.program.constants.push((reg, bits));
        reg
    }

    pub(super) fn list(&mut self, regs: &[Reg]) -> List {
        let start = self.program.lists.len() as u32;
        self.program.lists.extend_from_slice(regs);
        List {
            start,
            len: regs.len() as u32,
        }
    }

    /// Fresh registers for the result of the current instruction.
    pub(super) fn define(&mut self, value: Value) -> Done<Vec<Reg>> {
        let leaves = self.leaves(self.function.ty(value))?;
        let regs: Vec<Reg> = leaves
            .iter()
            .map(|leaf| self.register(leaf.wide()))
            .collect();
        self.name(value, &regs);
        Ok(regs)
    }

    /// Says which registers hold a value.
    pub(super) fn name(&mut self, value: Value, regs: &[Reg]) {
        let list = self.list(regs);
        self.values[value] = Some(list);
    }

    /// The registers of a value.
    pub(super) fn regs(&mut self, value: Value) -> Done<Vec<Reg>> {
        if let Some(list) = self.values[value] {
            return Ok(self.program.list(list).to_vec());
        }
        let data = self.function.value(value);
        let leaves = self.leaves(data.ty)?;
        let elements: Vec<u64> = match data.def {
            ValueDef::Const(bits) => vec![bits; leaves.len()],
            ValueDef::ConstVector(elements) => self.function.elements(elements).to_vec(),
            ValueDef::Zero | ValueDef::Undef => vec![0; leaves.len()],
            ValueDef::FunctionConstant(id) => self.function_constant(id, leaves.len())?,
            ValueDef::Global(id) => return self.global(value, id),
            ValueDef::Result(_) | ValueDef::Param(..) => {
                return self.malformed(format!("{value} is used before it is defined"));
            }
        };
        if elements.len() != leaves.len() {
            return self.malformed(format!("constant {value} does not fit its type"));
        }
        let mut regs = Vec::with_capacity(leaves.len());
        for (leaf, bits) in leaves.iter().zip(elements) {
            regs.push(self.constant(leaf.wide(), bits));
        }
        self.name(value, &regs);
        Ok(regs)
    }

    /// The register of a scalar or pointer.
    pub(super) fn reg(&mut self, value: Value) -> Done<Reg> {
        match self.regs(value)?[..] {
            [reg] => Ok(reg),
            _ => self.malformed(format!("{value} is not a single number")),
        }
    }

    fn function_constant(
        &mut self,
        id: assay_ssa::FunctionConstantId,
        len: usize,
    ) -> Done<Vec<u64>> {
        let Some(constant) = self.module.function_constants.get(id) else {
            return self.malformed("unknown function constant");
        };
        let given = self
            .options
            .constants
            .iter()
            .find(|(index, _)| *index == constant.index);
        let bits = given.map(|(_, bits)| bits).or(constant.default.as_ref());
        match bits {
            Some(bits) if bits.len() == len => Ok(bits.clone()),
            Some(bits) => self.malformed(format!(
                "function constant {} has {len} elements, not {}",
                constant.index,
                bits.len()
            )),
            None => Err(CompileError::MissingConstant {
                index: constant.index,
                name: constant.name.clone(),
            }),
        }
    }

    fn global(&mut self, value: Value, id: assay_ssa::GlobalId) -> Done<Vec<Reg>> {
        let Some(global) = self.module.globals.get(id) else {
            return self.malformed("unknown global");
        };
        let size = self.module.types.store_size(global.ty);
        let pointer = if global.space == Space::Threadgroup {
            let start = self.place_in_threadgroup(&global.name, size, global.align);
            let padding = padding::padding(&self.module.types, global.ty, start);
            self.program.padding.threadgroup.extend(padding);
            Pointer::Static(start)
        } else {
            let name = symbol::source_name(&global.name);
            let bytes = match &global.data {
                GlobalData::Bytes(bytes) => bytes.clone(),
                GlobalData::Zero => vec![0; size as usize],
                GlobalData::Undefined => {
                    return self.unsupported(format!("constant data with addresses, \"{name}\","));
                }
            };
            self.program.data.push(ConstantData { name, bytes });
            Pointer::Constant(self.program.data.len() as u32 - 1)
        };
        let reg = self.register(true);
        self.program.pointers.push((reg.index, pointer));
        self.name(value, &[reg]);
        Ok(vec![reg])
    }

    /// Where a threadgroup variable lies.
    fn place_in_threadgroup(&mut self, name: &str, size: u32, align: u32) -> u32 {
        let align = align.clamp(1, 1 << 16);
        let program = &mut self.program;
        let declared = program.static_threadgroup.next_multiple_of(align);
        program.static_threadgroup = declared.saturating_add(size);
        // Code may rely on more than a type's alignment where a compiler gives it.
        let apart = if program.guarded.is_some() {
            align.max(16)
        } else {
            align
        };
        let start = program.threadgroup_end.next_multiple_of(apart);
        program.threadgroup_end = match &mut program.guarded {
            Some(guarded) => guarded
                .threadgroup
                .add(start, size, symbol::source_name(name)),
            None => start.saturating_add(size),
        };
        start
    }

    /// Where an object of thread memory lies.
    pub(super) fn place_in_frame(&mut self, size: u32, align: u32) -> u32 {
        let program = &mut self.program;
        let least = if program.guarded.is_some() { 16 } else { 1 };
        let start = program.frame.next_multiple_of(align.clamp(least, 256));
        program.frame = match &mut program.guarded {
            Some(guarded) => guarded.thread.add(start, size, String::new()),
            None => start.saturating_add(size),
        };
        start
    }

    // ---- parameters ----

    fn bind_parameters(&mut self) -> Done {
        let Some(entry) = self.function.entry() else {
            return self.malformed("it has no blocks");
        };
        for (index, &param) in self.function.params(entry).iter().enumerate() {
            let arguments = &self.program.arguments;
            let argument = arguments.iter().find(|a| a.param == Some(index as u32));
            let Some(argument) = argument else {
                return self.malformed(format!("parameter {index} belongs to no argument"));
            };
            let (binding, name) = (argument.binding, argument.name.clone());
            let reg = self.register(true);
            self.name(param, &[reg]);
            let used = self.uses[param] > 0;
            let pointer = match binding {
                Binding::Buffer(number) => Pointer::Buffer(number),
                Binding::Threadgroup(number) => Pointer::Threadgroup(number),
                _ if !used => continue,
                Binding::Texture(number) => Pointer::Texture(number),
                Binding::Sampler(number) => Pointer::Sampler(number),
                _ => return self.unsupported(format!("argument \"{name}\"")),
            };
            if !self.function.ty(param).is_pointer() {
                return self.unsupported(format!("argument \"{name}\", which is no pointer"));
            }
            if used {
                self.program.pointers.push((reg.index, pointer));
            }
        }
        for &block in self.function.blocks() {
            if block == entry {
                continue;
            }
            for &param in self.function.params(block) {
                self.define(param)?;
            }
        }
        Ok(())
    }
}
