//! The order of a block that keeps few registers alive.
//!
//! Instructions are placed from the last to the first. Going backwards, one that is
//! placed gives up what it writes and asks for what it reads; the one that asks for
//! least in return goes next. An expression is then finished before the next is begun,
//! and what many read is made just before the first of them.
//!
//! Greed alone does not decide between two that ask for the same. Several rules do, and
//! whoever calls picks the order that needs least.

use super::ready::Ready;
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

/// Orders of regions; keeps its tables from one to the next.
#[derive(Debug, Default)]
pub(crate) struct Narrow {
    /// Per register, the halves that are alive.
    alive: Vec<u16>,
    /// How many that come after each are not placed yet.
    waiting: Vec<u32>,
    /// By rank, the best first.
    ready: Ready<CHOICE>,
    /// What each asks for, as long as no register it names has changed.
    asks: Vec<Option<i32>>,
    /// When each one's result was asked for, later ones lower.
    asked: Vec<u32>,
    /// Whether a rule had to decide.
    tied: bool,
}

impl Narrow {
    /// The order, in which instructions are named by where they were, and whether another
    /// rule may give another.
    pub(crate) fn order(&mut self, region: &Region<'_>, tie: Tie) -> (Vec<u32>, bool) {
        let count = region.insts.len();
        self.alive.clone_from(&region.live_out);
        self.waiting.clear();
        let after = region.dag.after.iter();
        self.waiting.extend(after.map(|after| after.len() as u32));
        self.ready.clear();
        self.asks.clear();
        self.asks.resize(count, None);
        self.asked.clear();
        self.asked.resize(count, u32::MAX);
        self.tied = false;
        let order = Walk {
            region,
            state: self,
            tie,
        }
        .run();
        (order, self.tied)
    }
}

struct Walk<'a> {
    region: &'a Region<'a>,
    state: &'a mut Narrow,
    tie: Tie,
}

impl Walk<'_> {
    fn run(mut self) -> Vec<u32> {
        for node in (0u32..).take(self.region.insts.len()) {
            if self.state.waiting.get(node as usize) == Some(&0) {
                self.release(node);
            }
        }
        let mut order = Vec::with_capacity(self.region.insts.len());
        while let Some(at) = self.choose() {
            let Some((_, node)) = self.state.ready.remove(at) else {
                break;
            };
            self.take(node);
            order.push(node);
            self.placed(node, order.len() as u32);
        }
        order.reverse();
        order
    }

    /// Where among the ready ones the next is.
    fn choose(&mut self) -> Option<usize> {
        let state = &mut *self.state;
        let mut tied = state.ready.len() > CHOICE;
        let mut best: Option<((i32, u32), usize)> = None;
        for (at, (rank, node)) in state.ready.few().iter().enumerate() {
            let known = state.asks.get(*node as usize).copied().flatten();
            let asks = known.unwrap_or_else(|| asks(self.region, &state.alive, *node));
            if let Some(known) = state.asks.get_mut(*node as usize) {
                *known = Some(asks);
            }
            let least = best.map(|((least, _), _)| least);
            tied |= least == Some(asks);
            if best.is_none_or(|(least, _)| (asks, *rank) < least) {
                best = Some(((asks, *rank), at));
            }
        }
        state.tied |= tied;
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
            let Some(alive) = self.state.alive.get_mut(part.reg as usize) else {
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
                    if let Some(asks) = self.state.asks.get_mut(*other as usize) {
                        *asks = None;
                    }
                }
            }
        }
    }

    fn placed(&mut self, node: u32, when: u32) {
        let region = self.region;
        for from in region.dag.reads.get(node as usize).into_iter().flatten() {
            if let Some(asked) = self.state.asked.get_mut(*from as usize) {
                *asked = u32::MAX - when;
            }
        }
        for from in region.earlier.of(node as usize) {
            let Some(waiting) = self.state.waiting.get_mut(*from as usize) else {
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
            Tie::Asked => self
                .state
                .asked
                .get(node as usize)
                .copied()
                .unwrap_or(later),
            // Knuth's multiplier spreads neighbours.
            Tie::Chance(number) => (node + number * 977 + 1).wrapping_mul(2_654_435_761),
        };
        self.state.ready.insert((rank, node));
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
