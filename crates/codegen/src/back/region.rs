//! The plain instructions of a block, as putting them in order sees them.
//!
//! Many orders are tried. What they all ask for is found once: who must come before whom,
//! what each costs, and which halves of which registers it reads and writes, with the
//! registers numbered densely.

use super::dag::{Dag, Dags, is_slow_load};
use super::liveness::{Liveness, mask};
use super::time::{Cost, costs, least_time};
use crate::mir::{Block, Function, Inst, Slice, VReg};
use assay_ssa::id::Id;

/// Some halves of a register of a region.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) reg: u32,
    pub(crate) halves: u16,
    /// Number of the register's first half.
    first: u32,
}

impl Part {
    /// The number of one of its halves.
    pub(crate) fn half(self, half: u8) -> usize {
        self.first as usize + usize::from(half)
    }
}

/// Lists one behind the other.
#[derive(Debug)]
pub(crate) struct Lists<T> {
    items: Vec<T>,
    ends: Vec<u32>,
}

impl<T> Lists<T> {
    fn new() -> Lists<T> {
        Lists {
            items: Vec::new(),
            ends: Vec::new(),
        }
    }

    fn push(&mut self, list: impl Iterator<Item = T>) {
        self.items.extend(list);
        self.ends.push(self.items.len() as u32);
    }

    pub(crate) fn of(&self, at: usize) -> &[T] {
        let end = |at: usize| self.ends.get(at).map_or(0, |end| *end as usize);
        let start = at.checked_sub(1).map_or(0, end);
        self.items.get(start..end(at)).unwrap_or_default()
    }
}

impl Lists<u32> {
    /// Per number below `count`, which lists have it.
    fn turned(count: usize, lists: impl Iterator<Item = (u32, u32)> + Clone) -> Lists<u32> {
        let mut starts = vec![0u32; count];
        for (number, _) in lists.clone() {
            if let Some(start) = starts.get_mut(number as usize) {
                *start += 1;
            }
        }
        let mut total = 0;
        for start in &mut starts {
            total += std::mem::replace(start, total);
        }
        let mut items = vec![0; total as usize];
        for (number, list) in lists {
            if let Some(at) = starts.get_mut(number as usize) {
                if let Some(item) = items.get_mut(*at as usize) {
                    *item = list;
                }
                *at += 1;
            }
        }
        Lists {
            items,
            ends: starts,
        }
    }
}

/// A block's plain instructions.
#[derive(Debug)]
pub(crate) struct Region<'a> {
    pub(crate) insts: &'a [Inst],
    pub(crate) dag: Dag,
    pub(crate) costs: Vec<Cost>,
    pub(crate) uses: Lists<Part>,
    pub(crate) defs: Lists<Part>,
    /// Who must come before each.
    pub(crate) earlier: Lists<u32>,
    /// Who names each register.
    pub(crate) named: Lists<u32>,
    /// Who reads each one's result.
    pub(crate) readers: Lists<u32>,
    /// Whether the result of each comes from memory, late.
    pub(crate) slow: Vec<bool>,
    /// Number of the first half of each register, and how many halves there are.
    firsts: Vec<u32>,
    pub(crate) halves: usize,
    /// Per register, the halves alive before and after.
    pub(crate) live_in: Vec<u16>,
    pub(crate) live_out: Vec<u16>,
    /// Halves alive all the time, of registers that nobody names.
    pub(crate) through: i32,
    /// No order has fewer halves alive where most are, or is faster.
    pub(crate) least_peak: i32,
    pub(crate) least_time: f64,
}

/// Finds regions; keeps its tables from block to block.
#[derive(Debug)]
pub(crate) struct Regions<'a> {
    function: &'a Function,
    dags: Dags,
    /// Number of each register in the region at hand.
    numbers: Vec<u32>,
    members: Vec<VReg>,
    /// Number of the first half of each, and of the next register's.
    firsts: Vec<u32>,
    next_half: u32,
}

const NONE: u32 = u32::MAX;

impl<'a> Regions<'a> {
    pub(crate) fn new(function: &'a Function) -> Regions<'a> {
        Regions {
            function,
            dags: Dags::new(function),
            numbers: vec![NONE; function.vregs.len()],
            members: Vec::new(),
            firsts: Vec::new(),
            next_half: 0,
        }
    }

    pub(crate) fn region(
        &mut self,
        liveness: &Liveness,
        index: usize,
        block: &'a Block,
    ) -> Region<'a> {
        let (head, tail) = (block.head(), block.tail());
        let insts = block.insts.get(head..tail).unwrap_or_default();
        let dag = self.dags.build(insts);
        let (mut uses, mut defs) = (Lists::new(), Lists::new());
        for inst in insts {
            uses.push(inst.uses().map(|slice| self.part(slice)));
            defs.push(inst.defs().map(|slice| self.part(slice)));
        }
        let count = self.members.len();
        let pairs = |lists: &'_ [Vec<u32>]| -> Vec<(u32, u32)> {
            let lists = (0u32..).zip(lists);
            lists
                .flat_map(|(node, list)| list.iter().map(move |other| (*other, node)))
                .collect()
        };
        let (earlier, readers) = (pairs(&dag.after), pairs(&dag.reads));
        let names = (0u32..).take(insts.len()).flat_map(|node| {
            let parts = uses.of(node as usize).iter().chain(defs.of(node as usize));
            parts.map(move |part: &Part| (part.reg, node))
        });
        let controls = block.insts.get(tail..).unwrap_or_default();
        let kept = controls.iter().flat_map(Inst::uses);
        let kept = kept.map(|slice| (slice.reg, mask(slice)));
        let (live_in, through) = self.alive(liveness.live_in(index));
        let (live_out, _) = self.alive(liveness.live_out(index).chain(kept));
        let costs = costs(insts);
        let mut region = Region {
            insts,
            least_time: least_time(&costs, &dag),
            least_peak: 0,
            costs,
            earlier: Lists::turned(insts.len(), earlier.iter().copied()),
            readers: Lists::turned(insts.len(), readers.iter().copied()),
            slow: insts.iter().map(is_slow_load).collect(),
            firsts: std::mem::take(&mut self.firsts),
            halves: std::mem::take(&mut self.next_half) as usize,
            named: Lists::turned(count, names.clone()),
            dag,
            uses,
            defs,
            live_in,
            live_out,
            through,
        };
        region.least_peak = region.least_peak();
        for reg in self.members.drain(..) {
            if let Some(number) = self.numbers.get_mut(reg.index()) {
                *number = NONE;
            }
        }
        region
    }

    fn part(&mut self, slice: Slice) -> Part {
        let mut reg = self.numbers.get(slice.reg.index()).copied().unwrap_or(NONE);
        if reg == NONE {
            reg = self.members.len() as u32;
            self.members.push(slice.reg);
            self.firsts.push(self.next_half);
            let data = self.function.vregs.get(slice.reg);
            self.next_half += data.map_or(0, |data| u32::from(data.halves));
            if let Some(number) = self.numbers.get_mut(slice.reg.index()) {
                *number = reg;
            }
        }
        Part {
            reg,
            halves: mask(slice),
            first: self.firsts.get(reg as usize).copied().unwrap_or(0),
        }
    }

    /// The halves alive of each register that the region names, and how many of others.
    fn alive(&self, list: impl Iterator<Item = (VReg, u16)>) -> (Vec<u16>, i32) {
        let mut alive = vec![0; self.members.len()];
        let mut others = 0;
        for (reg, halves) in list {
            let number = self.numbers.get(reg.index()).copied().unwrap_or(NONE);
            match alive.get_mut(number as usize) {
                Some(alive) => *alive |= halves,
                None => others += halves.count_ones() as i32,
            }
        }
        (alive, others)
    }
}

impl Region<'_> {
    /// Halves of every register, as parts.
    pub(crate) fn parts(&self, halves: &[u16]) -> impl Iterator<Item = Part> {
        let all = (0u32..).zip(halves).zip(&self.firsts);
        all.map(|((reg, halves), first)| Part {
            reg,
            halves: *halves,
            first: *first,
        })
    }

    /// Halves that are alive at once whatever the order: at the ends, and what an
    /// instruction reads or writes beside what is alive all the time.
    fn least_peak(&self) -> i32 {
        let mut always: Vec<u16> = self
            .live_in
            .iter()
            .zip(&self.live_out)
            .map(|(a, b)| a & b)
            .collect();
        let nodes = 0..self.insts.len();
        for part in nodes.clone().flat_map(|node| self.defs.of(node)) {
            if let Some(always) = always.get_mut(part.reg as usize) {
                *always &= !part.halves;
            }
        }
        let count = |list: &[u16]| {
            list.iter()
                .map(|halves| halves.count_ones() as i32)
                .sum::<i32>()
        };
        let beside = |parts: &[Part]| {
            let mut halves = 0;
            for (at, part) in parts.iter().enumerate() {
                let earlier = parts.iter().take(at).filter(|other| other.reg == part.reg);
                let seen = earlier.fold(0, |seen, other| seen | other.halves);
                let always = always.get(part.reg as usize).copied().unwrap_or(0);
                halves += (part.halves & !seen & !always).count_ones() as i32;
            }
            halves
        };
        let one = nodes
            .map(|node| beside(self.uses.of(node)))
            .max()
            .unwrap_or(0);
        let inside = count(&always) + one;
        self.through + inside.max(count(&self.live_in)).max(count(&self.live_out))
    }
}
