//! How fast 32 lanes are computed, plain and with AVX2 and FMA: `cargo bench -p assay-num`.

use assay_num::lanes::Lanes;
use assay_num::math::{fast, precise};
use assay_num::{f16_to_f32, f32_to_f16, half, hardware, map_lanes, matrix, reduce, single};
use divan::counter::ItemsCount;

fn main() {
    divan::main();
}

fn sample(offset: f32) -> Lanes<f32> {
    std::array::from_fn(|lane| offset + lane as f32 * 0.37)
}

fn halves() -> Lanes<u16> {
    map_lanes!(f32_to_f16, &sample(0.5))
}

macro_rules! both {
    ($name:ident, |$a:ident, $b:ident, $c:ident| $body:expr) => {
        #[divan::bench_group]
        mod $name {
            use super::*;

            #[inline(always)]
            fn body($a: &Lanes<f32>, $b: &Lanes<f32>, $c: &Lanes<f32>) -> Lanes<f32> {
                let _ = ($b, $c);
                $body
            }

            #[divan::bench]
            fn plain(bencher: divan::Bencher<'_, '_>) {
                let (a, b, c) = (sample(0.1), sample(0.2), sample(0.3));
                bencher.counter(ItemsCount::new(32u32)).bench(|| {
                    let [a, b, c] = divan::black_box([&a, &b, &c]);
                    body(a, b, c)
                });
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,f16c")]
            fn vector_body(a: &Lanes<f32>, b: &Lanes<f32>, c: &Lanes<f32>) -> Lanes<f32> {
                body(a, b, c)
            }

            #[cfg(target_arch = "x86_64")]
            #[divan::bench]
            fn avx2_fma(bencher: divan::Bencher<'_, '_>) {
                let detected =
                    std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma");
                if !detected || !std::is_x86_feature_detected!("f16c") {
                    return;
                }
                let (a, b, c) = (sample(0.1), sample(0.2), sample(0.3));
                bencher.counter(ItemsCount::new(32u32)).bench(|| {
                    let [a, b, c] = divan::black_box([&a, &b, &c]);
                    // SAFETY: the features were detected above.
                    unsafe { vector_body(a, b, c) }
                });
            }
        }
    };
}

both!(add, |a, b, c| map_lanes!(single::add, a, b));
both!(fma, |a, b, c| map_lanes!(single::fma, a, b, c));
both!(min, |a, b, c| map_lanes!(single::min, a, b));
both!(div, |a, b, c| map_lanes!(single::div, a, b));
both!(exp2, |a, b, c| map_lanes!(hardware::exp2, a));
both!(log2, |a, b, c| map_lanes!(hardware::log2, a));
both!(rsqrt, |a, b, c| map_lanes!(hardware::rsqrt, a));
both!(fast_exp, |a, b, c| map_lanes!(fast::exp, a));
both!(precise_exp, |a, b, c| map_lanes!(precise::exp, a));
both!(precise_sin, |a, b, c| map_lanes!(precise::sin, a));
both!(precise_pow, |a, b, c| map_lanes!(precise::pow, a, b));
both!(to_half, |a, b, c| map_lanes!(
    f16_to_f32,
    &map_lanes!(f32_to_f16, a)
));
both!(
    simd_sum,
    |a, b, c| [reduce::reduce(a, !0, reduce::SUM_IDENTITY, single::add); 32]
);
both!(half_fma, |a, b, c| {
    let h = map_lanes!(f32_to_f16, a);
    map_lanes!(f16_to_f32, &map_lanes!(half::fma, &h, &h, &h))
});
both!(matrix_multiply_add, |a, b, c| {
    let (a, b) = (matrix::gather(&[*a, *a]), matrix::gather(&[*b, *b]));
    matrix::scatter(&matrix::multiply_add(&a, &b, &matrix::gather(&[*c, *c])))[0]
});

#[divan::bench]
fn half_add(bencher: divan::Bencher<'_, '_>) {
    let a = halves();
    bencher.counter(ItemsCount::new(32u32)).bench(|| {
        let a = divan::black_box(&a);
        map_lanes!(half::add, a, a)
    });
}
