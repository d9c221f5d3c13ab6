//! Kernels whose results the program does not read do not run (`ASSAY_METAL_NO_EXECUTE=1`).
//!
//! A dispatch is put off: what it may read and write is known by what is bound and how its kernel declares it, and stands in a list, in
//! order. The program cannot tell, because it cannot look: pages that a dispatch of the list may write cannot be accessed by the
//! program, and pages that one may read cannot be written. Metal has no call at which a program reads a shared buffer, and most take
//! `contents` once and early, so the pages are the only place where a read shows. An access faults ([`fault`]), and the dispatches run
//! that decide what it sees: those that touch the region, and of those before them, transitively, all that wrote what these read or
//! touched what these write. Kernels see regions at another address ([`region`]), so that other threads of the program stay locked out
//! while they run.
//!
//! What cannot be put off runs at once, after what it depends on: dispatches that follow addresses in memory, with textures, or with
//! memory that the program lends without a page boundary of ours (`newBufferWithBytesNoCopy` over anything but `vm_allocate` or a
//! constant mapping), copies to such memory, and kernels that log.

mod fault;
mod region;

pub(crate) use region::{Region, is_constant, region_at, start};

use crate::address::Allocation;
use crate::command::{Bound, Command, Dispatch, Extent};
use crate::library::{PIPELINE, Pipeline};
use crate::resource::lock;
use crate::run::{buffer, catch_up};
use crate::settings::{Skip, settings};
use region::Access;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, LazyLock, Mutex};

/// Commands that are put off at most; then all run. A kilobyte each, at most.
const MOST: usize = 1 << 20;

/// Dispatches that came here.
static SEEN: AtomicU64 = AtomicU64::new(0);

/// How many dispatches there were, where some may not have run.
pub(crate) fn count() -> Option<u64> {
    (settings().skip == Skip::Unread).then(|| SEEN.load(Relaxed))
}

/// A command that has not run.
#[derive(Debug)]
struct Entry {
    command: Command,
    touched: Touched,
}

/// What a command may read and write.
#[derive(Debug, Default)]
struct Touched {
    reads: Vec<Arc<Region>>,
    writes: Vec<Arc<Region>>,
    /// Other memory, which the program may access without our knowing.
    outside: bool,
}

/// How many commands of the list may read and write a region.
#[derive(Clone, Copy, Debug, Default)]
struct Guard {
    reads: usize,
    writes: usize,
}

#[derive(Debug, Default)]
struct Known {
    entries: VecDeque<Entry>,
    /// By number of the region.
    guards: HashMap<u64, Guard>,
}

static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);

/// Puts a command off, or runs what must run before it and returns false.
pub(crate) fn put_off(command: &Command) -> bool {
    if matches!(command, Command::Dispatch(_)) {
        SEEN.fetch_add(1, Relaxed);
    }
    let touched = touched(command);
    let mut known = lock(&KNOWN);
    // What ran is let go of without the lock: that calls the program.
    let mut ran = Vec::new();
    let is_put_off = match touched {
        None => {
            ran = known.run(None);
            false
        }
        Some(touched) if touched.outside => {
            ran = known.run(Some(&touched));
            false
        }
        Some(touched) if !matches!(command, Command::Dispatch(_)) && !known.concerns(&touched) => {
            false
        }
        Some(touched) => {
            if known.entries.len() >= MOST {
                ran = known.run(None);
            }
            known.add(Entry {
                command: command.clone(),
                touched,
            });
            true
        }
    };
    drop(known);
    drop(ran);
    is_put_off
}

/// The program is about to access an allocation by a call of Metal.
pub(crate) fn touch(allocation: &Allocation) {
    if let Some(region) = allocation.memory.region() {
        run_for(region);
    }
}

/// Runs all that is put off.
fn run_all() {
    let ran = lock(&KNOWN).run(None);
    drop(ran);
}

/// Runs what decides what is in a region, or reads it.
fn run_for(region: &Arc<Region>) {
    let touched = Touched {
        writes: vec![Arc::clone(region)],
        ..Touched::default()
    };
    let ran = lock(&KNOWN).run(Some(&touched));
    drop(ran);
}

/// The region of an allocation, or nothing where the program cannot change what is read there; an error where it can.
fn place(allocation: &Allocation, is_written: bool) -> Result<Option<Arc<Region>>, ()> {
    match allocation.memory.region() {
        Some(region) => Ok(Some(Arc::clone(region))),
        None if !is_written && allocation.memory.is_constant() => Ok(None),
        None => Err(()),
    }
}

impl Touched {
    fn add(&mut self, allocation: &Allocation, reads: bool, writes: bool) {
        match place(allocation, writes) {
            Err(()) => self.outside = true,
            Ok(None) => {}
            Ok(Some(region)) => {
                if reads {
                    self.reads.push(Arc::clone(&region));
                }
                if writes {
                    self.writes.push(region);
                }
            }
        }
    }
}

/// What a command touches; nothing if that can be anything.
fn touched(command: &Command) -> Option<Touched> {
    let mut touched = Touched::default();
    match command {
        Command::Dispatch(dispatch) => of_dispatch(dispatch, &mut touched)?,
        Command::Fill { buffer: object, .. } => {
            touched.add(&buffer(object)?.allocation, false, true)
        }
        Command::Copy { from, to, .. } => {
            touched.add(&buffer(from)?.allocation, true, false);
            touched.add(&buffer(to)?.allocation, false, true);
        }
        _ => return None,
    }
    Some(touched)
}

fn of_dispatch(dispatch: &Dispatch, touched: &mut Touched) -> Option<()> {
    // SAFETY: the command keeps it.
    let pipeline = unsafe { PIPELINE.state::<Pipeline>(dispatch.pipeline.id()) }?;
    let (kernel, _) = pipeline.kernel()?;
    let has_textures = !dispatch.textures.is_empty() || !dispatch.resources.is_empty();
    if kernel.program().follows_pointers() || has_textures || pipeline.logs() {
        return None;
    }
    match &dispatch.extent {
        Extent::Threads(_) | Extent::Groups(_) => {}
        Extent::Indirect(object, _) => touched.add(&buffer(object)?.allocation, true, false),
        Extent::At(allocation, _) => touched.add(allocation, true, false),
    }
    for (index, bound) in &dispatch.bound {
        let (reads, writes) = pipeline.access(*index);
        match bound {
            Bound::Bytes(_) => {}
            Bound::Buffer(object, _) => touched.add(&buffer(object)?.allocation, reads, writes),
            Bound::Address(allocation, _) => touched.add(allocation, reads, writes),
        }
    }
    Some(())
}

/// Regions by number.
fn numbers(regions: &[Arc<Region>]) -> impl Iterator<Item = u64> + '_ {
    regions.iter().map(|region| region.number())
}

impl Known {
    /// Returns true if a command of the list touches one of these regions.
    fn concerns(&self, touched: &Touched) -> bool {
        let mut all = numbers(&touched.reads).chain(numbers(&touched.writes));
        all.any(|number| self.guards.contains_key(&number))
    }

    fn add(&mut self, entry: Entry) {
        for region in &entry.touched.reads {
            let guard = self.guards.entry(region.number()).or_default();
            guard.reads += 1;
            region.allow(guard.access());
        }
        for region in &entry.touched.writes {
            let guard = self.guards.entry(region.number()).or_default();
            guard.writes += 1;
            region.allow(guard.access());
        }
        self.entries.push_back(entry);
    }

    /// Runs commands of the list in order: all, or those that must be before something that touches these regions. Returns them.
    fn run(&mut self, before: Option<&Touched>) -> Vec<Entry> {
        let chosen: Vec<Entry> = match before {
            None => self.entries.drain(..).collect(),
            Some(touched) if !self.concerns(touched) => return Vec::new(),
            Some(touched) => self.take(touched),
        };
        for entry in &chosen {
            catch_up(&entry.command);
        }
        for entry in &chosen {
            self.let_go(&entry.touched);
        }
        chosen
    }

    /// Takes from the list what must be before something that touches these regions.
    fn take(&mut self, touched: &Touched) -> Vec<Entry> {
        let mut reads: HashSet<u64> = numbers(&touched.reads).collect();
        let mut writes: HashSet<u64> = numbers(&touched.writes).collect();
        let mut is_chosen = vec![false; self.entries.len()];
        for (at, Entry { touched, .. }) in self.entries.iter().enumerate().rev() {
            let is_before = numbers(&touched.writes)
                .any(|it| reads.contains(&it) || writes.contains(&it))
                || numbers(&touched.reads).any(|it| writes.contains(&it));
            if is_before {
                is_chosen[at] = true;
                reads.extend(numbers(&touched.reads));
                writes.extend(numbers(&touched.writes));
            }
        }
        let mut chosen = Vec::new();
        let mut kept = VecDeque::new();
        for (entry, is_chosen) in self.entries.drain(..).zip(is_chosen) {
            match is_chosen {
                true => chosen.push(entry),
                false => kept.push_back(entry),
            }
        }
        self.entries = kept;
        chosen
    }

    /// Counts a command that has run, and lets the program access what no other touches.
    fn let_go(&mut self, touched: &Touched) {
        let counted = touched.reads.iter().map(|region| (region, true));
        let counted = counted.chain(touched.writes.iter().map(|region| (region, false)));
        for (region, is_read) in counted {
            let Some(guard) = self.guards.get_mut(&region.number()) else {
                continue;
            };
            match is_read {
                true => guard.reads -= 1,
                false => guard.writes -= 1,
            }
            region.allow(guard.access());
            if guard.reads + guard.writes == 0 {
                self.guards.remove(&region.number());
            }
        }
    }
}

impl Guard {
    fn access(self) -> Access {
        match self {
            Guard { writes: 1.., .. } => Access::Nothing,
            Guard { reads: 1.., .. } => Access::Read,
            _ => Access::All,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of commands by what they read and write, those that must run before something reads or writes.
    #[track_caller]
    fn check(commands: &[(&[usize], &[usize])], before: (&[usize], &[usize]), expected: &[usize]) {
        let regions: Vec<_> = (0..4).filter_map(|_| Region::with_room(1)).collect();
        let of = |all: &[usize]| all.iter().map(|at| Arc::clone(&regions[*at])).collect();
        let touched = |(reads, writes): (&[usize], &[usize])| Touched {
            reads: of(reads),
            writes: of(writes),
            outside: false,
        };
        let mut known = Known::default();
        for (at, command) in commands.iter().enumerate() {
            known.add(Entry {
                // Its text tells which one it is.
                command: Command::Refused(at.to_string()),
                touched: touched(*command),
            });
        }
        let ran = known.run(Some(&touched(before)));
        let number = |entry: &Entry| match &entry.command {
            Command::Refused(at) => at.parse().unwrap(),
            _ => usize::MAX,
        };
        let ran: Vec<usize> = ran.iter().map(number).collect();
        assert_eq!(ran, expected);
        assert_eq!(known.entries.len(), commands.len() - expected.len());
        known.run(None);
        assert!(known.guards.is_empty());
    }

    #[test]
    fn what_decides_a_result_runs_and_nothing_else() {
        let chain: &[(&[usize], &[usize])] = &[(&[0], &[1]), (&[0], &[3]), (&[1], &[2])];
        check(chain, (&[2], &[]), &[0, 2]);
        check(chain, (&[3], &[]), &[1]);
        // What is read can be read by others, too; written it is when all have read it.
        check(chain, (&[0], &[]), &[]);
        check(chain, (&[], &[0]), &[0, 1]);
    }

    #[test]
    fn what_is_written_over_is_read_before() {
        let over: &[(&[usize], &[usize])] = &[(&[0], &[1]), (&[1], &[2]), (&[3], &[1])];
        check(over, (&[1], &[]), &[0, 1, 2]);
        check(over, (&[2], &[]), &[0, 1]);
    }
}
