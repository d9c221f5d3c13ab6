//! Whole small kernels.

use crate::common::{compile, kernel, listing, run};

/// A row of a times a column of b, 4 × 4, as a loop over k.
const MATMUL: &str = "
exec
%0: 2   ; row * 4
%1: 2   ; column
%2: 2   ; k
%3: 2   ; sum
%4: 2
%5: 2
%6: 2
%7: 2
%8: 2
mb0 -> mb1 depth 0
  get_sr %0, sr80
  and %1, %0, 3
  bfeil %8, 0, %0, 2
  bfi %0, 0, %8, 2
  copy %2 = 0, %3 = 0
mb1 -> mb1, mb2 depth 1
  iadd %4, %0, %2
  device_load 0, i32, x, %5, u0_u1, %4, unsigned !alias 0
  imadd %6, %2, 4, %1
  device_load 0, i32, x, %7, u2_u3, %6, unsigned !alias 1
  fmadd32 %3, %5, %7, %3
  iadd %2, %2, 1
  while_icmp r0l, ult, %2, 4, 2
  jmp_exec_any mb1
mb2 depth 0
  pop_exec r0l, 2
  iadd %4, %0, %1
  device_store 0, i32, x, %3, u4_u5, %4, unsigned, 0 !alias 2
  stop
";

#[test]
fn a_loop_of_multiply_adds() {
    let program = compile(MATMUL, 256);
    let float = |x: f32| x.to_bits();
    let a: Vec<u32> = (0..64).map(|n| float(n as f32)).collect();
    let b: Vec<u32> = (0..16).map(|n| float(1.0 + n as f32)).collect();
    let out = run(&program, &[a, b, vec![0; 64]]).unwrap();
    let expected: Vec<u32> = (0..64)
        .map(|at| {
            let (row, column) = (at / 4, at % 4);
            let sum: f32 = (0..4)
                .map(|k| (row * 4 + k) as f32 * (1 + k * 4 + column) as f32)
                .sum();
            float(sum)
        })
        .collect();
    assert_eq!(out[2], expected, "{}", listing(&program));
}

#[test]
fn text_is_read_back_as_it_was_written() {
    let function = kernel(MATMUL, 256).main;
    let text = function.to_string();
    assert_eq!(text.parse(), Ok(function), "{text}");
}
