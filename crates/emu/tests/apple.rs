//! Programs compiled by Apple's own compiler that can stand alone.
#![allow(clippy::needless_range_loop, reason = "threads and lanes are numbers")]

mod common;
use assay_agx::{Isa, Program};
use assay_container::listing;
use assay_emu::{BufferId, DeviceMemory, Launch, run};
use common::{Random, fixtures};

/// The code of a listing.
fn code(name: &str) -> Vec<u8> {
    let path = fixtures().join("apple").join(format!("{name}.tsv"));
    let text = std::fs::read_to_string(path).unwrap();
    listing::parse(&text).unwrap().bytes
}

fn program(name: &str) -> Program {
    Program {
        code: code(name),
        ..Program::new(Isa::G13, name)
    }
}

fn words(memory: &DeviceMemory, buffer: BufferId) -> Vec<u32> {
    let bytes = memory.bytes(buffer);
    let chunks = bytes.chunks_exact(4);
    chunks
        .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
        .collect()
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn readme_iadd4_adds_vectors() {
    let program = program("readme_iadd4.main");
    let mut random = Random::new(90);
    let (a, b) = (random.u32s(160), random.u32s(160));
    let mut memory = DeviceMemory::new();
    let out = memory.add(&[0; 640]).unwrap();
    let mut launch = Launch::new([40, 1, 1], [32, 1, 1]);
    for (half, buffer) in [
        (0, out),
        (4, memory.add(&bytes(&a)).unwrap()),
        (8, memory.add(&bytes(&b)).unwrap()),
    ] {
        launch
            .uniforms
            .set_u64(half, memory.address(buffer))
            .unwrap();
    }
    run(&program, &launch, &memory).unwrap();
    let expected: Vec<u32> = a.iter().zip(&b).map(|(a, b)| a.wrapping_add(*b)).collect();
    assert_eq!(words(&memory, out), expected);
}

#[test]
fn fma_loop_runs_as_often_as_its_argument_says() {
    let program = program("fma_loop.main");
    let threads = 64;
    let x = Random::new(91).f32s(10 * threads, -0.9, 0.9);
    let mut memory = DeviceMemory::new();
    let bits: Vec<u32> = x.iter().map(|x| x.to_bits()).collect();
    let buffer = memory.add(&bytes(&bits)).unwrap();
    let mut launch = Launch::new([threads as u32, 1, 1], [32, 1, 1]);
    launch.uniforms.set_u64(4, memory.address(buffer)).unwrap();
    launch.uniforms.set_u32(8, 100).unwrap();
    let outcome = run(&program, &launch, &memory).unwrap();
    assert_eq!(outcome.instructions, 2 * (15 + 11 * 100 + 6));
    let mut expected = x.clone();
    for thread in expected.chunks_mut(10) {
        let (a, b) = (thread[8], thread[9]);
        for value in &mut thread[..8] {
            for _ in 0..100 {
                *value = a.mul_add(b, *value);
            }
        }
    }
    let expected: Vec<u32> = expected.iter().map(|x| x.to_bits()).collect();
    assert_eq!(words(&memory, buffer), expected);
}

/// Runs a kernel that fills a stack array and returns an element as a float.
fn stack_array(name: &str, threads: u32, count: u16) -> Vec<f32> {
    let program = program(name);
    let mut memory = DeviceMemory::new();
    let out = memory.add(&vec![0; 4 * threads as usize]).unwrap();
    let mut launch = Launch::new([threads, 1, 1], [32, 1, 1]);
    launch.uniforms.set_u64(0, memory.address(out)).unwrap();
    launch.uniforms.set(4, count).unwrap();
    run(&program, &launch, &memory).unwrap();
    let words = words(&memory, out).into_iter();
    words.map(f32::from_bits).collect()
}

#[test]
fn simple_stack_arrays_hold_their_first_element() {
    for name in ["simple_s32.main", "simple_s8.main", "testing.main"] {
        let found = stack_array(name, 40, 64);
        assert_eq!(found, [0.0; 40], "{name}");
    }
}

#[test]
fn simple_s32_index_reads_the_element_of_its_thread() {
    let found = stack_array("simple_s32_index.main", 64, 256);
    let expected: Vec<f32> = (0..64).map(|i| i as f32).collect();
    assert_eq!(found, expected);
}

#[test]
fn simple_call_recurses() {
    let (helper, main) = (code("simple_call.helper"), code("simple_call.main"));
    // The call in the main program goes 0x180 bytes before its start.
    let mut code = helper;
    code.resize(0x180, 0);
    code.extend(main);
    let program = Program {
        code,
        entry: 0x180,
        ..Program::new(Isa::G13, "simple_call")
    };
    // f(i): v = d[i]; s = 0; while v == 0 { s += f(42 i); i = 69 i; v = d[i] }; v + s
    let mut d: Vec<u32> = (0..200_000).map(|i| i % 1000 + 1).collect();
    for zero in [1, 2, 3, 5, 42, 69, 84, 69 * 42] {
        d[zero] = 0;
    }
    fn f(d: &[u32], mut i: usize) -> u32 {
        let (mut v, mut s) = (d[i], 0u32);
        while v == 0 {
            s = s.wrapping_add(f(d, 42 * i));
            i *= 69;
            v = d[i];
        }
        v.wrapping_add(s)
    }
    let mut memory = DeviceMemory::new();
    let out = memory.add(&[0; 4 * 40]).unwrap();
    let data = memory.add(&bytes(&d)).unwrap();
    let mut launch = Launch::new([40, 1, 1], [32, 1, 1]);
    launch.uniforms.set_u64(0, memory.address(out)).unwrap();
    launch.uniforms.set_u64(4, memory.address(data)).unwrap();
    run(&program, &launch, &memory).unwrap();
    let expected: Vec<u32> = (0..40).map(|i| f(&d, i)).collect();
    assert_eq!(words(&memory, out), expected);
}

/// The shape of what Apple's compiler hoists: sizes loaded, rounded up and divided, reciprocals, all left in uniforms.
#[test]
fn a_constant_program_of_apples_shape_sets_uniforms() {
    let constant_program = common::asm::code(
        "device_load 0, i32, x, r6, u2_u3, 0, signed
         device_load 0, i32, xy, r4_r5, u2_u3, 3, signed, lsl 1
         wait 0
         iadd r6.cache, 63, r6.discard
         bfeil r14.cache, 0, r6.discard, 6
         convert u32_to_f, r13.cache, r14, rte
         rcp r12, r13
         uniform_store 2, i16, xy, 0, r14l_r14h, 8
         uniform_store 2, i16, xy, 0, r13l_r13h, 10
         uniform_store 2, i16, xy, 0, r12l_r12h, 12
         uniform_store 2, i16, xy, 0, r5l_r5h, 14
         stop",
    );
    // A main program that copies u4, the rounded-up quotient.
    let main = [
        0x72, 0x05, 0x10, 0x04, // get_sr r1, thread_position_in_grid.x
        0x7e, 0x09, 0x88, 0x09, 0x80, 0x00, // mov r2, u4
        0x45, 0x11, 0x20, 0x0e, 0x00, 0xc0, 0x12, 0x00, // device_store r2, u0_u1, r1
        0x88, 0x00, // stop
    ];
    let program = Program {
        code: main.to_vec(),
        constant_program,
        ..Program::new(Isa::G13, "conv")
    };
    let mut memory = DeviceMemory::new();
    let out = memory.add(&[0; 4]).unwrap();
    let parameters = memory
        .add(&bytes(&(1..=40).map(|i| i * 100).collect::<Vec<_>>()))
        .unwrap();
    let mut launch = Launch::new([1, 1, 1], [32, 1, 1]);
    launch.uniforms.set_u64(0, memory.address(out)).unwrap();
    launch
        .uniforms
        .set_u64(4, memory.address(parameters))
        .unwrap();
    let outcome = run(&program, &launch, &memory).unwrap();
    assert_eq!(outcome.constant_instructions, 12);
    // bfeil 0, (63 + first), 6
    assert_eq!(words(&memory, out), [(63 + 100) >> 6]);
}
