//! The real calls, on Linux: `--cfg metal_runtime` compiles them over crates/metal, whose GPU is this CPU (`scripts/metal-calls.sh`).
//! What [`super::super::tests`] asks of the logic above a fake driver is asked of the calls here, and every result is that of the CPU
//! device. Times are those of this CPU.

mod examples;
mod leaks;
mod textures;
mod timed;

use super::super::{GpuDevice, MetalSettings, open_metal};
use crate::{
    Binding, BufferId, CompileOptions, Constant, CpuDevice, Device, Dispatch, Error, Extent,
    LibraryId, PipelineId, Settings, Source, Storage,
};
use assay_front::Clang;
use std::ffi::{CStr, c_char};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What the runtime counts.
mod runtime {
    use super::{CStr, c_char};

    unsafe extern "C" {
        fn assay_metal_alive(class: *const c_char) -> i64;
        #[link_name = "assay_metal_outside_pools"]
        pub(super) safe fn outside_pools() -> u64;
        #[link_name = "assay_metal_encoders"]
        pub(super) safe fn encoders() -> u64;
        #[link_name = "assay_metal_wrong_uses"]
        pub(super) safe fn wrong_uses() -> u64;
    }

    pub(super) fn alive(class: &CStr) -> i64 {
        // SAFETY: the name ends with NUL.
        unsafe { assay_metal_alive(class.as_ptr()) }
    }

    pub(super) fn all_alive() -> i64 {
        // SAFETY: null means every class.
        unsafe { assay_metal_alive(std::ptr::null()) }
    }
}

/// Counts are those of the process: one test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

const TEXT: &str = "#include <metal_stdlib>
using namespace metal;
#ifndef STEP
#define STEP 1
#endif
constant int extra [[function_constant(3)]];
constant bool wanted [[function_constant(4)]];
kernel void increment(device int *x [[buffer(0)]], constant int &n [[buffer(1)]], uint i [[thread_position_in_grid]]) {
  if (int(i) < n) x[i] += STEP;
}
kernel void with_constants(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  x[i] = wanted ? extra : -1;
}
kernel void turn(device float *x [[buffer(0)]], threadgroup float *t [[threadgroup(0)]],
                 uint l [[thread_position_in_threadgroup]], uint n [[threads_per_threadgroup]]) {
  t[l] = x[l];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  x[l] = t[n - 1 - l] * 0.1f + x[l];
}
kernel void runs_away(device int *x [[buffer(0)]]) {
  x[1 << 28] = 1;
}
";

fn gpu(time_dispatches: bool) -> Box<dyn GpuDevice> {
    let settings = MetalSettings {
        time_dispatches,
        ..MetalSettings::default()
    };
    open_metal(settings).expect("the runtime has a device")
}

/// The same kernels without Metal's calls.
fn cpu() -> CpuDevice {
    let variable = |name: &str| std::env::var_os(name).unwrap_or_default();
    let found = assay_msl::find::find(Some(&variable("ASSAY_CLANG")), &variable("PATH"));
    let cache = std::env::temp_dir().join("assay-metal-calls");
    let clang = Clang::new(found.expect("a clang"), cache);
    let settings = Settings {
        compiler: Some(Arc::new(clang)),
        ..Settings::default()
    };
    CpuDevice::new(settings).expect("a device")
}

fn compile(device: &mut dyn Device, options: &CompileOptions) -> Result<LibraryId, Error> {
    let source = Source {
        path: Path::new("my/kernel.metal"),
        text: TEXT,
    };
    device.compile(source, options)
}

fn pipeline(device: &mut dyn Device, kernel: &str) -> PipelineId {
    let library = compile(device, &CompileOptions::default()).expect("compiles");
    device.pipeline(library, kernel, &[]).expect("exists")
}

fn ints(device: &mut dyn Device, values: &[i32], storage: Storage) -> BufferId {
    let bytes: Vec<u8> = values.iter().flat_map(|n| n.to_le_bytes()).collect();
    let buffer = device.buffer(bytes.len() as u64, storage).expect("fits");
    device.write(buffer, 0, &bytes).expect("inside");
    buffer
}

fn read(device: &mut dyn Device, buffer: BufferId) -> Vec<i32> {
    let bytes = device.contents(buffer).expect("inside");
    let words = bytes.chunks_exact(4);
    words
        .map(|word| i32::from_le_bytes([word[0], word[1], word[2], word[3]]))
        .collect()
}

fn increment(pipeline: PipelineId, buffer: BufferId, offset: u64, n: i32) -> Dispatch {
    Dispatch::new(pipeline, Extent::Threads([64, 1, 1]), [32, 1, 1])
        .bind(0, Binding::Buffer { buffer, offset })
        .bind(1, Binding::Bytes(n.to_le_bytes().to_vec()))
}

#[test]
fn a_kernel_runs_in_one_encoder_and_has_times() {
    let _alone = alone();
    let mut device = gpu(false);
    assert_eq!(device.facts().name, "Apple M2");
    let pipeline = pipeline(&mut *device, "increment");
    let buffer = ints(&mut *device, &[1, 2, 3, 4], Storage::Shared);
    let before = runtime::encoders();
    let run = vec![
        increment(pipeline, buffer, 0, 4),
        increment(pipeline, buffer, 8, 2),
    ];
    let finished = device.run(run).expect("runs");
    assert_eq!(
        runtime::encoders() - before,
        1,
        "two dispatches, one encoder"
    );
    assert!(finished.total.is_some_and(|time| !time.length.is_zero()));
    assert!(finished.dispatches.is_empty(), "not asked for");
    assert_eq!(read(&mut *device, buffer), [2, 3, 5, 6]);
}

#[test]
fn options_reach_the_compiler() {
    let _alone = alone();
    let mut device = gpu(false);
    let options = CompileOptions {
        fast_math: false,
        defines: vec!["STEP=5".to_owned()],
        standard: "metal3.0".parse().expect("a version"),
        ..CompileOptions::default()
    };
    let library = compile(&mut *device, &options).expect("compiles");
    assert_eq!(
        device.functions(library).expect("there"),
        ["increment", "with_constants", "turn", "runs_away"]
    );
    let pipeline = device.pipeline(library, "increment", &[]).expect("exists");
    let buffer = ints(&mut *device, &[1], Storage::Shared);
    device
        .run(vec![increment(pipeline, buffer, 0, 1)])
        .expect("runs");
    assert_eq!(read(&mut *device, buffer), [6]);
}

#[test]
fn compile_errors_are_at_the_users_line() {
    let _alone = alone();
    let mut device = gpu(false);
    let source = Source {
        path: Path::new("my/kernel.metal"),
        text: "kernel void f(device int *x [[buffer(0)]]) {\n  x[0] = y;\n}\n",
    };
    let error = device
        .compile(source, &CompileOptions::default())
        .expect_err("y");
    let said = error.to_string();
    assert!(said.contains("undeclared identifier 'y'"), "{said}");
    let Error::Source(errors) = error else {
        panic!("an error in the source: {said}");
    };
    let place = errors[0].place.as_ref().expect("has a place");
    assert_eq!(
        (place.file.as_path(), place.line),
        (Path::new("my/kernel.metal"), 2)
    );
}

#[test]
fn what_is_not_there_is_named() {
    let _alone = alone();
    let mut device = gpu(false);
    let library = compile(&mut *device, &CompileOptions::default()).expect("compiles");
    let missing = device
        .pipeline(library, "incremnt", &[])
        .expect_err("missing");
    assert!(
        matches!(&missing, Error::NoFunction { nearest, count: 4, .. } if nearest[0] == "increment")
    );
    let unknown = ["nothing=int:1".parse().expect("a constant")];
    let refused = device
        .pipeline(library, "with_constants", &unknown)
        .expect_err("unknown");
    assert!(
        refused.to_string().contains("no function constant nothing"),
        "{refused}"
    );
    let broken = device
        .load(b"MTLB and no more".to_vec())
        .expect_err("no metallib");
    assert!(matches!(broken, Error::Library(_)), "{broken}");
}

/// By number and by name, each of the type that the function declares.
#[test]
fn function_constants_are_typed_by_the_function() {
    let _alone = alone();
    let given: Vec<Constant> = ["3=int:7", "wanted=bool:true"]
        .map(|text| text.parse().expect("a constant"))
        .into();
    let run = |device: &mut dyn Device| {
        let library = compile(device, &CompileOptions::default()).expect("compiles");
        let pipeline = device
            .pipeline(library, "with_constants", &given)
            .expect("exists");
        let buffer = ints(device, &[0; 4], Storage::Shared);
        let dispatch = Dispatch::new(pipeline, Extent::Threads([4, 1, 1]), [4, 1, 1])
            .bind(0, Binding::Buffer { buffer, offset: 0 });
        device.run(vec![dispatch]).expect("runs");
        read(device, buffer)
    };
    assert_eq!(run(&mut *gpu(false)), [7; 4]);
    assert_eq!(run(&mut cpu()), [7; 4]);
}

/// Reflection names what a kernel binds, so that what is missing is refused before it is encoded.
#[test]
fn limits_are_checked_before_encoding() {
    let _alone = alone();
    let mut device = gpu(false);
    let pipeline = pipeline(&mut *device, "increment");
    let facts = device.pipeline_facts(pipeline).expect("there");
    let names: Vec<&str> = facts
        .arguments
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    assert_eq!(names, ["x", "n"]);
    assert_eq!((facts.execution_width, facts.arguments[0].size), (32, 4));
    let buffer = ints(&mut *device, &[0; 4], Storage::Shared);
    let good = || increment(pipeline, buffer, 0, 4);
    let before = runtime::encoders();
    let unbound = Dispatch::new(pipeline, Extent::Threads([1, 1, 1]), [1, 1, 1]);
    for (bad, words) in [
        (
            Dispatch {
                threadgroup: [1025, 1, 1],
                ..good()
            },
            "too large",
        ),
        (
            Dispatch {
                extent: Extent::Threads([0, 1, 1]),
                ..good()
            },
            "at least one thread",
        ),
        (
            good().bind(0, Binding::Buffer { buffer, offset: 17 }),
            "outside",
        ),
        (
            good().bind(0, Binding::Buffer { buffer, offset: 2 }),
            "no multiple of 4",
        ),
        (
            good().bind(0, Binding::ThreadgroupMemory(32 << 10 | 16)),
            "threadgroup memory",
        ),
        (good().bind(1, Binding::Bytes(vec![0; 4097])), "4096"),
        (unbound, "not bound"),
    ] {
        let error = device.submit(vec![good(), bad]).expect_err(words);
        assert!(error.to_string().contains(words), "{words}: {error}");
    }
    assert_eq!(runtime::encoders(), before);
}

/// Private memory, several submissions, offsets, threadgroup memory that a dispatch sizes.
#[test]
fn results_are_those_of_the_cpu_device() {
    let _alone = alone();
    let run = |device: &mut dyn Device| {
        let turn = pipeline(device, "turn");
        let increment_it = pipeline(device, "increment");
        let private = ints(
            device,
            &[0x3f80_0000, 0x4000_0000, 0x4040_0000, 7],
            Storage::Private,
        );
        let turned = Dispatch::new(turn, Extent::Groups([1, 1, 1]), [4, 1, 1])
            .bind(
                0,
                Binding::Buffer {
                    buffer: private,
                    offset: 0,
                },
            )
            .bind(0, Binding::ThreadgroupMemory(16));
        let first = device.submit(vec![turned]).expect("submits");
        let second = device
            .submit(vec![increment(increment_it, private, 4, 2)])
            .expect("submits");
        device.wait(second).expect("runs");
        device.wait(first).expect("runs");
        device
            .write(private, 12, &9_i32.to_le_bytes())
            .expect("inside");
        read(device, private)
    };
    let (real, direct) = (run(&mut *gpu(false)), run(&mut cpu()));
    assert_eq!(real, direct);
    assert_eq!(real[3], 9);
}

/// What the runtime does not have ends in a sentence; its archives keep the names of kernels.
#[test]
fn captures_are_refused_in_words_and_archives_are_written() {
    let _alone = alone();
    let mut device = gpu(false);
    let library = compile(&mut *device, &CompileOptions::default()).expect("compiles");
    let pipeline = device.pipeline(library, "increment", &[]).expect("exists");
    let buffer = ints(&mut *device, &[0; 4], Storage::Shared);
    let run = vec![increment(pipeline, buffer, 0, 4)];
    let folder = std::env::temp_dir();
    let named = |end: &str| folder.join(format!("assay-metal-calls-{}{end}", std::process::id()));
    let path = named(".gputrace");
    let refused = device.capture(&path, run).expect_err("no captures");
    assert!(
        refused.to_string().contains("MTL_CAPTURE_ENABLED"),
        "{refused}"
    );
    let archived = named(".binarchive");
    device
        .archive(library, "increment", &[], &archived)
        .expect("an archive");
    let bytes = std::fs::read(&archived).expect("a file");
    std::fs::remove_file(&archived).expect("removed");
    assert!(bytes.windows(9).any(|name| name == b"increment"));
}
