//! A kernel as a program uses it: its launches as one launch with a size for whatever differs between them.
//!
//! What buffers hold is not recorded. Floats are random, bytes too (quantised weights); other numbers are zeros, so that indices
//! are valid. A buffer is as long as it was from the offset on that was bound. Of a large one, a pool of tensors, only what lies before
//! the next offset that the program ever binds counts.

use crate::kernels::given;
use crate::recorded::{Given, Recorded};
use crate::simulate::{Run, SlotKind};
use assay_front::GivenConstant;
use assay_launch::Written;
use assay_launch::element::Element;
use assay_recording::Extent;
use assay_ssa::{Argument, ArgumentAccess};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// A buffer longer than this is a pool of tensors.
const POOL: u64 = 64 << 20;

/// A launch that binds more than this is left out: it would have to be filled.
const MOST_BYTES: u64 = 1 << 30;

/// Launches that are tuned at once at most: each is executed for every candidate.
pub const MOST_LAUNCHES: usize = 8;

/// Launches of a kernel that differ in numbers alone.
#[derive(Clone, Debug)]
pub struct Used {
    /// The first of the pipelines that are the same.
    pub pipeline: u32,
    /// The launches, the one that takes most time first.
    pub launches: Vec<Use>,
    /// Share of the program's modelled time that they take, between 0 and 1.
    pub share: f64,
    /// Dispatches of the kernel in all, by whatever pipeline.
    pub dispatches: u64,
    /// What is left out and why, in sentences.
    pub left_out: Vec<String>,
}

/// A launch and what a program makes of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Use {
    /// The launch.
    pub launch: u32,
    /// How often it is dispatched.
    pub count: u64,
    /// Microseconds of all its dispatches.
    pub total_us: f64,
}

/// Everything of a launch that has to be the same for two of them to be one with other numbers.
#[derive(PartialEq, Eq, Hash)]
struct Form {
    pipeline: u32,
    groups: bool,
    memory: Vec<u32>,
    arguments: Vec<(u32, Option<usize>, Option<u32>)>,
}

impl Used {
    /// The launches of a kernel that take most of a run's time; an error in words if there is none.
    pub fn new(recorded: &Recorded, run: &Run, kernel: &str) -> Result<Used, String> {
        let mut uses: FxHashMap<u32, Use> = FxHashMap::default();
        let mut all_us: FxHashMap<u32, f64> = FxHashMap::default();
        for slot in &run.slots {
            if let SlotKind::Dispatch(launch) = slot.kind {
                *all_us.entry(launch).or_default() += slot.end_us - slot.start_us;
            }
        }
        for dispatch in recorded.dispatches() {
            let launch = dispatch.launch;
            if *recorded.kernel(launch) == *kernel {
                let own = uses.entry(launch).or_insert(Use {
                    launch,
                    count: 0,
                    total_us: all_us.get(&launch).copied().unwrap_or(0.0),
                });
                own.count += 1;
            }
        }
        if uses.is_empty() {
            return Err(format!("the program dispatches no kernel {kernel}"));
        }
        let dispatches = uses.values().map(|one| one.count).sum();
        let mut forms: FxHashMap<Form, Vec<Use>> = FxHashMap::default();
        let mut left_out = Vec::new();
        let mut indirect = 0;
        for one in uses.into_values() {
            match form(recorded, one.launch) {
                Some(form) => forms.entry(form).or_default().push(one),
                None => indirect += one.count,
            }
        }
        if indirect > 0 {
            left_out.push(format!(
                "{indirect} dispatches whose grid a buffer says are left out"
            ));
        }
        let time = |uses: &[Use]| uses.iter().map(|one| one.total_us).sum::<f64>();
        let least = |uses: &[Use]| uses.iter().map(|one| one.launch).min();
        let mut forms: Vec<(Form, Vec<Use>)> = forms.into_iter().collect();
        forms.sort_by(|a, b| {
            let by_time = time(&b.1).total_cmp(&time(&a.1));
            by_time.then(least(&a.1).cmp(&least(&b.1)))
        });
        let mut forms = forms.into_iter();
        let Some((form, mut launches)) = forms.next() else {
            return Err(format!("{kernel}: {}", left_out.join("; ")));
        };
        let others: u64 = forms.flat_map(|(_, uses)| uses).map(|one| one.count).sum();
        if others > 0 {
            left_out.push(format!(
                "{others} dispatches with other constants or other arguments are left out"
            ));
        }
        launches.sort_by(|a, b| {
            let by_time = b.total_us.total_cmp(&a.total_us);
            by_time.then(a.launch.cmp(&b.launch))
        });
        let rest = launches.split_off(launches.len().min(MOST_LAUNCHES));
        if !rest.is_empty() {
            let count: u64 = rest.iter().map(|one| one.count).sum();
            left_out.push(format!(
                "{count} dispatches of {} launches that take less time are left out",
                rest.len()
            ));
        }
        Ok(Used {
            pipeline: form.pipeline,
            share: time(&launches) / run.total_us.max(f64::MIN_POSITIVE),
            launches,
            dispatches,
            left_out,
        })
    }

    /// How often each launch is dispatched.
    pub fn counts(&self) -> Vec<f64> {
        self.launches.iter().map(|one| one.count as f64).collect()
    }

    /// Values of the pipeline's function constants.
    pub fn constants(&self, recorded: &Recorded) -> Result<Vec<GivenConstant>, String> {
        let pipeline = recorded.pipelines.get(self.pipeline as usize);
        pipeline.map_or(Ok(Vec::new()), |pipeline| given(&pipeline.constants))
    }

    /// The launches as one, for a kernel with these arguments. Buffers whose contents decide nothing are random; those of the second
    /// value hold zeros although the kernel reads them.
    pub fn written(
        &self,
        recorded: &Recorded,
        arguments: &[Argument],
    ) -> Result<(Written, Vec<u32>), String> {
        let pools = Pools::new(recorded);
        let mut text = Texts::default();
        let launches: Vec<&crate::Launch> = self
            .launches
            .iter()
            .filter_map(|one| recorded.launches.get(one.launch as usize))
            .collect();
        let first = launches.first().ok_or("there is no launch")?;
        let extents: Vec<[u64; 3]> = launches.iter().map(|one| extent(one.extent)).collect();
        let grid = text.triple("G", &extents);
        let shapes: Vec<[u64; 3]> = launches
            .iter()
            .map(|one| one.threadgroup.map(u64::from))
            .collect();
        let threadgroup = text.triple("T", &shapes);
        let flag = match first.extent {
            Extent::Threads(_) => "grid",
            _ => "groups",
        };
        let mut flags = vec![(flag, grid), ("threadgroup", threadgroup)];
        for (place, (index, _)) in first.memory.iter().enumerate() {
            let bytes: Vec<u64> = launches
                .iter()
                .map(|one| one.memory.get(place).map_or(0, |memory| memory.1.into()))
                .collect();
            let bytes = text.one(&format!("M{index}"), &bytes);
            flags.push(("tgmem", format!("{index}={bytes}")));
        }
        let mut zeros = Vec::new();
        let mut places: FxHashMap<u32, u32> = FxHashMap::default();
        let mut lengths = vec![0u64; launches.len()];
        for (at, (index, given)) in first.arguments.iter().enumerate() {
            let argument = assay_launch::inputs::of_buffer(arguments, *index);
            if argument.is_none_or(|argument| argument.unused) {
                continue;
            }
            let element = argument.and_then(|argument| Element::in_metal(&argument.type_name));
            match given {
                Given::Bytes(_) => {
                    let values: Vec<&[u8]> = launches
                        .iter()
                        .filter_map(|one| match one.arguments.get(at) {
                            Some((_, Given::Bytes(bytes))) => Some(&bytes[..]),
                            _ => None,
                        })
                        .collect();
                    flags.push(("bytes", format!("{index}={}", text.bytes(*index, &values))));
                }
                Given::Buffer(place) => {
                    if let Some(known) = places.get(place) {
                        flags.push(("buffer", format!("{index}=same:{known}")));
                        continue;
                    }
                    places.insert(*place, *index);
                    let bytes: Vec<u64> = self
                        .launches
                        .iter()
                        .map(|one| pools.length(one.launch, *place as usize))
                        .collect();
                    for (length, bytes) in lengths.iter_mut().zip(&bytes) {
                        *length += bytes;
                    }
                    let size = element.map_or(1, |element| element.size as u64);
                    let count: Vec<u64> = bytes.iter().map(|bytes| (bytes / size).max(1)).collect();
                    let count = text.one(&format!("L{index}"), &count);
                    let is_read =
                        argument.is_none_or(|argument| argument.access != ArgumentAccess::Write);
                    let name = element.map_or("u8", |element| element.name);
                    let random = is_read
                        && element.is_some_and(|element| {
                            matches!(element.name, "f32" | "f16" | "bf16" | "u8" | "i8")
                        });
                    if is_read && !random {
                        zeros.push(*index);
                    }
                    let word = if random { "random" } else { "zeros" };
                    flags.push(("buffer", format!("{index}={word}:{name}:{count}")));
                }
            }
        }
        if let Some(most) = lengths.iter().max().filter(|most| **most > MOST_BYTES) {
            return Err(format!(
                "it binds {most} bytes, which would have to be filled: give the buffers, as in --buffer 0=random:f32:4096"
            ));
        }
        let mut written = Written::default();
        for (flag, value) in text
            .sizes
            .iter()
            .map(|size| ("size", size))
            .chain(flags.iter().map(|(flag, value)| (*flag, value)))
        {
            written
                .add(flag, value)
                .map_err(|mistake| mistake.message)?;
        }
        Ok((written, zeros))
    }
}

/// What two launches have in common if they differ in numbers alone; none where a buffer says how large the grid is.
fn form(recorded: &Recorded, launch: u32) -> Option<Form> {
    let launch = recorded.launches.get(launch as usize)?;
    let argument = |(index, given): &(u32, Given)| match given {
        Given::Bytes(bytes) => (*index, Some(bytes.len()), None),
        Given::Buffer(place) => (*index, None, Some(*place)),
    };
    Some(Form {
        pipeline: launch.pipeline,
        groups: match launch.extent {
            Extent::Threads(_) => false,
            Extent::Groups(_) => true,
            Extent::Indirect { .. } => return None,
        },
        memory: launch.memory.iter().map(|memory| memory.0).collect(),
        arguments: launch.arguments.iter().map(argument).collect(),
    })
}

fn extent(extent: Extent) -> [u64; 3] {
    match extent {
        Extent::Threads(counts) | Extent::Groups(counts) => counts.map(u64::from),
        Extent::Indirect { .. } => [0; 3],
    }
}

/// How long what launches bind is.
struct Pools {
    /// By launch and place.
    lengths: FxHashMap<(u32, usize), u64>,
}

impl Pools {
    fn new(recorded: &Recorded) -> Pools {
        let mut offsets: FxHashMap<u64, BTreeSet<u64>> = FxHashMap::default();
        for dispatch in recorded.dispatches() {
            for &(buffer, offset) in &dispatch.bound {
                offsets.entry(buffer).or_default().insert(offset);
            }
        }
        let mut lengths: FxHashMap<(u32, usize), u64> = FxHashMap::default();
        for dispatch in recorded.dispatches() {
            for (place, &(buffer, offset)) in dispatch.bound.iter().enumerate() {
                let whole = recorded.buffers.get(&buffer).map_or(0, |it| it.bytes);
                let rest = whole.saturating_sub(offset);
                let next = offsets.get(&buffer).filter(|_| rest > POOL);
                let next = next.and_then(|all| all.range(offset + 1..).next());
                let length = next.map_or(rest, |next| rest.min(next - offset));
                let longest = lengths.entry((dispatch.launch, place)).or_default();
                *longest = length.max(*longest);
            }
        }
        Pools { lengths }
    }

    fn length(&self, launch: u32, place: usize) -> u64 {
        self.lengths.get(&(launch, place)).copied().unwrap_or(0)
    }
}

/// Numbers as text: a name where launches differ.
#[derive(Default)]
struct Texts {
    sizes: Vec<String>,
}

impl Texts {
    fn one(&mut self, name: &str, values: &[u64]) -> String {
        let first = values.first().copied().unwrap_or(0);
        if values.iter().all(|value| *value == first) {
            return first.to_string();
        }
        let words: Vec<String> = values.iter().map(u64::to_string).collect();
        self.sizes.push(format!("{name}={}", words.join(",")));
        name.to_owned()
    }

    fn triple(&mut self, name: &str, values: &[[u64; 3]]) -> String {
        let axes = ["X", "Y", "Z"]
            .into_iter()
            .enumerate()
            .map(|(axis, letter)| {
                let own: Vec<u64> = values.iter().map(|value| value[axis]).collect();
                self.one(&format!("{name}{letter}"), &own)
            });
        axes.collect::<Vec<_>>().join(",")
    }

    /// The words of arguments by value, or their bytes.
    fn bytes(&mut self, index: u32, values: &[&[u8]]) -> String {
        let length = values.first().map_or(0, |bytes| bytes.len());
        let size = if length.is_multiple_of(4) { 4 } else { 1 };
        let mut text = String::from(if size == 4 { "u32:" } else { "u8:" });
        for at in 0..length / size {
            let word = |bytes: &&[u8]| {
                let own = bytes.iter().skip(at * size).take(size).rev();
                own.fold(0, |word, byte| word << 8 | u64::from(*byte))
            };
            let words: Vec<u64> = values.iter().map(word).collect();
            let name = match length / size {
                1 => format!("A{index}"),
                _ => format!("A{index}_{at}"),
            };
            let word = self.one(&name, &words);
            let comma = if at == 0 { "" } else { "," };
            let _ = write!(text, "{comma}{word}");
        }
        text
    }
}
