//! `assay tune`: makes a kernel faster, and says by how much it really is.

#[cfg(test)]
mod almost_right;
mod args;
pub(crate) mod brief;
mod candidate;
#[cfg(test)]
mod door;
mod drive;
pub(crate) mod file;
#[cfg(feature = "fleet")]
mod fleet;
pub(crate) mod location;
pub(crate) mod model;
pub(crate) mod model_args;
mod oracle;
mod program;
pub(crate) mod registry;
mod replay;
mod search;
mod set;
#[cfg(test)]
mod spellings;

use crate::context::Context;
use crate::failure::CommandResult;

/// Make a kernel faster by searching its knobs and rewritings
///
/// FILE is Metal source, a metallib or bitcode with a launch (flags, or a comment `// assay: launch …`); NAME is a kernel of
/// the registry. Recipes rewrite the program (assay rewrite --list), knobs are parameters that its author left open:
/// `// assay: tune TM = 1,2,4` in the source, with `// assay: tune restrict TM * TN <= 16`, names function constants or
/// macros, and formulas of the launch may use them.
///
/// Every candidate is printed as Metal and compiled again. What is built upon computes the same as the original on the
/// executor, at odd sizes that the launch's formulas allow, and passes every check; the winner is proven at more sizes, and
/// once at sizes that were held out. Times are modelled. A gain that was picked among many is luck in part: the one that is
/// claimed is corrected for it, and 15 % or less is a tie.
///
/// With --program the launches are those of a recorded program: what counts is the time of all its dispatches of the kernel together, and
/// the answer says what the program gains.
///
/// With --llm a language model proposes recipes, or whole sources, before the search goes on from them. Its proposals go
/// through the same proof as everything else.
///
/// Everything that was tried is kept (assay attempts). The same seed and number of evaluations try the same, byte for byte.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
Examples:
  assay tune matmul.metal -f matmul_naive --size N=1024 --grid N,N --threadgroup 16,16 \\
      --buffer 0=zeros:f32:N*N --buffer 1=random:f32:N*N --buffer 2=random:f32:N*N \\
      --bytes 3=u32:N --bytes 4=u32:N --bytes 5=u32:N
  assay tune softmax.metal --chip m3 --evaluations 100 --source faster.metal --patch faster.patch
  assay tune softmax.metal --resume
  assay tune kernel.metal --knob TM=1,2,4 --knob TN=1,2,4 --restrict 'TM * TN <= 8' --only knobs
  assay tune row_sum.metal --oracle 'y[r] = sum(c < C: x[r, c])'
  assay tune layer_norm
  assay tune --program run.recording -f exponential --chip m4-max
  assay tune replay convolution-A100.json.gz
  assay tune softmax_naive --llm replay:demo
  assay tune softmax.metal --llm anthropic:MODEL --rounds 4 --max-tokens 200000
  assay tune softmax.metal --llm openai:MODEL --llm-url http://localhost:8080/v1 --llm-mode source
  assay tune --all --llm openai:MODEL --llm-url http://localhost:8080/v1 --rounds 3
  assay tune --all --kernels kernels --evaluations 60

Environment:
  ASSAY_ATTEMPTS  the database of attempts, instead of attempts.db in your data folder
  ANTHROPIC_API_KEY, OPENAI_API_KEY  keys of providers; never stored or shown
  HTTPS_PROXY     the way to providers that are not on this machine
  ASSAY_LLM_TIMEOUT, ASSAY_LLM_PAUSE  seconds to wait for the next byte (120), and before a call is repeated (1)"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    search: args::SearchArgs,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Replay(replay::Args),
}

pub(crate) fn run(args: &Args, context: &Context) -> CommandResult {
    match &args.command {
        Some(Command::Replay(args)) => replay::run(args, context),
        None => search::run(&args.search, context),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schemas_are_current() {
        crate::schema::check::<assay_tune::replay::Report>("assay.tune-replay", 1);
        crate::schema::check::<assay_tune::report::Report>("assay.tune", 1);
        crate::schema::check::<super::set::Document>("assay.tune-set", 1);
    }
}
