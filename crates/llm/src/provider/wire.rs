//! What is said to providers and what they say, as JSON: Anthropic's messages and OpenAI-compatible chat.
//!
//! Both are functions from values to values, so they are tested without a network.

use crate::chat::{LONGEST_ANSWER, Request, Role, Usage};
use serde_json::{Value, json};

/// A protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Anthropic's messages.
    Anthropic,
    /// OpenAI's chat completions, which vLLM, ollama and llama.cpp's server speak too.
    OpenAi {
        /// The limit of the answer is called `max_completion_tokens`, as OpenAI's own models want it.
        completion_tokens: bool,
        /// The answer is held to the request's schema.
        structured: bool,
    },
}

/// How an answer ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// As it should.
    Whole,
    /// At its limit of tokens.
    Cut,
    /// The model declines.
    Declined(String),
}

/// An answer as far as it has come.
#[derive(Clone, Debug, Default)]
pub struct Partial {
    /// What the model has said.
    pub text: String,
    /// Tokens of the prompt.
    pub input_tokens: Option<u64>,
    /// Tokens of the answer.
    pub output_tokens: Option<u64>,
    /// How it ended.
    pub end: Option<End>,
    /// What the provider says went wrong.
    pub error: Option<String>,
    /// More than any answer has.
    pub too_long: bool,
    /// Something came that was understood.
    pub understood: bool,
}

impl Partial {
    /// Tokens, if both counts are known.
    pub fn usage(&self) -> Option<Usage> {
        Some(Usage {
            input_tokens: self.input_tokens?,
            output_tokens: self.output_tokens?,
        })
    }

    fn say(&mut self, text: Option<&str>) {
        let Some(text) = text else { return };
        self.understood = true;
        if self.text.len() + text.len() > LONGEST_ANSWER {
            self.too_long = true;
            return;
        }
        self.text.push_str(text);
    }
}

impl Protocol {
    /// The path below the base address.
    pub fn path(self) -> &'static str {
        match self {
            Protocol::Anthropic => "v1/messages",
            Protocol::OpenAi { .. } => "chat/completions",
        }
    }

    /// The body of a request.
    pub fn body(self, request: &Request) -> Value {
        let role = |role: Role| match role {
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        let said = request.messages.iter();
        let mut messages: Vec<Value> = said
            .map(|message| json!({"role": role(message.role), "content": message.text}))
            .collect();
        match self {
            Protocol::Anthropic => json!({
                "model": request.model,
                "max_tokens": request.max_tokens,
                "stream": true,
                // The part that stays the same may be kept by the provider.
                "system": [{"type": "text", "text": request.system, "cache_control": {"type": "ephemeral"}}],
                "messages": messages,
            }),
            Protocol::OpenAi {
                completion_tokens,
                structured,
            } => {
                messages.insert(0, json!({"role": "system", "content": request.system}));
                let limit = match completion_tokens {
                    true => "max_completion_tokens",
                    false => "max_tokens",
                };
                let mut body = json!({
                    "model": request.model,
                    "stream": true,
                    "stream_options": {"include_usage": true},
                    "messages": messages,
                });
                body[limit] = json!(request.max_tokens);
                if let (true, Some(schema)) = (structured, &request.schema) {
                    body["response_format"] = json!({
                        "type": "json_schema",
                        "json_schema": {"name": "proposals", "schema": schema},
                    });
                }
                body
            }
        }
    }

    /// Adds an event of a stream, or the whole answer of a server that does not stream.
    pub fn hear(self, partial: &mut Partial, event: &Value) {
        if let Some(error) = event.get("error").filter(|error| !error.is_null()) {
            partial.error = Some(error_text(error));
            partial.understood = true;
            return;
        }
        match self {
            Protocol::Anthropic => hear_anthropic(partial, event),
            Protocol::OpenAi { .. } => hear_openai(partial, event),
        }
    }
}

/// The words of an error in any of the forms that servers use.
pub fn error_text(error: &Value) -> String {
    let message = error.get("message").unwrap_or(error);
    let text = message
        .as_str()
        .map_or_else(|| message.to_string(), str::to_owned);
    let line = text.lines().next().unwrap_or_default();
    line.chars().take(300).collect()
}

fn hear_anthropic(partial: &mut Partial, event: &Value) {
    let usage = |partial: &mut Partial, usage: &Value| {
        // What was kept from an earlier request was read too.
        let fields = [
            "input_tokens",
            "cache_creation_input_tokens",
            "cache_read_input_tokens",
        ];
        let counts = fields.iter().filter_map(|field| usage[*field].as_u64());
        if usage["input_tokens"].is_u64() {
            partial.input_tokens = Some(counts.sum());
        }
        partial.output_tokens = usage["output_tokens"].as_u64().or(partial.output_tokens);
    };
    let end = |partial: &mut Partial, reason: &Value| {
        partial.end = match reason.as_str() {
            Some("max_tokens" | "model_context_window_exceeded") => Some(End::Cut),
            Some("refusal") => Some(End::Declined("refusal".to_owned())),
            Some(_) => Some(End::Whole),
            None => partial.end.take(),
        };
    };
    match event["type"].as_str() {
        Some("message_start") => {
            partial.understood = true;
            usage(partial, &event["message"]["usage"]);
        }
        Some("content_block_delta") => partial.say(event["delta"]["text"].as_str()),
        Some("message_delta") => {
            usage(partial, &event["usage"]);
            end(partial, &event["delta"]["stop_reason"]);
        }
        Some("message") => {
            for block in event["content"].as_array().into_iter().flatten() {
                partial.say(block["text"].as_str());
            }
            usage(partial, &event["usage"]);
            end(partial, &event["stop_reason"]);
        }
        _ => {}
    }
}

fn hear_openai(partial: &mut Partial, event: &Value) {
    let usage = &event["usage"];
    partial.input_tokens = usage["prompt_tokens"].as_u64().or(partial.input_tokens);
    partial.output_tokens = usage["completion_tokens"]
        .as_u64()
        .or(partial.output_tokens);
    let choice = &event["choices"][0];
    partial.understood |= event["choices"].is_array();
    partial.say(choice["delta"]["content"].as_str());
    partial.say(choice["message"]["content"].as_str());
    let refusal = [&choice["delta"]["refusal"], &choice["message"]["refusal"]];
    let refusal = refusal.into_iter().find_map(Value::as_str);
    partial.end = match (choice["finish_reason"].as_str(), refusal) {
        (_, Some(words)) => Some(End::Declined(words.chars().take(300).collect())),
        (Some("length"), _) => Some(End::Cut),
        (Some("content_filter"), _) => Some(End::Declined("content filter".to_owned())),
        (Some(_), _) => Some(End::Whole),
        (None, _) => partial.end.take(),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(protocol: Protocol, events: &[Value]) -> Partial {
        let mut partial = Partial::default();
        events
            .iter()
            .for_each(|event| protocol.hear(&mut partial, event));
        partial
    }

    const OPENAI: Protocol = Protocol::OpenAi {
        completion_tokens: false,
        structured: true,
    };

    #[test]
    fn anthropics_events_make_an_answer() {
        let partial = heard(
            Protocol::Anthropic,
            &[
                json!({"type": "message_start", "message": {"usage": {"input_tokens": 7, "cache_read_input_tokens": 3, "output_tokens": 1}}}),
                json!({"type": "content_block_delta", "delta": {"type": "text_delta", "text": "he"}}),
                json!({"type": "ping"}),
                json!({"type": "content_block_delta", "delta": {"type": "text_delta", "text": "llo"}}),
                json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}}),
            ],
        );
        assert_eq!(partial.text, "hello");
        assert_eq!(
            partial.usage(),
            Some(Usage {
                input_tokens: 10,
                output_tokens: 5
            })
        );
        assert_eq!(partial.end, Some(End::Whole));
    }

    #[test]
    fn openais_chunks_and_whole_answers_make_one() {
        let chunk =
            |text: &str| json!({"choices": [{"delta": {"content": text}, "finish_reason": null}]});
        let partial = heard(
            OPENAI,
            &[
                chunk("he"),
                chunk("llo"),
                json!({"choices": [{"delta": {}, "finish_reason": "length"}]}),
                json!({"choices": [], "usage": {"prompt_tokens": 4, "completion_tokens": 2}}),
            ],
        );
        assert_eq!(
            (partial.text.as_str(), partial.end.clone()),
            ("hello", Some(End::Cut))
        );
        assert_eq!(partial.usage().unwrap().tokens(), 6);
        let whole = json!({"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]});
        let partial = heard(OPENAI, &[whole]);
        assert_eq!((partial.text.as_str(), partial.usage()), ("hi", None));
    }

    #[test]
    fn errors_inside_streams_are_told() {
        let event = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded\nmore"}});
        let partial = heard(Protocol::Anthropic, &[event]);
        assert_eq!(partial.error.as_deref(), Some("Overloaded"));
    }
}
