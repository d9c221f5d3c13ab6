//! GPU metadata FlatBuffers.

use super::{align, small};
use crate::metadata::Binding;

/// Collects figures and writes a metadata FlatBuffer.
#[derive(Clone, Debug, Default)]
pub struct MetadataBuilder {
    fields: Vec<(u16, u32)>,
    bindings: Vec<Binding>,
    name: Option<String>,
}

/// A table being written: field number, and its four bytes or where it leads.
enum Value {
    Number(u32),
    /// Filled in once the target is placed.
    Offset(usize),
}

impl MetadataBuilder {
    /// Metadata that states nothing.
    pub fn new() -> Self {
        MetadataBuilder::default()
    }

    /// Any numeric field of the kernel's table.
    pub fn field(mut self, number: u16, value: u32) -> Self {
        self.fields.push((number, value));
        self
    }

    /// Registers, in 32-bit units.
    pub fn registers(self, count: u32) -> Self {
        self.field(0, count)
    }

    /// Scratch bytes per thread.
    pub fn spill_bytes(self, bytes: u32) -> Self {
        self.field(14, bytes)
    }

    /// Uniform bytes.
    pub fn uniform_bytes(self, bytes: u32) -> Self {
        self.field(31, bytes)
    }

    /// Threadgroup memory in bytes.
    pub fn threadgroup_bytes(self, bytes: u32) -> Self {
        self.field(9, bytes)
    }

    /// Adds a buffer.
    pub fn binding(mut self, index: u32, place: u32, written: bool) -> Self {
        self.bindings.push(Binding {
            index,
            place,
            written,
        });
        self
    }

    /// The function's name, stored as a string of the root table.
    pub fn name(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    /// The FlatBuffer's bytes.
    pub fn build(&self) -> Vec<u8> {
        let mut out = vec![0; 4];
        let mut root = vec![(0, Value::Offset(0))];
        if self.name.is_some() {
            root.push((1, Value::Offset(0)));
        }
        let root_fields = table(&mut out, &root);
        patch(&mut out, 0, root_fields.start);
        let mut kernel: Vec<(u16, Value)> = self
            .fields
            .iter()
            .map(|&(number, value)| (number, Value::Number(value)))
            .collect();
        if !self.bindings.is_empty() {
            kernel.push((4, Value::Offset(0)));
        }
        kernel.sort_by_key(|(number, _)| *number);
        let kernel_fields = table(&mut out, &kernel);
        patch(&mut out, root_fields.at(0), kernel_fields.start);
        if !self.bindings.is_empty() {
            let vector = self.bindings(&mut out);
            patch(&mut out, kernel_fields.at(4), vector);
        }
        if let Some(name) = &self.name {
            let string = out.len();
            out.extend(small(name.len()).to_le_bytes());
            out.extend(name.as_bytes());
            out.push(0);
            align(&mut out, 4);
            patch(&mut out, root_fields.at(1), string);
        }
        out
    }

    fn bindings(&self, out: &mut Vec<u8>) -> usize {
        let vector = out.len();
        out.extend(small(self.bindings.len()).to_le_bytes());
        out.resize(out.len() + 4 * self.bindings.len(), 0);
        for (number, binding) in self.bindings.iter().enumerate() {
            let fields = [
                (1, Value::Number(binding.index)),
                (2, Value::Number(binding.place)),
                (3, Value::Number(binding.written.into())),
            ];
            let table = table(out, &fields);
            patch(out, vector + 4 + 4 * number, table.start);
        }
        vector
    }
}

/// Where a table and its fields were written.
struct Written {
    start: usize,
    fields: Vec<(u16, usize)>,
}

impl Written {
    fn at(&self, number: u16) -> usize {
        let found = self.fields.iter().find(|(field, _)| *field == number);
        found.map_or(self.start, |(_, at)| *at)
    }
}

/// Appends a vtable and its table; every field takes four bytes.
fn table(out: &mut Vec<u8>, fields: &[(u16, Value)]) -> Written {
    align(out, 4);
    let vtable = out.len();
    let slots = fields.iter().map(|(number, _)| number + 1).max();
    let mut places = vec![0_u16; usize::from(slots.unwrap_or(0))];
    for (position, (number, _)) in fields.iter().enumerate() {
        if let Some(place) = places.get_mut(usize::from(*number)) {
            *place = u16::try_from(4 + 4 * position).unwrap_or(0);
        }
    }
    let half = |value: usize| u16::try_from(value).unwrap_or(u16::MAX).to_le_bytes();
    out.extend(half(4 + 2 * places.len()));
    out.extend(half(4 + 4 * fields.len()));
    out.extend(places.iter().flat_map(|place| place.to_le_bytes()));
    align(out, 4);
    let start = out.len();
    out.extend(small(start - vtable).to_le_bytes());
    let mut written = Written {
        start,
        fields: Vec::new(),
    };
    for (number, value) in fields {
        written.fields.push((*number, out.len()));
        let word = match value {
            Value::Number(value) => *value,
            Value::Offset(offset) => small(*offset),
        };
        out.extend(word.to_le_bytes());
    }
    written
}

/// Makes the offset at `at` lead to `target`.
fn patch(out: &mut [u8], at: usize, target: usize) {
    let distance = small(target.saturating_sub(at)).to_le_bytes();
    if let Some(bytes) = out.get_mut(at..at + 4) {
        bytes.copy_from_slice(&distance);
    }
}
