//! The function of a kernel that works tile by tile, as it is put together.

use super::super::{
    Candidate, Refusal, RefusalKind, arguments, coarsen, copy, geometry::plain_number,
};
use super::{Evaluator, Place, Site, Y};
use assay_ssa::{
    Access, BarrierMemory, BinaryOp, Block, Builder, Builtin, Flags, Function, Global, GlobalData,
    InstData, IntCond, Kernel, Module, Scalar, Space, Type, Value,
};

/// A function under construction.
pub(in super::super) struct Frame<'a> {
    pub(in super::super) site: &'a Site,
    pub(in super::super) module: Module,
    pub(in super::super) kernel: Kernel,
    pub(in super::super) geometry: super::super::Geometry,
    pub(in super::super) target: Function,
    pub(in super::super) current: Block,
    /// Extents of the original grid, along x and y only where positions may be outside.
    pub(in super::super) extent: [Option<Value>; 3],
    /// What is the same for all threads of a threadgroup.
    pub(in super::super) common: Place,
    /// How often the loop's body runs; not at all where guards keep every thread from it.
    pub(in super::super) rounds: Value,
}

/// A loop whose end has not been reached.
pub(in super::super) struct Open {
    header: Block,
    after: Block,
    pub(in super::super) variable: Value,
    pub(in super::super) carried: Vec<Value>,
}

impl<'a> Frame<'a> {
    /// Starts a function for tiles of `width` × `height` positions.
    pub(in super::super) fn new(
        candidate: &Candidate,
        site: &'a Site,
        width: u32,
        height: u32,
    ) -> Result<Frame<'a>, Refusal> {
        let malformed = || Refusal::new(RefusalKind::Program, "the function has no entry");
        let mut target = site.function.clone();
        coarsen::only_entry(&mut target);
        let entry = target.entry().ok_or_else(malformed)?;
        let mut kernel = candidate.declaration()?.clone();
        let mut geometry = candidate.geometry.clone();
        let mut extent = [None; 3];
        let extents = candidate.geometry.grid_threads();
        let read = super::super::positions::read(&site.function);
        for (axis, tile) in [(0, width), (1, height), (2, 1)] {
            let formula = &extents[axis];
            let whole = plain_number(formula).is_some_and(|n| n % u64::from(tile) == 0);
            let sized = read.contains(&(Builtin::ThreadsPerGrid, axis))
                || read.contains(&(Builtin::GridSize, axis));
            if sized || (axis < 2 && !whole) {
                let name = format!("grid_{}", super::super::AXES[axis]);
                let number =
                    arguments::number(&mut target, &mut kernel, &mut geometry, formula, &name)?;
                extent[axis] = Some(number);
            }
        }
        let zero = target.i32(0);
        let mut frame = Frame {
            site,
            module: candidate.module.clone(),
            kernel,
            geometry,
            target,
            current: entry,
            extent,
            common: Place::default(),
            rounds: zero,
        };
        frame.common.extent = extent;
        frame.common.position[2] = Some(frame.group(2));
        frame.count()?;
        Ok(frame)
    }

    /// How often the loop runs, if it runs for any thread.
    fn count(&mut self) -> Result<(), Refusal> {
        let counted = self.site.counted.clone();
        let zero = self.target.i32(0);
        let mut anywhere = self.at([Some(zero), Some(zero)]);
        let mut active = None;
        for guard in &self.site.guards {
            let holds = anywhere.value(&mut self.target, self.current, guard.cond)?;
            let holds = self.negated(holds, !guard.holds);
            active = Some(self.both(active, holds));
        }
        let mut common = self.at([None, None]);
        let init = common.value(&mut self.target, self.current, counted.test.induction.init)?;
        let bound = common.value(&mut self.target, self.current, counted.test.bound)?;
        let mut here = counted;
        here.test.induction.init = init;
        here.test.bound = bound;
        let rounds = here.rounds(&mut self.target, self.current);
        let ty = self.target.ty(rounds);
        if ty != Type::I32 {
            let why = "the loop does not count in 32 bits";
            return Err(Refusal::new(RefusalKind::Control, why));
        }
        self.rounds = match active {
            Some(active) => self.builder().select(active, rounds, zero, Flags::NONE),
            None => rounds,
        };
        Ok(())
    }

    /// Computes values of the original at a position along x and y.
    pub(in super::super) fn at(&self, [x, y]: [Option<Value>; 2]) -> Evaluator<'a> {
        let mut place = self.common.clone();
        place.position[0] = x;
        place.position[1] = y;
        Evaluator {
            site: self.site,
            place,
        }
    }

    pub(in super::super) fn builder(&mut self) -> Builder<'_> {
        let current = self.current;
        let mut builder = Builder::new(&mut self.target);
        builder.switch_to(current);
        builder
    }

    pub(in super::super) fn number(&mut self, number: u32) -> Value {
        self.target.i32(number as i32)
    }

    pub(in super::super) fn binary(&mut self, op: BinaryOp, a: Value, b: Value) -> Value {
        self.builder().binary(op, a, b, Flags::NONE)
    }

    /// `a * factor + b`.
    pub(in super::super) fn scaled(&mut self, a: Value, factor: u32, b: Value) -> Value {
        let factor = self.number(factor);
        let product = self.binary(BinaryOp::Mul, a, factor);
        self.binary(BinaryOp::Add, product, b)
    }

    pub(in super::super) fn below(&mut self, a: Value, b: Value) -> Value {
        self.builder().icmp(IntCond::Ult, a, b)
    }

    pub(in super::super) fn both(&mut self, a: Option<Value>, b: Value) -> Value {
        match a {
            Some(a) => self.binary(BinaryOp::And, a, b),
            None => b,
        }
    }

    fn negated(&mut self, cond: Value, negate: bool) -> Value {
        if !negate {
            return cond;
        }
        let yes = self.target.bool(true);
        self.binary(BinaryOp::Xor, cond, yes)
    }

    /// A position or size along an axis.
    pub(in super::super) fn system(&mut self, builtin: Builtin, axis: u32) -> Value {
        let vector = Type::vector(Scalar::I32, 3);
        let zero = self.target.zero(vector);
        let mut builder = self.builder();
        let read = builder.builtin(builtin.call(), &[], vector);
        builder.extract_lane(read.unwrap_or(zero), axis)
    }

    /// An index that is one number.
    pub(in super::super) fn index(&mut self, builtin: Builtin) -> Value {
        let zero = self.target.i32(0);
        let read = self.builder().builtin(builtin.call(), &[], Type::I32);
        read.unwrap_or(zero)
    }

    /// The threadgroup's position along an axis.
    pub(in super::super) fn group(&mut self, axis: u32) -> Value {
        self.system(Builtin::ThreadgroupPositionInGrid, axis)
    }

    /// An array in threadgroup memory.
    pub(in super::super) fn array(&mut self, name: &str, element: Type, len: u32) -> Value {
        let ty = self.module.types.array(element, len);
        let taken = |name: &str| {
            self.module
                .globals
                .find(|global| global.name == name)
                .is_some()
        };
        let mut fresh = name.to_owned();
        let mut count = 1;
        while taken(&fresh) {
            count += 1;
            fresh = format!("{name}{count}");
        }
        let id = self.module.globals.push(Global {
            name: fresh,
            space: Space::Threadgroup,
            ty,
            align: 16,
            data: GlobalData::Undefined,
        });
        self.target.global(Type::pointer(Space::Threadgroup), id)
    }

    /// The address of an element of an array.
    pub(in super::super) fn element(&mut self, array: Value, index: Value, ty: Type) -> Value {
        let bytes = self.module.types.stride(ty);
        let zero = assay_ssa::IndexExtend::Zero;
        self.builder()
            .ptr_add_extended(array, Some(index), zero, bytes, 0, Flags::INBOUNDS)
    }

    pub(in super::super) fn access(&self, ty: Type) -> Access {
        Access::aligned(self.module.types.align(ty).min(16))
    }

    pub(in super::super) fn barrier(&mut self) {
        let memory = self.number(BarrierMemory::THREADGROUP);
        let scope = self.number(1);
        let call = Builtin::ThreadgroupBarrier.call();
        self.builder().builtin(call, &[memory, scope], Type::VOID);
    }

    pub(in super::super) fn jump(&mut self, to: Block, args: &[Value]) {
        let target = self.target.block_call(to, args);
        self.end(InstData::Jump { target });
    }

    pub(in super::super) fn branch(&mut self, cond: Value, then: Block, otherwise: Block) {
        let then = self.target.block_call(then, &[]);
        let otherwise = self.target.block_call(otherwise, &[]);
        self.end(InstData::Branch {
            cond,
            then,
            otherwise,
        });
    }

    /// A branch to a block without parameters, or to one with.
    pub(in super::super) fn choose(
        &mut self,
        cond: Value,
        then: Block,
        otherwise: Block,
        args: &[Value],
    ) {
        let then = self.target.block_call(then, &[]);
        let otherwise = self.target.block_call(otherwise, args);
        self.end(InstData::Branch {
            cond,
            then,
            otherwise,
        });
    }

    fn end(&mut self, data: InstData) {
        let inst = self.target.make_inst(data, Type::VOID, None);
        self.target.append(self.current, inst);
    }

    /// `for (variable = start; variable < end; …) {`, with values that rounds hand on.
    pub(in super::super) fn open(&mut self, start: Value, end: Value, carried: &[Value]) -> Open {
        let header = self.target.add_block();
        let variable = self.target.add_param(header, Type::I32);
        let mut args = vec![start];
        let mut inside = Vec::new();
        for &value in carried {
            let ty = self.target.ty(value);
            inside.push(self.target.add_param(header, ty));
            args.push(value);
        }
        self.jump(header, &args);
        self.current = header;
        let more = self.below(variable, end);
        let (body, after) = (self.target.add_block(), self.target.add_block());
        self.branch(more, body, after);
        self.current = body;
        Open {
            header,
            after,
            variable,
            carried: inside,
        }
    }

    /// `variable += step }`, handing values on. What rounds hand on is [`Open::carried`] behind the loop.
    pub(in super::super) fn close(&mut self, open: &Open, step: u32, carried: &[Value]) {
        let step = self.number(step);
        let next = self.binary(BinaryOp::Add, open.variable, step);
        let mut args = vec![next];
        args.extend_from_slice(carried);
        self.jump(open.header, &args);
        self.current = open.after;
    }

    /// The guards that depend on the position along one axis, and the end of the grid along it.
    pub(in super::super) fn inside(
        &mut self,
        evaluator: &mut Evaluator<'_>,
        axis: u8,
    ) -> Result<Option<Value>, Refusal> {
        let mut all = None;
        let place = usize::from(axis == Y);
        if let (Some(extent), Some(position)) =
            (self.extent[place], evaluator.place.position[place])
        {
            all = Some(self.below(position, extent));
        }
        for guard in &self.site.guards {
            if guard.on == axis {
                let holds = evaluator.value(&mut self.target, self.current, guard.cond)?;
                let holds = self.negated(holds, !guard.holds);
                all = Some(self.both(all, holds));
            }
        }
        Ok(all)
    }

    /// The program at a position, with the loop's results given: runs and comes out at the end. Out of the grid nothing
    /// runs.
    pub(in super::super) fn rest(
        &mut self,
        [x, y]: [Value; 2],
        results: &[Value],
    ) -> Result<(), Refusal> {
        let malformed = || Refusal::new(RefusalKind::Program, "the function has no entry");
        let after = self.target.add_block();
        let mut inside = None;
        for (axis, position) in [(0, x), (1, y)] {
            if let Some(extent) = self.extent[axis] {
                let holds = self.below(position, extent);
                inside = Some(self.both(inside, holds));
            }
        }
        // The blocks of the original, their instructions as they were.
        let source = &self.site.function;
        let entry = source.entry().ok_or_else(malformed)?;
        let start = self.target.add_block();
        match inside {
            Some(inside) => self.branch(inside, start, after),
            None => self.jump(start, &[]),
        }
        let header = self.site.counted.found.header;
        let originals: Vec<Block> = source
            .blocks()
            .iter()
            .copied()
            .filter(|&block| block != header)
            .collect();
        let made = copy::from(source, &mut self.target, &originals, (entry, start));
        let place = Place {
            position: [Some(x), Some(y), self.common.position[2]],
            ..self.common.clone()
        };
        let mut evaluator = Evaluator {
            site: self.site,
            place,
        };
        self.settle(&made, &mut evaluator, start, results, after)?;
        self.current = after;
        Ok(())
    }

    /// Gives the copied program its positions and the loop's results; returns become jumps behind it.
    fn settle(
        &mut self,
        made: &copy::Taken,
        evaluator: &mut Evaluator<'_>,
        start: Block,
        results: &[Value],
        after: Block,
    ) -> Result<(), Refusal> {
        let source = &self.site.function;
        let counted = &self.site.counted;
        let header = counted.found.header;
        let first = self.target.take_insts(start);
        let mut known = std::collections::HashMap::new();
        for &block in source.blocks() {
            for &inst in source.insts(block) {
                if let Some(value) = source.result(inst)
                    && super::super::positions::position(source, value).is_some()
                    && !matches!(source.inst(inst), InstData::Cast { .. })
                    && block != header
                {
                    let now = evaluator.value(&mut self.target, start, value)?;
                    known.insert(made.value(value), now);
                }
            }
        }
        first
            .into_iter()
            .for_each(|inst| self.target.append(start, inst));
        for (reduction, &result) in self.site.reductions.iter().zip(results) {
            known.insert(reduction.leaves_as(counted), result);
        }
        let mut exit = None;
        if let Some(terminator) = source.terminator(header) {
            source.for_each_target(terminator, |call| {
                if call.block == counted.exit {
                    exit = Some(source.list_values(call.args).to_vec());
                }
            });
        }
        let exit = exit.unwrap_or_default();
        for &block in &made.blocks {
            for inst in self.target.insts(block).to_vec() {
                self.target
                    .map_operands(inst, |value| known.get(&value).copied().unwrap_or(value));
                if matches!(self.target.inst(inst), InstData::Return { .. }) {
                    let target = self.target.block_call(after, &[]);
                    *self.target.inst_mut(inst) = InstData::Jump { target };
                }
                let place = made.block(counted.exit);
                let args: Vec<Value> = exit
                    .iter()
                    .map(|&arg| known.get(&arg).copied().unwrap_or_else(|| made.value(arg)))
                    .collect();
                self.target.map_targets(inst, |target, call| {
                    if call.block == header {
                        return target.block_call(place, &args);
                    }
                    call
                });
            }
        }
        Ok(())
    }

    /// Declares that threadgroups may have so many threads, if the kernel declares how many.
    pub(in super::super) fn allow(&mut self, threads: u32) {
        self.kernel.max_threads = self.kernel.max_threads.map(|_| threads);
    }

    /// Ends the function and hands everything over.
    pub(in super::super) fn finish(mut self, candidate: &Candidate) -> Result<Candidate, Refusal> {
        self.end(InstData::Return { value: None });
        let mut made = candidate.clone();
        super::super::jam::tidy(&self.module, &mut self.target);
        made.module = self.module;
        made.geometry = self.geometry;
        made.replace(self.kernel, self.target)?;
        Ok(made)
    }
}
