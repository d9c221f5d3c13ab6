//! Small edits of a function: jumps, branches, positions.

use assay_ssa::analysis::{Cfg, Dominators, Loops};
use assay_ssa::{Block, BlockCall, Builder, Builtin, Function, InstData, Scalar, Type, Value};

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

/// Gives loops that one conditional branch enters, as where one loop follows another, a block of their own before them.
pub(super) fn add_preheaders(function: &mut Function) {
    let cfg = Cfg::new(function);
    let dominators = Dominators::new(&cfg, function);
    let loops = Loops::new(&cfg, &dominators, function);
    let open = loops.iter().filter(|(_, found)| found.preheader.is_none());
    let open: Vec<(Block, Vec<Block>)> = open
        .map(|(_, found)| (found.header, found.blocks.to_vec()))
        .collect();
    for (header, inside) in open {
        let mut entries = Vec::new();
        for &block in function.blocks() {
            if let Some(last) = function
                .terminator(block)
                .filter(|_| !inside.contains(&block))
            {
                function.for_each_target(last, |call| {
                    entries.extend((call.block == header).then_some((last, call)));
                });
            }
        }
        let &[(last, call)] = entries.as_slice() else {
            continue;
        };
        let InstData::Branch {
            cond,
            then,
            otherwise,
        } = *function.inst(last)
        else {
            continue;
        };
        let before = function.add_block();
        let args = function.list_values(call.args).to_vec();
        jump(function, before, header, &args);
        let moved = function.block_call(before, &[]);
        let other = |target: BlockCall| {
            if target.block == header {
                moved
            } else {
                target
            }
        };
        *function.inst_mut(last) = InstData::Branch {
            cond,
            then: other(then),
            otherwise: other(otherwise),
        };
    }
}
