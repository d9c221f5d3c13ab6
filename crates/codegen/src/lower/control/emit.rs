//! Selected code and control laid out as machine blocks with mask instructions.
//!
//! A lane is active while its counter is 0. Every construct that lanes can wait for
//! opens a *level*; a lane that waits for the end of the construct whose level is the
//! `n`th from the inside has the counter `n`, and closing a level takes one off.

use crate::lower::control::cost::{cost, has_barrier};
use crate::lower::control::shape::{Node, Target, count};
use crate::lower::operand::Condition;
use crate::lower::select::{Code, NodeCode};
use crate::mir::{Block, BlockId, Function, Inst, Operand};
use assay_agx::{Field, List, MiniFloat, Modifiers, Op, Operand as Fixed};
use assay_ssa::{IdVec, Loc};

/// Bodies from this cost on are jumped over when no lane takes them: 19 instructions,
/// times two for a branch that is not taken half of the time.
const JUMP_FROM: u32 = 38;
/// Mask instructions open or close at most this many levels at once.
const MOST_LEVELS: u32 = 3;

/// A construct lanes can wait for.
struct Frame {
    target: Target,
    /// Its level, counted from the outside.
    level: u32,
    /// Blocks whose lanes go to its end.
    leaving: Vec<BlockId>,
}

pub(in crate::lower) struct Emitter {
    blocks: IdVec<BlockId, Block>,
    codes: Vec<Option<NodeCode>>,
    current: BlockId,
    /// The current block has mask instructions at its end.
    ended: bool,
    /// Lanes can be active here.
    live: bool,
    levels: u32,
    frames: Vec<Frame>,
    loop_depth: u8,
    uses_exec: bool,
    /// Jumps to the end of the innermost region: block and instruction.
    skips: Vec<Vec<(BlockId, usize)>>,
    /// The current block's first mask instruction may grow: nothing jumps to it.
    can_merge: bool,
}

/// The function without its registers.
pub(in crate::lower) fn emit(region: &[Node], codes: Vec<Option<NodeCode>>) -> Function {
    let mut blocks = IdVec::new();
    let current = blocks.push(Block::default());
    let mut emitter = Emitter {
        blocks,
        codes,
        current,
        ended: false,
        live: true,
        levels: 0,
        frames: Vec::new(),
        loop_depth: 0,
        uses_exec: false,
        skips: vec![Vec::new()],
        can_merge: false,
    };
    emitter.region(region);
    emitter.finish()
}

/// The condition that always holds.
fn always() -> Condition {
    let zero = Operand::Fixed(Fixed::Float(MiniFloat(0), Modifiers::NONE));
    Condition {
        float: true,
        code: 0,
        negate: false,
        a: zero,
        b: zero,
    }
}

/// A mask instruction.
fn masked(ops: (Op, Op), condition: Condition, nest: u32) -> Inst {
    let (op, list) = match condition.float {
        false => (ops.0, List::IntegerCondition),
        true => (ops.1, List::FloatCondition),
    };
    let code = condition.code | u8::from(condition.negate) << 3;
    Inst::new(op)
        .with(Field::Condition, Operand::Fixed(Fixed::Choice(list, code)))
        .with(Field::A, condition.a)
        .with(Field::B, condition.b)
        .with(Field::Nest, Operand::Fixed(Fixed::Imm(i64::from(nest))))
}

const IF: (Op, Op) = (Op::IfIcmp, Op::IfFcmp);
const ELSE: (Op, Op) = (Op::ElseIcmp, Op::ElseFcmp);
const WHILE: (Op, Op) = (Op::WhileIcmp, Op::WhileFcmp);

fn pop(levels: u32) -> Inst {
    let levels = Operand::Fixed(Fixed::Imm(i64::from(levels)));
    Inst::new(Op::PopExec).with(Field::Nest, levels)
}

impl Emitter {
    fn finish(mut self) -> Function {
        self.end_region();
        let stop = Inst::new(Op::Stop);
        self.control(stop);
        Function {
            vregs: IdVec::new(),
            blocks: self.blocks,
            uses_exec: self.uses_exec,
            uses_selector: false,
            stack_bytes: 0,
        }
    }

    // ---- blocks ----

    /// Starts a block that the current one runs into.
    fn next_block(&mut self) -> BlockId {
        let block = self.blocks.push(Block {
            loop_depth: self.loop_depth,
            ..Block::default()
        });
        if self.live {
            self.edge(self.current, block);
        }
        self.current = block;
        self.ended = false;
        self.can_merge = false;
        block
    }

    fn edge(&mut self, from: BlockId, to: BlockId) {
        let successors = &mut self.blocks[from].successors;
        if !successors.contains(&to) {
            successors.push(to);
        }
    }

    fn plain(&mut self, inst: Inst) {
        if self.ended {
            self.next_block();
        }
        self.can_merge = false;
        self.blocks[self.current].insts.push(inst);
    }

    /// A mask instruction or jump at the end of the current block.
    fn control(&mut self, inst: Inst) {
        self.can_merge = false;
        self.blocks[self.current].insts.push(inst);
        self.ended = true;
    }

    /// Starts a block with a mask instruction; the lanes of `from` are active in it.
    fn head(&mut self, inst: Inst, from: &[BlockId]) {
        self.next_block();
        self.blocks[self.current].insts.push(inst);
        for &block in from {
            self.edge(block, self.current);
        }
        self.live |= !from.is_empty();
    }

    /// Closes a level: the lanes of `from` are active again.
    fn close(&mut self, from: &[BlockId]) {
        self.levels -= 1;
        let merged = self.can_merge && self.grow_pop();
        if merged {
            for &block in from {
                self.edge(block, self.current);
            }
            self.live |= !from.is_empty();
            self.end_region();
        } else {
            let pending = self.skips.pop().unwrap_or_default();
            self.head(pop(1), from);
            self.can_merge = pending.is_empty();
            self.patch(pending);
        }
    }

    /// Makes the `pop_exec` that is all of the current block close one level more.
    fn grow_pop(&mut self) -> bool {
        if !self.skips.last().is_none_or(Vec::is_empty) {
            return false;
        }
        let [inst] = &mut self.blocks[self.current].insts[..] else {
            return false;
        };
        let [(Field::Nest, Operand::Fixed(Fixed::Imm(levels)))] = &mut inst.operands[..] else {
            return false;
        };
        let fits = *levels < i64::from(MOST_LEVELS);
        if fits {
            *levels += 1;
        }
        fits
    }

    fn patch(&mut self, jumps: Vec<(BlockId, usize)>) {
        let here = self.current;
        for (block, index) in jumps {
            if let Some((_, target)) = self.blocks[block].insts[index].operands.first_mut() {
                *target = Operand::Block(here);
            }
        }
    }

    /// Ends a region without mask instruction: jumps to its end come here.
    fn end_region(&mut self) {
        let pending = self.skips.pop().unwrap_or_default();
        if !pending.is_empty() {
            self.next_block();
            self.patch(pending);
        }
    }

    /// Jumps to the end of the innermost region if no lane is active.
    fn skip_if_none(&mut self) {
        let target = Operand::Block(self.current);
        self.control(Inst::new(Op::JmpExecNone).with(Field::Target, target));
        let index = self.blocks[self.current].insts.len() - 1;
        let block = self.current;
        if let Some(jumps) = self.skips.last_mut() {
            jumps.push((block, index));
        }
    }

    // ---- nodes ----

    fn region(&mut self, region: &[Node]) {
        for (index, node) in region.iter().enumerate() {
            self.node(node, region.get(index + 1..).unwrap_or(&[]));
        }
    }

    fn code(&mut self, id: usize) -> NodeCode {
        let code = self.codes.get_mut(id).and_then(Option::take);
        code.unwrap_or_default()
    }

    fn node(&mut self, node: &Node, rest: &[Node]) {
        match node {
            Node::Run { id, .. } | Node::Pass { id, .. } | Node::Copy { id, .. } => {
                let code = self.code(*id);
                self.all(code.code);
            }
            Node::If {
                id,
                inverted,
                then,
                otherwise,
                ..
            } => self.part(*id, *inverted, then, otherwise),
            Node::LeaveIf {
                id,
                inverted,
                copies,
                target,
                ..
            } => {
                self.region(copies);
                self.leave_if(*id, *inverted, *target);
                if has_barrier(rest, &self.codes) {
                    self.skip_if_none();
                }
            }
            Node::Scope { target, body } => self.scope(*target, body),
            Node::Loop { header, body } => self.repeat(Target::Again(*header), body),
            Node::Leave(target) => self.leave(*target),
        }
    }

    fn all(&mut self, code: Vec<Code>) {
        for piece in code {
            match piece {
                Code::Inst(inst) => self.plain(inst),
                Code::Loop { body, again, after } => self.small_loop(body, again, after),
                Code::When { condition, body } => self.small_part(condition, body),
            }
        }
    }

    /// A condition with the code that its operands need.
    fn condition(&mut self, id: usize) -> (Condition, Option<Loc>) {
        let code = self.code(id);
        self.all(code.code);
        if self.ended {
            self.next_block();
        }
        (code.condition.unwrap_or_else(always), code.loc)
    }

    fn mask(&mut self, ops: (Op, Op), condition: Condition, nest: u32, loc: Option<Loc>) {
        self.uses_exec = true;
        let mut inst = masked(ops, condition, nest);
        inst.loc = loc;
        self.control(inst);
    }

    fn part(&mut self, id: usize, inverted: bool, then: &[Node], otherwise: &[Node]) {
        let (condition, loc) = self.condition(id);
        let condition = condition.inverted_if(inverted);
        self.mask(IF, condition, 1, loc);
        self.levels += 1;
        self.skips.push(Vec::new());
        if has_barrier(then, &self.codes) || cost(then, &self.codes) >= JUMP_FROM {
            self.skip_if_none();
        }
        let before = self.current;
        self.next_block();
        self.region(then);
        if otherwise.is_empty() {
            self.close(&[before]);
            return;
        }
        let ends: Vec<BlockId> = self.live.then_some(self.current).into_iter().collect();
        self.live = false;
        let pending = self.skips.pop().unwrap_or_default();
        self.skips.push(Vec::new());
        self.head(masked(ELSE, always(), 1), &[before]);
        self.patch(pending);
        if has_barrier(otherwise, &self.codes) || cost(otherwise, &self.codes) >= JUMP_FROM {
            self.ended = true;
            self.skip_if_none();
        }
        self.region(otherwise);
        self.close(&ends);
    }

    /// How many levels a lane that goes to `target` waits for.
    fn distance(&self, target: Target) -> Option<u32> {
        let frame = self.frames.iter().rev().find(|f| f.target == target)?;
        Some(self.levels - frame.level + 1)
    }

    fn note_leaving(&mut self, target: Target) {
        let block = self.current;
        let frame = self.frames.iter_mut().rev().find(|f| f.target == target);
        if let Some(frame) = frame
            && !frame.leaving.contains(&block)
        {
            frame.leaving.push(block);
        }
    }

    fn leave_if(&mut self, id: usize, inverted: bool, target: Target) {
        let (condition, loc) = self.condition(id);
        let leaves = condition.inverted_if(inverted);
        let distance = self.distance(target).unwrap_or(1);
        self.note_leaving(target);
        if distance == 1 {
            self.mask(WHILE, leaves.inverted_if(true), 1, loc);
            return;
        }
        let mut choose = leaves.select(
            Operand::COUNTER,
            Operand::Fixed(Fixed::Imm(i64::from(distance))),
            Operand::Fixed(Fixed::Imm(0)),
        );
        choose.loc = loc;
        self.control(choose);
        self.mask(IF, always(), 0, loc);
    }

    fn leave(&mut self, target: Target) {
        let distance = self.distance(target).unwrap_or(1);
        if self.ended {
            self.next_block();
        }
        self.note_leaving(target);
        self.uses_exec = true;
        let write = Inst::new(Op::MovImm)
            .with(Field::Dest, Operand::COUNTER)
            .with(Field::Imm, Operand::Fixed(Fixed::Imm(i64::from(distance))));
        self.control(write);
        self.live = false;
    }

    fn open(&mut self, target: Target, by_itself: bool) {
        self.levels += 1;
        if !(by_itself && self.levels == 1) {
            self.mask(IF, always(), 1, None);
        }
        self.frames.push(Frame {
            target,
            level: self.levels,
            leaving: Vec::new(),
        });
    }

    fn scope(&mut self, target: Target, body: &[Node]) {
        // A loop that no level is around opens its level with its first `while`.
        self.open(target, whiles_always(body, target));
        self.skips.push(Vec::new());
        self.region(body);
        let frame = self.frames.pop();
        let leaving = frame.map(|frame| frame.leaving).unwrap_or_default();
        self.close(&leaving);
    }

    fn repeat(&mut self, target: Target, body: &[Node]) {
        let has_continue = count(body, target) > 0;
        if has_continue {
            self.open(target, false);
        }
        self.skips.push(Vec::new());
        self.loop_depth = self.loop_depth.saturating_add(1);
        let header = self.next_block();
        self.region(body);
        // Jumps to the end of the body come before the jump back.
        self.end_region();
        if has_continue {
            let leaving = self
                .frames
                .pop()
                .map(|frame| frame.leaving)
                .unwrap_or_default();
            for block in leaving {
                self.edge(block, header);
            }
            self.mask(WHILE, always(), 2, None);
        } else if !self.live {
            self.mask(IF, always(), 0, None);
        }
        if self.live {
            self.edge(self.current, header);
        }
        self.uses_exec = true;
        let back = Inst::new(Op::JmpExecAny).with(Field::Target, Operand::Block(header));
        self.control(back);
        self.loop_depth = self.loop_depth.saturating_sub(1);
        self.live = false;
        if has_continue {
            self.skips.push(Vec::new());
            self.close(&[]);
        }
    }

    /// A loop that is part of one instruction: repeats while the condition holds.
    fn small_part(&mut self, condition: Condition, body: Vec<Inst>) {
        let loc = body.first().and_then(|inst| inst.loc);
        self.mask(IF, condition, 1, loc);
        self.levels += 1;
        self.skips.push(Vec::new());
        self.skip_if_none();
        let before = self.current;
        self.next_block();
        for inst in body {
            self.plain(inst);
        }
        self.close(&[before]);
    }

    fn small_loop(&mut self, body: Vec<Inst>, again: Condition, after: Vec<Inst>) {
        let loc = body.first().and_then(|inst| inst.loc);
        self.levels += 1;
        if self.levels > 1 {
            self.mask(IF, always(), 1, loc);
        }
        self.loop_depth = self.loop_depth.saturating_add(1);
        let header = self.next_block();
        for inst in body {
            self.plain(inst);
        }
        self.mask(WHILE, again, 1, loc);
        let leaving = self.current;
        for inst in after {
            self.plain(inst);
        }
        self.edge(self.current, header);
        let back = Inst::new(Op::JmpExecAny).with(Field::Target, Operand::Block(header));
        self.control(back);
        self.loop_depth = self.loop_depth.saturating_sub(1);
        self.live = false;
        self.skips.push(Vec::new());
        self.close(&[leaving]);
    }
}

/// Whether the region surely runs a `while` for `target`: a loop whose body has one.
fn whiles_always(region: &[Node], target: Target) -> bool {
    region.iter().any(|node| match node {
        Node::Loop { header, body } => {
            count(body, Target::Again(*header)) == 0
                && body
                    .iter()
                    .any(|node| matches!(node, Node::LeaveIf { target: to, .. } if *to == target))
        }
        _ => false,
    })
}
