//! Device memory that the whole grid touches, from what a sample of threadgroups touched.
//!
//! The bytes an instruction touches in one threadgroup are usually those of another one, moved
//! by a distance that is linear in the threadgroup's position. Where the sample confirms
//! that, the union over any number of threadgroups follows by doubling: the set of 2k
//! threadgroups is the set of k and the same moved by k strides. Elsewhere the growth
//! between neighbours is extrapolated, up to the size of the buffer.

use crate::execution::{BufferFootprint, Footprint, Kind, LINE};
use crate::ranges::Ranges;
use crate::record::Record;
use std::collections::BTreeMap;

/// Ranges of a union at most, before its growth is extrapolated instead.
const MOST_RANGES: usize = 1 << 12;

/// Share of the sampled threadgroups that a rule may fail for: those at edges do less.
const ALLOWED_MISFITS: f64 = 0.34;

/// Buffers: where they lie and how long they are.
pub(crate) trait Buffers {
    /// The buffer of an address, as the caller numbers it, and its length in bytes.
    fn buffer_at(&self, address: u64) -> Option<(u32, u64)>;
}

/// What an instruction (or several that move alike) touches.
#[derive(Clone)]
struct Stream {
    buffer: u32,
    /// Bytes of that buffer.
    size: u64,
    writes: bool,
    rule: Rule,
}

/// How the touched bytes depend on the threadgroup's position.
#[derive(Clone)]
enum Rule {
    /// Those of the threadgroup at the origin, moved by a stride per axis.
    Moved { base: Ranges, strides: [i64; 3] },
    /// So many lines per threadgroup, of which so many are new next to a neighbour.
    Grows { lines: f64, fresh: f64 },
}

/// The footprint of a grid of `groups` threadgroups.
pub(crate) fn footprint(records: &[Record], groups: [u32; 3], buffers: &dyn Buffers) -> Footprint {
    let streams = streams(records, groups, buffers);
    let points = points(groups);
    let curves: Vec<Vec<f64>> = streams.iter().map(|s| curve(s, groups, &points)).collect();
    let mut by_buffer: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (n, stream) in streams.iter().enumerate() {
        by_buffer.entry(stream.buffer).or_default().push(n);
    }
    let mut footprint = Footprint::default();
    let mut totals = vec![0.0; points.len()];
    let (mut verified, mut all) = (0.0, 0.0);
    for (&buffer, members) in &by_buffer {
        let size = members.iter().map(|&n| streams[n].size).max().unwrap_or(0);
        let most = size.div_ceil(LINE).max(1) as f64;
        // A line that is read and written is one line.
        let joined = joined(members.iter().map(|&n| &streams[n]));
        let distinct: Vec<Vec<f64>> = match joined.len() == members.len() {
            true => members.iter().map(|&n| curves[n].clone()).collect(),
            false => joined.iter().map(|s| curve(s, groups, &points)).collect(),
        };
        for (point, total) in totals.iter_mut().enumerate() {
            let sum: f64 = distinct.iter().map(|curve| curve[point]).sum();
            *total += sum.min(most);
        }
        let whole = |writes: bool| {
            let chosen = members.iter().filter(|&&n| streams[n].writes == writes);
            let sum = chosen
                .filter_map(|&n| curves[n].last())
                .fold(0.0f64, |sum, lines| sum + lines);
            sum.min(most)
        };
        footprint.buffers.push(BufferFootprint {
            buffer,
            read: whole(false),
            written: whole(true),
        });
        for &n in members {
            let lines = curves[n].last().copied().unwrap_or(0.0);
            all += lines;
            if matches!(streams[n].rule, Rule::Moved { .. }) {
                verified += lines;
            }
        }
    }
    footprint.verified = if all > 0.0 {
        (verified / all) as f32
    } else {
        1.0
    };
    footprint.curve = points
        .iter()
        .zip(totals)
        .map(|(point, lines)| (point.count(groups), lines))
        .collect();
    footprint
}

/// Numbers of threadgroups in dispatch order: part of a row, whole rows, whole planes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Point {
    axis: usize,
    count: u64,
}

impl Point {
    fn count(&self, groups: [u32; 3]) -> u64 {
        let below: u64 = groups[..self.axis].iter().map(|&n| u64::from(n)).product();
        below * self.count
    }
}

fn points(groups: [u32; 3]) -> Vec<Point> {
    let mut points = vec![Point { axis: 0, count: 1 }];
    for (axis, &size) in groups.iter().enumerate() {
        let size = u64::from(size);
        let mut count = 2;
        while count < size {
            points.push(Point { axis, count });
            count *= 2;
        }
        if size > 1 {
            points.push(Point { axis, count: size });
        }
    }
    points
}

/// Finds how each memory instruction's bytes move, and joins instructions that move alike.
fn streams(records: &[Record], groups: [u32; 3], buffers: &dyn Buffers) -> Vec<Stream> {
    let mut by_instruction: BTreeMap<u32, Vec<(usize, &Ranges, Kind)>> = BTreeMap::new();
    for (n, record) in records.iter().enumerate() {
        for (instruction, sums) in &record.accesses {
            if !sums.touched.is_empty() {
                let list = by_instruction.entry(*instruction).or_default();
                list.push((n, &sums.touched, sums.kind));
            }
        }
    }
    let mut moved: BTreeMap<(u32, bool, [i64; 3]), (u64, Ranges)> = BTreeMap::new();
    let mut streams = Vec::new();
    for sets in by_instruction.values() {
        let Some(&(_, first, kind)) = sets.first() else {
            continue;
        };
        let Some((buffer, size)) = first.start().and_then(|at| buffers.buffer_at(at)) else {
            continue;
        };
        let writes = kind != Kind::Load;
        match rule(records, sets, groups) {
            Rule::Moved { base, strides } => {
                let key = (buffer, writes, strides);
                let (_, known) = moved.entry(key).or_insert((size, Ranges::default()));
                known.unite(&base, 0);
            }
            rule => streams.push(Stream {
                buffer,
                size,
                writes,
                rule,
            }),
        }
    }
    for ((buffer, writes, strides), (size, base)) in moved {
        streams.push(Stream {
            buffer,
            size,
            writes,
            rule: Rule::Moved { base, strides },
        });
    }
    streams
}

/// The streams of one buffer, whether they read or write: those that move alike are one.
fn joined<'a>(streams: impl Iterator<Item = &'a Stream>) -> Vec<Stream> {
    let mut joined: Vec<Stream> = Vec::new();
    for stream in streams {
        let alike = joined
            .iter_mut()
            .find_map(|known| match (&mut known.rule, &stream.rule) {
                (
                    Rule::Moved { base, strides },
                    Rule::Moved {
                        base: more,
                        strides: other,
                    },
                ) => (strides == other).then_some((base, more)),
                _ => None,
            });
        match alike {
            Some((base, more)) => base.unite(more, 0),
            None => joined.push(stream.clone()),
        }
    }
    joined
}

fn rule(records: &[Record], sets: &[(usize, &Ranges, Kind)], groups: [u32; 3]) -> Rule {
    moved(records, sets, groups).unwrap_or_else(|| grows(records, sets))
}

/// The strides, if those found next to one threadgroup hold for most of the sample.
fn moved(records: &[Record], sets: &[(usize, &Ranges, Kind)], groups: [u32; 3]) -> Option<Rule> {
    let position = |n: usize| records[n].position;
    let neighbour = |from: [u32; 3], axis: usize| {
        sets.iter().find(|(n, ..)| {
            let mut next = from;
            next[axis] += 1;
            position(*n) == next
        })
    };
    'bases: for (n, base, _) in sets {
        let origin = position(*n);
        let mut strides = [0i64; 3];
        for axis in 0..3 {
            if groups[axis] < 2 {
                continue;
            }
            let shift = neighbour(origin, axis).and_then(|(_, set, _)| base.shift_to(set));
            let Some(shift) = shift else {
                continue 'bases;
            };
            strides[axis] = shift;
        }
        let expected = |at: [u32; 3]| {
            (0..3).fold(0i64, |sum, axis| {
                let steps = i64::from(at[axis]) - i64::from(origin[axis]);
                sum.wrapping_add(steps.wrapping_mul(strides[axis]))
            })
        };
        let misfits = sets
            .iter()
            .filter(|(m, set, _)| base.shift_to(set) != Some(expected(position(*m))))
            .count();
        if misfits as f64 > ALLOWED_MISFITS * sets.len() as f64 {
            continue;
        }
        let mut at_origin = Ranges::default();
        at_origin.unite(base, expected([0; 3]));
        return Some(Rule::Moved {
            base: at_origin,
            strides,
        });
    }
    None
}

/// Lines per threadgroup, and how many of them the threadgroup before has not touched.
fn grows(records: &[Record], sets: &[(usize, &Ranges, Kind)]) -> Rule {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let lines: Vec<f64> = sets.iter().map(|(_, set, _)| set.lines() as f64).collect();
    let mut fresh = Vec::new();
    for (n, set, _) in sets {
        let mut next = records[*n].position;
        next[0] += 1;
        let after = sets.iter().find(|(m, ..)| records[*m].position == next);
        if let Some((_, other, _)) = after {
            let mut both = (*set).clone();
            both.unite(other, 0);
            fresh.push(both.lines() as f64 - set.lines() as f64);
        }
    }
    let lines = mean(&lines);
    Rule::Grows {
        lines,
        fresh: if fresh.is_empty() {
            lines
        } else {
            mean(&fresh)
        },
    }
}

/// Lines a stream touches at each point.
fn curve(stream: &Stream, groups: [u32; 3], points: &[Point]) -> Vec<f64> {
    let most = stream.size.div_ceil(LINE).max(1) as f64;
    let lines = match &stream.rule {
        Rule::Grows { lines, fresh } => points
            .iter()
            .map(|point| lines + (point.count(groups) - 1) as f64 * fresh)
            .collect(),
        Rule::Moved { base, strides } => moved_curve(base, *strides, groups, points),
    };
    lines
        .into_iter()
        .map(|lines: f64| lines.min(most))
        .collect()
}

/// A union that is a set while it can be, else a number of lines.
#[derive(Clone)]
enum Union {
    Set(Ranges),
    Lines(f64),
}

impl Union {
    fn lines(&self) -> f64 {
        match self {
            Union::Set(set) => set.lines() as f64,
            Union::Lines(lines) => *lines,
        }
    }

    /// This union and `other` moved by `shift`; when sets grow too scattered, `growth` of
    /// the last doubling goes on.
    fn with(&self, other: &Union, shift: i64, growth: f64) -> Union {
        match (self, other) {
            (Union::Set(mine), Union::Set(theirs)) => {
                let mut both = mine.clone();
                both.unite(theirs, shift);
                if both.len() > MOST_RANGES {
                    both.round_to_lines();
                }
                match both.len() > MOST_RANGES {
                    true => Union::Lines(both.lines() as f64),
                    false => Union::Set(both),
                }
            }
            _ => Union::Lines(self.lines() + (growth - 1.0).clamp(0.0, 1.0) * other.lines()),
        }
    }
}

fn moved_curve(base: &Ranges, strides: [i64; 3], groups: [u32; 3], points: &[Point]) -> Vec<f64> {
    let mut lines = vec![base.lines() as f64];
    let mut unit = Union::Set(base.clone());
    for axis in 0..3 {
        let stride = strides[axis];
        // Unions of 1, 2, 4, … units.
        let mut powers = vec![unit.clone()];
        let mut growth = 2.0;
        for point in points.iter().skip(1).filter(|point| point.axis == axis) {
            let (known, left) = largest_power(&powers, point.count);
            let mut union = known.clone();
            let mut done = left.0;
            // The rest in powers of two, the largest first.
            while done < point.count {
                let (part, (size, _)) = largest_power(&powers, point.count - done);
                let shift = (done as i64).wrapping_mul(stride);
                let next = union.with(part, shift, growth);
                if done == size {
                    growth = next.lines() / union.lines().max(1.0);
                }
                union = next;
                done += size;
            }
            lines.push(union.lines());
            if point.count == 1 << powers.len() {
                powers.push(union.clone());
            }
            if point.count == u64::from(groups[axis]) {
                unit = union;
            }
        }
    }
    lines
}

/// The largest union of a power of two units with at most `count`, and that number.
fn largest_power(powers: &[Union], count: u64) -> (&Union, (u64, u64)) {
    let log = (63 - count.max(1).leading_zeros() as usize).min(powers.len() - 1);
    (&powers[log], (1 << log, count - (1 << log)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(list: &[(u64, u64)]) -> Ranges {
        let mut ranges = Ranges::default();
        for &(start, end) in list {
            ranges.add(start, end);
        }
        ranges.merge();
        ranges
    }

    #[test]
    fn points_count_rows_and_planes() {
        let counts: Vec<u64> = points([3, 5, 1])
            .iter()
            .map(|point| point.count([3, 5, 1]))
            .collect();
        assert_eq!(counts, [1, 2, 3, 6, 12, 15]);
    }

    #[test]
    fn tiles_of_a_product_share_rows_and_columns() {
        // A row panel of 64 rows × 1 KiB, moved by rows of threadgroups only.
        let panel = set(&[(0, 64 << 10)]);
        let groups = [16, 16, 1];
        let points = points(groups);
        let lines = moved_curve(&panel, [0, 64 << 10, 0], groups, &points);
        assert_eq!(lines[0], 512.0);
        // A row of threadgroups reads the same panel; all rows read everything.
        assert_eq!(lines[4], 512.0);
        assert_eq!(*lines.last().unwrap(), 16.0 * 512.0);
    }

    #[test]
    fn a_billion_threads_take_as_many_steps_as_their_logarithm() {
        let groups = [1 << 22, 1, 1];
        let points = points(groups);
        let lines = moved_curve(&set(&[(0, 1024)]), [1024, 0, 0], groups, &points);
        assert_eq!(*lines.last().unwrap(), (8u64 << 22) as f64);
        assert_eq!(points.len(), 23);
    }

    #[test]
    fn a_line_that_is_read_and_written_is_one_line() {
        let stream = |writes, strides| Stream {
            buffer: 0,
            size: 1 << 32,
            writes,
            rule: Rule::Moved {
                base: set(&[(0, 1024)]),
                strides,
            },
        };
        let in_place = [stream(false, [1024, 0, 0]), stream(true, [1024, 0, 0])];
        assert_eq!(joined(in_place.iter()).len(), 1);
        let elsewhere = [stream(false, [1024, 0, 0]), stream(true, [2048, 0, 0])];
        assert_eq!(joined(elsewhere.iter()).len(), 2);
    }

    #[test]
    fn odd_numbers_of_threadgroups_are_counted_exactly() {
        let groups = [11, 7, 1];
        let points = points(groups);
        // Halos: each threadgroup reads 3 lines of a row, moved by 2 lines.
        let lines = moved_curve(&set(&[(0, 384)]), [256, 1 << 20, 0], groups, &points);
        assert_eq!(*lines.last().unwrap(), 7.0 * (11.0 * 2.0 + 1.0));
    }
}
