//! Kernels that go wrong are stopped, and the message says where.

use crate::common::{f32s, program_of};
use assay_exec::{Bindings, Buffer, FaultKind, Grid, Limits, RunError};

const HEAD: &str = "#include <metal_stdlib>\nusing namespace metal;\n";

#[test]
fn an_access_outside_a_buffer_names_line_thread_and_buffer() {
    let text = format!(
        "{HEAD}kernel void k(device float *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {{\n    out[i + 1] = 1.0f;\n}}"
    );
    let Some(program) = program_of(&text, "k.metal", "k") else {
        return;
    };
    let mut bindings = Bindings::new();
    bindings.set(0, Buffer::zeroed(40 * 4));
    let error = program.run(&Grid::line(40, 32), &mut bindings, &Limits::default());
    let Err(RunError::Fault(fault)) = error else {
        panic!("{error:?}");
    };
    assert_eq!(fault.thread, [39, 0, 0]);
    assert!(
        fault
            .place
            .as_deref()
            .is_some_and(|place| place.contains("k.metal:4")),
        "{fault}"
    );
    assert!(
        matches!(&fault.kind, FaultKind::OutOfBounds { offset: 160, length: 160, size: 4, target, .. } if target.contains("out")),
        "{fault}"
    );
}

#[test]
fn an_access_below_a_buffer_is_found() {
    let text = format!(
        "{HEAD}kernel void k(device float *out [[buffer(0)]], device float *x [[buffer(1)]], uint i [[thread_position_in_grid]]) {{ out[i] = x[int(i) - 1]; }}"
    );
    let Some(program) = program_of(&text, "k.metal", "k") else {
        return;
    };
    let mut bindings = Bindings::new();
    bindings.set(0, Buffer::zeroed(128));
    bindings.set(1, Buffer::zeroed(128));
    let error = program.run(&Grid::line(32, 32), &mut bindings, &Limits::default());
    let Err(RunError::Fault(fault)) = error else {
        panic!("{error:?}");
    };
    assert!(
        matches!(&fault.kind, FaultKind::OutOfBounds { offset: -4, target, .. } if target.contains("buffer 1")),
        "{fault}"
    );
}

#[test]
fn what_the_compiler_left_out_is_explained_at_the_line_before() {
    let text = format!(
        "{HEAD}kernel void k(device float *out [[buffer(0)]], constant int &n [[buffer(1)]], uint i [[thread_position_in_grid]]) {{
            float a[4];
            for (int j = 0; j <= n; j++)
                a[j] = j;
            out[i] = a[i & 3];
        }}"
    );
    let Some(program) = program_of(&text, "k.metal", "k") else {
        return;
    };
    let mut bindings = Bindings::new();
    bindings.set(0, Buffer::zeroed(128));
    bindings.set(1, Buffer::from_slice(&[4i32]));
    let error = program.run(&Grid::line(32, 32), &mut bindings, &Limits::default());
    let Err(RunError::Fault(fault)) = error else {
        panic!("{error:?}");
    };
    assert_eq!(fault.kind, FaultKind::Unreachable);
    let place = fault.place.as_deref().unwrap_or_default();
    assert!(place.contains("k.metal:5"), "{fault}");
    assert!(fault.to_string().contains("thread array"), "{fault}");
}

#[test]
fn constant_data_has_the_name_of_the_source() {
    let text = format!(
        "{HEAD}constant int t[4] = {{ 3, 1, 4, 1 }};\nkernel void k(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {{ x[i] = t[x[i]]; }}"
    );
    let Some(program) = program_of(&text, "k.metal", "k") else {
        return;
    };
    let mut bindings = Bindings::new();
    bindings.set(0, Buffer::from_slice(&[4i32]));
    let error = program.run(&Grid::line(1, 1), &mut bindings, &Limits::default());
    let Err(RunError::Fault(fault)) = error else {
        panic!("{error:?}");
    };
    assert!(
        fault
            .to_string()
            .contains("offset 16 of constant data \"t\", which has 16"),
        "{fault}"
    );
}

#[test]
fn a_loop_without_end_is_stopped() {
    let text = format!(
        "{HEAD}kernel void k(device volatile int *x [[buffer(0)]]) {{ while (x[0] == 0) {{ }} x[1] = 1; }}"
    );
    let Some(program) = program_of(&text, "k.metal", "k") else {
        return;
    };
    let mut bindings = Bindings::new();
    bindings.set(0, Buffer::zeroed(8));
    let limits = Limits {
        max_steps: 1000,
        ..Limits::default()
    };
    let error = program.run(&Grid::line(1, 1), &mut bindings, &limits);
    assert!(
        matches!(&error, Err(RunError::Fault(fault)) if matches!(fault.kind, FaultKind::TooManySteps { .. })),
        "{error:?}"
    );
}

#[test]
fn what_is_missing_is_named_before_anything_runs() {
    let Some(program) = crate::common::example("saxpy.metal", "saxpy") else {
        return;
    };
    let mut bindings = Bindings::new();
    bindings.set(0, f32s(&[0.0]));
    let error = program.run(&Grid::line(1, 1), &mut bindings, &Limits::default());
    assert!(
        matches!(error, Err(RunError::MissingBuffer { index: 1, .. })),
        "{error:?}"
    );
    let too_large = program.run(&Grid::line(128, 128), &mut bindings, &Limits::default());
    assert!(
        matches!(too_large, Err(RunError::BadGrid(_))),
        "{too_large:?}"
    );
}

#[test]
fn what_cannot_run_is_refused_by_name() {
    let mut module = assay_ssa::Module::new("m");
    let error = assay_exec::Program::compile(&module, "missing", &assay_exec::Options::default());
    assert!(error.is_err_and(|error| error.to_string().contains("missing")));
    let mut function = assay_ssa::Function::new("f", assay_ssa::Type::VOID);
    let block = function.add_block();
    let args = function.list(&[]);
    let call = assay_ssa::InstData::Call {
        callee: assay_ssa::Callee::Builtin(assay_ssa::Builtin::TextureGetWidth.call()),
        args,
        flags: assay_ssa::Flags::NONE,
    };
    let call = function.make_inst(call, assay_ssa::Type::I32, None);
    function.append(block, call);
    let end = function.make_inst(
        assay_ssa::InstData::Return { value: None },
        assay_ssa::Type::VOID,
        None,
    );
    function.append(block, end);
    let function = module.add_function(function);
    module.kernels.push(assay_ssa::Kernel {
        name: "k".to_owned(),
        function,
        arguments: Vec::new(),
        max_threads: None,
    });
    let error = assay_exec::Program::compile(&module, "k", &assay_exec::Options::default());
    let error = error.expect_err("textures are not supported");
    assert!(error.to_string().contains("get_width"), "{error}");
}
