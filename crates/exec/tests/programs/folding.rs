//! What the optimiser folds is what the executor computes, for every builtin it folds.

use assay_exec::{Bindings, Buffer, Grid, Limits, Options, Program};
use assay_opt::evaluate_builtin;
use assay_ssa::builtin::{Builtin, BuiltinCall, Family, Fold};
use assay_ssa::{Scalar, Type};

const SCALARS: [(Scalar, &str, u32); 6] = [
    (Scalar::F32, "f32", 4),
    (Scalar::F16, "f16", 2),
    (Scalar::BF16, "bf16", 2),
    (Scalar::I16, "i16", 2),
    (Scalar::I32, "i32", 4),
    (Scalar::I64, "i64", 8),
];

/// Some operands of a type: small, negative, odd.
fn operands(scalar: Scalar) -> [u64; 4] {
    match scalar {
        Scalar::F32 => [0.75f32, -2.5, 3.0, 0.25].map(|x| u64::from(x.to_bits())),
        Scalar::F16 => [0x3a00, 0xc100, 0x4200, 0x3400],
        Scalar::BF16 => [0x3f40, 0xc020, 0x4040, 0x3e80],
        _ => [5, scalar.mask() - 6, 3, 7],
    }
}

/// The result of a call as the executor computes it from memory; nothing if it has no such call.
fn executed(call: BuiltinCall, (_, name, size): (Scalar, &str, u32), args: &[u64]) -> Option<u64> {
    let is_test = call.info().family == Family::Relational;
    let mut body = String::new();
    let mut list = Vec::new();
    for index in 0..args.len() {
        let (pointer, value) = (10 + index, 20 + index);
        let offset = 8 + 8 * index;
        body += &format!("v{pointer}: ptr.device = ptr_add v0 + {offset}\n");
        body += &format!("v{value}: {name} = load v{pointer} align {size}\n");
        list.push(format!("v{value}"));
    }
    let list = list.join(", ");
    body += &match is_test {
        true => {
            format!("v30: i1 = call {call}({list})\nv31: i32 = zext v30\nstore v0, v31 align 4\n")
        }
        false => format!("v30: {name} = call {call}({list})\nstore v0, v30 align {size}\n"),
    };
    let text = format!(
        "module \"m\"\nkernel \"k\" f0 {{\n\"a\" buffer 0 param 0 space device\n}}\n\
         function f0 \"k\" -> void {{\nb0(v0: ptr.device):\n{body}return\n}}\n"
    );
    let module = assay_ssa::parse(&text).ok()?;
    assay_ssa::verify(&module).ok()?;
    let program = Program::compile(&module, "k", &Options::default()).ok()?;
    let mut words = vec![0u64];
    words.extend(args);
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut bindings = Bindings::new();
    bindings.set(0, Buffer::from_bytes(&bytes));
    program
        .run(&Grid::line(1, 1), &mut bindings, &Limits::default())
        .ok()?;
    let result: [u8; 8] = bindings.get(0)?.bytes().get(..8)?.try_into().ok()?;
    Some(u64::from_le_bytes(result))
}

#[test]
fn folded_builtins_agree_with_executed_ones() {
    let mut compared = 0;
    for &builtin in Builtin::ALL {
        if builtin.info().fold != Fold::Constant {
            continue;
        }
        let variants = [
            builtin.call(),
            builtin.fast(),
            builtin.signed(),
            builtin.unsigned(),
        ];
        for kind in SCALARS {
            let operands = operands(kind.0);
            for call in variants {
                for count in 1..=3 {
                    for start in 0..4 {
                        let args: Vec<u64> =
                            (0..count).map(|at| operands[(start + at) % 4]).collect();
                        let Some(folded) = evaluate_builtin::builtin(call, kind.0, &args) else {
                            continue;
                        };
                        let Some(computed) = executed(call, kind, &args) else {
                            continue;
                        };
                        assert_eq!(
                            folded,
                            computed,
                            "{call} of {args:x?} as {}",
                            Type::scalar(kind.0)
                        );
                        compared += 1;
                    }
                }
            }
        }
    }
    assert!(compared > 1000, "only {compared} calls could be compared");
}
