//! Decoded code: a dense table of instructions that everything else indexes.

use crate::InsnId;
use assay_agx::{Instruction, Isa, Item, Op, Placeholder, RegSet, Unencoded, walk};

/// One entry of a listing: an instruction, or bytes that are none.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Byte offset in the code.
    pub offset: u32,
    /// Length in bytes.
    pub len: u8,
    /// What is there.
    pub item: Item,
    op: Op,
    slot: Option<u8>,
    /// Half-registers read; none for what is unknown.
    pub reads: RegSet,
    /// Half-registers written; none for what is unknown.
    pub writes: RegSet,
    /// What the bytes stand for, if they are no instruction because its encoding is not publicly known.
    pub stands_for: Option<Unencoded>,
}

impl Entry {
    /// The instruction, when it is known and complete.
    #[inline]
    pub fn known(&self) -> Option<&Instruction> {
        match &self.item {
            Item::Known(instruction) => Some(instruction),
            _ => None,
        }
    }

    /// The operation; [`Op::Unknown`] for bytes that are no instruction.
    #[inline]
    pub fn op(&self) -> Op {
        self.op
    }

    /// The scoreboard slot it reports to or waits for.
    #[inline]
    pub fn slot(&self) -> Option<u8> {
        self.slot
    }

    /// Returns true if what this does is not known: no instruction, and no placeholder.
    pub fn is_unknown(&self) -> bool {
        self.op() == Op::Unknown && self.stands_for.is_none()
    }

    /// The words of a listing.
    pub fn words(&self) -> String {
        if let Some(stands_for) = self.stands_for {
            return format!("<{stands_for}>");
        }
        match self.item {
            Item::Known(instruction) => instruction.words(u64::from(self.offset)),
            Item::Truncated { instruction, .. } => {
                format!("{} (cut short)", instruction.words(u64::from(self.offset)))
            }
            Item::Unknown(parcel) => format!(".short {parcel:#06x}"),
            Item::Odd(byte) => format!(".byte {byte:#04x}"),
        }
    }
}

/// A decoded program part.
#[derive(Clone, Debug, Default)]
pub struct Code {
    entries: Vec<Entry>,
}

impl Code {
    /// Decodes `bytes` from its start to its end.
    pub fn decode(isa: Isa, bytes: &[u8]) -> Code {
        // An instruction is about seven bytes long.
        let mut entries = Vec::with_capacity(bytes.len() / 6);
        for (offset, item) in walk(isa, bytes) {
            let Ok(offset) = u32::try_from(offset) else {
                break;
            };
            // Every analysis asks for these, most of them several times.
            let known = item.known();
            entries.push(Entry {
                offset,
                len: item.len() as u8,
                item,
                op: known.map_or(Op::Unknown, |insn| insn.op()),
                slot: known.and_then(|insn| insn.slot()),
                reads: known.map_or(RegSet::EMPTY, |insn| insn.reads()),
                writes: known.map_or(RegSet::EMPTY, |insn| insn.writes()),
                stands_for: None,
            });
        }
        Code { entries }
    }

    /// With what the bytes at some places stand for.
    #[must_use]
    pub fn with_placeholders(mut self, placeholders: &[Placeholder]) -> Code {
        for placeholder in placeholders {
            let found = self.at(u64::from(placeholder.offset));
            let entry = found.and_then(|id| self.entries.get_mut(id.index()));
            if let Some(entry) = entry.filter(|entry| matches!(entry.item, Item::Unknown(_))) {
                entry.reads = placeholder.reads.iter().copied().collect();
                entry.writes = placeholder.writes.iter().copied().collect();
                entry.stands_for = Some(placeholder.operation);
            }
        }
        self
    }

    /// The entries in order of address.
    #[inline]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// How many entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// An entry.
    #[inline]
    pub fn get(&self, id: InsnId) -> Option<&Entry> {
        self.entries.get(id.index())
    }

    /// The entries of a range of ids.
    #[inline]
    pub fn range(&self, range: std::ops::Range<u32>) -> &[Entry] {
        self.entries
            .get(range.start as usize..range.end as usize)
            .unwrap_or_default()
    }

    /// The entry that starts at a byte offset.
    pub fn at(&self, offset: u64) -> Option<InsnId> {
        let offset = u32::try_from(offset).ok()?;
        self.entries
            .binary_search_by_key(&offset, |entry| entry.offset)
            .ok()
            .map(InsnId::new)
    }
}
