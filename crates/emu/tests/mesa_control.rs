//! Mesa-compiled kernels whose threads go different ways.
#![allow(clippy::needless_range_loop, reason = "threads and lanes are numbers")]

mod common;
use common::{Kernel, Random, UNTOUCHED, close};

#[test]
fn binary_search_diverges_and_agrees() {
    let mut k = Kernel::open("binary_search");
    let mut random = Random::new(30);
    let mut a: Vec<i32> = (0..200).map(|_| random.below(500) as i32).collect();
    a.sort_unstable();
    let q: Vec<i32> = (0..128).map(|_| random.below(520) as i32 - 10).collect();
    let out = k.out("o", 128);
    k.i32s("a", &a);
    k.i32s("q", &q);
    k.u32("n", 200);
    k.run([128, 1, 1]);
    let expected: Vec<i32> = q
        .iter()
        .map(|key| a.partition_point(|value| value < key) as i32)
        .collect();
    assert_eq!(k.read_i32(out), expected);
}

#[test]
fn bitonic_step_sorts_after_all_steps() {
    let mut data = Random::new(31).u32s(128);
    let mut sorted = data.clone();
    sorted.sort_unstable();
    let mut size = 2;
    while size <= 128 {
        let mut distance = size / 2;
        while distance > 0 {
            let mut k = Kernel::open("bitonic_step");
            let buffer = k.u32s("d", &data);
            k.u32("j", distance);
            k.u32("kk", size);
            k.run([128, 1, 1]);
            data = k.read_u32(buffer);
            distance /= 2;
        }
        size *= 2;
    }
    assert_eq!(data, sorted);
}

#[test]
fn early_return_leaves_in_several_ways() {
    let mut k = Kernel::open("early_return");
    let n = 100;
    let mut random = Random::new(32);
    let mut x = random.f32s(n, -1.0, 4.0);
    x[..4].copy_from_slice(&[-2.0, 1.0005, 1e30, 0.5]);
    let out = k.out("o", n * 11);
    k.f32s("x", &x);
    k.u32("n", n as u32);
    k.run([128, 1, 1]);
    let found = k.read_f32(out);
    for i in 0..n {
        let mut expected = vec![f64::from(f32::from_bits(UNTOUCHED)); 11];
        let mut v = f64::from(x[i]);
        if v < 0.0 {
            expected[0] = 0.0;
        } else {
            let mut left = None;
            for step in 0..10 {
                v = v.sqrt();
                if v < f64::from(1.001f32) {
                    left = Some(f64::from(step));
                    break;
                }
                expected[step as usize] = v;
            }
            expected[0] = left.unwrap_or(v);
        }
        let row: Vec<f32> = (0..11).map(|step| found[i + n * step]).collect();
        close("o", &row, &expected, 1e-5, 0.0);
    }
}

#[test]
fn nested_loops_break_and_continue() {
    let mut k = Kernel::open("nested_loops");
    let mut random = Random::new(33);
    let (n, m) = (6usize, 9usize);
    let mut x: Vec<i32> = (0..n * m).map(|_| random.below(60) as i32 - 20).collect();
    x[3 * m + 5] = 1000;
    x[4 * m + 8] = 3000;
    let out = k.out("o", 64);
    k.i32s("x", &x);
    k.u32("n", n as u32);
    k.u32("m", m as u32);
    k.run([64, 1, 1]);
    let expected: Vec<i32> = (0..64)
        .map(|i: i32| {
            let mut s = 0i32;
            for a in 0..n {
                for b in a..m {
                    let v = x[a * m + b];
                    if v < 0 {
                        continue;
                    }
                    if v == 1000 {
                        break;
                    }
                    for c in 0..v {
                        s = s.wrapping_add(c ^ i);
                    }
                }
                if s > 1_000_000 {
                    break;
                }
            }
            s
        })
        .collect();
    assert_eq!(k.read_i32(out), expected);
}

#[test]
fn switch_case_takes_every_branch() {
    let mut k = Kernel::open("switch_case");
    let mut random = Random::new(34);
    let op: Vec<i32> = (0..128).map(|i| i % 10 - 1).collect();
    let a = random.f32s(128, -3.0, 3.0);
    let b = random.f32s(128, 0.5, 6.0);
    let out = k.out("o", 128 + 1024);
    k.i32s("op", &op);
    k.f32s("a", &a);
    k.f32s("b", &b);
    k.run([128, 1, 1]);
    let found = k.read_f32(out);
    for i in 0..128 {
        let (x, y) = (f64::from(a[i]), f64::from(b[i]));
        let expected = match op[i] {
            0 => x + y,
            1 => x - y,
            2 => x * y,
            3 => x / y,
            4 => x.min(y),
            5 => x.max(y),
            6 => x.sin(),
            7 => (0..y as i32).fold(0.0, |r, _| r * x + 1.0),
            _ => 0.0,
        };
        close("o", &found[i..=i], &[expected], 2e-5, 2e-6);
        let extra = if op[i] == 6 {
            a[i].to_bits()
        } else {
            UNTOUCHED
        };
        assert_eq!(found[i + 1024].to_bits(), extra);
    }
}

#[test]
fn mandelbrot_iterates_until_every_lane_escapes() {
    let mut k = Kernel::open("mandelbrot");
    let (w, maxit) = (32u32, 50);
    let out = k.out("o", (w * w) as usize);
    let (x0, y0, dx) = (-2.0f32, -1.25f32, 0.09375f32);
    k.f32("x0", x0);
    k.f32("y0", y0);
    k.f32("dx", dx);
    k.u32("w", w);
    k.u32("maxit", maxit);
    let counts = k.counted([w, w, 1]);
    assert!(counts.total().divergent > 0);
    let found = k.read_u32(out);
    let mut differing = 0;
    for j in 0..w {
        for i in 0..w {
            let (cx, cy) = (f64::from(x0 + i as f32 * dx), f64::from(y0 + j as f32 * dx));
            let (mut x, mut y, mut it) = (0.0, 0.0, 0);
            while it < maxit && x * x + y * y <= 4.0 {
                (x, y) = (x * x - y * y + cx, 2.0 * x * y + cy);
                it += 1;
            }
            differing += u32::from(found[(j * w + i) as usize] != it);
        }
    }
    // Chaotic points may differ between single and double precision.
    assert!(differing <= 12, "{differing} points of {}", w * w);
}

#[test]
fn loop_unif_bounds_resets_its_accumulator() {
    let mut k = Kernel::open("loop_unif_bounds");
    let x = Random::new(35).f32s(300, 0.0, 4.0);
    let out = k.out("o", 64);
    k.f32s("x", &x);
    k.u32("n", 300);
    k.run([64, 1, 1]);
    let a = x.iter().fold(0.0f32, |a, x| {
        let a = a.mul_add(0.99, *x);
        if a > 100.0 { a - 50.0 } else { a }
    });
    let expected: Vec<f64> = (0..64).map(|i| f64::from(a) + f64::from(i)).collect();
    close("o", &k.read_f32(out), &expected, 1e-5, 0.0);
}

#[test]
fn xorshift_mc_counts_hits() {
    let mut k = Kernel::open("xorshift_mc");
    let (n, seed) = (100u32, 12345u32);
    let out = k.out("o", 64);
    k.u32("n", n);
    k.u32("seed", seed);
    k.run([64, 1, 1]);
    let expected: Vec<f64> = (0..64u32)
        .map(|i| {
            let mut s = i.wrapping_mul(747_796_405).wrapping_add(seed);
            let mut hit = 0;
            for _ in 0..n {
                s ^= s << 13;
                s ^= s >> 17;
                s ^= s << 5;
                let x = (s & 0xffff) as f32 / 65536.0;
                let y = (s >> 16) as f32 / 65536.0;
                hit += u32::from(x * x + y * y < 1.0);
            }
            4.0 * f64::from(hit) / f64::from(n)
        })
        .collect();
    close("o", &k.read_f32(out), &expected, 1e-6, 0.0);
}

#[test]
fn spmv_csr_has_rows_of_different_length() {
    let mut k = Kernel::open("spmv_csr");
    let mut random = Random::new(36);
    let n = 90;
    let mut pointers = vec![0];
    for _ in 0..n {
        pointers.push(pointers[pointers.len() - 1] + random.below(12) as i32);
    }
    let count = pointers[n] as usize;
    let columns: Vec<i32> = (0..count).map(|_| random.below(50) as i32).collect();
    let (v, x) = (random.f32s(count, -1.0, 1.0), random.f32s(50, -1.0, 1.0));
    let out = k.out("y", 128);
    k.i32s("rp", &pointers);
    k.i32s("ci", &columns);
    k.f32s("v", &v);
    k.f32s("x", &x);
    k.u32("n", n as u32);
    k.run([128, 1, 1]);
    let found = k.read_f32(out);
    for r in 0..n {
        let row = pointers[r] as usize..pointers[r + 1] as usize;
        let expected = row.fold(0.0, |a, j| v[j].mul_add(x[columns[j] as usize], a));
        assert_eq!(found[r], expected, "row {r}");
    }
    assert_eq!(found[n].to_bits(), UNTOUCHED);
}

#[test]
fn spinlock_lets_every_thread_in() {
    let mut k = Kernel::open("spinlock");
    let lock = k.u32s("lock", &[0]);
    let counter = k.u32s("ctr", &[0]);
    let outcome = k.run([192, 1, 1]);
    assert!(outcome.in_order);
    assert_eq!(k.read_u32(counter), [192]);
    assert_eq!(k.read_u32(lock), [0]);
}
