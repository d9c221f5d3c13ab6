//! Opens and runs the programs Mesa's compiler made from OpenCL kernels.
//!
//! Each test file uses the part it needs.
#![allow(dead_code, reason = "shared by several test files")]

pub(crate) mod asm;

use assay_agx::{Isa, Program, UniformConstants};
use assay_container::listing;
use assay_emu::{BufferId, Counts, DeviceMemory, EmuError, Launch, Outcome, run};
use std::path::PathBuf;

/// Where the fixtures are.
pub(crate) fn fixtures() -> PathBuf {
    assay_fixtures::path("agx")
}

/// A kernel with its arguments.
pub(crate) struct Kernel {
    pub(crate) program: Program,
    pub(crate) launch: Launch,
    pub(crate) memory: DeviceMemory,
    pub(crate) source: String,
    arguments: Vec<(String, u16)>,
}

/// A buffer argument.
#[derive(Clone, Copy)]
pub(crate) struct Buffer(BufferId);

fn code(path: &std::path::Path) -> Vec<u8> {
    let text = std::fs::read_to_string(path).unwrap();
    listing::parse(&text).unwrap().bytes
}

impl Kernel {
    /// Opens a kernel.
    pub(crate) fn open(name: &str) -> Kernel {
        let folder = fixtures().join("mesa");
        let text = std::fs::read_to_string(folder.join(format!("{name}.json"))).unwrap();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        let number = |value: &serde_json::Value| value.as_u64().unwrap() as u32;
        let preamble = folder.join(format!("{name}.preamble.tsv"));
        let mut program = Program {
            code: code(&folder.join(format!("{name}.tsv"))),
            threadgroup_bytes: Some(number(&json["local_size_bytes"])),
            scratch_bytes: Some(number(&json["scratch_size_dwords"]) * 4),
            ..Program::new(Isa::G13, name)
        };
        if preamble.exists() {
            program.constant_program = code(&preamble);
        }
        if let Some(hex) = json["rodata"]["hex"].as_str() {
            program.constants.push(UniformConstants {
                first_half: number(&json["rodata"]["base_uniform"]) as u16,
                values: halves(hex),
            });
        }
        let size = |n: usize| number(&json["workgroup_size"][n]);
        let arguments = json["args"].as_array().unwrap().iter();
        Kernel {
            launch: Launch::new([1, 1, 1], [size(0), size(1), size(2)]),
            memory: DeviceMemory::new(),
            source: std::fs::read_to_string(folder.join(format!("{name}.cl"))).unwrap(),
            arguments: arguments
                .map(|argument| {
                    let name = argument["name"].as_str().unwrap().to_owned();
                    (name, number(&argument["uniform16"]) as u16)
                })
                .collect(),
            program,
        }
    }

    fn place(&self, name: &str) -> u16 {
        let found = self.arguments.iter().find(|(argument, _)| argument == name);
        found.unwrap_or_else(|| panic!("no argument `{name}`")).1
    }

    pub(crate) fn bytes(&mut self, name: &str, contents: &[u8]) -> Buffer {
        let buffer = self.memory.add(contents).unwrap();
        let address = self.memory.address(buffer);
        let place = self.place(name);
        self.launch.uniforms.set_u64(place, address).unwrap();
        Buffer(buffer)
    }

    pub(crate) fn f32s(&mut self, name: &str, values: &[f32]) -> Buffer {
        let bytes: Vec<u8> = values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        self.bytes(name, &bytes)
    }

    pub(crate) fn u32s(&mut self, name: &str, values: &[u32]) -> Buffer {
        let bytes: Vec<u8> = values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        self.bytes(name, &bytes)
    }

    pub(crate) fn i32s(&mut self, name: &str, values: &[i32]) -> Buffer {
        let bytes: Vec<u8> = values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        self.bytes(name, &bytes)
    }

    pub(crate) fn u16s(&mut self, name: &str, values: &[u16]) -> Buffer {
        let bytes: Vec<u8> = values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        self.bytes(name, &bytes)
    }

    pub(crate) fn u64s(&mut self, name: &str, values: &[u64]) -> Buffer {
        let bytes: Vec<u8> = values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        self.bytes(name, &bytes)
    }

    /// An output of `words` 32-bit words, filled with something no kernel writes.
    pub(crate) fn out(&mut self, name: &str, words: usize) -> Buffer {
        self.u32s(name, &vec![UNTOUCHED; words])
    }

    pub(crate) fn u32(&mut self, name: &str, value: u32) {
        let place = self.place(name);
        self.launch.uniforms.set_u32(place, value).unwrap();
    }

    pub(crate) fn f32(&mut self, name: &str, value: f32) {
        self.u32(name, value.to_bits());
    }

    pub(crate) fn u64(&mut self, name: &str, value: u64) {
        let place = self.place(name);
        self.launch.uniforms.set_u64(place, value).unwrap();
    }

    /// A value the driver places, by half uniform.
    pub(crate) fn uniform(&mut self, half: u16, value: u32) {
        self.launch.uniforms.set_u32(half, value).unwrap();
    }

    /// Runs the kernel strictly.
    pub(crate) fn run(&mut self, grid: [u32; 3]) -> Outcome {
        self.try_run(grid)
            .unwrap_or_else(|error| panic!("{}: {error}", self.program.name))
    }

    pub(crate) fn try_run(&mut self, grid: [u32; 3]) -> Result<Outcome, EmuError> {
        self.launch.grid = grid;
        run(&self.program, &self.launch, &self.memory)
    }

    pub(crate) fn counted(&mut self, grid: [u32; 3]) -> Counts {
        self.launch.count = true;
        self.run(grid).counts.unwrap()
    }

    pub(crate) fn read(&self, buffer: Buffer) -> Vec<u8> {
        self.memory.bytes(buffer.0)
    }

    pub(crate) fn read_u32(&self, buffer: Buffer) -> Vec<u32> {
        let bytes = self.read(buffer);
        let words = bytes.chunks_exact(4);
        words
            .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
            .collect()
    }

    pub(crate) fn read_i32(&self, buffer: Buffer) -> Vec<i32> {
        let words = self.read_u32(buffer).into_iter();
        words.map(|word| word as i32).collect()
    }

    pub(crate) fn read_f32(&self, buffer: Buffer) -> Vec<f32> {
        let words = self.read_u32(buffer).into_iter();
        words.map(f32::from_bits).collect()
    }

    pub(crate) fn read_u16(&self, buffer: Buffer) -> Vec<u16> {
        let bytes = self.read(buffer);
        let halves = bytes.chunks_exact(2);
        halves
            .map(|half| u16::from_le_bytes(half.try_into().unwrap()))
            .collect()
    }

    pub(crate) fn read_u64(&self, buffer: Buffer) -> Vec<u64> {
        let bytes = self.read(buffer);
        let words = bytes.chunks_exact(8);
        words
            .map(|word| u64::from_le_bytes(word.try_into().unwrap()))
            .collect()
    }
}

/// What outputs hold before a kernel runs.
pub(crate) const UNTOUCHED: u32 = 0x5a5a_5a5a;

fn halves(hex: &str) -> Vec<u16> {
    let byte = |at: usize| u16::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap());
    (0..hex.len() / 4)
        .map(|n| byte(4 * n) | byte(4 * n + 2) << 8)
        .collect()
}

/// Reproducible numbers.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn u64(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn u32(&mut self) -> u32 {
        (self.u64() >> 32) as u32
    }

    /// Below `end`.
    pub(crate) fn below(&mut self, end: u32) -> u32 {
        ((u64::from(self.u32()) * u64::from(end)) >> 32) as u32
    }

    /// In [low, high).
    pub(crate) fn f32(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * (self.u32() >> 8) as f32 / 16_777_216.0
    }

    pub(crate) fn f32s(&mut self, count: usize, low: f32, high: f32) -> Vec<f32> {
        (0..count).map(|_| self.f32(low, high)).collect()
    }

    pub(crate) fn u32s(&mut self, count: usize) -> Vec<u32> {
        (0..count).map(|_| self.u32()).collect()
    }

    pub(crate) fn i32s(&mut self, count: usize) -> Vec<i32> {
        (0..count).map(|_| self.u32() as i32).collect()
    }
}

/// Every element within `relative` of the expected value, or of the largest expected
/// magnitude times `relative` for sums that cancel.
#[track_caller]
pub(crate) fn close(name: &str, found: &[f32], expected: &[f64], relative: f64, absolute: f64) {
    assert_eq!(found.len(), expected.len(), "{name}");
    for (index, (&found, &expected)) in found.iter().zip(expected).enumerate() {
        let error = (f64::from(found) - expected).abs();
        let both_nan = found.is_nan() && expected.is_nan();
        let equal = f64::from(found) == expected || both_nan;
        assert!(
            equal || error <= relative * expected.abs() + absolute,
            "{name}[{index}]: found {found}, expected {expected}"
        );
    }
}

/// Half-precision bits of a number.
pub(crate) fn to_half(value: f32) -> u16 {
    assay_num::f32_to_f16(value)
}

/// A number from half-precision bits.
pub(crate) fn from_half(bits: u16) -> f32 {
    assay_num::f16_to_f32(bits)
}

/// f64 of everything.
pub(crate) fn doubles(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&value| f64::from(value)).collect()
}
