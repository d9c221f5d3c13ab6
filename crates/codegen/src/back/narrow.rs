//! The order of a block that keeps few registers alive.
//!
//! Instructions are placed from the last to the first. Going backwards, one that is
//! placed gives up what it writes and asks for what it reads; the one that asks for
//! least in return goes next. An expression is then finished before the next is begun,
//! and what many read is made just before the first of them.
//!
//! Greed alone does not decide between two that ask for the same. Several rules do, and
//! whoever calls picks the order that needs least.

use super::region::Region;

/// Instructions that are compared with each other, at most.
const CHOICE: usize = 48;

/// Who goes first, of those that ask for the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tie {
    /// Who came later before: the order changes little.
    Later,
    /// Whose result was asked for last: one expression after the other.
    Asked,
    /// Chance, which by its number is always the same.
    Chance(u32),
}

/// Instructions put in order by chance, at most, over all tries.
const CHANCES: usize = 2000;
const MOST_CHANCES: usize = 12;

impl Tie {
    /// The rules worth trying for a block of so many instructions.
    pub(crate) fn all(insts: usize) -> impl Iterator<Item = Tie> {
        let chances = (CHANCES / insts.max(1)).min(MOST_CHANCES) as u32;
        let chances = (0..chances).map(Tie::Chance);
        [Tie::Later, Tie::Asked].into_iter().chain(chances)
    }
}

/// The order; instructions are named by where they were.
pub(crate) fn narrow(region: &Region<'_>, tie: Tie) -> Vec<u32> {
    Walk::new(region, tie).run()
}

struct Walk<'a> {
    region: &'a Region<'a>,
    /// Per register, the halves that are alive.
    alive: Vec<u16>,
    /// How many that come after each are not placed yet.
    waiting: Vec<u32>,
    /// By rank, the best first.
    ready: Vec<(u32, u32)>,
    /// What each asks for, as long as no register it names has changed.
    asks: Vec<Option<i32>>,
    /// When each one's result was asked for, later ones lower.
    asked: Vec<u32>,
    tie: Tie,
}

impl<'a> Walk<'a> {
    fn new(region: &'a Region<'a>, tie: Tie) -> Walk<'a> {
        let count = region.insts.len();
        let after = region.dag.after.iter();
        let mut walk = Walk {
            region,
            alive: region.live_out.clone(),
            waiting: after.map(|after| after.len() as u32).collect(),
            ready: Vec::new(),
            asks: vec![None; count],
            asked: vec![u32::MAX; count],
            tie,
        };
        for node in (0u32..).take(count) {
            if walk.waiting.get(node as usize) == Some(&0) {
                walk.release(node);
            }
        }
        walk
    }

    fn run(mut self) -> Vec<u32> {
        let mut order = Vec::with_capacity(self.region.insts.len());
        while let Some(at) = self.choose() {
            let (_, node) = self.ready.remove(at);
            self.take(node);
            order.push(node);
            self.placed(node, order.len() as u32);
        }
        order.reverse();
        order
    }

    /// Where among the ready ones the next is.
    fn choose(&mut self) -> Option<usize> {
        let mut best = None;
        for (at, (rank, node)) in self.ready.iter().enumerate().take(CHOICE) {
            let known = self.asks.get(*node as usize).copied().flatten();
            let asks = known.unwrap_or_else(|| asks(self.region, &self.alive, *node));
            if let Some(known) = self.asks.get_mut(*node as usize) {
                *known = Some(asks);
            }
            let key = (asks, *rank);
            if best.is_none_or(|(least, _)| key < least) {
                best = Some((key, at));
            }
        }
        best.map(|(_, at)| at)
    }

    /// Places an instruction: what it writes is not needed before it, what it reads is.
    fn take(&mut self, node: u32) {
        let region = self.region;
        let written = region.defs.of(node as usize).iter();
        let read = region.uses.of(node as usize).iter();
        let changes = written
            .map(|part| (part, false))
            .chain(read.map(|part| (part, true)));
        for (part, needed) in changes {
            let Some(alive) = self.alive.get_mut(part.reg as usize) else {
                continue;
            };
            let before = *alive;
            *alive = if needed {
                before | part.halves
            } else {
                before & !part.halves
            };
            if *alive != before {
                for other in region.named.of(part.reg as usize) {
                    if let Some(asks) = self.asks.get_mut(*other as usize) {
                        *asks = None;
                    }
                }
            }
        }
    }

    fn placed(&mut self, node: u32, when: u32) {
        let region = self.region;
        for from in region.dag.reads.get(node as usize).into_iter().flatten() {
            if let Some(asked) = self.asked.get_mut(*from as usize) {
                *asked = u32::MAX - when;
            }
        }
        for from in region.earlier.of(node as usize) {
            let Some(waiting) = self.waiting.get_mut(*from as usize) else {
                continue;
            };
            *waiting = waiting.saturating_sub(1);
            if *waiting == 0 {
                self.release(*from);
            }
        }
    }

    fn release(&mut self, node: u32) {
        let later = u32::MAX - node;
        let rank = match self.tie {
            Tie::Later => later,
            Tie::Asked => self.asked.get(node as usize).copied().unwrap_or(later),
            // Knuth's multiplier spreads neighbours.
            Tie::Chance(number) => (node + number * 977 + 1).wrapping_mul(2_654_435_761),
        };
        let at = self.ready.partition_point(|other| *other < (rank, node));
        self.ready.insert(at, (rank, node));
    }
}

/// How many halves more are alive before an instruction than after it.
fn asks(region: &Region<'_>, alive: &[u16], node: u32) -> i32 {
    let alive = |reg: u32| alive.get(reg as usize).copied().unwrap_or(0);
    let (uses, defs) = (region.uses.of(node as usize), region.defs.of(node as usize));
    let mut asks = 0;
    for part in defs {
        asks -= (alive(part.reg) & part.halves).count_ones() as i32;
    }
    for (at, part) in uses.iter().enumerate() {
        let mut new = part.halves & !alive(part.reg);
        // What it reads twice it asks for once.
        for earlier in uses.iter().take(at).filter(|other| other.reg == part.reg) {
            new &= !earlier.halves;
        }
        // What it reads and writes it needs again.
        for written in defs.iter().filter(|other| other.reg == part.reg) {
            asks += (part.halves & written.halves & alive(part.reg)).count_ones() as i32;
        }
        asks += new.count_ones() as i32;
    }
    asks
}
