//! The text of an instruction, in applegpu's words.
//!
//! Two texts exist. *Words* are exactly what applegpu prints. They do not always
//! determine the bytes: a load with an empty mask does not show its register, and the
//! bits no decoder names are not shown at all. The *exact* text, which is what
//! `Display` prints, adds the bytes in braces where the words are not enough:
//!
//! ```
//! use assay_agx::{Instruction, Isa};
//! let code = [0xc5, 0xc4, 0xe0, 0x3d, 0x0a, 0x01];
//! let insn = Instruction::decode(Isa::G13, &code)?;
//! assert_eq!(insn.words(0), "uniform_store 2, i16, 0, 174");
//! assert_eq!(insn.to_string(), "uniform_store 2, i16, 0, 174 {c5c4e03d0a01}");
//! # Ok::<(), assay_agx::DecodeError>(())
//! ```

use crate::instruction::Instruction;
use crate::line::{File, Line, Padded};
use crate::memo::{MEMO, Name, PLACE};
use crate::operand::{MiniFloat, Modifiers, Operand, Predicate, Width};
use crate::table::{Alias, Field, Spec};
use std::fmt;

/// The words for truth tables, bit 0 (a=0, b=0) first in applegpu's digits.
pub(crate) const BINARY_BITOPS: &[(u8, &str)] = &[
    (0b1000, "and"),
    (0b1110, "or"),
    (0b0110, "xor"),
    (0b0111, "nand"),
    (0b0001, "nor"),
    (0b1001, "xnor"),
];
/// The same when the second source is the immediate 0.
pub(crate) const UNARY_BITOPS: &[(u8, &str)] = &[(0b0101, "not"), (0b1010, "mov")];

/// The names of truth tables.
static BITOP_NAMES: [Option<Name>; 16] = names(BINARY_BITOPS);
static UNARY_NAMES: [Option<Name>; 16] = names(UNARY_BITOPS);
static MOV_A: Name = Name::new("bitop_mov_a", "");
static UPDATE_EXEC: Name = Name::new("update_exec", "");
static PUSH_EXEC: Name = Name::new("push_exec", "");

const fn names(list: &[(u8, &str)]) -> [Option<Name>; 16] {
    let mut names = [None; 16];
    let mut at = 0;
    while at < list.len() {
        names[list[at].0 as usize] = Some(Name::new(list[at].1, ""));
        at += 1;
    }
    names
}

impl Instruction {
    /// applegpu's words for this instruction at byte `offset` of its program.
    pub fn words(&self, offset: u64) -> String {
        let mut text = String::with_capacity(64);
        self.write_words(&mut text, Some(offset));
        text
    }

    /// The exact text at byte `offset`: the words, and the bytes where they are needed.
    pub fn text(&self, offset: u64) -> String {
        let mut text = self.words(offset);
        self.finish_exact(&mut text, Some(offset));
        text
    }

    /// Appends the words to `text`. With an `offset`, branch targets are absolute and
    /// hexadecimal; without, relative: `pc+16`.
    pub fn write_words(&self, text: &mut String, offset: Option<u64>) {
        let word = self.halves();
        let memo = &*MEMO;
        let plan = memo.plan(self.form_id());
        let (name, skipped) = match plan.alias {
            Alias::None => (None, Skipped::NONE),
            alias => self.alias(alias),
        };
        let own = if word.meets(&plan.saturate) {
            &plan.saturated
        } else {
            &plan.name
        };
        let name = name.unwrap_or(own);
        let mut line = Padded::begin(text, plan.room);
        line.name(name);
        // Every operand is written with a comma before it; the first comma then becomes
        // the last character of the name, which leaves a blank after the name.
        let first_comma = line.length();
        for piece in plan.pieces(skipped) {
            match memo.text(piece, &word) {
                Some(kept) if usize::from(kept.length) > PLACE => {
                    line.piece(kept.words, PLACE as u8);
                    line.piece(memo.rest(&kept), kept.length - PLACE as u8);
                }
                Some(kept) => line.piece(kept.words, kept.length),
                None => {
                    line = line.compose(plan.room, |text| {
                        memo.compose(text, piece, &word, offset);
                    })
                }
            }
        }
        line.finish(first_comma, name.last);
    }

    /// The alias that is written instead of its name, and which operands it replaces.
    #[inline(never)]
    fn alias(&self, alias: Alias) -> (Option<&'static Name>, Skipped) {
        let found = match alias {
            Alias::None => None,
            Alias::Bitop | Alias::BitopG15 => self.bitop_alias(),
            Alias::PushExec => self.push_exec_alias(),
        };
        found.map_or((None, Skipped::NONE), |(name, skipped)| {
            (Some(name), skipped)
        })
    }

    fn bitop_alias(&self) -> Option<(&'static Name, Skipped)> {
        let [table, _, _, b, ..] = self.form().operands else {
            return None;
        };
        let code = table.bits.extract(self.halves()) as u8;
        if let Some(name) = BITOP_NAMES.get(usize::from(code)).and_then(Option::as_ref) {
            return Some((name, Skipped::TRUTH_TABLE));
        }
        if self.form().alias == Alias::BitopG15 {
            return None;
        }
        if b.operand(self.halves()) == Operand::Imm(0)
            && let Some(name) = UNARY_NAMES.get(usize::from(code)).and_then(Option::as_ref)
        {
            return Some((name, Skipped::TRUTH_TABLE_AND_B));
        }
        matches!(code, 0b1100 | 0b0011).then_some((&MOV_A, Skipped::NONE))
    }

    fn push_exec_alias(&self) -> Option<(&'static Name, Skipped)> {
        let always = Operand::Float(MiniFloat(0), Modifiers::NONE);
        let holds = |spec: &Spec| match spec.field {
            Field::Condition => spec.bits.extract(self.halves()) == 0,
            Field::A | Field::B => spec.operand(self.halves()) == always,
            _ => true,
        };
        if !self.form().operands.iter().all(holds) {
            return None;
        }
        match self.get_int(Field::Nest) {
            Some(0) => Some((&UPDATE_EXEC, Skipped::COMPARISON_AND_NEST)),
            _ => Some((&PUSH_EXEC, Skipped::COMPARISON)),
        }
    }

    fn finish_exact(&self, text: &mut String, offset: Option<u64>) {
        let parsed = crate::parse::parse_words(self.isa(), text, offset);
        if parsed.as_ref() != Ok(self) {
            text.push_str(" {");
            for byte in self.bytes().iter() {
                push_hex_byte(text, *byte);
            }
            text.push('}');
        }
    }
}

/// Positions of operands an alias replaces.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Skipped(u32);

impl Skipped {
    pub(crate) const NONE: Skipped = Skipped(0);
    const TRUTH_TABLE: Skipped = Skipped(0b0001);
    const TRUTH_TABLE_AND_B: Skipped = Skipped(0b1001);
    const COMPARISON: Skipped = Skipped(0b01110);
    const COMPARISON_AND_NEST: Skipped = Skipped(0b11110);

    /// What the aliases of a form can replace.
    pub(crate) const fn of(alias: Alias) -> &'static [Skipped] {
        match alias {
            Alias::None => &[],
            Alias::Bitop => &[Skipped::TRUTH_TABLE, Skipped::TRUTH_TABLE_AND_B],
            Alias::BitopG15 => &[Skipped::TRUTH_TABLE],
            Alias::PushExec => &[Skipped::COMPARISON, Skipped::COMPARISON_AND_NEST],
        }
    }

    #[inline]
    pub(crate) fn contains(self, position: usize) -> bool {
        self.0 & (1 << (position & 31)) != 0
    }
}

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::with_capacity(64);
        self.write_words(&mut text, None);
        self.finish_exact(&mut text, None);
        f.write_str(&text)
    }
}

/// Appends one operand; an empty operand appends nothing.
#[inline]
pub(crate) fn write_operand(line: &mut Line<'_>, operand: Operand, offset: Option<u64>) {
    match operand {
        Operand::Reg(reg) => {
            line.registers(File::General, reg.half, reg.width, reg.count);
            if reg.count != 0 {
                line.hint(reg.hint);
                line.modifiers(reg.mods);
            }
        }
        Operand::Uniform(uniform) => {
            line.registers(File::Uniform, uniform.half, uniform.width, uniform.count);
            line.modifiers(uniform.mods);
        }
        Operand::Imm(value) => line.int(value),
        Operand::Float(value, mods) => {
            line.float(value);
            line.modifiers(mods);
        }
        Operand::Choice(list, value) => match list.name(value) {
            Some(word) => line.push(word),
            None => line.int(i64::from(value)),
        },
        Operand::Shift(0) | Operand::BitMask(0) | Operand::WaitMask(0) | Operand::Empty => {}
        Operand::Shift(amount) => {
            line.push("lsl ");
            line.int(i64::from(amount));
        }
        Operand::None => line.push("None"),
        _ => write_rare(line, operand, offset),
    }
}

fn write_rare(line: &mut Line<'_>, operand: Operand, offset: Option<u64>) {
    match operand {
        Operand::Special(register) => {
            numbered(line, "sr", register.number);
            if let Some(name) = register.name() {
                line.push(" (");
                line.push(name);
                line.push(")");
            }
        }
        Operand::Texture(number) => numbered(line, "ts", number),
        Operand::Sampler(number) => numbered(line, "ss", number),
        Operand::Coefficient(number) => numbered(line, "cf", number),
        Operand::Target(distance) => write_target(line, i64::from(distance), offset),
        Operand::Predicate(predicate) => {
            if predicate.inverted {
                line.push("!");
            }
            match predicate.number {
                Predicate::ALWAYS => line.push("always"),
                number => numbered(line, "p", number),
            }
            if predicate.from_value {
                line.push(".value");
            }
        }
        Operand::WaitMask(mask) => {
            line.push("wait ");
            for slot in (0..8).filter(|slot| mask >> slot & 1 != 0) {
                line.int(slot);
            }
        }
        Operand::BitMask(size) => {
            line.push("mask 0x");
            line.hex((1u64 << (size & 31)) - 1);
        }
        // applegpu writes the lowest bit first.
        Operand::TruthTable(table) => line.binary(u16::from(table.reverse_bits() >> 4), 4),
        Operand::Binary { value, digits } => {
            line.push("0b");
            line.binary(value, digits);
        }
        Operand::CompareOffset {
            half,
            compare,
            offset,
        } => {
            if compare {
                line.registers(File::General, half & !1, Width::W32, 1);
            }
            if compare && offset {
                line.push("_");
            }
            if offset {
                let half = half + 2 * u16::from(compare);
                line.registers(File::General, half, Width::W16, 1);
            }
        }
        _ => {}
    }
}

fn numbered(line: &mut Line<'_>, prefix: &str, number: u8) {
    line.push(prefix);
    line.int(i64::from(number));
}

/// Absolute targets are hexadecimal with the sign after `0x`, as Python prints them.
fn write_target(line: &mut Line<'_>, distance: i64, offset: Option<u64>) {
    let Some(offset) = offset else {
        line.push(if distance < 0 { "pc-" } else { "pc+" });
        line.int(distance.abs());
        return;
    };
    let target = i128::from(offset) + i128::from(distance);
    line.push(if target < 0 { "0x-" } else { "0x" });
    line.hex(target.unsigned_abs() as u64);
}

/// Two lower-case hexadecimal digits.
pub(crate) fn push_hex_byte(text: &mut String, byte: u8) {
    let digits = b"0123456789abcdef";
    text.push(char::from(digits[usize::from(byte >> 4)]));
    text.push(char::from(digits[usize::from(byte & 15)]));
}
