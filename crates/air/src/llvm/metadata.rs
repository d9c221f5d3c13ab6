//! Metadata: the tree beside the code that describes kernels, loops, aliasing and source lines.

use super::value::{Span, ValueId};
use std::borrow::Cow;

/// A piece of metadata, of the module or, behind those, of the function at hand.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MetadataId(pub u32);

/// One piece of metadata.
#[derive(Clone, PartialEq, Debug)]
pub enum Metadata<'a> {
    /// A string; not always UTF-8.
    String(Cow<'a, [u8]>),
    /// A value.
    Value(ValueId),
    /// A tuple; its operands are in the pool.
    Node(Span),
    /// A place in the source.
    Location(DebugLocation),
    /// A file.
    File {
        /// Name as given to the compiler.
        name: Option<MetadataId>,
        /// The folder it was compiled in.
        directory: Option<MetadataId>,
    },
    /// A function of the source, or a block or file change within one.
    Scope {
        /// What it is part of.
        parent: Option<MetadataId>,
        /// Its file.
        file: Option<MetadataId>,
        /// A function's name.
        name: Option<MetadataId>,
        /// Its line.
        line: u32,
    },
    /// Anything else, by its record number.
    Other(u32),
}

/// A place in the source: line, column, the scope it is in and where that was inlined.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DebugLocation {
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// The function or block.
    pub scope: Option<MetadataId>,
    /// The call it was inlined at: a [`Metadata::Location`].
    pub inlined_at: Option<MetadataId>,
}

/// Metadata with its tuples' operands.
#[derive(Clone, Debug, Default)]
pub struct MetadataPool<'a> {
    pub(crate) items: Vec<Metadata<'a>>,
    pub(crate) operands: Vec<Option<MetadataId>>,
    /// Named lists of the module, such as `air.kernel`.
    pub(crate) named: Vec<(String, Vec<MetadataId>)>,
    /// Names of attachment kinds.
    pub(crate) kinds: Vec<(u32, String)>,
}

impl<'a> MetadataPool<'a> {
    /// A piece of metadata.
    #[inline]
    pub fn get(&self, id: MetadataId) -> Option<&Metadata<'a>> {
        self.items.get(id.0 as usize)
    }

    /// Number of pieces.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The operands of a tuple; nothing for what is no tuple.
    pub fn node(&self, id: MetadataId) -> &[Option<MetadataId>] {
        match self.get(id) {
            Some(Metadata::Node(span)) => self.operands.get(span.range()).unwrap_or_default(),
            _ => &[],
        }
    }

    /// The text of a string, bytes that are not UTF-8 replaced.
    pub fn string(&self, id: MetadataId) -> Option<Cow<'_, str>> {
        match self.get(id) {
            Some(Metadata::String(bytes)) => Some(String::from_utf8_lossy(bytes)),
            _ => None,
        }
    }

    /// A named list of the module, such as `air.kernel`.
    pub fn named(&self, name: &str) -> &[MetadataId] {
        let found = self.named.iter().find(|(known, _)| known == name);
        found.map_or(&[], |(_, list)| list)
    }

    /// The number of an attachment kind, such as `llvm.loop`.
    pub fn kind(&self, name: &str) -> Option<u32> {
        let found = self.kinds.iter().find(|(_, known)| known == name);
        found.map(|(number, _)| *number)
    }
}
