//! Memory that kernels read and write: their own, or lent by whoever runs them.

/// Bytes with the alignment device memory has.
///
/// ```
/// let buffer = assay_exec::Buffer::from_slice(&[1.0f32, 2.0]);
/// assert_eq!(buffer.to_vec::<f32>(), [1.0, 2.0]);
/// ```
#[derive(Debug, Default)]
pub struct Buffer {
    memory: Memory,
    len: usize,
}

/// Where the bytes of a buffer are.
#[derive(Debug)]
enum Memory {
    /// From the first one on that begins a cache line. They stay where they are, so that is always the same one.
    Words(Vec<u128>),
    #[cfg(all(target_os = "linux", not(miri)))]
    HugePages(crate::huge_pages::HugePages),
    /// Memory of someone else's.
    Lent { base: *mut u8, writable: bool },
}

// SAFETY: who lends memory promises that it may be accessed from any thread ([`Buffer::lent`]).
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

/// Bytes of a cache line. Rows of numbers mostly begin with one in a kernel; here too, a load of one takes half the time.
const LINE: usize = 64;

/// Words that may lie before the start of a line.
const BEFORE: usize = LINE / 16 - 1;

impl Default for Memory {
    fn default() -> Self {
        Self::Words(Vec::new())
    }
}

impl Memory {
    fn zeroed(len: usize) -> Self {
        #[cfg(all(target_os = "linux", not(miri)))]
        if let Some(pages) = crate::huge_pages::HugePages::zeroed(len) {
            return Self::HugePages(pages);
        }
        Self::Words(vec![0; len.div_ceil(16) + BEFORE])
    }

    fn first(&self) -> *const u8 {
        match self {
            Self::Words(words) => line_start(words.as_ptr()).cast(),
            #[cfg(all(target_os = "linux", not(miri)))]
            Self::HugePages(pages) => pages.as_ptr(),
            Self::Lent { base, .. } => *base,
        }
    }

    fn first_mut(&mut self) -> *mut u8 {
        match self {
            Self::Words(words) => line_start(words.as_mut_ptr()).cast_mut().cast(),
            #[cfg(all(target_os = "linux", not(miri)))]
            Self::HugePages(pages) => pages.as_ptr(),
            Self::Lent { base, .. } => *base,
        }
    }
}

/// The first word that begins a line.
fn line_start(words: *const u128) -> *const u128 {
    words.wrapping_add(words.align_offset(LINE).min(BEFORE))
}

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
        let memory = Memory::zeroed(len);
        Self { memory, len }
    }

    /// Memory of someone else's, not copied: a kernel reads it and, if it is `writable`, writes it where it lies. A write to
    /// memory that is not is a [fault](crate::FaultKind::ReadOnly).
    ///
    /// # Safety
    /// As long as the buffer exists there must be `len` bytes from `base` on, which may be accessed from any thread and,
    /// if `writable`, written. While a kernel runs on the buffer nothing else may write them, and while [`Buffer::bytes_mut`]
    /// is borrowed nothing else may access them. Buffers that overlap are fine as long as only kernels access them.
    ///
    /// ```
    /// let mut array = [1u32, 2, 3];
    /// let bytes = size_of_val(&array);
    /// // SAFETY: the array outlives the buffer, and nothing else accesses it meanwhile.
    /// let buffer = unsafe { assay_exec::Buffer::lent(array.as_mut_ptr().cast(), bytes, true) };
    /// assert_eq!(buffer.to_vec::<u32>(), [1, 2, 3]);
    /// ```
    pub unsafe fn lent(base: *mut u8, len: usize, writable: bool) -> Self {
        let base = match len {
            0 => std::ptr::NonNull::dangling().as_ptr(),
            _ => base,
        };
        let memory = Memory::Lent { base, writable };
        Self { memory, len }
    }

    /// Returns true if a kernel may write it: only lent memory may be read-only.
    pub fn is_writable(&self) -> bool {
        !matches!(
            self.memory,
            Memory::Lent {
                writable: false,
                ..
            }
        )
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

    /// The contents.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: from there on there are `len` initialised bytes, and bytes have no alignment.
        unsafe { std::slice::from_raw_parts(self.memory.first(), self.len) }
    }

    /// The contents, to be changed; nothing of memory that was lent read-only.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        if !self.is_writable() {
            return &mut [];
        }
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
        self.memory.first_mut()
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

    #[test]
    fn large_buffers_are_zero_and_hold_what_is_written() {
        let len = (9 << 20) + 5;
        for _ in 0..3 {
            let mut buffer = Buffer::zeroed(len);
            assert!(buffer.bytes().iter().all(|&byte| byte == 0));
            assert_eq!(buffer.as_mut_ptr() as usize % LINE, 0);
            buffer.bytes_mut().fill(7);
            let copy = buffer.clone();
            drop(buffer);
            assert!(copy.len() == len && copy.bytes().iter().all(|&byte| byte == 7));
        }
    }

    #[test]
    fn lent_memory_is_accessed_where_it_lies() {
        let mut array = [1u16, 2, 3];
        let base: *mut u8 = array.as_mut_ptr().cast();
        // SAFETY: the array outlives the buffers, and only one is used at a time.
        let (mut whole, mut part) =
            unsafe { (Buffer::lent(base, 6, true), Buffer::lent(base, 4, false)) };
        assert_eq!(whole.as_mut_ptr(), base);
        whole.bytes_mut()[2..4].copy_from_slice(&7u16.to_le_bytes());
        assert_eq!(part.to_vec::<u16>(), [1, 7]);
        assert!(part.bytes_mut().is_empty() && !part.is_writable());
        // A copy is memory of its own.
        let mut copy = part.clone();
        copy.bytes_mut().fill(0);
        assert!(copy.is_writable());
        drop((whole, part));
        assert_eq!(array, [1, 7, 3]);
    }
}
