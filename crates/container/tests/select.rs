//! Choosing a function.

use assay_container::builder::{
    ArchiveBuilder, FunctionBuilder, MetadataBuilder, MetallibBuilder, image,
};
use assay_container::gpu::Gpu;
use assay_container::{SelectError, open};

fn function(gpu: Gpu, name: &str, code: &[u8]) -> Vec<u8> {
    let metadata = MetadataBuilder::new().registers(4).name(name).build();
    FunctionBuilder::new(gpu)
        .main(code)
        .metadata(&metadata)
        .build()
}

fn archive(gpus: &[&str], names: &[&str]) -> Vec<u8> {
    let metallib = names
        .iter()
        .fold(MetallibBuilder::new(), |builder, name| {
            builder.kernel(name, b"m")
        })
        .build();
    gpus.iter()
        .fold(ArchiveBuilder::new().air(&metallib), |builder, gpu| {
            let gpu = Gpu::named(gpu).unwrap();
            let functions: Vec<Vec<u8>> = names
                .iter()
                .map(|name| function(gpu, name, &[0x88, 0]))
                .collect();
            builder.gpu(gpu, &image(gpu, &functions))
        })
        .build()
}

#[test]
fn the_only_function_needs_no_name() {
    let bytes = archive(&["G13G"], &["add"]);
    let program = open(&bytes).unwrap().program(None).unwrap().program;
    assert_eq!(program.name, "add");
}

#[test]
fn code_with_known_costs_is_preferred_over_the_first() {
    let bytes = archive(&["G16P", "G14G"], &["add"]);
    let program = open(&bytes).unwrap().program(Some("add")).unwrap().program;
    assert_eq!(program.isa, assay_agx::Isa::G14);
    let bytes = archive(&["G16P"], &["add"]);
    let program = open(&bytes).unwrap().program(None).unwrap().program;
    assert_eq!(program.isa, assay_agx::Isa::G15);
    let bytes = archive(&["G12P"], &["add"]);
    let error = open(&bytes).unwrap().program(None).unwrap_err();
    assert!(matches!(error, SelectError::Unusable(_)), "{error}");
    assert!(error.advice().unwrap().contains("applegpu_g13g"));
}

#[test]
fn several_functions_need_a_name() {
    let bytes = archive(&["G13G"], &["add", "mul"]);
    let opened = open(&bytes).unwrap();
    let error = opened.program(None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "several functions and none chosen; there are add, mul"
    );
    assert_eq!(opened.program(Some("mul")).unwrap().program.name, "mul");
    assert_eq!(opened.program(Some("#0")).unwrap().program.name, "add");
    let error = opened.program(Some("mull")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "no function named mull; there are mul and 1 more"
    );
}

#[test]
fn air_is_not_machine_code() {
    let bytes = MetallibBuilder::new().kernel("add", b"m").build();
    let error = open(&bytes).unwrap().program(None).unwrap_err();
    assert_eq!(error.to_string(), "this metallib holds no machine code");
    assert!(error.advice().unwrap().contains("metal-tt"));
}

#[test]
fn anonymous_functions_are_chosen_by_place() {
    let gpu = Gpu::named("G13G").unwrap();
    let code = [[0x88, 0], [0x08, 0]].map(|code| FunctionBuilder::new(gpu).main(&code).build());
    let bytes = image(gpu, &code);
    let opened = open(&bytes).unwrap();
    assert!(opened.program(None).is_err());
    assert_eq!(opened.program(Some("#1")).unwrap().program.code, [0x08, 0]);
}

/// A script of one pipeline leaves code without a name in a slice for each GPU.
#[test]
fn the_first_function_of_a_gpu_needs_no_name() {
    let (m1, m2) = (Gpu::named("G13G").unwrap(), Gpu::named("G14G").unwrap());
    let nameless = |gpu, code: &[u8]| FunctionBuilder::new(gpu).main(code).build();
    let bytes = ArchiveBuilder::new()
        .gpu(m2, &image(m2, &[nameless(m2, &[0x88, 0])]))
        .gpu(
            m1,
            &image(
                m1,
                &[nameless(m1, &[0x38, 0, 0x88, 0]), nameless(m1, &[0x88, 0])],
            ),
        )
        .build();
    let opened = open(&bytes).unwrap();
    let ambiguous = opened.program(None).unwrap_err();
    assert!(matches!(ambiguous, SelectError::Ambiguous { .. }));
    let program = opened.first_program(m1).unwrap().program;
    assert_eq!(program.code, [0x38, 0, 0x88, 0]);
    let other = Gpu::named("G15P").unwrap();
    let readable = opened.first_program(other).unwrap().program;
    assert_eq!(readable.isa, assay_agx::Isa::G14);
}
