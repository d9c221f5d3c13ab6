//! Which texture an instruction names, and what stands for accesses whose encoding is not publicly known.

use assay_agx::{
    BoundValue, Instruction, Item, Op, Placeholder, Program, Unencoded, UnencodedKind,
};

/// The code of a kernel with these arguments, whose body is `b0` with these parameters.
fn generate(arguments: &str, params: &str, body: &str) -> Program {
    let text = format!(
        "module \"m\"\nkernel \"k\" f0 {{\n{arguments}\n\"i\" builtin thread_position_in_grid type \"uint\"\n}}\n\
         function f0 \"k\" -> void convergent {{\nb0({params}):\n{body}\nreturn\n}}\n"
    );
    let module = assay_ssa::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assay_codegen::generate(&module, "k", &Default::default()).expect("generates")
}

/// The first instruction with an operation.
fn first(program: &Program, op: Op) -> Instruction {
    let mut items = program.walk().filter_map(|(_, item)| item.known());
    items.find(|insn| insn.op() == op).expect("the instruction")
}

/// The kinds of what the code has no instruction for.
fn unknown(program: &Program) -> Vec<UnencodedKind> {
    let placeholders = program.placeholders.iter();
    placeholders.map(|one| one.operation.kind).collect()
}

/// A buffer `o` and the textures 2, 3 and 4 as an array that `body` may index through `v4`.
fn with_array(body: &str) -> Program {
    let mut arguments =
        "\"o\" buffer 0 param 0 space device read_write type \"uint\" size 4 align 4 noalias\n\
         \"w\" buffer 1 param 1 space device read type \"uint\" size 4 align 4 noalias\n"
            .to_owned();
    for index in 2..5 {
        arguments += &format!(
            "\"t[{index}]\" texture {index} param {index} read_write type \"texture2d<uint, access::read_write>\" size 8 align 8\n"
        );
    }
    let body = format!(
        "v5: ptr.thread = alloca %2 align 8\n\
         store v5, v2 align 8\n\
         v6: ptr.thread = ptr_add nuw inbounds v5 + 8\n\
         store v6, v3 align 8\n\
         v7: ptr.thread = ptr_add nuw inbounds v5 + 16\n\
         store v7, v4 align 8\n\
         v8: i32 = call thread_position_in_grid()\n\
         v9: ptr.device = ptr_add nuw inbounds v1 + zext v8 * 4\n\
         v10: i32 = load v9 align 4\n\
         v11: ptr.thread = ptr_add nuw inbounds v5 + zext v10 * 8\n\
         v12: ptr.generic = load v11 align 8\n{body}"
    );
    let params =
        "v0: ptr.device, v1: ptr.device, v2: ptr.generic, v3: ptr.generic, v4: ptr.generic";
    let text = format!(
        "module \"m\"\n%0 = struct ptr.generic at 0 size 8 align 8\n%1 = array %0 x 3 stride 8\n%2 = struct %1 at 0 size 24 align 8\n\
         kernel \"k\" f0 {{\n{arguments}\"i\" builtin thread_position_in_grid type \"uint\"\n}}\n\
         function f0 \"k\" -> void convergent {{\nb0({params}):\n{body}\nreturn\n}}\n"
    );
    let module = assay_ssa::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assay_codegen::generate(&module, "k", &Default::default()).expect("generates")
}

const STORE: &str = "v20: ptr.device = ptr_add nuw inbounds v0 + zext v8 * 4\n\
     v21: i32 = extract v13, i32 0\n\
     store v20, v21 align 4";

#[test]
fn an_element_of_an_array_of_arguments_is_a_state_register_by_its_number() {
    let program = with_array(&format!(
        "v13: v4i32 = call read.texture_2d.u(v12, v8, i32 0, i32 0, i32 0, i32 0)\n{STORE}"
    ));
    assert_eq!(unknown(&program), []);
    let words = first(&program, Op::TextureLoad).words(0);
    // No heap; the texture is a half register.
    let texture = words.split(", ").nth(8).expect("a texture");
    assert!(words.contains(", None, "), "{words}");
    assert!(
        texture.starts_with('r') && texture.ends_with(['l', 'h']),
        "{words}"
    );
    // The array is gone, and 2 was added to the index.
    assert_eq!(program.scratch_bytes, None);
    let sums = program.walk().filter_map(|(_, item)| item.known());
    let mut sums = sums.filter(|insn| insn.op() == Op::Iadd);
    assert!(sums.any(|insn| insn.words(0).ends_with(", 2")));
    let named = |binding: &assay_agx::Binding| {
        matches!(
            binding.value,
            BoundValue::DescriptorHeap | BoundValue::TextureHandle { .. }
        )
    };
    assert!(!program.bindings.iter().any(named));
}

#[test]
fn an_array_that_is_used_otherwise_holds_handles() {
    let program = with_array(&format!(
        "v13: v4i32 = call read.texture_2d.u(v12, v8, i32 0, i32 0, i32 0, i32 0)\n{STORE}\n\
         v22: i64 = load v6 align 8\n\
         v23: ptr.device = ptr_add nuw inbounds v0 + zext v8 * 8 + 64\n\
         store v23, v22 align 8"
    ));
    let words = first(&program, Op::TextureLoad).words(0);
    assert!(words.contains(", u0_u1, r"), "{words}");
    let handles: Vec<u32> = program
        .bindings
        .iter()
        .filter_map(|binding| match binding.value {
            BoundValue::TextureHandle { index } => Some(index),
            _ => None,
        })
        .collect();
    assert_eq!(handles.len(), 3, "{handles:?}");
    assert!(program.scratch_bytes.is_some());
}

const MEMBERS: &str = "\"o\" buffer 0 param 0 space device read_write type \"float\" size 4 align 4 noalias\n\
     \"a\" buffer 1 param 1 space device read type \"Members\" size 16 align 8 noalias";

/// The code of a kernel whose texture `v5` and sampler `v6` are members of an argument buffer.
fn with_members(body: &str) -> Program {
    let body = format!(
        "v2: i32 = call thread_position_in_grid()\n\
         v3: ptr.device = ptr_add nuw inbounds v1 + zext v2 * 16\n\
         v4: ptr.device = ptr_add nuw inbounds v3 + 8\n\
         v5: ptr.device = load v3 align 8\n\
         v6: i64 = load v4 align 8\n{body}\n\
         v20: ptr.device = ptr_add nuw inbounds v0 + zext v2 * 4\n\
         store v20, v13 align 4"
    );
    generate(MEMBERS, "v0: ptr.device, v1: ptr.device", &body)
}

#[test]
fn a_member_of_an_argument_buffer_is_named_by_a_heap_and_a_register() {
    let program = with_members(
        "v7: v4f32 = call sample.texture_2d(v5, v6, v4f32 [0.5, 0.5, 0.0, 0.0], i32 0, i32 0, f32 0.0, f32 0.0, \
         v4i32 [0, 0, 0, 0], v4f32 [0.0, 0.0, 0.0, 0.0], v4f32 [0.0, 0.0, 0.0, 0.0])\n\
         v13: f32 = extract v7, i32 0",
    );
    assert_eq!(unknown(&program), []);
    let insn = first(&program, Op::TextureSample);
    let words = insn.words(0);
    let operands: Vec<&str> = words.split(", ").collect();
    assert_eq!(operands[7], "u0_u1", "{words}");
    assert!(!operands[8].ends_with(['l', 'h']), "a word: {words}");
    assert!(operands[9].ends_with(['l', 'h']), "a half: {words}");
    // Two words of handles, of which one and a half are read, and two coordinates.
    assert_eq!(insn.reads().len(), 2 + 1 + 4);
    let heap = program.bindings.first().expect("a binding");
    assert_eq!(
        (&heap.value, heap.first_half),
        (&BoundValue::DescriptorHeap, 0)
    );
}

#[test]
fn the_size_of_a_texture_that_is_chosen_while_the_kernel_runs_is_not_known() {
    let program =
        with_members("v7: i32 = call get_width.texture_2d(v5, i32 0)\nv13: f32 = bitcast v7");
    assert_eq!(unknown(&program), [UnencodedKind::TextureSize]);
    assert_eq!(program.placeholders[0].operation.bytes, None);
}

#[test]
fn a_sampler_that_may_be_constexpr_has_no_index() {
    let program = with_members(
        "v8: i1 = icmp eq v2, i32 3\n\
         v9: i64 = select v8, v6, i64 5\n\
         v7: v4f32 = call sample.texture_2d(v5, v9, v4f32 [0.5, 0.5, 0.0, 0.0], i32 0, i32 0, f32 0.0, f32 0.0, \
         v4i32 [0, 0, 0, 0], v4f32 [0.0, 0.0, 0.0, 0.0], v4f32 [0.0, 0.0, 0.0, 0.0])\n\
         v13: f32 = extract v7, i32 0",
    );
    assert_eq!(unknown(&program), [UnencodedKind::TextureSample]);
}

#[test]
fn a_texture_atomic_is_a_placeholder_between_its_registers() {
    let arguments = "\"o\" buffer 0 param 0 space device read_write type \"uint\" size 4 align 4 noalias\n\
         \"t\" texture 0 param 1 read_write type \"texture2d<uint, access::read_write>\" size 8 align 8";
    let program = generate(
        arguments,
        "v0: ptr.device, v1: ptr.generic",
        "v2: i32 = call thread_position_in_grid()\n\
         v3: v4i32 = call texture_atomic.texture_2d.u(v1, v2, i32 7, i32 0, i32 0, i32 0, v4i32 [1, 1, 1, 1], v4i32 [1, 1, 1, 1])\n\
         v4: i32 = extract v3, i32 0\n\
         v5: ptr.device = ptr_add nuw inbounds v0 + zext v2 * 4\n\
         store v5, v4 align 4",
    );
    let [placeholder] = &program.placeholders[..] else {
        panic!("{:?}", program.placeholders);
    };
    let operation = Unencoded {
        kind: UnencodedKind::TextureAtomic,
        bytes: Some(4),
    };
    assert_eq!(placeholder.operation, operation);
    let offset = u64::from(placeholder.offset);
    let found = program.walk().find(|(at, _)| *at == offset);
    assert_eq!(found, Some((offset, Item::Unknown(Placeholder::PARCEL))));
    // It reads the position and writes what is stored.
    let position = first(&program, Op::GetSr).writes();
    assert_eq!(placeholder.reads, position.iter().collect::<Vec<_>>());
    let stored = first(&program, Op::DeviceStore).reads();
    assert_eq!(placeholder.writes.len(), 2);
    assert!(placeholder.writes.iter().all(|half| stored.contains(*half)));
    assert_eq!(
        program
            .walk()
            .filter(|(_, item)| item.known().is_none())
            .count(),
        1
    );
}

#[test]
fn atomics_of_64_bits_state_eight_bytes() {
    let program = generate(
        "\"t\" texture 0 param 0 read_write type \"texture2d<ulong, access::read_write>\" size 8 align 8",
        "v0: ptr.generic",
        "v1: i32 = call thread_position_in_grid()\n\
         v2: v4i64 = call texture_atomic.texture_2d.u(v0, v1, v1, i32 0, i32 0, i32 2, v4i64 [1, 1, 1, 1], v4i64 [1, 1, 1, 1])",
    );
    let bytes: Vec<_> = program
        .placeholders
        .iter()
        .map(|one| one.operation.bytes)
        .collect();
    assert_eq!(bytes, [Some(8)]);
}

#[test]
fn texels_of_a_buffer_have_no_known_dimension() {
    let program = generate(
        "\"o\" buffer 0 param 0 space device read_write type \"float\" size 4 align 4 noalias\n\
         \"t\" texture 0 param 1 read_write type \"texture_buffer<float>\" size 8 align 8",
        "v0: ptr.device, v1: ptr.generic",
        "v2: i32 = call thread_position_in_grid()\n\
         v3: v4f32 = call read.texture_buffer_1d(v1, v2, i32 0, i32 0, i32 0, i32 0)\n\
         v4: f32 = extract v3, i32 0\n\
         v5: ptr.device = ptr_add nuw inbounds v0 + zext v2 * 4\n\
         store v5, v4 align 4",
    );
    assert_eq!(unknown(&program), [UnencodedKind::TextureRead]);
}
