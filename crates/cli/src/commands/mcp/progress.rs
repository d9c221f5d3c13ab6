//! Progress of a call, told to a client that asked for it.
//!
//! The steps come from the process that runs the call ([`crate::progress`]). The protocol wants numbers that only grow; stages
//! of unknown length therefore count as very little, and a stage that counts adds its own total to what came before.

use crate::progress::Step;
use rmcp::RoleServer;
use rmcp::model::ProgressNotificationParam;
use rmcp::service::RequestContext;
use tokio::sync::mpsc::UnboundedReceiver;

/// What a stage of unknown length counts.
const STAGE: f64 = 0.01;

/// Steps as growing numbers.
#[derive(Debug, Default)]
struct Scale {
    /// The number that was told last.
    last: f64,
    /// The number at which the stage that counts began.
    start: f64,
    /// The total of the stage that counts.
    total: Option<u64>,
}

impl Scale {
    /// The number of a step, and the number at which its stage ends if that is known.
    fn place(&mut self, step: &Step) -> (f64, Option<f64>) {
        let least = self.last + STAGE;
        self.last = match step.count {
            Some(count) => {
                if self.total != Some(count.total) {
                    self.total = Some(count.total);
                    self.start = self.last;
                }
                least.max(self.start + count.done as f64)
            }
            None => least,
        };
        let end = self.total.map(|total| self.start + total as f64);
        (self.last, end.map(|end| end.max(self.last)))
    }
}

fn message(tool: &str, step: &Step) -> String {
    let what = &step.what;
    match step.count {
        Some(count) => format!("{tool}: {} of {} {what}", count.done, count.total),
        None => format!("{tool}: {what}"),
    }
}

/// Passes steps on until the client is gone; never returns while it is there. Clients that did not ask are told nothing.
pub(super) async fn tell(
    tool: &str,
    mut steps: UnboundedReceiver<Step>,
    context: &RequestContext<RoleServer>,
) {
    let Some(token) = context.meta.get_progress_token() else {
        return std::future::pending().await;
    };
    let mut scale = Scale::default();
    while let Some(step) = steps.recv().await {
        let (progress, total) = scale.place(&step);
        let mut told = ProgressNotificationParam::new(token.clone(), progress)
            .with_message(message(tool, &step));
        if let Some(total) = total {
            told = told.with_total(total);
        }
        if context.peer.notify_progress(told).await.is_err() {
            // Whoever wanted the result is gone too.
            return;
        }
    }
    std::future::pending().await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Count;

    fn step(what: &str, count: Option<(u64, u64)>) -> Step {
        Step {
            what: what.to_owned(),
            count: count.map(|(done, total)| Count { done, total }),
        }
    }

    #[test]
    fn numbers_grow_whatever_the_order_of_stages_and_counts() {
        let mut scale = Scale::default();
        let steps = [
            step("compile", None),
            step("running k", None),
            step("threadgroups", Some((0, 10))),
            step("threadgroups", Some((4, 10))),
            step("threadgroups", Some((4, 10))),
            step("threadgroups", Some((10, 10))),
            step("report", None),
            step("candidates", Some((1, 3))),
            step("candidates", Some((3, 3))),
        ];
        let places: Vec<(f64, Option<f64>)> = steps.iter().map(|step| scale.place(step)).collect();
        assert!(
            places.windows(2).all(|pair| pair[0].0 < pair[1].0),
            "{places:?}"
        );
        let inside = |(at, end): &(f64, Option<f64>)| end.is_none_or(|end| *at <= end);
        assert!(places.iter().all(inside), "{places:?}");
        // Four of ten threadgroups are four tenths of the way, nearly.
        let (at, end) = places[3];
        assert!((at / end.unwrap() - 0.4).abs() < 0.01);
        assert_eq!(message("run", &steps[3]), "run: 4 of 10 threadgroups");
    }
}
