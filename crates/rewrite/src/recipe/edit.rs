//! Small edits of a function: jumps, branches, positions.

use assay_ssa::{Block, Builder, Builtin, Function, InstData, Scalar, Type, Value};

/// Ends a block with a jump.
pub(super) fn jump(function: &mut Function, from: Block, to: Block, args: &[Value]) {
    let target = function.block_call(to, args);
    let inst = function.make_inst(InstData::Jump { target }, Type::VOID, None);
    function.append(from, inst);
}

/// Ends a block with a branch to blocks without parameters.
pub(super) fn branch(
    function: &mut Function,
    from: Block,
    cond: Value,
    then: Block,
    otherwise: Block,
) {
    let then = function.block_call(then, &[]);
    let otherwise = function.block_call(otherwise, &[]);
    let data = InstData::Branch {
        cond,
        then,
        otherwise,
    };
    let inst = function.make_inst(data, Type::VOID, None);
    function.append(from, inst);
}

/// A position or size along x, read at the end of what a block has.
pub(super) fn system(function: &mut Function, block: Block, builtin: Builtin) -> Value {
    let vector = Type::vector(Scalar::I32, 3);
    let zero = function.zero(vector);
    let mut builder = Builder::new(function);
    builder.switch_to(block);
    let read = builder.builtin(builtin.call(), &[], vector);
    builder.extract_lane(read.unwrap_or(zero), 0)
}
