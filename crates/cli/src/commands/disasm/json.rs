//! The JSON form of a listing: one object a line, and a summary.

use assay_agx::{Family, Instruction, RegSet, UniformSet};
#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;

/// Totals of a listing.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct Totals {
    /// Bytes walked over.
    pub(super) bytes: u64,
    /// Complete instructions.
    pub(super) instructions: u64,
    /// Parcels that begin no known instruction.
    pub(super) unknown: u64,
    /// Whether the input ends inside an instruction.
    pub(super) truncated: bool,
    /// Whether a single byte is left at the end.
    pub(super) odd: bool,
}

/// The last line of a JSON listing; every line before it is one item of the code.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct Summary {
    /// What was seen.
    pub(super) summary: Totals,
}

/// One line of JSON.
#[derive(Serialize)]
pub(super) struct Row {
    pub(super) offset: u64,
    pub(super) bytes: String,
    pub(super) mnemonic: String,
    pub(super) operands: Vec<String>,
    pub(super) reads: Vec<String>,
    pub(super) writes: Vec<String>,
    pub(super) uniforms: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) target: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) slot: Option<u8>,
    /// How well the encoding is known, for instruction sets without official description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) standing: Option<&'static str>,
    /// The slots it waits for before it reads.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) waits: Vec<u8>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) unknown: bool,
    /// The operation of generated code whose encoding is not publicly known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stands_for: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) truncated: bool,
}

impl Row {
    pub(super) fn of(
        offset: u64,
        bytes: String,
        instruction: &Instruction,
        truncated: bool,
    ) -> Row {
        let words = instruction.words(offset);
        let (mnemonic, operands) = words.split_once(' ').unwrap_or((&words, ""));
        let operands = operands.split(", ").filter(|text| !text.is_empty());
        Row {
            offset,
            bytes,
            mnemonic: mnemonic.to_owned(),
            operands: operands.map(str::to_owned).collect(),
            reads: registers(&instruction.reads()),
            writes: registers(&instruction.writes()),
            uniforms: uniforms(&instruction.uniforms_read()),
            target: instruction.branch_target(offset),
            slot: instruction.slot(),
            standing: (instruction.isa().family() == Family::G15)
                .then(|| instruction.standing().name()),
            waits: (0..8)
                .filter(|slot| instruction.waits() >> slot & 1 != 0)
                .collect(),
            unknown: false,
            stands_for: None,
            truncated,
        }
    }

    pub(super) fn data(offset: u64, bytes: String, directive: &str, value: String) -> Row {
        Row {
            offset,
            bytes,
            mnemonic: directive.to_owned(),
            operands: vec![value],
            reads: Vec::new(),
            writes: Vec::new(),
            uniforms: Vec::new(),
            target: None,
            slot: None,
            standing: None,
            waits: Vec::new(),
            unknown: true,
            stands_for: None,
            truncated: false,
        }
    }
}

fn registers(set: &RegSet) -> Vec<String> {
    set.iter().map(|half| half_name('r', half)).collect()
}

fn uniforms(set: &UniformSet) -> Vec<String> {
    set.iter().map(|half| half_name('u', half)).collect()
}

fn half_name(file: char, half: u16) -> String {
    format!(
        "{file}{}{}",
        half / 2,
        if half.is_multiple_of(2) { 'l' } else { 'h' }
    )
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_is_current() {
        crate::schema::check::<super::Summary>("assay.disasm", 1);
    }
}
