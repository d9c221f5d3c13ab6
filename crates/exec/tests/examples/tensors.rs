//! Products, reductions and copies of tensors against double precision: every shape class, tail, type, scope and kind of operand.

use crate::common::{brains, close, f32s, halves, program_of, random, read_halves, run};
use assay_exec::{Buffer, Grid, Program};

const HEAD: &str = "#include <metal_stdlib>
#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;
";

/// `sizes` has M, N, K, and the elements from row to row of the three matrices. With a `step` the kernel loops over K.
const PRODUCT: &str = "
enum kind { to_memory, to_threads, from_threads };
template <typename A, typename B, typename C, int M, int N, int step, bool TA, bool TB, typename Scope, kind Kind>
kernel void product(device A *a, device B *b, device C *c, constant int *sizes, uint2 group [[threadgroup_position_in_grid]]) {
  typedef dextents<int, 2> plane;
  const int K = sizes[2], row = group.y * M, column = group.x * N;
  tensor<device A, plane, tensor_inline> left(a, TA ? plane(sizes[0], K) : plane(K, sizes[0]), array<int, 2>{1, sizes[3]});
  auto right = tensor(b, TB ? plane(K, sizes[1]) : plane(sizes[1], K), array<int, 2>{1, sizes[4]});
  auto out = tensor(c, plane(sizes[1], sizes[0]), array<int, 2>{1, sizes[5]}).slice(column, row);
  constexpr auto mode = step > 0 ? matmul2d_descriptor::mode::multiply_accumulate : matmul2d_descriptor::mode::multiply;
  constexpr auto descriptor = matmul2d_descriptor(M, N, step > 0 ? step : static_cast<int>(dynamic_extent), TA, TB, false, mode);
  matmul2d<descriptor, Scope> op;
  auto sums = op.template get_destination_cooperative_tensor<decltype(left), decltype(right), C>();
  for (int k = 0; k < K; k += step > 0 ? step : K) {
    auto l = left.slice(TA ? row : k, TA ? k : row);
    auto r = right.slice(TB ? k : column, TB ? column : k);
    if constexpr (Kind == to_memory) {
      op.run(l, r, out);
    } else if constexpr (Kind == to_threads) {
      op.run(l, r, sums);
    } else {
      auto own_left = op.template get_left_input_cooperative_tensor<A, B, C>();
      auto own_right = op.template get_right_input_cooperative_tensor<A, B, C>();
      own_left.load(l);
      own_right.load(r);
      op.run(own_left, own_right, sums);
    }
  }
  if constexpr (Kind != to_memory) sums.store(out);
}
";

/// How numbers are stored.
#[derive(Clone, Copy, PartialEq)]
enum Number {
    Half,
    Brain,
    Float,
    Signed,
    Unsigned,
    Wide,
}

impl Number {
    fn name(self) -> &'static str {
        match self {
            Number::Half => "half",
            Number::Brain => "bfloat",
            Number::Float => "float",
            Number::Signed => "char",
            Number::Unsigned => "uchar",
            Number::Wide => "int",
        }
    }

    fn size(self) -> usize {
        match self {
            Number::Half | Number::Brain => 2,
            Number::Float | Number::Wide => 4,
            Number::Signed | Number::Unsigned => 1,
        }
    }

    /// Numbers of this type, and what they are exactly.
    fn random(self, seed: u32, count: usize) -> (Buffer, Vec<f64>) {
        let values = random(seed, count);
        match self {
            Number::Half => halves(&values),
            Number::Brain => brains(&values),
            Number::Float => (f32s(&values), values.iter().map(|&v| v.into()).collect()),
            Number::Signed => {
                let whole: Vec<i8> = values.iter().map(|v| (v * 127.0) as i8).collect();
                let bytes: Vec<u8> = whole.iter().map(|v| v.to_ne_bytes()[0]).collect();
                let exact = whole.iter().map(|&v| v.into()).collect();
                (Buffer::from_bytes(&bytes), exact)
            }
            Number::Unsigned => {
                let whole: Vec<u8> = values.iter().map(|v| (v.abs() * 255.0) as u8).collect();
                let exact = whole.iter().map(|&v| v.into()).collect();
                (Buffer::from_bytes(&whole), exact)
            }
            Number::Wide => panic!("no operand has this type"),
        }
    }

    fn read(self, buffer: &Buffer) -> Vec<f32> {
        match self {
            Number::Half => read_halves(buffer),
            Number::Float => buffer.to_vec(),
            Number::Wide => buffer.to_vec::<i32>().iter().map(|&v| v as f32).collect(),
            _ => panic!("no result has this type"),
        }
    }
}

use Number::{Brain, Float, Half, Signed, Unsigned, Wide};

/// One product: types, tile, step of K (0: all at once), transposed operands, scope, kind.
struct Case {
    name: &'static str,
    types: [Number; 3],
    tile: [usize; 3],
    transposed: [bool; 2],
    scope: &'static str,
    kind: &'static str,
}

/// Sizes M, N, K that tiles divide, and sizes with tails in all three.
const SIZES: [[usize; 3]; 2] = [[64, 64, 32], [50, 37, 29]];
/// The same for products of one thread.
const SMALL: [[usize; 3]; 2] = [[16, 8, 8], [17, 9, 5]];

const fn case(
    name: &'static str,
    types: [Number; 3],
    tile: [usize; 3],
    transposed: [bool; 2],
    scope: &'static str,
    kind: &'static str,
) -> Case {
    Case {
        name,
        types,
        tile,
        transposed,
        scope,
        kind,
    }
}

const NONE: [bool; 2] = [false, false];
const THREAD: &str = "execution_thread";
const ONE: &str = "execution_simdgroup";
const FOUR: &str = "execution_simdgroups<4>";
const HHF: [Number; 3] = [Half, Half, Float];

/// Every value of every column at least once.
#[rustfmt::skip]
const CASES: &[Case] = &[
    case("tiles", HHF, [64, 32, 0], NONE, FOUR, "to_memory"),
    case("steps", HHF, [32, 32, 16], NONE, FOUR, "to_threads"),
    case("steps_in_memory", HHF, [16, 32, 16], NONE, ONE, "to_memory"),
    case("odd_tile", HHF, [24, 40, 0], NONE, ONE, "to_threads"),
    case("odd_step", HHF, [16, 16, 12], NONE, ONE, "to_threads"),
    case("small_tile", HHF, [8, 8, 0], NONE, ONE, "to_threads"),
    case("more_groups_than_fragments", HHF, [16, 16, 0], NONE, FOUR, "to_threads"),
    case("left_transposed", HHF, [32, 16, 0], [true, false], ONE, "to_threads"),
    case("right_transposed", HHF, [32, 16, 0], [false, true], ONE, "to_threads"),
    case("both_transposed", HHF, [16, 32, 0], [true, true], FOUR, "to_memory"),
    case("registers", HHF, [16, 32, 16], NONE, ONE, "from_threads"),
    case("registers_left_transposed", HHF, [32, 16, 16], [true, false], ONE, "from_threads"),
    case("registers_right_transposed", HHF, [16, 32, 32], [false, true], ONE, "from_threads"),
    case("registers_both_transposed", HHF, [16, 16, 16], [true, true], ONE, "from_threads"),
    case("one_thread", HHF, [8, 4, 0], NONE, THREAD, "to_memory"),
    case("one_thread_registers", HHF, [4, 4, 4], [false, true], THREAD, "from_threads"),
    case("halves", [Half, Half, Half], [32, 32, 0], NONE, ONE, "to_threads"),
    case("brains", [Brain, Brain, Float], [32, 32, 0], NONE, ONE, "to_threads"),
    case("floats", [Float, Float, Float], [32, 32, 0], NONE, FOUR, "to_memory"),
    case("half_and_float", [Half, Float, Float], [16, 16, 0], NONE, ONE, "to_threads"),
    case("integers", [Signed, Signed, Wide], [32, 32, 0], NONE, FOUR, "to_threads"),
    case("signed_and_unsigned", [Unsigned, Signed, Wide], [16, 16, 16], NONE, ONE, "from_threads"),
    case("integers_to_float", [Signed, Signed, Float], [16, 16, 0], [false, true], ONE, "to_threads"),
    case("half_and_integers", [Half, Signed, Float], [16, 16, 0], NONE, ONE, "to_threads"),
];

impl Case {
    fn instance(&self) -> String {
        let [a, b, c] = self.types.map(Number::name);
        let ([m, n, k], [ta, tb]) = (self.tile, self.transposed);
        let Case {
            name, scope, kind, ..
        } = self;
        format!(
            "template [[host_name(\"{name}\")]] kernel void product<{a}, {b}, {c}, {m}, {n}, {k}, {ta}, {tb}, {scope}, {kind}>(\
             device {a} *, device {b} *, device {c} *, constant int *, uint2);\n"
        )
    }

    fn check(&self, source: &str) -> Option<()> {
        let program = program_of(source, "tensors.metal", self.name)?;
        let sizes = if self.scope == THREAD { SMALL } else { SIZES };
        for sizes in sizes {
            self.check_at(&program, sizes);
        }
        Some(())
    }

    fn check_at(&self, program: &Program, [m, n, k]: [usize; 3]) {
        let [left_transposed, right_transposed] = self.transposed;
        // Rows lie further apart than they are long.
        let a_row = if left_transposed { m } else { k } + 3;
        let b_row = if right_transposed { k } else { n } + 5;
        let c_row = n + 1;
        let rows = |transposed: bool, plain: usize, other: usize| match transposed {
            true => other,
            false => plain,
        };
        let (a, left) = self.types[0].random(1, a_row * rows(left_transposed, m, k));
        let (b, right) = self.types[1].random(2, b_row * rows(right_transposed, k, n));
        let result = Buffer::zeroed(c_row * m * self.types[2].size());
        let sizes = [m, n, k, a_row, b_row, c_row].map(|size| size as i32);
        let groups = [n.div_ceil(self.tile[1]), m.div_ceil(self.tile[0])];
        let threads = match self.scope {
            THREAD => 1,
            ONE => 32,
            _ => 128,
        };
        let grid = Grid::threads(
            [groups[0] as u32 * threads, groups[1] as u32, 1],
            [threads, 1, 1],
        );
        let buffers = vec![a, b, result, Buffer::from_slice(&sizes)];
        let results = run(program, grid, buffers);
        let got = self.types[2].read(&results[2]);
        let mut expected = vec![0.0; c_row * m];
        for row in 0..m {
            for column in 0..n {
                let at = |values: &[f64], stride: usize, row: usize, column: usize| {
                    values[row * stride + column]
                };
                expected[row * c_row + column] = (0..k)
                    .map(|i| {
                        let a = match left_transposed {
                            true => at(&left, a_row, i, row),
                            false => at(&left, a_row, row, i),
                        };
                        let b = match right_transposed {
                            true => at(&right, b_row, column, i),
                            false => at(&right, b_row, i, column),
                        };
                        a * b
                    })
                    .sum();
            }
        }
        let tolerance = match self.types[2] {
            Number::Wide => 0.0,
            Number::Half => 1e-3,
            _ => 1e-6,
        };
        // Sums of large terms may be small.
        let scale = expected.iter().fold(1.0, |most: f64, v| most.max(v.abs()));
        close(&got, &expected, tolerance * scale);
    }
}

#[test]
fn products_of_every_shape_type_scope_and_operand() {
    let instances: String = CASES.iter().map(Case::instance).collect();
    let source = [HEAD, PRODUCT, &instances].concat();
    for case in CASES {
        if case.check(&source).is_none() {
            return;
        }
    }
}

/// Reads a tile of 16 × 24 of a 24-column matrix, and writes sums of rows, maxima of columns, and the tile with every element divided by
/// its row's sum.
const REDUCTIONS: &str = "
kernel void reductions(device float *x, device float *rows, device float *columns, device float *shares) {
  matmul2d<matmul2d_descriptor(16, 24, 8), execution_simdgroup> op;
  typedef tensor<device float, dextents<int, 2>, tensor_inline> plane;
  auto tile = op.get_destination_cooperative_tensor<plane, plane, float>();
  tile.load(tensor(x, dextents<int, 2>(24, 13)));
  auto sums = op.get_row_reduction_destination_cooperative_tensor<plane, plane, float>();
  auto most = op.get_column_reduction_destination_cooperative_tensor<plane, plane, float>();
  reduce_rows(tile, sums);
  reduce_columns(tile, most, reduction_operation::max, reduction_operation_identity<float>::max_identity);
  sums.store(tensor(rows, dextents<int, 1>(16)));
  most.store(tensor(columns, dextents<int, 1>(24)));
  if (is_iterator_compatible(tile, sums)) {
    for (auto it = tile.begin(); it != tile.end(); it++) *it /= *sums.map_iterator(it) + 1000;
  }
  for (ushort i = 0; i < tile.get_capacity(); i++) {
    auto at = tile.get_multidimensional_index(i);
    if (tile.is_valid_element(i) && at[1] < 13) shares[at[1] * 24 + at[0]] = tile[i];
  }
}
";

#[test]
fn reductions_of_rows_and_columns_and_the_way_back() {
    let source = [HEAD, REDUCTIONS].concat();
    let Some(program) = program_of(&source, "tensors.metal", "reductions") else {
        return;
    };
    let x = random(5, 24 * 13);
    let buffers = vec![
        f32s(&x),
        Buffer::zeroed(64),
        Buffer::zeroed(96),
        Buffer::zeroed(24 * 13 * 4),
    ];
    let results = run(&program, Grid::line(32, 32), buffers);
    let row = |row: usize| x.chunks(24).nth(row).unwrap_or_default();
    let sum = |at: usize| row(at).iter().map(|&v| f64::from(v)).sum::<f64>();
    let sums: Vec<f64> = (0..16).map(sum).collect();
    close(&results[1].to_vec::<f32>(), &sums, 1e-6);
    // The rows that the tensor does not have are zeros.
    let most = |column: usize| (0..13).map(|at| row(at)[column]).fold(0.0, f32::max);
    let most: Vec<f64> = (0..24).map(|column| most(column).into()).collect();
    close(&results[2].to_vec::<f32>(), &most, 0.0);
    let shares: Vec<f64> = (0..24 * 13)
        .map(|at| f64::from(x[at]) / (sums[at / 24] + 1000.0))
        .collect();
    close(&results[3].to_vec::<f32>(), &shares, 1e-6);
}

/// Elements by several indices, slices of slices, extents that the type knows, strides, and threadgroup memory.
const VIEWS: &str = "
kernel void views(device float *x, device int *facts, uint i [[thread_index_in_threadgroup]]) {
  threadgroup float shared[4 * 8];
  auto cube = tensor(x, extents<int, 4, dynamic_extent, 3>(8));
  auto local = tensor(shared, dextents<int, 2>(4, 8));
  local[i % 4, i / 4] = cube[i % 4, i / 4, 2];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  auto part = cube.slice(1, 2, 1).slice<2, 3, 1>(1, 1, 0);
  array<int, 3> at = {{0, 1, 0}};
  if (i < 6) part[i % 2, i / 2, 0] = local[i % 2, i / 2] + 100;
  if (i == 0) {
    facts[0] = part.get_extent(0); facts[1] = part.get_extent(1); facts[2] = part.get_extent(2);
    facts[3] = cube.get_stride(2); facts[4] = cube.get_extent(1); facts[5] = int(cube.get_rank());
    facts[6] = int(decltype(part)::static_extent(1)); facts[7] = int(cube.slice(1, 2, 1).get_extent(1));
    facts[8] = int(&part[at] - x);
  }
}
";

#[test]
fn views_of_memory_have_extents_strides_and_slices() {
    let source = [HEAD, VIEWS].concat();
    let Some(program) = program_of(&source, "tensors.metal", "views") else {
        return;
    };
    let x: Vec<f32> = (0..96u8).map(f32::from).collect();
    let buffers = vec![f32s(&x), Buffer::zeroed(36)];
    let results = run(&program, Grid::line(32, 32), buffers);
    let facts = results[1].to_vec::<i32>();
    assert_eq!(facts, [2, 3, 1, 32, 8, 3, 3, 6, 32 + 4 * 4 + 2]);
    let mut expected: Vec<f64> = x.iter().map(|&v| f64::from(v)).collect();
    for i in 0..6 {
        let (column, row) = (i % 2, i / 2);
        expected[32 + (row + 3) * 4 + column + 2] = (64 + row * 4 + column + 100) as f64;
    }
    close(&results[0].to_vec::<f32>(), &expected, 0.0);
}

/// Tiles of 4 × 3 pixels and 8 channels of a convolution with windows of 3 × 2, strides 1 and 2, dilations 2 and 1, and a border of one.
const CONVOLUTION: &str = "
template <typename Scope, bool adds> kernel void convolution(device half *x, device half *w, device float *d, uint3 group [[threadgroup_position_in_grid]]) {
  typedef dextents<int, 4> space;
  auto image = tensor(x, space(5, 9, 7, 2));
  auto weights = tensor(w, space(11, 5, 3, 2));
  auto out = tensor(d, space(11, 7, 4, 2));
  constexpr auto mode = adds ? convolution2d_descriptor::mode::multiply_accumulate : convolution2d_descriptor::mode::multiply;
  constexpr auto descriptor = convolution2d_descriptor(int4(8, 4, 3, 1), int4(5, 9, 7, 1), int2(3, 2), convolution2d_activation_layout::nhwc,
                                                       convolution2d_weights_layout::hwio, int2(1, 2), int2(2, 1), 1, false, mode);
  convolution2d<descriptor, Scope> op;
  const int channel = group.x % 2 * 8, left = group.x / 2 * 4, top = group.y * 3;
  op.set_offsets(int2(left - 1 + 2, top * 2 - 1 + 1));
  auto pixels = image.slice(0, 0, 0, group.z);
  auto part = weights.slice(channel, 0, 0, 0);
  auto to = out.slice(channel, left, top, group.z);
  if constexpr (adds) {
    op.run(pixels, part, to);
  } else {
    auto tile = op.template get_destination_cooperative_tensor<decltype(pixels), decltype(part), float>();
    op.run(pixels, part, tile);
    for (ushort i = 0; i < tile.get_capacity(); i++) {
      auto at = tile.get_multidimensional_index(i);
      if (tile.is_valid_element(i)) tile[i] += at[1];
    }
    tile.store(to);
  }
}
template [[host_name(\"convolution_in_registers\")]] kernel void convolution<execution_simdgroup, false>(device half *, device half *, device float *, uint3);
template [[host_name(\"convolution_in_memory\")]] kernel void convolution<execution_simdgroups<4>, true>(device half *, device half *, device float *, uint3);
";

#[test]
fn convolutions_with_strides_dilations_borders_and_tails() {
    let source = [HEAD, CONVOLUTION].concat();
    for (kernel, threads) in [
        ("convolution_in_registers", 32),
        ("convolution_in_memory", 128),
    ] {
        let Some(program) = program_of(&source, "tensors.metal", kernel) else {
            return;
        };
        let (x, image) = halves(&random(1, 5 * 9 * 7 * 2));
        let (w, weights) = halves(&random(2, 11 * 5 * 3 * 2));
        let adds = threads == 128;
        let before = if adds { 3.0 } else { 0.0 };
        let buffers = vec![x, w, f32s(&[before; 11 * 7 * 4 * 2])];
        let grid = Grid::threads([4 * threads, 2, 2], [threads, 1, 1]);
        let results = run(&program, grid, buffers);
        let pixel = |c: usize, x: i32, y: i32, n: usize| match (
            usize::try_from(x).ok().filter(|x| *x < 9),
            usize::try_from(y).ok().filter(|y| *y < 7),
        ) {
            (Some(x), Some(y)) => image[((n * 7 + y) * 9 + x) * 5 + c],
            _ => 0.0,
        };
        let mut expected = Vec::new();
        for (n, y, x, o) in (0..2 * 4 * 7 * 11).map(|i| (i / 308, i / 77 % 4, i / 11 % 7, i % 11)) {
            let mut sum = if adds { 3.0 } else { f64::from(x % 4) };
            for (c, i, j) in (0..5 * 3 * 2).map(|at| (at % 5, at / 5 % 3, at / 15)) {
                let (to_x, to_y) = (x + 2 * i - 1, y * 2 + j - 1);
                let weight =
                    weights[((j as usize * 3 + i as usize) * 5 + c as usize) * 11 + o as usize];
                sum += pixel(c as usize, to_x, to_y, n as usize) * weight;
            }
            expected.push(sum);
        }
        close(&results[2].to_vec::<f32>(), &expected, 2e-6);
    }
}
