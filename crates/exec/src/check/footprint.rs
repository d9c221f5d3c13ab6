//! The bytes of buffers that a dispatch accessed: what decides if two dispatches need an order.

use crate::interpret::observer::AccessEvent;
use crate::lanes::lanes_of;
use crate::memory::{Action, OFFSET_BITS, THREAD, THREADGROUP};
use std::collections::HashMap;
use std::ops::Range;

/// Bytes of a page, as a power of two.
const PAGE: u32 = 12;
const WORDS: usize = (1 << PAGE) / 64;

/// A set of bytes by their addresses on this machine, kept as a bit per byte for the pages that are touched.
#[derive(Clone, Debug, Default)]
pub struct Bytes {
    pages: HashMap<u64, Box<[u64; WORDS]>>,
}

impl Bytes {
    /// Adds a range of addresses.
    pub fn insert(&mut self, range: Range<u64>) {
        let mut at = range.start;
        while at < range.end {
            let page = at >> PAGE;
            let end = range.end.min((page + 1) << PAGE);
            let bits = self
                .pages
                .entry(page)
                .or_insert_with(|| Box::new([0; WORDS]));
            fill(bits, offset(at), (end - at) as usize);
            at = end;
        }
    }

    /// Removes a range of addresses.
    pub fn remove(&mut self, range: Range<u64>) {
        self.pages.retain(|page, bits| {
            let (first, end) = (page << PAGE, (page + 1) << PAGE);
            let (start, stop) = (range.start.max(first), range.end.min(end));
            if start < stop {
                let mut gone = [0; WORDS];
                fill(&mut gone, offset(start), (stop - start) as usize);
                bits.iter_mut()
                    .zip(gone)
                    .for_each(|(word, gone)| *word &= !gone);
            }
            bits.iter().any(|&word| word != 0)
        });
    }

    /// Adds all bytes of another set.
    pub fn extend(&mut self, other: &Self) {
        for (page, bits) in &other.pages {
            let own = self
                .pages
                .entry(*page)
                .or_insert_with(|| Box::new([0; WORDS]));
            own.iter_mut()
                .zip(bits.iter())
                .for_each(|(own, word)| *own |= word);
        }
    }

    /// The lowest address that both sets have, and how many both have.
    pub fn common(&self, other: &Self) -> Option<(u64, u64)> {
        let (few, many) = if self.pages.len() <= other.pages.len() {
            (self, other)
        } else {
            (other, self)
        };
        let mut found: Option<(u64, u64)> = None;
        for (page, bits) in &few.pages {
            let Some(others) = many.pages.get(page) else {
                continue;
            };
            for (at, (a, b)) in bits.iter().zip(others.iter()).enumerate() {
                let both = a & b;
                if both != 0 {
                    let address =
                        (page << PAGE) + at as u64 * 64 + u64::from(both.trailing_zeros());
                    let (first, count) = found.unwrap_or((address, 0));
                    found = Some((first.min(address), count + u64::from(both.count_ones())));
                }
            }
        }
        found
    }

    /// Returns true if the set has no bytes.
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// Bytes of memory that the set takes.
    pub fn size(&self) -> usize {
        self.pages.len() * (WORDS * 8 + 32)
    }
}

fn offset(address: u64) -> usize {
    (address & ((1 << PAGE) - 1)) as usize
}

/// Sets bits of a page.
fn fill(bits: &mut [u64; WORDS], start: usize, count: usize) {
    let end = start + count;
    let mut at = start;
    while at < end {
        let stop = end.min((at / 64 + 1) * 64);
        let ones = if stop - at == 64 {
            !0
        } else {
            ((1 << (stop - at)) - 1) << (at % 64)
        };
        if let Some(word) = bits.get_mut(at / 64) {
            *word |= ones;
        }
        at = stop;
    }
}

/// The bytes of buffers that a dispatch read, wrote, and accessed atomically ([`Program::check_watching`](crate::Program::check_watching)). Constants of the
/// program, threadgroup and thread memory and textures are left out.
///
/// ```
/// use assay_exec::Footprint;
/// let (mut first, mut second) = (Footprint::default(), Footprint::default());
/// first.writes.insert(100..200);
/// second.reads.insert(0..104);
/// assert_eq!(first.conflict(&second), Some((100, 4, ["write", "read"])));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Footprint {
    /// Bytes that were read.
    pub reads: Bytes,
    /// Bytes that were written.
    pub writes: Bytes,
    /// Bytes that were accessed by atomic operations.
    pub atomics: Bytes,
}

impl Footprint {
    /// The lowest address that needs an order between the two, how many bytes do, and what each side does there. Reads need
    /// none, nor do two atomic operations.
    pub fn conflict(&self, other: &Self) -> Option<(u64, u64, [&'static str; 2])> {
        let (write, read, atomic) = (
            Action::Write.name(),
            Action::Read.name(),
            Action::Atomic.name(),
        );
        let pairs = [
            (&self.writes, &other.reads, [write, read]),
            (&self.writes, &other.writes, [write, write]),
            (&self.writes, &other.atomics, [write, atomic]),
            (&self.reads, &other.writes, [read, write]),
            (&self.reads, &other.atomics, [read, atomic]),
            (&self.atomics, &other.writes, [atomic, write]),
            (&self.atomics, &other.reads, [atomic, read]),
        ];
        pairs.into_iter().find_map(|(own, others, actions)| {
            let (address, count) = own.common(others)?;
            Some((address, count, actions))
        })
    }

    /// Returns true if nothing was accessed.
    pub fn is_empty(&self) -> bool {
        self.reads.is_empty() && self.writes.is_empty() && self.atomics.is_empty()
    }

    /// Forgets a range of addresses.
    pub fn forget(&mut self, range: Range<u64>) {
        for bytes in [&mut self.reads, &mut self.writes, &mut self.atomics] {
            bytes.remove(range.clone());
        }
    }

    /// Bytes of memory that the sets take.
    pub fn size(&self) -> usize {
        self.reads.size() + self.writes.size() + self.atomics.size()
    }

    /// Adds an access by some lanes of a simdgroup.
    pub(super) fn add(&mut self, event: &AccessEvent<'_>, mask: u32) {
        self.add_lanes(event, lanes_of(mask).map(|lane| event.address(lane)));
    }

    /// Adds an access of all lanes of all simdgroups that run.
    #[cold]
    pub(super) fn add_batch(&mut self, event: &AccessEvent<'_>) {
        let (Some(affine), Some(running)) = (&event.affine, event.batch.all_running()) else {
            return self.add(event, event.mask);
        };
        let first = event.batch.first_simdgroup;
        for simdgroup in running {
            self.add_lanes(
                event,
                (0..32).map(|lane| affine.address(simdgroup - first, lane)),
            );
        }
    }

    /// Adds what lanes access at their addresses: one range for lanes side by side.
    fn add_lanes(&mut self, event: &AccessEvent<'_>, addresses: impl Iterator<Item = u64>) {
        let effect = event.effect();
        let size = u64::from(match effect {
            Action::Read => event.observed_bytes(),
            _ => event.size,
        });
        let bytes = match effect {
            Action::Read => &mut self.reads,
            Action::Write => &mut self.writes,
            Action::Atomic => &mut self.atomics,
        };
        let mut range = 0..0;
        for address in addresses {
            if matches!(address >> OFFSET_BITS, THREAD | THREADGROUP) {
                continue;
            }
            if range.end == address && range.start < range.end {
                range.end += size;
                continue;
            }
            bytes.insert_of(event, range);
            range = address..address.wrapping_add(size);
        }
        bytes.insert_of(event, range);
    }
}

impl Bytes {
    /// Adds a range of the program's addresses, if it is of a buffer.
    fn insert_of(&mut self, event: &AccessEvent<'_>, range: Range<u64>) {
        let place = event.context.memory.in_buffer(range.start);
        if let (Some(start), false) = (place, range.is_empty()) {
            self.insert(start..start.saturating_add(range.end - range.start));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::Program;

    #[test]
    fn a_set_knows_what_it_was_given_across_pages() {
        let mut bytes = Bytes::default();
        bytes.insert(4090..4100);
        let mut other = Bytes::default();
        other.insert(0..4091);
        other.insert(4099..9000);
        assert_eq!(bytes.common(&other), Some((4090, 2)));
        bytes.remove(4090..4091);
        assert_eq!(bytes.common(&other), Some((4099, 1)));
        bytes.remove(0..10_000);
        assert!(bytes.is_empty());
    }

    #[test]
    fn reads_and_atomics_need_no_order_among_themselves() {
        let (mut a, mut b) = (Footprint::default(), Footprint::default());
        a.reads.insert(0..8);
        b.reads.insert(0..8);
        a.atomics.insert(8..16);
        b.atomics.insert(8..16);
        assert_eq!(a.conflict(&b), None);
        b.reads.insert(12..13);
        assert_eq!(a.conflict(&b), Some((12, 1, ["atomic access", "read"])));
    }

    #[test]
    fn a_dispatch_leaves_the_bytes_that_it_stored() {
        let text = "module \"m\"\nkernel \"k\" f0 {\n\
             \"out\" buffer 0 param 0 space device read_write type \"int\" size 4 align 4\n}\n\
             function f0 \"k\" -> void {\nb0(v0: ptr.device):\n\
             v1: v3i32 = call thread_position_in_grid()\nv2: i32 = extract v1, i32 0\n\
             v3: ptr.device = ptr_add v0 + v2 * 4\nstore v3, i32 7 align 4\nreturn\n}\n";
        let mut module = assay_ssa::parse(text).expect("a module");
        assay_opt::pipeline::optimize(&mut module).expect("optimised");
        let program =
            Program::compile(&module, "k", &crate::Options::default()).expect("a program");
        // One number short: the last store does not happen, which the full check finds.
        for (threads, bytes) in [(63, 252), (64, 252)] {
            let mut bindings = crate::Bindings::new();
            let mut buffer = crate::Buffer::zeroed(252);
            let start = buffer.as_mut_ptr() as u64;
            bindings.set(0, buffer);
            let mut found = Footprint::default();
            let (grid, limits) = (crate::Grid::line(threads, 32), crate::Limits::default());
            program
                .check_watching(&grid, &mut bindings, &limits, &mut found)
                .expect("reports");
            let mut whole = Bytes::default();
            whole.insert(start..start + 4096);
            assert_eq!(found.writes.common(&whole), Some((start, bytes)));
            assert!(found.reads.is_empty());
        }
    }
}
