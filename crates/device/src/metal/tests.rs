//! The flow of every call, against a driver that fails on demand.

use super::driver::Driver;
use super::fake::{Fake, Log, SAMPLER_ID, TEXTURE_ID, Trouble};
use super::{GpuDevice, MetalDevice, MetalSettings, first_device};
use crate::{
    Binding, BufferId, CompileOptions, Device, Dispatch, Error, Extent, FaultKind, Member, Origin,
    PipelineId, Source, Storage,
};
use assay_texture::{Format, Layout, Sampler, Shape};
use std::path::Path;
use std::time::Duration;

const TEXT: &str = "kernel void increment() {\n  int x = y;\n}\n";

fn device(trouble: Trouble) -> (MetalDevice<Fake>, Log) {
    let fake = Fake::new(trouble);
    let log = fake.log.clone();
    let settings = MetalSettings {
        timeout: Some(Duration::from_millis(50)),
        ..MetalSettings::default()
    };
    (MetalDevice::new(fake, settings), log)
}

fn compile(device: &mut MetalDevice<Fake>) -> Result<crate::LibraryId, Error> {
    let source = Source {
        path: Path::new("my/kernel.metal"),
        text: TEXT,
    };
    device.compile(source, &CompileOptions::default())
}

/// A device with its kernel and a buffer of `bytes` zeros.
fn ready(trouble: Trouble, bytes: u64) -> (MetalDevice<Fake>, Log, PipelineId, BufferId) {
    let (mut device, log) = device(trouble);
    let library = compile(&mut device).expect("compiles");
    let pipeline = device.pipeline(library, "increment", &[]).expect("exists");
    let buffer = device.buffer(bytes, Storage::Shared).expect("fits");
    log.borrow_mut().clear();
    (device, log, pipeline, buffer)
}

fn increment(pipeline: PipelineId, buffer: BufferId) -> Dispatch {
    Dispatch::new(pipeline, Extent::Threads([64, 1, 1]), [32, 1, 1])
        .bind(0, Binding::Buffer { buffer, offset: 0 })
        .bind(0, Binding::ThreadgroupMemory(100))
}

#[test]
fn a_kernel_runs_and_its_times_are_the_gpus() {
    let (mut device, log, pipeline, buffer) = ready(Trouble::None, 4);
    device.write(buffer, 0, &[1, 2, 3, 4]).expect("inside");
    let run = vec![increment(pipeline, buffer), increment(pipeline, buffer)];
    let finished = device.run(run).expect("runs");
    let total = finished.time().expect("the GPU gave times");
    assert_eq!(total.origin, Origin::Measured);
    assert_eq!(total.length, Duration::from_micros(500));
    assert_eq!(finished.dispatches.len(), 2);
    assert_eq!(device.contents(buffer).expect("inside"), [3, 4, 5, 6]);
    let log = log.borrow();
    let encoded = log.iter().filter(|what| what.starts_with("encode")).count();
    assert_eq!(encoded, 2);
    let commits = log.iter().filter(|what| *what == "commit").count();
    assert_eq!(commits, 1, "many dispatches, one command buffer: {log:?}");
}

#[test]
fn metal_gets_the_options_it_understands() {
    let (mut device, log) = device(Trouble::None);
    let options = CompileOptions {
        fast_math: false,
        defines: vec!["N=4".to_owned(), "FLAG".to_owned()],
        ..CompileOptions::default()
    };
    let source = Source {
        path: Path::new("k.metal"),
        text: TEXT,
    };
    device.compile(source, &options).expect("compiles");
    let seen = log.borrow().join("\n");
    assert!(seen.contains("fast_math: false"), "{seen}");
    assert!(seen.contains("version: None"), "{seen}");
    assert!(seen.contains(r#"("N", "4"), ("FLAG", "1")"#), "{seen}");

    let older = CompileOptions {
        standard: "metal2.4".parse().expect("a version"),
        ..CompileOptions::default()
    };
    device.compile(source, &older).expect("compiles");
    let seen = log.borrow().join("\n");
    assert!(seen.contains("version: Some((2, 4))"), "{seen}");

    let with_folders = CompileOptions {
        include_folders: vec!["include".into()],
        ..CompileOptions::default()
    };
    let refused = device
        .compile(source, &with_folders)
        .expect_err("no folders");
    assert!(refused.to_string().contains("xcrun metal -I"), "{refused}");
}

#[test]
fn compile_errors_are_at_the_users_line() {
    let words = "Compilation failed: \n\nprogram_source:2:11: error: use of undeclared identifier 'y'\n  int x = y;\n          ^\nprogram_source:1:1: note: in here\n";
    let (mut device, _) = device(Trouble::Compile(words));
    let Err(Error::Source(errors)) = compile(&mut device) else {
        panic!("an error in the source");
    };
    let [error] = errors.as_slice() else {
        panic!("one error: {errors:?}");
    };
    let place = error.place.as_ref().expect("has a place");
    assert_eq!(place.file, Path::new("my/kernel.metal"));
    assert_eq!((place.line, place.column), (2, 11));
    assert_eq!(error.message, "use of undeclared identifier 'y'");
    assert_eq!(error.source_line.as_deref(), Some("  int x = y;"));
    assert_eq!(error.notes.len(), 1);
}

#[test]
fn a_compiler_that_says_something_else_is_quoted() {
    let (mut device, _) = device(Trouble::Compile("the compiler service crashed"));
    let error = compile(&mut device).expect_err("fails");
    assert_eq!(
        error,
        Error::Compiler("the compiler service crashed".to_owned())
    );
}

#[test]
fn a_missing_function_names_those_there_are() {
    let (mut device, log) = device(Trouble::None);
    let library = compile(&mut device).expect("compiles");
    let error = device
        .pipeline(library, "incremnt", &[])
        .expect_err("missing");
    let Error::NoFunction { nearest, count, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!(nearest.first().map(String::as_str), Some("increment"));
    assert_eq!(*count, 2);
    let asked = log.borrow().iter().any(|what| what.starts_with("pipeline"));
    assert!(!asked, "Metal is not asked for what is not there");
}

#[test]
fn a_pipeline_that_cannot_be_made_says_why() {
    let (mut device, _) = device(Trouble::Pipeline("Compiler encountered an internal error"));
    let library = compile(&mut device).expect("compiles");
    let error = device
        .pipeline(library, "increment", &[])
        .expect_err("fails");
    let said = error.to_string();
    assert!(
        said.contains("increment") && said.contains("internal error"),
        "{said}"
    );
}

#[test]
fn only_metallibs_are_loaded() {
    let (mut device, log) = device(Trouble::None);
    let error = device.load(b"BC\xc0\xde".to_vec()).expect_err("bitcode");
    assert!(error.to_string().contains("MTLB"), "{error}");
    assert!(log.borrow().is_empty());
    device.load(b"MTLB....".to_vec()).expect("a metallib");
}

/// Each is refused before anything is encoded.
#[test]
fn limits_are_checked_before_encoding() {
    let (mut device, log, pipeline, buffer) = ready(Trouble::None, 16);
    let good = || increment(pipeline, buffer);
    let too_large = Dispatch {
        threadgroup: [513, 1, 1],
        ..good()
    };
    let no_threads = Dispatch {
        extent: Extent::Threads([0, 1, 1]),
        ..good()
    };
    let overflow = Dispatch {
        extent: Extent::Groups([u32::MAX, 1, 1]),
        ..good()
    };
    let memory = good().bind(0, Binding::ThreadgroupMemory(32768));
    let outside = good().bind(0, Binding::Buffer { buffer, offset: 17 });
    let crooked = good().bind(0, Binding::Buffer { buffer, offset: 2 });
    let unbound = Dispatch::new(pipeline, Extent::Threads([1, 1, 1]), [1, 1, 1]);
    let bytes = good().bind(1, Binding::Bytes(vec![0; 4097]));
    for (bad, words) in [
        (too_large, "too large"),
        (no_threads, "at least one thread"),
        (overflow, "2³²"),
        (memory, "threadgroup memory"),
        (outside, "outside"),
        (crooked, "no multiple of 4"),
        (unbound, "not bound"),
        (bytes, "4096"),
    ] {
        let error = device.submit(vec![good(), bad]).expect_err(words);
        assert!(error.to_string().contains(words), "{error}");
    }
    assert!(log.borrow().is_empty(), "{:?}", log.borrow());
}

/// Runs a kernel whose command buffer fails with this code and these words.
fn failed(code: i64, words: &'static str) -> Error {
    let (mut device, _, pipeline, buffer) = ready(Trouble::Fails(code, words), 4);
    device
        .run(vec![increment(pipeline, buffer)])
        .expect_err("fails")
}

type Expectation<'a> = &'a dyn Fn(&Error) -> bool;

/// Metal's codes and texts, what becomes of them, and what the user reads.
#[test]
fn command_buffer_errors_say_what_happened() {
    let fault =
        |kind| move |error: &Error| matches!(error, Error::Fault(fault) if fault.kind == kind);
    let no_device = |error: &Error| matches!(error, Error::NoDevice(_));
    let memory = |error: &Error| matches!(error, Error::GpuMemory(_));
    let cases: [(i64, &'static str, Expectation<'_>, &str); 12] = [
        (
            2,
            "Caused GPU Timeout Error (00000002:kIOGPUCommandBufferCallbackErrorTimeout)",
            &fault(FaultKind::TimeOut),
            "kept the GPU too long: Caused GPU Timeout",
        ),
        (
            1,
            "Caused GPU Hang Error (00000003:kIOGPUCommandBufferCallbackErrorHang)",
            &fault(FaultKind::TimeOut),
            "no progress",
        ),
        (
            1,
            "Impacting Interactivity (0000000e:kIOGPUCommandBufferCallbackErrorImpactingInteractivity)",
            &fault(FaultKind::TimeOut),
            "dispatch less at once",
        ),
        (
            4,
            "Ignored (for causing prior/excessive GPU errors) (00000004:kIOGPUCommandBufferCallbackErrorSubmissionsIgnored)",
            &no_device,
            "start it again",
        ),
        (
            1,
            "Discarded (victim of GPU error/recovery) (00000005:kIOGPUCommandBufferCallbackErrorInnocentVictim)",
            &no_device,
            "run it again",
        ),
        (
            3,
            "Caused GPU Address Fault Error (0000000b:kIOGPUCommandBufferCallbackErrorPageFault)",
            &fault(FaultKind::OutOfBounds),
            "Address Fault",
        ),
        (
            8,
            "Insufficient Memory (00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)",
            &memory,
            "Insufficient Memory",
        ),
        (7, "Not permitted", &no_device, "does not let this process"),
        (11, "Device removed", &no_device, "gone"),
        (
            9,
            "Invalid Resource (00000009:kIOGPUCommandBufferCallbackErrorInvalidResource)",
            &fault(FaultKind::Other),
            "Invalid Resource",
        ),
        (12, "Stack overflow", &fault(FaultKind::Other), "increment"),
        (
            1,
            "Internal Error",
            &fault(FaultKind::Other),
            "Internal Error",
        ),
    ];
    for (code, words, expected, said) in cases {
        let error = failed(code, words);
        assert!(expected(&error), "{words}: {error:?}");
        assert!(error.to_string().contains(said), "{said}: {error}");
    }
}

/// Metal stops a kernel after a time of its own; ours is not named as if it were that.
#[test]
fn a_kernel_that_metal_stopped_is_not_said_to_have_had_our_time() {
    let said = failed(2, "Caused GPU Timeout Error").to_string();
    assert!(!said.contains("did not finish within"), "{said}");
}

#[test]
fn metal_without_commands_or_encoders_is_said() {
    let run = |trouble| {
        let (mut device, _, pipeline, buffer) = ready(trouble, 4);
        device
            .run(vec![increment(pipeline, buffer)])
            .expect_err("fails")
    };
    assert!(matches!(run(Trouble::NoCommands), Error::NoDevice(_)));
    assert!(matches!(run(Trouble::NoEncoder), Error::Pipeline { .. }));
}

/// The virtual GPU of a virtual machine gives zeros.
#[test]
fn results_without_times_are_kept() {
    let (mut device, _, pipeline, buffer) = ready(Trouble::NoTimes, 4);
    device.driver.counters = false;
    let finished = device
        .run(vec![increment(pipeline, buffer)])
        .expect("the results count");
    assert_eq!(finished.total, None);
    let said = finished.time().expect_err("no time").to_string();
    assert!(said.contains("virtual"), "{said}");
    assert_eq!(device.contents(buffer).expect("inside"), [1, 1, 1, 1]);
}

#[test]
fn the_default_gpu_comes_first_and_the_list_is_asked_without_one() {
    let never = || -> Vec<u8> { panic!("the default is there") };
    assert_eq!(first_device(Some(1), never), Some(1));
    assert_eq!(first_device(None, || vec![2, 3]), Some(2));
    assert_eq!(first_device(None, Vec::<u8>::new), None);
}

#[test]
fn a_command_buffer_that_never_answers_times_out() {
    for (trouble, timed_out) in [(Trouble::Hangs, true), (Trouble::Dropped, false)] {
        let (mut device, _, pipeline, buffer) = ready(trouble, 4);
        let submission = device
            .submit(vec![increment(pipeline, buffer)])
            .expect("submits");
        // Reading would see half-written data.
        let mut bytes = [0; 4];
        assert!(device.read(buffer, 0, &mut bytes).is_err());
        let error = device.wait(submission).expect_err("no answer");
        assert_eq!(matches!(error, Error::TimeOut { .. }), timed_out, "{error}");
        assert!(matches!(
            device.wait(submission),
            Err(Error::NoSuchId { .. })
        ));
    }
}

#[test]
fn a_failure_stays_with_its_submission() {
    let (mut device, _, pipeline, buffer) = ready(Trouble::Fails(3, "fault"), 4);
    let submission = device
        .submit(vec![increment(pipeline, buffer)])
        .expect("submits");
    device
        .contents(buffer)
        .expect("reading waits and does not fail for another's fault");
    assert!(device.wait(submission).is_err());
}

#[test]
fn private_buffers_are_reached_through_copies() {
    let (mut device, log, pipeline, _) = ready(Trouble::None, 4);
    let private = device.buffer(8, Storage::Private).expect("fits");
    device.write(private, 2, &[5, 6]).expect("inside");
    device
        .run(vec![increment(pipeline, private)])
        .expect("runs");
    assert_eq!(
        device.contents(private).expect("inside"),
        [1, 1, 6, 7, 1, 1, 1, 1]
    );
    let copies = log.borrow().iter().filter(|what| *what == "copy").count();
    assert_eq!(copies, 2);
}

fn flat(width: u32, height: u32) -> Layout {
    Layout {
        shape: Shape::flat(width, height),
        format: Format::named("r8Uint").expect("a format"),
    }
}

fn textured(pipeline: PipelineId, buffer: BufferId, texels: BufferId) -> Dispatch {
    let texture = Binding::Texture {
        buffer: texels,
        layout: flat(2, 2),
        undefined: false,
    };
    increment(pipeline, buffer).bind(0, texture)
}

/// Texels go into a texture before the kernel and back after it, outside the command buffer that is timed.
#[test]
fn textures_are_filled_and_read_back_around_the_kernel() {
    let (mut device, log, pipeline, buffer) = ready(Trouble::None, 4);
    let texels = device.buffer(4, Storage::Private).expect("fits");
    device.write(texels, 0, &[10, 20, 30, 40]).expect("inside");
    log.borrow_mut().clear();
    let sampler = Binding::Sampler(Sampler::default());
    let run = textured(pipeline, buffer, texels).bind(0, sampler);
    let finished = device.run(vec![run.clone(), run]).expect("runs");
    assert_eq!(finished.dispatches.len(), 2);
    let order: Vec<String> = log
        .borrow()
        .iter()
        .filter(|what| what.starts_with("texels") || what.starts_with("encode"))
        .filter_map(|what| what.split(' ').next_back().map(str::to_owned))
        .collect();
    assert_eq!(order.first().map(String::as_str), Some("texture"));
    assert_eq!(order.last().map(String::as_str), Some("buffer"));
    assert_eq!(order.len(), 4);
    let count = |text: &str| {
        let log = log.borrow();
        log.iter().filter(|what| what.starts_with(text)).count()
    };
    assert_eq!(count("texture "), 1, "one texture for both dispatches");
    assert_eq!(count("commit"), 3);
    assert_eq!(device.contents(texels).expect("inside"), [12, 22, 32, 42]);
}

#[test]
fn textures_that_do_not_fit_are_refused() {
    let (mut device, log, pipeline, buffer) = ready(Trouble::None, 4);
    let texels = device.buffer(3, Storage::Shared).expect("fits");
    let error = device
        .submit(vec![textured(pipeline, buffer, texels)])
        .expect_err("too small");
    assert!(error.to_string().contains("has 4 bytes, not 3"), "{error}");
    assert!(log.borrow().is_empty());
}

/// Addresses and ids are 64-bit numbers in the argument buffer, and Metal is told what the kernel reaches through it.
#[test]
fn members_of_argument_buffers_are_addresses_and_ids() {
    let (mut device, log, pipeline, buffer) = ready(Trouble::None, 4);
    let holder = device.buffer(32, Storage::Shared).expect("fits");
    let texels = device.buffer(4, Storage::Shared).expect("fits");
    let member = |index, offset, binding| Member {
        index,
        offset,
        name: format!("{index}.member"),
        binding,
    };
    let texture = Binding::Texture {
        buffer: texels,
        layout: flat(2, 2),
        undefined: false,
    };
    let held = Binding::Buffer {
        buffer: holder,
        offset: 8,
    };
    let mut run = increment(pipeline, buffer)
        .bind(1, held)
        .bind(2, Binding::Bytes(vec![0; 8]));
    run.members = vec![
        member(1, 0, Binding::Buffer { buffer, offset: 3 }),
        member(1, 8, texture),
        member(2, 0, Binding::Sampler(Sampler::default())),
    ];
    device.run(vec![run.clone()]).expect("runs");
    let contents = device.contents(holder).expect("inside");
    let number = |at: usize| u64::from_le_bytes(contents[at..at + 8].try_into().expect("eight"));
    let address = {
        let memory = device.buffers.get(buffer).expect("is there");
        device.driver.address(&memory.buffer)
    };
    assert_eq!(number(8), address + 3);
    assert_eq!(number(16), TEXTURE_ID);
    let seen = log.borrow().join("\n");
    assert!(
        seen.contains("resident buffer") && seen.contains("resident texture"),
        "{seen}"
    );
    let bytes = format!("bytes 2: {:?}", SAMPLER_ID.to_le_bytes());
    assert!(seen.contains(&bytes), "{seen}");

    run.members = vec![member(2, 4, Binding::Sampler(Sampler::default()))];
    let error = device.submit(vec![run]).expect_err("outside");
    assert!(error.to_string().contains("outside the 8 bytes"), "{error}");
}

#[test]
fn memory_is_refused_as_a_value() {
    let (mut device, _) = device(Trouble::None);
    let refused = device.buffer(1 << 21, Storage::Shared);
    assert!(matches!(refused, Err(Error::OutOfMemory { .. })));
    let (mut full, _) = self::device(Trouble::NoMemory);
    let refused = full.buffer(16, Storage::Shared);
    assert!(matches!(refused, Err(Error::OutOfMemory { .. })));
    let small = device.buffer(4, Storage::Shared).expect("fits");
    for (offset, length) in [(0, 5), (4, 1), (u64::MAX, 1)] {
        let refused = device.write(small, offset, &vec![0; length]);
        assert!(matches!(refused, Err(Error::OutsideBuffer { .. })));
    }
    device.release(small).expect("is there");
    assert!(matches!(
        device.contents(small),
        Err(Error::NoSuchId { .. })
    ));
}

#[test]
fn without_counters_only_the_total_is_known() {
    let (mut device, _, pipeline, buffer) = ready(Trouble::None, 4);
    device.driver.counters = false;
    let finished = device.run(vec![increment(pipeline, buffer)]).expect("runs");
    assert!(finished.dispatches.is_empty());
    assert!(device.dispatch_timing().is_err());
}

#[test]
fn captures_stop_whatever_happens() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.gputrace");
    for trouble in [Trouble::None, Trouble::Fails(3, "x")] {
        let (mut device, log, pipeline, buffer) = ready(trouble, 4);
        let _ = device.capture(&path, vec![increment(pipeline, buffer)]);
        assert_eq!(
            log.borrow().last().map(String::as_str),
            Some("stop capture")
        );
    }
    let (mut off, log, pipeline, buffer) = ready(Trouble::NoCapture, 4);
    let error = off
        .capture(&path, vec![increment(pipeline, buffer)])
        .expect_err("off");
    assert!(error.to_string().contains("MTL_CAPTURE_ENABLED"), "{error}");
    assert!(
        !log.borrow().iter().any(|what| what == "commit"),
        "nothing ran"
    );
    let exists = off.capture(folder.path(), Vec::new()).expect_err("exists");
    assert!(exists.to_string().contains("exists"), "{exists}");
}

#[test]
fn an_archive_that_cannot_be_written_says_where() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.archive");
    let (mut device, _) = device(Trouble::None);
    let library = compile(&mut device).expect("compiles");
    device
        .archive(library, "increment", &[], &path)
        .expect("writable");
    assert!(path.exists());
    let (mut broken, _) = self::device(Trouble::Archive("read-only file system"));
    let library = compile(&mut broken).expect("compiles");
    let error = broken
        .archive(library, "increment", &[], &path)
        .expect_err("fails");
    let said = error.to_string();
    assert!(
        said.contains("a.archive") && said.contains("read-only"),
        "{said}"
    );
    let missing = broken.archive(library, "nothing", &[], &path);
    assert!(matches!(missing, Err(Error::NoFunction { .. })));
}

#[cfg(not(any(target_os = "macos", metal_runtime)))]
#[test]
fn without_a_mac_there_is_no_device() {
    let error = super::open_metal(MetalSettings::default()).expect_err("no Mac");
    assert!(
        matches!(&error, Error::NoDevice(why) if why.contains("Mac")),
        "{error}"
    );
}
