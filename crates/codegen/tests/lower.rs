//! Operations one at a time: what the machine code computes is what the program computes,
//! for every operation, type and awkward number.

#[allow(dead_code, reason = "an example uses the rest")]
mod judge;

use assay_agx::{Item, Op, Program};
use assay_codegen::mir::{Inst, Opcode};
use judge::Verdict;

/// A kernel that stores `operation` of two numbers `v5` and `v7` of type `from`.
fn kernel(from: &str, operation: &str, to: &str) -> String {
    let bytes = |ty: &str| match ty {
        "i8" => 1,
        "i16" | "f16" | "bf16" => 2,
        "i64" => 8,
        _ => 4,
    };
    let name = match from {
        "i8" => "uchar",
        "i16" => "ushort",
        "i32" => "uint",
        "i64" => "ulong",
        "f16" => "half",
        "bf16" => "bfloat",
        _ => "float",
    };
    let (size, out) = (bytes(from), bytes(to));
    format!(
        "module \"m\"\n\
         kernel \"k\" f0 {{\n\
             \"o\" buffer 0 param 0 space device read_write type \"uint\" size {out} align {out} noalias\n\
             \"a\" buffer 1 param 1 space device read type \"{name}\" size {size} align {size} noalias\n\
             \"b\" buffer 2 param 2 space device read type \"{name}\" size {size} align {size} noalias\n\
             \"i\" builtin thread_position_in_grid type \"uint\"\n\
         }}\n\
         function f0 \"k\" -> void convergent {{\n\
         b0(v0: ptr.device, v1: ptr.device, v2: ptr.device):\n\
             v3: i32 = call thread_position_in_grid()\n\
             v4: ptr.device = ptr_add nuw inbounds v1 + zext v3 * {size}\n\
             v5: {from} = load v4 align {size}\n\
             v6: ptr.device = ptr_add nuw inbounds v2 + zext v3 * {size}\n\
             v7: {from} = load v6 align {size}\n\
             v8: {to} = {operation}\n\
             v9: ptr.device = ptr_add nuw inbounds v0 + zext v3 * {out}\n\
             store v9, v8 align {out}\n\
             return\n\
         }}\n"
    )
}

/// Judges each operation; all that differ are named.
fn check(cases: &[(&str, &str, &str)]) {
    let mut wrong = Vec::new();
    for &(from, operation, to) in cases {
        let text = kernel(from, operation, to);
        let module = assay_ssa::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        for seed in 1..4 {
            match judge::judge(&module, "k", seed) {
                Verdict::Same { finished, .. } if finished > 0 => {}
                verdict => wrong.push(format!("{operation} on {from}: {verdict:?}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn integer_operations_of_every_width() {
    let binary = [
        "add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "shl", "lshr", "ashr", "and", "or",
        "xor",
    ];
    let mut cases = Vec::new();
    for ty in ["i8", "i16", "i32", "i64"] {
        for op in binary {
            cases.push((ty, format!("{op} v5, v7")));
        }
    }
    let cases: Vec<(&str, &str, &str)> = cases
        .iter()
        .map(|(ty, operation)| (*ty, operation.as_str(), *ty))
        .collect();
    check(&cases);
}

#[test]
fn division_by_constants_of_either_sign() {
    let divisors = [
        ("i8", &["1", "-1", "3", "-5", "16", "-16", "-128"][..]),
        ("i16", &["1", "-1", "7", "-10", "256", "-32768"][..]),
        (
            "i32",
            &[
                "1",
                "-1",
                "2",
                "-2",
                "3",
                "-3",
                "7",
                "10",
                "-641",
                "65536",
                "2147483647",
                "-2147483648",
                "-2147483647",
            ][..],
        ),
    ];
    let mut cases = Vec::new();
    for (ty, divisors) in divisors {
        for divisor in divisors {
            for op in ["udiv", "sdiv", "urem", "srem"] {
                cases.push((ty, format!("{op} v5, {ty} {divisor}")));
            }
        }
    }
    cases.push(("i32", "call mulhi.s(v5, i32 -1000)".to_owned()));
    let cases: Vec<(&str, &str, &str)> = cases
        .iter()
        .map(|(ty, operation)| (*ty, operation.as_str(), *ty))
        .collect();
    check(&cases);
}

#[test]
fn integer_builtins() {
    let names = [
        "min.s",
        "min.u",
        "max.s",
        "max.u",
        "absdiff.s",
        "absdiff.u",
        "addsat.s",
        "addsat.u",
        "subsat.s",
        "subsat.u",
        "hadd.s",
        "hadd.u",
        "rhadd.s",
        "rhadd.u",
        "mulhi.s",
        "mulhi.u",
        "rotate",
    ];
    let single = ["abs.s", "popcount", "clz", "ctz", "reverse_bits"];
    let mut cases = Vec::new();
    for ty in ["i8", "i16", "i32"] {
        cases.extend(names.map(|name| (ty, format!("call {name}(v5, v7)"))));
        cases.extend(single.map(|name| (ty, format!("call {name}(v5)"))));
    }
    for name in ["min.s", "min.u", "max.s", "max.u", "mulhi.u"] {
        cases.push(("i64", format!("call {name}(v5, v7)")));
    }
    cases.extend(single.map(|name| ("i64", format!("call {name}(v5)"))));
    let cases: Vec<(&str, &str, &str)> = cases
        .iter()
        .map(|(ty, operation)| (*ty, operation.as_str(), *ty))
        .collect();
    check(&cases);
}

#[test]
fn float_operations_of_every_type() {
    let operations = [
        "fadd v5, v7",
        "fsub v5, v7",
        "fmul v5, v7",
        "fdiv v5, v7",
        "frem v5, v7",
        "fma v5, v7, v5",
        "fneg v5",
        "call fabs(v5)",
        "call fmin(v5, v7)",
        "call fmax(v5, v7)",
        "call fmod(v5, v7)",
        "call copysign(v5, v7)",
        "call floor(v5)",
        "call ceil(v5)",
        "call trunc(v5)",
        "call rint(v5)",
        "call round(v5)",
        "call fract(v5)",
        "call sign(v5)",
        "call saturate(v5)",
        "call fmin3(v5, v7, v5)",
        "call fmedian3(v5, v7, v5)",
        "call fclamp(v5, v7, v5)",
        "call fminimum(v5, v7)",
        "call fmaximum(v5, v7)",
        "call sqrt(v5)",
        "call rsqrt(v5)",
        "call exp(v5)",
        "call log(v5)",
        "call pow(v5, v7)",
        "call sin(v5)",
        "call tanh(v5)",
        "call atan2(v5, v7)",
    ];
    let mut cases = Vec::new();
    for ty in ["f32", "f16", "bf16"] {
        cases.extend(operations.map(|operation| (ty, operation, ty)));
    }
    check(&cases);
}

#[test]
fn conversions_between_all_types() {
    let mut cases = Vec::new();
    for from in ["f32", "f16", "bf16"] {
        for to in ["i8", "i16", "i32", "i64"] {
            cases.push((from, "ftou v5", to));
            cases.push((from, "ftos v5", to));
        }
        for to in ["f32", "f16", "bf16"] {
            cases.push((from, "fconvert v5", to));
        }
    }
    for from in ["i8", "i16", "i32", "i64"] {
        for to in ["f32", "f16", "bf16"] {
            cases.push((from, "utof v5", to));
            cases.push((from, "stof v5", to));
        }
    }
    cases.extend([
        ("i8", "zext v5", "i64"),
        ("i8", "sext v5", "i64"),
        ("i8", "sext v5", "i16"),
        ("i16", "sext v5", "i32"),
        ("i32", "sext v5", "i64"),
        ("i64", "trunc v5", "i8"),
        ("i32", "trunc v5", "i16"),
    ]);
    check(&cases);
}

#[test]
fn comparisons_decide_the_same_way() {
    let mut texts = Vec::new();
    for cond in [
        "eq", "ne", "ult", "ule", "ugt", "uge", "slt", "sle", "sgt", "sge",
    ] {
        for ty in ["i8", "i16", "i32", "i64"] {
            texts.push((ty, format!("icmp {cond} v5, v7")));
        }
    }
    for cond in [
        "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "uno", "ueq", "ugt", "uge", "ult", "ule",
        "une",
    ] {
        for ty in ["f32", "f16", "bf16"] {
            texts.push((ty, format!("fcmp {cond} v5, v7")));
        }
    }
    let cases: Vec<(&str, &str, &str)> = texts
        .iter()
        .map(|(ty, operation)| (*ty, operation.as_str(), "i1"))
        .collect();
    for (from, operation, _) in cases {
        let text = kernel(from, operation, "i1").replace("v9: ptr", "v10: i32 = zext v8\nv9: ptr");
        let text = text.replace("store v9, v8", "store v9, v10");
        let module = assay_ssa::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let verdict = judge::judge(&module, "k", 1);
        let same = matches!(verdict, Verdict::Same { finished, .. } if finished > 0);
        assert!(same, "{operation} on {from}: {verdict:?}");
    }
}

#[test]
fn lanes_combine_in_the_same_order() {
    let mut texts = Vec::new();
    let names = ["simd_sum", "simd_product", "simd_prefix_exclusive_sum"];
    let more = ["simd_prefix_inclusive_sum", "simd_prefix_inclusive_product"];
    for ty in ["i8", "i16", "i32", "i64", "f32", "f16", "bf16"] {
        for name in names.into_iter().chain(more) {
            texts.push((ty, format!("call {name}(v5)")));
        }
        for name in ["simd_min", "simd_max"] {
            let sign = if ty.starts_with('i') { ".s" } else { "" };
            texts.push((ty, format!("call {name}{sign}(v5)")));
        }
        for shuffle in ["simd_shuffle_xor", "simd_shuffle", "simd_shuffle_rotate_up"] {
            texts.push((ty, format!("call {shuffle}(v5, i16 5)")));
        }
    }
    let cases: Vec<(&str, &str, &str)> = texts
        .iter()
        .map(|(ty, operation)| (*ty, operation.as_str(), *ty))
        .collect();
    check(&cases);
}

/// The instructions of the loop that a backward jump closes.
fn loop_of(program: &Program) -> Vec<Op> {
    let known: Vec<(u64, Op, i32)> = program
        .walk()
        .filter_map(|(offset, item)| match item {
            Item::Known(insn) => Some((offset, insn.op(), insn.branch_distance().unwrap_or(0))),
            _ => None,
        })
        .collect();
    let Some(&(end, _, distance)) = known.iter().find(|(_, op, _)| *op == Op::JmpExecAny) else {
        return Vec::new();
    };
    let start = end.saturating_add_signed(i64::from(distance));
    let inside = known.iter().filter(|(at, _, _)| (start..=end).contains(at));
    inside.map(|(_, op, _)| *op).collect()
}

/// The inner loop of a matrix product: two loads and one wait, nothing but index
/// arithmetic, the sum, the counter and the jump around them.
#[test]
fn the_loop_of_a_naive_matrix_product_has_nine_instructions() {
    let text = "module \"m\"\n\
        kernel \"k\" f0 {\n\
            \"C\" buffer 0 param 0 space device read_write type \"float\" size 4 align 4 noalias\n\
            \"A\" buffer 1 param 1 space device read type \"float\" size 4 align 4 noalias\n\
            \"B\" buffer 2 param 2 space device read type \"float\" size 4 align 4 noalias\n\
            \"K\" buffer 3 param 3 space constant read type \"uint\" size 4 align 4 buffer_size 4 noalias\n\
            \"g\" builtin thread_position_in_grid type \"uint2\"\n\
        }\n\
        function f0 \"k\" -> void convergent {\n\
        b0(v0: ptr.device, v1: ptr.device, v2: ptr.device, v3: ptr.constant):\n\
            v6: v3i32 = call thread_position_in_grid()\n\
            v7: i32 = extract v6, i32 0\n\
            v8: i32 = extract v6, i32 1\n\
            v14: i32 = load v3 align 4\n\
            v15: i1 = icmp eq v14, i32 0\n\
            branch v15, b3(f32 0.0), b2\n\
        b2:\n\
            v16: i32 = mul v14, v8\n\
            jump b4(i32 0, f32 0.0)\n\
        b3(v17: f32):\n\
            v18: i32 = mul v14, v8\n\
            v19: i32 = add v18, v7\n\
            v20: ptr.device = ptr_add nuw inbounds v0 + zext v19 * 4\n\
            store v20, v17 align 4\n\
            return\n\
        b4(v22: i32, v23: f32):\n\
            v24: i32 = add v16, v22\n\
            v26: ptr.device = ptr_add nuw inbounds v1 + zext v24 * 4\n\
            v27: f32 = load v26 align 4\n\
            v28: i32 = mul v22, v14\n\
            v29: i32 = add v28, v7\n\
            v31: ptr.device = ptr_add nuw inbounds v2 + zext v29 * 4\n\
            v32: f32 = load v31 align 4\n\
            v33: f32 = fma v32, v27, v23\n\
            v34: i32 = add nuw v22, i32 1\n\
            v35: i1 = icmp eq v34, v14\n\
            branch v35, b3(v33), b4(v34, v33)\n\
        }\n";
    let module = assay_ssa::parse(text).expect("parses");
    let program = assay_codegen::generate(&module, "k", &Default::default()).expect("generates");
    let inside = loop_of(&program);
    let count = |wanted: Op| inside.iter().filter(|op| **op == wanted).count();
    assert!(inside.len() <= 9 && !inside.is_empty(), "{inside:?}");
    assert_eq!(
        (count(Op::DeviceLoad), count(Op::Wait)),
        (2, 1),
        "{inside:?}"
    );
}

/// Of a division by a size, the main program only multiplies.
#[test]
fn the_reciprocal_of_a_size_is_found_before_the_dispatch() {
    let text = "module \"m\"\n\
        kernel \"k\" f0 {\n\
            \"o\" buffer 0 param 0 space device read_write type \"uint\" size 4 align 4 noalias\n\
            \"n\" buffer 1 param 1 space constant read type \"uint\" size 4 align 4 buffer_size 4 noalias\n\
            \"i\" builtin thread_position_in_grid type \"uint\"\n\
        }\n\
        function f0 \"k\" -> void convergent {\n\
        b0(v0: ptr.device, v1: ptr.constant):\n\
            v2: i32 = call thread_position_in_grid()\n\
            v3: i32 = load v1 align 4\n\
            v4: i32 = mul v2, i32 40503\n\
            v5: i32 = udiv v4, v3\n\
            v6: i32 = srem v4, v3\n\
            v7: i32 = xor v5, v6\n\
            v8: ptr.device = ptr_add nuw inbounds v0 + zext v2 * 4\n\
            store v8, v7 align 4\n\
            return\n\
        }\n";
    let module = assay_ssa::parse(text).expect("parses");
    let program = assay_codegen::generate(&module, "k", &Default::default()).expect("generates");
    let ops = |program: &Program| -> Vec<Op> {
        let items = program.walk();
        items
            .filter_map(|(_, item)| item.known().map(|insn| insn.op()))
            .collect()
    };
    assert!(!ops(&program).contains(&Op::Rcp), "{:?}", ops(&program));
    for seed in 1..4 {
        let verdict = judge::judge(&module, "k", seed);
        assert!(
            matches!(verdict, Verdict::Same { finished, .. } if finished > 0),
            "{verdict:?}"
        );
    }
}

/// Turns of a loop that is unrolled by its hint load neighbours in threadgroup memory together, whether their index may wrap
/// or not: addresses there are made modulo 2¹⁶.
#[test]
fn unrolled_turns_load_their_neighbours_together() {
    let text = "module \"m\"\n\
        kernel \"k\" f0 {\n\
            \"o\" buffer 0 param 0 space device read_write type \"float\" size 4 align 4 noalias\n\
            \"n\" buffer 1 param 1 space constant read type \"uint\" size 4 align 4 buffer_size 4 noalias\n\
            \"t\" threadgroup 0 param 2 space threadgroup\n\
            \"i\" builtin thread_position_in_grid type \"uint\"\n\
        }\n\
        function f0 \"k\" -> void {\n\
        b0(v0: ptr.device, v1: ptr.constant, v2: ptr.threadgroup):\n\
            v3: i32 = call thread_position_in_grid()\n\
            v4: i32 = load v1 align 4\n\
            jump b1(i32 0, v3, f32 0.0)\n\
        b1(v5: i32, v6: i32, v7: f32) unroll_count 4:\n\
            v8: ptr.threadgroup = ptr_add inbounds v2 + zext v6 * 4\n\
            v9: f32 = load v8 align 4\n\
            v10: f32 = fadd v7, v9\n\
            v11: i32 = add v5, i32 1\n\
            v12: i32 = add v6, i32 1\n\
            v13: i1 = icmp ult v11, v4\n\
            branch v13, b1(v11, v12, v10), b2\n\
        b2:\n\
            v14: ptr.device = ptr_add nuw inbounds v0 + zext v3 * 4\n\
            store v14, v10 align 4\n\
            return\n\
        }\n";
    let mut module = assay_ssa::parse(text).expect("parses");
    assay_opt::pipeline::optimize(&mut module).expect("optimises");
    let program = assay_codegen::generate(&module, "k", &Default::default()).expect("generates");
    let items = program.walk();
    let ops: Vec<Op> = items
        .filter_map(|(_, item)| item.known().map(|insn| insn.op()))
        .collect();
    let count = |wanted: Op| ops.iter().filter(|op| **op == wanted).count();
    // One for four turns, one in the rest.
    assert_eq!(count(Op::ThreadgroupLoad), 2, "{ops:?}");
}

/// A way that ends in `unreachable` comes from nowhere to what follows: it has no values for it.
#[test]
fn ways_that_end_in_unreachable_are_taken_out() {
    let text = "module \"m\"\n\
        kernel \"k\" f0 {\n\
            \"o\" buffer 0 param 0 space device read_write type \"uint\" size 4 align 4 noalias\n\
            \"i\" builtin thread_position_in_grid type \"uint\"\n\
        }\n\
        function f0 \"k\" -> void {\n\
        b0(v0: ptr.device):\n\
            v1: i32 = call thread_position_in_grid()\n\
            v2: i1 = icmp ult v1, i32 32\n\
            v3: i1 = icmp ult v1, i32 4096\n\
            branch v2, b1, b5(v1)\n\
        b1:\n\
            branch v3, b5(i32 7), b2\n\
        b2:\n\
            branch v2, b3, b4\n\
        b3:\n\
            store v0, v1 align 4\n\
            unreachable\n\
        b4:\n\
            unreachable\n\
        b5(v4: i32):\n\
            v5: ptr.device = ptr_add nuw inbounds v0 + zext v1 * 4\n\
            store v5, v4 align 4\n\
            return\n\
        }\n";
    let module = assay_ssa::parse(text).expect("parses");
    let lowered = assay_codegen::lower::lower(&module, "k", &Default::default()).expect("lowers");
    assert_eq!(lowered.main.verify(), Ok(()));
    let insts = || {
        lowered
            .main
            .blocks
            .iter()
            .flat_map(|(_, block)| &block.insts)
    };
    let count = |wanted: Op| {
        let is = |inst: &&Inst| matches!(inst.opcode, Opcode::Machine { op, .. } if op == wanted);
        insts().filter(is).count()
    };
    assert_eq!(count(Op::DeviceStore), 1, "{}", lowered.main);
    assert_eq!(count(Op::IfIcmp), 1, "{}", lowered.main);
    match judge::judge(&module, "k", 1) {
        Verdict::Same { finished, .. } if finished > 0 => {}
        verdict => panic!("{verdict:?}"),
    }
    // A kernel that always ends there still has an end.
    let text = text
        .replace("b1:\n", "b1:\nunreachable\nb6:\n")
        .replace("return\n", "unreachable\n");
    let module = assay_ssa::parse(&text).expect("parses");
    let lowered = assay_codegen::lower::lower(&module, "k", &Default::default()).expect("lowers");
    assert_eq!(lowered.main.verify(), Ok(()));
}
