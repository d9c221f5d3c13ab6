//! A program on both sides: its machine code in the emulator, its source on the executor, the same buffers.

use super::{Fate, load};
use assay_agx::{Isa, Program};
use assay_emu::{DeviceMemory, Launch};
use assay_exec::{Bindings, Buffer, Grid, Limits};
use std::collections::BTreeMap;
use std::path::Path;

/// A row of `newer.tsv`.
pub(crate) struct Row {
    file: String,
    kernel: String,
    grid: u32,
    group: u32,
    buffers: Vec<(String, usize)>,
    uniforms: Vec<(u16, Vec<u8>)>,
}

pub(crate) fn rows(table: &str) -> BTreeMap<&str, Row> {
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| row(line.split('\t').collect()))
        .collect()
}

fn row(columns: Vec<&str>) -> Option<(&str, Row)> {
    let [name, file, kernel, grid, group, buffers, uniforms] = columns[..] else {
        return None;
    };
    let buffers = buffers.split(' ').filter_map(|buffer| {
        let (kind, count) = buffer.split_once(':')?;
        Some((kind.to_owned(), count.parse().ok()?))
    });
    let uniforms = uniforms.split(' ').filter_map(uniform);
    let row = Row {
        file: file.to_owned(),
        kernel: kernel.to_owned(),
        grid: grid.parse().ok()?,
        group: group.parse().ok()?,
        buffers: buffers.collect(),
        uniforms: uniforms.collect(),
    };
    Some((name, row))
}

/// `u4=0xff00ff00` or `u4l=0xfff6`.
fn uniform(text: &str) -> Option<(u16, Vec<u8>)> {
    let (name, value) = text.split_once('=')?;
    let value = u32::from_str_radix(value.strip_prefix("0x")?, 16).ok()?;
    let number = name.strip_prefix('u')?;
    let half = |digits: &str| Some(digits.parse::<u16>().ok()? * 2);
    match (number.strip_suffix('l'), number.strip_suffix('h')) {
        (Some(digits), _) => Some((half(digits)?, (value as u16).to_le_bytes().to_vec())),
        (_, Some(digits)) => Some((half(digits)? + 1, (value as u16).to_le_bytes().to_vec())),
        _ => Some((half(number)?, value.to_le_bytes().to_vec())),
    }
}

pub(crate) fn compare(corpus: &Path, code: &[u8], row: &Row) -> Fate {
    let path = corpus.join("metal").join(format!("{}.metal", row.file));
    let buffers: Vec<Vec<u8>> = row
        .buffers
        .iter()
        .enumerate()
        .map(|(index, (kind, count))| contents(kind, *count, index as u64))
        .collect();
    let expected = match execute(&path, row, &buffers) {
        Ok(expected) => expected,
        Err(why) => return Fate::NotRun(format!("the executor: {why}")),
    };
    let got = match emulate(code, row, &buffers, true) {
        Ok(got) => got,
        // Apple's compiler reads whole registers of which it uses the half that was written.
        Err(why) if why.contains("never written") => match emulate(code, row, &buffers, false) {
            Ok(got) => got,
            Err(why) => return Fate::NotRun(why),
        },
        Err(why) => return Fate::NotRun(why),
    };
    for (index, (expected, got)) in expected.iter().zip(&got).enumerate() {
        let at = expected.iter().zip(got).position(|(a, b)| a != b);
        if let Some(at) = at {
            let word = at & !3;
            let show = |bytes: &[u8]| {
                let word = bytes.get(word..).and_then(|rest| rest.first_chunk());
                word.map_or(0, |word| u32::from_le_bytes(*word))
            };
            let count = expected.iter().zip(got).filter(|(a, b)| a != b).count();
            return Fate::Differs(format!(
                "buffer {index} byte {at}: {:#010x} is right, {:#010x} came out; {count} bytes differ",
                show(expected),
                show(got)
            ));
        }
    }
    Fate::Agrees
}

/// What a buffer holds before the launch: the same for both, whatever the machine.
fn contents(kind: &str, count: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut random = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let mut mixed = state;
        mixed ^= mixed >> 33;
        mixed = mixed.wrapping_mul(0xff51_afd7_ed55_8ccd);
        mixed ^ mixed >> 33
    };
    let mut float = {
        let mut random = random;
        move || ((random() >> 40) as f32 / (1 << 24) as f32 - 0.5) * 16.0
    };
    let mut bytes = Vec::new();
    for place in 0..count {
        match kind {
            "f32" => bytes.extend(float().to_le_bytes()),
            // Sums of these are exact in any order.
            "whole" => bytes.extend((float() * 4.0).trunc().to_le_bytes()),
            "f16" => bytes.extend(half(float()).to_le_bytes()),
            "bf16" => bytes.extend(((float().to_bits() >> 16) as u16).to_le_bytes()),
            "u16" => bytes.extend((random() as u16).to_le_bytes()),
            "u64" => bytes.extend(random().to_le_bytes()),
            "zero" => bytes.extend([0; 4]),
            // Most of them in the range of normalised integers, some outside.
            "unit" => bytes.extend((float() * 0.15).to_le_bytes()),
            // Every eighth of them 0, for what is exchanged if it is 0.
            "slot" => {
                let value = if place % 8 == 7 { 0 } else { random() as u32 };
                bytes.extend(value.to_le_bytes());
            }
            "one" => bytes.extend(1.0f32.to_le_bytes()),
            "bit" => bytes.extend(u32::from(random() >> 13 & 7 != 0).to_le_bytes()),
            "small" => bytes.extend(((random() >> 20) as i32 % 300 - 150).to_le_bytes()),
            "count" => bytes.extend(((random() >> 20) as i32 % 40 - 4).to_le_bytes()),
            // Integers of every size, zero and the extremes among them.
            _ => {
                let value = match place % 8 {
                    0 => [0, 1, u32::MAX, 0x8000_0000, 0x7fff_ffff][place / 8 % 5],
                    1 | 2 => random() as u32 >> (random() % 32),
                    _ => random() as u32,
                };
                bytes.extend(value.to_le_bytes());
            }
        }
    }
    bytes
}

/// A half with the value of a single that has few digits: cut off, not rounded.
fn half(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16) as u16 & 0x8000;
    let exponent = (bits >> 23 & 0xff) as i32 - 127 + 15;
    match exponent {
        1..=30 => sign | (exponent as u16) << 10 | (bits >> 13) as u16 & 0x3ff,
        _ => sign,
    }
}

fn execute(path: &Path, row: &Row, buffers: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, String> {
    let library = load::library(path, &load::Build::default())?;
    let kernel = library
        .kernels()
        .iter()
        .find(|kernel| kernel.name == row.kernel)
        .ok_or("the source has no such kernel")?;
    let module = load::program(kernel)?;
    let program = assay_exec::Program::compile(&module, &row.kernel, &Default::default());
    let program = program.map_err(|error| error.to_string())?;
    let mut bindings = Bindings::new();
    for (index, bytes) in buffers.iter().enumerate() {
        bindings.set(index as u32, Buffer::from_bytes(bytes));
    }
    let grid = Grid::threads([row.grid, 1, 1], [row.group, 1, 1]);
    let run = program.run(&grid, &mut bindings, &Limits::default());
    run.map_err(|error| error.to_string())?;
    Ok((0..buffers.len() as u32)
        .map(|index| {
            let buffer = bindings.get(index);
            buffer.map_or_else(Vec::new, |buffer| buffer.bytes().to_vec())
        })
        .collect())
}

fn emulate(
    code: &[u8],
    row: &Row,
    buffers: &[Vec<u8>],
    strict: bool,
) -> Result<Vec<Vec<u8>>, String> {
    let program = Program {
        code: code.to_vec(),
        ..Program::new(Isa::G15, &row.kernel)
    };
    let mut memory = DeviceMemory::new();
    let mut launch = Launch::new([row.grid, 1, 1], [row.group, 1, 1]);
    launch.threadgroup_bytes = Some(32 << 10);
    launch.lenient = !strict;
    let mut placed = Vec::new();
    for (index, bytes) in buffers.iter().enumerate() {
        let id = memory.add(bytes).map_err(|error| error.to_string())?;
        let address = memory.address(id).to_le_bytes();
        let set = launch.uniforms.set_bytes(index as u16 * 4, &address);
        set.map_err(|error| error.to_string())?;
        placed.push(id);
    }
    for (half, bytes) in &row.uniforms {
        let set = launch.uniforms.set_bytes(*half, bytes);
        set.map_err(|error| error.to_string())?;
    }
    match assay_emu::run(&program, &launch, &memory) {
        Ok(_) => Ok(placed.iter().map(|id| memory.bytes(*id)).collect()),
        Err(error) => Err(error.to_string()),
    }
}
