//! Example kernels whose threads do not talk to each other, against double precision.

use crate::common::{close, example, f32s, random, run, u32s};
use assay_exec::{Buffer, Grid};

#[test]
fn relu() {
    let Some(program) = example("relu.metal", "relu") else {
        return;
    };
    let x = random(1, 1000);
    let result = run(
        &program,
        Grid::line(1000, 96),
        vec![f32s(&x), Buffer::zeroed(4000)],
    );
    let expected: Vec<f64> = x.iter().map(|&x| f64::from(x).max(0.0)).collect();
    close(&result[1].to_vec::<f32>(), &expected, 0.0);
}
