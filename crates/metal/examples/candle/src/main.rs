//! Layers of a transformer on candle's Metal device: `layers plain|fused [STEPS]`. Plain writes norms and softmax out as operations on
//! tensors, fused calls the one kernel that candle has for each. Every step is compared with the CPU.

use candle_core::{Device, Result, Tensor};
use candle_nn::ops;

const WIDTHS: [usize; 3] = [512, 1024, 2048];
const RANKS: [usize; 5] = [4, 8, 16, 32, 64];

/// Numbers between -1 and 1 that are the same on every device.
fn numbers(rows: usize, columns: usize, device: &Device) -> Result<Tensor> {
    let at = |n: usize| (n.wrapping_mul(2_654_435_761) >> 9 & 0xffff) as f32 / 32_768.0 - 1.0;
    let all: Vec<f32> = (0..rows * columns).map(at).collect();
    Tensor::from_vec(all, (rows, columns), device)
}

/// A linear layer with a low-rank addition.
struct Lora {
    weight: Tensor,
    down: Tensor,
    up: Tensor,
}

impl Lora {
    fn new(width: usize, rank: usize, device: &Device) -> Result<Self> {
        Ok(Self {
            weight: numbers(width, width, device)?,
            down: numbers(width, rank, device)?,
            up: numbers(rank, width, device)?,
        })
    }

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let added = (x.matmul(&self.down)?.matmul(&self.up)? * 2.0)?;
        x.matmul(&self.weight)? + added
    }
}

fn softmax(x: &Tensor, fused: bool) -> Result<Tensor> {
    if fused {
        return ops::softmax_last_dim(x);
    }
    let powers = x.broadcast_sub(&x.max_keepdim(1)?)?.exp()?;
    powers.broadcast_div(&powers.sum_keepdim(1)?)
}

fn rms_norm(x: &Tensor, weight: &Tensor, fused: bool) -> Result<Tensor> {
    if fused {
        return ops::rms_norm(x, weight, 1e-5);
    }
    let square = (x.sqr()?.mean_keepdim(1)? + 1e-5)?;
    x.broadcast_div(&square.sqrt()?)?.broadcast_mul(weight)
}

fn layer_norm(x: &Tensor, weight: &Tensor, fused: bool) -> Result<Tensor> {
    let zeros = weight.zeros_like()?;
    if fused {
        return ops::layer_norm(x, weight, &zeros, 1e-5);
    }
    let x = x.broadcast_sub(&x.mean_keepdim(1)?)?;
    rms_norm(&x, weight, false)?.broadcast_add(&zeros)
}

/// What a step makes, for one device.
fn step(device: &Device, fused: bool) -> Result<Vec<Tensor>> {
    let mut made = Vec::new();
    let eighth = WIDTHS.map(|width| (width, 8));
    for (width, rank) in eighth.into_iter().chain(RANKS.map(|rank| (1024, rank))) {
        let x = numbers(1, width, device)?;
        made.push(Lora::new(width, rank, device)?.forward(&x)?);
    }
    let x = numbers(64, 1024, device)?;
    let weight = numbers(1, 1024, device)?.squeeze(0)?;
    made.push(softmax(&x, fused)?);
    made.push(rms_norm(&x, &weight, fused)?);
    made.push(layer_norm(&x, &weight, fused)?);
    Ok(made)
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let fused = match arguments.first().map(String::as_str) {
        Some("plain") => false,
        Some("fused") => true,
        _ => {
            eprintln!("layers plain|fused [STEPS]");
            std::process::exit(2);
        }
    };
    let steps = arguments.get(1).and_then(|text| text.parse().ok()).unwrap_or(4);
    let (gpu, cpu) = (Device::new_metal(0)?, Device::Cpu);
    let expected = step(&cpu, false)?;
    let mut worst = 0f32;
    for _ in 0..steps {
        for (got, expected) in step(&gpu, fused)?.iter().zip(&expected) {
            let difference = (got.to_device(&cpu)? - expected)?.abs()?;
            let largest = expected.abs()?.flatten_all()?.max(0)?.to_scalar::<f32>()?;
            let most = difference.flatten_all()?.max(0)?.to_scalar::<f32>()?;
            worst = worst.max(most / largest);
        }
    }
    println!("{steps} steps, largest difference from the CPU {worst:.1e} of the largest value");
    Ok(())
}
