//! A request to a model and its answer, whoever the provider is.

use assay_tune::fingerprint::Fingerprint;
use serde::{Deserialize, Serialize};

/// Who says something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The program.
    User,
    /// The model.
    Assistant,
}

/// Something that was said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// By whom.
    pub role: Role,
    /// What.
    pub text: String,
}

/// A request. It holds no key and no address: those are the provider's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The model, as its provider calls it.
    pub model: String,
    /// What holds for the whole conversation. The same for all requests of a session, so that providers can keep it.
    pub system: String,
    /// The conversation, ending with the program's words.
    pub messages: Vec<Message>,
    /// Tokens of the answer at most.
    pub max_tokens: u32,
    /// The JSON schema that an answer follows, for providers that can hold a model to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<serde_json::Value>,
}

impl Request {
    /// The request as normalised JSON: keys sorted, line ends as `\n`, no blanks at line ends.
    pub fn normalised(&self) -> String {
        let mut request = self.clone();
        request.system = tidy(&request.system);
        for message in &mut request.messages {
            message.text = tidy(&message.text);
        }
        // `serde_json::Value` sorts keys.
        serde_json::to_value(&request).map_or_else(|_| String::new(), |value| value.to_string())
    }

    /// The fingerprint of the normalised request, by which cassettes find answers.
    ///
    /// ```
    /// use assay_llm::chat::{Message, Request, Role};
    /// let request = |text: &str| Request {
    ///     model: "m".to_owned(),
    ///     system: "s".to_owned(),
    ///     messages: vec![Message { role: Role::User, text: text.to_owned() }],
    ///     max_tokens: 100,
    ///     schema: None,
    /// };
    /// assert_eq!(request("a  \r\nb").fingerprint(), request("a\nb").fingerprint());
    /// assert_ne!(request("a b").fingerprint(), request("ab").fingerprint());
    /// ```
    pub fn fingerprint(&self) -> String {
        Fingerprint::default()
            .with(self.normalised().as_bytes())
            .text()
    }

    /// Tokens that the prompt has at most: none is shorter than a byte. Templates of providers add some.
    pub fn most_input_tokens(&self) -> u64 {
        let said = self
            .messages
            .iter()
            .map(|message| message.text.len() as u64);
        let schema = self
            .schema
            .as_ref()
            .map_or(0, |it| it.to_string().len() as u64);
        self.system.len() as u64 + said.sum::<u64>() + schema + TEMPLATE_TOKENS
    }
}

/// Tokens that a provider's own template adds at most.
const TEMPLATE_TOKENS: u64 = 512;

fn tidy(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n")
}

/// Tokens of a call, as the provider counted them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Of the prompt.
    pub input_tokens: u64,
    /// Of the answer.
    pub output_tokens: u64,
}

impl Usage {
    /// Both.
    pub fn tokens(self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

/// A whole answer. One that was cut is an [`Error`](crate::error::Error).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// What the model said.
    pub text: String,
    /// Tokens, as far as the provider told them.
    pub usage: Option<Usage>,
}

/// Bytes of an answer at most.
pub const LONGEST_ANSWER: usize = 1 << 20;
