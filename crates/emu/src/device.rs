//! Device memory: the buffers a kernel is given.
//!
//! Every buffer sits at its own distant address, so that an address names its buffer
//! and an index that runs past a buffer's end cannot land in the next one. Words are
//! atomics with relaxed ordering: plain moves on the host, yet threadgroups may run on
//! several threads without undefined behaviour, whatever the kernel does.

use assay_launch::fill::Fill;
use std::sync::OnceLock;
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
    /// The contents; empty when they are materialised on touch.
    words: Vec<AtomicU32>,
    bytes: u64,
    lazy: Option<Lazy>,
}

/// Words of a page that is materialised as a whole: 16 KiB.
const PAGE_WORDS: usize = 1 << 12;

/// The largest buffer that is materialised on touch, in bytes.
const MAX_LAZY_BYTES: u64 = 1 << 36;

/// Contents that are made page by page, when an access first reaches them.
#[derive(Debug)]
struct Lazy {
    fill: Fill,
    pages: Vec<OnceLock<Box<[AtomicU32]>>>,
}

impl Lazy {
    fn new(bytes: u64, fill: Fill) -> Lazy {
        let pages = bytes.div_ceil(4 * PAGE_WORDS as u64) as usize;
        let mut table = Vec::new();
        table.resize_with(pages, OnceLock::new);
        Lazy { fill, pages: table }
    }

    #[inline]
    fn word(&self, index: usize) -> Option<&AtomicU32> {
        let page = self.pages.get(index / PAGE_WORDS)?;
        let words = page.get_or_init(|| self.materialise(index / PAGE_WORDS));
        words.get(index % PAGE_WORDS)
    }

    fn materialise(&self, page: usize) -> Box<[AtomicU32]> {
        let first = (page * PAGE_WORDS) as u64;
        let words = self.fill.words(first, PAGE_WORDS);
        words.into_iter().map(AtomicU32::new).collect()
    }
}

/// A buffer that cannot be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoBuffer {
    /// There are too many.
    #[error(transparent)]
    TooMany(#[from] TooManyBuffers),
    /// It is too large.
    #[error("a buffer of {0} bytes is too large: at most 64 GiB are materialised on touch")]
    TooLarge(u64),
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
            lazy: None,
        });
        Ok(BufferId(self.buffers.len() as u32 - 1))
    }

    /// Adds a buffer of `bytes` bytes whose contents are made when they are first
    /// touched; what is never touched takes no memory.
    ///
    /// ```
    /// use assay_emu::{DeviceMemory, Fill};
    /// let mut memory = DeviceMemory::new();
    /// memory.add_on_touch(1 << 32, Fill::Float32 { seed: 7 })?;
    /// assert_eq!(memory.materialised_bytes(), 0);
    /// # Ok::<(), assay_emu::NoBuffer>(())
    /// ```
    pub fn add_on_touch(&mut self, bytes: u64, fill: Fill) -> Result<BufferId, NoBuffer> {
        if self.buffers.len() >= MAX_BUFFERS {
            return Err(TooManyBuffers.into());
        }
        if bytes > MAX_LAZY_BYTES {
            return Err(NoBuffer::TooLarge(bytes));
        }
        self.buffers.push(Buffer {
            words: Vec::new(),
            bytes,
            lazy: Some(Lazy::new(bytes, fill)),
        });
        Ok(BufferId(self.buffers.len() as u32 - 1))
    }

    /// Bytes that accesses have materialised so far, of buffers made on touch.
    pub fn materialised_bytes(&self) -> u64 {
        let pages = self
            .buffers
            .iter()
            .filter_map(|buffer| buffer.lazy.as_ref());
        let made = pages
            .flat_map(|lazy| &lazy.pages)
            .filter(|page| page.get().is_some());
        made.count() as u64 * 4 * PAGE_WORDS as u64
    }

    /// The buffer an address lies in, the `n`th that was added, and the offset there.
    pub fn buffer_at(&self, address: u64) -> Option<(u32, u64)> {
        let place = self.place(address)?;
        let offset = u64::try_from(place.offset).ok()?;
        (offset < place.bytes).then_some((place.buffer, offset))
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
        if let Some(lazy) = &buffer.lazy {
            for word in (0..buffer.bytes.div_ceil(4) as usize).filter_map(|n| lazy.word(n)) {
                bytes.extend(word.load(Relaxed).to_le_bytes());
            }
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
        let index = (offset >> 2) as usize;
        let word = match buffer.words.get(index) {
            Some(word) => word,
            None => on_touch(buffer, index)?,
        };
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

/// A word of a buffer that is materialised on touch. Not inlined: the dense case is the
/// interpreter's hot path.
#[inline(never)]
fn on_touch(buffer: &Buffer, index: usize) -> Option<&AtomicU32> {
    buffer.lazy.as_ref()?.word(index)
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
    fn contents_made_on_touch_do_not_depend_on_the_order_of_touching() {
        let buffer_of = |offsets: &[u64]| {
            let mut memory = DeviceMemory::new();
            let buffer = memory
                .add_on_touch(1 << 20, Fill::Float32 { seed: 3 })
                .unwrap();
            let base = memory.address(buffer);
            for offset in offsets {
                memory.load(base + offset, 4).unwrap();
            }
            (memory.load(base + 40_000, 4), memory.materialised_bytes())
        };
        let (first, pages) = buffer_of(&[]);
        assert_eq!(pages, 16 << 10);
        assert_eq!(buffer_of(&[900_000, 4, 39_996]).0, first);
        let value = f32::from_bits(first.unwrap());
        assert!(value > 0.0 && value <= 1.0, "{value}");
    }

    #[test]
    fn a_buffer_made_on_touch_keeps_what_is_stored_and_has_an_end() {
        let mut memory = DeviceMemory::new();
        let buffer = memory.add_on_touch(6, Fill::Zero).unwrap();
        let base = memory.address(buffer);
        memory.store(base + 4, 2, 0xabcd).unwrap();
        assert_eq!(memory.bytes(buffer), [0, 0, 0, 0, 0xcd, 0xab]);
        assert_eq!(memory.load(base + 4, 4), None);
        assert_eq!(memory.buffer_at(base + 5), Some((0, 5)));
        assert_eq!(memory.buffer_at(base + 6), None);
        assert!(memory.add_on_touch(1 << 40, Fill::Zero).is_err());
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
