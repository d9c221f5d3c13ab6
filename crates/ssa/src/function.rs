//! A function: blocks of instructions over values.
//!
//! Control flow joins through *block parameters* instead of phis: a branch passes one value for each
//! parameter of its target. The parameters of the entry block are the parameters of the function.
//!
//! Constants are values of the function, and equal constants are the same [`Value`], so comparing ids
//! compares constants. They are defined everywhere and appear in no block.

use crate::flags::Flags;
use crate::id::IdVec;
use crate::inst::{
    Block, BlockCall, IndexList, Inst, InstData, SwitchCases, SwitchId, Value, ValueList,
};
use crate::location::Loc;
use crate::memory::{AliasId, AliasSet};
use crate::module::{FunctionConstantId, GlobalId};
use crate::pool::{ConstantTable, Pools};
use crate::ty::{Scalar, Type, TypeKind};

/// Where a value comes from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ValueDef {
    /// Result of an instruction.
    Result(Inst),
    /// Parameter of a block, with its position.
    Param(Block, u32),
    /// A scalar or pointer constant: its bits, upper ones zero.
    Const(u64),
    /// A vector constant: its elements' bits.
    ConstVector(ConstElements),
    /// An all-zero matrix or aggregate.
    Zero,
    /// An undefined value; whoever must choose, chooses zero.
    Undef,
    /// The address of a global.
    Global(GlobalId),
    /// A function constant that has not been given a value.
    FunctionConstant(FunctionConstantId),
}

/// The elements of a vector constant in a function's pool.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ConstElements {
    pub(crate) start: u32,
    pub(crate) len: u32,
}

/// A value's type and origin.
#[derive(Clone, Copy, Debug)]
pub struct ValueData {
    /// Its type.
    pub ty: Type,
    /// Its origin.
    pub def: ValueDef,
}

/// A block: parameters and instructions, the last of which is the only terminator.
#[derive(Clone, Default, Debug)]
pub struct BlockData {
    params: Vec<Value>,
    insts: Vec<Inst>,
    /// What the source said about the loop of which this block is the header.
    pub loop_hint: LoopHint,
}

/// What the source asked for about a loop.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum LoopHint {
    /// Nothing.
    #[default]
    None,
    /// Do not unroll.
    NoUnroll,
    /// Unroll, the compiler chooses how far.
    Unroll,
    /// Unroll completely.
    UnrollFull,
    /// Unroll by this factor.
    UnrollCount(u32),
}

/// What is known of a function as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FunctionAttributes {
    /// Contains (or may contain) operations that involve other threads.
    pub convergent: bool,
    /// The source asked for inlining.
    pub inline_hint: bool,
    /// The source forbade inlining.
    pub no_inline: bool,
}

/// A function with a body.
#[derive(Clone, Debug)]
pub struct Function {
    /// Name (mangled, or the kernel's).
    pub name: String,
    /// Type of the result, or void.
    pub ret: Type,
    /// Facts about the whole function.
    pub attributes: FunctionAttributes,
    pub(crate) values: IdVec<Value, ValueData>,
    insts: IdVec<Inst, InstSlot>,
    blocks: IdVec<Block, BlockData>,
    order: Vec<Block>,
    pools: Pools,
    pub(crate) const_elements: Vec<u64>,
    pub(crate) constants: ConstantTable,
    switches: IdVec<SwitchId, SwitchCases>,
    alias_sets: IdVec<AliasId, AliasSet>,
    /// Masks of alias scopes that belong to one domain each.
    pub alias_domains: Vec<u64>,
}

#[derive(Clone, Copy, Debug)]
struct InstSlot {
    data: InstData,
    result: Option<Value>,
    loc: Option<Loc>,
}

impl Function {
    /// A function without blocks.
    pub fn new(name: &str, ret: Type) -> Self {
        Self {
            name: name.to_owned(),
            ret,
            attributes: FunctionAttributes::default(),
            values: IdVec::new(),
            insts: IdVec::new(),
            blocks: IdVec::new(),
            order: Vec::new(),
            pools: Pools::new(),
            const_elements: Vec::new(),
            constants: ConstantTable::default(),
            switches: IdVec::new(),
            alias_sets: IdVec::new(),
            alias_domains: Vec::new(),
        }
    }

    // ---- blocks ----

    /// Adds an empty block at the end of the order.
    pub fn add_block(&mut self) -> Block {
        let block = self.blocks.push(BlockData::default());
        self.order.push(block);
        block
    }

    /// The first block, whose parameters are the function's.
    #[inline]
    pub fn entry(&self) -> Option<Block> {
        self.order.first().copied()
    }

    /// The blocks in order. Blocks taken out of the order are not part of the function any more.
    #[inline]
    pub fn blocks(&self) -> &[Block] {
        &self.order
    }

    /// Sets which blocks the function has, and their order; the entry comes first.
    pub fn set_block_order(&mut self, order: Vec<Block>) {
        self.order = order;
    }

    /// Number of block ids ever handed out: the length of a table over blocks.
    pub fn num_blocks(&self) -> usize {
        self.blocks.len()
    }

    /// A block's facts.
    #[inline]
    pub fn block(&self, block: Block) -> &BlockData {
        &self.blocks[block]
    }

    /// Adds a parameter to a block.
    pub fn add_param(&mut self, block: Block, ty: Type) -> Value {
        let index = self.blocks[block].params.len() as u32;
        let value = self.values.push(ValueData {
            ty,
            def: ValueDef::Param(block, index),
        });
        self.blocks[block].params.push(value);
        value
    }

    /// The parameters of a block.
    #[inline]
    pub fn params(&self, block: Block) -> &[Value] {
        &self.blocks[block].params
    }

    /// Keeps only the parameters for which `keep` (given position and value) holds, and renumbers them.
    /// The caller removes the corresponding arguments of the branches.
    pub fn retain_params(&mut self, block: Block, mut keep: impl FnMut(usize, Value) -> bool) {
        let mut position = 0;
        self.blocks[block].params.retain(|&value| {
            position += 1;
            keep(position - 1, value)
        });
        for index in 0..self.blocks[block].params.len() {
            let value = self.blocks[block].params[index];
            self.values[value].def = ValueDef::Param(block, index as u32);
        }
    }

    /// The instructions of a block.
    #[inline]
    pub fn insts(&self, block: Block) -> &[Inst] {
        &self.blocks[block].insts
    }

    /// The instructions of all blocks, in order.
    pub fn all_insts(&self) -> impl Iterator<Item = Inst> + Clone + '_ {
        let blocks = self.blocks().iter();
        blocks.flat_map(|&block| self.insts(block)).copied()
    }

    /// Replaces the instruction list of a block.
    pub fn set_insts(&mut self, block: Block, insts: Vec<Inst>) {
        self.blocks[block].insts = insts;
    }

    /// Takes the instruction list of a block out, leaving it empty, to be edited and put back with
    /// [`set_insts`](Self::set_insts) without copying.
    pub fn take_insts(&mut self, block: Block) -> Vec<Inst> {
        std::mem::take(&mut self.blocks[block].insts)
    }

    /// Puts an instruction at the end of a block.
    #[inline]
    pub fn append(&mut self, block: Block, inst: Inst) {
        self.blocks[block].insts.push(inst);
    }

    /// Puts an instruction at a position of a block.
    pub fn insert_at(&mut self, block: Block, position: usize, inst: Inst) {
        let insts = &mut self.blocks[block].insts;
        insts.insert(position.min(insts.len()), inst);
    }

    /// The last instruction of a block, if it is a terminator.
    #[inline]
    pub fn terminator(&self, block: Block) -> Option<Inst> {
        self.blocks[block]
            .insts
            .last()
            .copied()
            .filter(|&inst| self.insts[inst].data.is_terminator())
    }

    /// What the source asked for about the loop with this header.
    pub fn set_loop_hint(&mut self, header: Block, hint: LoopHint) {
        self.blocks[header].loop_hint = hint;
    }

    // ---- instructions ----

    /// Makes an instruction that is in no block yet, with a result of type `ty` unless that is void.
    #[inline]
    pub fn make_inst(&mut self, data: InstData, ty: Type, loc: Option<Loc>) -> Inst {
        let inst = self.insts.next_id();
        let result = if ty.is_void() {
            None
        } else {
            Some(self.values.push(ValueData {
                ty,
                def: ValueDef::Result(inst),
            }))
        };
        self.insts.push(InstSlot { data, result, loc })
    }

    /// An instruction.
    #[inline]
    pub fn inst(&self, inst: Inst) -> &InstData {
        &self.insts[inst].data
    }

    /// An instruction, to be changed in place (its result keeps id and type).
    #[inline]
    pub fn inst_mut(&mut self, inst: Inst) -> &mut InstData {
        &mut self.insts[inst].data
    }

    /// The result of an instruction.
    #[inline]
    pub fn result(&self, inst: Inst) -> Option<Value> {
        self.insts[inst].result
    }

    /// The type of an instruction's result, or void.
    #[inline]
    pub fn result_type(&self, inst: Inst) -> Type {
        self.insts[inst]
            .result
            .map_or(Type::VOID, |value| self.values[value].ty)
    }

    /// Where an instruction came from.
    #[inline]
    pub fn loc(&self, inst: Inst) -> Option<Loc> {
        self.insts[inst].loc
    }

    /// Says where an instruction came from.
    pub fn set_loc(&mut self, inst: Inst, loc: Option<Loc>) {
        self.insts[inst].loc = loc;
    }

    /// Number of instruction ids ever handed out: the length of a table over instructions.
    pub fn num_insts(&self) -> usize {
        self.insts.len()
    }

    // ---- values ----

    /// A value's type and origin.
    #[inline]
    pub fn value(&self, value: Value) -> ValueData {
        self.values[value]
    }

    /// A value's type and origin, unless the id is not of this function.
    #[inline]
    pub fn try_value(&self, value: Value) -> Option<ValueData> {
        self.values.get(value).copied()
    }

    /// A value's type.
    #[inline]
    pub fn ty(&self, value: Value) -> Type {
        self.values[value].ty
    }

    /// A value's origin.
    #[inline]
    pub fn def(&self, value: Value) -> ValueDef {
        self.values[value].def
    }

    /// Changes a value's type; for address-space inference and the like.
    pub fn set_type(&mut self, value: Value, ty: Type) {
        self.values[value].ty = ty;
    }

    /// The instruction that makes a value.
    #[inline]
    pub fn def_inst(&self, value: Value) -> Option<Inst> {
        match self.values[value].def {
            ValueDef::Result(inst) => Some(inst),
            _ => None,
        }
    }

    /// The instruction data that makes a value; the usual start of a pattern match.
    #[inline]
    pub fn def_data(&self, value: Value) -> Option<&InstData> {
        self.def_inst(value).map(|inst| self.inst(inst))
    }

    /// Number of value ids ever handed out: the length of a table over values.
    pub fn num_values(&self) -> usize {
        self.values.len()
    }

    // ---- lists ----

    /// Makes a list of values.
    pub fn list(&mut self, values: &[Value]) -> ValueList {
        self.pools.add_values(values)
    }

    /// The values of a list.
    #[inline]
    pub fn list_values(&self, list: ValueList) -> &[Value] {
        self.pools.values(list)
    }

    /// The values of a list, to be replaced in place. Lists are never shared between instructions unless
    /// a pass copied an [`InstData`] without copying its lists; see [`copy_lists`](Self::copy_lists).
    #[inline]
    pub fn list_values_mut(&mut self, list: ValueList) -> &mut [Value] {
        self.pools.values_mut(list)
    }

    /// Makes a list of numbers.
    pub fn index_list(&mut self, indices: &[u32]) -> IndexList {
        self.pools.add_indices(indices)
    }

    /// The numbers of a list.
    #[inline]
    pub fn indices(&self, list: IndexList) -> &[u32] {
        self.pools.indices(list)
    }

    /// Makes a branch target.
    pub fn block_call(&mut self, block: Block, args: &[Value]) -> BlockCall {
        BlockCall {
            block,
            args: self.pools.add_values(args),
        }
    }

    /// Adds the cases of a switch.
    pub fn add_switch(&mut self, cases: SwitchCases) -> SwitchId {
        self.switches.push(cases)
    }

    /// The cases of a switch.
    pub fn switch_cases(&self, id: SwitchId) -> &[(u64, BlockCall)] {
        self.switches.get(id).map_or(&[], |table| &table.cases)
    }

    /// The cases of a switch, to be changed.
    pub fn switch_cases_mut(&mut self, id: SwitchId) -> &mut Vec<(u64, BlockCall)> {
        &mut self.switches[id].cases
    }

    /// A copy of an instruction that shares no list with it.
    pub fn copy_lists(&mut self, mut data: InstData) -> InstData {
        let copy = |function: &mut Self, list: &mut ValueList| {
            let values = function.pools.values(*list).to_vec();
            *list = function.pools.add_values(&values);
        };
        match &mut data {
            InstData::Construct { args } | InstData::Call { args, .. } => copy(self, args),
            InstData::Jump { target } => copy(self, &mut target.args),
            InstData::Branch {
                then, otherwise, ..
            } => {
                copy(self, &mut then.args);
                copy(self, &mut otherwise.args);
            }
            InstData::Switch { default, cases, .. } => {
                copy(self, &mut default.args);
                let mut table = self.switches[*cases].clone();
                for (_, call) in &mut table.cases {
                    copy(self, &mut call.args);
                }
                *cases = self.switches.push(table);
            }
            _ => {}
        }
        data
    }

    // ---- aliasing ----

    /// The id of an alias set, entered if it is new.
    pub fn alias_set(&mut self, set: AliasSet) -> AliasId {
        match self.alias_sets.find(|known| *known == set) {
            Some(id) => id,
            None => self.alias_sets.push(set),
        }
    }

    /// An alias set.
    pub fn alias(&self, id: AliasId) -> AliasSet {
        self.alias_sets.get(id).copied().unwrap_or_default()
    }

    /// All alias sets.
    pub fn alias_sets(&self) -> impl ExactSizeIterator<Item = (AliasId, AliasSet)> + '_ {
        self.alias_sets.iter().map(|(id, set)| (id, *set))
    }

    /// Whether two accesses may touch the same memory as far as their alias sets tell.
    pub fn may_alias(&self, a: Option<AliasId>, b: Option<AliasId>) -> bool {
        let (Some(a), Some(b)) = (a, b) else {
            return true;
        };
        let (a, b) = (self.alias(a), self.alias(b));
        let excluded = |x: AliasSet, y: AliasSet| {
            let all = [u64::MAX];
            let domains = if self.alias_domains.is_empty() {
                &all[..]
            } else {
                &self.alias_domains
            };
            domains.iter().any(|domain| {
                let scopes = x.scopes & domain;
                scopes != 0 && scopes & !y.noalias == 0
            })
        };
        !excluded(a, b) && !excluded(b, a)
    }

    // ---- convenience ----

    /// Makes a binary operation that is in no block yet.
    pub fn make_binary(&mut self, op: crate::BinaryOp, flags: Flags, args: [Value; 2]) -> Inst {
        let ty = self.ty(args[0]);
        self.make_inst(InstData::Binary { op, flags, args }, ty, None)
    }

    /// The scalar integer type of a value.
    pub fn int_type(&self, value: Value) -> Option<Scalar> {
        match self.ty(value).kind() {
            TypeKind::Scalar(scalar) if scalar.is_int() => Some(scalar),
            _ => None,
        }
    }
}
