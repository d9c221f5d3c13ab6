//! Builtins that come only from Apple's compiler, in programs written out.

use assay_exec::{Bindings, Buffer, Grid, Limits, Options, Program};

/// Runs a kernel whose only argument is buffer 0, in one thread.
fn run(body: &str, buffer: Buffer) -> Buffer {
    let text = format!(
        "module \"m\"\nkernel \"k\" f0 {{\n    \"x\" buffer 0 param 0 space device type \"float\" size 4 align 4\n}}\n\
         function f0 \"k\" -> void {{\nb0(v0: ptr.device):\n{body}    return\n}}\n"
    );
    let mut module = assay_ssa::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assay_ssa::verify(&module).unwrap_or_else(|errors| panic!("{}", errors[0]));
    assay_opt::pipeline::optimize(&mut module).expect("optimises");
    let program = Program::compile(&module, "k", &Options::default()).expect("compiles");
    let mut bindings = Bindings::new();
    bindings.set(0, buffer);
    program
        .run(&Grid::line(1, 1), &mut bindings, &Limits::default())
        .expect("runs");
    bindings.take(0).expect("the buffer")
}

#[test]
fn a_second_result_goes_through_the_pointer() {
    let body = "    v1: f32 = load v0 align 4\n\
                \x20   v2: ptr.device = ptr_add v0 + 4\n\
                \x20   v3: f32 = call sincos(v1, v2)\n\
                \x20   v4: ptr.device = ptr_add v0 + 8\n\
                \x20   store v4, v3 align 4\n";
    let got = run(body, Buffer::from_slice(&[0.5f32, 0.0, 0.0])).to_vec::<f32>();
    assert!((got[1] - 0.5f32.cos()).abs() < 1e-6, "{got:?}");
    assert!((got[2] - 0.5f32.sin()).abs() < 1e-6, "{got:?}");
}

#[test]
fn a_vector_has_a_vector_of_exponents() {
    let body = "    v1: v2f32 = load v0 align 8\n\
                \x20   v2: ptr.device = ptr_add v0 + 8\n\
                \x20   v3: v2f32 = call frexp(v1, v2)\n\
                \x20   store v0, v3 align 8\n";
    let got = run(body, Buffer::from_slice(&[12.0f32, -0.375, 0.0, 0.0]));
    assert_eq!(got.to_vec::<f32>()[..2], [0.75, -0.75]);
    assert_eq!(got.to_vec::<i32>()[2..], [4, -1]);
}

#[test]
fn a_second_result_may_lie_in_thread_memory() {
    let body = "    v1: f32 = load v0 align 4\n\
                \x20   v2: ptr.thread = alloca f32 align 4\n\
                \x20   v3: f32 = call modf(v1, v2)\n\
                \x20   v4: f32 = load v2 align 4\n\
                \x20   v5: f32 = fsub v4, v3\n\
                \x20   store v0, v5 align 4\n";
    let got = run(body, Buffer::from_slice(&[5.25f32]));
    assert_eq!(got.to_vec::<f32>(), [4.75]);
}
