//! Every instruction the decoder knows has a row, and the rows reproduce Mesa.

use assay_agx::{Instruction, Isa, Op};
use assay_chip::occupancy::threads_for_half_registers;
use assay_chip::{CostModel, CostTable, Key, NO_COST, OPS, Unit};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Decodes many bit patterns; every operation the decoder has turns up among them.
fn decodable_ops() -> BTreeSet<Op> {
    let mut ops = BTreeSet::new();
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    for first in 0..=u16::MAX {
        for _ in 0..24 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let noise = (u128::from(state) << 64 | u128::from(state.rotate_left(29))).to_le_bytes();
            for sparse in [false, true] {
                // Many encodings demand zeros, so half of the patterns are mostly zero.
                let mut code = noise.map(|byte| if sparse { byte & noise[9] } else { byte });
                if sparse {
                    code[8..].fill(0);
                }
                code[..2].copy_from_slice(&first.to_le_bytes());
                if let Ok(instruction) = Instruction::decode(Isa::G13, &code) {
                    ops.insert(instruction.op());
                }
            }
        }
    }
    ops
}

#[test]
fn every_operation_is_charged_or_declared_free_of_cost() {
    let declared: BTreeSet<Op> = OPS.iter().copied().collect();
    assert_eq!(declared.len(), OPS.len(), "an operation is listed twice");
    let found = decodable_ops();
    let forgotten: Vec<_> = found.difference(&declared).collect();
    assert!(forgotten.is_empty(), "not in the tables: {forgotten:?}");
    let unseen: Vec<_> = declared.difference(&found).collect();
    assert!(unseen.len() <= 8, "the patterns miss too much: {unseen:?}");
    for op in OPS {
        let free = NO_COST.iter().any(|(known, _)| known == op);
        assert_eq!(Key::of_op(*op) == Key::Unknown, free, "{op:?}");
    }
}

fn fixtures() -> PathBuf {
    assay_fixtures::path("agx/mesa")
}

fn code_of(listing: &str) -> Vec<u8> {
    listing
        .lines()
        .filter_map(|line| line.split('\t').nth(1))
        .filter(|hex| hex.len() % 2 == 0 && hex.bytes().all(|b| b.is_ascii_hexdigit()))
        .flat_map(|hex| {
            (0..hex.len())
                .step_by(2)
                .filter_map(|at| u8::from_str_radix(&hex[at..at + 2], 16).ok())
                .collect::<Vec<_>>()
        })
        .collect()
}

/// Mesa's statistics, recomputed from the machine code with its table.
#[test]
fn sums_equal_what_mesa_printed() {
    let folder = fixtures();
    let table = CostTable::of(CostModel::Mesa);
    let mut programs = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        let listing = std::fs::read_to_string(path.with_extension("tsv")).unwrap();
        let code = code_of(&listing);
        let (mut ic, mut f_scib) = (0.0, 0.0);
        for (_, item) in assay_agx::walk(Isa::G13, &code) {
            let Some(instruction) = item.known() else {
                continue;
            };
            let cost = table.get(Key::of(&instruction));
            f_scib += cost.dispatch.unwrap();
            if cost.unit == Unit::Ic {
                ic += cost.cycles.unwrap();
            }
        }
        let stat = |name: &str| json["stats"][name].as_f64().unwrap();
        let name = path.display();
        assert_eq!(f_scib, stat("fscib_cycles"), "{name}");
        assert_eq!(ic, stat("ic_cycles"), "{name}");
        assert_eq!(ic.max(f_scib), stat("alu_cycles"), "{name}");
        let registers = json["nr_gprs_16bit"].as_u64().unwrap() as u32;
        let threads = threads_for_half_registers(registers).unwrap();
        assert_eq!(f64::from(threads), stat("threads"), "{name}");
        programs += 1;
    }
    assert_eq!(programs, 86);
}
