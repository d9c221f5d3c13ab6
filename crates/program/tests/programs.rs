//! Recorded programs on modelled chips, from recordings that are made here. Kernels are not executed: what they would do is given.

mod made;

use assay_chip::Chip;
use assay_predict::{Constants, Target};
use assay_program::{Executed, Kernels, Recorded, Run, Steps, Used, timeline};
use assay_recording::*;
use assay_trace::{Options, analyze};
use made::{committed, dispatch, encoder, execution, head};

/// A recording of events.
fn recorded(events: &[Event]) -> Recorded {
    let mut file = Vec::new();
    let mut writer = Writer::new(&mut file).unwrap();
    for event in events {
        writer.write(event).unwrap();
    }
    writer.finish().unwrap();
    Recorded::read(file.as_slice()).unwrap()
}

fn executed(instructions: u32, lines: f64) -> Executed {
    Executed {
        execution: execution(instructions, lines),
        accesses: vec![(0, true, false), (1, false, true)],
    }
}

fn kernels(recorded: &Recorded, each: impl Fn(&str) -> Result<Executed, String>) -> Kernels {
    let launches = 0..recorded.launches.len() as u32;
    Kernels {
        executed: launches
            .map(|launch| each(&recorded.kernel(launch)))
            .collect(),
        kept: 0,
    }
}

fn m2() -> Target {
    Target::of(Chip::named("m2").unwrap())
}

fn constants() -> Constants {
    m2().constants
}

fn simulate(events: &[Event]) -> (Recorded, Kernels, Run) {
    let recorded = recorded(events);
    let kernels = kernels(&recorded, |name| match name {
        "unknown" => Err("its library was not kept".to_owned()),
        "large" => Ok(executed(200_000, 1000.0)),
        _ => Ok(executed(200, 1000.0)),
    });
    let run = Run::simulate(&recorded, &kernels, m2());
    (recorded, kernels, run)
}

#[test]
fn the_same_launch_is_one_launch_wherever_its_buffers_are() {
    let mut events = head(&["large", "small"]);
    events.extend(committed(
        1,
        vec![
            encoder(EncoderKind::Serial),
            dispatch(0, 1, 2),
            dispatch(0, 3, 4),
            dispatch(0, 5, 5),
            dispatch(1, 1, 2),
        ],
    ));
    // In place is another launch, since its arguments are one buffer.
    assert_eq!(recorded(&events).launches.len(), 3);
}

#[test]
fn serial_dispatches_add_up_with_gaps_between_and_concurrent_ones_share_one() {
    let times = |kind| {
        let mut events = head(&["small"]);
        let commands = vec![
            encoder(kind),
            dispatch(0, 1, 2),
            dispatch(0, 3, 4),
            dispatch(0, 5, 6),
        ];
        events.extend(committed(1, commands));
        simulate(&events).2
    };
    let constants = constants();
    let serial = times(EncoderKind::Serial);
    let overhead = constants.launch_us + 2.0 * constants.between_us;
    assert!((serial.overhead_us - overhead).abs() < 1e-9);
    let concurrent = times(EncoderKind::Concurrent);
    assert!((concurrent.overhead_us - constants.launch_us).abs() < 1e-9);
    assert!(concurrent.total_us < serial.total_us);
    for run in [&serial, &concurrent] {
        assert!(run.low_us < run.total_us && run.total_us < run.high_us);
        let slots: f64 = run
            .slots
            .iter()
            .map(|slot| slot.end_us - slot.start_us)
            .sum();
        assert!((slots + run.overhead_us - run.total_us).abs() < 1e-6);
    }
}

#[test]
fn a_wait_of_the_host_is_a_synchronisation_point_of_the_timeline() {
    let step = |id| {
        committed(
            id,
            vec![
                encoder(EncoderKind::Serial),
                dispatch(0, 1, 2),
                dispatch(0, 2, 1),
            ],
        )
    };
    let waited = |command_buffer| {
        Event::Waited(Waited {
            command_buffer,
            ..Waited::default()
        })
    };
    let strong = |waits: bool| {
        let mut events = head(&["large"]);
        for id in 1..6 {
            events.extend(step(id));
            events.extend(waits.then(|| waited(id)));
        }
        let (recorded, kernels, run) = simulate(&events);
        let recording = timeline(&recorded, &kernels, &[run], None).unwrap();
        let analysis = analyze(&recording, &Options::default()).unwrap();
        assert_eq!(analysis.recording.time_source, "modelled");
        assert_eq!(analysis.intervals.command_buffers, 5);
        analysis.synchronisation.strong
    };
    assert_eq!((strong(true), strong(false)), (4, 0));
}

#[test]
fn findings_of_the_whole_program_say_what_to_change() {
    let mut events = head(&["small"]);
    let mut commands = vec![encoder(EncoderKind::Serial)];
    // Independent of each other; and 2 and 4 are written again and again without a reader.
    for _ in 0..20 {
        commands.extend([dispatch(0, 1, 2), dispatch(0, 3, 4)]);
    }
    events.extend(committed(1, commands));
    let (recorded, kernels, run) = simulate(&events);
    let recording = timeline(&recorded, &kernels, &[run], None).unwrap();
    let analysis = analyze(&recording, &Options::default()).unwrap();
    let program = analysis.program.as_ref().unwrap();
    assert_eq!((program.dispatches, program.launches), (40, 1));
    assert_eq!(program.needless.serial, 39);
    assert_eq!(program.overwritten.writes, 38);
    assert_eq!(program.small.count, 39);
    let found: Vec<&str> = analysis
        .findings
        .iter()
        .map(|one| one.rule.as_str())
        .collect();
    for rule in ["small-dispatches", "needless-waits", "overwritten-results"] {
        assert!(found.contains(&rule), "{rule}: {found:?}");
    }
}

#[test]
fn order_that_memory_asks_for_is_not_called_needless() {
    let mut events = head(&["small"]);
    let handed_over = [
        encoder(EncoderKind::Serial),
        dispatch(0, 1, 2),
        dispatch(0, 2, 3),
        dispatch(0, 3, 1),
    ];
    let between = [
        encoder(EncoderKind::Concurrent),
        dispatch(0, 1, 2),
        Command::Barrier,
        dispatch(0, 2, 3),
        Command::Barrier,
        dispatch(0, 5, 6),
    ];
    events.extend(committed(1, [handed_over.as_slice(), &between].concat()));
    let (recorded, kernels, run) = simulate(&events);
    let recording = timeline(&recorded, &kernels, &[run], None).unwrap();
    let needless = recording.program.unwrap().needless;
    assert_eq!((needless.serial, needless.barriers), (0, 1));
}

#[test]
fn steps_are_counted_or_found_by_name() {
    let mut events = head(&["large", "small"]);
    for id in 1..5 {
        let commands = vec![
            encoder(EncoderKind::Serial),
            dispatch(1, 1, 2),
            dispatch(0, 2, 3),
        ];
        events.extend(committed(id, commands));
    }
    let (recorded, _, run) = simulate(&events);
    let of = |steps: &str| steps.parse::<Steps>().unwrap().times(&recorded, &run);
    let counted = of("4").unwrap();
    assert_eq!((counted.count, counted.dispatches), (4, 2.0));
    assert_eq!(counted.mean_ms, of("sma*").unwrap().mean_ms);
    assert!((4.0 * counted.mean_ms * 1e3 - run.total_us).abs() < 1e-6);
    assert_eq!(of("nothing"), None);
    assert!("0".parse::<Steps>().is_err());
}

#[test]
fn a_kernel_without_a_prediction_is_named_and_not_counted_as_no_time() {
    let mut events = head(&["large", "unknown"]);
    let commands = vec![
        encoder(EncoderKind::Serial),
        dispatch(0, 1, 2),
        dispatch(1, 2, 3),
    ];
    events.extend(committed(1, commands));
    let (recorded, kernels, run) = simulate(&events);
    let recording = timeline(&recorded, &kernels, &[run], None).unwrap();
    let analysis = analyze(&recording, &Options::default()).unwrap();
    let program = analysis.program.as_ref().unwrap();
    assert_eq!(program.unpredicted[0].reason, "its library was not kept");
    assert_eq!(program.kernels.len(), 1);
    assert_eq!(analysis.findings[0].rule, "unpredicted-kernels");
}

#[test]
fn a_recording_whose_program_was_killed_is_shown_up_to_there() {
    let mut events = head(&["large"]);
    events.extend(committed(
        1,
        vec![encoder(EncoderKind::Serial), dispatch(0, 1, 2)],
    ));
    let mut file = Vec::new();
    let mut writer = Writer::new(&mut file).unwrap();
    for event in &events {
        writer.write(event).unwrap();
    }
    writer.flush().unwrap();
    let killed = Recorded::read(file.as_slice()).unwrap();
    assert_eq!(killed.dispatches().count(), 1);
    assert!(
        killed.warnings[0].contains("has no end"),
        "{:?}",
        killed.warnings
    );
}

/// A dispatch with a number by value, of so many threadgroups, from an offset of a buffer on.
fn with_number(pipeline: u32, number: u32, groups: u32, offset: u64) -> Command {
    let Command::Dispatch(mut dispatch) = dispatch(pipeline, 1, 2) else {
        unreachable!()
    };
    dispatch.extent = Extent::Groups([groups, 1, 1]);
    dispatch.bindings[0].1 = Binding::Buffer { buffer: 1, offset };
    let bytes = number.to_le_bytes().to_vec();
    dispatch.bindings.push((2, Binding::Bytes(bytes.into())));
    Command::Dispatch(dispatch)
}

fn argument(index: u32, type_name: &str, access: assay_ssa::ArgumentAccess) -> assay_ssa::Argument {
    assay_ssa::Argument {
        name: format!("a{index}"),
        binding: assay_ssa::Binding::Buffer(index),
        param: Some(index),
        space: Some(assay_ssa::Space::Device),
        access,
        type_name: type_name.to_owned(),
        size: 4,
        align: 4,
        buffer_size: None,
        no_alias: false,
        unused: false,
        condition: None,
        members: Vec::new(),
    }
}

#[test]
fn launches_of_a_kernel_are_one_launch_with_a_size_for_what_differs() {
    use assay_ssa::ArgumentAccess::{Read, Write};
    let mut events = head(&["large", "small"]);
    let commands = vec![
        encoder(EncoderKind::Serial),
        with_number(0, 16, 16, 0),
        with_number(0, 64, 64, 1 << 19),
        with_number(0, 64, 64, 1 << 19),
        dispatch(0, 1, 2),
        dispatch(1, 1, 2),
    ];
    events.extend(committed(1, commands));
    let (recorded, _, run) = simulate(&events);
    let used = Used::new(&recorded, &run, "large").unwrap();
    assert_eq!(used.dispatches, 4);
    let counts: Vec<u64> = used.launches.iter().map(|one| one.count).collect();
    assert_eq!(counts, [2, 1], "the one that takes most time first");
    assert!(used.share > 0.5 && used.share < 1.0, "{}", used.share);
    assert!(used.left_out[0].contains("1 dispatches with other"));
    let arguments = [
        argument(0, "float", Read),
        argument(1, "float", Write),
        argument(2, "uint", Read),
    ];
    let (written, zeros) = used.written(&recorded, &arguments).unwrap();
    assert_eq!(
        written.comment("large"),
        "assay: launch large --size GX=64,16 --size L0=131072,262144 --size A2=64,16 --groups GX --threadgroup 256 \
         --buffer 0=random:f32:L0 --buffer 1=zeros:f32:262144 --bytes 2=u32:A2"
    );
    assert!(zeros.is_empty());
    // Whole numbers may be indices, so they are zeros, which is told.
    let indices = [argument(0, "uint", Read), argument(1, "float", Write)];
    let (written, zeros) = used.written(&recorded, &indices).unwrap();
    assert_eq!(zeros, [0]);
    assert!(written.comment("large").contains("0=zeros:u32:L0"));
    let none = Used::new(&recorded, &run, "other").unwrap_err();
    assert_eq!(none, "the program dispatches no kernel other");
}

#[test]
fn a_tensor_in_a_pool_ends_where_the_next_one_begins() {
    let mut events = head(&["large"]);
    events.push(Event::Buffer(Buffer {
        id: 1,
        bytes: 4 << 30,
        address: 1 << 40,
        ..Buffer::default()
    }));
    let commands = vec![
        encoder(EncoderKind::Serial),
        with_number(0, 1, 64, 0),
        with_number(0, 1, 64, 4096),
    ];
    events.extend(committed(1, commands));
    let (recorded, _, run) = simulate(&events);
    let used = Used::new(&recorded, &run, "large").unwrap();
    let arguments = [argument(0, "float", assay_ssa::ArgumentAccess::Read)];
    // Both dispatches are one launch, whose longest tensor has no end but the pool's.
    let why = used.written(&recorded, &arguments).unwrap_err();
    assert!(why.contains("have to be filled"), "{why}");
}
