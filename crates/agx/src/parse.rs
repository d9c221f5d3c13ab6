//! Text to instructions.
//!
//! The text of an instruction is a name and operands between commas. Operands that are
//! written as nothing (a zero shift, an empty mask) are simply absent, and a few words
//! stand for two encodings that a later operand tells apart; so parsing tries the
//! possibilities in order and keeps the furthest point it reached for its message.

use crate::builder::{Given, MAX_OPERANDS, assemble};
use crate::dispatch::forms;
use crate::instruction::{Instruction, MAX_LENGTH};
use crate::isa::{Family, Isa};
use crate::names::List;
use crate::operand::{MiniFloat, Modifiers, Operand};
use crate::table::{Alias, Form, Spec};
use crate::text::{BINARY_BITOPS, UNARY_BITOPS};
use crate::token::{self, Tokens};
use std::collections::HashMap;
use std::sync::LazyLock;

/// Why a text is not an instruction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {message}")]
pub struct ParseError {
    /// Column of the first character that is wrong, from 1.
    pub column: usize,
    /// What was expected there, and what was found.
    pub message: String,
}

impl ParseError {
    pub(crate) fn new(column: usize, message: impl Into<String>) -> ParseError {
        ParseError {
            column,
            message: message.into(),
        }
    }
}

/// What a name in place of a branch target means.
pub(crate) trait Labels {
    /// The byte offset of a label.
    fn offset_of(&self, label: &str) -> Option<u64>;
}

/// Text without labels.
pub(crate) struct NoLabels;

impl Labels for NoLabels {
    fn offset_of(&self, _: &str) -> Option<u64> {
        None
    }
}

impl Instruction {
    /// Parses one instruction: its words, and its bytes in braces where the words are
    /// not enough.
    ///
    /// `offset` is where the instruction stands, for absolute branch targets.
    ///
    /// ```
    /// use assay_agx::{Instruction, Isa};
    /// let insn = Instruction::parse(Isa::G13, "fadd32.sat r1, r2.neg, 1.0", 0)?;
    /// assert_eq!(insn.words(0), "fadd32.sat r1, r2.neg, 1.0");
    /// let error = Instruction::parse(Isa::G13, "fadd32 r1, r2, 0.1", 0).unwrap_err();
    /// assert_eq!(error.column, 16);
    /// # Ok::<(), assay_agx::ParseError>(())
    /// ```
    pub fn parse(isa: Isa, text: &str, offset: u64) -> Result<Instruction, ParseError> {
        parse_exact(isa, text, Some(offset), &NoLabels)
    }
}

/// Parses words with bytes in braces after them, if there are any.
pub(crate) fn parse_exact(
    isa: Isa,
    text: &str,
    offset: Option<u64>,
    labels: &dyn Labels,
) -> Result<Instruction, ParseError> {
    let Some((words, bytes)) = split_braces(text)? else {
        return parse_line(isa, text, offset, labels);
    };
    let column = words.chars().count() + 1;
    let instruction = Instruction::decode(isa, &bytes)
        .map_err(|error| ParseError::new(column, format!("in the braces: {error}")))?;
    if instruction.len() != bytes.len() {
        let message = format!(
            "the braces hold {} bytes; the instruction in them has {}",
            bytes.len(),
            instruction.len()
        );
        return Err(ParseError::new(column, message));
    }
    if says(&instruction, words, offset, labels) {
        return Ok(instruction);
    }
    let mut expected = String::new();
    instruction.write_words(&mut expected, offset);
    let message = format!("the bytes in braces are `{expected}`, not the words before them");
    Err(ParseError::new(column, message))
}

/// Whether `words` is a text of `instruction`, in any spelling of its branch target.
pub(crate) fn says(
    instruction: &Instruction,
    words: &str,
    offset: Option<u64>,
    labels: &dyn Labels,
) -> bool {
    let mut own = String::new();
    [offset, None].into_iter().any(|offset| {
        own.clear();
        instruction.write_words(&mut own, offset);
        own.split_whitespace().eq(words.split_whitespace())
    }) || parse_line(instruction.isa(), words, offset, labels).as_ref() == Ok(instruction)
}

type Braced<'text> = Option<(&'text str, Vec<u8>)>;

/// Splits `words {bytes}`.
pub(crate) fn split_braces(text: &str) -> Result<Braced<'_>, ParseError> {
    let trimmed = text.trim_end();
    let (Some(open), true) = (trimmed.rfind('{'), trimmed.ends_with('}')) else {
        return Ok(None);
    };
    let column = trimmed[..open].chars().count() + 2;
    let digits = &trimmed[open + 1..trimmed.len() - 1];
    let bytes = token::hex_bytes(digits)
        .filter(|bytes| (2..=MAX_LENGTH).contains(&bytes.len()))
        .ok_or_else(|| {
            ParseError::new(column, "expected 4 to 32 hexadecimal digits in the braces")
        })?;
    Ok(Some((trimmed[..open].trim_end(), bytes)))
}

/// Parses bare words; the text given back by [`Instruction::write_words`].
pub(crate) fn parse_words(
    isa: Isa,
    text: &str,
    offset: Option<u64>,
) -> Result<Instruction, ParseError> {
    parse_line(isa, text, offset, &NoLabels)
}

/// Forms by the name text gives them, aliases included.
type ByName = HashMap<&'static str, Vec<Candidate>>;

static G13_NAMES: LazyLock<ByName> = LazyLock::new(|| by_name_of(Family::G13));
static G15_NAMES: LazyLock<ByName> = LazyLock::new(|| by_name_of(Family::G15));

fn by_name(isa: Isa) -> &'static ByName {
    match isa.family() {
        Family::G13 => &G13_NAMES,
        Family::G15 => &G15_NAMES,
    }
}

fn by_name_of(family: Family) -> ByName {
    let mut map: ByName = HashMap::new();
    let mut add = |name, candidate| map.entry(name).or_default().push(candidate);
    for form in forms(family) {
        let plain = |fixed| Candidate { form, fixed };
        add(form.name, plain(Fixed::Nothing));
        if let Some(short) = form.name.strip_prefix("TODO.") {
            add(short, plain(Fixed::Nothing));
        }
        match form.alias {
            Alias::None => {}
            Alias::Bitop => {
                add("bitop_mov_a", plain(Fixed::Nothing));
                for &(table, name) in BINARY_BITOPS {
                    add(name, plain(Fixed::Table(table)));
                }
                for &(table, name) in UNARY_BITOPS {
                    add(name, plain(Fixed::UnaryTable(table)));
                }
            }
            Alias::BitopG15 => {
                for &(table, name) in BINARY_BITOPS {
                    add(name, plain(Fixed::Table(table)));
                }
            }
            Alias::PushExec => {
                add("push_exec", plain(Fixed::Always));
                add("update_exec", plain(Fixed::AlwaysNoNest));
            }
        }
    }
    map
}

/// A form a name can mean, and what the name fixes.
#[derive(Clone, Copy)]
struct Candidate {
    form: &'static Form,
    fixed: Fixed,
}

#[derive(Clone, Copy)]
enum Fixed {
    Nothing,
    /// The truth table of a bitwise operation.
    Table(u8),
    /// The same, and the second source is 0.
    UnaryTable(u8),
    /// A comparison that always holds.
    Always,
    AlwaysNoNest,
}

impl Fixed {
    fn given(self) -> Given {
        let mut given: Given = [None; MAX_OPERANDS];
        let zero = Some(Operand::Float(MiniFloat(0), Modifiers::NONE));
        match self {
            Fixed::Nothing => {}
            Fixed::Table(table) => given[0] = Some(Operand::TruthTable(table)),
            Fixed::UnaryTable(table) => {
                given[0] = Some(Operand::TruthTable(table));
                given[3] = Some(Operand::Imm(0));
            }
            Fixed::Always | Fixed::AlwaysNoNest => {
                given[1] = Some(Operand::Choice(List::FloatCondition, 0));
                given[2] = zero;
                given[3] = zero;
                if matches!(self, Fixed::AlwaysNoNest) {
                    given[4] = Some(Operand::Imm(0));
                }
            }
        }
        given
    }
}

pub(crate) fn parse_line(
    isa: Isa,
    text: &str,
    offset: Option<u64>,
    labels: &dyn Labels,
) -> Result<Instruction, ParseError> {
    let tokens = Tokens::split(text)?;
    let (name, saturate) = match tokens.name.strip_suffix(".sat") {
        Some(base) => (base, true),
        None => (tokens.name, false),
    };
    let candidates = by_name(isa).get(name).map_or(&[][..], Vec::as_slice);
    let mut best: Option<ParseError> = None;
    for candidate in candidates {
        if saturate && candidate.form.saturate_bit == 0 {
            continue;
        }
        let mut matching = Matching {
            isa,
            form: candidate.form,
            saturate,
            offset,
            labels,
            tokens: &tokens,
            given: candidate.fixed.given(),
            error: ParseError::new(0, ""),
        };
        match matching.operand(0, 0) {
            Some(instruction) => return Ok(instruction),
            None => {
                if best
                    .as_ref()
                    .is_none_or(|error| matching.error.column > error.column)
                {
                    best = Some(matching.error);
                }
            }
        }
    }
    Err(best.unwrap_or_else(|| unknown_name(isa, &tokens, saturate)))
}

fn unknown_name(isa: Isa, tokens: &Tokens<'_>, saturate: bool) -> ParseError {
    let known = by_name(isa);
    if saturate && known.contains_key(tokens.name.trim_end_matches(".sat")) {
        return ParseError::new(
            tokens.name_column,
            format!("`{}` cannot saturate", tokens.name.trim_end_matches(".sat")),
        );
    }
    let nearest = known
        .keys()
        .map(|name| (token::distance(name, tokens.name), *name))
        .min()
        .filter(|(distance, _)| *distance <= 3);
    let hint = nearest.map_or(String::new(), |(_, name)| {
        format!("; did you mean `{name}`?")
    });
    ParseError::new(
        tokens.name_column,
        format!(
            "expected an instruction, found `{}`{hint}",
            token::excerpt(tokens.name)
        ),
    )
}

/// One form being matched with the operands of a line.
struct Matching<'a> {
    isa: Isa,
    form: &'static Form,
    saturate: bool,
    offset: Option<u64>,
    labels: &'a dyn Labels,
    tokens: &'a Tokens<'a>,
    given: Given,
    /// The error furthest to the right.
    error: ParseError,
}

impl Matching<'_> {
    /// Matches the operands of the form from `position` with the tokens from `at`.
    fn operand(&mut self, position: usize, at: usize) -> Option<Instruction> {
        let Some(spec) = self.form.operands.get(position) else {
            return self.finish(at);
        };
        let fixed = self.given.get(position).copied().flatten().is_some();
        if spec.hidden || fixed {
            return self.operand(position + 1, at);
        }
        if let Some(&(column, text)) = self.tokens.operands.get(at) {
            let meanings = token::meanings(spec.kind, text, self.offset, self.labels);
            for meaning in meanings.iter() {
                *self.given.get_mut(position)? = Some(meaning);
                let found = self.operand(position + 1, at + 1);
                *self.given.get_mut(position)? = None;
                if found.is_some() {
                    return found;
                }
            }
            if meanings.is_empty() {
                let found = token::excerpt(text);
                self.fail(column, || format!("{}, found `{found}`", expected(spec)));
            }
        } else if !token::can_be_absent(spec.kind) {
            let column = self.tokens.end_column;
            self.fail(column, || format!("{}, found the end", expected(spec)));
        }
        if !token::can_be_absent(spec.kind) {
            return None;
        }
        *self.given.get_mut(position)? = Some(Operand::Empty);
        let found = self.operand(position + 1, at);
        *self.given.get_mut(position)? = None;
        found
    }

    fn finish(&mut self, at: usize) -> Option<Instruction> {
        if let Some(&(column, text)) = self.tokens.operands.get(at) {
            let found = token::excerpt(text);
            self.fail(column, || format!("expected the end, found `{found}`"));
            return None;
        }
        let form = self.form;
        match assemble(self.isa, form, &self.given, self.saturate, form.prefer) {
            Ok(instruction) => Some(instruction),
            Err(position) => {
                let spec = form.operands.get(position)?;
                let column = self.column_of(position);
                self.fail(column, || {
                    format!("{} that goes with the other operands", expected(spec))
                });
                None
            }
        }
    }

    /// The column of the token that became the operand at `position`.
    fn column_of(&self, position: usize) -> usize {
        let fixed_by_text = |position: &usize| {
            let hidden = self.form.operands.get(*position).is_none_or(|s| s.hidden);
            let empty = self.given.get(*position).copied().flatten() == Some(Operand::Empty);
            !hidden && !empty
        };
        let before = (0..position).filter(fixed_by_text).count();
        let token = self
            .tokens
            .operands
            .get(before)
            .or(self.tokens.operands.last());
        token.map_or(self.tokens.name_column, |(column, _)| *column)
    }

    fn fail(&mut self, column: usize, message: impl FnOnce() -> String) {
        if column > self.error.column {
            self.error = ParseError::new(column, message());
        }
    }
}

fn expected(spec: &Spec) -> String {
    format!("expected {}", token::describe(spec.kind))
}
