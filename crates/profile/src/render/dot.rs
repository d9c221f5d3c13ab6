//! The control-flow graph for Graphviz.

use super::text::loop_name;
use crate::cfg::EdgeKind;
use crate::profile::Profile;

/// The main program's graph in Graphviz's language: a box per block with its cost, a
/// cluster per loop.
pub fn dot(profile: &Profile) -> String {
    let part = &profile.main;
    let mut out = format!(
        "digraph \"{}\" {{\n  node [shape=box, fontname=monospace];\n",
        escape(&profile.name)
    );
    let most = part
        .blocks
        .iter()
        .map(|block| block.costs.alu().known * block.weight)
        .fold(1e-9, f64::max);
    for block in &part.blocks {
        let heat = block.costs.alu().known * block.weight / most;
        let place = block
            .in_loop
            .and_then(|id| part.loops.get(id.index()))
            .map_or(String::new(), |report| {
                format!("\\n{}", loop_name(report).trim_start_matches('·'))
            });
        out += &format!(
            "  b{} [label=\"b{} {:#x}..{:#x}\\n{} instructions\\nissue {} IC {}{place}\", \
             style=filled, fillcolor=\"0.05 {:.2} 1.0\"];\n",
            block.id.0,
            block.id.0,
            block.start,
            block.end,
            block.costs.instructions,
            block.costs.issue,
            block.costs.ic,
            heat * 0.6
        );
    }
    for (id, block) in part.cfg.reached() {
        for edge in block.edges() {
            let style = match edge.kind {
                EdgeKind::Fall => "",
                EdgeKind::Jump => " [style=bold]",
            };
            out += &format!("  b{} -> b{}{style};\n", id.0, edge.to.0);
        }
    }
    out += "}\n";
    out
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}
