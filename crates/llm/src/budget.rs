//! Budgets: calls, tokens and money, reserved before a call and settled after it.
//!
//! A prompt has at most as many tokens as bytes, an answer at most its limit. That much is reserved, so what a provider
//! reports afterwards cannot exceed a budget; a provider that reports more than was reserved is not believed.

use crate::chat::{Request, Usage};
use std::fmt;

/// Dollars for a million tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    /// Of prompts.
    pub input: f64,
    /// Of answers.
    pub output: f64,
}

impl Price {
    /// Dollars of a call.
    pub fn of(self, usage: Usage) -> f64 {
        let million = |tokens: u64, price: f64| tokens as f64 * price / 1e6;
        million(usage.input_tokens, self.input) + million(usage.output_tokens, self.output)
    }
}

/// What may be spent; without a limit where nothing is said.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// Calls, repeated ones included.
    pub calls: Option<u64>,
    /// Tokens of prompts and answers.
    pub tokens: Option<u64>,
    /// Dollars.
    pub cost: Option<f64>,
}

/// A budget that is used up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Exhausted {
    what: String,
}

impl fmt::Display for Exhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

/// What was spent and reserved.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    limits: Limits,
    calls: u64,
    tokens: u64,
    cost: f64,
    reserved_tokens: u64,
    reserved_cost: f64,
}

/// What is set aside for a call. It must be settled.
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use]
pub struct Reservation {
    most: Usage,
    cost: f64,
    price: Option<Price>,
}

impl Reservation {
    /// Tokens that the call can have at most.
    pub fn most(&self) -> Usage {
        self.most
    }
}

impl Ledger {
    /// Nothing spent.
    pub fn new(limits: Limits) -> Ledger {
        Ledger {
            limits,
            ..Ledger::default()
        }
    }

    /// Calls so far.
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// Tokens so far.
    pub fn tokens(&self) -> u64 {
        self.tokens
    }

    /// Dollars so far, of calls with a price.
    pub fn cost(&self) -> f64 {
        self.cost
    }

    /// Sets aside what a call takes at most; an error if that is more than is left.
    pub fn reserve(
        &mut self,
        request: &Request,
        price: Option<Price>,
    ) -> Result<Reservation, Exhausted> {
        let most = Usage {
            input_tokens: request.most_input_tokens(),
            output_tokens: u64::from(request.max_tokens),
        };
        let cost = price.map_or(0.0, |price| price.of(most));
        let exhausted = |what: String| Err(Exhausted { what });
        if let Some(calls) = self.limits.calls.filter(|calls| self.calls >= *calls) {
            return exhausted(format!("all {calls} calls are used up"));
        }
        let used = self.tokens + self.reserved_tokens;
        if let Some(tokens) = self.limits.tokens
            && used.saturating_add(most.tokens()) > tokens
        {
            return exhausted(format!(
                "{used} of {tokens} tokens are used, and the next call may take {}",
                most.tokens()
            ));
        }
        let spent = self.cost + self.reserved_cost;
        if let Some(limit) = self.limits.cost
            && spent + cost > limit
        {
            return exhausted(format!(
                "${spent:.4} of ${limit:.4} are spent, and the next call may cost ${cost:.4}"
            ));
        }
        self.calls += 1;
        self.reserved_tokens += most.tokens();
        self.reserved_cost += cost;
        Ok(Reservation { most, cost, price })
    }

    /// Settles a call by what was used; its dollars.
    pub fn settle(&mut self, reservation: Reservation, used: Usage) -> Option<f64> {
        self.reserved_tokens -= reservation.most.tokens().min(self.reserved_tokens);
        self.reserved_cost = (self.reserved_cost - reservation.cost).max(0.0);
        let used = Usage {
            input_tokens: used.input_tokens.min(reservation.most.input_tokens),
            output_tokens: used.output_tokens.min(reservation.most.output_tokens),
        };
        let cost = reservation.price.map(|price| price.of(used));
        self.tokens += used.tokens();
        self.cost += cost.unwrap_or(0.0);
        cost
    }

    /// Counts a call that an earlier run made.
    pub fn recall(&mut self, used: Usage, cost: Option<f64>) {
        self.calls += 1;
        self.tokens = self.tokens.saturating_add(used.tokens());
        self.cost += cost.unwrap_or(0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::{Message, Role};

    fn request(bytes: usize, max_tokens: u32) -> Request {
        Request {
            model: "m".to_owned(),
            system: String::new(),
            messages: vec![Message {
                role: Role::User,
                text: "x".repeat(bytes),
            }],
            max_tokens,
            schema: None,
        }
    }

    #[test]
    fn what_is_reserved_is_not_there_for_others() {
        let mut ledger = Ledger::new(Limits {
            tokens: Some(4000),
            ..Limits::default()
        });
        let first = ledger.reserve(&request(1000, 500), None).unwrap();
        assert_eq!(first.most().tokens(), 1000 + 512 + 500);
        let error = ledger.reserve(&request(1000, 500), None).unwrap_err();
        assert_eq!(
            error.to_string(),
            "2012 of 4000 tokens are used, and the next call may take 2012"
        );
        ledger.settle(
            first,
            Usage {
                input_tokens: 300,
                output_tokens: 100,
            },
        );
        assert_eq!(ledger.tokens(), 400);
        assert!(ledger.reserve(&request(1000, 500), None).is_ok());
    }

    #[test]
    fn no_report_exceeds_what_was_reserved() {
        let mut ledger = Ledger::new(Limits {
            cost: Some(0.01),
            ..Limits::default()
        });
        let price = Some(Price {
            input: 1.0,
            output: 2.0,
        });
        let reserved = ledger.reserve(&request(88, 1000), price).unwrap();
        let huge = Usage {
            input_tokens: u64::MAX,
            output_tokens: u64::MAX,
        };
        assert_eq!(ledger.settle(reserved, huge), Some((600.0 + 2000.0) / 1e6));
        assert!(ledger.reserve(&request(9000, 1000), price).is_err());
    }

    #[test]
    fn calls_are_counted_whatever_came_of_them() {
        let mut ledger = Ledger::new(Limits {
            calls: Some(1),
            ..Limits::default()
        });
        let only = ledger.reserve(&request(1, 1), None).unwrap();
        ledger.settle(only, Usage::default());
        let error = ledger.reserve(&request(1, 1), None).unwrap_err();
        assert_eq!(error.to_string(), "all 1 calls are used up");
    }
}
