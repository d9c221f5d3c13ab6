//! A recorded program on a modelled GPU.

use super::plain;
use crate::analysis::document::*;
use crate::render::{part_of_chip, percent};
use assay_report::number::{grouped, nanoseconds};
use std::fmt::Write;

/// Kernels in the table.
const KERNELS: usize = 20;

pub(super) fn program(out: &mut String, a: &Analysis) {
    let Some(program) = &a.program else { return };
    let ms = |value: f64| nanoseconds(value * 1e6);
    let _ = writeln!(
        out,
        "\n## GPU time (modelled)\n\n**{}** on {} ({} to {}): kernels {}, gaps {}, copies {}; {} dispatches of {} different launches. The \
         host {}.\n",
        ms(program.gpu_ms),
        program.chip,
        ms(program.low_ms),
        ms(program.high_ms),
        ms(program.kernels_ms),
        ms(program.overhead_ms),
        ms(program.copies_ms),
        grouped(program.dispatches),
        grouped(program.launches),
        crate::render::text::host(&program.host)
    );
    out.push_str("| chip | GPU time | low | high | a step | |\n|---|--:|--:|--:|--:|---|\n");
    for chip in &program.chips {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} |",
            chip.chip,
            ms(chip.gpu_ms),
            ms(chip.low_ms),
            ms(chip.high_ms),
            chip.step_ms.map_or("–".to_owned(), ms),
            if chip.stand_in { "stand-in code" } else { "" }
        );
    }
    out.push_str("\n| kernel | share | total | count | of roof | gain at roof | limited by |\n|---|--:|--:|--:|--:|--:|---|\n");
    for kernel in program.kernels.iter().take(KERNELS) {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} |",
            plain(&kernel.kernel),
            percent(kernel.share),
            ms(kernel.total_ms),
            grouped(kernel.dispatches),
            part_of_chip(kernel.of_roof),
            part_of_chip(kernel.program_gain),
            kernel.limited_by
        );
    }
}
