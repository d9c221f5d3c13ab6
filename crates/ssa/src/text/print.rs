//! Writing the text form.
//!
//! Values and blocks are numbered in the order they are written, whatever their ids, so the text of a function does
//! not depend on how it was built.

use crate::function::{Function, LoopHint, ValueDef};
use crate::id::{Id, IdMap};
use crate::inst::{
    Block, BlockCall, Callee, FunctionId, IndexExtend, Inst, InstData, UNDEF_LANE, Value, ValueList,
};
use crate::kernel::{Argument, Binding, Kernel};
use crate::memory::Access;
use crate::module::{GlobalData, Module};
use crate::ty::{Aggregate, Scalar, Type, TypeKind};
use std::fmt::Write as _;

/// The text of a module.
pub fn print(module: &Module) -> String {
    let mut out = String::new();
    print_header(module, &mut out);
    for kernel in &module.kernels {
        print_kernel(kernel, &mut out);
    }
    for id in module.functions.ids() {
        out.push('\n');
        out.push_str(&print_function(module, id));
    }
    out
}

fn print_header(module: &Module, out: &mut String) {
    let _ = write!(out, "module {}", quoted(&module.name));
    if let Some(fast) = module.float_mode.fast_math {
        let _ = write!(out, " fast_math {}", if fast { "on" } else { "off" });
    }
    if let Some(flush) = module.float_mode.flush_denormals {
        let _ = write!(out, " denormals {}", if flush { "flush" } else { "keep" });
    }
    out.push('\n');
    for (id, name) in module.locations.files() {
        let _ = writeln!(out, "{id} = {}", quoted(name));
    }
    for (id, location) in module.locations.iter() {
        let _ = write!(
            out,
            "{id} = {}:{}:{}",
            location.file, location.line, location.column
        );
        if let Some(at) = location.inlined_at {
            let _ = write!(out, " at {at}");
        }
        out.push('\n');
    }
    for (id, aggregate) in module.types.iter() {
        let _ = write!(out, "{id} = ");
        match aggregate {
            Aggregate::Array {
                element,
                len,
                stride,
            } => {
                let _ = writeln!(out, "array {element} x {len} stride {stride}");
            }
            Aggregate::Struct {
                fields,
                size,
                align,
            } => {
                out.push_str("struct");
                for field in fields {
                    let _ = write!(out, " {} at {}", field.ty, field.offset);
                }
                let _ = writeln!(out, " size {size} align {align}");
            }
        }
    }
    for (id, global) in module.globals.iter() {
        let _ = write!(
            out,
            "{id} = {} {} {} align {}",
            quoted(&global.name),
            global.space.name(),
            global.ty,
            global.align
        );
        match &global.data {
            GlobalData::Undefined => out.push_str(" undef\n"),
            GlobalData::Zero => out.push_str(" zero\n"),
            GlobalData::Bytes(bytes) => {
                out.push_str(" bytes \"");
                for byte in bytes {
                    let _ = write!(out, "{byte:02x}");
                }
                out.push_str("\"\n");
            }
        }
    }
    for (id, constant) in module.function_constants.iter() {
        let _ = write!(
            out,
            "{id} = {} {} {}",
            constant.index,
            quoted(&constant.name),
            constant.ty
        );
        if let Some(default) = &constant.default {
            out.push_str(" default");
            for bits in default {
                let _ = write!(out, " {bits:#x}");
            }
        }
        if constant.required {
            out.push_str(" required");
        }
        out.push('\n');
    }
}

fn print_kernel(kernel: &Kernel, out: &mut String) {
    let _ = write!(out, "\nkernel {} {}", quoted(&kernel.name), kernel.function);
    if let Some(threads) = kernel.max_threads {
        let _ = write!(out, " max_threads {threads}");
    }
    out.push_str(" {\n");
    for argument in &kernel.arguments {
        print_argument(argument, out);
    }
    out.push_str("}\n");
}

fn print_argument(argument: &Argument, out: &mut String) {
    let _ = write!(out, "    {} ", quoted(&argument.name));
    let _ = match argument.binding {
        Binding::Buffer(index) => write!(out, "buffer {index}"),
        Binding::Threadgroup(index) => write!(out, "threadgroup {index}"),
        Binding::Texture(index) => write!(out, "texture {index}"),
        Binding::Sampler(index) => write!(out, "sampler {index}"),
        Binding::StageIn(index) => write!(out, "stage_in {index}"),
        Binding::Builtin(builtin) => write!(out, "builtin {}", builtin.info().name),
        Binding::Other => write!(out, "other"),
    };
    if let Some(param) = argument.param {
        let _ = write!(out, " param {param}");
    }
    if let Some(space) = argument.space {
        let _ = write!(out, " space {}", space.name());
    }
    if argument.access != crate::ArgumentAccess::Unknown {
        let _ = write!(out, " {}", argument.access.name());
    }
    if !argument.type_name.is_empty() {
        let _ = write!(out, " type {}", quoted(&argument.type_name));
    }
    if argument.size != 0 || argument.align != 0 {
        let _ = write!(out, " size {} align {}", argument.size, argument.align);
    }
    if let Some(size) = argument.buffer_size {
        let _ = write!(out, " buffer_size {size}");
    }
    if argument.no_alias {
        out.push_str(" noalias");
    }
    if argument.unused {
        out.push_str(" unused");
    }
    if let Some(condition) = &argument.condition {
        let _ = write!(out, " if {}", quoted(condition));
    }
    out.push('\n');
}

/// The text of one function; empty if there is none of this id.
pub fn print_function(module: &Module, id: FunctionId) -> String {
    let Some(function) = module.functions.get(id) else {
        return String::new();
    };
    let printer = Printer::new(Some(module), function);
    let mut out = String::with_capacity(function.num_insts() * 32);
    let _ = write!(
        out,
        "function {id} {} -> {}",
        quoted(&function.name),
        function.ret
    );
    for (set, word) in [
        (function.attributes.convergent, " convergent"),
        (function.attributes.inline_hint, " inline"),
        (function.attributes.no_inline, " noinline"),
    ] {
        if set {
            out.push_str(word);
        }
    }
    out.push_str(" {\n");
    for (id, set) in function.alias_sets() {
        let _ = writeln!(out, "{id} = {:#x} {:#x}", set.scopes, set.noalias);
    }
    if !function.alias_domains.is_empty() {
        out.push_str("domains");
        for domain in &function.alias_domains {
            let _ = write!(out, " {domain:#x}");
        }
        out.push('\n');
    }
    for &block in function.blocks() {
        printer.block(block, &mut out);
    }
    out.push_str("}\n");
    out
}

/// One instruction, in the numbering of the whole function.
pub fn print_inst(module: &Module, function: &Function, inst: Inst) -> String {
    let mut out = String::new();
    Printer::new(Some(module), function).inst(inst, &mut out);
    out
}

/// A value's name in the text of the function.
pub(crate) fn value_name(function: &Function, value: Value) -> String {
    let mut out = String::new();
    Printer::new(None, function).value(value, &mut out);
    out
}

/// A block's name in the text of the function.
pub(crate) fn block_name(function: &Function, block: Block) -> String {
    let position = function.blocks().iter().position(|&other| other == block);
    position.map_or_else(
        || format!("{block} (not in the function)"),
        |position| format!("b{position}"),
    )
}

struct Printer<'a> {
    module: Option<&'a Module>,
    function: &'a Function,
    values: IdMap<Value, u32>,
    blocks: IdMap<Block, u32>,
}

const UNNUMBERED: u32 = u32::MAX;

impl<'a> Printer<'a> {
    fn new(module: Option<&'a Module>, function: &'a Function) -> Self {
        let mut values = IdMap::with_len(UNNUMBERED, function.num_values());
        let mut blocks = IdMap::with_len(UNNUMBERED, function.num_blocks());
        let mut next = 0;
        for (position, &block) in function.blocks().iter().enumerate() {
            if block.index() >= function.num_blocks() {
                continue;
            }
            blocks[block] = position as u32;
            let results = function.insts(block).iter().filter_map(|&inst| {
                if inst.index() < function.num_insts() {
                    function.result(inst)
                } else {
                    None
                }
            });
            for value in function.params(block).iter().copied().chain(results) {
                values[value] = next;
                next += 1;
            }
        }
        Self {
            module,
            function,
            values,
            blocks,
        }
    }

    fn block(&self, block: Block, out: &mut String) {
        let function = self.function;
        let _ = write!(out, "b{}", self.blocks[block]);
        let params = function.params(block);
        for (index, &param) in params.iter().enumerate() {
            out.push_str(if index == 0 { "(" } else { ", " });
            self.value(param, out);
            let _ = write!(out, ": {}", function.ty(param));
        }
        if !params.is_empty() {
            out.push(')');
        }
        let _ = match function.block(block).loop_hint {
            LoopHint::None => Ok(()),
            LoopHint::NoUnroll => write!(out, " no_unroll"),
            LoopHint::Unroll => write!(out, " unroll"),
            LoopHint::UnrollFull => write!(out, " unroll_full"),
            LoopHint::UnrollCount(count) => write!(out, " unroll_count {count}"),
        };
        out.push_str(":\n");
        for &inst in function.insts(block) {
            out.push_str("    ");
            self.inst(inst, out);
            out.push('\n');
        }
    }

    fn value(&self, value: Value, out: &mut String) {
        let function = self.function;
        let Some(data) = function.try_value(value) else {
            let _ = write!(out, "v?{}", value.index());
            return;
        };
        match data.def {
            ValueDef::Result(_) | ValueDef::Param(..) => match self.values[value] {
                UNNUMBERED => {
                    let _ = write!(out, "v?{}", value.index());
                }
                number => {
                    let _ = write!(out, "v{number}");
                }
            },
            ValueDef::Const(bits) => {
                let _ = write!(out, "{} ", data.ty);
                constant(data.ty, bits, out);
            }
            ValueDef::ConstVector(elements) => {
                let _ = write!(out, "{} [", data.ty);
                let scalar = Type::scalar(data.ty.element().unwrap_or(Scalar::I32));
                for (index, &bits) in function.elements(elements).iter().enumerate() {
                    if index > 0 {
                        out.push_str(", ");
                    }
                    constant(scalar, bits, out);
                }
                out.push(']');
            }
            ValueDef::Zero => {
                let _ = write!(out, "{} zero", data.ty);
            }
            ValueDef::Undef => {
                let _ = write!(out, "{} undef", data.ty);
            }
            ValueDef::Global(id) => {
                let _ = write!(out, "{} {id}", data.ty);
            }
            ValueDef::FunctionConstant(id) => {
                let _ = write!(out, "{} {id}", data.ty);
            }
        }
    }

    fn values(&self, values: &[Value], out: &mut String) {
        for (index, &value) in values.iter().enumerate() {
            out.push_str(if index == 0 { " " } else { ", " });
            self.value(value, out);
        }
    }

    fn call(&self, call: BlockCall, out: &mut String) {
        let _ = write!(out, "b{}", self.blocks[call.block]);
        self.arguments(call.args, false, out);
    }

    fn arguments(&self, list: ValueList, always: bool, out: &mut String) {
        let args = self.function.list_values(list);
        if args.is_empty() && !always {
            return;
        }
        out.push('(');
        for (index, &value) in args.iter().enumerate() {
            if index > 0 {
                out.push_str(", ");
            }
            self.value(value, out);
        }
        out.push(')');
    }

    fn inst(&self, inst: Inst, out: &mut String) {
        let function = self.function;
        if let Some(result) = function.result(inst) {
            self.value(result, out);
            let _ = write!(out, ": {} = ", function.ty(result));
        }
        self.operation(inst, out);
        if let Some(loc) = function.loc(inst) {
            let _ = write!(out, " {loc}");
        }
    }

    fn operation(&self, inst: Inst, out: &mut String) {
        let function = self.function;
        let data = function.inst(inst);
        match *data {
            InstData::Unary { op, flags, arg } => {
                let _ = write!(out, "{}{flags}", op.name());
                self.values(&[arg], out);
            }
            InstData::Binary { op, flags, args } => {
                let _ = write!(out, "{}{flags}", op.name());
                self.values(&args, out);
            }
            InstData::Ternary { op, flags, args } => {
                let _ = write!(out, "{}{flags}", op.name());
                self.values(&args, out);
            }
            InstData::IntCompare { cond, flags, args } => {
                let _ = write!(out, "icmp{flags} {}", cond.name());
                self.values(&args, out);
            }
            InstData::FloatCompare { cond, flags, args } => {
                let _ = write!(out, "fcmp{flags} {}", cond.name());
                self.values(&args, out);
            }
            InstData::Select { flags, cond, args } => {
                let _ = write!(out, "select{flags}");
                self.values(&[cond, args[0], args[1]], out);
            }
            InstData::Cast { op, flags, arg } => {
                let _ = write!(out, "{}{flags}", op.name());
                self.values(&[arg], out);
            }
            InstData::Extract { vector, index } => self.named("extract", &[vector, index], out),
            InstData::Insert {
                vector,
                element,
                index,
            } => {
                self.named("insert", &[vector, element, index], out);
            }
            InstData::Shuffle { args, mask } => {
                self.named("shuffle", &args, out);
                out.push_str(", ");
                self.indices(function.indices(mask), out);
            }
            InstData::Construct { args } => {
                self.named("construct", function.list_values(args), out);
            }
            InstData::ExtractValue { aggregate, path } => {
                self.named("extract_value", &[aggregate], out);
                out.push_str(", ");
                self.indices(function.indices(path), out);
            }
            InstData::InsertValue {
                aggregate,
                element,
                path,
            } => {
                self.named("insert_value", &[aggregate, element], out);
                out.push_str(", ");
                self.indices(function.indices(path), out);
            }
            InstData::Call {
                callee,
                args,
                flags,
            } => {
                let _ = write!(out, "call{flags} ");
                self.callee(callee, out);
                self.arguments(args, true, out);
            }
            _ if data.is_terminator() => self.terminator(data, out),
            _ => self.memory(data, out),
        }
    }

    fn named(&self, name: &str, values: &[Value], out: &mut String) {
        out.push_str(name);
        self.values(values, out);
    }

    fn indices(&self, indices: &[u32], out: &mut String) {
        out.push('[');
        for (position, &index) in indices.iter().enumerate() {
            if position > 0 {
                out.push_str(", ");
            }
            if index == UNDEF_LANE {
                out.push('_');
            } else {
                let _ = write!(out, "{index}");
            }
        }
        out.push(']');
    }

    fn callee(&self, callee: Callee, out: &mut String) {
        let _ = match callee {
            Callee::Function(id) => write!(out, "{id}"),
            Callee::Builtin(call) => write!(out, "{call}"),
            Callee::Unknown(symbol) => {
                let name = self.module.and_then(|module| module.symbols.get(symbol));
                write!(out, "{}", quoted(name.map_or("?", String::as_str)))
            }
        };
    }

    fn memory(&self, data: &InstData, out: &mut String) {
        match *data {
            InstData::Alloca { ty, align } => {
                let _ = write!(out, "alloca {ty} align {align}");
            }
            InstData::Load { ptr, access: how } => {
                self.named("load", &[ptr], out);
                access(how, out);
            }
            InstData::Store {
                ptr,
                value,
                access: how,
            } => {
                self.named("store", &[ptr, value], out);
                access(how, out);
            }
            InstData::MemCopy {
                dst,
                src,
                size,
                align_log2,
                overlap,
                alias,
            } => {
                let name = if overlap { "memmove" } else { "memcpy" };
                self.named(name, &[dst, src, size], out);
                let _ = write!(out, " align {}", 1u32 << (align_log2 & 31));
                if let Some(alias) = alias {
                    let _ = write!(out, " alias {alias}");
                }
            }
            InstData::MemSet {
                dst,
                byte,
                size,
                align_log2,
            } => {
                self.named("memset", &[dst, byte, size], out);
                let _ = write!(out, " align {}", 1u32 << (align_log2 & 31));
            }
            InstData::PtrAdd {
                base,
                index,
                scale,
                offset,
                extend,
                flags,
            } => {
                let _ = write!(out, "ptr_add{flags}");
                self.values(&[base], out);
                if let Some(index) = index {
                    out.push_str(" +");
                    if extend == IndexExtend::Zero {
                        out.push_str(" zext");
                    }
                    self.values(&[index], out);
                    let _ = write!(out, " * {scale}");
                }
                if offset != 0 || index.is_none() {
                    let sign = if offset < 0 { '-' } else { '+' };
                    let _ = write!(out, " {sign} {}", offset.unsigned_abs());
                }
            }
            InstData::AtomicRmw {
                op,
                ptr,
                value,
                access: how,
            } => {
                let _ = write!(out, "atomic_{}", op.name());
                self.values(&[ptr, value], out);
                access(how, out);
            }
            InstData::AtomicCompareExchange {
                ptr,
                expected,
                desired,
                access: how,
            } => {
                self.named("atomic_cmpxchg", &[ptr, expected, desired], out);
                access(how, out);
            }
            _ => out.push('?'),
        }
    }

    fn terminator(&self, data: &InstData, out: &mut String) {
        match *data {
            InstData::Jump { target } => {
                out.push_str("jump ");
                self.call(target, out);
            }
            InstData::Branch {
                cond,
                then,
                otherwise,
            } => {
                self.named("branch", &[cond], out);
                out.push_str(", ");
                self.call(then, out);
                out.push_str(", ");
                self.call(otherwise, out);
            }
            InstData::Switch {
                value,
                default,
                cases,
            } => {
                self.named("switch", &[value], out);
                out.push_str(", ");
                self.call(default, out);
                for (number, call) in self.function.switch_cases(cases) {
                    let _ = write!(out, ", {number}: ");
                    self.call(*call, out);
                }
            }
            InstData::Return { value } => {
                out.push_str("return");
                self.values(value.as_slice(), out);
            }
            _ => out.push_str("unreachable"),
        }
    }
}

fn access(how: Access, out: &mut String) {
    let _ = write!(out, " align {}", how.align());
    if how.is_atomic() {
        let _ = write!(out, " {} {}", how.ordering.name(), how.scope.name());
    }
    if how.volatile {
        out.push_str(" volatile");
    }
    if how.invariant {
        out.push_str(" invariant");
    }
    if let Some(alias) = how.alias {
        let _ = write!(out, " alias {alias}");
    }
}

/// A scalar constant without its type: integers signed, floats in the shortest decimal that reads back to the same
/// bits, as bits where there is none.
fn constant(ty: Type, bits: u64, out: &mut String) {
    let _ = match ty.kind() {
        TypeKind::Scalar(Scalar::I1) => write!(out, "{}", bits != 0),
        TypeKind::Scalar(scalar) if scalar.is_int() => {
            let shift = 64 - scalar.bits();
            write!(out, "{}", (bits << shift) as i64 >> shift)
        }
        TypeKind::Scalar(scalar) => {
            let value = match scalar {
                Scalar::F16 => assay_num::f16_to_f32(bits as u16),
                Scalar::BF16 => f32::from_bits((bits as u32) << 16),
                _ => f32::from_bits(bits as u32),
            };
            if value.is_finite() {
                write!(out, "{value:?}")
            } else {
                write!(out, "{bits:#x}")
            }
        }
        TypeKind::Pointer(_) if bits == 0 => write!(out, "null"),
        _ => write!(out, "{bits:#x}"),
    };
}

/// A string in quotes; quotes, backslashes and control characters escaped.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{{{:x}}}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
