//! Small models of what memory does with the addresses of a simdgroup.

use crate::lanes::{Wide, lanes_of};

/// Bytes of a cache line.
pub(super) const LINE: u64 = 128;
/// Bytes of a sector.
pub(super) const SECTOR: u64 = 32;

/// Sets and ways of the first-level cache: 8 KB in lines of 128 bytes. *Chosen*: four ways, least recently used goes.
const SETS: usize = 16;
const WAYS: usize = 4;

/// The first-level cache.
#[derive(Clone, Debug)]
pub(super) struct Cache {
    /// Line numbers plus one, most recent first.
    sets: [[u64; WAYS]; SETS],
}

impl Cache {
    pub(super) fn new() -> Self {
        Self {
            sets: [[0; WAYS]; SETS],
        }
    }

    /// Loads a line. Returns true if it was there (a hit).
    #[inline(always)]
    pub(super) fn load(&mut self, line: u64) -> bool {
        let set = &mut self.sets[line as usize % SETS];
        let tag = line + 1;
        let found = set.iter().position(|&known| known == tag);
        put_first(set, found, tag);
        found.is_some()
    }
}

/// Makes a line the most recent; it was in that place or nowhere.
#[inline(always)]
fn put_first(set: &mut [u64; WAYS], found: Option<usize>, tag: u64) {
    let [a, b, c, d] = *set;
    *set = match found {
        Some(0) => [tag, b, c, d],
        Some(1) => [tag, a, c, d],
        Some(2) => [tag, a, b, d],
        _ => [tag, a, b, c],
    };
}

/// What is known of a load by what its simdgroup loaded since it last waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Hit,
    Miss,
    /// That depends on what ran before.
    Later,
}

/// The lines a simdgroup loaded since it last waited. The model has simdgroups run one after the other, so no
/// other simdgroup's come between: once it has loaded as many lines of a set as there are ways, the set holds nothing else. Only its
/// first loads of a set depend on what others left in the cache, and are kept until that is known.
#[derive(Clone, Debug)]
pub(super) struct Recent {
    /// Line numbers plus one, most recent first.
    sets: [[u64; WAYS]; SETS],
    /// The first lines of each set, in the order loaded.
    first: [[u64; WAYS]; SETS],
    len: [u8; SETS],
    /// The sets that have any.
    used: u32,
}

impl Recent {
    pub(super) fn new() -> Self {
        Self {
            sets: [[0; WAYS]; SETS],
            first: [[0; WAYS]; SETS],
            len: [0; SETS],
            used: 0,
        }
    }

    /// Loads a line.
    #[inline(always)]
    pub(super) fn load(&mut self, line: u64) -> Outcome {
        let index = line as usize % SETS;
        let (set, len) = (&mut self.sets[index], self.len[index] as usize & 7);
        let tag = line + 1;
        if set[0] == tag {
            return Outcome::Hit;
        }
        let found = set.iter().position(|&known| known == tag);
        put_first(set, found, tag);
        if found.is_some() {
            return Outcome::Hit;
        }
        match self.first[index].get_mut(len) {
            None => Outcome::Miss,
            Some(slot) => {
                *slot = tag;
                self.len[index] += 1;
                self.used |= 1 << index;
                Outcome::Later
            }
        }
    }

    /// Loads into a cache what this one has loaded, now that it is this one's turn; the hits and misses of the loads
    /// that were left for later. Forgets them.
    pub(super) fn settle(&mut self, cache: &mut Cache) -> (u64, u64) {
        let (mut hits, mut misses) = (0, 0);
        for index in lanes_of(std::mem::take(&mut self.used)) {
            let count = usize::from(std::mem::take(&mut self.len[index])).min(WAYS);
            for tag in &self.first[index][..count] {
                let hit = cache.load(tag - 1);
                hits += u64::from(hit);
                misses += u64::from(!hit);
            }
            // The same lines, in the order they were loaded last, or others that came after.
            cache.sets[index][..count].copy_from_slice(&self.sets[index][..count]);
            self.sets[index] = [0; WAYS];
        }
        (hits, misses)
    }
}

/// Distinct blocks of memory, in the order first touched.
#[derive(Debug)]
pub(super) struct Blocks {
    numbers: [u64; 64],
    len: usize,
}

impl Blocks {
    /// The blocks of `block` bytes that active lanes touch with `size` (at most 16) bytes each.
    #[inline(always)]
    pub(super) fn of(addresses: &Wide, mask: u32, size: u64, block: u64) -> Self {
        let mut blocks = Self {
            numbers: [0; 64],
            len: 0,
        };
        if mask == !0 && goes_up(addresses, block) {
            let (first, last) = (
                addresses[0] / block,
                addresses[31].saturating_add(size - 1) / block,
            );
            for number in first..=last {
                if let Some(slot) = blocks.numbers.get_mut(blocks.len) {
                    *slot = number;
                    blocks.len += 1;
                }
            }
            return blocks;
        }
        let mut highest = None;
        for lane in lanes_of(mask) {
            let address = addresses[lane];
            let (first, last) = (address / block, address.saturating_add(size - 1) / block);
            for number in [first, last] {
                // Mostly addresses go up; then comparing with the highest is enough.
                let new = match highest {
                    Some(known) if number == known => false,
                    Some(known) if number < known => !blocks.as_slice().contains(&number),
                    _ => true,
                };
                if new && let Some(slot) = blocks.numbers.get_mut(blocks.len) {
                    *slot = number;
                    blocks.len += 1;
                    highest = highest.max(Some(number));
                }
            }
        }
        blocks
    }

    /// The blocks between the lowest and the highest byte of some runs.
    #[inline(always)]
    pub(super) fn of_runs(runs: &[(u64, u64)], block: u64) -> Self {
        let mut blocks = Self {
            numbers: [0; 64],
            len: 0,
        };
        for &(first, last) in runs {
            for number in first / block..=last / block {
                if !blocks.as_slice().contains(&number)
                    && let Some(slot) = blocks.numbers.get_mut(blocks.len)
                {
                    *slot = number;
                    blocks.len += 1;
                }
            }
        }
        blocks
    }

    #[inline(always)]
    pub(super) fn as_slice(&self) -> &[u64] {
        &self.numbers[..self.len]
    }
}

/// Returns true if each address is as high as the one before or at most so much higher: then all blocks between are touched.
#[inline(always)]
fn goes_up(addresses: &Wide, at_most: u64) -> bool {
    let mut fits = true;
    for lane in 0..31 {
        fits &= addresses[lane + 1].wrapping_sub(addresses[lane]) <= at_most;
    }
    fits
}

/// Banks of threadgroup memory. *Chosen*: 32 of four bytes.
const BANKS: usize = 32;

/// How often threadgroup memory must be accessed for the active lanes to get a word each: the most distinct words in one bank.
#[inline(always)]
pub(super) fn bank_passes(addresses: &Wide, mask: u32, extra: u64) -> u32 {
    let mut words = [0; 32];
    let mut counts = [0u8; BANKS];
    let mut last = [u64::MAX; BANKS];
    let (mut passes, mut len) = (0, 0);
    for lane in lanes_of(mask) {
        let word = addresses[lane].wrapping_add(extra) / 4;
        let bank = word as usize % BANKS;
        if last[bank] == word {
            continue;
        }
        if counts[bank] > 0 && words[..len].contains(&word) {
            continue;
        }
        last[bank] = word;
        words[len] = word;
        len += 1;
        counts[bank] += 1;
        passes = passes.max(u32::from(counts[bank]));
    }
    passes
}

/// The same if each half of the lanes has one word or goes from word to word: rows of a threadgroup sixteen wide. The addresses
/// are those the halves start with, multiples of a word.
#[inline(always)]
pub(super) fn passes_of_halves(starts: [u64; 2], step: u64) -> u32 {
    let apart = starts[0].abs_diff(starts[1]) / 4;
    let width = step * 4;
    // Words up to half the banks away share no word and no bank; others do if they come round to the same banks.
    let round = apart % BANKS as u64;
    let clash = if step == 0 {
        apart != 0 && round == 0
    } else {
        apart > width && round != width
    };
    1 + u32::from(clash)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes(f: impl Fn(u64) -> u64) -> Wide {
        std::array::from_fn(|lane| f(lane as u64))
    }

    #[test]
    fn lines_and_sectors_of_well_known_patterns() {
        let count =
            |addresses: &Wide, size, block| Blocks::of(addresses, !0, size, block).as_slice().len();
        let row = lanes(|l| 1024 + l * 4);
        assert_eq!((count(&row, 4, LINE), count(&row, 4, SECTOR)), (1, 4));
        let shifted = lanes(|l| 1028 + l * 4);
        assert_eq!(
            (count(&shifted, 4, LINE), count(&shifted, 4, SECTOR)),
            (2, 5)
        );
        let column = lanes(|l| l * 4096);
        assert_eq!(
            (count(&column, 4, LINE), count(&column, 4, SECTOR)),
            (32, 32)
        );
        let same = lanes(|_| 64);
        assert_eq!((count(&same, 4, LINE), count(&same, 4, SECTOR)), (1, 1));
        let vectors = lanes(|l| l * 16);
        assert_eq!(
            (count(&vectors, 16, LINE), count(&vectors, 16, SECTOR)),
            (4, 16)
        );
        let down = lanes(|l| 4096 - l * 4);
        assert_eq!(count(&down, 4, LINE), 2);
        assert_eq!(Blocks::of(&row, 0xff, 4, SECTOR).as_slice().len(), 1);
    }

    #[test]
    fn banks_of_well_known_patterns() {
        assert_eq!(bank_passes(&lanes(|l| l * 4), !0, 0), 1);
        assert_eq!(bank_passes(&lanes(|_| 12), !0, 0), 1);
        assert_eq!(bank_passes(&lanes(|l| l * 8), !0, 0), 2);
        assert_eq!(bank_passes(&lanes(|l| l * 128), !0, 0), 32);
        assert_eq!(bank_passes(&lanes(|l| l * 132), !0, 0), 1, "padded by one");
        assert_eq!(bank_passes(&lanes(|l| l * 128), 0b1011, 0), 3);
        assert_eq!(
            bank_passes(&lanes(|l| l % 2 * 128), !0, 0),
            2,
            "two words, over and over"
        );
    }

    #[test]
    fn halves_count_like_any_other_lanes() {
        for step in [0, 4] {
            for apart in (0..400).step_by(4) {
                let halves = lanes(|l| 4096 + l / 16 * apart + l % 16 * step);
                let mut mixed = halves;
                mixed.swap(1, 14);
                mixed.swap(2, 30);
                let words = |lanes: &Wide| {
                    let mut banks = vec![std::collections::BTreeSet::new(); BANKS];
                    for address in lanes {
                        banks[(address / 4) as usize % BANKS].insert(address / 4);
                    }
                    banks.iter().map(|bank| bank.len() as u32).max()
                };
                assert_eq!(
                    Some(passes_of_halves([4096, 4096 + apart], step)),
                    words(&halves),
                    "{step} {apart}"
                );
                assert_eq!(
                    Some(bank_passes(&halves, !0, 0)),
                    words(&halves),
                    "{step} {apart}"
                );
                assert_eq!(
                    Some(bank_passes(&mixed, !0, 0)),
                    words(&mixed),
                    "{step} {apart}"
                );
            }
        }
    }

    #[test]
    fn simdgroups_in_step_hit_what_they_would_one_after_the_other() {
        let mut random = 1u64;
        let mut next = |below: u64| {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1);
            (random >> 33) % below
        };
        let (mut in_turn, mut settled) = (Cache::new(), Cache::new());
        let mut recent = vec![Recent::new(); 5];
        for round in 0..200 {
            let (range, loads) = (1 + next(150), next(60));
            let lines: Vec<Vec<u64>> = (0..loads)
                .map(|_| (0..5).map(|_| next(range)).collect())
                .collect();
            let mut expected = 0;
            for simdgroup in 0..5 {
                let of = lines.iter().map(|lines| lines[simdgroup]);
                expected += of.filter(|&line| in_turn.load(line)).count() as u64;
            }
            let (mut hits, mut misses) = (0, 0);
            for lines in &lines {
                for (recent, &line) in recent.iter_mut().zip(lines) {
                    match recent.load(line) {
                        Outcome::Hit => hits += 1,
                        Outcome::Miss => misses += 1,
                        Outcome::Later => {}
                    }
                }
            }
            for recent in &mut recent {
                let (more_hits, more_misses) = recent.settle(&mut settled);
                hits += more_hits;
                misses += more_misses;
            }
            assert_eq!((hits, hits + misses), (expected, loads * 5), "{round}");
            assert_eq!(settled.sets, in_turn.sets, "{round}");
        }
    }

    #[test]
    fn the_cache_forgets_what_was_used_longest_ago() {
        let mut cache = Cache::new();
        let same_set = |n: u64| n * SETS as u64;
        assert!((0..4).all(|n| !cache.load(same_set(n))));
        assert!(cache.load(same_set(0)));
        assert!(!cache.load(same_set(4)), "takes the place of 1");
        assert!(cache.load(same_set(0)));
        assert!(!cache.load(same_set(1)));
    }
}
