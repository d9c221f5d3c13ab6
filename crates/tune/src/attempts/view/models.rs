//! What each language model brought, as a table.

use super::View;
use assay_report::style::Painter;
use assay_report::table::{Column, Table};

/// The table of models.
pub fn models(view: &View, painter: Painter, width: usize) -> String {
    if view.models.is_empty() {
        return "no model was asked\n".to_owned();
    }
    let columns = [
        Column::left("model"),
        Column::right("calls"),
        Column::right("tokens"),
        Column::right("cost"),
        Column::right("proposals"),
        Column::right("refused"),
        Column::right("timed"),
        Column::right("faster"),
        Column::right("proven"),
        Column::right("kept"),
        Column::right("best"),
    ];
    let mut table = Table::new(columns).painter(painter);
    for model in &view.models {
        table.row([
            model.model.clone(),
            model.calls.to_string(),
            (model.input_tokens + model.output_tokens).to_string(),
            model
                .cost
                .map_or(String::new(), |cost| format!("${cost:.4}")),
            model.proposals.to_string(),
            model.refused.to_string(),
            model.timed.to_string(),
            model.faster.to_string(),
            model.proven.to_string(),
            model.kept.to_string(),
            model
                .best_gain
                .map_or(String::new(), |gain| format!("{gain:.2}×")),
        ]);
    }
    table.render(width)
}
