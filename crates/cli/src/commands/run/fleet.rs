//! `assay run --fleet`: the same command line on other machines, once per pool.

use super::Args;
use crate::commands::fleet::line::Line;
use crate::commands::fleet::submit::Session;
use crate::context::Context;
use crate::failure::{CommandResult, Failure, Kind, Outcome};
use assay_fleet::{Answer, Ending};
use assay_report::style::Role;
use std::sync::Arc;

pub(super) fn run(args: &Args, context: &Context) -> CommandResult {
    let session = Session::open(&args.fleet)?;
    let pools = session.pools(&args.fleet, context)?;
    let words = context.line.iter().position(|word| word == "run");
    let words = words.and_then(|place| context.line.get(place + 1..));
    let line = Line::read("run", words.unwrap_or_default())?;
    let submissions = pools.iter().map(|pool| {
        let mut words = vec!["run".to_owned()];
        words.extend(line.names.iter().cloned());
        words.extend(line.flags.iter().cloned());
        Arc::new(line.job(&args.fleet, words, pool))
    });
    let submissions: Vec<_> = submissions.collect();
    if args.fleet.detach {
        return session.detach(submissions, context);
    }
    let mut answers: Vec<Option<Answer>> = vec![None; pools.len()];
    session.evaluate(submissions, context, |place, answer| {
        if let Some(slot) = answers.get_mut(place) {
            *slot = Some(answer);
        }
        Ok(())
    })?;
    let (mut text, mut outcome) = (String::new(), Outcome::Fine);
    for (pool, answer) in pools.iter().zip(answers) {
        let Some(answer) = answer else { continue };
        let (page, one) = shown(&answer)?;
        if pools.len() > 1 {
            let heading = format!("Pool {pool}: {}", answer.machine.worker);
            text += &format!("{}\n\n", context.painter.paint(Role::Heading, &heading));
        } else {
            context.note(&format!(
                "ran on {} in {:.1} s",
                answer.machine.worker, answer.seconds
            ));
        }
        text += &page;
        if one != Outcome::Fine {
            outcome = one;
        }
    }
    context.write(&text)?;
    Ok(outcome)
}

/// What a worker's command printed; its failure is this command's.
fn shown(answer: &Answer) -> Result<(String, Outcome), Failure> {
    match &answer.ending {
        Ending::Done {
            error: Some(error),
            code,
            ..
        } => {
            let document: serde_json::Value = serde_json::from_str(error).unwrap_or_default();
            let message = document["error"]["message"].as_str().unwrap_or(error);
            let kind = match code {
                2 => Kind::Usage,
                4 => Kind::Missing,
                _ => Kind::Input,
            };
            let told = format!("on {}: {message}", answer.machine.worker);
            Err(Failure::new(kind, told).advised(document["error"]["advice"].as_str()))
        }
        Ending::Done { output, code, .. } => {
            let outcome = if *code == 0 {
                Outcome::Fine
            } else {
                Outcome::Failed
            };
            Ok((output.clone(), outcome))
        }
        Ending::Refused { why, advice } => {
            Err(Failure::new(Kind::Missing, why.clone()).advice(advice.clone()))
        }
        other => Err(Failure::new(
            Kind::Missing,
            other.trouble().unwrap_or_default(),
        )),
    }
}
