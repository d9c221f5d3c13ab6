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
    let piece = step.number("k").unwrap_or(16);
    let plain = candidate.geometry.plain_threadgroup();
    let shape = match (step.number("x"), step.number("y"), plain) {
        (None, None, Some([x, y, 1])) => [x, y],
        (None, None, _) => {
            let why =
                "the threadgroup is not a plain number of threads along x and y: say x= and y=";
            return refuse(RefusalKind::Geometry, why);
        }
        (x, y, _) => [x.unwrap_or(1), y.unwrap_or(1)],
    };
    let [width, height] = shape;
    let threads = width.saturating_mul(height);
    let site = Site::of(candidate)?;
    if threads == 0 || threads > 1024 || !(2..=128).contains(&piece) {
        let why = format!(
            "{width} × {height} threads and pieces of {piece} rounds are too many or too few"
        );
        return refuse(RefusalKind::Limit, &why);
    }
    let grid = candidate.geometry.grid_threads();
    let flat = [0, 1].map(|axis| plain_number(&grid[axis]) == Some(1));
    let mut frame = Frame::new(candidate, &site, width, height)?;
    let staged = tiles(&mut frame, shape, flat, piece)?;
    let (local_x, local_y) = (
        frame.system(Builtin::ThreadPositionInThreadgroup, 0),
        frame.system(Builtin::ThreadPositionInThreadgroup, 1),
    );
    let thread = frame.index(Builtin::ThreadIndexInThreadgroup);
    let (group_x, group_y) = (frame.group(0), frame.group(1));
    let x = frame.scaled(group_x, width, local_x);
    let y = frame.scaled(group_y, height, local_y);
    let mut starts = Vec::new();
    let mut own = frame.at([Some(x), Some(y)]);
    for reduction in &site.reductions {
        let start = site.initial(reduction)?;
        starts.push(own.value(&mut frame.target, frame.current, start)?);
    }
    let zero = frame.number(0);
    let rounds = frame.rounds;
    let pieces = frame.open(zero, rounds, &starts);
    for one in &staged {
        let place = Loading {
            thread,
            threads,
            start: pieces.variable,
            group: if one.on == X { group_x } else { group_y },
            extent: if one.on == X { width } else { height },
            piece,
        };
        place.load(&mut frame, one)?;
    }
    frame.barrier();
    let size = frame.number(piece);
    let left = frame.binary(BinaryOp::Sub, rounds, pieces.variable);
    let fits = frame.below(left, size);
    let count = frame.builder().select(fits, left, size, Flags::NONE);
    let inner = frame.open(zero, count, &pieces.carried);
    let round = frame.binary(BinaryOp::Add, pieces.variable, inner.variable);
    let mut now = frame.at([Some(x), Some(y)]);
    let values = site.variables(&mut frame, round)?;
    now.place.known.extend(values);
    for (reduction, &part) in site.reductions.iter().zip(&inner.carried) {
        now.place.known.insert(reduction.param, part);
    }
    for one in &staged {
        let local = if one.on == X { local_x } else { local_y };
        let read = one.read(&mut frame, local, inner.variable);
        now.place.known.insert(one.value, read);
    }
    now.place.loads = true;
    let mut next = Vec::new();
    for reduction in &site.reductions {
        next.push(now.value(&mut frame.target, frame.current, reduction.next)?);
    }
    frame.close(&inner, 1, &next);
    frame.barrier();
    let sums = inner.carried.clone();
    frame.close(&pieces, piece, &sums);
    let results = pieces.carried.clone();
    frame.rest([x, y], &results)?;
    frame.allow(threads);
    frame.geometry.grid = Grid::Groups([
        ceil_div(&grid[0], width),
        ceil_div(&grid[1], height),
        grid[2].clone(),
    ]);
    frame.geometry.threadgroup = [width, height, 1].map(|n| Formula::number(u64::from(n)));
    Ok(Applied {
        candidate: frame.finish(candidate)?,
        class: Class::Exact,
    })
}

/// Arrays for the loads of the loop that threads share.
fn tiles(
    frame: &mut Frame<'_>,
    shape: [u32; 2],
    flat: [bool; 2],
    piece: u32,
) -> Result<Vec<Staged>, Refusal> {
    let site = frame.site;
    let refuse = |kind, why: &str| Err(Refusal::new(kind, why));
    let mut staged = Vec::new();
    let mut bytes = 0;
    for load in site.loads() {
        let on = site.depends(load);
        let (extent, alone) = match on & !ROUND {
            X => (shape[0], shape[1] == 1 || flat[1]),
            Y => (shape[1], shape[0] == 1 || flat[0]),
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
            Y => (piece + 1, 1, extent * (piece + 1)),
            _ => (1, extent + 1, piece * (extent + 1)),
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
