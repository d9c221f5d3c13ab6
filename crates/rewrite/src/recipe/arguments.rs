//! Whole numbers that a rewritten kernel needs: found among its arguments by their formula, or added to them.

use super::geometry::{Number, plain_number};
use super::{Geometry, Refusal, RefusalKind};
use assay_launch::Formula;
use assay_ssa::{
    Access, Argument, ArgumentAccess, Binding, Block, Builder, Flags, Function, Kernel, Space,
    Type, Value,
};

/// The most buffers a kernel has.
const MOST_BUFFERS: u32 = 31;

/// A number by its formula, read at the end of what the entry block has.
pub(super) fn number(
    function: &mut Function,
    kernel: &mut Kernel,
    geometry: &mut Geometry,
    formula: &Formula,
    name: &str,
) -> Result<Value, Refusal> {
    let malformed = || Refusal::new(RefusalKind::Program, "the function has no entry");
    let entry = function.entry().ok_or_else(malformed)?;
    if let Some(found) = known(function, kernel, geometry, entry, formula) {
        return Ok(found);
    }
    let used = kernel
        .arguments
        .iter()
        .filter_map(|argument| match argument.binding {
            Binding::Buffer(index) => Some(index + 1),
            _ => None,
        });
    let bound = geometry.numbers.iter().map(|number| number.buffer + 1);
    let index = used.chain(bound).max().unwrap_or(0);
    if index >= MOST_BUFFERS {
        return Err(Refusal::new(
            RefusalKind::Limit,
            "there is no buffer left for the size of the grid",
        ));
    }
    let param = function.params(entry).len() as u32;
    let pointer = function.add_param(entry, Type::pointer(Space::Constant));
    let mut argument = Argument::new(&fresh(kernel, name), Binding::Buffer(index));
    argument.param = Some(param);
    argument.space = Some(Space::Constant);
    argument.access = ArgumentAccess::Read;
    argument.type_name = "uint".to_owned();
    (argument.size, argument.align, argument.buffer_size) = (4, 4, Some(4));
    kernel.arguments.push(argument);
    geometry.numbers.push(Number {
        buffer: index,
        offset: 0,
        value: formula.clone(),
        added: true,
    });
    Ok(read(function, entry, pointer, 0))
}

/// The argument that has the value of a formula.
fn known(
    function: &mut Function,
    kernel: &Kernel,
    geometry: &Geometry,
    entry: Block,
    formula: &Formula,
) -> Option<Value> {
    let same = |number: &&Number| {
        number.value.text() == formula.text()
            || plain_number(formula).is_some_and(|n| plain_number(&number.value) == Some(n))
    };
    for number in geometry.numbers.iter().filter(same) {
        let argument = kernel.arguments.iter().find(|argument| {
            let place = argument.binding == Binding::Buffer(number.buffer);
            let fits = argument
                .buffer_size
                .is_some_and(|size| size >= number.offset + 4);
            place && fits && argument.condition.is_none()
        });
        let constant = argument.filter(|argument| argument.space == Some(Space::Constant));
        let param = constant.and_then(|argument| argument.param);
        let pointer = param.and_then(|param| function.params(entry).get(param as usize).copied());
        if let Some(pointer) = pointer {
            return Some(read(function, entry, pointer, number.offset));
        }
    }
    None
}

fn read(function: &mut Function, entry: Block, pointer: Value, offset: u32) -> Value {
    let mut builder = Builder::new(function);
    builder.switch_to(entry);
    let place = if offset == 0 {
        pointer
    } else {
        builder.ptr_add(pointer, None, 1, i64::from(offset), Flags::INBOUNDS)
    };
    let access = Access {
        invariant: true,
        ..Access::aligned(4)
    };
    builder.load(Type::I32, place, access)
}

fn fresh(kernel: &Kernel, name: &str) -> String {
    let taken = |name: &str| {
        kernel
            .arguments
            .iter()
            .any(|argument| argument.name == name)
    };
    let mut candidate = name.to_owned();
    let mut count = 1;
    while taken(&candidate) {
        count += 1;
        candidate = format!("{name}{count}");
    }
    candidate
}
