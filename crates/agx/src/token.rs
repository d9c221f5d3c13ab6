//! The words of a line, and what each can mean in a given place.

use crate::isa::Family;
use crate::kind::Kind;
use crate::names::List;
use crate::operand::{Hint, MiniFloat, Modifiers, Operand, Predicate, Reg, Uniform, Width};
use crate::parse::{Labels, ParseError};
use crate::special::SpecialRegister;

/// A line cut into a name and operands, with columns from 1.
pub(crate) struct Tokens<'text> {
    pub(crate) name: &'text str,
    pub(crate) name_column: usize,
    pub(crate) operands: Vec<(usize, &'text str)>,
    pub(crate) end_column: usize,
}

impl<'text> Tokens<'text> {
    pub(crate) fn split(line: &'text str) -> Result<Tokens<'text>, ParseError> {
        let column_of = |byte: usize| line[..byte].chars().count() + 1;
        let text = line.trim_end();
        let start = text.len() - text.trim_start().len();
        let rest = &text[start..];
        if rest.is_empty() {
            return Err(ParseError::new(1, "expected an instruction, found nothing"));
        }
        let name_end = start + rest.find(char::is_whitespace).unwrap_or(rest.len());
        let mut operands = Vec::new();
        let mut at = name_end;
        if !text[name_end..].trim().is_empty() {
            for piece in text[name_end..].split(',') {
                let lead = piece.len() - piece.trim_start().len();
                operands.push((column_of(at + lead), piece.trim()));
                at += piece.len() + 1;
            }
        }
        Ok(Tokens {
            name: &text[start..name_end],
            name_column: column_of(start),
            operands,
            end_column: column_of(text.len()),
        })
    }
}

/// What a word can mean: at most two operands.
#[derive(Clone, Copy, Default)]
pub(crate) struct Meanings([Option<Operand>; 2]);

impl Meanings {
    fn one(operand: Option<Operand>) -> Meanings {
        Meanings([operand, None])
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0[0].is_none()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Operand> + use<> {
        self.0.into_iter().flatten()
    }
}

/// What `text` can mean as an operand of this kind.
pub(crate) fn meanings(
    kind: Kind,
    text: &str,
    offset: Option<u64>,
    labels: &dyn Labels,
) -> Meanings {
    let operand = match kind {
        Kind::Choice(list) => return choices(list, text),
        Kind::Target(_) => target(text, offset, labels),
        Kind::Binary(digits) => integer(text)
            .and_then(|value| u16::try_from(value).ok())
            .map(|value| Operand::Binary { value, digits }),
        Kind::TruthTable => truth_table(text),
        Kind::Shift | Kind::AddressShift | Kind::TermShift => after_word(text, "lsl")
            .and_then(|value| u8::try_from(value).ok())
            .map(Operand::Shift),
        Kind::BitMask => after_word(text, "mask").and_then(bit_mask),
        Kind::Special(family) => special(family, text),
        Kind::WaitMask | Kind::WaitSlot => wait_mask(text),
        _ => generic(text),
    };
    // A kind's own encoder has the last word on values.
    Meanings::one(operand.filter(|operand| kind.encode(*operand, 63).iter().any(Option::is_some)))
}

/// Whether an operand of this kind can be written as nothing.
pub(crate) fn can_be_absent(kind: Kind) -> bool {
    match kind {
        Kind::Shift
        | Kind::BitMask
        | Kind::Vector
        | Kind::SampleId
        | Kind::CompareOffset
        | Kind::WaitMask
        | Kind::WaitSlot
        | Kind::AddressShift
        | Kind::Data
        | Kind::DepthStencil => true,
        Kind::Choice(list) => list.values("").next().is_some(),
        _ => false,
    }
}

/// What belongs in a place of this kind, for messages.
pub(crate) fn describe(kind: Kind) -> String {
    let text = match kind {
        Kind::Dst16 => "a 16-bit destination register such as r3l",
        Kind::Dst32 => "a destination register such as r3 or r3l",
        Kind::Dst64 => "a destination register such as r3, r3l or r4_r5",
        Kind::DstPair => "a pair of destination registers such as r4_r5 or r4l_r4h",
        Kind::ExecCounter => "r0l",
        Kind::Src16 => "a 16-bit register, a uniform or an integer from 0 to 255",
        Kind::Src32 | Kind::SrcMul => "a register, a uniform or an integer from 0 to 255",
        Kind::Src64 | Kind::SrcAdd => {
            "a register (r4_r5 is 64 bits), a uniform or an integer from 0 to 255"
        }
        Kind::SrcFloat | Kind::SrcPair => {
            "a register, a uniform or a float that has an 8-bit encoding, such as 1.0"
        }
        Kind::SrcHalf => "a 16-bit register, a uniform or a float such as 1.0",
        Kind::SrcSelect => {
            "a register or uniform of the destination's size, or an integer from 0 to 255"
        }
        Kind::Int => "an integer",
        Kind::Binary(_) => "a number such as 0b0",
        Kind::Signed16 => "an integer from -32768 to 32767",
        Kind::Shift => "a shift such as `lsl 2`",
        Kind::BitMask => "a mask such as `mask 0xFF`",
        Kind::TruthTable => "a truth table of four binary digits",
        Kind::Target(_) => "a branch target: pc+16, an address such as 0x40, or a label",
        Kind::Special(_) => "a special register such as sr80",
        Kind::Choice(list) => return one_of(list),
        Kind::Word | Kind::WordByHalf => "a 32-bit register such as r3",
        Kind::Half => "a 16-bit register such as r3l",
        Kind::Vector => "one to four registers in a row such as r0_r1, as many as the mask has",
        Kind::OptionalReg | Kind::AtomicDest => "a register, or None",
        Kind::Base => "a 64-bit address such as r0_r1 or u0_u1",
        Kind::Index => "a 32-bit register or an integer from -32768 to 32767",
        Kind::LocalBase => "a 16-bit register, a 16-bit uniform or 0",
        Kind::LocalIndex => "a 16-bit register or an integer from -32768 to 32767",
        Kind::AtomicValue | Kind::AtomicWord => "a 32-bit register, or a pair for cmpxchg",
        Kind::CopyLocal => "a 64-bit register or uniform",
        Kind::CopyDevice => "three or five 32-bit registers or uniforms in a row",
        Kind::TextureState => "a texture state register such as ts0",
        Kind::SamplerState => "a sampler state register such as ss0",
        Kind::UniformQuad => "a 64-bit uniform with an even number such as u0_u1",
        Kind::HeapOffset => "a 32-bit register or an integer",
        Kind::Texture => "a texture such as ts0, or a register",
        Kind::Sampler => "a sampler such as ss0, or a 16-bit register",
        Kind::Heap => "a 64-bit uniform with an even number such as u0_u1, or None",
        Kind::Coordinates => "as many coordinate registers as the texture has axes",
        Kind::CompareOffset => "registers for the comparison value and the offset",
        Kind::Lod => "a level of detail that goes with its mode",
        Kind::HalfOrImm | Kind::ImmOrHalf => "a 16-bit register or an integer from 0 to 255",
        Kind::TileCoordinates => "an integer from 0 to 255 or two 16-bit registers",
        Kind::DepthStencil => "one to three 16-bit registers in a row",
        Kind::Interpolated(_) => "registers in a row",
        Kind::Coefficient => "a coefficient such as cf0, or a 16-bit register",
        Kind::Perspective => "a coefficient such as cf0",
        Kind::SampleId => "a 16-bit register or an integer from 0 to 255",
        Kind::Pixel => "four registers in a row",
        Kind::VarDst | Kind::FixedFloatDst => {
            "a destination register such as r3, r3l or r3l.bfloat, or a uniform"
        }
        Kind::SelectDst => "a destination register such as r3 or r3l, or a predicate such as p0",
        Kind::FixedDst => "a destination register such as r3, r3l or r4_r5, or a uniform",
        Kind::VarSrc => "a register, a uniform or an immediate that goes with the operation",
        Kind::FixedSrc | Kind::FixedAddend => {
            "a register (r4_r5 is 64 bits), a uniform or an integer from 0 to 255"
        }
        Kind::FixedFloatSrc => {
            "a register, a uniform or a float that has an 8-bit encoding, such as 1.0"
        }
        Kind::WaitMask => "slots to wait for such as `wait 05`",
        Kind::WaitSlot => "one slot to wait for such as `wait 5`",
        Kind::PredicateUse => "a predicate such as p0, !p1 or always",
        Kind::Data => "one to four registers in a row such as r0_r1, as many as the mask has",
        Kind::Address => "a 64-bit address such as r0_r1 or u0_u1",
        Kind::ElementIndex(_) => "a register, a uniform or an integer from 0 to 65535",
        Kind::GroupIndex => "a 16-bit register or an integer from 0 to 255",
        Kind::AtomicIndex => "a register or an integer from 0 to 255",
        Kind::AddressShift => "a shift from `lsl 0` to `lsl 6`",
        Kind::TermShift => "a shift from `lsl 1` to `lsl 4`",
        Kind::MatrixPair(_) => "a pair of registers such as r4_r5 or r4l_r4h",
        Kind::MatrixAddend(_) => "a pair of registers such as r4_r5 or r4l_r4h, or 0",
        Kind::PackDst | Kind::UnpackSrc => "a 16-bit register or two such as r4l_r4h",
        Kind::UnpackDst => "one or two registers such as r4 or r4_r5",
    };
    text.to_owned()
}

fn one_of(list: List) -> String {
    let mut words: Vec<&str> = list.vocabulary().collect();
    words.dedup();
    format!("one of {}", words.join(" "))
}

fn choices(list: List, text: &str) -> Meanings {
    let mut values = list.values(text).map(|value| Operand::Choice(list, value));
    if !text.is_empty()
        && let Some(first) = values.next()
    {
        return Meanings([Some(first), values.next()]);
    }
    // Values without a word are written as their number.
    let value = integer(text).and_then(|value| u8::try_from(value).ok());
    let unnamed = value.filter(|value| list.name(*value).is_none());
    Meanings::one(unnamed.map(|value| Operand::Choice(list, value)))
}

fn target(text: &str, offset: Option<u64>, labels: &dyn Labels) -> Option<Operand> {
    let distance = |value: i128| i32::try_from(value).ok().map(Operand::Target);
    let relative_to_here =
        |target: u64| distance(i128::from(target) - i128::from(offset.unwrap_or(0)));
    if let Some(rest) = text.strip_prefix("pc") {
        let rest = rest.trim_start();
        let sign = match rest.chars().next()? {
            '+' => 1,
            '-' => -1,
            _ => return relative_to_here(labels.offset_of(text)?),
        };
        let amount = rest[1..].trim();
        return match integer(amount) {
            Some(value) => distance(i128::from(value) * sign),
            None => relative_to_here(labels.offset_of(amount)?),
        };
    }
    if let Some(digits) = text.strip_prefix("0x-") {
        let value = i64::from_str_radix(digits, 16).ok().filter(|v| *v >= 0)?;
        return distance(-i128::from(value) - i128::from(offset?));
    }
    match integer(text) {
        Some(value) => distance(i128::from(value) - i128::from(offset?)),
        None => relative_to_here(labels.offset_of(text)?),
    }
}

fn truth_table(text: &str) -> Option<Operand> {
    let digits = text.as_bytes();
    if digits.len() != 4 || digits.iter().any(|digit| !matches!(digit, b'0' | b'1')) {
        return None;
    }
    let bits = digits.iter().enumerate();
    let table = bits.fold(0, |table, (bit, digit)| table | (digit - b'0') << bit);
    Some(Operand::TruthTable(table))
}

/// The number after a word: `lsl 2`.
fn after_word(text: &str, word: &str) -> Option<i64> {
    let rest = text.strip_prefix(word)?;
    let number = rest.trim_start();
    (number.len() < rest.len()).then_some(())?;
    integer(number)
}

/// A mask of low bits; all 32 is the width 0.
fn bit_mask(mask: i64) -> Option<Operand> {
    let size = (mask + 1).checked_ilog2()?;
    (mask + 1 == 1 << size && (1..=32).contains(&size))
        .then_some(Operand::BitMask((size % 32) as u8))
}

/// `sr80`, `sr80 (name)` or `name`.
fn special(family: Family, text: &str) -> Option<Operand> {
    let (text, name) = match text.split_once('(') {
        Some((number, name)) => (number.trim_end(), Some(name.strip_suffix(')')?.trim())),
        None => (text, None),
    };
    let register = match text.strip_prefix("sr").and_then(decimal) {
        Some(number) => SpecialRegister::new(family, u8::try_from(number).ok()?),
        None => SpecialRegister::named(family, text)?,
    };
    let agrees = name.is_none_or(|name| register.name() == Some(name));
    agrees.then_some(Operand::Special(register))
}

/// `wait 05`: the digits are slots, in ascending order.
fn wait_mask(text: &str) -> Option<Operand> {
    let digits = text.strip_prefix("wait")?.trim_start();
    let mut mask = 0u8;
    for digit in digits.bytes() {
        let slot = digit.checked_sub(b'0').filter(|slot| *slot < 8)?;
        (mask >> slot == 0).then_some(())?;
        mask |= 1 << slot;
    }
    (mask != 0).then_some(Operand::WaitMask(mask))
}

/// `p0`, `!p1`, `always`, `p0.value`.
fn predicate(text: &str) -> Option<Operand> {
    let (text, inverted) = match text.strip_prefix('!') {
        Some(rest) => (rest, true),
        None => (text, false),
    };
    let (name, from_value) = match text.strip_suffix(".value") {
        Some(rest) => (rest, true),
        None => (text, false),
    };
    let number = match name {
        "always" => u32::from(Predicate::ALWAYS),
        _ => decimal(name.strip_prefix('p')?)?,
    };
    (number < 8).then_some(Operand::Predicate(Predicate {
        number: number as u8,
        inverted,
        from_value,
    }))
}

/// Decimal digits only.
fn decimal(text: &str) -> Option<u32> {
    let all_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    all_digits.then(|| text.parse().ok())?
}

/// An integer: decimal, `0x` or `0b`, with a sign.
pub(crate) fn integer(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let value = if let Some(hex) = digits.strip_prefix("0x") {
        unsigned(hex, 16)?
    } else if let Some(binary) = digits.strip_prefix("0b") {
        unsigned(binary, 2)?
    } else {
        unsigned(digits, 10)?
    };
    Some(if negative { -value } else { value })
}

/// Digits without a sign.
fn unsigned(digits: &str, radix: u32) -> Option<i64> {
    if !digits.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    i64::from_str_radix(digits, radix).ok()
}

/// Registers, uniforms, state registers, numbers.
fn generic(text: &str) -> Option<Operand> {
    if text == "None" {
        return Some(Operand::None);
    }
    for (prefix, make) in [
        ("ts", Operand::Texture as fn(u8) -> Operand),
        ("ss", Operand::Sampler),
        ("cf", Operand::Coefficient),
    ] {
        if let Some(number) = text.strip_prefix(prefix).and_then(decimal) {
            return u8::try_from(number).ok().map(make);
        }
    }
    if text.starts_with(['r', 'u', '$']) {
        return registers(text);
    }
    if text.starts_with(['p', '!']) || text == "always" || text == "always.value" {
        return predicate(text);
    }
    match integer(text) {
        Some(value) => Some(Operand::Imm(value)),
        None => float(text),
    }
}

/// A float and its modifiers: `1.0.abs.neg`.
fn float(text: &str) -> Option<Operand> {
    let point = text.find('.')?;
    let after = &text[point + 1..];
    let digits = after
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(after.len());
    let (number, flags) = text.split_at(point + 1 + digits);
    let whole = number.trim_start_matches('-');
    if !whole
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.')
    {
        return None;
    }
    let value = MiniFloat::from_f32(number.parse().ok()?)?;
    let (hint, mods) = suffixes(flags)?;
    (hint == Hint::None).then_some(Operand::Float(value, mods))
}

/// The flags after an operand, in any order.
fn suffixes(text: &str) -> Option<(Hint, Modifiers)> {
    let mut hint = Hint::None;
    let mut mods = Modifiers::NONE;
    let mut rest = text.split('.');
    if !rest.next()?.is_empty() {
        return None;
    }
    for flag in rest {
        match flag {
            "cache" => hint = Hint::Cache,
            "discard" => hint = Hint::Discard,
            "abs" => mods.abs = true,
            "neg" => mods.neg = true,
            "sx" => mods.sx = true,
            "bfloat" => mods.bfloat = true,
            _ => return None,
        }
    }
    Some((hint, mods))
}

/// `r1`, `r1l`, `r1_r2_r3`, `u4l.neg`, `$r1`, `r2_r3l` (comparison and offset).
fn registers(text: &str) -> Option<Operand> {
    let (text, cached) = match text.strip_prefix('$') {
        Some(rest) => (rest, true),
        None => (text, false),
    };
    let (names, flags) = text.split_at(text.find('.').unwrap_or(text.len()));
    let (mut hint, mods) = suffixes(flags)?;
    if cached {
        hint = Hint::Cache;
    }
    let mut parts = names.split('_').map(register);
    let (file, first, width) = parts.next()??;
    let mut count = 1u8;
    let mut next = first + width.halves();
    for part in parts {
        let (other_file, half, other_width) = part?;
        if other_file != file || half != next {
            return None;
        }
        if other_width != width {
            // Only a comparison value and an offset have different widths.
            let is_pair = (file, width, count) == ('r', Width::W32, 1);
            return (is_pair && flags.is_empty()).then_some(Operand::CompareOffset {
                half: first,
                compare: true,
                offset: true,
            });
        }
        next += width.halves();
        count = count.checked_add(1).filter(|count| *count <= 16)?;
    }
    Some(match file {
        'r' => Operand::Reg(Reg {
            half: first,
            width,
            count,
            hint,
            mods,
        }),
        _ if hint != Hint::None => return None,
        _ => Operand::Uniform(Uniform {
            half: first,
            width,
            count,
            mods,
        }),
    })
}

/// One register: its file, first half and width.
fn register(text: &str) -> Option<(char, u16, Width)> {
    let file = text
        .chars()
        .next()
        .filter(|file| matches!(file, 'r' | 'u'))?;
    let rest = &text[1..];
    let (digits, part) = match rest.as_bytes().last()? {
        b'l' => (&rest[..rest.len() - 1], Some(0)),
        b'h' => (&rest[..rest.len() - 1], Some(1)),
        _ => (rest, None),
    };
    let limit = if file == 'r' { 128 } else { 256 };
    let number = decimal(digits).filter(|number| *number < limit)? as u16;
    Some(match part {
        Some(part) => (file, number * 2 + part, Width::W16),
        None => (file, number * 2, Width::W32),
    })
}

/// Bytes from pairs of hexadecimal digits.
pub(crate) fn hex_bytes(digits: &str) -> Option<Vec<u8>> {
    let digits = digits.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    let nibble = |digit: u8| char::from(digit).to_digit(16).map(|value| value as u8);
    digits
        .chunks_exact(2)
        .map(|pair| Some(nibble(pair[0])? << 4 | nibble(pair[1])?))
        .collect()
}

/// A piece of text short enough for a message.
pub(crate) fn excerpt(text: &str) -> String {
    if text.chars().count() <= 40 {
        return text.to_owned();
    }
    text.chars().take(37).chain("...".chars()).collect()
}

/// How many single-character changes turn one word into another; words far apart in
/// length are not compared.
pub(crate) fn distance(a: &str, b: &str) -> usize {
    if a.len().abs_diff(b.len()) > 3 || b.len() > 40 {
        return usize::MAX;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.bytes().enumerate() {
            let change = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
