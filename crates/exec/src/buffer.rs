//! Memory that kernels read and write.

/// Bytes with the alignment device memory has.
///
/// ```
/// let buffer = assay_exec::Buffer::from_slice(&[1.0f32, 2.0]);
/// assert_eq!(buffer.to_vec::<f32>(), [1.0, 2.0]);
/// ```
#[derive(Debug, Default)]
pub struct Buffer {
    /// The bytes, from the first one that begins a cache line.
    words: Vec<u128>,
    len: usize,
}

/// Bytes of a cache line. Rows of numbers mostly begin with one in a kernel; here too, a load of one takes half the time.
const LINE: usize = 64;

/// Words that may lie before the start of a line.
const BEFORE: usize = LINE / 16 - 1;

impl Clone for Buffer {
    fn clone(&self) -> Self {
        Self::from_bytes(self.bytes())
    }
}

/// Numbers a [`Buffer`] can be made of and read as.
pub trait Element: Copy + sealed::Sealed {
    /// Size in bytes.
    const SIZE: usize;
    /// Writes the little-endian bytes.
    fn put(self, bytes: &mut [u8]);
    /// Reads from little-endian bytes.
    fn take(bytes: &[u8]) -> Self;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! elements {
    ($($t:ty),*) => {$(
        impl sealed::Sealed for $t {}
        impl Element for $t {
            const SIZE: usize = size_of::<$t>();
            fn put(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_le_bytes());
            }
            fn take(bytes: &[u8]) -> Self {
                let mut raw = [0; size_of::<$t>()];
                raw.copy_from_slice(bytes);
                Self::from_le_bytes(raw)
            }
        }
    )*};
}
elements!(u8, i8, u16, i16, u32, i32, u64, i64, f32, f64);

impl Buffer {
    /// `len` zero bytes.
    pub fn zeroed(len: usize) -> Self {
        Self {
            words: vec![0; len.div_ceil(16) + BEFORE],
            len,
        }
    }

    /// These bytes.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let mut buffer = Self::zeroed(bytes.len());
        buffer.bytes_mut().copy_from_slice(bytes);
        buffer
    }

    /// These numbers, one after the other.
    pub fn from_slice<T: Element>(values: &[T]) -> Self {
        let mut buffer = Self::zeroed(values.len() * T::SIZE);
        for (bytes, value) in buffer.bytes_mut().chunks_exact_mut(T::SIZE).zip(values) {
            value.put(bytes);
        }
        buffer
    }

    /// The contents as numbers; a rest that is no whole number is left out.
    pub fn to_vec<T: Element>(&self) -> Vec<T> {
        self.bytes().chunks_exact(T::SIZE).map(T::take).collect()
    }

    /// Words before the first one that begins a line. The memory stays where it is, so this does not change.
    fn start(&self) -> usize {
        self.words.as_ptr().align_offset(LINE).min(BEFORE)
    }

    /// The contents.
    pub fn bytes(&self) -> &[u8] {
        let first = self.words.as_ptr().wrapping_add(self.start());
        // SAFETY: from there on `words` holds at least `len` initialised bytes, and bytes have no alignment.
        unsafe { std::slice::from_raw_parts(first.cast(), self.len) }
    }

    /// The contents, to be changed.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let first = self.as_mut_ptr();
        // SAFETY: as in `bytes`; the borrow is unique.
        unsafe { std::slice::from_raw_parts_mut(first, self.len) }
    }

    /// Number of bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn as_mut_ptr(&mut self) -> *mut u8 {
        let start = self.start();
        self.words.as_mut_ptr().wrapping_add(start).cast()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_holds_the_same_wherever_it_lies() {
        let numbers: Vec<u32> = (0..1000).collect();
        let mut copies = vec![Buffer::from_slice(&numbers)];
        for len in 0..40 {
            let mut last = copies.last().cloned().unwrap_or_default();
            assert_eq!(last.as_mut_ptr() as usize % LINE, 0);
            assert_eq!(last.to_vec::<u32>(), numbers);
            copies.extend([Buffer::zeroed(len), last]);
        }
        assert!(Buffer::default().clone().bytes().is_empty());
    }
}
