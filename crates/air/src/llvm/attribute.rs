//! Attributes of functions, parameters and results, as far as kernels need them.

use super::types::TypeId;

/// What a set of attributes says.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Attributes {
    /// Bits of [`Attributes::CONVERGENT`] and the like.
    pub bits: u32,
    /// `align(n)`, 0 when not said.
    pub align: u32,
    /// The type of `byval`, `sret` or `byref`.
    pub memory_type: Option<TypeId>,
    /// Attributes with text keys, and their values.
    pub strings: Vec<(String, String)>,
}

impl Attributes {
    /// Must not be made dependent on more control flow.
    pub const CONVERGENT: u32 = 1;
    /// Memory reached through this parameter is reached through no other.
    pub const NOALIAS: u32 = 1 << 1;
    /// Does not write.
    pub const READONLY: u32 = 1 << 2;
    /// Does not read.
    pub const WRITEONLY: u32 = 1 << 3;
    /// Neither reads nor writes.
    pub const READNONE: u32 = 1 << 4;
    /// The argument is a copy in memory.
    pub const BYVAL: u32 = 1 << 5;
    /// The result goes to memory.
    pub const SRET: u32 = 1 << 6;
    /// Must not be inlined.
    pub const NOINLINE: u32 = 1 << 7;
    /// Never returns.
    pub const NORETURN: u32 = 1 << 8;
    /// Extended with its sign by the caller.
    pub const SIGNEXT: u32 = 1 << 9;
    /// Extended with zeros by the caller.
    pub const ZEROEXT: u32 = 1 << 10;

    /// Whether a bit is set.
    pub fn has(&self, bit: u32) -> bool {
        self.bits & bit != 0
    }

    /// The value of an attribute with a text key.
    pub fn string(&self, key: &str) -> Option<&str> {
        let found = self.strings.iter().find(|(known, _)| known == key);
        found.map(|(_, value)| value.as_str())
    }

    /// The bit of one of LLVM's attribute numbers.
    pub(crate) fn bit_of(number: u64) -> u32 {
        match number {
            3 => Self::BYVAL,
            9 => Self::NOALIAS,
            14 => Self::NOINLINE,
            17 => Self::NORETURN,
            20 => Self::READNONE,
            21 => Self::READONLY,
            24 => Self::SIGNEXT,
            29 => Self::SRET,
            34 => Self::ZEROEXT,
            43 => Self::CONVERGENT,
            52 => Self::WRITEONLY,
            _ => 0,
        }
    }
}

/// Attribute groups and the lists made of them.
#[derive(Clone, Debug, Default)]
pub struct AttributeTable {
    /// Group number, which slot it is for, and what it says.
    pub(crate) groups: Vec<(u64, u64, Attributes)>,
    /// For each list the indices of its groups.
    pub(crate) lists: Vec<Vec<u32>>,
}

/// The slot of a function's own attributes.
const FUNCTION_SLOT: u64 = 0xffff_ffff;

impl AttributeTable {
    fn slot(&self, list: u32, slot: u64) -> Option<&Attributes> {
        let list = self.lists.get((list as usize).checked_sub(1)?)?;
        let group = list.iter().find_map(|&index| {
            let group = self.groups.get(index as usize)?;
            (group.1 == slot).then_some(group)
        })?;
        Some(&group.2)
    }

    /// What a list (numbered from 1, 0 being none) says about the function itself.
    pub fn function(&self, list: u32) -> Option<&Attributes> {
        self.slot(list, FUNCTION_SLOT)
    }

    /// What a list says about a parameter.
    pub fn parameter(&self, list: u32, index: u32) -> Option<&Attributes> {
        self.slot(list, u64::from(index) + 1)
    }
}
