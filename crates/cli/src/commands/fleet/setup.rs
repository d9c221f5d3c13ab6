//! `assay fleet setup`.

use super::access::AccessArgs;
use super::{failure, runtime};
use crate::context::Context;
use crate::failure::{CommandResult, Failure, Outcome};
use assay_fleet::{Fleet, names};

/// Make the streams and buckets on a server, or add pools
///
/// Only the admin may. Doing it again changes nothing that is there; jobs and answers stay.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  assay fleet setup --server nats://127.0.0.1:4222 --key fleet/admin.nk --pools m2,m4
  assay fleet setup --server nats://127.0.0.1:4222 --user me --pools cpu")]
pub(super) struct Args {
    #[command(flatten)]
    access: AccessArgs,

    /// Pools of workers, by chip as a rule
    #[arg(long, value_name = "POOLS", value_delimiter = ',', required = true)]
    pools: Vec<String>,
}

pub(super) fn run(args: &Args, context: &Context) -> CommandResult {
    if let Some(pool) = args.pools.iter().find(|pool| !names::is_token(pool)) {
        return Err(Failure::usage(format!("{pool:?} is no name of a pool")));
    }
    let access = args.access.access()?;
    let made = runtime()?.block_on(async {
        let fleet = Fleet::connect(&access).await?;
        fleet.set_up(&args.pools).await
    });
    made.map_err(failure)?;
    context.write(&format!(
        "The server is ready for pools {}.\n",
        args.pools.join(", ")
    ))?;
    Ok(Outcome::Fine)
}
