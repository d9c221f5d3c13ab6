//! Bytes of which each is known or not: what a value or a variable holds while constructors run.

use assay_ssa::{Aggregates, Scalar, Type, TypeKind};

/// Bytes as they lie in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Image {
    bytes: Vec<u8>,
    known: Vec<bool>,
}

impl Image {
    pub(super) fn zero(len: usize) -> Self {
        Image::of(vec![0; len])
    }

    pub(super) fn of(bytes: Vec<u8>) -> Self {
        let known = vec![true; bytes.len()];
        Image { bytes, known }
    }

    pub(super) fn unknown(len: usize) -> Self {
        Image {
            bytes: vec![0; len],
            known: vec![false; len],
        }
    }

    pub(super) fn number(bits: u64, width: usize) -> Self {
        let mut image = Image::zero(width);
        image.write(0, width, bits);
        image
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The bytes, if all are known.
    pub(super) fn bytes(&self) -> Option<&[u8]> {
        let known = self.known.iter().all(|&known| known);
        known.then_some(&self.bytes[..])
    }

    /// A number of up to eight bytes; nothing if one of them is not known or not there.
    pub(super) fn read(&self, at: usize, width: usize) -> Option<u64> {
        let end = at.checked_add(width)?;
        let known = self.known.get(at..end)?.iter().all(|&known| known);
        let mut word = [0; 8];
        word.get_mut(..width)?
            .copy_from_slice(self.bytes.get(at..end)?);
        known.then_some(u64::from_le_bytes(word))
    }

    /// Writes a number. What lies outside is not written.
    pub(super) fn write(&mut self, at: usize, width: usize, bits: u64) {
        let places = self.bytes.iter_mut().zip(&mut self.known).skip(at);
        for ((byte, known), new) in places.take(width).zip(bits.to_le_bytes()) {
            (*byte, *known) = (new, true);
        }
    }

    /// Makes some bytes unknown.
    pub(super) fn forget(&mut self, at: usize, width: usize) {
        for known in self.known.iter_mut().skip(at).take(width) {
            *known = false;
        }
    }

    /// A copy of a part.
    pub(super) fn part(&self, at: usize, len: usize) -> Option<Image> {
        let end = at.checked_add(len)?;
        Some(Image {
            bytes: self.bytes.get(at..end)?.to_vec(),
            known: self.known.get(at..end)?.to_vec(),
        })
    }

    /// Puts a part in its place; nothing if it does not lie inside.
    pub(super) fn put(&mut self, at: usize, part: &Image) -> Option<()> {
        let end = at.checked_add(part.len())?;
        self.bytes.get_mut(at..end)?.copy_from_slice(&part.bytes);
        self.known.get_mut(at..end)?.copy_from_slice(&part.known);
        Some(())
    }
}

/// Bytes a value of a type takes while constructors run: truth values take one each, also in vectors. Nothing for
/// matrices, which no constant holds.
pub(super) fn size(types: &Aggregates, ty: Type) -> Option<usize> {
    match ty.kind() {
        TypeKind::Vector(Scalar::I1, lanes) => Some(usize::from(lanes)),
        TypeKind::Matrix(_) => None,
        _ => usize::try_from(types.store_size(ty)).ok(),
    }
}

/// The type and number of a value's elements; a pointer is a 64-bit number.
pub(super) fn lanes(ty: Type) -> Option<(Scalar, usize)> {
    match ty.kind() {
        TypeKind::Scalar(scalar) => Some((scalar, 1)),
        TypeKind::Vector(scalar, lanes) => Some((scalar, usize::from(lanes))),
        TypeKind::Pointer(_) => Some((Scalar::I64, 1)),
        _ => None,
    }
}
