//! Mesa's compiler prints statistics of the code it makes. Ours, computed from the
//! machine code alone, must be equal on every program.

mod common;

use assay_chip::{Chip, CostModel};
use assay_profile::{Options, Profile};
use common::{mesa_case, mesa_cases};

fn options() -> Options {
    Options {
        costs: CostModel::Mesa,
        ..Options::new(Chip::named("m1").expect("a chip"))
    }
}

#[test]
fn cycles_instructions_and_loops_equal_mesas_statistics() {
    for case in mesa_cases() {
        let profile = Profile::new(&case.program, &options()).expect("a profile");
        let main = &profile.main;
        let exact = |cycles: assay_profile::Cycles| cycles.exact().map(|value| value as u64);
        let ours = [
            exact(main.once.alu()),
            exact(main.once.issue),
            exact(main.once.ic),
            Some(u64::from(main.instructions)),
            Some(main.loops.len() as u64),
        ];
        let names = [
            "alu_cycles",
            "fscib_cycles",
            "ic_cycles",
            "instructions",
            "loops",
        ];
        for (name, ours) in names.into_iter().zip(ours) {
            assert_eq!(ours, Some(case.stat(name)), "{name} of {}", case.name);
        }
        let preamble = profile
            .constant_program
            .as_ref()
            .map_or(0, |part| part.instructions);
        assert_eq!(
            u64::from(preamble),
            case.stat("preamble_instructions"),
            "{}",
            case.name
        );
    }
}

/// A masked vector load leaves the tail of its registers untouched: Mesa reserves it,
/// the code never names it.
const UNTOUCHED_TAIL: [&str; 1] = ["vec3_norm"];

#[test]
fn registers_and_threads_equal_mesas_statistics() {
    for case in mesa_cases() {
        let profile = Profile::new(&case.program, &options()).expect("a profile");
        let (ours, mesas) = (
            u64::from(profile.main.half_registers),
            case.stat("gprs") + 1,
        );
        if UNTOUCHED_TAIL.contains(&case.name.as_str()) {
            assert!(ours < mesas, "{} is no exception any more", case.name);
        } else {
            assert_eq!(ours, mesas, "registers of {}", case.name);
        }
        assert_eq!(
            u64::from(profile.occupancy.threads),
            case.stat("threads"),
            "threads of {}",
            case.name
        );
    }
}

#[test]
fn liveness_never_needs_more_than_the_registers_named_and_reads_nothing_undefined() {
    for case in mesa_cases() {
        let profile = Profile::new(&case.program, &options()).expect("a profile");
        let live = &profile.main.liveness;
        assert!(live.peak <= live.allocated(), "{}", case.name);
        assert!(live.exact, "{}", case.name);
        assert!(live.live_at_entry.is_empty(), "{} reads garbage", case.name);
        assert!(profile.main.trouble.is_empty(), "{}", case.name);
    }
}

#[test]
fn constant_trip_counts_are_seen() {
    let case = mesa_case("private_array_big");
    let profile = Profile::new(&case.program, &options()).expect("a profile");
    let trips: Vec<Option<u64>> = profile.main.loops.iter().map(|l| l.trips).collect();
    // for (i = 0; i < 128; …) tested at its end; a loop over a kernel argument; and one
    // of 128 tested at its start, whose body is issued once more with no lane active.
    assert_eq!(trips, [Some(128), None, Some(129)]);
}

#[test]
fn nested_loops_nest() {
    let case = mesa_case("nested_loops");
    let profile = Profile::new(&case.program, &options()).expect("a profile");
    let depths: Vec<u32> = profile.main.loops.iter().map(|l| l.depth).collect();
    assert_eq!(depths, [1, 2, 3]);
    let inner = &profile.main.loops[2];
    assert_eq!((inner.start, inner.end), (0x6a, 0x8c));
}
