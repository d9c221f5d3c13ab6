//! Device memory: the buffers a kernel is given.
//!
//! Every buffer sits at its own distant address, so that an address names its buffer
//! and an index that runs past a buffer's end cannot land in the next one. Words are
//! atomics with relaxed ordering: plain moves on the host, yet threadgroups may run on
//! several threads without undefined behaviour, whatever the kernel does.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Distance between the addresses of two buffers, as a power of two. The farthest an
/// index can reach (2^32 elements of 4 bytes, shifted by 2) is less.
const SPACING: u32 = 40;

/// How many buffers a launch may have.
const MAX_BUFFERS: usize = 1 << 16;

/// A buffer of a [`DeviceMemory`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BufferId(u32);

/// The buffers of a launch.
///
/// ```
/// use assay_emu::DeviceMemory;
/// let mut memory = DeviceMemory::new();
/// let buffer = memory.add(&[1, 2, 3, 4, 5])?;
/// assert_eq!(memory.bytes(buffer), [1, 2, 3, 4, 5]);
/// assert_ne!(memory.address(buffer), 0);
/// # Ok::<(), assay_emu::TooManyBuffers>(())
/// ```
#[derive(Debug, Default)]
pub struct DeviceMemory {
    buffers: Vec<Buffer>,
}

#[derive(Debug)]
struct Buffer {
    words: Vec<AtomicU32>,
    bytes: u64,
}

/// There are more buffers than a launch may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a launch has at most 65536 buffers")]
pub struct TooManyBuffers;

/// Where an address points, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Which buffer the address belongs to: the `n`th that was added.
    pub buffer: u32,
    /// Byte offset from its start; negative when the address is before it.
    pub offset: i64,
    /// How long that buffer is.
    pub bytes: u64,
}

impl DeviceMemory {
    /// No buffers.
    pub fn new() -> DeviceMemory {
        DeviceMemory::default()
    }

    /// Adds a buffer with these contents.
    pub fn add(&mut self, contents: &[u8]) -> Result<BufferId, TooManyBuffers> {
        if self.buffers.len() >= MAX_BUFFERS {
            return Err(TooManyBuffers);
        }
        let mut chunks = contents.chunks_exact(4);
        let mut words: Vec<AtomicU32> = chunks
            .by_ref()
            .map(|chunk| AtomicU32::new(little_endian(chunk)))
            .collect();
        if !chunks.remainder().is_empty() {
            words.push(AtomicU32::new(little_endian(chunks.remainder())));
        }
        self.buffers.push(Buffer {
            words,
            bytes: contents.len() as u64,
        });
        Ok(BufferId(self.buffers.len() as u32 - 1))
    }

    /// The address a kernel sees.
    pub fn address(&self, buffer: BufferId) -> u64 {
        (u64::from(buffer.0) + 1) << SPACING
    }

    /// The contents of a buffer; empty for one of another memory.
    pub fn bytes(&self, buffer: BufferId) -> Vec<u8> {
        let Some(buffer) = self.buffers.get(buffer.0 as usize) else {
            return Vec::new();
        };
        let mut bytes: Vec<u8> = Vec::with_capacity(buffer.words.len() * 4);
        for word in &buffer.words {
            bytes.extend(word.load(Relaxed).to_le_bytes());
        }
        bytes.truncate(buffer.bytes as usize);
        bytes
    }

    /// How many buffers there are.
    pub fn len(&self) -> usize {
        self.buffers.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.buffers.is_empty()
    }

    /// The buffer nearest to `address`, if there is any reason to name one: the one
    /// whose neighbourhood the address is in.
    pub(crate) fn place(&self, address: u64) -> Option<Place> {
        // Half a spacing belongs to the buffer before, half to the one after.
        let nearest = (address.wrapping_add(1 << (SPACING - 1))) >> SPACING;
        let index = u32::try_from(nearest.checked_sub(1)?).ok()?;
        let buffer = self.buffers.get(index as usize)?;
        Some(Place {
            buffer: index,
            offset: address.wrapping_sub(nearest << SPACING) as i64,
            bytes: buffer.bytes,
        })
    }

    /// The word index and shift of an aligned access of `size` bytes.
    #[inline(always)]
    fn locate(&self, address: u64, size: u64) -> Option<(&AtomicU32, u32)> {
        let buffer = self
            .buffers
            .get(((address >> SPACING) as usize).wrapping_sub(1))?;
        let offset = address & ((1 << SPACING) - 1);
        if offset + size > buffer.bytes {
            return None;
        }
        let word = buffer.words.get((offset >> 2) as usize)?;
        Some((word, (offset as u32 & 3) * 8))
    }

    /// Reads an aligned element of 1, 2 or 4 bytes, zero-extended.
    #[inline(always)]
    pub(crate) fn load(&self, address: u64, size: u64) -> Option<u32> {
        let (word, shift) = self.locate(address, size)?;
        Some(word.load(Relaxed) >> shift & element_mask(size))
    }

    /// Writes an aligned element of 1, 2 or 4 bytes.
    #[inline(always)]
    pub(crate) fn store(&self, address: u64, size: u64, value: u32) -> Option<()> {
        let (word, shift) = self.locate(address, size)?;
        if size == 4 {
            word.store(value, Relaxed);
        } else {
            let mask = element_mask(size) << shift;
            let update = |old| Some(old & !mask | value << shift & mask);
            // The closure never declines, so the update cannot fail.
            let _ = word.fetch_update(Relaxed, Relaxed, update);
        }
        Some(())
    }

    /// Replaces an aligned word by a function of it; gives the old value.
    #[inline]
    pub(crate) fn update(&self, address: u64, new: impl Fn(u32) -> u32) -> Option<u32> {
        let (word, _) = self.locate(address & !3, 4)?;
        let updated = word.fetch_update(Relaxed, Relaxed, |old| Some(new(old)));
        Some(updated.unwrap_or_default())
    }
}

#[inline(always)]
fn element_mask(size: u64) -> u32 {
    match size {
        1 => 0xff,
        2 => 0xffff,
        _ => u32::MAX,
    }
}

fn little_endian(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .rev()
        .fold(0, |word, byte| word << 8 | u32::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_of_every_size_are_read_and_written_inside_their_word() {
        let mut memory = DeviceMemory::new();
        let buffer = memory.add(&[0x11, 0x22, 0x33, 0x44, 0x55, 0x66]).unwrap();
        let base = memory.address(buffer);
        assert_eq!(memory.load(base + 1, 1), Some(0x22));
        assert_eq!(memory.load(base + 4, 2), Some(0x6655));
        assert_eq!(memory.load(base + 4, 4), None);
        memory.store(base + 2, 2, 0xabcd).unwrap();
        memory.store(base + 5, 1, 0x1ff).unwrap();
        assert_eq!(memory.bytes(buffer), [0x11, 0x22, 0xcd, 0xab, 0x55, 0xff]);
    }

    #[test]
    fn an_address_outside_names_the_buffer_it_missed() {
        let mut memory = DeviceMemory::new();
        memory.add(&[0; 8]).unwrap();
        let second = memory.add(&[0; 16]).unwrap();
        let base = memory.address(second);
        assert_eq!(memory.load(base - 4, 4), None);
        assert_eq!(
            memory.place(base - 4),
            Some(Place {
                buffer: 1,
                offset: -4,
                bytes: 16
            })
        );
        assert_eq!(memory.place(base + 99).unwrap().offset, 99);
        assert_eq!(memory.place(0), None);
    }
}
