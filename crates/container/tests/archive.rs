//! Binary archives, GPU Mach-Os and their metadata, good and bad.

use assay_container::builder::{
    ArchiveBuilder, FunctionBuilder, MachOBuilder, MetadataBuilder, MetallibBuilder, image,
    image_with_descriptor,
};
use assay_container::fat::SliceContent;
use assay_container::gpu::{CPU_TYPE_APPLE_GPU, Gpu, Target};
use assay_container::image::{Role, Stage};
use assay_container::metadata::Metadata;
use assay_container::{Contents, Problem, View, open};

const STOP: &[u8] = &[0x88, 0x00];
const MAIN: &[u8] = &[0x62, 0x11, 0, 0, 0x88, 0];

fn g13() -> Gpu {
    Gpu::named("G13G").unwrap()
}

fn function(name: &str) -> Vec<u8> {
    FunctionBuilder::new(g13())
        .constant_program(STOP)
        .main(MAIN)
        .helper("_helper", STOP)
        .metadata(
            &MetadataBuilder::new()
                .registers(12)
                .spill_bytes(32)
                .uniform_registers(80)
                .thread_invariant_spill_bytes(24)
                .threadgroup_bytes(4096)
                .binding(3, 8, true)
                .name(name)
                .build(),
        )
        .build()
}

fn archive() -> Vec<u8> {
    let metallib = MetallibBuilder::new()
        .kernel("add", b"module")
        .kernel("mul", b"module")
        .build();
    ArchiveBuilder::new()
        .air(&metallib)
        .gpu(g13(), &image(g13(), &[function("mul"), function("add")]))
        .build()
}

#[test]
fn the_path_from_archive_to_code_and_metadata() {
    let bytes = archive();
    let opened = open(&bytes).unwrap();
    let compiled = opened.compiled();
    assert_eq!(compiled.len(), 2);
    let add = compiled[1];
    assert_eq!(add.name.as_deref(), Some("add"));
    assert_eq!(add.stage, Stage::Compute);
    assert_eq!(add.bytes_of(add.main().unwrap()), MAIN);
    assert_eq!(add.bytes_of(add.constant_program().unwrap()), STOP);
    let helper = add.helpers().next().unwrap();
    assert_eq!((&*helper.name, helper.range.clone()), ("_helper", 8..10));
    let start = add.code_offset as usize;
    assert_eq!(&bytes[start..start + 2], STOP);
    let metadata = add.metadata.as_ref().unwrap();
    assert_eq!(metadata.registers, Some(12));
    assert_eq!(metadata.spill_bytes, Some(32));
    assert_eq!(metadata.uniform_registers, Some(80));
    assert_eq!(metadata.thread_invariant_spill_bytes, Some(24));
    assert!(metadata.uses_threadgroup);
    assert_eq!(metadata.threadgroup_bytes, Some(4096));
    let binding = metadata.bindings[0];
    assert_eq!(
        (binding.index, binding.place, binding.written),
        (3, 8, true)
    );
    assert_eq!(opened.metallibs()[0].functions().len(), 2);
}

#[test]
fn the_only_kernel_of_the_library_names_the_only_function() {
    let metallib = MetallibBuilder::new().kernel("lonely", b"x").build();
    let code = FunctionBuilder::new(g13()).main(STOP).build();
    let bytes = ArchiveBuilder::new()
        .air(&metallib)
        .gpu(g13(), &image(g13(), &[code]))
        .build();
    let opened = open(&bytes).unwrap();
    assert_eq!(opened.compiled()[0].name.as_deref(), Some("lonely"));
    assert_eq!(opened.compiled()[0].metadata, None);
}

#[test]
fn the_descriptor_of_the_pipeline_names_its_function() {
    let bytes = image_with_descriptor(g13(), &function("x"), "saxpy");
    let opened = open(&bytes).unwrap();
    assert_eq!(opened.compiled()[0].name.as_deref(), Some("saxpy"));
    for length in 0..bytes.len() {
        assert!(open(&bytes[..length]).is_err());
    }
    for at in 0..bytes.len() {
        let mut bytes = bytes.clone();
        bytes[at] ^= 0xFF;
        let _ = open(&bytes);
    }
}

#[test]
fn threadgroup_use_of_unstated_size_is_not_zero() {
    let metadata = MetadataBuilder::new().field(9, 1).build();
    let code = FunctionBuilder::new(g13())
        .main(STOP)
        .metadata(&metadata)
        .build();
    let opened = open(&code).unwrap();
    let metadata = opened.compiled()[0].metadata.clone().unwrap();
    assert_eq!(
        (metadata.threadgroup_bytes, metadata.uses_threadgroup),
        (None, true)
    );
}

#[test]
fn without_a_library_code_stays_anonymous() {
    let bytes = image(g13(), &[function("add")]);
    let opened = open(&bytes).unwrap();
    assert!(matches!(opened, Contents::Image(_)));
    assert_eq!(opened.compiled()[0].name, None);
}

#[test]
fn a_nested_macho_opens_by_itself() {
    let bytes = function("add");
    let opened = open(&bytes).unwrap();
    let compiled = opened.compiled();
    assert_eq!(compiled[0].stage, Stage::Unstated);
    assert_eq!(compiled[0].parts.len(), 3);
}

#[test]
fn code_without_symbols_is_all_main() {
    let bytes = MachOBuilder::new(CPU_TYPE_APPLE_GPU, 322)
        .section("__TEXT", "__text", MAIN)
        .build();
    let opened = open(&bytes).unwrap();
    let part = &opened.compiled()[0].parts[0];
    assert_eq!((part.role, part.range.clone()), (Role::Main, 0..6));
}

#[test]
fn metadata_that_states_nothing_states_nothing() {
    let code = FunctionBuilder::new(g13())
        .main(STOP)
        .metadata(&MetadataBuilder::new().build())
        .build();
    let opened = open(&code).unwrap();
    let metadata = opened.compiled()[0].metadata.as_ref().unwrap();
    assert_eq!(metadata.registers, None);
    assert_eq!(metadata.spill_bytes, None);
}

#[test]
fn broken_metadata_does_not_hide_the_code() {
    let code = FunctionBuilder::new(g13())
        .main(STOP)
        .metadata(&[0xFF; 16])
        .build();
    let opened = open(&code).unwrap();
    let compiled = opened.compiled();
    assert!(compiled[0].metadata.is_none());
    assert!(compiled[0].metadata_error.is_some());
    assert!(compiled[0].main().is_some());
}

#[test]
fn an_older_gpu_says_what_to_do() {
    let g12 = Gpu::named("G12P").unwrap();
    let code = FunctionBuilder::new(g12).main(STOP).build();
    let bytes = ArchiveBuilder::new().gpu(g12, &image(g12, &[code])).build();
    let opened = open(&bytes).unwrap();
    let error = opened.compiled()[0].check_decodable().unwrap_err();
    assert!(error.to_string().starts_with("code for G12P"), "{error}");
    assert!(error.advice().unwrap().contains("-arch applegpu_g13g"));
}

/// get_sr, device_store, stop of M3, M4 and A18.
const POSITIONS_G15: &[u8] = &[
    0x1c, 0xa0, 0x10, 0x06, 0xe7, 0x10, 0x54, 0x02, 0x00, 0x01, 0x20, 0x00, 0x11, 0x00, 0x00, 0x90,
    0x11, 0x00, 0x0e, 0x00, 0x00, 0x00,
];

#[test]
fn newer_gpus_share_an_instruction_set_whether_their_number_is_published_or_not() {
    for gpu in [Gpu::named("G15G").unwrap(), Gpu { subtype: 4711 }] {
        let bytes = FunctionBuilder::new(gpu).main(POSITIONS_G15).build();
        let opened = open(&bytes).unwrap();
        let extracted = opened.compiled()[0].to_program().unwrap();
        assert_eq!(extracted.program.isa, assay_agx::Isa::G15);
        assert_eq!(extracted.program.code, POSITIONS_G15);
    }
}

#[test]
fn an_unknown_gpu_is_reported_by_number() {
    let gpu = Gpu { subtype: 4711 };
    let code = FunctionBuilder::new(gpu).main(STOP).build();
    let bytes = ArchiveBuilder::new().gpu(gpu, &image(gpu, &[code])).build();
    let Contents::Archive(archive) = open(&bytes).unwrap() else {
        panic!("not an archive");
    };
    assert_eq!(archive.slices[0].target, Target::AppleGpu(gpu));
    let error = archive.images().next().unwrap().functions[0]
        .check_decodable()
        .unwrap_err();
    assert!(error.to_string().contains("cpusubtype 4711"), "{error}");
    assert!(error.offset > 0);
}

#[test]
fn slices_for_other_makers_are_kept_shut() {
    let bytes = ArchiveBuilder::new()
        .slice(0x0100_0014, 6000, b"code for an AMD GPU")
        .build();
    let Contents::Archive(archive) = open(&bytes).unwrap() else {
        panic!("not an archive");
    };
    assert!(matches!(archive.slices[0].content, SliceContent::Opaque));
    assert_eq!(
        archive.slices[0].target.to_string(),
        "an AMD GPU (cpusubtype 6000)"
    );
}

#[test]
fn every_truncation_is_an_error_with_an_offset_inside() {
    for bytes in [archive(), image(g13(), &[function("add")]), function("x")] {
        for length in 0..bytes.len() {
            let error = open(&bytes[..length]).unwrap_err();
            assert!(error.offset <= length as u64, "{length}: {error}");
        }
    }
}

#[test]
fn every_byte_may_be_anything() {
    let good = archive();
    for at in 0..good.len() {
        for value in [0x00, 0x01, 0x7F, 0x80, 0xFF] {
            let mut bytes = good.clone();
            bytes[at] = value;
            if let Err(error) = open(&bytes) {
                assert!(error.offset <= bytes.len() as u64, "{at}: {error}");
            }
        }
    }
}

#[test]
fn slices_that_overlap_or_overflow_are_refused_at_their_record() {
    let mut bytes = archive();
    let second_offset = 8 + 20 + 8;
    bytes[second_offset..second_offset + 4].copy_from_slice(&64_u32.to_be_bytes());
    let error = open(&bytes).unwrap_err();
    assert!(matches!(error.problem, Problem::Overlap { .. }), "{error}");

    let mut bytes = archive();
    bytes[second_offset..second_offset + 8].copy_from_slice(&[0xFF; 8]);
    let error = open(&bytes).unwrap_err();
    assert!(
        matches!(error.problem, Problem::OutOfBounds { .. }),
        "{error}"
    );
    assert_eq!(error.offset, second_offset as u64);

    let mut bytes = archive();
    bytes[4..8].copy_from_slice(&[0xFF; 4]);
    let error = open(&bytes).unwrap_err();
    assert!(matches!(error.problem, Problem::TooMany { .. }), "{error}");
}

#[test]
fn sections_that_overlap_are_refused() {
    let mut bytes = MachOBuilder::new(CPU_TYPE_APPLE_GPU, 322)
        .section("__TEXT", "__text", &[0; 32])
        .section("__DATA", "__const", &[0; 32])
        .build();
    let second_section_offset = 32 + (72 + 80) + 72 + 48;
    let first = u32::from_le_bytes(bytes[152..156].try_into().unwrap());
    bytes[second_section_offset..second_section_offset + 4]
        .copy_from_slice(&(first + 16).to_le_bytes());
    let error = open(&bytes).unwrap_err();
    assert_eq!(
        error.problem.to_string(),
        "section __TEXT,__text and section __DATA,__const overlap"
    );
}

#[test]
fn a_section_larger_than_the_file_is_refused() {
    let mut bytes = MachOBuilder::new(CPU_TYPE_APPLE_GPU, 322)
        .section("__TEXT", "__text", &[0; 32])
        .build();
    let size = 32 + 72 + 40;
    bytes[size..size + 8].copy_from_slice(&u64::MAX.to_le_bytes());
    let error = open(&bytes).unwrap_err();
    assert!(
        error.to_string().contains("section __TEXT,__text claims"),
        "{error}"
    );
}

#[test]
fn an_image_without_functions_has_none() {
    let bytes = ArchiveBuilder::new().gpu(g13(), &image(g13(), &[])).build();
    assert!(open(&bytes).unwrap().compiled().is_empty());
}

#[test]
fn a_function_becomes_a_program() {
    let bytes = archive();
    let opened = open(&bytes).unwrap();
    let extracted = opened.compiled()[1].to_program().unwrap();
    let program = &extracted.program;
    assert_eq!(program.name, "add");
    assert_eq!(program.isa, assay_agx::Isa::G13);
    assert_eq!(program.code, [MAIN, STOP].concat());
    assert_eq!((program.entry, &program.constant_program[..]), (0, STOP));
    assert_eq!(program.half_registers, Some(24));
    assert_eq!(program.half_uniforms, None);
    assert_eq!(program.scratch_bytes, Some(32));
    assert_eq!(program.threadgroup_bytes, Some(4096));
    let symbols: Vec<_> = extracted
        .symbols
        .iter()
        .map(|symbol| (&*symbol.name, symbol.role, symbol.range.clone()))
        .collect();
    assert_eq!(
        symbols,
        [
            ("_agc.main", Role::Main, 0..6),
            ("_helper", Role::Helper, 6..8)
        ]
    );
    let start = extracted.code_offset as usize;
    assert_eq!(&bytes[start..start + 6], MAIN);
    let start = extracted.constant_program_offset.unwrap() as usize;
    assert_eq!(&bytes[start..start + 2], STOP);
}

#[test]
fn helpers_before_main_move_the_entry() {
    let bytes = FunctionBuilder::new(g13())
        .helper("_first", STOP)
        .main(MAIN)
        .constant_program(STOP)
        .build();
    let opened = open(&bytes).unwrap();
    let extracted = opened.compiled()[0].to_program().unwrap();
    assert_eq!(extracted.program.entry, 2);
    assert_eq!(extracted.program.code, [STOP, MAIN].concat());
    assert_eq!(extracted.program.half_registers, None);
}

#[test]
fn undecodable_code_becomes_no_program() {
    let g12 = Gpu::named("G12P").unwrap();
    let bytes = FunctionBuilder::new(g12).main(STOP).build();
    let opened = open(&bytes).unwrap();
    let error = opened.compiled()[0].to_program().unwrap_err();
    assert!(matches!(error.problem, Problem::Undecodable { .. }));
    let empty = FunctionBuilder::new(g13()).constant_program(STOP).build();
    let opened = open(&empty).unwrap();
    let error = opened.compiled()[0].to_program().unwrap_err();
    assert!(error.to_string().contains("_agc.main"), "{error}");
}

#[test]
fn an_unreadable_slice_of_a_newer_gpu_leaves_the_others_readable() {
    let g17 = Gpu { subtype: 999 };
    let bytes = ArchiveBuilder::new()
        .gpu(g17, b"some new layout")
        .gpu(g13(), &image(g13(), &[function("add")]))
        .build();
    let Contents::Archive(archive) = open(&bytes).unwrap() else {
        panic!("not an archive");
    };
    assert!(matches!(
        archive.slices[0].content,
        SliceContent::Unreadable(_)
    ));
    assert_eq!(archive.images().count(), 1);
    let bytes = ArchiveBuilder::new().gpu(g13(), b"not a Mach-O").build();
    assert!(open(&bytes).is_err());
}

/// Very many bindings share one table with very many fields: reading them all would
/// take ten thousand million steps.
#[test]
fn shared_huge_tables_cost_little() {
    const SLOTS: u16 = 30_000;
    const BINDINGS: u32 = 100_000;
    let mut buffer = Vec::new();
    let word = |buffer: &mut Vec<u8>, value: usize| {
        buffer.extend(u32::try_from(value).unwrap().to_le_bytes());
    };
    let half = |buffer: &mut Vec<u8>, value: u16| buffer.extend(value.to_le_bytes());
    word(&mut buffer, 12);
    // The root's vtable and table: field 0 leads to the kernel.
    for value in [6, 8, 4, 0] {
        half(&mut buffer, value);
    }
    let huge = 20;
    let kernel = huge + 4 + 2 * usize::from(SLOTS);
    word(&mut buffer, 8);
    word(&mut buffer, kernel - 16);
    // The shared vtable: field 4 is the vector of bindings, every other a number.
    half(&mut buffer, 4 + 2 * SLOTS);
    half(&mut buffer, 12);
    for slot in 0..SLOTS {
        half(&mut buffer, if slot == 4 { 4 } else { 8 });
    }
    word(&mut buffer, kernel - huge);
    word(&mut buffer, 8);
    word(&mut buffer, 77);
    let vector = kernel + 12;
    let binding = vector + 4 + 4 * BINDINGS as usize;
    word(&mut buffer, BINDINGS as usize);
    for index in 0..BINDINGS as usize {
        word(&mut buffer, binding - (vector + 4 + 4 * index));
    }
    word(&mut buffer, binding - huge);
    buffer.extend([0; 8]);
    let start = std::time::Instant::now();
    let metadata = Metadata::read(View::new(&buffer)).unwrap();
    assert_eq!(metadata.registers, Some(77));
    assert_eq!(metadata.bindings.len(), 1024);
    assert!(start.elapsed().as_secs() < 2);
}
