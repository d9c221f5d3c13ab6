//! From machine code to a time, on small programs written by hand.

use assay_agx::{Binding, BoundValue, Isa, Program, assemble};
use assay_chip::Chip;
use assay_emu::Fill;
use assay_predict::{
    Activity, Argument, Cache, CommandBuffer, Constants, Dispatch, Error, Execution, Memory,
    Predicted, Question, Repeated, Report, Sampling, Target, by_instruction, execute, gains,
    pictures, predict, render,
};

/// A program whose buffer 0 is found in `u0_u1`.
fn program(code: Vec<u8>) -> Program {
    Program {
        code,
        half_registers: Some(32),
        threadgroup_bytes: Some(0),
        bindings: vec![Binding {
            value: BoundValue::BufferAddress { index: 0 },
            first_half: 0,
            halves: 4,
        }],
        ..Program::new(Isa::G13, "test")
    }
}

/// Every thread stores its position: `get_sr`, `device_store`, `stop`.
fn iota() -> Program {
    program(vec![
        0x72, 0x05, 0x10, 0x04, 0x45, 0x09, 0x20, 0x0e, 0x00, 0xc0, 0x12, 0x00, 0x88, 0x00,
    ])
}

/// A loop of multiply-adds before the store.
fn with_loop(turns: u32) -> Program {
    let source = format!(
        "mov_imm r0l, 0
         mov_imm r5, 0, 0b0
         top: fmadd32 r2, r3, r4, r2
         fmadd32 r6, r3, r4, r6
         iadd r5, r5, 1
         while_icmp r0l, ult, r5, {turns}, 2
         jmp_exec_any top
         pop_exec r0l, 2"
    );
    let mut code = assemble(Isa::G13, &source, 0).expect("assembles").code;
    code.extend(iota().code);
    program(code)
}

fn endless() -> Program {
    let source = "top: jmp_exec_any top\nstop";
    program(assemble(Isa::G13, source, 0).expect("assembles").code)
}

fn dispatch<'p>(program: &'p Program, threads: u32, memory: &mut Memory) -> Dispatch<'p> {
    let bytes = 4 * u64::from(threads);
    let buffer = memory.add_on_touch(bytes, Fill::Zero).expect("a buffer");
    Dispatch {
        program,
        grid: [threads, 1, 1],
        threadgroup: [256, 1, 1],
        arguments: vec![(0, Argument::Buffer(buffer, 0))],
        threadgroup_memory: Vec::new(),
    }
}

fn executed(program: &Program, threads: u32) -> Execution {
    let mut memory = Memory::new();
    let dispatch = dispatch(program, threads, &mut memory);
    execute(&dispatch, &mut memory, &Sampling::default()).expect("it runs")
}

fn time(execution: &Execution, chip: &str) -> f64 {
    let chip = Chip::named(chip).expect("a chip");
    let constants = Constants::of(&chip);
    let buffer = CommandBuffer::of(execution);
    let prediction = predict(&buffer, &chip, &constants, Cache::Warm).expect("a time");
    prediction.time_us
}

#[test]
fn a_billion_threads_are_executed_as_a_few_threadgroups() {
    let execution = executed(&iota(), 1 << 30);
    assert!(execution.sampled <= 24, "{}", execution.sampled);
    assert_eq!(execution.lines(), f64::from(1u32 << 25));
    assert_eq!(execution.footprint.verified, 1.0);
    assert_eq!(execution.groups.len(), 1);
    assert_eq!(
        execution.footprint.buffers[0].written,
        f64::from(1u32 << 25)
    );
}

/// The first threads store their position; the others do nothing, without a jump.
fn first_of_all(threads: u32) -> Program {
    let source = format!(
        "mov_imm r0l, 0
         get_sr r1, sr80
         mov_imm r2, {threads}, 0b0
         if_icmp r0l, ult, r1, r2, 1
         device_store 0, i32, x, r1, u0_u1, r1, unsigned, 0
         pop_exec r0l, 1
         stop"
    );
    program(assemble(Isa::G13, &source, 0).expect("assembles").code)
}

#[test]
fn threadgroups_that_do_nothing_are_told_from_those_that_work() {
    let program = first_of_all(1 << 22);
    let mut memory = Memory::new();
    let dispatch = Dispatch {
        threadgroup: [1024, 1, 1],
        ..dispatch(&program, 1 << 24, &mut memory)
    };
    let execution = execute(&dispatch, &mut memory, &Sampling::default()).expect("it runs");
    let stored = &execution.accesses[0];
    // A quarter of all threadgroups stores, a line a simdgroup.
    assert_eq!((stored.lines, stored.taken), (0.25, 0.25));
}

#[test]
fn the_number_of_threads_of_this_machine_changes_nothing() {
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .expect("a pool");
        pool.install(|| executed(&with_loop(50), 100_000))
    };
    assert_eq!(on(1), on(4));
}

#[test]
fn an_execution_is_small_and_survives_being_stored() {
    let execution = executed(&with_loop(100), 1_000_001);
    let text = serde_json::to_string(&execution).expect("JSON");
    assert!(text.len() < 4000, "{}", text.len());
    let read: Execution = serde_json::from_str(&text).expect("an execution");
    assert_eq!(time(&read, "m2"), time(&execution, "m2"));
}

#[test]
fn longer_loops_and_larger_grids_take_longer_and_more_cores_less() {
    let short = executed(&with_loop(20), 1 << 20);
    let long = executed(&with_loop(120), 1 << 20);
    assert!(time(&long, "m2") > 2.0 * time(&short, "m2"));
    assert!(time(&executed(&with_loop(120), 1 << 22), "m2") > 3.0 * time(&long, "m2"));
    assert!(time(&long, "m1-max") < 0.6 * time(&long, "m1"));
}

#[test]
fn the_same_program_under_another_name_takes_the_same_time() {
    let renamed = Program {
        name: "other".to_owned(),
        ..with_loop(40)
    };
    let (one, other) = (executed(&with_loop(40), 65_536), executed(&renamed, 65_536));
    assert_eq!(time(&one, "m2"), time(&other, "m2"));
}

#[test]
fn terms_add_up_and_a_command_buffer_is_more_than_its_parts() {
    let chip = Chip::named("m2").expect("a chip");
    let constants = Constants::of(&chip);
    let execution = executed(&with_loop(40), 1 << 18);
    let once = CommandBuffer::of(&execution);
    let prediction = predict(&once, &chip, &constants, Cache::Warm).expect("a time");
    let sum: f64 = prediction.terms.iter().map(|term| term.us).sum();
    assert!((sum / prediction.time_us - 1.0).abs() < 1e-6);
    let ten = CommandBuffer {
        dispatches: vec![Repeated {
            execution: &execution,
            times: 10,
        }],
        times: 1,
    };
    let ten = predict(&ten, &chip, &constants, Cache::Warm).expect("a time");
    let expected =
        10.0 * prediction.dispatches_us[0] + constants.launch_us + 9.0 * constants.between_us;
    assert!((ten.time_us / expected - 1.0).abs() < 1e-6);
}

#[test]
fn arithmetic_gains_from_cores_and_arithmetic_rate() {
    let chip = Chip::named("m2").expect("a chip");
    let execution = executed(&with_loop(120), 1 << 22);
    let buffer = CommandBuffer::of(&execution);
    let gains = gains(&buffer, &chip, &Constants::of(&chip), Cache::Warm).expect("gains");
    let best: Vec<&str> = gains.iter().take(2).map(|gain| gain.resource).collect();
    assert!(best.contains(&"cores"), "{best:?}");
    assert!(best.contains(&"arithmetic rate"), "{best:?}");
}

#[test]
fn what_cannot_be_predicted_says_why() {
    let sampling = Sampling {
        max_steps: 10_000,
        ..Sampling::default()
    };
    let error = |program: &Program, change: fn(&mut Dispatch<'_>)| {
        let mut memory = Memory::new();
        let mut dispatch = dispatch(program, 1024, &mut memory);
        change(&mut dispatch);
        let refused = execute(&dispatch, &mut memory, &sampling);
        refused.expect_err("no execution")
    };
    assert!(matches!(
        error(&endless(), |_| ()),
        Error::Endless { steps: 10_000, .. }
    ));
    let missing = error(&iota(), |dispatch| dispatch.arguments.clear());
    assert_eq!(missing, Error::MissingBuffer { index: 0 });
    let empty = error(&iota(), |dispatch| dispatch.grid[1] = 0);
    assert!(empty.to_string().contains("no threads"), "{empty}");
    let large = error(&iota(), |dispatch| dispatch.threadgroup = [2048, 1, 1]);
    assert!(large.to_string().contains("too large"), "{large}");
    let outside = error(&iota(), |dispatch| dispatch.grid[0] = 4096);
    assert!(matches!(outside, Error::Run(_)), "{outside}");
}

#[test]
fn every_chip_has_a_time_and_newer_generations_a_wider_band() {
    let execution = executed(&with_loop(40), 1 << 20);
    let buffer = CommandBuffer::of(&execution);
    let band = |chip: &Chip| {
        let found = predict(&buffer, chip, &Constants::of(chip), Cache::Warm);
        let found = found.unwrap_or_else(|error| panic!("{}: {error}", chip.name));
        assert!(found.low_us < found.time_us && found.time_us < found.high_us);
        (found.class, found.high_us / found.low_us)
    };
    let older: Vec<_> = ["m2", "m2-pro", "m2-max", "m2-ultra"]
        .map(|name| band(&Chip::named(name).expect("a chip")))
        .to_vec();
    for chip in assay_chip::chips() {
        let (class, width) = band(chip);
        let mut alike = older.iter().filter(|(other, _)| *other == class);
        let wider = alike.all(|(_, other)| width > *other);
        assert!(chip.family < 9 || wider, "{}", chip.name);
    }
}

#[test]
fn several_dispatches_are_in_doubt_about_what_lies_between_them() {
    let execution = executed(&iota(), 4096);
    let chip = Chip::named("m2").expect("a chip");
    let band = |times| {
        let buffer = CommandBuffer {
            dispatches: vec![Repeated {
                execution: &execution,
                times,
            }],
            times: 1,
        };
        let found = predict(&buffer, &chip, &Constants::of(&chip), Cache::Warm);
        let found = found.expect("a prediction");
        found.high_us / found.low_us
    };
    assert!(band(100) > 2.0 * band(1), "{} and {}", band(100), band(1));
}

#[test]
fn a_stored_execution_that_makes_no_sense_is_refused() {
    let chip = Chip::named("m2").expect("a chip");
    let sound = executed(&with_loop(8), 4096);
    let refused = |change: fn(&mut Execution)| {
        let mut execution = sound.clone();
        change(&mut execution);
        let buffer = CommandBuffer::of(&execution);
        predict(&buffer, &chip, &Constants::of(&chip), Cache::Warm).expect_err("no time")
    };
    let changes: [fn(&mut Execution); 5] = [
        |execution| execution.version = 0,
        |execution| execution.groups.clear(),
        |execution| execution.paths.clear(),
        |execution| execution.runs.clear(),
        |execution| execution.accesses.clear(),
    ];
    for change in changes {
        assert!(matches!(refused(change), Error::BadExecution(_)));
    }
}

#[test]
fn the_picture_has_a_row_per_simdgroup_without_overlaps() {
    let chip = Chip::named("m2").expect("a chip");
    let execution = executed(&with_loop(60), 1 << 18);
    let buffer = CommandBuffer::of(&execution);
    let constants = Constants::of(&chip);
    let drawn = pictures(&buffer, &chip, &constants, Cache::Warm).expect("a picture");
    let [picture] = drawn.as_slice() else {
        panic!("one dispatch")
    };
    assert_eq!(picture.rows.len() as u32, picture.simulated * 8);
    for row in &picture.rows {
        let mut at = 0.0;
        for stretch in &row.stretches {
            assert!(stretch.from >= at - 0.5, "{stretch:?} after {at}");
            assert!(stretch.to > stretch.from && stretch.to <= picture.cycles);
            at = stretch.to;
        }
    }
    let totals = picture.totals();
    let of = |wanted: Activity| totals.iter().find(|(kind, _)| *kind == wanted).unwrap().1;
    assert!(of(Activity::Issue) > 0.0 && of(Activity::UnitBusy) > 0.0);
    assert!(of(Activity::NoSlot) > 0.0, "threadgroups wait for room");
    assert_eq!(of(Activity::Barrier), 0.0);
}

#[test]
fn the_time_of_instructions_adds_up_to_the_dispatch() {
    let chip = Chip::named("m2").expect("a chip");
    let constants = Constants::of(&chip);
    let program = with_loop(80);
    let execution = executed(&program, 1 << 20);
    let buffer = CommandBuffer::of(&execution);
    let prediction = predict(&buffer, &chip, &constants, Cache::Warm).expect("a time");
    let times = by_instruction(&buffer, &[&program], &chip, &constants, Cache::Warm);
    let times = &times.expect("times")[0];
    let sum: f64 = times.iter().map(|time| time.total()).sum();
    let launch = prediction.terms.iter();
    let launch = launch.filter(|term| term.name == "threadgroup launch");
    let launch: f64 = launch.map(|term| term.us).sum();
    let whole = prediction.dispatches_us[0] - launch;
    assert!((sum / whole - 1.0).abs() < 1e-3, "{sum} of {whole}");
    // The loop is where the time goes, and its instructions come first.
    let store = times.last().expect("the store").offset;
    let in_loop = times.iter().filter(|time| time.offset < store - 16);
    let in_loop: f64 = in_loop.map(|time| time.total()).sum();
    assert!(in_loop > 0.8 * sum, "{in_loop} of {sum}");
}

#[test]
fn a_timeline_is_a_trace_whose_events_do_not_overlap() {
    let target = Target::of(Chip::named("m2").expect("a chip"));
    let execution = executed(&with_loop(10), 1 << 14);
    let question = Question {
        kernel: "</script> & co",
        code: "by hand",
        buffer: CommandBuffer::of(&execution),
        state: Cache::Warm,
    };
    let predicted = Predicted::new(&question, &target).expect("a time");
    let Target {
        chip, constants, ..
    } = &target;
    let drawn = pictures(&question.buffer, chip, constants, Cache::Warm).expect("a picture");
    let text = render::timeline(&predicted, &drawn);
    let trace: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("events");
    let mut ends = std::collections::BTreeMap::new();
    for event in events.iter().filter(|event| event["ph"] == "X") {
        let number = |name: &str| event[name].as_f64().expect("a number");
        let end = ends.entry(event["tid"].as_u64()).or_insert(0.0);
        assert!(number("ts") >= *end - 1e-3);
        *end = number("ts") + number("dur");
    }
    assert_eq!(ends.len(), drawn[0].rows.len());
    let report = Report {
        predictions: vec![predicted],
        ..Report::default()
    };
    let page = render::html(&report, &drawn);
    assert!(page.contains("id=core-data"), "the picture's data");
    assert!(!page.contains("</script> &"), "names are escaped");
    assert_eq!(
        page.matches("<script").count(),
        page.matches("</script>").count()
    );
    for address in ["http://", "https://", "src="] {
        assert!(
            !page.contains(address),
            "{address}: the page fetches nothing"
        );
    }
}
