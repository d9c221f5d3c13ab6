//! How kernels of a source look.

use super::{ArgumentEntry, KernelEntry};
use crate::context::Context;
use assay_msl::Compiled;
use assay_msl::kernel_info::{ArgumentKind, KernelInfo};
use assay_report::table::{Column, Table};

pub(super) fn kernel_entry(kernel: &KernelInfo) -> KernelEntry {
    KernelEntry {
        name: kernel.name.clone(),
        arguments: kernel
            .arguments
            .iter()
            .map(|argument| ArgumentEntry {
                name: argument.name.clone(),
                kind: kind_word(&argument.kind).to_owned(),
                index: argument.index,
                type_name: argument.type_name.clone(),
            })
            .collect(),
    }
}

fn kind_word(kind: &ArgumentKind) -> &str {
    match kind {
        ArgumentKind::Buffer => "buffer",
        ArgumentKind::Threadgroup => "threadgroup",
        ArgumentKind::Texture => "texture",
        ArgumentKind::Sampler => "sampler",
        ArgumentKind::Builtin(name) => name,
        ArgumentKind::Other => "other",
    }
}

/// The kernels of a source and what they bind.
pub(super) fn kernels(compiled: &Compiled, context: &Context) -> String {
    let mut table = Table::new([Column::left("kernel"), Column::left("arguments").shrink()]);
    for kernel in &compiled.kernels {
        let arguments: Vec<String> = kernel
            .arguments
            .iter()
            .filter(|argument| argument.is_parameter())
            .map(|argument| {
                let index = argument
                    .index
                    .map_or("?".to_owned(), |index| index.to_string());
                let star = if argument.reference { "&" } else { "*" };
                format!(
                    "{}{index}: {}{star} {}",
                    &kind_word(&argument.kind)[..1],
                    argument.type_name,
                    argument.name
                )
            })
            .collect();
        table.row([kernel.name.clone(), arguments.join(", ")]);
    }
    table.render(context.width)
}
