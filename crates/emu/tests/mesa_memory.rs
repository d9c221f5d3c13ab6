//! Mesa-compiled kernels that use threadgroup memory, atomics and the stack.
#![allow(clippy::needless_range_loop, reason = "threads and lanes are numbers")]

mod common;
use common::{Kernel, Random, close, doubles, from_half, to_half};

#[test]
fn reduce_sum_adds_through_threadgroup_memory() {
    let mut k = Kernel::open("reduce_sum");
    let x = Random::new(40).f32s(1000, -1.0, 1.0);
    let out = k.out("o", 3);
    k.f32s("x", &x);
    k.u32("n", 1000);
    for (half, groups) in [(10, 3), (12, 1), (14, 1)] {
        k.uniform(half, groups);
    }
    k.run([384, 1, 1]);
    let expected: Vec<f64> = (0..3)
        .map(|group| {
            let mine = |i: &usize| i % 384 / 128 == group;
            (0..1000).filter(mine).map(|i| f64::from(x[i])).sum()
        })
        .collect();
    close("o", &k.read_f32(out), &expected, 1e-5, 1e-5);
}

#[test]
fn dot_product_reduces_in_two_steps() {
    let mut k = Kernel::open("dot_product");
    let mut random = Random::new(41);
    let n = 200;
    let (a, b) = (random.f32s(4 * n, -1.0, 1.0), random.f32s(4 * n, -1.0, 1.0));
    let out = k.out("o", 4);
    k.f32s("a", &a);
    k.f32s("b", &b);
    k.u32("n", n as u32);
    k.run([256, 1, 1]);
    let product = |i: usize| f64::from(a[i]) * f64::from(b[i]);
    let expected: Vec<f64> = (0..4)
        .map(|group| {
            (group * 256..(group * 256 + 256).min(4 * n))
                .map(product)
                .sum()
        })
        .collect();
    close("o", &k.read_f32(out), &expected, 1e-5, 1e-5);
}

#[test]
fn argmax_finds_the_first_largest() {
    let mut k = Kernel::open("argmax");
    let mut x = Random::new(42).f32s(1000, -1.0, 1.0);
    x[777] = 5.0;
    x[345] = 5.0;
    let out = k.out("o", 1);
    k.f32s("x", &x);
    k.u32("n", 1000);
    k.run([128, 1, 1]);
    assert_eq!(k.read_i32(out), [345]);
}

#[test]
fn histogram_local_counts_bytes() {
    let mut k = Kernel::open("histogram_local");
    let mut random = Random::new(43);
    let x: Vec<u8> = (0..3000)
        .map(|_| (random.u32() & random.u32()) as u8)
        .collect();
    let out = k.u32s("h", &[0; 256]);
    k.bytes("x", &x);
    k.u32("n", 3000);
    for (half, groups) in [(10, 4), (12, 1), (14, 1)] {
        k.uniform(half, groups);
    }
    k.run([1024, 1, 1]);
    let mut expected = [0; 256];
    x.iter().for_each(|byte| expected[usize::from(*byte)] += 1);
    assert_eq!(k.read_u32(out), expected);
}

#[test]
fn histogram_global_counts_top_bytes() {
    let mut k = Kernel::open("histogram_global");
    let x = Random::new(44).u32s(500);
    let out = k.u32s("h", &[7; 256]);
    k.u32s("x", &x);
    k.u32("n", 450);
    let outcome = k.run([512, 1, 1]);
    assert!(
        !outcome.in_order,
        "additions without result may run in any order"
    );
    let mut expected = [7; 256];
    x[..450]
        .iter()
        .for_each(|value| expected[(value >> 24) as usize] += 1);
    assert_eq!(k.read_u32(out), expected);
}

#[test]
fn atomic_float_cas_adds_every_value() {
    let mut k = Kernel::open("atomic_float_cas");
    let x: Vec<f32> = (0..128).map(|i| i as f32 * 0.25).collect();
    let out = k.f32s("acc", &[10.0]);
    k.f32s("x", &x);
    k.run([128, 1, 1]);
    assert_eq!(k.read_f32(out), [10.0 + x.iter().sum::<f32>()]);
}

#[test]
fn atomics_local_all_work_lane_by_lane() {
    let mut k = Kernel::open("atomics_local_all");
    let x: Vec<i32> = Random::new(45).i32s(64).iter().map(|v| v >> 20).collect();
    let out = k.out("o", 64);
    k.i32s("x", &x);
    k.run([64, 1, 1]);
    // The emulator runs simdgroups in order, and lanes in order within an instruction.
    type Update = fn(i32, i32) -> i32;
    let signed: [(Option<usize>, Update, bool); 9] = [
        (None, |old, v| old.wrapping_add(v), true),
        (Some(1), |old, v| old.wrapping_sub(v), true),
        (Some(2), |_, v| v, true),
        (Some(3), |old, v| old.min(v), true),
        (Some(4), |old, v| old.max(v), true),
        (Some(5), |old, v| old & v, false),
        (Some(6), |old, v| old | v, false),
        (Some(7), |old, v| old ^ v, true),
        (Some(8), |old, v| if old == v { v + 1 } else { old }, true),
    ];
    let (mut s, mut u, mut r) = ([0i32; 16], [0u32; 16], [0i32; 64]);
    for lanes in [0..32, 32..64] {
        for (place, update, wanted) in signed {
            for l in lanes.clone() {
                let place = &mut s[place.unwrap_or(l & 3)];
                let old = std::mem::replace(place, update(*place, x[l]));
                r[l] ^= if wanted { old } else { 0 };
            }
        }
        for l in lanes {
            let v = x[l] as u32;
            let (low, high) = (u[0].min(v), u[1].max(v));
            r[l] ^= std::mem::replace(&mut u[0], low) as i32;
            r[l] ^= std::mem::replace(&mut u[1], high) as i32;
        }
    }
    let expected: Vec<i32> = (0..64)
        .map(|l| r[l].wrapping_add(s[l & 15]).wrapping_add(u[l & 15] as i32))
        .collect();
    assert_eq!(k.read_i32(out), expected);
}

#[test]
fn local_half_char_moves_small_elements() {
    let mut k = Kernel::open("local_half_char");
    let mut random = Random::new(46);
    let x: Vec<u16> = random
        .f32s(128, -8.0, 8.0)
        .into_iter()
        .map(to_half)
        .collect();
    let bytes: Vec<u8> = (0..128).map(|_| random.u32() as u8).collect();
    let halves = k.u16s("o", &[0; 128]);
    k.u16s("x", &x);
    let out_bytes = k.bytes("ob", &[0; 128]);
    k.bytes("xb", &bytes);
    k.run([128, 1, 1]);
    let at = |g: usize, l: usize| from_half(x[g / 64 * 64 + l]);
    let expected: Vec<u16> = (0..128)
        .map(|g| {
            let l = g % 64;
            let partial = from_half(to_half(at(g, l ^ 1) + at(g, l ^ 3)));
            to_half(partial + at(g, l ^ 3))
        })
        .collect();
    assert_eq!(k.read_u16(halves), expected);
    let expected: Vec<u8> = (0..128).map(|g| bytes[g / 64 * 64 + 63 - g % 64]).collect();
    assert_eq!(k.read(out_bytes), expected);
}

fn private_arrays(name: &str, size: usize, f: impl Fn(&mut [f32], &[i32]) -> f32, n: usize) {
    let mut k = Kernel::open(name);
    let mut random = Random::new(47);
    let x = random.f32s(64 * size, -1.0, 1.0);
    let idx: Vec<i32> = random.i32s(n + 1);
    let out = k.out("o", 64);
    k.f32s("x", &x);
    k.i32s("idx", &idx);
    if name != "private_array_dyn" {
        k.u32("n", n as u32);
    }
    k.run([64, 1, 1]);
    let expected: Vec<f32> = x
        .chunks(size)
        .map(|row| f(&mut row.to_vec(), &idx))
        .collect();
    close(name, &k.read_f32(out), &doubles(&expected), 1e-5, 1e-5);
}

#[test]
fn private_array_dyn_selects_by_index() {
    let sum = |a: &mut [f32], idx: &[i32]| idx[..16].iter().map(|i| a[(i & 15) as usize]).sum();
    private_arrays("private_array_dyn", 16, sum, 16);
}

#[test]
fn scratch_dyn_reads_its_stack_by_index() {
    let sum = |a: &mut [f32], idx: &[i32]| idx[..40].iter().map(|i| a[(i & 127) as usize]).sum();
    private_arrays("scratch_dyn", 128, sum, 40);
}

#[test]
fn private_array_big_swaps_on_its_stack() {
    let swaps = |a: &mut [f32], idx: &[i32]| {
        for pair in idx.windows(2) {
            let (p, q) = ((pair[0] & 127) as usize, (pair[1] & 127) as usize);
            let t = a[p];
            a[p] = a[q];
            a[q] = t * 2.0;
        }
        a.iter().sum()
    };
    private_arrays("private_array_big", 128, swaps, 50);
}

fn matmul(a: &[f32], b: &[f32], n: usize, depth: usize, index: usize) -> f64 {
    let (row, column) = (index / n, index % n);
    let product = |i: usize| f64::from(a[row * depth + i]) * f64::from(b[i * n + column]);
    (0..depth).map(product).sum()
}

#[test]
fn matmul_naive_stops_at_its_bounds() {
    let mut k = Kernel::open("matmul_naive");
    let mut random = Random::new(48);
    let (m, n, depth) = (20, 25, 13);
    let (a, b) = (
        random.f32s(m * depth, -1.0, 1.0),
        random.f32s(depth * n, -1.0, 1.0),
    );
    let out = k.out("C", m * n);
    k.f32s("A", &a);
    k.f32s("B", &b);
    k.u32("M", m as u32);
    k.u32("N", n as u32);
    k.u32("Kd", depth as u32);
    k.run([32, 32, 1]);
    let expected: Vec<f64> = (0..m * n).map(|i| matmul(&a, &b, n, depth, i)).collect();
    close("C", &k.read_f32(out), &expected, 1e-5, 1e-5);
}

#[test]
fn matmul_tiled_shares_tiles() {
    let mut k = Kernel::open("matmul_tiled");
    let mut random = Random::new(49);
    let (m, n, depth) = (32, 48, 32);
    let (a, b) = (
        random.f32s(m * depth, -1.0, 1.0),
        random.f32s(depth * n, -1.0, 1.0),
    );
    let out = k.out("C", m * n);
    k.f32s("A", &a);
    k.f32s("B", &b);
    k.u32("M", m as u32);
    k.u32("N", n as u32);
    k.u32("Kd", depth as u32);
    k.run([n as u32, m as u32, 1]);
    let expected: Vec<f64> = (0..m * n).map(|i| matmul(&a, &b, n, depth, i)).collect();
    close("C", &k.read_f32(out), &expected, 1e-5, 1e-5);
}

#[test]
fn matmul_reg4x4_keeps_a_tile_in_registers() {
    let mut k = Kernel::open("matmul_reg4x4");
    let mut random = Random::new(50);
    let (m, n, depth) = (64, 128, 32);
    let (a, b) = (
        random.f32s(m * depth, -1.0, 1.0),
        random.f32s(depth * n, -1.0, 1.0),
    );
    let out = k.out("C", m * n);
    k.f32s("A", &a);
    k.f32s("B", &b);
    k.u32("N", n as u32);
    k.u32("Kd", depth as u32);
    k.run([32, 16, 1]);
    let expected: Vec<f64> = (0..m * n).map(|i| matmul(&a, &b, n, depth, i)).collect();
    close("C", &k.read_f32(out), &expected, 1e-5, 1e-5);
}
