//! `assay disasm`: machine code to text.
//!
//! Code is walked in pieces and printed as it goes, so the size of the input does not
//! matter: a file is mapped, standard input is read a piece at a time.

use crate::context::Context;
use crate::failure::{CommandResult, Failure, Outcome};
use crate::input;
use crate::output::Output;
use assay_agx::{Instruction, Isa, Item, Op, RegSet, UniformSet, walk};
use assay_report::envelope::Envelope;
use clap::ValueEnum;
use serde::Serialize;
use std::io::{Read, Write};
use std::path::PathBuf;

/// Disassemble AGX machine code (M1 and M2 GPUs), in applegpu's syntax
///
/// Lines are `OFFSET: HEX MNEMONIC OPERANDS`. Bytes that are no known instruction become
/// `.short` lines, and how many there were is said on standard error. `assay asm` turns
/// the listing back into the same bytes.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay disasm kernel.bin
  assay disasm --hex 0e0140160000000088000800
  assay disasm --offset 0x180 --all --format json kernel.bin | jq .mnemonic
  assay disasm kernel.bin | assay asm - -o same.bin")]
pub(crate) struct Args {
    /// Raw machine code; `-` is standard input
    #[arg(required_unless_present = "hex", conflicts_with = "hex")]
    file: Option<PathBuf>,

    /// Take the code from hexadecimal digits instead of a file; blanks are ignored
    #[arg(long, value_name = "STRING")]
    hex: Option<String>,

    /// Start at this byte (0x for hexadecimal); lines count from the start of the file
    #[arg(long, value_name = "BYTES", value_parser = number, default_value = "0")]
    offset: u64,

    /// Look at this many bytes only
    #[arg(long, value_name = "BYTES", value_parser = number)]
    length: Option<u64>,

    /// Go on after `stop`
    #[arg(long)]
    all: bool,

    /// Instruction set: g13 or g14, or a chip's such as g14s
    #[arg(long, value_name = "NAME", default_value = "g13")]
    isa: Isa,

    /// How to show it; json is one object a line
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

/// Bytes read from a pipe at a time.
const PIECE: usize = 1 << 20;
/// An item needs at most this many bytes, so fewer are kept for the next piece.
const LONGEST: usize = assay_agx::MAX_LENGTH;

pub(crate) fn run(args: &Args, context: &Context) -> CommandResult {
    let mut listing = Listing {
        isa: args.isa,
        format: args.format,
        all: args.all,
        output: context.output()?,
        line: String::with_capacity(256),
        totals: Totals::default(),
        stopped: false,
    };
    let name = match (&args.hex, &args.file) {
        (Some(hex), _) => {
            let bytes = unhex(hex)?;
            listing.whole(window(&bytes, args)?, args.offset)?;
            "the code".to_owned()
        }
        (None, Some(path)) if path.as_os_str() == "-" => {
            listing.stream(std::io::stdin().lock(), args)?;
            "standard input".to_owned()
        }
        (None, Some(path)) => {
            let input = input::open(path)?;
            note_container(&input, context);
            listing.whole(window(&input, args)?, args.offset)?;
            path.display().to_string()
        }
        (None, None) => return Err(Failure::usage("name a file, or give --hex")),
    };
    listing.finish(&name, context)
}

/// Totals of a listing.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Totals {
    /// Bytes walked over.
    bytes: u64,
    /// Complete instructions.
    instructions: u64,
    /// Parcels that begin no known instruction.
    unknown: u64,
    /// Whether the input ends inside an instruction.
    truncated: bool,
    /// Whether a single byte is left at the end.
    odd: bool,
}

struct Listing {
    isa: Isa,
    format: Format,
    all: bool,
    output: Output,
    line: String,
    totals: Totals,
    stopped: bool,
}

impl Listing {
    /// Lists code that is all there.
    fn whole(&mut self, code: &[u8], offset: u64) -> Result<(), Failure> {
        self.piece(code, offset, true)?;
        Ok(())
    }

    /// Lists code as it is read.
    fn stream(&mut self, mut reader: impl Read, args: &Args) -> Result<(), Failure> {
        let fail =
            |error: std::io::Error| Failure::input(format!("cannot read standard input: {error}"));
        let skipped = std::io::copy(&mut reader.by_ref().take(args.offset), &mut std::io::sink())
            .map_err(fail)?;
        if skipped < args.offset {
            return Err(beyond_the_end(args.offset, skipped));
        }
        let mut reader = reader.take(args.length.unwrap_or(u64::MAX));
        let mut pending = Vec::with_capacity(PIECE + LONGEST);
        let mut offset = args.offset;
        while !self.stopped {
            let read = reader
                .by_ref()
                .take(PIECE as u64)
                .read_to_end(&mut pending)
                .map_err(fail)?;
            let done = self.piece(&pending, offset, read == 0)?;
            offset += done as u64;
            pending.drain(..done);
            if read == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Lists a piece of code and says how many bytes are done. Unless it is the last
    /// piece, bytes at its end that may continue are left for the next one.
    fn piece(&mut self, code: &[u8], offset: u64, last: bool) -> Result<usize, Failure> {
        let mut walk = walk(self.isa, code);
        loop {
            let at = walk.offset();
            if self.stopped || !last && code.len() - at < LONGEST {
                return Ok(at);
            }
            let Some((position, item)) = walk.next() else {
                return Ok(at);
            };
            let bytes = code.get(at..at + item.len()).unwrap_or_default();
            self.item(offset + position, bytes, item)?;
        }
    }

    fn item(&mut self, offset: u64, bytes: &[u8], item: Item) -> Result<(), Failure> {
        self.totals.bytes += bytes.len() as u64;
        match item {
            Item::Known(instruction) => {
                self.totals.instructions += 1;
                self.stopped = instruction.op() == Op::Stop && !self.all;
            }
            Item::Truncated { .. } => self.totals.truncated = true,
            Item::Unknown(_) => self.totals.unknown += 1,
            Item::Odd(_) => self.totals.odd = true,
        }
        self.line.clear();
        match self.format {
            Format::Text => self.text_line(offset, bytes, item),
            Format::Json => self.json_line(offset, bytes, item),
        }
        self.line.push('\n');
        self.output.write_all(self.line.as_bytes())?;
        Ok(())
    }

    /// Columns as applegpu has them; the offset starts the line.
    fn text_line(&mut self, offset: u64, bytes: &[u8], item: Item) {
        let line = &mut self.line;
        push_hex(line, offset);
        line.push(':');
        pad(line, 6);
        for byte in bytes {
            push_hex_byte(line, *byte);
        }
        pad(line, 6 + 20);
        let name_starts = line.len() + 1;
        line.push(' ');
        match item {
            Item::Known(instruction) | Item::Truncated { instruction, .. } => {
                instruction.write_words(line, Some(offset));
            }
            Item::Unknown(parcel) => line.push_str(&format!(".short {parcel:#06x}")),
            Item::Odd(byte) => line.push_str(&format!(".byte {byte:#04x}")),
        }
        align_operands(line, name_starts);
    }

    fn json_line(&mut self, offset: u64, bytes: &[u8], item: Item) {
        let mut hex = String::with_capacity(24);
        for byte in bytes {
            push_hex_byte(&mut hex, *byte);
        }
        let row = match item {
            Item::Known(instruction) => Row::of(offset, hex, &instruction, false),
            Item::Truncated { instruction, .. } => Row::of(offset, hex, &instruction, true),
            Item::Unknown(parcel) => Row::data(offset, hex, ".short", format!("{parcel:#06x}")),
            Item::Odd(byte) => Row::data(offset, hex, ".byte", format!("{byte:#04x}")),
        };
        // A row is made of strings and numbers, which always serialise.
        self.line
            .push_str(&serde_json::to_string(&row).unwrap_or_default());
    }

    fn finish(mut self, name: &str, context: &Context) -> CommandResult {
        let totals = self.totals;
        if totals.bytes == 0 {
            return Err(Failure::input(format!(
                "{name} is empty: there is no code in it"
            )));
        }
        if self.format == Format::Json {
            let summary = Envelope::new("assay.disasm", 1, Summary { summary: totals });
            writeln!(self.output, "{}", summary.to_json_line())?;
        }
        self.output.finish()?;
        if totals.instructions == 0 && !totals.truncated {
            return Err(Failure::input(format!(
                "no known {} instruction in the {} bytes of {name}",
                self.isa.name(),
                totals.bytes
            ))
            .advice("disasm takes raw machine code; `assay inspect` opens containers"));
        }
        if totals.unknown != 0 {
            context.note(&format!(
                "{} of {} items are unknown and shown as .short",
                totals.unknown,
                totals.unknown + totals.instructions
            ));
        }
        if totals.truncated {
            context.note(
                "the input ends inside the last instruction; its missing bytes are read as zero",
            );
        }
        if totals.odd {
            return Err(Failure::input(format!(
                "{name} has an odd number of bytes: AGX code comes in two-byte parcels, and the \
                 last byte is shown as .byte"
            ))
            .advice("give --length to leave it out"));
        }
        Ok(Outcome::Fine)
    }
}

#[derive(Serialize)]
struct Summary {
    summary: Totals,
}

/// One line of JSON.
#[derive(Serialize)]
struct Row {
    offset: u64,
    bytes: String,
    mnemonic: String,
    operands: Vec<String>,
    reads: Vec<String>,
    writes: Vec<String>,
    uniforms: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    slot: Option<u8>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unknown: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

impl Row {
    fn of(offset: u64, bytes: String, instruction: &Instruction, truncated: bool) -> Row {
        let words = instruction.words(offset);
        let (mnemonic, operands) = words.split_once(' ').unwrap_or((&words, ""));
        let operands = operands.split(", ").filter(|text| !text.is_empty());
        Row {
            offset,
            bytes,
            mnemonic: mnemonic.to_owned(),
            operands: operands.map(str::to_owned).collect(),
            reads: registers(&instruction.reads()),
            writes: registers(&instruction.writes()),
            uniforms: uniforms(&instruction.uniforms_read()),
            target: instruction.branch_target(offset),
            slot: instruction.slot(),
            unknown: false,
            truncated,
        }
    }

    fn data(offset: u64, bytes: String, directive: &str, value: String) -> Row {
        Row {
            offset,
            bytes,
            mnemonic: directive.to_owned(),
            operands: vec![value],
            reads: Vec::new(),
            writes: Vec::new(),
            uniforms: Vec::new(),
            target: None,
            slot: None,
            unknown: true,
            truncated: false,
        }
    }
}

fn registers(set: &RegSet) -> Vec<String> {
    set.iter().map(|half| half_name('r', half)).collect()
}

fn uniforms(set: &UniformSet) -> Vec<String> {
    set.iter().map(|half| half_name('u', half)).collect()
}

fn half_name(file: char, half: u16) -> String {
    format!(
        "{file}{}{}",
        half / 2,
        if half.is_multiple_of(2) { 'l' } else { 'h' }
    )
}

/// The bytes that `--offset` and `--length` choose.
fn window<'code>(code: &'code [u8], args: &Args) -> Result<&'code [u8], Failure> {
    let start = usize::try_from(args.offset).unwrap_or(usize::MAX);
    let rest = code
        .get(start..)
        .ok_or_else(|| beyond_the_end(args.offset, code.len() as u64))?;
    let length = args.length.map_or(rest.len(), |length| {
        usize::try_from(length)
            .unwrap_or(usize::MAX)
            .min(rest.len())
    });
    Ok(rest.get(..length).unwrap_or(rest))
}

fn beyond_the_end(offset: u64, size: u64) -> Failure {
    Failure::input(format!(
        "--offset {offset:#x} is beyond the end: there are {size:#x} bytes"
    ))
}

/// A remark when the file is a container rather than code.
fn note_container(bytes: &[u8], context: &Context) {
    let containers: [(&[u8], &str); 4] = [
        (b"MTLB", "a Metal library"),
        (&[0xcb, 0xfe, 0xba, 0xbe], "a Metal binary archive"),
        (&[0xbe, 0xba, 0xfe, 0xcb], "a Metal binary archive"),
        (&[0xcf, 0xfa, 0xed, 0xfe], "a Mach-O file"),
    ];
    let found = containers
        .iter()
        .find(|(magic, _)| bytes.starts_with(magic));
    if let Some((_, kind)) = found {
        context.note(&format!(
            "this looks like {kind}, not raw code; `assay inspect` opens it"
        ));
    }
}

/// A number of bytes, decimal or hexadecimal.
pub(super) fn number(text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| format!("`{text}` is not a number of bytes such as 384 or 0x180"))
}

/// Hexadecimal digits, with blanks and a leading `0x` allowed.
fn unhex(text: &str) -> Result<Vec<u8>, Failure> {
    let digits = text.trim().trim_start_matches("0x");
    let mut nibbles = Vec::with_capacity(digits.len());
    for character in digits.chars().filter(|c| !c.is_whitespace()) {
        let nibble = character.to_digit(16).ok_or_else(|| {
            Failure::usage(format!("--hex: `{character}` is not a hexadecimal digit"))
        })?;
        nibbles.push(nibble as u8);
    }
    if nibbles.len() % 2 != 0 {
        return Err(Failure::usage(format!(
            "--hex: {} digits are half a byte short",
            nibbles.len()
        )));
    }
    Ok(nibbles
        .chunks_exact(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect())
}

const HEX_DIGITS: &[u8; 16] = b"0123456789abcdef";

fn push_hex(text: &mut String, value: u64) {
    let digits = (64 - value.leading_zeros()).div_ceil(4).max(1);
    for digit in (0..digits).rev() {
        let nibble = (value >> (4 * digit)) as usize & 15;
        text.push(char::from(HEX_DIGITS[nibble]));
    }
}

fn push_hex_byte(text: &mut String, byte: u8) {
    text.push(char::from(HEX_DIGITS[usize::from(byte >> 4)]));
    text.push(char::from(HEX_DIGITS[usize::from(byte & 15)]));
}

fn pad(text: &mut String, width: usize) {
    while text.len() < width {
        text.push(' ');
    }
}

/// Widens the blank after the name so that operands start in one column.
fn align_operands(line: &mut String, name_starts: usize) {
    const NAME_WIDTH: usize = 16;
    let words = line.get(name_starts..).unwrap_or_default();
    if let Some(blank) = words.find(' ')
        && blank < NAME_WIDTH
    {
        const BLANKS: &str = "                ";
        let missing = NAME_WIDTH - blank;
        line.insert_str(
            name_starts + blank,
            BLANKS.get(..missing).unwrap_or_default(),
        );
    }
}
