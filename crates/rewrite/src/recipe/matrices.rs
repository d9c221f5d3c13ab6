//! Computes a sum of products with simdgroup matrices.
//!
//! ## What it does
//! Recognises `acc += a · b`, where `a` depends on the row (the position along y) and `b` on the column (along x), and
//! computes it tile by tile: four simdgroups of a threadgroup bring tiles of `a` and `b` into threadgroup memory, as
//! floats and padded by zeros at the edges, and multiply them as 8 × 8 matrices. The rest of the program, guards, scaling,
//! bias, activation and store, then runs for every result of the tile as if the loop had just ended.
//!
//! ## When it applies
//! To kernels of independent threads around one counted loop with one sum of products in single precision, with guards
//! that are bounds of positions.
//!
//! ## When it hurts
//! Products with few rows or columns fill tiles with zeros. It pays for any product large enough to keep all cores busy
//! with tiles: matrix instructions do several times the work of multiply-adds.
//!
//! ## Example
//! `matrices:m=32,n=32,k=16` on the naive product: threadgroups of 128 threads for tiles of 32 × 32 results.
//!
//! Products are added in another order.

use super::counted::stride;
use super::geometry::ceil_div;
use super::tile::{Frame, Loading, ROUND, Site, Staged, X, Y};
use super::{Applied, Candidate, Class, Parameter, Recipe, Refusal, RefusalKind, Step};
use assay_launch::Formula;
use assay_launch::template::Grid;
use assay_ssa::{BinaryOp, Builtin, CastOp, Function, InstData, Scalar, TernaryOp, Type, Value};

pub(super) const RECIPE: Recipe = Recipe {
    id: "matrices",
    class: Class::Reassociating,
    usage: "m=ROWS,n=COLUMNS,k=ROUNDS",
    parameters: &[
        Parameter::Number("m"),
        Parameter::Number("n"),
        Parameter::Number("k"),
    ],
    file: include_str!("matrices.rs"),
    apply,
    propose,
};

/// Rows and columns of a matrix.
const SIDE: u32 = 8;
/// Simdgroups of a threadgroup along each side of the tile.
const SIMDGROUPS: u32 = 2;
/// Threads of a threadgroup.
const THREADS: u32 = SIMDGROUPS * SIMDGROUPS * 32;
/// Elements added to the rows of a tile.
const PAD: u32 = 4;
/// The most bytes of threadgroup memory.
const MOST_MEMORY: u32 = 32 << 10;

/// The shape of a tile.
#[derive(Clone, Copy)]
struct Shape {
    rows: u32,
    columns: u32,
    piece: u32,
}

impl Shape {
    fn of(step: &Step) -> Result<Shape, Refusal> {
        let shape = Shape {
            rows: step.number("m").unwrap_or(32),
            columns: step.number("n").unwrap_or(32),
            piece: step.number("k").unwrap_or(16),
        };
        let unit = SIDE * SIMDGROUPS;
        let sides = [shape.rows, shape.columns];
        let fits = |side: &u32| side.is_multiple_of(unit) && (unit..=128).contains(side);
        if !sides.iter().all(fits) || !shape.piece.is_multiple_of(SIDE) || shape.piece == 0 {
            let why = "rows and columns are multiples of 16 up to 128, rounds multiples of 8";
            return Err(Refusal::new(RefusalKind::Parameter, why));
        }
        let matrices = shape.down() * shape.across();
        if matrices > 16 || shape.bytes() > MOST_MEMORY {
            let why = "the tile needs too many registers or too much threadgroup memory";
            return Err(Refusal::new(RefusalKind::Limit, why));
        }
        Ok(shape)
    }

    /// Matrices of a simdgroup, one below the other.
    const fn down(self) -> u32 {
        self.rows / SIDE / SIMDGROUPS
    }

    /// Matrices of a simdgroup, side by side.
    const fn across(self) -> u32 {
        self.columns / SIDE / SIMDGROUPS
    }

    /// Elements from row to row of the tiles of `a`, `b` and of the results.
    const fn strides(self) -> [u32; 3] {
        [self.piece + PAD, self.columns + PAD, self.columns + PAD]
    }

    /// Where the tile of `b` starts; that of `a` starts at 0, and results take the place of both.
    const fn second(self) -> u32 {
        self.rows * (self.piece + PAD)
    }

    const fn elements(self) -> u32 {
        let operands = self.second() + self.piece * (self.columns + PAD);
        let results = self.rows * (self.columns + PAD);
        if operands > results {
            operands
        } else {
            results
        }
    }

    const fn bytes(self) -> u32 {
        self.elements() * 4
    }
}

fn apply(candidate: &Candidate, step: &Step) -> Result<Applied, Refusal> {
    let refuse = |kind, why: &str| Err(Refusal::new(kind, why));
    let shape = Shape::of(step)?;
    let site = Site::of(candidate)?;
    let [row_factor, column_factor] = factors(&site)?;
    let [reduction] = site.reductions.as_slice() else {
        return refuse(RefusalKind::Control, "the loop has more than one sum");
    };
    let start = site.initial(reduction)?;
    let mut frame = Frame::new(candidate, &site, shape.columns, shape.rows)?;
    let memory = frame.array("tile", Type::F32, shape.elements());
    let staged = [
        staged(&mut frame, row_factor, Y, memory, shape),
        staged(&mut frame, column_factor, X, memory, shape),
    ];
    let thread = frame.index(Builtin::ThreadIndexInThreadgroup);
    let simdgroup = frame.index(Builtin::SimdgroupIndexInThreadgroup);
    let groups = [frame.group(0), frame.group(1)];
    let zeros = zero_matrices(&mut frame, shape);
    let zero = frame.number(0);
    let rounds = frame.rounds;
    let pieces = frame.open(zero, rounds, &zeros);
    for one in &staged {
        let across = one.on == X;
        let loading = Loading {
            thread,
            threads: THREADS,
            start: pieces.variable,
            group: groups[usize::from(!across)],
            extent: if across { shape.columns } else { shape.rows },
            piece: shape.piece,
        };
        loading.load(&mut frame, one)?;
    }
    frame.barrier();
    let corner = corner(&mut frame, simdgroup, shape);
    let sums = multiply(&mut frame, memory, corner, shape, &pieces.carried);
    frame.barrier();
    frame.close(&pieces, shape.piece, &sums);
    store(&mut frame, memory, corner, shape, &pieces.carried);
    frame.barrier();
    let end = frame.number(shape.rows * shape.columns);
    let each = frame.open(thread, end, &[]);
    let columns = frame.number(shape.columns);
    let row = frame.binary(BinaryOp::UDiv, each.variable, columns);
    let column = frame.binary(BinaryOp::URem, each.variable, columns);
    let index = frame.scaled(row, shape.strides()[2], column);
    let place = frame.element(memory, index, Type::F32);
    let access = frame.access(Type::F32);
    let sum = frame.builder().load(Type::F32, place, access);
    let x = frame.scaled(groups[0], shape.columns, column);
    let y = frame.scaled(groups[1], shape.rows, row);
    let mut own = frame.at([Some(x), Some(y)]);
    let start = own.value(&mut frame.target, frame.current, start)?;
    let sum = if frame.target.const_bits(start) == Some(0) {
        sum
    } else {
        frame.binary(BinaryOp::FAdd, start, sum)
    };
    frame.rest([x, y], &[sum])?;
    frame.close(&each, THREADS, &[]);
    let grid = candidate.geometry.grid_threads();
    frame.geometry.grid = Grid::Groups([
        ceil_div(&grid[0], shape.columns),
        ceil_div(&grid[1], shape.rows),
        grid[2].clone(),
    ]);
    frame.allow(THREADS);
    frame.geometry.threadgroup = [THREADS, 1, 1].map(|n| Formula::number(u64::from(n)));
    Ok(Applied {
        candidate: frame.finish(candidate)?,
        class: Class::Reassociating,
    })
}

/// The factors of the product that is summed: the one of the row and the one of the column.
fn factors(site: &Site) -> Result<[Value; 2], Refusal> {
    let refuse = |why: &str| Err(Refusal::new(RefusalKind::NothingToDo, why));
    let function = &site.function;
    let [reduction] = site.reductions.as_slice() else {
        return refuse("the loop does not have exactly one sum");
    };
    if function.ty(reduction.param) != Type::F32 {
        return refuse("the sum is not in single precision");
    }
    let Some([a, b]) = product(function, reduction.next, reduction.param) else {
        return refuse("the sum is not one of products");
    };
    let on = |value: Value| site.depends(value) & !ROUND;
    match (on(a), on(b)) {
        (Y, X) => Ok([a, b]),
        (X, Y) => Ok([b, a]),
        _ => refuse("the factors do not depend on the row and the column, one each"),
    }
}

/// The factors of what is added to a sum.
fn product(function: &Function, next: Value, sum: Value) -> Option<[Value; 2]> {
    let factors = |value: Value| match *function.def_data(value)? {
        InstData::Binary {
            op: BinaryOp::FMul,
            args,
            ..
        } => Some(args),
        _ => None,
    };
    match *function.def_data(next)? {
        InstData::Ternary {
            op: TernaryOp::Fma,
            args: [a, b, c],
            ..
        } if c == sum => Some([a, b]),
        InstData::Binary {
            op: BinaryOp::FAdd,
            args: [a, b],
            ..
        } if a == sum => factors(b),
        InstData::Binary {
            op: BinaryOp::FAdd,
            args: [a, b],
            ..
        } if b == sum => factors(a),
        _ => None,
    }
}

/// The array of a factor.
fn staged(frame: &mut Frame<'_>, value: Value, on: u8, memory: Value, shape: Shape) -> Staged {
    let site = frame.site;
    let rounds_first = source(&site.function, value).is_some_and(|(pointer, bytes)| {
        let inner = |value: Value| site.counted.makes(&site.function, value);
        let variable = site.counted.test.induction.param;
        stride(&site.function, pointer, variable, &inner) == Some(i64::from(bytes))
    });
    let [first, second, _] = shape.strides();
    let (array, position_step, round_step) = if on == Y {
        (memory, first, 1)
    } else {
        let start = frame.number(shape.second());
        (frame.element(memory, start, Type::F32), 1, second)
    };
    Staged {
        value,
        on,
        element: Type::F32,
        array,
        position_step,
        round_step,
        rounds_first,
    }
}

/// The address a factor is read from, and the bytes of a number there.
fn source(function: &Function, mut value: Value) -> Option<(Value, u32)> {
    for _ in 0..8 {
        match *function.def_data(value)? {
            InstData::Load { ptr, .. } => {
                return Some((ptr, function.ty(value).element()?.bytes()));
            }
            InstData::Cast {
                op: CastOp::FConvert | CastOp::Bitcast,
                arg,
                ..
            } => value = arg,
            InstData::Binary { args: [a, _], .. } => value = a,
            _ => return None,
        }
    }
    None
}

fn zero_matrices(frame: &mut Frame<'_>, shape: Shape) -> Vec<Value> {
    let nothing = frame.target.f32(0.0);
    let count = shape.down() * shape.across();
    let ty = Type::matrix(Scalar::F32);
    let filled = Builtin::MatrixFilled.call();
    let zero = frame.target.zero(ty);
    (0..count)
        .map(|_| {
            frame
                .builder()
                .builtin(filled, &[nothing], ty)
                .unwrap_or(zero)
        })
        .collect()
}

/// The first row and column of a simdgroup's part of the tile.
fn corner(frame: &mut Frame<'_>, simdgroup: Value, shape: Shape) -> [Value; 2] {
    let side = frame.number(SIMDGROUPS);
    let down = frame.binary(BinaryOp::UDiv, simdgroup, side);
    let across = frame.binary(BinaryOp::URem, simdgroup, side);
    let rows = frame.number(shape.rows / SIMDGROUPS);
    let columns = frame.number(shape.columns / SIMDGROUPS);
    [
        frame.binary(BinaryOp::Mul, down, rows),
        frame.binary(BinaryOp::Mul, across, columns),
    ]
}

/// The address of a matrix in threadgroup memory: `start + row * stride + column`.
fn matrix_place(
    frame: &mut Frame<'_>,
    memory: Value,
    [row, column]: [Value; 2],
    [down, across]: [u32; 2],
    (start, stride): (u32, u32),
) -> Value {
    let down = frame.number(down);
    let row = frame.binary(BinaryOp::Add, row, down);
    let offset = frame.number(start + across);
    let column = frame.binary(BinaryOp::Add, column, offset);
    let index = frame.scaled(row, stride, column);
    frame.element(memory, index, Type::F32)
}

/// Multiplies the tiles and adds the products to sums.
fn multiply(
    frame: &mut Frame<'_>,
    memory: Value,
    [row, column]: [Value; 2],
    shape: Shape,
    sums: &[Value],
) -> Vec<Value> {
    let mut sums = sums.to_vec();
    let zero = frame.number(0);
    let [first, second, _] = shape.strides();
    for round in (0..shape.piece).step_by(SIDE as usize) {
        let left: Vec<Value> = (0..shape.down())
            .map(|i| {
                let at = [i * SIDE, round];
                let place = matrix_place(frame, memory, [row, zero], at, (0, first));
                load_matrix(frame, place, first)
            })
            .collect();
        let right: Vec<Value> = (0..shape.across())
            .map(|j| {
                let at = [round, j * SIDE];
                let start = (shape.second(), second);
                let place = matrix_place(frame, memory, [zero, column], at, start);
                load_matrix(frame, place, second)
            })
            .collect();
        for (i, &a) in left.iter().enumerate() {
            for (j, &b) in right.iter().enumerate() {
                let sum = &mut sums[i * right.len() + j];
                let call = Builtin::MatrixMultiplyAdd.call();
                let ty = Type::matrix(Scalar::F32);
                let added = frame.builder().builtin(call, &[a, b, *sum], ty);
                *sum = added.unwrap_or(*sum);
            }
        }
    }
    sums
}

/// Elements per row, origin and direction of a matrix in memory.
fn layout(frame: &mut Frame<'_>, stride: u32) -> [Value; 3] {
    let stride = frame.target.i64(i64::from(stride));
    let origin = frame.target.zero(Type::vector(Scalar::I64, 2));
    let transposed = frame.target.bool(false);
    [stride, origin, transposed]
}

fn load_matrix(frame: &mut Frame<'_>, place: Value, stride: u32) -> Value {
    let [stride, origin, transposed] = layout(frame, stride);
    let ty = Type::matrix(Scalar::F32);
    let zero = frame.target.zero(ty);
    let call = Builtin::MatrixLoad.call();
    let args = [place, stride, origin, transposed];
    frame.builder().builtin(call, &args, ty).unwrap_or(zero)
}

/// Stores the sums where the tiles were.
fn store(frame: &mut Frame<'_>, memory: Value, corner: [Value; 2], shape: Shape, sums: &[Value]) {
    let stride = shape.strides()[2];
    let across = shape.across();
    for (at, &sum) in (0u32..).zip(sums) {
        let at = [at / across * SIDE, at % across * SIDE];
        let place = matrix_place(frame, memory, corner, at, (0, stride));
        let [stride, origin, transposed] = layout(frame, stride);
        let call = Builtin::MatrixStore.call();
        let args = [sum, place, stride, origin, transposed];
        frame.builder().builtin(call, &args, Type::VOID);
    }
}

fn propose(_: &Candidate) -> Vec<Step> {
    let shapes = [
        (32, 32, 16),
        (64, 32, 16),
        (64, 64, 16),
        (32, 32, 32),
        (16, 16, 16),
    ];
    let steps = shapes
        .into_iter()
        .filter_map(|(m, n, k)| Step::new(RECIPE.id, &[("m", m), ("n", n), ("k", k)]));
    steps.collect()
}
