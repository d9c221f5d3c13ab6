//! Brings what the threads of a threadgroup share into threadgroup memory, piece by piece of a loop.
//!
//! ## What it does
//! The loop is cut into pieces. For each piece, the threads of a threadgroup together load what they all will read into
//! threadgroup memory, wait for each other, and run the piece on it. Each value is then read from device memory once per
//! threadgroup instead of once per thread. Threads outside the grid or behind a guard help loading; what they would store
//! is left out as before. Rows in threadgroup memory are padded by one element.
//!
//! ## When it applies
//! To kernels of independent threads around one counted loop that writes nothing, where every load of the loop depends on
//! the position along x or along y (or neither), not both, and guards are bounds of positions.
//!
//! ## When it hurts
//! Where caches answer anyway, barriers and the way through threadgroup memory cost more than they save. It pays with
//! large tiles, after `coarsen` along both axes.
//!
//! ## Example
//! `stage:k=16` on the naive product of matrices in threadgroups of 16 × 16: two tiles of 16 × 16 numbers.
//!
//! The result is bit-identical.

use super::counted::stride;
use super::geometry::{ceil_div, plain_number};
use super::tile::{Frame, Loading, ROUND, Site, Staged, X, Y};
use super::{Applied, Candidate, Class, Parameter, Recipe, Refusal, RefusalKind, Step};
use assay_launch::Formula;
use assay_launch::template::Grid;
use assay_ssa::{BinaryOp, Builtin, Flags, Value};
use std::collections::HashMap;

pub(super) const RECIPE: Recipe = Recipe {
    id: "stage",
    class: Class::Exact,
    usage: "k=ROUNDS[,x=THREADS,y=THREADS]",
    parameters: &[
        Parameter::Number("x"),
        Parameter::Number("y"),
        Parameter::Number("k"),
    ],
    file: include_str!("stage.rs"),
    apply,
    propose,
};

/// The most bytes of threadgroup memory.
const MOST_MEMORY: u32 = 32 << 10;

fn apply(candidate: &Candidate, step: &Step) -> Result<Applied, Refusal> {
    let refuse = |kind, why: &str| Err(Refusal::new(kind, why));
    let plain = candidate.geometry.plain_threadgroup();
    let threads = match (step.number("x"), step.number("y"), plain) {
        (None, None, Some([x, y, 1])) => [x, y],
        (None, None, _) => {
            let why =
                "the threadgroup is not a plain number of threads along x and y: say x= and y=";
            return refuse(RefusalKind::Geometry, why);
        }
        (x, y, _) => [x.unwrap_or(1), y.unwrap_or(1)],
    };
    let tile = Tile {
        threads,
        each: [1, 1],
        piece: step.number("k").unwrap_or(16),
    };
    tiled(candidate, tile)
}

/// What a threadgroup computes at a time.
#[derive(Clone, Copy)]
pub(super) struct Tile {
    /// Threads along x and y.
    pub(super) threads: [u32; 2],
    /// Results of a thread along x and y.
    pub(super) each: [u32; 2],
    /// Rounds of the loop that are staged at once.
    pub(super) piece: u32,
}

impl Tile {
    /// Positions along an axis.
    const fn extent(&self, axis: usize) -> u32 {
        self.threads[axis].saturating_mul(self.each[axis])
    }

    const fn count(&self) -> u32 {
        self.threads[0].saturating_mul(self.threads[1])
    }
}

/// The kernel computed tile by tile, shared loads in threadgroup memory and results in registers.
pub(super) fn tiled(candidate: &Candidate, tile: Tile) -> Result<Applied, Refusal> {
    let site = Site::of(candidate)?;
    let threads = tile.count();
    let results = tile.each[0].saturating_mul(tile.each[1]);
    let sensible = (1..=1024).contains(&threads) && (2..=128).contains(&tile.piece);
    if !sensible || !(1..=64).contains(&results) {
        let why = "a threadgroup has 1 to 1024 threads, a thread at most 64 results, a piece 2 to 128 rounds";
        return Err(Refusal::new(RefusalKind::Limit, why));
    }
    let grid = candidate.geometry.grid_threads();
    let flat = [0, 1].map(|axis| plain_number(&grid[axis]) == Some(1));
    let mut frame = Frame::new(candidate, &site, tile.extent(0), tile.extent(1))?;
    let staged = tiles(&mut frame, tile, flat)?;
    let group = [frame.group(0), frame.group(1)];
    let local = [0, 1].map(|axis| frame.system(Builtin::ThreadPositionInThreadgroup, axis));
    let thread = frame.index(Builtin::ThreadIndexInThreadgroup);
    let places = [0, 1].map(|axis| places(&mut frame, tile, axis, group[axis], local[axis]));
    let own: Vec<[Place; 2]> = places[1]
        .iter()
        .flat_map(|&y| places[0].iter().map(move |&x| [x, y]))
        .collect();
    let mut starts = Vec::new();
    for [x, y] in &own {
        let mut here = frame.at([Some(x.position), Some(y.position)]);
        for reduction in &site.reductions {
            let start = site.initial(reduction)?;
            starts.push(here.value(&mut frame.target, frame.current, start)?);
        }
    }
    let zero = frame.number(0);
    let rounds = frame.rounds;
    let pieces = frame.open(zero, rounds, &starts);
    for one in &staged {
        let axis = usize::from(one.on == Y);
        let loading = Loading {
            thread,
            threads,
            start: pieces.variable,
            group: group[axis],
            extent: tile.extent(axis),
            piece: tile.piece,
        };
        loading.load(&mut frame, one)?;
    }
    frame.barrier();
    let size = frame.number(tile.piece);
    let left = frame.binary(BinaryOp::Sub, rounds, pieces.variable);
    let fits = frame.below(left, size);
    let count = frame.builder().select(fits, left, size, Flags::NONE);
    let inner = frame.open(zero, count, &pieces.carried);
    let round = frame.binary(BinaryOp::Add, pieces.variable, inner.variable);
    let next = body(
        &mut frame,
        &staged,
        &places,
        &own,
        (round, inner.variable),
        &inner.carried,
    )?;
    frame.close(&inner, 1, &next);
    frame.barrier();
    let sums = inner.carried.clone();
    frame.close(&pieces, tile.piece, &sums);
    let results = pieces.carried.clone();
    let sums = results.chunks(site.reductions.len().max(1));
    for ([x, y], sums) in own.iter().zip(sums) {
        frame.rest([x.position, y.position], sums)?;
    }
    frame.allow(threads);
    frame.geometry.grid = Grid::Groups([
        ceil_div(&grid[0], tile.extent(0)),
        ceil_div(&grid[1], tile.extent(1)),
        grid[2].clone(),
    ]);
    let [x, y] = tile.threads;
    frame.geometry.threadgroup = [x, y, 1].map(|n| Formula::number(u64::from(n)));
    Ok(Applied {
        candidate: frame.finish(candidate)?,
        class: Class::Exact,
    })
}

/// A position of a thread along an axis, in the tile and in the grid.
#[derive(Clone, Copy)]
struct Place {
    local: Value,
    position: Value,
}

/// The positions of a thread along an axis: neighbours are a threadgroup apart.
fn places(
    frame: &mut Frame<'_>,
    tile: Tile,
    axis: usize,
    group: Value,
    thread: Value,
) -> Vec<Place> {
    let each = 0..tile.each[axis];
    each.map(|place| {
        let offset = frame.number(place * tile.threads[axis]);
        let local = frame.binary(BinaryOp::Add, thread, offset);
        let position = frame.scaled(group, tile.extent(axis), local);
        Place { local, position }
    })
    .collect()
}

/// One round of the loop for all results of a thread: what is handed on.
fn body(
    frame: &mut Frame<'_>,
    staged: &[Staged],
    places: &[Vec<Place>; 2],
    own: &[[Place; 2]],
    (round, within): (Value, Value),
    carried: &[Value],
) -> Result<Vec<Value>, Refusal> {
    let site = frame.site;
    let variables = site.variables(frame, round)?;
    // Each shared value is read once for all results that need it.
    let mut read: HashMap<(Value, Value), Value> = HashMap::new();
    for one in staged {
        for place in &places[usize::from(one.on == Y)] {
            let value = one.read(frame, place.local, within);
            read.insert((one.value, place.local), value);
        }
    }
    let mut next = Vec::new();
    let sums = carried.chunks(site.reductions.len().max(1));
    for ([x, y], sums) in own.iter().zip(sums) {
        let mut here = frame.at([Some(x.position), Some(y.position)]);
        here.place.loads = true;
        here.place.known.extend(&variables);
        for (reduction, &sum) in site.reductions.iter().zip(sums) {
            here.place.known.insert(reduction.param, sum);
        }
        for one in staged {
            let place = if one.on == X { x } else { y };
            if let Some(&value) = read.get(&(one.value, place.local)) {
                here.place.known.insert(one.value, value);
            }
        }
        for reduction in &site.reductions {
            next.push(here.value(&mut frame.target, frame.current, reduction.next)?);
        }
    }
    Ok(next)
}

/// Arrays for the loads of the loop that threads share.
fn tiles(frame: &mut Frame<'_>, tile: Tile, flat: [bool; 2]) -> Result<Vec<Staged>, Refusal> {
    let site = frame.site;
    let refuse = |kind, why: &str| Err(Refusal::new(kind, why));
    let mut staged = Vec::new();
    let mut bytes = 0;
    for load in site.loads() {
        let on = site.depends(load);
        let (extent, alone) = match on & !ROUND {
            X => (tile.extent(0), tile.threads[1] == 1 || flat[1]),
            Y => (tile.extent(1), tile.threads[0] == 1 || flat[0]),
            // The same for all threads of the threadgroup.
            0 => continue,
            _ => {
                let why = "a load of the loop depends on the position along both axes";
                return refuse(RefusalKind::Access, why);
            }
        };
        if on & ROUND == 0 || alone {
            let why = "a load of the loop is the same in every round, or shared by no other thread";
            return refuse(RefusalKind::Access, why);
        }
        let element = site.function.ty(load);
        let inner = |value: Value| site.counted.makes(&site.function, value);
        let variable = site.counted.test.induction.param;
        let size = frame.module.types.stride(element);
        let pointer = site.pointer(load);
        let step = pointer.and_then(|p| stride(&site.function, p, variable, &inner));
        let rounds_first = step == Some(i64::from(size));
        let (position_step, round_step, len) = match on & !ROUND {
            Y => (tile.piece + 1, 1, extent * (tile.piece + 1)),
            _ => (1, extent + 1, tile.piece * (extent + 1)),
        };
        bytes += len * size;
        let name = if on & !ROUND == X { "tile_x" } else { "tile_y" };
        staged.push(Staged {
            value: load,
            on: on & !ROUND,
            element,
            array: frame.array(name, element, len),
            position_step,
            round_step,
            rounds_first,
        });
    }
    if staged.is_empty() {
        return refuse(
            RefusalKind::NothingToDo,
            "threads share no load of the loop",
        );
    }
    if bytes > MOST_MEMORY {
        let why =
            format!("the tiles need {bytes} bytes of threadgroup memory, {MOST_MEMORY} are there");
        return refuse(RefusalKind::Limit, &why);
    }
    Ok(staged)
}

fn propose(candidate: &Candidate) -> Vec<Step> {
    let mut steps = Vec::new();
    let shapes = [(16, 16), (32, 8), (8, 8)];
    for piece in [8, 16, 32] {
        for (x, y) in shapes {
            steps.extend(Step::new(RECIPE.id, &[("x", x), ("y", y), ("k", piece)]));
        }
    }
    if candidate
        .geometry
        .plain_threadgroup()
        .is_some_and(|[x, y, _]| x > 1 && y > 1)
    {
        steps.extend(Step::new(RECIPE.id, &[("k", 16)]));
    }
    steps
}
