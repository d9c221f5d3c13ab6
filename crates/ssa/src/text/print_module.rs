//! Writing the text form of a module: everything but the bodies of functions.

use super::print::{print_function, quoted};
use crate::aggregate::Aggregate;
use crate::kernel::{Argument, Binding, Kernel};
use crate::module::{GlobalData, Module};
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
        if let Some(function) = module.locations.function_name(location) {
            let _ = write!(out, " in {}", quoted(function));
        }
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
