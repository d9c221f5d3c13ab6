//! `assay fleet`: kernels examined on other machines.
//!
//! Everything goes through a NATS server: workers and submitters only connect outward. [`worker`] takes jobs and has a
//! process of its own run each ([`child`]); [`submit`] is what `--fleet` of other commands does, with what [`line`] makes of
//! their command lines; [`init`] writes the server's configuration.

mod access;
pub(crate) mod child;
mod doctor;
mod folder;
mod init;
pub(crate) mod line;
mod look;
mod page;
mod results;
mod serve;
mod setup;
pub(crate) mod submit;
mod worker;

pub(crate) use access::FleetArgs;

use crate::context::Context;
use crate::failure::{CommandResult, Failure, Kind};

/// Examine kernels on other machines: workers, jobs, and the server between them
///
/// A server (nats-server 2.10 or newer, with JetStream) keeps jobs and answers. Workers connect to it from anywhere, also from
/// behind NAT, take jobs of their pool (m1, m2, cpu, …), and run each in a process of its own with limits. Submitters are
/// assay bench --fleet, assay run --fleet, assay tune --fleet and assay board verify --fleet. A job can only compile and run kernels.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  assay fleet init fleet --pools m2,m4 --submitters alice,bob --workers mini-m2:m2,studio-m4:m4
  assay fleet setup --server nats://127.0.0.1:4222 --key fleet/admin.nk --pools m2,m4
  assay fleet worker --server nats://macs.example:4222 --key mini-m2.nk --pool m2 --device metal
  assay bench softmax --fleet nats://macs.example:4222 --key alice.nk --pools m2,m4
  assay fleet top --server nats://macs.example:4222 --key alice.nk

Environment:
  ASSAY_FLEET      the server, where --server or --fleet is not said
  ASSAY_FLEET_KEY  the key file, where --key is not said")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Worker(worker::Args),
    Init(init::Args),
    Setup(setup::Args),
    Doctor(doctor::Args),
    Jobs(look::JobsArgs),
    Workers(look::WorkersArgs),
    Cancel(look::CancelArgs),
    Retry(look::RetryArgs),
    Results(results::Args),
    Top(look::TopArgs),
    Serve(serve::Args),
    #[command(hide = true)]
    Child(child::Args),
}

pub(crate) fn run(args: &Args, context: &Context) -> CommandResult {
    match &args.command {
        Command::Worker(args) => worker::run(args, context),
        Command::Init(args) => init::run(args, context),
        Command::Setup(args) => setup::run(args, context),
        Command::Doctor(args) => doctor::run(args, context),
        Command::Jobs(args) => look::jobs(args, context),
        Command::Workers(args) => look::workers(args, context),
        Command::Cancel(args) => look::cancel(args, context),
        Command::Retry(args) => look::retry(args, context),
        Command::Results(args) => results::run(args, context),
        Command::Top(args) => look::top(args, context),
        Command::Serve(args) => serve::run(args, context),
        Command::Child(args) => child::run(args),
    }
}

/// The runtime that the broker's client needs: one thread, which is the caller's.
fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(Kind::Missing, format!("no async runtime: {error}")))
}

/// An error of the fleet for the user: what is missing between here and the server.
fn failure(error: assay_fleet::Error) -> Failure {
    let kind = match error {
        assay_fleet::Error::Key(_) | assay_fleet::Error::Role { .. } => Kind::Usage,
        _ => Kind::Missing,
    };
    Failure::new(kind, error.to_string()).advised(error.advice())
}
