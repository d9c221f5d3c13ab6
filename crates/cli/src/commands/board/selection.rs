//! Which board, and what of it.

use super::location;
use crate::failure::Failure;
use assay_board::render::View;
use assay_board::{Board, Filter};
use std::path::PathBuf;

/// What every view of the board can be narrowed to. Each option may be repeated.
#[derive(Debug, clap::Args)]
pub(super) struct Selection {
    /// The board [default: $ASSAY_BOARD, or board.db in your data folder]
    #[arg(long, value_name = "FILE")]
    pub(super) board: Option<PathBuf>,

    /// Only these kernels; a * at the end stands for any rest
    #[arg(long, value_name = "NAME")]
    pub(super) kernel: Vec<String>,

    /// Only kernels of this set: common, standard or full
    #[arg(long, value_name = "SET", value_parser = ["common", "standard", "full"])]
    set: Vec<String>,

    /// Only devices with this in their name
    #[arg(long, value_name = "TEXT")]
    device: Vec<String>,

    /// Only this chip, or all of a generation: m2-max, m2
    #[arg(long, value_name = "CHIP")]
    chip: Vec<String>,

    /// Only this element type: f32, f16 or bf16
    #[arg(long, value_name = "TYPE", value_parser = ["f32", "f16", "bf16"])]
    dtype: Vec<String>,

    /// Only these sizes: reference, quick, odd or held_out
    #[arg(long, value_name = "SIZES")]
    sizes: Vec<String>,

    /// Every source, not only the holders of records
    #[arg(long)]
    all: bool,
}

impl Selection {
    pub(super) fn open(&self) -> Result<Board, Failure> {
        let path = location::path(self.board.as_deref());
        Board::open_to_read(path).map_err(location::failure)
    }

    pub(super) fn filter(&self, with_sources: bool) -> Filter {
        Filter {
            kernels: self.kernel.clone(),
            sets: self.set.clone(),
            devices: self.device.clone(),
            chips: self.chip.clone(),
            dtypes: self.dtype.clone(),
            sizes: self.sizes.clone(),
            all: self.all,
            with_sources,
        }
    }

    /// What the filter lets through. Claims know no sets, types or sizes: who asks for those asks for results.
    pub(super) fn view(&self, board: &Board, filter: &Filter) -> Result<View, Failure> {
        let of_results = !(self.set.is_empty() && self.dtype.is_empty() && self.sizes.is_empty());
        Ok(View {
            results: board.entries(filter).map_err(location::failure)?,
            claims: match of_results {
                true => Vec::new(),
                false => board.claims(filter).map_err(location::failure)?,
            },
            modelled: board.modelled(filter).map_err(location::failure)?,
        })
    }
}

/// What is said when there is nothing to show.
pub(super) fn nothing(board: &Board) -> Result<String, Failure> {
    Ok(match board.runs().map_err(location::failure)? {
        0 => "The board is empty: assay bench NAME puts results on it.\n".to_owned(),
        runs => format!("Nothing of this is on the board; {runs} other runs are.\n"),
    })
}
