//! `assay disasm`: machine code to text.
//!
//! Code is read a piece at a time and printed as it goes, so the size of the input does
//! not matter.

mod json;

use crate::context::Context;
use crate::failure::{CommandResult, Failure, Outcome};
use crate::generate::CodeArgs;
use crate::output::Output;
use crate::{confine, input, source};
use assay_agx::{Instruction, Isa, Item, Op, Placeholder, Program, Standing, Unencoded, walk};
use assay_container::Contents;
use assay_front::{Bytes, Kind};
use assay_report::envelope::Envelope;
use clap::ValueEnum;
use json::{Row, Summary, Totals};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

/// Disassemble AGX machine code (M1 to M4 and A18 GPUs), in applegpu's syntax
///
/// Of a binary archive or a GPU Mach-O the code of one function is listed, in the instruction set it is for.
/// Lines are `OFFSET: HEX MNEMONIC OPERANDS`. Bytes that are no known instruction become
/// `.short` lines, and how many there were is said on standard error. `assay asm` turns
/// the listing back into the same bytes. For Metal source, metallibs and bitcode the
/// listing is of code generated here; Apple's compiler may choose differently.
///
/// Of the instruction set of M3, M4 and A18 (--isa g15) nothing official exists. Instructions that
/// no program has proven are marked `; read` (described in public) or `; length only`; --explain
/// says what each rests on.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay disasm kernel.bin
  assay disasm kernels.metal -f softmax
  assay disasm kernels.gpubin -f softmax
  assay disasm --isa g15 --explain m4.bin
  assay disasm --hex 0e0140160000000088000800
  assay disasm --offset 0x180 --all --format json kernel.bin | jq .mnemonic
  assay disasm kernel.bin | assay asm - -o same.bin")]
pub(crate) struct Args {
    /// Raw machine code, a binary archive, or a program to generate code for (.metal, .metallib,
    /// bitcode); `-` is standard input
    #[arg(required_unless_present = "hex", conflicts_with = "hex")]
    file: Option<PathBuf>,

    /// Take the code from hexadecimal digits instead of a file; blanks are ignored
    #[arg(long, value_name = "STRING")]
    hex: Option<String>,

    /// The kernel of a program or an archive, when it has several
    #[arg(short, long, value_name = "NAME")]
    function: Option<String>,

    /// Start at this byte (0x for hexadecimal); lines count from the start of the file
    #[arg(long, value_name = "BYTES", value_parser = number, default_value = "0")]
    offset: u64,

    /// Look at this many bytes only
    #[arg(long, value_name = "BYTES", value_parser = number)]
    length: Option<u64>,

    /// Go on after `stop`
    #[arg(long)]
    all: bool,

    /// Instruction set: g13, g14 or g15 (M3, M4, A18), or a chip's such as g14s; g17g (M5) is
    /// experimental
    #[arg(long, value_name = "NAME", default_value = "g13")]
    isa: Isa,

    /// After the listing, say what is known of each kind of instruction in it, and why
    #[arg(long)]
    explain: bool,

    /// How to show it; json is one object a line
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    #[command(flatten)]
    code: CodeArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// One object a line, then a summary that follows schemas/assay.disasm.json
    Json,
}

impl Args {
    /// Returns true if no bytes of the file were chosen.
    fn takes_all(&self) -> bool {
        self.offset == 0 && self.length.is_none()
    }
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
        placeholders: Vec::new(),
        explained: args.explain.then(BTreeMap::new),
    };
    let name = match (&args.hex, &args.file) {
        (Some(hex), _) => {
            let bytes = unhex(hex)?;
            listing.whole(window(&bytes, args)?, args.offset)?;
            "the code".to_owned()
        }
        (None, Some(path)) if path.as_os_str() == "-" => {
            let name = "standard input".to_owned();
            listing.stream(std::io::stdin().lock(), &name, args, context)?;
            name
        }
        (None, Some(path))
            if source::is_program_file(path)
                || input::lent(path).is_some()
                || args.takes_all() && source::is_archive_file(path) =>
        {
            listing.file(path, &input::open(path)?, args)?;
            path.display().to_string()
        }
        (None, Some(path)) => {
            let name = path.display().to_string();
            listing.stream(open(path)?, &name, args, context)?;
            name
        }
        (None, None) => return Err(Failure::usage("name a file, or give --hex")),
    };
    listing.finish(&name, context)
}

struct Listing {
    isa: Isa,
    format: Format,
    all: bool,
    output: Output,
    line: String,
    totals: Totals,
    stopped: bool,
    /// What unknown parcels of generated code stand for.
    placeholders: Vec<Placeholder>,
    /// Kinds of instruction seen, if they are to be explained.
    explained: Option<Kinds>,
}

/// Kinds of instruction by name and length: where the first stands.
type Kinds = BTreeMap<(&'static str, usize), (u64, Instruction)>;

impl Listing {
    /// Lists code that is all there.
    fn whole(&mut self, code: &[u8], offset: u64) -> Result<(), Failure> {
        self.piece(code, offset, true)?;
        Ok(())
    }

    /// Lists what a file holds: code generated for a program, a function of an archive, or its bytes.
    fn file(&mut self, path: &Path, bytes: &Bytes, args: &Args) -> Result<(), Failure> {
        let function = args.function.as_deref();
        let is_archive = args.takes_all() && source::is_archive(bytes);
        match assay_front::File::open(path, bytes) {
            Ok(file) if file.needs_code() => {
                let settings = args.code.settings(path, args.isa);
                let kernel = source::workspace().open(path, bytes, function, &settings);
                let kernel = kernel.map_err(source::installable)?;
                let program = &kernel.code()?.program;
                self.placeholders.clone_from(&program.placeholders);
                self.whole(window(&program.code, args)?, args.offset)
            }
            Ok(assay_front::File {
                kind: Kind::Container(contents),
                ..
            }) if is_archive => self.archived(&contents, path, function),
            Err(error) if is_archive => Err(source::failure(path, error)),
            _ => self.whole(window(bytes, args)?, args.offset),
        }
    }

    /// Lists a function of an archive, from its first instruction.
    fn archived(
        &mut self,
        contents: &Contents<'_>,
        path: &Path,
        function: Option<&str>,
    ) -> Result<(), Failure> {
        let chosen = contents.program(function);
        let chosen = chosen.map_err(|error| source::select_failure(path, &error))?;
        let Program {
            isa, code, entry, ..
        } = &chosen.program;
        self.isa = *isa;
        let start = *entry as usize;
        self.whole(code.get(start..).unwrap_or_default(), start as u64)
    }

    /// Lists code as it is read.
    fn stream(
        &mut self,
        mut reader: impl Read,
        name: &str,
        args: &Args,
        context: &Context,
    ) -> Result<(), Failure> {
        let fail = |error: std::io::Error| Failure::input(format!("cannot read {name}: {error}"));
        let mut skipped = reader.by_ref().take(args.offset);
        let skipped = std::io::copy(&mut skipped, &mut std::io::sink()).map_err(fail)?;
        if skipped < args.offset {
            return Err(beyond_the_end(args.offset, skipped));
        }
        let mut reader = reader.take(args.length.unwrap_or(u64::MAX));
        let mut progress = Progress::new(context);
        let mut pending = Vec::with_capacity(PIECE + LONGEST);
        let mut offset = args.offset;
        while !self.stopped {
            let mut piece = reader.by_ref().take(PIECE as u64);
            let read = piece.read_to_end(&mut pending).map_err(fail)?;
            if offset == 0 {
                note_container(&pending, context);
            }
            let done = self.piece(&pending, offset, read == 0)?;
            offset += done as u64;
            pending.drain(..done);
            progress.show(offset);
            if read == 0 {
                break;
            }
        }
        progress.clear();
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
                if let Some(explained) = &mut self.explained {
                    let kind = (instruction.mnemonic(), instruction.len());
                    explained.entry(kind).or_insert((0, instruction)).0 += 1;
                }
            }
            Item::Truncated { .. } => {
                self.totals.truncated = true;
                self.totals.odd |= !bytes.len().is_multiple_of(2);
            }
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
        let stands_for = self.stands_for(offset);
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
            Item::Unknown(parcel) => {
                line.push_str(".short 0x");
                push_hex_byte(line, (parcel >> 8) as u8);
                push_hex_byte(line, parcel as u8);
            }
            Item::Odd(byte) => {
                line.push_str(".byte 0x");
                push_hex_byte(line, byte);
            }
        }
        align_operands(line, name_starts);
        if let Item::Known(instruction) = item
            && instruction.standing() != Standing::Proven
        {
            line.push_str("  ; ");
            line.push_str(instruction.standing().name());
        }
        if let Some(stands_for) = stands_for {
            line.push_str("  ; ");
            line.push_str(&stands_for.to_string());
        }
    }

    /// What the parcel at an offset stands for.
    fn stands_for(&self, offset: u64) -> Option<Unencoded> {
        let offset = u32::try_from(offset).ok()?;
        Placeholder::at(&self.placeholders, offset).map(|placeholder| placeholder.operation)
    }

    fn json_line(&mut self, offset: u64, bytes: &[u8], item: Item) {
        let mut hex = String::with_capacity(24);
        for byte in bytes {
            push_hex_byte(&mut hex, *byte);
        }
        let row = match item {
            Item::Known(instruction) => Row::of(offset, hex, &instruction, false),
            Item::Truncated { instruction, .. } => Row::of(offset, hex, &instruction, true),
            Item::Unknown(parcel) => Row {
                stands_for: self.stands_for(offset).map(|one| one.to_string()),
                ..Row::data(offset, hex, ".short", format!("{parcel:#06x}"))
            },
            Item::Odd(byte) => Row::data(offset, hex, ".byte", format!("{byte:#04x}")),
        };
        // A row is made of strings and numbers, which always serialise.
        self.line
            .push_str(&serde_json::to_string(&row).unwrap_or_default());
    }

    /// What is known of each kind of instruction that was listed; comments, so that the whole
    /// still assembles.
    fn explain(&mut self) -> Result<(), Failure> {
        let Some(explained) = &self.explained else {
            return Ok(());
        };
        writeln!(
            self.output,
            "\n; what is known of these instructions, and why"
        )?;
        for ((mnemonic, length), (count, instruction)) in explained {
            writeln!(
                self.output,
                "; {count:4} {mnemonic:<22} {length:2} bytes  {:<12} {}",
                instruction.standing().name(),
                instruction.standing_reason()
            )?;
        }
        Ok(())
    }

    fn finish(mut self, name: &str, context: &Context) -> CommandResult {
        let totals = self.totals;
        if totals.bytes == 0 {
            return Err(Failure::input(format!(
                "{name} is empty: there is no code in it"
            )));
        }
        if self.format == Format::Text {
            self.explain()?;
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
                "{name} has an odd number of bytes: AGX code comes in two-byte parcels"
            ))
            .advice("give --length to leave it out"));
        }
        Ok(Outcome::Fine)
    }
}

/// A count of megabytes on the terminal while a long listing goes elsewhere.
struct Progress {
    shown: bool,
    wanted: bool,
    next: u64,
}

impl Progress {
    const STEP: u64 = 64 << 20;

    fn new(context: &Context) -> Progress {
        Progress {
            shown: false,
            wanted: context.progress && !std::io::stdout().is_terminal(),
            next: Progress::STEP,
        }
    }

    fn show(&mut self, offset: u64) {
        if self.wanted && offset >= self.next {
            anstream::eprint!("\r{} MiB", offset >> 20);
            self.shown = true;
            self.next = offset + Progress::STEP;
        }
    }

    fn clear(&mut self) {
        if self.shown {
            anstream::eprint!("\r                    \r");
        }
    }
}

/// Opens a file to be read in pieces.
fn open(path: &Path) -> Result<File, Failure> {
    let fail =
        |error: std::io::Error| Failure::input(format!("cannot read {}: {error}", path.display()));
    let file = confine::open(path)?;
    if file.metadata().map_err(fail)?.is_dir() {
        return Err(Failure::input(format!("{} is a folder", path.display()))
            .advice("name a file inside it"));
    }
    Ok(file)
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
