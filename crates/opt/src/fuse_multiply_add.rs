//! Decides which multiplications and additions become one fused operation.
//!
//! `a * b + c` is fused when the source allows it: both instructions carry the
//! `contract` flag, or the front end left the choice open (`muladd`). The product must
//! have no other use, or fusing would only add work. This is the one place that decides;
//! executor and code generator run what it leaves.

use assay_ssa::analysis::Cfg;
use assay_ssa::{BinaryOp, Builder, Flags, Function, InstData, Module, TernaryOp, UnaryOp, Value};

/// Fuses what may be fused.
pub fn fuse_multiply_add(_: &Module, function: &mut Function) -> bool {
    let mut uses = function.use_counts();
    let mut changed = false;
    for &block in Cfg::new(function).order() {
        for inst in function.take_insts(block) {
            let fused = match *function.inst(inst) {
                InstData::Ternary {
                    op: TernaryOp::MulAdd,
                    flags,
                    args,
                } => Some(Fused {
                    args,
                    flags,
                    negate: None,
                }),
                InstData::Binary { op, flags, args } if flags.has(Flags::CONTRACT) => {
                    let single = |value: Value| uses[value] == 1;
                    fusable(function, op, flags, args, single)
                }
                _ => None,
            };
            if let Some(fused) = fused {
                let args = fused.build(function, inst, block);
                args.iter().for_each(|&value| uses[value] += 1);
                changed = true;
            }
            function.append(block, inst);
        }
    }
    changed
}

/// Operands of a fused operation, one of which may have to be negated first.
struct Fused {
    args: [Value; 3],
    flags: Flags,
    negate: Option<usize>,
}

impl Fused {
    fn build(
        self,
        function: &mut Function,
        inst: assay_ssa::Inst,
        block: assay_ssa::Block,
    ) -> [Value; 3] {
        let Fused {
            mut args,
            flags,
            negate,
        } = self;
        if let Some(position) = negate {
            let loc = function.loc(inst);
            let mut builder = Builder::new(function);
            builder.set_loc(loc);
            builder.switch_to(block);
            args[position] = builder.unary(UnaryOp::FNeg, args[position], flags);
        }
        *function.inst_mut(inst) = InstData::Ternary {
            op: TernaryOp::Fma,
            flags,
            args,
        };
        args
    }
}

fn fusable(
    function: &Function,
    op: BinaryOp,
    flags: Flags,
    [x, y]: [Value; 2],
    single_use: impl Fn(Value) -> bool,
) -> Option<Fused> {
    let product = |value: Value| match function.def_data(value) {
        Some(&InstData::Binary {
            op: BinaryOp::FMul,
            flags: of_product,
            args,
        }) if of_product.has(Flags::CONTRACT) && single_use(value) => {
            Some((args, flags.and(of_product)))
        }
        _ => None,
    };
    match op {
        BinaryOp::FAdd => {
            let (([a, b], flags), c) = product(x)
                .map(|found| (found, y))
                .or_else(|| product(y).map(|found| (found, x)))?;
            Some(Fused {
                args: [a, b, c],
                flags,
                negate: None,
            })
        }
        BinaryOp::FSub => match (product(x), product(y)) {
            (Some(([a, b], flags)), _) => Some(Fused {
                args: [a, b, y],
                flags,
                negate: Some(2),
            }),
            (None, Some(([a, b], flags))) => Some(Fused {
                args: [a, b, x],
                flags,
                negate: Some(0),
            }),
            _ => None,
        },
        _ => None,
    }
}
