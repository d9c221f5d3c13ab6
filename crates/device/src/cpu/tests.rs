//! Bitcode of four kernels (`crates/air/tests/fixtures/kernels.cpp`) through the whole device.

use super::{CpuDevice, Settings};
use crate::{
    Binding, BufferId, Device, Dispatch, Error, Extent, FaultKind, Origin, PipelineId, Storage,
};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

const KERNELS: &[u8] = include_bytes!("../../../air/tests/fixtures/clang-19.bc");

fn device_with(settings: Settings, kernel: &str) -> (CpuDevice, PipelineId) {
    let mut device = CpuDevice::new(settings).unwrap();
    let library = device.load(KERNELS.to_vec()).unwrap();
    let pipeline = device.pipeline(library, kernel, &[]).unwrap();
    (device, pipeline)
}

fn device(kernel: &str) -> (CpuDevice, PipelineId) {
    device_with(Settings::default(), kernel)
}

fn floats(device: &mut CpuDevice, values: &[f32]) -> BufferId {
    let bytes: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    let buffer = device.buffer(bytes.len() as u64, Storage::Shared).unwrap();
    device.write(buffer, 0, &bytes).unwrap();
    buffer
}

fn read(device: &mut CpuDevice, buffer: BufferId) -> Vec<f32> {
    let bytes = device.contents(buffer).unwrap();
    let words = bytes.chunks_exact(4);
    words
        .map(|word| f32::from_le_bytes(word.try_into().unwrap()))
        .collect()
}

fn whole(buffer: BufferId) -> Binding {
    Binding::Buffer { buffer, offset: 0 }
}

fn count(n: i32) -> Binding {
    Binding::Bytes(n.to_le_bytes().to_vec())
}

/// `saxpy` over `n` threads of zeros: y += 3, 0, -3, ⅛.
fn saxpy(device: &mut CpuDevice, pipeline: PipelineId, n: u32) -> (Dispatch, BufferId) {
    let x = floats(device, &[0.0; 8]);
    let y = floats(device, &[1.0; 8]);
    let dispatch = Dispatch::new(pipeline, Extent::Threads([n, 1, 1]), [4, 1, 1])
        .bind(0, whole(x))
        .bind(1, whole(y))
        .bind(2, count(n as i32));
    (dispatch, y)
}

#[test]
fn dispatches_of_one_submission_run_in_order() {
    let (mut device, pipeline) = device("saxpy");
    let (dispatch, y) = saxpy(&mut device, pipeline, 4);
    let submission = device.submit(vec![dispatch.clone(), dispatch]).unwrap();
    let finished = device.wait(submission).unwrap();
    assert_eq!(finished.total.map(|time| time.origin), Some(Origin::Host));
    assert_eq!(finished.dispatches.len(), 2);
    assert_eq!(read(&mut device, y)[..4], [7.0, 1.0, -5.0, 1.25]);
    let again = device.wait(submission);
    assert!(matches!(
        again,
        Err(Error::NoSuchId {
            what: "submission",
            ..
        })
    ));
}

#[test]
fn one_buffer_may_be_bound_twice_and_with_an_offset() {
    let (mut device, pipeline) = device("saxpy");
    let both = floats(&mut device, &[0.0; 8]);
    let dispatch = Dispatch::new(pipeline, Extent::Groups([1, 1, 1]), [4, 1, 1])
        .bind(0, whole(both))
        .bind(
            1,
            Binding::Buffer {
                buffer: both,
                offset: 16,
            },
        )
        .bind(2, count(4));
    device.run(vec![dispatch]).unwrap();
    assert_eq!(
        read(&mut device, both),
        [0.0, 0.0, 0.0, 0.0, 3.0, 0.0, -3.0, 0.125]
    );
}

#[test]
fn what_cannot_run_is_refused_before_anything_ran() {
    let (mut device, pipeline) = device("saxpy");
    let (good, y) = saxpy(&mut device, pipeline, 4);
    let refuse = |device: &mut CpuDevice, bad: Dispatch| {
        let error = device.submit(vec![good.clone(), bad]).unwrap_err();
        assert_eq!(read(device, y), [1.0; 8]);
        error
    };
    let bad = Dispatch {
        threadgroup: [512, 1, 1],
        ..good.clone()
    };
    let error = refuse(&mut device, bad);
    assert!(
        matches!(error, Error::ThreadgroupTooLarge { limit: 256, .. }),
        "{error}"
    );
    let bad = Dispatch {
        threadgroup: [0, 1, 1],
        ..good.clone()
    };
    assert!(matches!(refuse(&mut device, bad), Error::Grid(_)));
    let bad = Dispatch {
        extent: Extent::Groups([u32::MAX, 1, 1]),
        ..good.clone()
    };
    assert!(matches!(refuse(&mut device, bad), Error::Grid(_)));
    let mut bad = good.clone();
    bad.bindings.retain(|(index, _)| *index != 1);
    let error = refuse(&mut device, bad);
    assert_eq!(
        error.to_string(),
        "kernel \"saxpy\": buffer 1 (\"y\") is not bound"
    );
    let bad = good.clone().bind(2, Binding::Bytes(vec![0; 2]));
    let error = refuse(&mut device, bad);
    assert_eq!(
        error.to_string(),
        "kernel \"saxpy\", index 2: int \"n\" has 4 bytes, 2 are bound"
    );
    let bad = good.clone().bind(
        1,
        Binding::Buffer {
            buffer: y,
            offset: 6,
        },
    );
    let error = refuse(&mut device, bad).to_string();
    assert!(
        error.ends_with("no multiple of 4, the alignment of float \"y\""),
        "{error}"
    );
    let bad = good.clone().bind(0, Binding::Bytes(vec![0; 5000]));
    assert!(matches!(
        refuse(&mut device, bad),
        Error::Binding { index: 0, .. }
    ));
}

#[test]
fn threadgroup_memory_is_bound_and_limited() {
    let (mut device, pipeline) = device("row_sum");
    assert_eq!(
        device.pipeline_facts(pipeline).unwrap().threadgroup_memory,
        256
    );
    let rows = device.buffer(1024, Storage::Private).unwrap();
    let ones: Vec<u8> = std::iter::repeat_n(0x3c00u16.to_le_bytes(), 512)
        .flatten()
        .collect();
    device.write(rows, 0, &ones).unwrap();
    let sums = device.buffer(2, Storage::Shared).unwrap();
    let dispatch = Dispatch::new(pipeline, Extent::Threads([32, 1, 1]), [32, 1, 1])
        .bind(0, whole(rows))
        .bind(1, whole(sums));
    let error = device.submit(vec![dispatch.clone()]).unwrap_err();
    let expected = "kernel \"row_sum\": threadgroup memory 0 (\"scratch\") is not bound";
    assert_eq!(error.to_string(), expected);
    let large = dispatch
        .clone()
        .bind(0, Binding::ThreadgroupMemory(32 << 10));
    let error = device.submit(vec![large]).unwrap_err();
    assert!(matches!(
        error,
        Error::ThreadgroupMemory {
            needed: 33024,
            limit: 32768,
            ..
        }
    ));
    device
        .run(vec![dispatch.bind(0, Binding::ThreadgroupMemory(128))])
        .unwrap();
    assert_eq!(device.contents(sums).unwrap(), 0x4400u16.to_le_bytes()); // 512
}

#[test]
fn a_fault_says_what_and_where_and_keeps_what_was_written() {
    let (mut device, pipeline) = device("saxpy");
    let (dispatch, y) = saxpy(&mut device, pipeline, 12);
    let submission = device.submit(vec![dispatch]).unwrap();
    let Err(Error::Fault(fault)) = device.wait(submission) else {
        panic!("twelve threads on eight numbers")
    };
    assert_eq!((fault.kind, fault.dispatch), (FaultKind::OutOfBounds, 0));
    assert!(
        fault
            .place
            .as_deref()
            .unwrap()
            .starts_with("/src/kernels.cpp:"),
        "{fault}"
    );
    assert_eq!(read(&mut device, y)[..2], [4.0, 1.0]);
}

#[test]
fn time_is_limited_and_a_request_stops() {
    let endless = |settings: Settings| {
        let (mut device, pipeline) = device_with(settings, "saxpy");
        let (dispatch, _) = saxpy(&mut device, pipeline, 4);
        device.run(vec![Dispatch {
            extent: Extent::Threads([u32::MAX, 1, 1]),
            ..dispatch
        }])
    };
    let late = endless(Settings {
        timeout: Some(Duration::from_millis(30)),
        ..Settings::default()
    });
    let expected = "dispatch 0 (\"saxpy\") did not finish within 0.030 s";
    assert_eq!(late.unwrap_err().to_string(), expected);
    let stopped = endless(Settings {
        cancel: Some(Arc::new(AtomicBool::new(true))),
        ..Settings::default()
    });
    assert_eq!(stopped, Err(Error::Cancelled));
}

#[test]
fn function_constants_are_asked_for_by_name() {
    let mut device = CpuDevice::new(Settings::default()).unwrap();
    let library = device.load(KERNELS.to_vec()).unwrap();
    let error = device
        .pipeline(library, "specialised_f32", &[])
        .unwrap_err();
    assert!(matches!(error, Error::MissingConstant { .. }), "{error}");
    let wrong = ["is_bias=bool:true".parse().unwrap()];
    let error = device
        .pipeline(library, "specialised_f32", &wrong)
        .unwrap_err();
    let expected = "there is no function constant is_bias; there are 3 has_bias, 7 steps";
    assert_eq!(error.to_string(), expected);
    let strange = ["has_bias=bool:true", "steps=int:300"].map(|text| text.parse().unwrap());
    let error = device
        .pipeline(library, "specialised_f32", &strange)
        .unwrap_err();
    let Error::Unsupported { what, .. } = error else {
        panic!("{error}")
    };
    assert_eq!(what, "\"air.frobnicate.f32\"");
}

#[test]
fn names_that_are_not_there_bring_up_near_ones() {
    let mut device = CpuDevice::new(Settings::default()).unwrap();
    let library = device.load(KERNELS.to_vec()).unwrap();
    let error = device.pipeline(library, "sapxy", &[]).unwrap_err();
    let Error::NoFunction { nearest, count, .. } = error else {
        panic!("{error}")
    };
    assert_eq!((nearest[0].as_str(), count), ("saxpy", 4));
    assert!(matches!(
        device.load(b"no library".to_vec()),
        Err(Error::Library(_))
    ));
}

#[test]
fn memory_is_limited_and_given_back() {
    let settings = Settings {
        max_memory: Some(100),
        ..Settings::default()
    };
    let mut device = CpuDevice::new(settings).unwrap();
    let buffer = device.buffer(80, Storage::Shared).unwrap();
    let error = device.buffer(40, Storage::Shared);
    assert_eq!(
        error,
        Err(Error::OutOfMemory {
            needed: 120,
            limit: 100
        })
    );
    let error = device.write(buffer, 78, &[0; 4]);
    assert_eq!(
        error,
        Err(Error::OutsideBuffer {
            offset: 78,
            length: 4,
            size: 80
        })
    );
    device.release(buffer).unwrap();
    assert!(device.buffer(40, Storage::Shared).is_ok());
    assert!(matches!(
        device.buffer_size(buffer),
        Err(Error::NoSuchId { what: "buffer", .. })
    ));
}

#[test]
fn a_checked_run_reports_and_goes_on() {
    let (mut device, pipeline) = device("saxpy");
    let (dispatch, y) = saxpy(&mut device, pipeline, 12);
    let reports = device.check_run(&dispatch).unwrap();
    assert!(!reports.is_empty());
    assert!(
        reports
            .iter()
            .all(|report| report.kind == crate::ReportKind::OutOfBounds)
    );
    assert_eq!(read(&mut device, y)[..4], [4.0, 1.0, -2.0, 1.125]);
    let (dispatch, _) = saxpy(&mut device, pipeline, 4);
    assert_eq!(device.check_run(&dispatch), Ok(Vec::new()));
}

#[test]
fn lent_memory_is_written_in_place_and_may_be_read_only() {
    use crate::{CpuKernel, Lent};
    use assay_exec::Buffer;
    let library = assay_front::Library::of_bitcode(KERNELS).unwrap();
    let kernel = CpuKernel::new(&library, "saxpy", &[], None).unwrap();
    let mut y = [1.0f32; 4];
    let run = |y: &mut [f32; 4], writable: bool| {
        // SAFETY: the array outlives the call, and nothing else accesses it meanwhile.
        let lent = unsafe { Buffer::lent(y.as_mut_ptr().cast(), 16, writable) };
        let bound = vec![
            (0, Lent::Memory(Buffer::zeroed(16))),
            (1, Lent::Memory(lent)),
            (2, Lent::Memory(Buffer::from_slice(&[4i32]))),
        ];
        kernel.run(Extent::Threads([4, 1, 1]), [4, 1, 1], bound, None)
    };
    run(&mut y, true).unwrap();
    assert_eq!(y, [4.0, 1.0, -2.0, 1.125]);
    let Err(Error::Fault(fault)) = run(&mut y, false) else {
        panic!("saxpy writes y")
    };
    assert_eq!(fault.kind, FaultKind::ReadOnly);
    assert_eq!(y, [4.0, 1.0, -2.0, 1.125]);
    let unbound = kernel.run(Extent::Threads([4, 1, 1]), [4, 1, 1], Vec::new(), None);
    assert!(matches!(unbound, Err(Error::Unbound { .. })));
}
