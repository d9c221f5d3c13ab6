//! A proposer of tuning sessions: models that are asked, in rounds, for recipes or sources.

use crate::answer;
use crate::budget::Ledger;
use crate::chat::{Message, Request, Role, Usage};
use crate::client::{Client, Made, Surroundings};
use crate::error::Error;
use crate::prompt::{self, Brief, Mode};
use assay_tune::session::proposer::{Ask, Fault, Proposed, Proposer, Reply, Situation, Unanswered};

/// Models and what they are asked.
pub struct Author {
    /// The models, asked in turns.
    pub clients: Vec<Client>,
    /// What their calls share.
    pub surroundings: Surroundings,
    /// How they answer.
    pub mode: Mode,
    /// Rounds at most.
    pub rounds: u32,
    /// Requests at once in a round.
    pub jobs: u32,
    /// What is known about the kernel.
    pub brief: Brief,
}

/// What requests that are made at once are told, so that their answers differ.
const DIRECTIONS: [&str; 5] = [
    "Lower the largest term of the fastest so far.",
    "Change how much work a thread does: several results a thread, vectors, unrolling.",
    "Change where data is kept: threadgroup memory, registers, tiles, the order of accesses.",
    "Change who works together: a simdgroup or a threadgroup per row, other shapes of threadgroups, other axes.",
    "Try something unlike everything that was tried.",
];

impl Author {
    fn client(&self, model: &str) -> Option<&Client> {
        self.clients.iter().find(|client| client.model == model)
    }

    fn ask_of(&self, client: &Client, messages: Vec<Message>) -> Ask {
        let schema = (self.mode == Mode::Recipe).then(answer::schema);
        let request = Request {
            model: client.model.clone(),
            system: prompt::system(self.mode, &self.brief),
            messages,
            max_tokens: client.max_tokens,
            schema,
        };
        Ask {
            model: client.model.clone(),
            prompt: self.mode.version().to_owned(),
            request: request.fingerprint(),
            content: serde_json::to_string(&request).unwrap_or_default(),
        }
    }

    /// What was spent so far.
    pub fn spent(&self) -> Ledger {
        let ledger = self.surroundings.ledger.lock();
        ledger.map_or_else(|_| Ledger::default(), |ledger| ledger.clone())
    }
}

fn request_of(ask: &Ask) -> Option<Request> {
    serde_json::from_str(&ask.content).ok()
}

/// A call as sessions record it.
fn reply(made: Made) -> Result<Reply, Unanswered> {
    let text = match made.answer {
        Ok(answer) => Ok(answer.text),
        Err(error) if error.is_the_models() => Err(error.to_string()),
        Err(Error::Stopped) => return Err(Unanswered::Interrupted),
        Err(Error::Budget(why)) => return Err(Unanswered::Budget(why.to_string())),
        Err(error) => {
            let advice = error.advice().map(|advice| format!("; {advice}"));
            let why = format!("{error}{}", advice.unwrap_or_default());
            return Err(Unanswered::Failed(why));
        }
    };
    Ok(Reply {
        text,
        input_tokens: made.usage.input_tokens,
        output_tokens: made.usage.output_tokens,
        cost: made.cost,
    })
}

impl Proposer for Author {
    fn rounds(&self) -> u32 {
        self.rounds
    }

    fn asks(&self, situation: &Situation<'_>) -> Vec<Ask> {
        let count = self.clients.len().max(1);
        let ask = |job: u32| {
            let turn = (situation.round * self.jobs + job) as usize;
            let client = self.clients.get(turn % count)?;
            let direction = DIRECTIONS[turn % DIRECTIONS.len()];
            let text = prompt::user(self.mode, &self.brief, situation, direction);
            let role = Role::User;
            Some(self.ask_of(client, vec![Message { role, text }]))
        };
        (0..self.jobs).filter_map(ask).collect()
    }

    fn repair(&self, ask: &Ask, answer: &str, faults: &[Fault]) -> Option<Ask> {
        let client = self.client(&ask.model)?;
        let mut messages = request_of(ask)?.messages;
        let (role, text) = (Role::Assistant, answer.to_owned());
        // A conversation has no empty parts.
        if !text.trim().is_empty() {
            messages.push(Message { role, text });
        }
        let text = prompt::repair(faults);
        match messages.last_mut().filter(|last| last.role == Role::User) {
            Some(last) => last.text = format!("{}\n\n{text}", last.text),
            None => messages.push(Message {
                role: Role::User,
                text,
            }),
        }
        Some(self.ask_of(client, messages))
    }

    fn answer(&self, asks: &[Ask]) -> Vec<Result<Reply, Unanswered>> {
        let unknown = || Unanswered::Failed("a request of another session".to_owned());
        // Reserved in order, so that what is asked does not depend on who answers first.
        let reserved: Vec<_> = asks
            .iter()
            .map(|ask| {
                let client = self.client(&ask.model).ok_or_else(unknown)?;
                let request = request_of(ask).ok_or_else(unknown)?;
                let reservation = client.reserve(&self.surroundings, &request);
                let reservation =
                    reservation.map_err(|error| Unanswered::Budget(error.to_string()))?;
                Ok((client, request, reservation))
            })
            .collect();
        let ordered = self
            .clients
            .iter()
            .any(|client| client.provider.is_ordered());
        let call = |reserved: Result<(&Client, Request, _), Unanswered>| {
            let (client, request, reservation) = reserved?;
            reply(client.ask(&self.surroundings, &request, reservation))
        };
        if ordered || reserved.len() < 2 {
            return reserved.into_iter().map(call).collect();
        }
        std::thread::scope(|scope| {
            let calls = reserved.into_iter().map(|it| scope.spawn(|| call(it)));
            let calls: Vec<_> = calls.collect();
            let failed = || Err(Unanswered::Failed("a call ended unexpectedly".to_owned()));
            let joined = calls
                .into_iter()
                .map(|it| it.join().unwrap_or_else(|_| failed()));
            joined.collect()
        })
    }

    fn recall(&self, ask: &Ask, reply: &Reply) {
        if let Some(client) = self.client(&ask.model) {
            client.provider.skip();
        }
        if let Ok(mut ledger) = self.surroundings.ledger.lock() {
            let used = Usage {
                input_tokens: reply.input_tokens,
                output_tokens: reply.output_tokens,
            };
            ledger.recall(used, reply.cost);
        }
    }

    fn read(&self, ask: &Ask, answer: &str) -> Result<Vec<Result<Proposed, String>>, String> {
        if self.mode == Mode::Recipe {
            return answer::recipes(answer);
        }
        let request = request_of(ask);
        let prompt = request
            .as_ref()
            .and_then(|request| request.messages.first());
        answer::source(answer, prompt.and_then(|first| answer::shown(&first.text)))
    }
}
