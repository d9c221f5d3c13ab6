//! No code makes the profiler panic, and none makes it slow.

mod common;

use assay_agx::{Isa, Program};
use assay_chip::{Chip, CostModel};
use assay_profile::render::{Section, Style, dot, html, rows, sections};
use assay_profile::{Options, Profile};
use std::time::{Duration, Instant};

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

fn profile(code: Vec<u8>, entry: u32) -> Option<Profile> {
    let program = Program {
        constant_program: code.iter().rev().copied().collect(),
        code,
        entry,
        ..Program::new(Isa::G13, "random")
    };
    let chip = Chip::named("m1").expect("m1");
    let options = Options {
        costs: CostModel::Measured,
        ..Options::new(chip)
    };
    Profile::new(&program, &options).ok()
}

fn render(profile: &Profile) {
    let style = Style::default();
    assert!(!sections(profile, &style, &Section::ALL).is_empty());
    assert!(html(profile).contains("</html>"));
    assert!(dot(profile).ends_with("}\n"));
    assert_eq!(
        rows(&profile.main).len(),
        profile.main.instructions as usize
    );
    serde_json::to_string(profile).expect("it serialises");
}

#[test]
fn random_bytes_are_profiled_or_refused() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..400 {
        let length = random.below(300);
        let code: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
        if let Some(profile) = profile(code, 0) {
            render(&profile);
        }
    }
}

/// Real instructions in random order, with jumps to anywhere.
#[test]
fn shuffled_programs_are_profiled() {
    let mut random = Random(0x1234_5678_9abc_def1);
    let cases = common::mesa_cases();
    for case in cases.iter().chain(&cases).chain(&cases) {
        let mut pieces: Vec<Vec<u8>> = case
            .program
            .walk()
            .map(|(offset, item)| {
                let start = offset as usize;
                case.program.code[start..start + item.len()].to_vec()
            })
            .collect();
        for index in (1..pieces.len()).rev() {
            pieces.swap(index, random.below(index + 1));
        }
        let size: usize = pieces.iter().map(Vec::len).sum();
        for _ in 0..8 {
            let distance = random.below(2 * size) as i32 - size as i32;
            let opcode: [u8; 2] = match random.below(3) {
                0 => [0x00, 0xc0],
                1 => [0x20, 0xc0],
                _ => [0x10, 0xc0],
            };
            let mut jump = opcode.to_vec();
            jump.extend_from_slice(&(distance & !1).to_le_bytes());
            pieces.insert(random.below(pieces.len()), jump);
        }
        let profile = profile(pieces.concat(), 0).expect("real instructions");
        let live = &profile.main.liveness;
        assert!(live.peak <= live.allocated(), "{}", case.name);
        render(&profile);
    }
}

#[test]
fn every_truncation_and_every_entry_is_handled() {
    let case = common::mesa_case("nested_loops");
    for length in 0..case.program.code.len() {
        let cut = case.program.code.get(..length).unwrap_or_default().to_vec();
        if let Some(profile) = profile(cut, 0) {
            render(&profile);
        }
        profile(case.program.code.clone(), length as u32);
    }
}

/// Nests deeper than any compiler makes, in a row and inside each other.
#[test]
fn deep_nests_take_no_quadratic_time() {
    let if_ = [0x52, 0x28, 0x42, 0x02, 0x00, 0x01];
    let pop = [0x52, 0x0e, 0x00, 0x00, 0x00, 0x00];
    let while_ = [0x52, 0x94, 0x46, 0x02, 0x00, 0x00];
    let mut code = Vec::new();
    const DEPTH: usize = 3_000;
    let mut starts = Vec::new();
    for _ in 0..DEPTH {
        starts.push(code.len());
        code.extend_from_slice(&if_);
    }
    while let Some(start) = starts.pop() {
        code.extend_from_slice(&while_);
        let distance = start as i32 - code.len() as i32;
        code.extend_from_slice(&[0x00, 0xc0]);
        code.extend_from_slice(&distance.to_le_bytes());
        code.extend_from_slice(&pop);
    }
    code.extend_from_slice(&[0x88, 0x00]);
    let start = Instant::now();
    let profile = profile(code, 0).expect("a profile");
    assert_eq!(profile.main.loops.len(), DEPTH);
    assert!(
        start.elapsed() < Duration::from_secs(20),
        "{:?}",
        start.elapsed()
    );
}
