//! A function: blocks in an order in which definitions come first, phis as block parameters.

use super::memory::AliasScopes;
use super::{FoundKernel, LowerError, Lowered, Lowering};
use crate::llvm::{self, Attributes, BlockId, Body, Instruction, NO_LOCATION, Op, TypeId, ValueId};
use assay_ssa::{
    Binding, Block, Builder, CastOp, Flags, Function, FunctionAttributes, Loc, SwitchCases, Type,
    TypeKind, Value,
};

/// A function while it is lowered.
pub(super) struct FunctionLowering<'l, 'm, 'a> {
    pub(super) lowering: &'l mut Lowering<'m, 'a>,
    pub(super) body: &'m Body<'a>,
    pub(super) function: Function,
    /// Block at hand.
    pub(super) current: Block,
    /// Source location of the instruction at hand.
    pub(super) location: Option<Loc>,
    /// Local values by LLVM's numbers, as they come into being.
    pub(super) values: Vec<Option<Value>>,
    /// Blocks by LLVM's numbers; those that cannot be reached have none.
    pub(super) blocks: Vec<Option<Block>>,
    /// How many allocations stand at the start of the entry block.
    pub(super) allocas: usize,
    pub(super) aliases: AliasScopes,
    /// Loop hints on branches: the branching block, its targets, the hint.
    pub(super) hints: Vec<super::loops::PendingHint>,
    /// Copies of program-scope built-ins, by global.
    pub(super) inputs: Vec<(u32, Value)>,
    /// How many more parts of constants may be made.
    pub(super) constant_budget: u32,
}

impl<'l, 'm, 'a> FunctionLowering<'l, 'm, 'a> {
    /// Lowers one function. For a kernel, its arguments learn which parameter carries them.
    pub(super) fn lower(
        lowering: &'l mut Lowering<'m, 'a>,
        index: u32,
        kernel: Option<&mut FoundKernel>,
    ) -> Lowered<Function> {
        let source = lowering.source;
        let (Some(declared), Some(body)) = (
            source.functions.get(index as usize),
            lowering.body_of(index),
        ) else {
            return Err(LowerError::new("a function without a body"));
        };
        let in_function = |mut error: LowerError| {
            error
                .function
                .get_or_insert_with(|| declared.name.to_string());
            error
        };
        let Some(llvm::Type::Function { result, params, .. }) = source.types.get(declared.ty)
        else {
            return Err(in_function(LowerError::new("its type is no function type")));
        };
        let ret = lowering.ty(*result).map_err(in_function)?;
        let mut function = Function::new(&declared.name, ret);
        let attributes = source.attributes.function(declared.attributes);
        let has = |bit| attributes.is_some_and(|attributes| attributes.has(bit));
        function.attributes = FunctionAttributes {
            convergent: has(Attributes::CONVERGENT),
            inline_hint: false,
            no_inline: has(Attributes::NOINLINE),
        };
        lowering.module_values.forget();
        let entry = function.add_block();
        let mut this = FunctionLowering {
            lowering,
            body,
            function,
            current: entry,
            location: None,
            values: vec![None; body.values.len()],
            blocks: vec![None; body.blocks.len()],
            allocas: 0,
            aliases: AliasScopes::default(),
            hints: Vec::new(),
            inputs: Vec::new(),
            constant_budget: super::constants::MAX_PARTS,
        };
        this.lower_parameters(params, kernel).map_err(in_function)?;
        this.lower_blocks(entry).map_err(in_function)?;
        this.place_hints();
        super::lines::fill(&mut this.function, &this.lowering.target.locations);
        Ok(this.function)
    }

    /// Adds an instruction at the end of the block at hand.
    #[inline]
    pub(super) fn builder(&mut self) -> Builder<'_> {
        let mut builder = Builder::new(&mut self.function);
        builder.switch_to(self.current);
        builder.set_loc(self.location);
        builder
    }

    /// The value made for an LLVM value so far.
    #[inline]
    pub(super) fn known_value(&self, id: ValueId) -> Option<Value> {
        match id.0.checked_sub(self.body.first_local) {
            Some(local) => self.values.get(local as usize).copied().flatten(),
            None => self.lowering.module_values.get(id),
        }
    }

    pub(super) fn set_value(&mut self, id: ValueId, value: Value) {
        match id.0.checked_sub(self.body.first_local) {
            Some(local) => {
                if let Some(slot) = self.values.get_mut(local as usize) {
                    *slot = Some(value);
                }
            }
            None => self.lowering.module_values.set(id, value),
        }
    }

    /// Parameters become parameters of the entry block, except a kernel's positions, which are read by
    /// calling their builtin.
    fn lower_parameters(
        &mut self,
        params: &[TypeId],
        mut kernel: Option<&mut FoundKernel>,
    ) -> Lowered<()> {
        let entry = self.current;
        let mut next = 0;
        let mut positions = Vec::new();
        for (index, &type_id) in params.iter().enumerate() {
            let ty = self.lowering.ty(type_id)?;
            let value_id = ValueId(self.body.first_local + index as u32);
            let argument = kernel.as_deref_mut().and_then(|kernel| {
                let mut arguments = kernel.arguments.iter_mut();
                arguments.find(|argument| argument.param == Some(index as u32))
            });
            match argument {
                Some(argument) => match argument.binding {
                    Binding::Builtin(builtin) if ty.is_int() => {
                        argument.param = None;
                        positions.push((value_id, builtin, ty));
                        continue;
                    }
                    _ => argument.param = Some(next),
                },
                None => {
                    if let Some(kernel) = kernel.as_deref_mut() {
                        let mut argument = assay_ssa::Argument::new("", Binding::Other);
                        argument.param = Some(next);
                        kernel.arguments.push(argument);
                    }
                }
            }
            next += 1;
            let space = kernel.as_deref().and_then(|kernel| {
                let mut arguments = kernel.arguments.iter();
                arguments
                    .find(|argument| argument.param == Some(next - 1))?
                    .space
            });
            let value = match (ty.kind(), space) {
                // A kernel's generic pointer whose space its description tells.
                (TypeKind::Pointer(assay_ssa::Space::Generic), Some(space)) => {
                    let value = self.function.add_param(entry, Type::pointer(space));
                    self.builder()
                        .cast(CastOp::SpaceCast, value, ty, Flags::NONE)
                }
                _ => self.function.add_param(entry, ty),
            };
            self.set_value(value_id, value);
        }
        for (value_id, builtin, ty) in positions {
            if let Some(value) = self.builder().builtin(builtin.call(), &[], ty) {
                self.set_value(value_id, value);
            }
        }
        // What stands here already comes before anything of the body.
        Ok(())
    }

    fn lower_blocks(&mut self, entry: Block) -> Lowered<()> {
        let order = self.reverse_postorder();
        // Blocks keep their places in the source's order.
        let mut reached: Vec<u32> = order.iter().map(|block| block.0).collect();
        reached.sort_unstable();
        for number in reached {
            let block = if number == 0 {
                entry
            } else {
                self.function.add_block()
            };
            if let Some(slot) = self.blocks.get_mut(number as usize) {
                *slot = Some(block);
            }
        }
        for &block in &order {
            self.declare_phis(block)?;
        }
        for &block in &order {
            self.lower_block(block)?;
        }
        Ok(())
    }

    /// The reachable blocks, each after those that dominate it.
    fn reverse_postorder(&self) -> Vec<BlockId> {
        let count = self.body.blocks.len();
        let mut seen = vec![false; count];
        let mut order = Vec::with_capacity(count);
        let mut stack: Vec<(BlockId, usize)> = vec![(BlockId(0), 0)];
        let mut successors = Vec::new();
        if let Some(first) = seen.first_mut() {
            *first = true;
        }
        while let Some((block, position)) = stack.pop() {
            successors.clear();
            self.successors(block, &mut successors);
            match successors.get(position) {
                Some(&next) => {
                    stack.push((block, position + 1));
                    match seen.get_mut(next.0 as usize) {
                        Some(seen) if !*seen => {
                            *seen = true;
                            stack.push((next, 0));
                        }
                        _ => {}
                    }
                }
                None => order.push(block),
            }
        }
        order.reverse();
        order
    }

    fn successors(&self, block: BlockId, out: &mut Vec<BlockId>) {
        match self
            .body
            .block(block)
            .last()
            .map(|instruction| &instruction.op)
        {
            Some(Op::Jump { target }) => out.push(*target),
            Some(Op::Branch {
                then, otherwise, ..
            }) => out.extend([*then, *otherwise]),
            Some(Op::Switch { default, cases, .. }) => {
                out.push(*default);
                let cases = self.body.list(*cases).chunks_exact(2);
                out.extend(cases.map(|case| BlockId(case[1])));
            }
            _ => {}
        }
    }

    /// Phis come first in a block; each becomes a parameter.
    fn declare_phis(&mut self, block: BlockId) -> Lowered<()> {
        let body = self.body;
        let Some(target) = self.block(block) else {
            return Ok(());
        };
        for instruction in body.block(block) {
            let (Op::Phi { .. }, Some(result)) = (instruction.op, instruction.result) else {
                break;
            };
            if block.0 == 0 {
                return Err(LowerError::new("the entry block has a phi"));
            }
            let ty = self.llvm_value(result)?.ty;
            let ty = self.lowering.ty(ty)?;
            let value = self.function.add_param(target, ty);
            self.set_value(result, value);
        }
        Ok(())
    }

    fn block(&self, block: BlockId) -> Option<Block> {
        self.blocks.get(block.0 as usize).copied().flatten()
    }

    fn lower_block(&mut self, block: BlockId) -> Lowered<()> {
        let body = self.body;
        let Some(target) = self.block(block) else {
            return Ok(());
        };
        self.current = target;
        let span = body
            .blocks
            .get(block.0 as usize)
            .copied()
            .unwrap_or_default();
        for index in span.start..span.start + span.len {
            let Some(instruction) = body.instructions.get(index as usize) else {
                break;
            };
            if matches!(instruction.op, Op::Phi { .. }) {
                // Phis behind other instructions were not declared and have no value.
                continue;
            }
            self.location = match instruction.location {
                NO_LOCATION => None,
                location => self.lowering.location(body, location),
            };
            let outcome = match instruction.op.is_terminator() {
                true => self.lower_terminator(block, index, instruction),
                false => self.lower_instruction(index, instruction),
            };
            outcome.map_err(|mut error| {
                error.instruction.get_or_insert(index);
                error
            })?;
        }
        Ok(())
    }

    /// Lowers an instruction that ends no block, and enters its value.
    pub(super) fn lower_instruction(
        &mut self,
        index: u32,
        instruction: &Instruction,
    ) -> Lowered<()> {
        let result = match instruction.result {
            Some(id) => Some((id, self.llvm_value(id)?.ty)),
            None => None,
        };
        let type_id = result.map(|(_, ty)| ty);
        let value = match instruction.op {
            Op::Binary {
                op,
                flags,
                operands,
            } => Some(self.binary(op, flags, operands)?),
            Op::FNeg { flags, operand } => Some(self.negate(flags, operand)?),
            Op::Freeze { operand } => Some(self.freeze(operand)?),
            Op::Cast { op, flags, operand } => {
                let to = type_id.ok_or_else(|| LowerError::new("a conversion to nothing"))?;
                match self.bit_view(op, operand, to)? {
                    Some(viewed) => Some(viewed),
                    None => Some(self.cast(op, flags, operand, to)?),
                }
            }
            Op::Compare {
                predicate,
                flags,
                operands,
            } => Some(self.compare(predicate, flags, operands)?),
            Op::Select {
                flags,
                condition,
                operands,
            } => Some(self.select(flags, condition, operands)?),
            Op::ExtractElement { vector, index } => Some(self.extract_element(vector, index)?),
            Op::InsertElement {
                vector,
                element,
                index,
            } => Some(self.insert_element(vector, element, index)?),
            Op::ShuffleVector { operands, mask } => {
                let to = type_id.ok_or_else(|| LowerError::new("a shuffle to nothing"))?;
                Some(self.shuffle(operands, mask, to)?)
            }
            Op::ExtractValue { aggregate, path } => {
                let aggregate = self.value(aggregate)?;
                let path = self.body.path(path).to_vec();
                let types = &self.lowering.target.types;
                let mut builder = Builder::new(&mut self.function);
                builder.switch_to(self.current);
                builder.set_loc(self.location);
                Some(builder.extract_value(types, aggregate, &path))
            }
            Op::InsertValue {
                aggregate,
                element,
                path,
            } => {
                let (aggregate, element) = (self.value(aggregate)?, self.value(element)?);
                let path = self.body.path(path).to_vec();
                Some(self.builder().insert_value(aggregate, element, &path))
            }
            Op::Gep {
                flags,
                source,
                operands,
            } => {
                let body = self.body;
                Some(self.address(source, flags, body.list(operands))?)
            }
            Op::Alloca { ty, count, align } => {
                let pointer = type_id.ok_or_else(|| LowerError::new("an allocation of nothing"))?;
                Some(self.alloca(ty, count, align, pointer)?)
            }
            Op::Load { .. } => Some(self.load(index, &instruction.op)?),
            Op::Store { .. } => {
                self.store(index, &instruction.op)?;
                None
            }
            Op::CompareExchange { .. } | Op::AtomicRmw { .. } | Op::Fence { .. } => {
                self.atomic(&instruction.op, type_id)?
            }
            Op::Call { .. } => self.call(index, &instruction.op, type_id)?,
            Op::Phi { .. }
            | Op::Return { .. }
            | Op::Jump { .. }
            | Op::Branch { .. }
            | Op::Switch { .. }
            | Op::Unreachable => None,
        };
        if let (Some((id, _)), Some(value)) = (result, value) {
            self.set_value(id, value);
        }
        Ok(())
    }

    fn lower_terminator(
        &mut self,
        from: BlockId,
        index: u32,
        instruction: &Instruction,
    ) -> Lowered<()> {
        match instruction.op {
            Op::Return { value } => {
                let value = value.map(|value| self.value(value)).transpose()?;
                self.builder().ret(value);
            }
            Op::Jump { target } => {
                let (block, args) = self.edge(from, target)?;
                self.builder().jump(block, &args);
            }
            Op::Branch {
                condition,
                then,
                otherwise,
            } => {
                let condition = self.value(condition)?;
                let (then, then_args) = self.edge(from, then)?;
                let (otherwise, other_args) = self.edge(from, otherwise)?;
                self.builder()
                    .branch(condition, (then, &then_args), (otherwise, &other_args));
            }
            Op::Switch {
                value,
                default,
                cases,
            } => {
                let value = self.value(value)?;
                let (default, default_args) = self.edge(from, default)?;
                let body = self.body;
                let mut table = SwitchCases::default();
                for case in body.list(cases).chunks_exact(2) {
                    let number = self.value(ValueId(case[0]))?;
                    let number = self.function.const_bits(number);
                    let number =
                        number.ok_or_else(|| LowerError::new("a switch case that is no number"))?;
                    let (block, args) = self.edge(from, BlockId(case[1]))?;
                    table
                        .cases
                        .push((number, self.function.block_call(block, &args)));
                }
                let default = self.function.block_call(default, &default_args);
                let cases = self.function.add_switch(table);
                let data = assay_ssa::InstData::Switch {
                    value,
                    default,
                    cases,
                };
                self.builder().inst(data, Type::VOID);
            }
            _ => {
                self.builder().unreachable();
            }
        }
        self.note_hint(from, index);
        Ok(())
    }

    /// The target of an edge and the values its phis take along it.
    fn edge(&mut self, from: BlockId, to: BlockId) -> Lowered<(Block, Vec<Value>)> {
        let body = self.body;
        let Some(target) = self.block(to) else {
            return Err(LowerError::new("a branch to a block that does not exist"));
        };
        let mut args = Vec::new();
        for instruction in body.block(to) {
            let Op::Phi { incoming, .. } = instruction.op else {
                break;
            };
            let pairs = body.list(incoming);
            let entry = pairs.chunks_exact(2).find(|pair| pair[1] == from.0);
            let Some(entry) = entry else {
                return Err(LowerError::new(
                    "a phi has no value for one of its predecessors",
                ));
            };
            args.push(self.value(ValueId(entry[0]))?);
        }
        Ok((target, args))
    }
}
