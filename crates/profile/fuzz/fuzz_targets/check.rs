//! What must hold for every program: it is profiled or refused, the profile agrees with
//! itself, and everything that draws it does.

use assay_agx::{Isa, Program};
use assay_chip::{Chip, CostModel};
use assay_profile::render::{Section, Style, dot, html, rows, sections, text};
use assay_profile::{Change, Options, Profile, compare, figures};

pub fn check(choices: u8, code: &[u8], constant_program: &[u8], entry: u32) {
    let program = Program {
        code: code.to_vec(),
        constant_program: constant_program.to_vec(),
        entry,
        half_registers: (choices & 1 != 0).then_some(u16::from(choices)),
        threadgroup_bytes: (choices & 2 != 0).then_some(u32::from(choices) << 8),
        ..Program::new(if choices & 4 != 0 { Isa::G14 } else { Isa::G13 }, "fuzz")
    };
    let chip = Chip::named(if choices & 8 != 0 { "m2" } else { "m1" }).expect("a chip");
    let options = Options {
        costs: if choices & 16 != 0 { CostModel::Mesa } else { CostModel::Measured },
        threadgroup: (choices & 32 != 0).then_some([u32::from(choices), 3, 1]),
        memory_latency: (choices & 64 != 0).then_some(f64::from(choices)),
        ..Options::new(chip)
    };
    let Ok(profile) = Profile::new(&program, &options) else {
        return;
    };
    let live = &profile.main.liveness;
    assert!(live.peak <= live.allocated());
    assert_eq!(rows(&profile.main).len(), profile.main.instructions as usize);
    for narrow in [false, true] {
        let mut style = Style::default();
        if narrow {
            style.width = 40;
        }
        assert!(!text(&profile, &style).is_empty());
        assert!(!sections(&profile, &style, &Section::ALL).is_empty());
    }
    assert!(html(&profile).contains("</html>"));
    assert!(dot(&profile).ends_with("}\n"));
    let json = serde_json::to_string(&profile).expect("it serialises");
    let again = Profile::new(&program, &options).expect("it was profiled before");
    assert_eq!(json, serde_json::to_string(&again).expect("it serialises"));
    let same = compare(&figures(&profile), &figures(&again), 0.0);
    assert!(same.iter().all(|difference| difference.change == Change::Same));
}
