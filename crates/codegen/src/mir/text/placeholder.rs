//! Placeholders as text: `placeholder texture atomic | 4 | %1 | %2, %3`, a kind, its bytes (`?` if they are not known),
//! what it writes and what it reads.

use super::{Parsed, number};
use crate::mir::{Function, Inst, Slice};
use assay_agx::{Unencoded, UnencodedKind};

impl Function {
    pub(super) fn placeholder_text(&self, inst: &Inst, operation: Unencoded) -> String {
        let listed = |slices: Vec<Slice>| {
            let texts = slices.into_iter().map(|slice| self.slice_text(slice));
            texts.collect::<Vec<_>>().join(", ")
        };
        let bytes = operation.bytes.map(|bytes| bytes.to_string());
        format!(
            "placeholder {} | {} | {} | {}",
            operation.kind.name(),
            bytes.as_deref().unwrap_or("?"),
            listed(inst.defs().collect()),
            listed(inst.uses().collect())
        )
    }

    pub(super) fn read_placeholder(&self, text: &str) -> Parsed<Inst> {
        let parts: Vec<&str> = text.split('|').map(str::trim).collect();
        let [name, bytes, defs, uses] = parts[..] else {
            return Err("expected `placeholder kind | bytes | results | sources`".to_owned());
        };
        let kind = UnencodedKind::named(name);
        let operation = Unencoded {
            kind: kind.ok_or_else(|| format!("no placeholder is called `{name}`"))?,
            bytes: match bytes {
                "?" => None,
                bytes => Some(number(bytes)?),
            },
        };
        let slices = |text: &str| -> Parsed<Vec<Slice>> {
            let texts = text.split(',').map(str::trim);
            let texts = texts.filter(|one| !one.is_empty());
            texts.map(|one| self.read_slice(one)).collect()
        };
        Ok(Inst::placeholder(operation, &slices(defs)?, &slices(uses)?))
    }
}
