//! `.gputrace` bundles: what is in them, and what damage does.

use assay_trace::synth::bundle;
use assay_trace::{Error, Recording, is_capture, read_capture, read_capture_member};
use std::collections::BTreeMap;

type Bundle = BTreeMap<String, Vec<u8>>;

fn example(buffers: u64) -> Bundle {
    bundle::example("relu_f32", buffers).expect("a bundle")
}

fn read(bundle: &Bundle) -> Recording {
    read_capture(bundle).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_dispatch_is_named_through_its_pipeline_and_function() {
    let recording = read(&example(3));
    assert!(recording.warnings.is_empty(), "{:?}", recording.warnings);
    let capture = recording.capture.expect("a capture");
    assert_eq!(capture.command_buffers.len(), 3);
    assert_eq!(
        (capture.dispatches, capture.waits, capture.queues),
        (3, 3, 1)
    );
    let buffer = &capture.command_buffers[0];
    assert!(buffer.committed && buffer.waited);
    let dispatch = &buffer.encoders[0].dispatches[0];
    assert_eq!(dispatch.kernel.as_deref(), Some("relu_f32"));
    assert_eq!(
        (dispatch.grid, dispatch.threadgroup),
        ([65536, 1, 1], [1024, 1, 1])
    );
    assert_eq!(dispatch.grid_unit, "threads");
    let binding = &dispatch.buffers[0];
    assert_eq!(binding.name.as_deref(), Some("x"));
    assert_eq!(binding.label.as_deref(), Some("weights"));
    assert_eq!(binding.length, Some(4096));
}

#[test]
fn pipelines_carry_the_compilers_statistics() {
    let capture = read(&example(1)).capture.expect("a capture");
    let pipeline = &capture.pipelines[0];
    assert_eq!(pipeline.source.as_deref(), Some("/tmp/kernels.metal"));
    let statistics = pipeline.statistics.as_ref().expect("statistics");
    assert_eq!(statistics.instructions, Some(33));
    assert_eq!(statistics.temporary_registers, Some(12));
    assert_eq!(statistics.spilled_bytes, Some(0));
    // Absent is unknown, not zero.
    assert_eq!(statistics.threadgroup_memory_bytes, None);
    assert_eq!(statistics.instruction_mix["ALU"], 19);
    assert_eq!(statistics.remarks[0].line, Some(11));
    assert_eq!(statistics.remarks[0].message, "33 instructions in function");
    assert_eq!(
        capture.libraries[0].path.as_deref(),
        Some("/tmp/kernels.metallib")
    );
    assert_eq!(
        capture.device.and_then(|d| d.product).as_deref(),
        Some("Mac14,2")
    );
}

#[test]
fn members_can_be_taken_out() {
    let bundle = example(1);
    assert!(is_capture(&bundle));
    let library = read_capture_member(&bundle, "B85FF6B0D0E4C838").expect("the library");
    assert!(library.starts_with(b"MTLB"));
    assert!(read_capture_member(&bundle, "../etc/passwd").is_err());
}

#[test]
fn lying_lengths_are_said_and_the_rest_is_kept() {
    let mut bundle = example(2);
    let calls = bundle.get_mut("unsorted-capture").expect("calls");
    let second = calls.len() / 2;
    // A record in the second half claims to be four gigabytes long.
    let mut at = 8;
    while at < second {
        at += u32::from_le_bytes(calls[at..at + 4].try_into().expect("4 bytes")) as usize;
    }
    calls[at..at + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    let recording = read(&bundle);
    let message = &recording.warnings[0].problem.message;
    assert!(message.contains("longer than the file"), "{message}");
    assert_eq!(
        recording.capture.expect("a capture").command_buffers.len(),
        1
    );
}

#[test]
fn zip_bombs_stop_at_the_size_the_index_claims() {
    let mut bundle = example(1);
    let bomb = vec![0u8; 64 << 20];
    let packed = BTreeMap::from([("254C018D0AA48DAE".to_owned(), bomb)]);
    let (mut index, store) = bundle::pack(&packed).expect("packed");
    // The index claims a hundred bytes; the stream unpacks to 64 MiB.
    let entry = 20 + 16 * 12;
    index[entry..entry + 4].copy_from_slice(&100u32.to_le_bytes());
    bundle.insert("index".to_owned(), index);
    bundle.insert("store0".to_owned(), store);
    let recording = read(&bundle);
    let messages: Vec<&str> = recording
        .warnings
        .iter()
        .map(|w| w.problem.message.as_str())
        .collect();
    assert!(
        messages.iter().any(|m| m.contains("unpacks to more bytes")),
        "{messages:?}"
    );
    let capture = recording.capture.expect("a capture");
    assert_eq!(capture.pipelines[0].kernel.as_deref(), Some("relu_f32"));
    assert!(capture.pipelines[0].statistics.is_none());
}

#[test]
fn an_index_that_claims_too_much_is_refused_without_allocating() {
    let mut bundle = example(1);
    let mut index = b"xdic".to_vec();
    for word in [0u32, u32::MAX, u32::MAX, u32::MAX] {
        index.extend(word.to_le_bytes());
    }
    bundle.insert("index".to_owned(), index);
    let recording = read(&bundle);
    assert!(!recording.warnings.is_empty());
}

#[test]
fn every_cut_and_every_flipped_byte_is_survived() {
    let bundle = example(1);
    for name in ["unsorted-capture", "index", "store0"] {
        let whole = bundle[name].clone();
        for position in 0..whole.len() {
            let mut cut = bundle.clone();
            cut.insert(name.to_owned(), whole[..position].to_vec());
            let _ = read_capture(&cut);
            let mut flipped = bundle.clone();
            if let Some(byte) = flipped.get_mut(name).and_then(|b| b.get_mut(position)) {
                *byte ^= 0xff;
            }
            let _ = read_capture(&flipped);
        }
    }
}

#[test]
fn a_bundle_without_calls_is_an_error() {
    let mut bundle = example(0);
    bundle.retain(|name, _| name == "index" || name == "store0");
    assert!(!is_capture(&bundle));
    assert!(matches!(read_capture(&bundle), Err(Error::Unrecognised(_))));
}

#[test]
fn machine_code_among_the_members_is_named_by_its_chip() {
    use assay_container::builder::{ArchiveBuilder, FunctionBuilder, MetadataBuilder, image};
    use assay_container::gpu::Gpu;
    let mut archive = ArchiveBuilder::new();
    for name in ["G13G", "G16P"] {
        let gpu = Gpu::named(name).expect("known");
        let metadata = MetadataBuilder::new().name("relu_f32").build();
        let function = FunctionBuilder::new(gpu)
            .main(&[0x0e, 0, 0, 0])
            .metadata(&metadata)
            .build();
        archive = archive.gpu(gpu, &image(gpu, &[function]));
    }
    let mut bundle = example(1);
    bundle.insert("7A0C".to_owned(), archive.build());
    // Numbers are not taken for code.
    bundle.insert("MTLBuffer-7-0".to_owned(), vec![0x88, 0, 0x88, 0]);
    let capture = read(&bundle).capture.expect("a capture");
    let named: Vec<_> = capture
        .code
        .iter()
        .map(|slice| (&*slice.member, &*slice.target, slice.functions))
        .collect();
    assert_eq!(named, [("7A0C", "G13G", 1), ("7A0C", "G16P", 1)]);
    assert!(capture.code.iter().all(|slice| slice.decodable));
}
