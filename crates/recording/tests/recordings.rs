//! Recordings are read back as they were written; what is damaged is an error that says where.

use assay_recording::*;
use proptest::collection::vec;
use proptest::prelude::*;
use std::sync::Arc;

fn text() -> impl Strategy<Value = Arc<str>> {
    prop_oneof![Just(""), Just("qkv"), Just("layer 1"), Just("größe")].prop_map(Arc::from)
}

fn blob() -> impl Strategy<Value = Arc<[u8]>> {
    vec(0u8..4, 0..40).prop_map(Arc::from)
}

fn binding() -> impl Strategy<Value = (u32, Binding)> {
    let buffer = (any::<u64>(), 0u64..1 << 40)
        .prop_map(|(buffer, offset)| Binding::Buffer { buffer, offset });
    (
        0u32..31,
        prop_oneof![buffer, blob().prop_map(Binding::Bytes)],
    )
}

fn extent() -> impl Strategy<Value = Extent> {
    prop_oneof![
        any::<[u32; 3]>().prop_map(Extent::Threads),
        (0u32..3).prop_map(|n| Extent::Groups([n, 1, 1])),
        any::<[u64; 2]>().prop_map(|[buffer, offset]| Extent::Indirect { buffer, offset }),
    ]
}

fn command() -> impl Strategy<Value = Command> {
    let encoder =
        (text(), any::<bool>(), any::<u64>()).prop_map(|(label, concurrent, created_ns)| {
            let kind = if concurrent {
                EncoderKind::Concurrent
            } else {
                EncoderKind::Serial
            };
            Command::Encoder(Encoder {
                kind,
                label,
                created_ns,
            })
        });
    let shape = (
        0u32..4,
        extent(),
        (0u32..3).prop_map(|n| [n, 1, 1]),
        vec((0u32..4, any::<u32>()), 0..2),
    );
    let dispatch = (shape, vec(binding(), 0..6), text(), text(), any::<u64>());
    let dispatch = dispatch.prop_map(
        |((pipeline, extent, threadgroup, memory), bindings, label, group, encoded_ns)| {
            Command::Dispatch(Box::new(Dispatch {
                pipeline,
                extent,
                threadgroup,
                bindings,
                memory,
                label,
                group,
                encoded_ns,
            }))
        },
    );
    prop_oneof![
        encoder,
        dispatch,
        any::<[u64; 3]>().prop_map(|[buffer, offset, bytes]| Command::Fill {
            buffer,
            offset,
            bytes
        }),
        any::<[u64; 5]>().prop_map(|[from, from_offset, to, to_offset, bytes]| Command::Copy {
            from,
            from_offset,
            to,
            to_offset,
            bytes,
        }),
        Just(Command::Barrier),
        vec(any::<[u64; 2]>(), 0..3).prop_map(Command::BarrierFor),
        any::<u64>().prop_map(Command::UpdateFence),
        any::<u64>().prop_map(Command::WaitForFence),
        any::<[u64; 2]>().prop_map(|[event, value]| Command::Signal { event, value }),
        any::<[u64; 2]>().prop_map(|[event, value]| Command::WaitForEvent { event, value }),
    ]
}

fn library() -> impl Strategy<Value = Library> {
    let form = prop_oneof![
        Just(Form::Compiled),
        (any::<bool>(), text(), vec(text(), 0..3)).prop_map(|(fast_math, standard, defines)| {
            Form::Source {
                fast_math,
                standard,
                defines,
            }
        }),
    ];
    let contents = prop_oneof![
        Just(Contents::Unknown),
        text().prop_map(Contents::File),
        blob().prop_map(Contents::Here),
    ];
    (any::<u32>(), any::<[u8; 32]>(), form, contents).prop_map(|(id, hash, form, contents)| {
        Library {
            id,
            form,
            hash,
            contents,
        }
    })
}

fn pipeline() -> impl Strategy<Value = Pipeline> {
    let constant =
        (text(), text(), vec(any::<u64>(), 0..3)).prop_map(|(key, kind, elements)| Constant {
            key,
            kind,
            elements,
        });
    let parts = (
        any::<[u32; 2]>(),
        text(),
        vec(constant, 0..3),
        any::<u64>(),
        any::<[u64; 2]>(),
    );
    parts.prop_map(
        |([id, library], function, constants, threadgroup_memory, made_ns)| Pipeline {
            id,
            library,
            function,
            constants,
            threadgroup_memory,
            made_ns,
        },
    )
}

/// Events that belong together: a command buffer comes with its commands.
fn events() -> impl Strategy<Value = Vec<Event>> {
    let buffer = (any::<[u64; 3]>(), text(), any::<bool>()).prop_map(
        |([id, bytes, address], label, tracked)| {
            Event::Buffer(Buffer {
                id,
                bytes,
                address,
                label,
                tracked,
            })
        },
    );
    let commands = (any::<[u64; 4]>(), text(), vec(command(), 0..8));
    let commands = commands.prop_map(|([id, queue, created_ns, committed_ns], label, commands)| {
        let head = CommandBuffer {
            id,
            queue,
            label,
            created_ns,
            committed_ns,
            commands: commands.len() as u64,
        };
        std::iter::once(Event::CommandBuffer(head))
            .chain(commands.into_iter().map(Event::Command))
            .collect()
    });
    let single = prop_oneof![
        (any::<u32>(), vec(text(), 0..3), any::<bool>()).prop_map(|(pid, arguments, executed)| {
            Event::Process(Process {
                pid,
                arguments,
                executed,
            })
        }),
        (text(), text()).prop_map(|(name, chip)| Event::Device(Device { name, chip })),
        library().prop_map(Event::Library),
        pipeline().prop_map(Event::Pipeline),
        buffer,
        any::<[u64; 3]>().prop_map(|[command_buffer, started_ns, ended_ns]| Event::Completed(
            Completed {
                command_buffer,
                started_ns,
                ended_ns,
            }
        )),
        any::<[u64; 3]>().prop_map(|[command_buffer, from_ns, to_ns]| Event::Waited(Waited {
            command_buffer,
            from_ns,
            to_ns,
        })),
    ];
    let piece = prop_oneof![single.prop_map(|event| vec![event]), commands];
    vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

fn written(events: &[Event]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut writer = Writer::new(&mut file).unwrap();
    for (at, event) in events.iter().enumerate() {
        writer.write(event).unwrap();
        // Frames of a few records, so that several are tried.
        if at % 3 == 2 {
            writer.flush().unwrap();
        }
    }
    writer.finish().unwrap();
    file
}

fn read(file: &[u8]) -> Result<(Vec<Event>, bool), Error> {
    let mut reader = Reader::new(file)?;
    let mut events = Vec::new();
    while let Some(event) = reader.next_event()? {
        events.push(event);
    }
    Ok((events, reader.is_complete()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn what_is_written_is_read_back(events in events()) {
        let (back, complete) = read(&written(&events)).unwrap();
        prop_assert_eq!(back, events);
        prop_assert!(complete);
    }

    #[test]
    fn a_part_of_a_recording_is_a_beginning_of_it(events in events(), cut in any::<prop::sample::Index>()) {
        let file = written(&events);
        let part = &file[..cut.index(file.len())];
        match read(part) {
            Ok((back, complete)) => {
                prop_assert!(!complete);
                prop_assert_eq!(&back[..], &events[..back.len()]);
            }
            Err(Error::NotARecording) => prop_assert!(part.len() < 9),
            Err(Error::Truncated { offset }) => prop_assert_eq!(offset, part.len() as u64),
            Err(other) => prop_assert!(false, "{}", other),
        }
    }

    #[test]
    fn a_changed_byte_is_noticed(events in events(), at in any::<prop::sample::Index>(), bit in 0u8..8) {
        let mut file = written(&events);
        let at = at.index(file.len());
        file[at] ^= 1 << bit;
        prop_assert!(read(&file).is_err());
    }
}

#[test]
fn errors_say_what_and_where() {
    let file = written(&[Event::Device(Device::default())]);
    let says = |file: &[u8]| read(file).unwrap_err().to_string();
    assert_eq!(
        says(b"bplist00"),
        "not a recording of a program: it does not begin with ASSAYREC"
    );
    let mut newer = file.clone();
    newer[8] = VERSION + 1;
    assert_eq!(
        says(&newer),
        "a recording of version 2: this program reads version 1; record again"
    );
    assert_eq!(
        says(&file[..file.len() - 1]),
        format!(
            "the recording ends in the middle of a frame, at byte {}",
            file.len() - 1
        )
    );
    let mut damaged = file.clone();
    damaged[20] ^= 1;
    assert_eq!(
        says(&damaged),
        "the recording is damaged at byte 17: the checksum of a frame is another"
    );
    let mut huge = file[..9].to_vec();
    huge.extend([0xff; 8]);
    assert_eq!(
        says(&huge),
        "the recording is damaged at byte 9: a frame longer than any"
    );
}

/// What a language model's step looks like: few pipelines, six bindings, arguments by value that differ in a few bytes.
fn dispatch(n: u64) -> Event {
    let mut arguments = vec![7u8; 160];
    arguments[8..16].copy_from_slice(&n.to_le_bytes());
    let buffer = |at: u64| Binding::Buffer {
        buffer: 100 + (n + at) % 40,
        offset: (n * 4096 + at) % (1 << 32),
    };
    let bindings = (1..6).map(|at| (at as u32, buffer(at)));
    Event::Command(Command::Dispatch(Box::new(Dispatch {
        pipeline: (n % 12) as u32,
        extent: Extent::Groups([4096 + (n % 3) as u32, 1, 1]),
        threadgroup: [32, 2, 1],
        bindings: std::iter::once((0, Binding::Bytes(arguments.into())))
            .chain(bindings)
            .collect(),
        memory: vec![(0, 8192)],
        label: "decode".into(),
        group: "layer/attention".into(),
        encoded_ns: n * 3000,
    })))
}

#[test]
fn a_million_dispatches_take_less_than_100_megabytes_and_a_bounded_memory() {
    const COUNT: u64 = 100_000;
    let mut file = Vec::new();
    let mut writer = Writer::new(&mut file).unwrap();
    for block in 0..COUNT / 500 {
        let head = CommandBuffer {
            id: block + 1,
            commands: 500,
            ..CommandBuffer::default()
        };
        writer.write(&Event::CommandBuffer(head)).unwrap();
        for n in 0..500 {
            writer.write(&dispatch(block * 500 + n)).unwrap();
        }
    }
    writer.finish().unwrap();
    assert!(
        file.len() as u64 / COUNT < 100,
        "{} bytes each",
        file.len() as u64 / COUNT
    );
    let mut reader = Reader::new(file.as_slice()).unwrap();
    let mut count = 0;
    while let Some(event) = reader.next_event().unwrap() {
        if let Event::Command(_) = event {
            assert_eq!(event, dispatch(count));
            count += 1;
        }
    }
    assert_eq!(count, COUNT);
}
