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
//! # Ok::<(), assay_agx::DecodeError>(())
//! ```

use crate::instruction::Instruction;
use crate::names::special_register_name;
use crate::operand::{Hint, MiniFloat, Modifiers, Operand, Width};
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
        let skipped = self.write_mnemonic(text);
        let mut separator = " ";
        for (position, spec) in self.form.operands.iter().enumerate() {
            if spec.hidden || skipped.contains(position) {
                continue;
            }
            let before = text.len();
            text.push_str(separator);
            let start = text.len();
            write_operand(text, spec.operand(self.word), offset);
            if text.len() == start {
                text.truncate(before);
            } else {
                separator = ", ";
            }
        }
    }

    /// Writes the name, which may be an alias, and says which operands it replaces.
    fn write_mnemonic(&self, text: &mut String) -> Skipped {
        match self.form.alias {
            Alias::None => {}
            Alias::Bitop => {
                if let Some((name, skipped)) = self.bitop_alias() {
                    text.push_str(name);
                    return skipped;
                }
            }
            Alias::PushExec => {
                if let Some((name, skipped)) = self.push_exec_alias() {
                    text.push_str(name);
                    return skipped;
                }
            }
        }
        text.push_str(self.form.name);
        if self.saturate() {
            text.push_str(".sat");
        }
        Skipped(0)
    }

    fn bitop_alias(&self) -> Option<(&'static str, Skipped)> {
        let [table, _, _, b] = self.form.operands else {
            return None;
        };
        let code = table.bits.extract(self.word) as u8;
        if let Some((_, name)) = BINARY_BITOPS.iter().find(|(table, _)| *table == code) {
            return Some((name, Skipped(0b0001)));
        }
        if b.operand(self.word) == Operand::Imm(0)
            && let Some((_, name)) = UNARY_BITOPS.iter().find(|(table, _)| *table == code)
        {
            return Some((name, Skipped(0b1001)));
        }
        matches!(code, 0b1100 | 0b0011).then_some(("bitop_mov_a", Skipped(0)))
    }

    fn push_exec_alias(&self) -> Option<(&'static str, Skipped)> {
        let always = Operand::Float(MiniFloat(0), Modifiers::NONE);
        let holds = |spec: &Spec| match spec.field {
            Field::Condition => spec.bits.extract(self.word) == 0,
            Field::A | Field::B => spec.operand(self.word) == always,
            _ => true,
        };
        if !self.form.operands.iter().all(holds) {
            return None;
        }
        match self.get_int(Field::Nest) {
            Some(0) => Some(("update_exec", Skipped(0b11110))),
            _ => Some(("push_exec", Skipped(0b01110))),
        }
    }

    fn finish_exact(&self, text: &mut String, offset: Option<u64>) {
        let _ = offset;
        if false {
            text.push_str(" {");
            for byte in self.bytes().iter() {
                push_hex_byte(text, *byte);
            }
            text.push('}');
        }
    }
}

/// Positions of operands an alias replaces.
#[derive(Clone, Copy)]
struct Skipped(u32);

impl Skipped {
    #[inline]
    fn contains(self, position: usize) -> bool {
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
pub(crate) fn write_operand(text: &mut String, operand: Operand, offset: Option<u64>) {
    match operand {
        Operand::Reg(reg) => {
            write_registers(text, 'r', reg.half, reg.width, reg.count);
            if reg.count != 0 {
                match reg.hint {
                    Hint::None => {}
                    Hint::Cache => text.push_str(".cache"),
                    Hint::Discard => text.push_str(".discard"),
                }
                write_modifiers(text, reg.mods);
            }
        }
        Operand::Uniform(uniform) => {
            write_registers(text, 'u', uniform.half, uniform.width, uniform.count);
            write_modifiers(text, uniform.mods);
        }
        Operand::Imm(value) => push_int(text, value),
        Operand::Float(value, mods) => {
            write_float(text, value);
            write_modifiers(text, mods);
        }
        Operand::Choice(list, value) => match list.name(value) {
            Some(word) => text.push_str(word),
            None => push_int(text, i64::from(value)),
        },
        Operand::Shift(0) | Operand::BitMask(0) | Operand::Empty => {}
        Operand::Shift(amount) => {
            text.push_str("lsl ");
            push_int(text, i64::from(amount));
        }
        Operand::None => text.push_str("None"),
        _ => write_rare(text, operand, offset),
    }
}

#[inline]
fn write_registers(text: &mut String, file: char, half: u16, width: Width, count: u8) {
    let (words, number) = match width {
        Width::W16 => {
            for i in 0..u16::from(count) {
                if i != 0 {
                    text.push('_');
                }
                text.push(file);
                push_small(text, (half + i) / 2);
                text.push(if (half + i) % 2 == 0 { 'l' } else { 'h' });
            }
            return;
        }
        Width::W32 => (u16::from(count), half / 2),
        Width::W64 => (u16::from(count) * 2, half / 2),
    };
    for i in 0..words {
        if i != 0 {
            text.push('_');
        }
        text.push(file);
        push_small(text, number + i);
    }
}

#[inline]
fn write_modifiers(text: &mut String, mods: Modifiers) {
    if mods.abs {
        text.push_str(".abs");
    }
    if mods.neg {
        text.push_str(".neg");
    }
    if mods.sx {
        text.push_str(".sx");
    }
}

/// A minifloat as the shortest exact decimal with at least one digit after the point.
fn write_float(text: &mut String, value: MiniFloat) {
    if value.is_negative() {
        text.push('-');
    }
    let sixty_fourths = value.sixty_fourths();
    push_small(text, sixty_fourths / 64);
    text.push('.');
    // 1/64 is 0.015625: six digits are exact.
    let mut millionths = u32::from(sixty_fourths % 64) * 15_625;
    let mut unit = 100_000;
    loop {
        text.push(char::from(b'0' + (millionths / unit) as u8));
        millionths %= unit;
        unit /= 10;
        if millionths == 0 || unit == 0 {
            return;
        }
    }
}

fn write_rare(text: &mut String, operand: Operand, offset: Option<u64>) {
    match operand {
        Operand::Special(number) => {
            text.push_str("sr");
            push_int(text, i64::from(number));
            if let Some(name) = special_register_name(number) {
                text.push_str(" (");
                text.push_str(name);
                text.push(')');
            }
        }
        Operand::Texture(number) => numbered(text, "ts", number),
        Operand::Sampler(number) => numbered(text, "ss", number),
        Operand::Coefficient(number) => numbered(text, "cf", number),
        Operand::Target(distance) => write_target(text, i64::from(distance), offset),
        Operand::BitMask(size) => {
            text.push_str("mask 0x");
            push_hex(text, (1u64 << (size & 31)) - 1);
        }
        Operand::TruthTable(table) => {
            for bit in 0..4 {
                text.push(if table >> bit & 1 != 0 { '1' } else { '0' });
            }
        }
        Operand::Binary { value, digits } => {
            text.push_str("0b");
            for bit in (0..digits.min(16)).rev() {
                text.push(if value >> bit & 1 != 0 { '1' } else { '0' });
            }
        }
        Operand::CompareOffset {
            half,
            compare,
            offset,
        } => {
            if compare {
                write_registers(text, 'r', half & !1, Width::W32, 1);
            }
            if compare && offset {
                text.push('_');
            }
            if offset {
                let half = half + 2 * u16::from(compare);
                write_registers(text, 'r', half, Width::W16, 1);
            }
        }
        _ => {}
    }
}

fn numbered(text: &mut String, prefix: &str, number: u8) {
    text.push_str(prefix);
    push_int(text, i64::from(number));
}

/// Absolute targets are hexadecimal with the sign after `0x`, as Python prints them.
fn write_target(text: &mut String, distance: i64, offset: Option<u64>) {
    let Some(offset) = offset else {
        text.push_str(if distance < 0 { "pc-" } else { "pc+" });
        push_int(text, distance.abs());
        return;
    };
    let target = i128::from(offset) + i128::from(distance);
    text.push_str(if target < 0 { "0x-" } else { "0x" });
    push_hex(text, target.unsigned_abs() as u64);
}

/// A number below 1000.
#[inline]
fn push_small(text: &mut String, value: u16) {
    if value >= 100 {
        text.push(char::from(b'0' + (value / 100 % 10) as u8));
    }
    if value >= 10 {
        text.push(char::from(b'0' + (value / 10 % 10) as u8));
    }
    text.push(char::from(b'0' + (value % 10) as u8));
}

pub(crate) fn push_int(text: &mut String, value: i64) {
    if (0..1000).contains(&value) {
        return push_small(text, value as u16);
    }
    if value < 0 {
        text.push('-');
    }
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut rest = value.unsigned_abs();
    while rest != 0 && at != 0 {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    for digit in &digits[at..] {
        text.push(char::from(*digit));
    }
}

/// Upper-case hexadecimal without leading zeros.
fn push_hex(text: &mut String, value: u64) {
    let digits = (64 - value.leading_zeros()).div_ceil(4).max(1);
    for digit in (0..digits).rev() {
        let nibble = (value >> (4 * digit)) as usize & 15;
        text.push(char::from(b"0123456789ABCDEF"[nibble]));
    }
}

/// Two lower-case hexadecimal digits.
pub(crate) fn push_hex_byte(text: &mut String, byte: u8) {
    let digits = b"0123456789abcdef";
    text.push(char::from(digits[usize::from(byte >> 4)]));
    text.push(char::from(digits[usize::from(byte & 15)]));
}
