//! How fast instructions are decoded and printed, beside iced-x86 in the same run.
//!
//! `cargo bench -p assay-agx`. Each figure is the median of several passes over a
//! buffer too large for the caches, on one thread, all cases in turns; then the ratios. iced-x86 formats with its fast formatter. On Linux time is what the thread spent
//! on a processor, so that other programs disturb less; elsewhere it is the wall clock.
//!
//! `-- 'G13 decode + text'` measures the cases whose name ends with the words; `-- --small=2` makes two passes over a small
//! buffer, for a tool that counts instructions: two counts differ by one pass without what is done once.

#![allow(clippy::print_stdout, reason = "a benchmark prints its result")]

use assay_agx::{Isa, Item, walk};
use std::hint::black_box;
use std::time::Instant;

const BUFFER_BYTES: usize = 32 << 20;
const PASSES: usize = 15;

fn main() {
    let small = std::env::args().find_map(|word| word.strip_prefix("--small=")?.parse().ok());
    let (bytes, passes) = small.map_or((BUFFER_BYTES, PASSES), |passes| (1 << 20, passes));
    let chosen = std::env::args().skip(1).find(|word| !word.starts_with('-'));
    let mut cases = Vec::new();
    for (isa, unit) in [(Isa::G13, agx_code()), (Isa::G15, newer_code())] {
        add_agx(&mut cases, isa, fill(&unit, bytes));
    }
    match own_x86_text() {
        Some(unit) => add_iced(&mut cases, fill(&unit, bytes)),
        None => {
            println!("iced-x86: this program is not an x86-64 ELF file, nothing to compare with")
        }
    }
    if let Some(chosen) = chosen {
        cases.retain(|case| format!("{} {}", case.set, case.name).ends_with(&chosen));
    }
    for _ in 0..passes {
        cases.iter_mut().for_each(Case::measure);
    }
    let mut set = "";
    for case in &cases {
        if set != case.set {
            set = case.set;
            println!("{set}: {} MiB", bytes >> 20);
        }
        case.print();
    }
    for (what, one, other) in [
        ("decode", "G15", "G13"),
        ("decode", "G13", ICED),
        ("decode + text", "G13", ICED),
        ("decode + text", "G15", ICED),
    ] {
        let median = |set: &str| {
            let found = cases
                .iter()
                .find(|case| (case.set, case.name) == (set, what));
            found.map(Case::median)
        };
        if let (Some(first), Some(second)) = (median(one), median(other)) {
            println!("{what}: {one} {:.2} × {other}", first / second);
        }
    }
}

/// The set of the peer.
const ICED: &str = "iced-x86";

/// Something that is measured again and again, in turns with the others, so that what disturbs one disturbs all.
struct Case {
    set: &'static str,
    name: &'static str,
    pass: Box<dyn FnMut() -> u64>,
    /// Instructions of a pass.
    instructions: u64,
    /// Instructions per second of each pass, in ascending order.
    rates: Vec<f64>,
}

impl Case {
    fn new(set: &'static str, name: &'static str, pass: impl FnMut() -> u64 + 'static) -> Case {
        Case {
            set,
            name,
            pass: Box::new(pass),
            instructions: 0,
            rates: Vec::new(),
        }
    }

    fn measure(&mut self) {
        let start = Stopwatch::start();
        self.instructions = black_box((self.pass)());
        let rate = self.instructions as f64 / start.seconds();
        let place = self.rates.partition_point(|known| *known < rate);
        self.rates.insert(place, rate);
    }

    fn median(&self) -> f64 {
        self.rates.get(self.rates.len() / 2).copied().unwrap_or(0.0)
    }

    fn print(&self) {
        let end = |rate: Option<&f64>| rate.copied().unwrap_or(0.0) / 1e6;
        println!(
            "  {:<22} {:7.1} M instructions/s   ({:.1} to {:.1}; {} instructions)",
            self.name,
            self.median() / 1e6,
            end(self.rates.first()),
            end(self.rates.last()),
            self.instructions
        );
    }
}

fn add_agx(cases: &mut Vec<Case>, isa: Isa, code: &'static [u8]) {
    let set = isa.name();
    cases.push(Case::new(set, "decode", move || {
        let mut instructions = 0;
        for (_, item) in walk(isa, code) {
            if let Item::Known(insn) = item {
                black_box(insn);
                instructions += 1;
            }
        }
        instructions
    }));
    cases.push(Case::new(set, "decode + properties", move || {
        let mut instructions = 0;
        for (offset, item) in walk(isa, code) {
            if let Item::Known(insn) = item {
                black_box((insn.reads(), insn.writes(), insn.slot(), insn.flow(offset)));
                black_box(insn.memory());
                instructions += 1;
            }
        }
        instructions
    }));
    let mut text = String::with_capacity(1 << 12);
    cases.push(Case::new(set, "decode + text", move || {
        let mut instructions = 0;
        for (offset, item) in walk(isa, code) {
            if let Item::Known(insn) = item {
                text.clear();
                insn.write_words(&mut text, Some(offset));
                black_box(text.as_str());
                instructions += 1;
            }
        }
        instructions
    }));
}

/// Time on a processor where the system tells it, else wall time.
struct Stopwatch {
    processor: Option<u64>,
    wall: Instant,
}

impl Stopwatch {
    fn start() -> Stopwatch {
        Stopwatch {
            processor: processor_nanoseconds(),
            wall: Instant::now(),
        }
    }

    fn seconds(&self) -> f64 {
        match (self.processor, processor_nanoseconds()) {
            (Some(start), Some(end)) if end > start => (end - start) as f64 * 1e-9,
            _ => self.wall.elapsed().as_secs_f64(),
        }
    }
}

fn processor_nanoseconds() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// A buffer of at least so many bytes that repeats `unit`.
fn fill(unit: &[u8], bytes: usize) -> &'static [u8] {
    unit.repeat(bytes.div_ceil(unit.len().max(1))).leak()
}

/// A kernel's worth of G15's commonest instructions.
fn newer_code() -> Vec<u8> {
    const SOURCE: &str = "get_sr 0, r1, sr32
        device_load 5, i32, x, r0, u2_u3, r1, lsl 2, 0, wait 0, 1, 1
        device_load 0, i32, xyzw, r4_r5_r6_r7, u4_u5, r1, lsl 4, 0, 1, 0
        mov r2.cache, r0.cache, wait 5
        iadd r3.cache, 1, r2.cache
        isub r8.cache, r3, 7
        imadd r9.cache, r3.cache, r8.discard, r2.cache
        and r10.cache, r9.cache, 31, wait 0
        bfeil r11, 0, r10.cache, 2
        cmpsel slt, r12.cache, r10.discard, 0, r3, r2
        cmp ieq, p0, r12.cache, 0
        if !p0, 1
        ffma r5.cache, r5.discard, r6.cache, r7.discard
        fadd r4.cache, r4.discard, r5.cache
        fmul r4.cache, 0.5, r4.discard
        rcp r4.cache, r4.discard
        convert f_to_s32, r6.cache, r4.discard
        pop_exec 1
        or r0, r6.discard, r11.discard
        device_store i32, x, r0, u0_u1, r1.discard, lsl 2, 0, 1, 1
        stop";
    assay_agx::assemble(Isa::G15, SOURCE, 0).map_or_else(
        |error| {
            println!("{error}");
            Vec::new()
        },
        |assembly| assembly.code,
    )
}

/// Compiled programs from the fixtures.
fn agx_code() -> Vec<u8> {
    let folder = assay_fixtures::path("agx");
    let mut unit = Vec::new();
    for sub in ["mesa", "apple"] {
        let entries = std::fs::read_dir(folder.join(sub));
        let mut files: Vec<_> = entries.into_iter().flatten().flatten().collect();
        files.sort_by_key(|entry| entry.path());
        for file in files {
            if file.path().extension().is_some_and(|ext| ext == "tsv") {
                let text = std::fs::read_to_string(file.path()).unwrap_or_default();
                unit.extend(text.lines().filter_map(hex_column).flatten());
            }
        }
    }
    unit
}

fn hex_column(line: &str) -> Option<Vec<u8>> {
    let hex = line.split('\t').nth(1).filter(|_| !line.starts_with('#'))?;
    (0..hex.len() / 2)
        .map(|i| u8::from_str_radix(hex.get(2 * i..2 * i + 2)?, 16).ok())
        .collect()
}

fn add_iced(cases: &mut Vec<Case>, code: &'static [u8]) {
    use iced_x86::{Decoder, DecoderOptions, FastFormatter, Instruction};
    cases.push(Case::new(ICED, "decode", move || {
        let mut decoder = Decoder::new(64, code, DecoderOptions::NONE);
        let mut instruction = Instruction::default();
        let mut instructions = 0;
        while decoder.can_decode() {
            decoder.decode_out(&mut instruction);
            black_box(&instruction);
            instructions += 1;
        }
        instructions
    }));
    let mut text = String::with_capacity(1 << 12);
    cases.push(Case::new(ICED, "decode + text", move || {
        let mut decoder = Decoder::new(64, code, DecoderOptions::NONE);
        let mut formatter = FastFormatter::new();
        let mut instruction = Instruction::default();
        let mut instructions = 0;
        while decoder.can_decode() {
            decoder.decode_out(&mut instruction);
            text.clear();
            formatter.format(&instruction, &mut text);
            black_box(text.as_str());
            instructions += 1;
        }
        instructions
    }));
}

/// The executable section of this program.
fn own_x86_text() -> Option<Vec<u8>> {
    const X86_64: u16 = 62;
    const EXECUTABLE: u32 = 1;
    let file = std::fs::read(std::env::current_exe().ok()?).ok()?;
    let half = |at: usize| Some(u16::from_le_bytes(*file.get(at..)?.first_chunk()?));
    let word = |at: usize| Some(u32::from_le_bytes(*file.get(at..)?.first_chunk()?));
    let long = |at: usize| Some(u64::from_le_bytes(*file.get(at..)?.first_chunk()?) as usize);
    if !file.starts_with(b"\x7fELF\x02\x01") || half(18)? != X86_64 {
        return None;
    }
    let (table, size, entries) = (long(32)?, usize::from(half(54)?), usize::from(half(56)?));
    let segment = (0..entries)
        .map(|entry| table + entry * size)
        .find(|at| word(*at) == Some(1) && word(at + 4).is_some_and(|f| f & EXECUTABLE != 0))?;
    let start = long(segment + 8)?;
    Some(file.get(start..start + long(segment + 32)?)?.to_vec())
}
