//! Half registers on a host that converts halves itself (x86 with F16C): reading them as
//! singles, arithmetic, and rounding to them. The meaning is `assay-num`'s.

use crate::op::{Arith, Dest, FloatSource, Part};
use crate::ops::float::modifiers;
use crate::simdgroup::{CHUNKS, Cells, Chunk, Simdgroup};
use assay_num::vector;
use std::arch::x86_64::{
    __m128i, __m256, __m256i, _mm256_and_ps, _mm256_blend_epi16, _mm256_castps_si256,
    _mm256_castsi256_ps, _mm256_castsi256_si128, _mm256_cvtepu16_epi32, _mm256_permute4x64_epi64,
    _mm256_set1_epi32, _mm256_setr_epi8, _mm256_setzero_si256, _mm256_shuffle_epi8,
    _mm256_slli_epi32, _mm256_xor_ps,
};

/// An operation on halves.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum HalfOp {
    Two(Arith),
    Fma,
}

/// For each 128 bits: the low or the high halves of four words, next to each other.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn gathering(part: Part) -> __m256i {
    match part {
        Part::High | Part::HighSigned => _mm256_setr_epi8(
            2, 3, 6, 7, 10, 11, 14, 15, -1, -1, -1, -1, -1, -1, -1, -1, //
            2, 3, 6, 7, 10, 11, 14, 15, -1, -1, -1, -1, -1, -1, -1, -1,
        ),
        _ => _mm256_setr_epi8(
            0, 1, 4, 5, 8, 9, 12, 13, -1, -1, -1, -1, -1, -1, -1, -1, //
            0, 1, 4, 5, 8, 9, 12, 13, -1, -1, -1, -1, -1, -1, -1, -1,
        ),
    }
}

/// The halves that [`gathering`] picks, as singles.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn widen(chunk: &Chunk, gathering: __m256i) -> __m256 {
    let picked = _mm256_shuffle_epi8(vector::words(chunk.0), gathering);
    let together = _mm256_permute4x64_epi64::<0b1000>(picked);
    vector::widen(_mm256_castsi256_si128(together))
}

/// Leaves a half register as single-precision bits in `out`, with the one NaN.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub(crate) fn widen_row(row: &Cells, part: Part, out: &Cells) {
    let gathering = gathering(part);
    for chunk in 0..CHUNKS {
        let wide = vector::canonical(widen(&row[chunk].get(), gathering));
        out[chunk].set(Chunk(vector::from_words(_mm256_castps_si256(wide))));
    }
}

/// Rounds single-precision bits to a half register.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub(crate) fn narrow_row(simdgroup: &Simdgroup, row: &Cells, to: Dest) {
    let mut halves = [vector::halves([0; 8]); CHUNKS];
    for (half, chunk) in halves.iter_mut().zip(row) {
        let wide = _mm256_castsi256_ps(vector::words(chunk.get().0));
        *half = vector::narrow(wide);
    }
    write(simdgroup, to, &halves);
}

/// Computes `op` of three sources (two, repeated, where it has two) and writes it.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub(crate) fn arithmetic(
    simdgroup: &Simdgroup,
    op: HalfOp,
    to: Dest,
    sources: [FloatSource; 3],
    saturate: bool,
) {
    let modified = sources.iter().any(|source| source.abs || source.neg);
    let halves = match (op, modified || saturate) {
        (HalfOp::Two(Arith::Add), false) => sum(simdgroup, sources),
        (HalfOp::Two(Arith::Mul), false) => product(simdgroup, sources),
        (HalfOp::Fma, false) => fused(simdgroup, sources),
        (op, true) => modified_arithmetic(simdgroup, op, sources, saturate),
    };
    write(simdgroup, to, &halves);
}

/// Eight lanes at a time, as halves.
type Halves = [__m128i; CHUNKS];

#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn sum(simdgroup: &Simdgroup, [a, b, _]: [FloatSource; 3]) -> Halves {
    let (rows_a, rows_b) = (simdgroup.source(a.source), simdgroup.source(b.source));
    let (pick_a, pick_b) = (gathering(a.source.part), gathering(b.source.part));
    let mut halves = [vector::halves([0; 8]); CHUNKS];
    for chunk in 0..CHUNKS {
        let (a, b) = (rows_a[chunk].get(), rows_b[chunk].get());
        halves[chunk] = vector::narrow(vector::add(widen(&a, pick_a), widen(&b, pick_b)));
    }
    halves
}

#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn product(simdgroup: &Simdgroup, [a, b, _]: [FloatSource; 3]) -> Halves {
    let (rows_a, rows_b) = (simdgroup.source(a.source), simdgroup.source(b.source));
    let (pick_a, pick_b) = (gathering(a.source.part), gathering(b.source.part));
    let mut halves = [vector::halves([0; 8]); CHUNKS];
    for chunk in 0..CHUNKS {
        let (a, b) = (rows_a[chunk].get(), rows_b[chunk].get());
        halves[chunk] = vector::narrow(vector::mul(widen(&a, pick_a), widen(&b, pick_b)));
    }
    halves
}

#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn fused(simdgroup: &Simdgroup, sources: [FloatSource; 3]) -> Halves {
    let [rows_a, rows_b, rows_c] = sources.map(|from| simdgroup.source(from.source));
    let pick_a = gathering(sources[0].source.part);
    let pick_b = gathering(sources[1].source.part);
    let pick_c = gathering(sources[2].source.part);
    let mut halves = [vector::halves([0; 8]); CHUNKS];
    for chunk in 0..CHUNKS {
        let a = widen(&rows_a[chunk].get(), pick_a);
        let b = widen(&rows_b[chunk].get(), pick_b);
        let c = widen(&rows_c[chunk].get(), pick_c);
        halves[chunk] = vector::narrow(vector::fma(a, b, c));
    }
    halves
}

/// Any operation with modifiers or saturation.
#[inline(never)]
#[target_feature(enable = "avx2,fma,f16c")]
fn modified_arithmetic(
    simdgroup: &Simdgroup,
    op: HalfOp,
    sources: [FloatSource; 3],
    saturate: bool,
) -> Halves {
    let mut halves = [vector::halves([0; 8]); CHUNKS];
    for (chunk, half) in halves.iter_mut().enumerate() {
        let mut values = [_mm256_castsi256_ps(_mm256_setzero_si256()); 3];
        for (value, from) in values.iter_mut().zip(sources) {
            let (keep, flip) = modifiers(from);
            let row = simdgroup.source(from.source);
            let wide = widen(&row[chunk].get(), gathering(from.source.part));
            let keep = _mm256_castsi256_ps(_mm256_set1_epi32(keep.cast_signed()));
            let flip = _mm256_castsi256_ps(_mm256_set1_epi32(flip.cast_signed()));
            *value = _mm256_xor_ps(_mm256_and_ps(wide, keep), flip);
        }
        let [a, b, c] = values;
        let result = match op {
            HalfOp::Two(Arith::Add) => vector::add(a, b),
            HalfOp::Two(Arith::Mul) => vector::mul(a, b),
            HalfOp::Fma => vector::fma(a, b, c),
        };
        *half = vector::narrow(match saturate {
            true => vector::saturate(result),
            false => result,
        });
    }
    halves
}

/// Writes the executing lanes of a half register.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn write(simdgroup: &Simdgroup, to: Dest, halves: &Halves) {
    let register = simdgroup.register(to.row);
    let high = matches!(to.part, Part::High | Part::HighSigned);
    let lane_mask = simdgroup.lane_mask();
    for chunk in 0..CHUNKS {
        let old = register[chunk].get();
        let wide = _mm256_cvtepu16_epi32(halves[chunk]);
        let mut out = vector::from_words(match high {
            false => _mm256_blend_epi16::<0x55>(vector::words(old.0), wide),
            true => _mm256_blend_epi16::<0xaa>(vector::words(old.0), _mm256_slli_epi32::<16>(wide)),
        });
        if simdgroup.exec != u32::MAX {
            let lanes = lane_mask[chunk].get().0;
            for ((new, old), lane) in out.iter_mut().zip(old.0).zip(lanes) {
                *new = old ^ ((old ^ *new) & lane);
            }
        }
        register[chunk].set(Chunk(out));
    }
}
