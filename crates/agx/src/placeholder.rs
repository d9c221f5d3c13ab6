//! Operations of a program whose encoding is not publicly known.
//!
//! A code generator that must not invent an instruction leaves the parcel [`Placeholder::PARCEL`] in the code and says in
//! [`Program::placeholders`](crate::Program::placeholders) what the parcel stands for. Walking over the code finds an unknown
//! item there: a reader that knows nothing of placeholders cannot mistake one for an instruction.

/// An operation whose encoding is not publicly known.
///
/// ```
/// use assay_agx::{walk, Isa, Item, Placeholder, Program, Unencoded, UnencodedKind};
/// let code = [Placeholder::PARCEL.to_le_bytes(), 0x0088u16.to_le_bytes()].concat();
/// let atomic = Placeholder {
///     offset: 0,
///     operation: Unencoded { kind: UnencodedKind::TextureAtomic, bytes: Some(4) },
///     reads: vec![2, 3, 4, 5],
///     writes: vec![6, 7],
/// };
/// let program = Program { code, placeholders: vec![atomic], ..Program::new(Isa::G13, "count") };
/// assert_eq!(program.walk().next(), Some((0, Item::Unknown(Placeholder::PARCEL))));
/// let found = program.placeholder_at(0).map(|placeholder| placeholder.operation.kind.name());
/// assert_eq!(found, Some("texture atomic"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Placeholder {
    /// Byte offset in the main program.
    pub offset: u32,
    /// What is done there.
    pub operation: Unencoded,
    /// Half registers that are read.
    pub reads: Vec<u16>,
    /// Half registers that are written.
    pub writes: Vec<u16>,
}

impl Placeholder {
    /// What lies in the code where a placeholder is. It begins no instruction of any set.
    pub const PARCEL: u16 = 0xffff;

    /// The placeholder at byte `offset` among some in ascending order.
    pub fn at(placeholders: &[Placeholder], offset: u32) -> Option<&Placeholder> {
        let key = |placeholder: &Placeholder| placeholder.offset;
        let found = placeholders.binary_search_by_key(&offset, key).ok()?;
        placeholders.get(found)
    }
}

/// What a [`Placeholder`] stands for.
///
/// ```
/// use assay_agx::{Unencoded, UnencodedKind};
/// let atomic = Unencoded { kind: UnencodedKind::TextureAtomic, bytes: Some(4) };
/// assert_eq!(atomic.to_string(), "texture atomic, 4 bytes a thread: encoding not publicly known");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Unencoded {
    /// What is done.
    pub kind: UnencodedKind,
    /// Bytes of memory that a thread accesses, when the operation alone says it: a sample's depend on the texture's format.
    pub bytes: Option<u8>,
}

impl std::fmt::Display for Unencoded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.kind.name())?;
        if let Some(bytes) = self.bytes {
            write!(f, ", {bytes} bytes a thread")?;
        }
        f.write_str(": encoding not publicly known")
    }
}

/// Kinds of operations without a publicly known encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum UnencodedKind {
    /// An atomic operation on a texel.
    TextureAtomic,
    /// A read of a texel.
    TextureRead,
    /// A write of a texel.
    TextureWrite,
    /// A sample, gather or comparison.
    TextureSample,
    /// A question for the extents, levels or samples of a texture.
    TextureSize,
}

impl UnencodedKind {
    /// All of them.
    pub const ALL: [UnencodedKind; 5] = [
        UnencodedKind::TextureAtomic,
        UnencodedKind::TextureRead,
        UnencodedKind::TextureWrite,
        UnencodedKind::TextureSample,
        UnencodedKind::TextureSize,
    ];

    /// The name in listings and reports.
    pub const fn name(self) -> &'static str {
        match self {
            UnencodedKind::TextureAtomic => "texture atomic",
            UnencodedKind::TextureRead => "texture read",
            UnencodedKind::TextureWrite => "texture write",
            UnencodedKind::TextureSample => "texture sample",
            UnencodedKind::TextureSize => "texture size",
        }
    }

    /// The kind with a name, if there is one.
    pub fn named(name: &str) -> Option<UnencodedKind> {
        let mut kinds = UnencodedKind::ALL.into_iter();
        kinds.find(|kind| kind.name() == name)
    }

    /// Why such an operation cannot be run.
    pub const fn refusal(self) -> &'static str {
        match self {
            UnencodedKind::TextureAtomic => {
                "the encoding of a texture atomic is not publicly known"
            }
            UnencodedKind::TextureRead => "the encoding of this texture read is not publicly known",
            UnencodedKind::TextureWrite => {
                "the encoding of this texture write is not publicly known"
            }
            UnencodedKind::TextureSample => {
                "the encoding of this texture sample is not publicly known"
            }
            UnencodedKind::TextureSize => {
                "how the size of a texture that is chosen while the kernel runs is found is not publicly known"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Isa, Item, walk};

    #[test]
    fn the_parcel_begins_no_instruction_whatever_follows() {
        for isa in Isa::ALL {
            for next in 0..=u16::MAX {
                let mut code = [0; 16];
                code[..2].copy_from_slice(&Placeholder::PARCEL.to_le_bytes());
                code[2..4].copy_from_slice(&next.to_le_bytes());
                code[4..6].copy_from_slice(&next.rotate_left(7).to_le_bytes());
                let first = walk(isa, &code).next();
                let unknown = Some((0, Item::Unknown(Placeholder::PARCEL)));
                assert_eq!(first, unknown, "{isa:?}, followed by {next:#06x}");
            }
        }
    }

    #[test]
    fn names_are_told_apart() {
        for kind in UnencodedKind::ALL {
            assert_eq!(UnencodedKind::named(kind.name()), Some(kind));
        }
    }
}
