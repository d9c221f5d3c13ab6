//! Arguments of a launch, and the buffers that come back.

use super::{Args, number};
use crate::failure::Failure;
use crate::npy::Array;
use crate::output::Output;
use assay_emu::{BufferId, DeviceMemory, Launch};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Where results go.
pub(super) struct Outputs {
    pub(super) files: Vec<(usize, PathBuf)>,
    pub(super) report: Option<PathBuf>,
}

/// A launch with its buffers.
pub(super) struct Setup {
    pub(super) launch: Launch,
    pub(super) memory: DeviceMemory,
    buffers: Vec<Bound>,
}

/// A buffer argument.
struct Bound {
    half: u16,
    buffer: BufferId,
    descr: String,
    shape: Vec<u64>,
}

/// Splits `U=rest`.
fn place<'t>(option: &str, text: &'t str) -> Result<(u16, &'t str), Failure> {
    let parts = text.split_once('=');
    let parsed = parts.and_then(|(half, rest)| Some((number(half.trim()).ok()?, rest)));
    match parsed {
        Some((half @ 0..512, rest)) => Ok((half as u16, rest)),
        Some((half, _)) => Err(Failure::usage(format!(
            "{option} {text}: there is no uniform {half}; half uniforms go from 0 to 511"
        ))),
        None => Err(Failure::usage(format!(
            "{option} {text}: expected U=…, U a number"
        ))),
    }
}

impl Setup {
    pub(super) fn new(args: &Args) -> Result<Setup, Failure> {
        let mut setup = Setup {
            launch: Launch::new(args.grid.0, args.threadgroup.0),
            memory: DeviceMemory::new(),
            buffers: Vec::new(),
        };
        setup.launch.threadgroup_bytes = args.tgmem;
        setup.launch.stack_bytes = args.scratch;
        setup.launch.max_steps = args.max_steps;
        setup.launch.lenient = args.lenient;
        setup.launch.count = args.counts;
        for argument in &args.arguments {
            let (half, value) = place("--arg", argument)?;
            setup.argument(half, value, argument)?;
        }
        for text in &args.uniforms {
            let (half, hex) = place("--uniforms", text)?;
            let bytes = unhex(hex).ok_or_else(|| {
                Failure::usage(format!("--uniforms {text}: expected hexadecimal bytes"))
            })?;
            setup.set(half, &bytes)?;
        }
        Ok(setup)
    }

    fn set(&mut self, half: u16, bytes: &[u8]) -> Result<(), Failure> {
        let uniforms = &mut self.launch.uniforms;
        uniforms
            .set_bytes(half, bytes)
            .map_err(|error| Failure::usage(error.to_string()))
    }

    fn argument(&mut self, half: u16, value: &str, whole: &str) -> Result<(), Failure> {
        let unknown = || {
            Failure::usage(format!(
                "--arg {whole}: expected buffer:FILE, zeros:BYTES or TYPE:VALUE"
            ))
            .advice("types are u16 i16 u32 i32 u64 i64 f16 f32")
        };
        let (kind, text) = value.split_once(':').ok_or_else(unknown)?;
        let bad = |error: &dyn std::fmt::Display| {
            Failure::usage(format!("--arg {whole}: `{text}`: {error}"))
        };
        macro_rules! parsed {
            ($type:ty) => {
                text.parse::<$type>()
                    .map_err(|error| bad(&error))?
                    .to_le_bytes()
                    .to_vec()
            };
        }
        let bytes = match kind {
            "buffer" => return self.buffer(half, Array::open(Path::new(text))?),
            "zeros" => {
                let bytes = number(text).map_err(|error| bad(&error))?;
                let array = Array {
                    descr: "|u1".to_owned(),
                    shape: vec![u64::from(bytes)],
                    data: vec![0; bytes as usize],
                };
                return self.buffer(half, array);
            }
            "u16" => parsed!(u16),
            "i16" => parsed!(i16),
            "u32" => parsed!(u32),
            "i32" => parsed!(i32),
            "u64" => parsed!(u64),
            "i64" => parsed!(i64),
            "f32" => parsed!(f32),
            "f16" => {
                let value = text.parse::<f32>().map_err(|error| bad(&error))?;
                assay_num::f32_to_f16(value).to_le_bytes().to_vec()
            }
            _ => return Err(unknown()),
        };
        self.set(half, &bytes)
    }

    fn buffer(&mut self, half: u16, array: Array) -> Result<(), Failure> {
        let buffer = self
            .memory
            .add(&array.data)
            .map_err(|error| Failure::usage(error.to_string()))?;
        self.set(half, &self.memory.address(buffer).to_le_bytes())?;
        self.buffers.push(Bound {
            half,
            buffer,
            descr: array.descr,
            shape: array.shape,
        });
        Ok(())
    }

    pub(super) fn outputs(&self, args: &Args) -> Result<Outputs, Failure> {
        let mut outputs = Outputs {
            files: Vec::new(),
            report: None,
        };
        for text in &args.outputs {
            let shown = text.display().to_string();
            if !shown.contains('=') {
                outputs.report = Some(text.clone());
                continue;
            }
            let (half, path) = place("--out", &shown)?;
            let found = self.buffers.iter().position(|bound| bound.half == half);
            let index = found.ok_or_else(|| {
                Failure::usage(format!("--out {shown}: argument {half} is no buffer"))
                    .advice(format!("give it one with --arg {half}=buffer:FILE.npy"))
            })?;
            outputs.files.push((index, PathBuf::from(path)));
        }
        Ok(outputs)
    }

    pub(super) fn save(&self, index: usize, path: &Path) -> Result<(), Failure> {
        let Some(bound) = self.buffers.get(index) else {
            return Ok(());
        };
        let array = Array {
            descr: bound.descr.clone(),
            shape: bound.shape.clone(),
            data: self.memory.bytes(bound.buffer),
        };
        let mut output = Output::open(Some(path))?;
        output.write_all(&array.to_bytes())?;
        output.finish()
    }
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u32>> = text
        .chars()
        .filter(|character| !character.is_whitespace() && *character != '_')
        .map(|character| character.to_digit(16))
        .collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    let pairs = digits.chunks_exact(2);
    Some(pairs.map(|pair| (pair[0] << 4 | pair[1]) as u8).collect())
}
