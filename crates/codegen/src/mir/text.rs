//! Functions as text, both ways, for tests and for looking at.
//!
//! An instruction is written as the assembler writes it, with slices in place of general
//! registers and blocks in place of jump targets (a scoreboard slot is written and means
//! nothing):
//!
//! ```text
//! exec                                    the nesting counter is used
//! selector                                the selector of shuffles is used
//! stack 16                                bytes of stack in use
//! %0: 2                                   halves; "align" 4 where it is not min(halves, 2)
//! %1: 8 align 2
//! mb0 -> mb1 depth 0
//!   get_sr %0, sr80
//!   device_load 0, i32, xyzw, %1[0:32x4], u0_u1, %0, unsigned !alias 1
//!   copy %0 = %1[2:32], %2 = u4, %3 = 7
//!   undefined %4
//!   placeholder texture atomic | 4 | %0 | %3, %4 !memory
//! mb1 depth 0
//!   stop
//! ```
//!
//! `%1[half:width x count]`; `%0` alone is the whole register as one value. After `!`
//! come `memory`, `alias N`, `invariant`, `fence` and `convergent`.

mod placeholder;

use super::{Block, BlockId, Function, Inst, Memory, Opcode, Operand, Slice, VReg, VRegData};
use assay_agx::{Builder, Field, Instruction, Isa, Op, Operand as Fixed, Reg, Uniform, Width};
use assay_ssa::id::Id;
use std::fmt;
use std::str::FromStr;

/// Why a text is not a function.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct TextError {
    /// Line from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

type Parsed<T> = Result<T, String>;

/// Physical registers that stand for slices while the assembler reads or writes.
#[derive(Default)]
struct StandIns {
    slices: Vec<(Slice, Reg)>,
    next: u16,
}

impl StandIns {
    fn add(&mut self, slice: Slice) -> Reg {
        let half = self.next.max(4);
        self.next = (half + u16::from(slice.halves())).next_multiple_of(4);
        let reg = Reg {
            width: slice.width,
            ..Reg::half(half).times(slice.count)
        };
        self.slices.push((slice, reg));
        reg
    }

    fn slice(&self, reg: Reg) -> Option<Slice> {
        let found = self.slices.iter().find(|(_, other)| other.half == reg.half);
        found.map(|(slice, _)| *slice)
    }
}

fn default_align(halves: u8) -> u8 {
    halves.min(2)
}

/// The slice `%N` means without brackets.
fn whole(reg: VReg, halves: u8) -> Option<Slice> {
    let width = match halves {
        1 => Width::W16,
        2 => Width::W32,
        4 => Width::W64,
        _ => return None,
    };
    Some(Slice {
        reg,
        half: 0,
        width,
        count: 1,
    })
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.uses_exec {
            writeln!(f, "exec")?;
        }
        if self.uses_selector {
            writeln!(f, "selector")?;
        }
        if self.stack_bytes != 0 {
            writeln!(f, "stack {}", self.stack_bytes)?;
        }
        for (id, data) in self.vregs.iter() {
            write!(f, "{id}: {}", data.halves)?;
            if data.align != default_align(data.halves) {
                write!(f, " align {}", data.align)?;
            }
            writeln!(f)?;
        }
        for (id, block) in self.blocks.iter() {
            write!(f, "{id}")?;
            for (n, successor) in block.successors.iter().enumerate() {
                write!(f, "{}{successor}", if n == 0 { " -> " } else { ", " })?;
            }
            writeln!(f, " depth {}", block.loop_depth)?;
            for inst in &block.insts {
                writeln!(f, "  {}", self.inst_text(inst))?;
            }
        }
        Ok(())
    }
}

impl Function {
    /// One instruction as text.
    pub fn inst_text(&self, inst: &Inst) -> String {
        let mut text = match inst.opcode {
            Opcode::ParallelCopy => {
                let pairs = inst.operands.chunks(2).map(|pair| match pair {
                    [(_, to), (_, from)] => {
                        format!("{} = {}", self.copied(to), self.copied(from))
                    }
                    _ => "?".to_owned(),
                });
                format!("copy {}", pairs.collect::<Vec<_>>().join(", "))
            }
            Opcode::Undefined => {
                let defs = inst.defs().map(|slice| self.slice_text(slice));
                format!("undefined {}", defs.collect::<Vec<_>>().join(", "))
            }
            Opcode::Placeholder(operation) => self.placeholder_text(inst, operation),
            Opcode::Machine { op, name, saturate } => self.machine_text(inst, op, name, saturate),
        };
        if let Some(memory) = inst.memory {
            text += " !memory";
            if let Some(alias) = memory.alias {
                text += &format!(" alias {alias}");
            }
            for (set, word) in [(memory.invariant, " invariant"), (memory.fence, " fence")] {
                text += if set { word } else { "" };
            }
        }
        if inst.convergent {
            text += " !convergent";
        }
        text
    }

    fn slice_text(&self, slice: Slice) -> String {
        let halves = self.vregs.get(slice.reg).map_or(0, |data| data.halves);
        if whole(slice.reg, halves) == Some(slice) {
            return slice.reg.to_string();
        }
        let Slice {
            reg, half, width, ..
        } = slice;
        match slice.count {
            1 => format!("{reg}[{half}:{}]", width.bits()),
            count => format!("{reg}[{half}:{}x{count}]", width.bits()),
        }
    }

    fn copied(&self, operand: &Operand) -> String {
        match operand {
            Operand::Use(slice, _) | Operand::Def(slice) => self.slice_text(*slice),
            Operand::Uniform(uniform) => Fixed::Uniform(*uniform).to_string(),
            Operand::Fixed(fixed) => fixed.to_string(),
            Operand::Block(block) => block.to_string(),
        }
    }

    fn machine_text(
        &self,
        inst: &Inst,
        op: Op,
        name: Option<&'static str>,
        saturate: bool,
    ) -> String {
        let mut stand_ins = StandIns::default();
        let mut builder = Builder::new(Isa::default(), op).saturate(saturate);
        if let Some(name) = name {
            builder = builder.named(name);
        }
        let mut target = None;
        for &(field, operand) in &inst.operands {
            let value = match operand {
                Operand::Use(slice, mods) => Fixed::Reg(stand_ins.add(slice).mods(mods)),
                Operand::Def(slice) => Fixed::Reg(stand_ins.add(slice)),
                Operand::Uniform(uniform) => Fixed::Uniform(uniform),
                Operand::Fixed(fixed) => fixed,
                Operand::Block(block) => {
                    target = Some(block);
                    Fixed::Target(0)
                }
            };
            builder = builder.set(field, value);
        }
        let built = match builder.build() {
            Ok(built) => built,
            Err(error) => return format!("<{error}> {inst:?}"),
        };
        let mut text = self.substitute(&built.words(0).to_string(), &stand_ins);
        if let Some(target) = target {
            let end = text.rfind(' ').unwrap_or(text.len());
            text.truncate(end);
            text += &format!(" {target}");
        }
        text
    }

    /// Puts slices where their stand-ins are.
    fn substitute(&self, text: &str, stand_ins: &StandIns) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        let in_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        while let Some(first) = rest.chars().next() {
            let end = match in_word(first) {
                true => rest.find(|c| !in_word(c)).unwrap_or(rest.len()),
                false => first.len_utf8(),
            };
            let (word, after) = rest.split_at(end);
            let found = stand_ins
                .slices
                .iter()
                .find(|(_, reg)| Fixed::Reg(*reg).to_string() == word);
            match found {
                Some((slice, _)) => out += &self.slice_text(*slice),
                None => out += word,
            }
            rest = after;
        }
        out
    }
}

impl FromStr for Function {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Function, TextError> {
        let mut function = Function::default();
        for (index, line) in text.lines().enumerate() {
            let line = line.split(';').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            function.read_line(line).map_err(|message| TextError {
                line: index + 1,
                message,
            })?;
        }
        Ok(function)
    }
}

fn number<T: FromStr>(text: &str) -> Parsed<T> {
    text.trim()
        .parse()
        .map_err(|_| format!("expected a number, found `{}`", text.trim()))
}

fn block_id(text: &str) -> Parsed<BlockId> {
    let digits = text.trim().strip_prefix("mb");
    let digits = digits.ok_or_else(|| format!("expected a block, found `{text}`"))?;
    Ok(BlockId::from_index(number(digits)?))
}

impl Function {
    fn read_line(&mut self, line: &str) -> Parsed<()> {
        let word = line.split_whitespace().next().unwrap_or_default();
        match word {
            "exec" => self.uses_exec = true,
            "selector" => self.uses_selector = true,
            "stack" => self.stack_bytes = number(line.trim_start_matches("stack"))?,
            _ if word.starts_with('%') => self.read_register(line)?,
            _ if word.starts_with("mb") => self.read_block(line)?,
            _ => {
                let inst = self.read_inst(line)?;
                let block = self.blocks.as_mut_slice().last_mut();
                block
                    .ok_or("an instruction before any block")?
                    .insts
                    .push(inst);
            }
        }
        Ok(())
    }

    fn read_register(&mut self, line: &str) -> Parsed<()> {
        let (name, size) = line.split_once(':').ok_or("expected `%N: halves`")?;
        if name.trim() != self.vregs.next_id().to_string() {
            return Err(format!("expected {}", self.vregs.next_id()));
        }
        let (halves, align) = match size.split_once("align") {
            Some((halves, align)) => (number(halves)?, number(align)?),
            None => {
                let halves = number(size)?;
                (halves, default_align(halves))
            }
        };
        self.vregs.push(VRegData { halves, align });
        Ok(())
    }

    fn read_block(&mut self, line: &str) -> Parsed<()> {
        let (head, depth) = line.split_once(" depth ").unwrap_or((line, "0"));
        let (name, successors) = head.split_once("->").unwrap_or((head, ""));
        if block_id(name)? != self.blocks.next_id() {
            return Err(format!("expected {}", self.blocks.next_id()));
        }
        let successors = successors.split(',').filter(|text| !text.trim().is_empty());
        self.blocks.push(Block {
            insts: Vec::new(),
            successors: successors.map(block_id).collect::<Parsed<_>>()?,
            loop_depth: number(depth)?,
        });
        Ok(())
    }

    fn read_inst(&self, line: &str) -> Parsed<Inst> {
        let mut parts = line.split('!');
        let text = parts.next().unwrap_or_default().trim();
        let mut inst = match text.split_once(' ') {
            Some(("copy", pairs)) => self.read_copy(pairs)?,
            Some(("undefined", slices)) => {
                let mut inst = Inst::new(Op::Trap);
                inst.opcode = Opcode::Undefined;
                for slice in slices.split(',') {
                    let slice = self.read_slice(slice.trim())?;
                    inst = inst.with(Field::Dest, Operand::Def(slice));
                }
                inst
            }
            Some(("placeholder", parts)) => self.read_placeholder(parts)?,
            _ => self.read_machine(text)?,
        };
        let notes: Vec<&str> = parts.flat_map(str::split_whitespace).collect();
        let mut memory = Memory::default();
        for (at, note) in notes.iter().enumerate() {
            match *note {
                "convergent" => inst.convergent = true,
                "memory" | "invariant" | "fence" | "alias" => {
                    memory.invariant |= *note == "invariant";
                    memory.fence |= *note == "fence";
                    if *note == "alias" {
                        memory.alias = Some(number(notes.get(at + 1).unwrap_or(&""))?);
                    }
                    inst.memory = Some(memory);
                }
                other => {
                    number::<u32>(other)?;
                }
            }
        }
        Ok(inst)
    }

    fn read_copy(&self, pairs: &str) -> Parsed<Inst> {
        let mut inst = Inst::new(Op::Trap);
        inst.opcode = Opcode::ParallelCopy;
        for pair in pairs.split(',') {
            let (to, from) = pair.split_once('=').ok_or("expected `%N = source`")?;
            let (to, from) = (self.read_slice(to.trim())?, from.trim());
            let from = if from.starts_with('%') {
                Operand::Use(self.read_slice(from)?, assay_agx::Modifiers::NONE)
            } else if let Some(uniform) = read_uniform(from) {
                Operand::Uniform(uniform)
            } else {
                Operand::Fixed(Fixed::Imm(number(from)?))
            };
            inst = inst
                .with(Field::Dest, Operand::Def(to))
                .with(Field::A, from);
        }
        Ok(inst)
    }

    fn read_slice(&self, text: &str) -> Parsed<Slice> {
        let (name, inside) = match text.split_once('[') {
            Some((name, inside)) => (name, Some(inside.trim_end_matches(']'))),
            None => (text, None),
        };
        let digits = name.strip_prefix('%');
        let digits = digits.ok_or_else(|| format!("expected a register, found `{text}`"))?;
        let reg = VReg::from_index(number(digits)?);
        let halves = self.vregs.get(reg).map(|data| data.halves);
        let halves = halves.ok_or_else(|| format!("{reg} is not declared"))?;
        let Some(inside) = inside else {
            return whole(reg, halves).ok_or_else(|| format!("{reg} needs brackets"));
        };
        let (half, shape) = inside.split_once(':').ok_or("expected `[half:width]`")?;
        let (width, count) = shape.split_once('x').unwrap_or((shape, "1"));
        let width = match width.trim() {
            "16" => Width::W16,
            "32" => Width::W32,
            "64" => Width::W64,
            other => return Err(format!("`{other}` is no width")),
        };
        Ok(Slice {
            reg,
            half: number(half)?,
            width,
            count: number(count)?,
        })
    }

    /// Gives the text to the assembler with stand-ins for slices and blocks.
    fn read_machine(&self, text: &str) -> Parsed<Inst> {
        let mut stand_ins = StandIns::default();
        let mut target = None;
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('%') {
            let (before, from) = rest.split_at(at);
            let digits = from[1..].find(|c: char| !c.is_ascii_digit());
            let mut end = digits.map_or(from.len(), |end| end + 1);
            if from[end..].starts_with('[') {
                end = from.find(']').ok_or("a bracket is not closed")? + 1;
            }
            let reg = stand_ins.add(self.read_slice(&from[..end])?);
            plain += before;
            plain += &Fixed::Reg(reg).to_string();
            rest = &from[end..];
        }
        plain += rest;
        if let Some((name, block)) = plain.clone().split_once(" mb") {
            target = Some(block_id(&format!("mb{block}"))?);
            plain = format!("{name} pc+0");
        }
        let parsed = Instruction::parse(Isa::default(), &plain, 0)
            .map_err(|error| format!("`{plain}`: {error}"))?;
        let mut inst = from_machine(&parsed, &stand_ins);
        if let Some(target) = target {
            inst = inst.with(Field::Target, Operand::Block(target));
        }
        Ok(inst)
    }
}

fn from_machine(parsed: &Instruction, stand_ins: &StandIns) -> Inst {
    let mut inst = Inst::new(parsed.op());
    inst.opcode = Opcode::Machine {
        op: parsed.op(),
        name: matches!(parsed.op(), Op::Shuffle | Op::Reduce).then_some(parsed.mnemonic()),
        saturate: parsed.saturate(),
    };
    for argument in parsed.arguments() {
        let left_out = matches!(argument.field, Field::Slot | Field::Exec | Field::Target);
        if argument.hidden || left_out {
            continue;
        }
        let operand = match argument.operand {
            Fixed::Reg(reg) => match (stand_ins.slice(reg), argument.role) {
                (Some(slice), assay_agx::Role::Dest) => Operand::Def(slice),
                (Some(slice), _) => Operand::Use(slice, reg.mods),
                (None, _) => Operand::Fixed(argument.operand),
            },
            Fixed::Uniform(uniform) => Operand::Uniform(uniform),
            fixed => Operand::Fixed(fixed),
        };
        inst = inst.with(argument.field, operand);
    }
    inst
}

/// `u4`, `u4l`, `u4h`, `u4_u5`.
fn read_uniform(text: &str) -> Option<Uniform> {
    let rest = text.strip_prefix('u')?;
    if let Some((first, _)) = rest.split_once("_u") {
        return Some(Uniform::pair(first.parse().ok()?));
    }
    if let Some(first) = rest.strip_suffix('l') {
        return Some(Uniform::half(2 * first.parse::<u16>().ok()?));
    }
    if let Some(first) = rest.strip_suffix('h') {
        return Some(Uniform::half(2 * first.parse::<u16>().ok()? + 1));
    }
    Some(Uniform::word(rest.parse().ok()?))
}
