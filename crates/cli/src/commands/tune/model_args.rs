//! The part of the command line that is about language models.

use assay_llm::prompt::Mode;
use std::path::PathBuf;

#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Options for language models")]
pub(crate) struct ModelArgs {
    /// A model that proposes candidates: anthropic:MODEL, openai:MODEL (any server that speaks OpenAI's chat, with --llm-url),
    /// replay:FILE (a cassette) or replay:demo; may be repeated, models then take turns
    #[arg(long, value_name = "PROVIDER[:MODEL]")]
    pub(crate) llm: Vec<String>,

    /// A command of yours that answers: the prompt on its standard input, the answer on its standard output
    #[arg(long, value_name = "COMMAND")]
    pub(crate) llm_command: Option<String>,

    /// What models answer with
    #[arg(long, value_enum, default_value_t, value_name = "MODE")]
    pub(crate) llm_mode: ModeArg,

    /// The address of the server: http://localhost:8080/v1, or a proxy of Anthropic's
    #[arg(long, value_name = "URL")]
    pub(crate) llm_url: Option<String>,

    /// The file with the key, which only you may read [default: ANTHROPIC_API_KEY or OPENAI_API_KEY]
    #[arg(long, value_name = "FILE")]
    pub(crate) llm_key_file: Option<PathBuf>,

    /// Do not send the answer's schema, which some servers refuse; answers are checked all the same
    #[arg(long)]
    pub(crate) llm_plain: bool,

    /// Record calls into a cassette, to be replayed by --llm replay:FILE
    #[arg(long, value_name = "FILE")]
    pub(crate) llm_record: Option<PathBuf>,

    /// Rounds of proposals at most
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: u32,

    /// Requests at once in a round
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=16))]
    pub(crate) jobs: u32,

    /// Calls at most, repeated ones included
    #[arg(long, value_name = "N")]
    pub(crate) max_calls: Option<u64>,

    /// Tokens at most, of prompts and answers: reserved before each call
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<u64>,

    /// Dollars at most; needs --price
    #[arg(long, value_name = "DOLLARS", requires = "price", value_parser = dollars)]
    pub(crate) max_cost: Option<f64>,

    /// Dollars for a million tokens of prompts and of answers, by your contract: 3,15 or MODEL=3,15; may be repeated
    #[arg(long, value_name = "[MODEL=]IN,OUT")]
    pub(crate) price: Vec<String>,

    /// Tokens of one answer at most
    #[arg(long, value_name = "N", default_value_t = 8192, value_parser = clap::value_parser!(u32).range(64..=1_000_000))]
    pub(crate) answer_tokens: u32,

    /// Write the session's report to FILE.md or FILE.html: every attempt with its story
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ModeArg {
    /// Sequences of recipes: a model cannot write code
    #[default]
    Recipe,
    /// A whole source
    Source,
}

impl From<ModeArg> for Mode {
    fn from(mode: ModeArg) -> Mode {
        match mode {
            ModeArg::Recipe => Mode::Recipe,
            ModeArg::Source => Mode::Source,
        }
    }
}

fn dollars(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.trim_start_matches('$').parse().ok();
    let sound = number.filter(|number| number.is_finite() && *number >= 0.0);
    sound.ok_or_else(|| "a number of dollars".to_owned())
}

impl ModelArgs {
    /// Returns true if a model is asked.
    pub(crate) fn is_asked(&self) -> bool {
        !self.llm.is_empty() || self.llm_command.is_some()
    }

    /// What decides which proposals there are, for the key of a session. Keys and addresses are no part of it.
    pub(crate) fn identity(&self) -> String {
        if !self.is_asked() {
            return String::new();
        }
        format!(
            "{:?} {:?} {:?} {} {} {:?} {:?} {:?} {:?} {}",
            self.llm,
            self.llm_command,
            self.llm_mode,
            self.rounds,
            self.jobs,
            self.max_calls,
            self.max_tokens,
            self.max_cost,
            self.price,
            self.answer_tokens
        )
    }
}
