//! Steps: what is left of a program once its addresses and branches are known.
//!
//! A value is computed by one step and used by later ones. It has a place in scratch memory, but often needs none: a
//! loaded value can be read where it lies in memory ([`Value::direct`](Home::direct)), and the result that is only stored can be
//! computed where it is to lie.

use super::form::Form;
use super::plan::Found;
use crate::code::Cell;
use crate::lanes::{N1, N2, N3};

/// What a step computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Value(pub(super) u32);

/// An operand of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Argument {
    Value(Value),
    /// The same in all threads.
    Uniform(u32),
}

/// What a step does.
#[derive(Clone, Copy, Debug)]
pub(super) enum Action {
    N1(N1),
    N2(N2),
    N3(N3),
    /// The second or third operand, by the truth of the first.
    Select,
    /// The numbers of a form.
    Positions(Form),
    /// The next numbers of a stream.
    Load(usize),
    Store(usize),
}

impl Action {
    /// How many operands it has.
    fn arity(&self) -> usize {
        match self {
            Self::Positions(_) | Self::Load(_) => 0,
            Self::N1(_) | Self::Store(_) => 1,
            Self::N2(_) => 2,
            Self::N3(_) | Self::Select => 3,
        }
    }
}

/// A step: an action on chunks of lanes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) action: Action,
    pub(super) result: Option<Value>,
    pub(super) arguments: [Argument; 3],
}

impl Step {
    fn values(&self) -> impl Iterator<Item = Value> + '_ {
        let arguments = self.arguments.iter().take(self.action.arity());
        arguments.filter_map(|argument| match argument {
            Argument::Value(value) => Some(*value),
            Argument::Uniform(_) => None,
        })
    }
}

/// Numbers in memory, one for each thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stream {
    /// Where the number of the thread at the origin is.
    pub(super) start: *mut u8,
    /// Bytes to the next thread's along each axis.
    pub(super) step: [i64; 3],
    pub(super) cell: Cell,
    /// The host addresses where the numbers of all threads start and end.
    pub(super) lowest: usize,
    pub(super) end: usize,
    pub(super) written: bool,
}

impl Stream {
    /// Where a thread's number is.
    pub(super) fn at(&self, [x, y, z]: [u32; 3]) -> *mut u8 {
        let part = |axis: usize, at: u32| self.step[axis].wrapping_mul(i64::from(at));
        let distance = part(0, x).wrapping_add(part(1, y)).wrapping_add(part(2, z));
        self.start.wrapping_offset(distance as isize)
    }
}

/// Where a value is kept.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Home {
    /// The place in scratch memory.
    pub(super) slot: u32,
    /// The stream whose memory holds the value instead, where chunks are whole.
    pub(super) direct: Option<usize>,
}

/// An operand with its place.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operand {
    Home(Home),
    /// One of [`Placed::constants`].
    Constant(u32),
}

/// A step with its places.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlacedStep {
    pub(super) action: Action,
    pub(super) result: Home,
    pub(super) operands: [Operand; 3],
    /// A load or store that has nothing to do, where chunks are whole.
    pub(super) elided: bool,
}

/// The steps of a plan with their places.
pub(super) struct Placed {
    pub(super) steps: Vec<PlacedStep>,
    /// Operands that are the same in all threads.
    pub(super) constants: Vec<u32>,
    /// How many slots there are.
    pub(super) slots: u32,
    /// How many of them whole chunks use.
    pub(super) used: u32,
}

/// Gives every value a place.
pub(super) fn place(found: &Found) -> Placed {
    let steps = &found.steps;
    let lives = Lives::of(found);
    let directs = direct_values(found, &lives);
    let mut constants: Vec<u32> = Vec::new();
    for step in steps {
        for argument in step.arguments.iter().take(step.action.arity()) {
            if let Argument::Uniform(bits) = argument
                && !constants.contains(bits)
            {
                constants.push(*bits);
            }
        }
    }
    let mut homes = vec![Home::default(); found.values as usize];
    // For each slot, the last step that reads it.
    let mut busy: Vec<usize> = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let Some(Value(value)) = step.result else {
            continue;
        };
        let until = lives.last[value as usize];
        let free = busy.iter().position(|&last| last <= at);
        let slot = free.unwrap_or(busy.len());
        match busy.get_mut(slot) {
            Some(last) => *last = until,
            None => busy.push(until),
        }
        homes[value as usize] = Home {
            slot: slot as u32,
            direct: directs[value as usize],
        };
    }
    let home = |value: Value| homes[value.0 as usize];
    let placed = steps.iter().map(|step| PlacedStep {
        action: step.action,
        result: step.result.map(home).unwrap_or_default(),
        operands: step.arguments.map(|argument| match argument {
            Argument::Value(value) => Operand::Home(home(value)),
            Argument::Uniform(bits) => {
                let slot = constants.iter().position(|constant| *constant == bits);
                Operand::Constant(slot.unwrap_or(0) as u32)
            }
        }),
        elided: match step.action {
            Action::Load(_) => step
                .result
                .is_some_and(|value| home(value).direct.is_some()),
            // A loaded value that is stored elsewhere lies in another stream.
            Action::Store(stream) => step
                .values()
                .any(|value| home(value).direct == Some(stream)),
            _ => false,
        },
    });
    let mut used: Vec<u32> = homes
        .iter()
        .filter(|home| home.direct.is_none())
        .map(|home| home.slot)
        .collect();
    used.sort_unstable();
    used.dedup();
    Placed {
        steps: placed.collect(),
        slots: busy.len() as u32,
        used: used.len() as u32,
        constants,
    }
}

/// When values are computed and used.
struct Lives {
    first: Vec<usize>,
    last: Vec<usize>,
    uses: Vec<u32>,
}

impl Lives {
    fn of(found: &Found) -> Self {
        let count = found.values as usize;
        let mut lives = Self {
            first: vec![0; count],
            last: vec![0; count],
            uses: vec![0; count],
        };
        for (at, step) in found.steps.iter().enumerate() {
            if let Some(Value(value)) = step.result {
                lives.first[value as usize] = at;
                lives.last[value as usize] = at;
            }
            for Value(value) in step.values() {
                lives.last[value as usize] = at;
                lives.uses[value as usize] += 1;
            }
        }
        lives
    }
}

/// For each value the stream it can lie in.
fn direct_values(found: &Found, lives: &Lives) -> Vec<Option<usize>> {
    let mut directs = vec![None; found.values as usize];
    // When each stream is written, if a result is computed there instead of being stored later.
    let mut writes: Vec<(usize, usize)> = Vec::new();
    for (at, step) in found.steps.iter().enumerate() {
        let Action::Store(stream) = step.action else {
            continue;
        };
        let mut written_at = at;
        for Value(value) in step.values() {
            let value = value as usize;
            let computed = lives.first[value];
            let between = &found.steps[computed + 1..at];
            let accesses = between.iter().any(
                |other| matches!(other.action, Action::Load(s) | Action::Store(s) if s == stream),
            );
            let loaded = matches!(found.steps[computed].action, Action::Load(_));
            if is_word(found, stream) && !loaded && lives.uses[value] == 1 && !accesses {
                directs[value] = Some(stream);
                written_at = computed;
            }
        }
        writes.push((stream, written_at));
    }
    for step in &found.steps {
        if let (Action::Load(stream), Some(Value(value))) = (step.action, step.result) {
            let live = lives.first[value as usize]..lives.last[value as usize];
            let overwritten = writes
                .iter()
                .any(|(written, at)| *written == stream && live.contains(at));
            if is_word(found, stream) && !overwritten {
                directs[value as usize] = Some(stream);
            }
        }
    }
    directs
}

/// Returns true if a stream's numbers lie in memory as they lie in registers.
fn is_word(found: &Found, stream: usize) -> bool {
    found
        .streams
        .get(stream)
        .is_some_and(|stream| stream.cell == Cell::Word)
}
