//! `assay fleet init`.

use crate::context::Context;
use crate::failure::{CommandResult, Failure, Outcome};
use assay_fleet::roles::{Role, Server, User, configuration};
use assay_fleet::{Key, names};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Write a server configuration with roles, and a key for everyone
///
/// Submitters may submit to the pools and read their own answers; a worker takes jobs of its pool and can submit nothing;
/// viewers look; the admin may everything. Keys that are there already stay: run it again to add someone, then
/// nats-server --signal reload.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  assay fleet init fleet --pools m2,m4 --submitters alice,bob --workers mini-m2:m2,studio-m4:m4
  assay fleet init fleet --pools cpu --submitters me --workers here:cpu --listen 127.0.0.1:4222
  assay fleet init fleet --pools m2 --submitters me --workers mac:m2 --listen 0.0.0.0:4222 \\
      --tls-cert server.pem --tls-key server.key")]
pub(super) struct Args {
    /// The folder to write
    folder: PathBuf,

    /// Pools of workers, by chip as a rule
    #[arg(long, value_name = "POOLS", value_delimiter = ',', required = true)]
    pools: Vec<String>,

    /// Who may submit: a name, or NAME:POOL+POOL for some pools only
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    submitters: Vec<String>,

    /// Workers and their pools: NAME:POOL
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    workers: Vec<String>,

    /// Who may look
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    viewers: Vec<String>,

    /// Where the server listens
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:4222")]
    listen: String,

    /// GiB that the server may keep
    #[arg(long, value_name = "GIB", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    disk: u64,

    /// The server's certificate
    #[arg(long, value_name = "FILE.pem", requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// The certificate's key
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
}

pub(super) fn run(args: &Args, context: &Context) -> CommandResult {
    let local = args.listen.starts_with("127.") || args.listen.starts_with("localhost");
    if !local && args.tls_cert.is_none() {
        context.note("without --tls-cert nothing is encrypted: use it on a private network only");
    }
    std::fs::create_dir_all(&args.folder)?;
    let folder = args.folder.canonicalize()?;
    let users = users(args, &folder)?;
    let tls = args.tls_cert.as_ref().zip(args.tls_key.as_ref());
    let absolute = |path: &PathBuf| {
        let path = path.canonicalize();
        path.map(|path| path.display().to_string())
    };
    let server = Server {
        listen: args.listen.clone(),
        store: folder.join("store").display().to_string(),
        most: args.disk << 30,
        pools: args.pools.clone(),
        tls: match tls {
            Some((certificate, key)) => Some((absolute(certificate)?, absolute(key)?)),
            None => None,
        },
    };
    let file = folder.join("nats-server.conf");
    write_secret(&file, &configuration(&server, &users))?;
    let submitters = users
        .iter()
        .filter(|user| matches!(user.role, Role::Submitter { .. }));
    let trust: String = submitters
        .map(|user| format!("{} {}\n", user.name, user.key))
        .collect();
    std::fs::write(folder.join("submitters.txt"), trust)?;
    let workers = users.iter().filter_map(|user| match &user.role {
        Role::Worker { pool } => Some(format!("{} {} {pool}\n", user.name, user.key)),
        _ => None,
    });
    std::fs::write(folder.join("workers.txt"), workers.collect::<String>())?;
    context.write(&told(args, &file, &users))?;
    Ok(Outcome::Fine)
}

fn told(args: &Args, file: &Path, users: &[User]) -> String {
    let scheme = if args.tls_cert.is_some() {
        "tls"
    } else {
        "nats"
    };
    let (folder, listen) = (args.folder.display(), &args.listen);
    let mut text = format!(
        "Wrote {} with {} users; their keys are beside it.\n\n\
         1. Start the server:  nats-server -c {}\n\
         2. Make its streams:  assay fleet setup --server {scheme}://{listen} --key {folder}/admin.nk --pools {}\n",
        file.display(),
        users.len(),
        file.display(),
        args.pools.join(",")
    );
    for user in users {
        if let Role::Worker { pool } = &user.role {
            let _ = writeln!(
                text,
                "3. On {name}: assay fleet worker --server {scheme}://{listen} --key {name}.nk --pool {pool}",
                name = user.name
            );
        }
    }
    if let Some(user) = users
        .iter()
        .find(|user| matches!(user.role, Role::Submitter { .. }))
    {
        let _ = writeln!(
            text,
            "4. Submit:            assay bench softmax --fleet {scheme}://{listen} --key {folder}/{}.nk",
            user.name
        );
    }
    text += "\nGive each key file to its owner alone. submitters.txt and workers.txt are\n\
             public, and go beside every key: workers run what is signed by the first, and answers of the second are believed.\n";
    text
}

fn users(args: &Args, folder: &Path) -> Result<Vec<User>, Failure> {
    let mut wanted = vec![("admin".to_owned(), Role::Admin)];
    let pools = |text: &str| -> Result<Vec<String>, Failure> {
        let pools: Vec<String> = text.split('+').map(str::to_owned).collect();
        match pools.iter().find(|pool| !args.pools.contains(pool)) {
            Some(pool) => Err(Failure::usage(format!("{pool} is not among --pools"))),
            None => Ok(pools),
        }
    };
    for word in &args.submitters {
        let (name, some) = word.split_once(':').unwrap_or((word, ""));
        let pools = if some.is_empty() {
            args.pools.clone()
        } else {
            pools(some)?
        };
        wanted.push((name.to_owned(), Role::Submitter { pools }));
    }
    for word in &args.workers {
        let Some((name, pool)) = word.split_once(':') else {
            return Err(Failure::usage(format!("--workers {word}: write NAME:POOL")));
        };
        pools(pool)?;
        let pool = pool.to_owned();
        wanted.push((name.to_owned(), Role::Worker { pool }));
    }
    for name in &args.viewers {
        wanted.push((name.clone(), Role::Viewer));
    }
    let mut users: Vec<User> = Vec::new();
    for (name, role) in wanted {
        if !names::is_token(&name) {
            return Err(Failure::usage(format!(
                "{name:?} is no name: letters, digits, - and _"
            )));
        }
        if users.iter().any(|user| user.name == name) {
            return Err(Failure::usage(format!("{name} has two roles")));
        }
        let key = key(&folder.join(format!("{name}.nk")), &name)?;
        users.push(User { name, key, role });
    }
    if let Some(pool) = args.pools.iter().find(|pool| !names::is_token(pool)) {
        return Err(Failure::usage(format!("{pool:?} is no name of a pool")));
    }
    Ok(users)
}

/// The public key of a user, whose secret is made if it is not there.
fn key(path: &Path, name: &str) -> Result<String, Failure> {
    let bad = |why: String| Failure::input(format!("{}: {why}", path.display()));
    if path.exists() {
        let text = super::access::read(path)?;
        return Ok(Key::read(&text).map_err(bad)?.public());
    }
    let key = Key::generate();
    let text = format!(
        "# assay fleet: the key of {name}, {}\n{}\n",
        key.public(),
        key.seed().map_err(bad)?
    );
    write_secret(path, &text)?;
    Ok(key.public())
}

/// Writes a file that only its owner may read.
fn write_secret(path: &Path, text: &str) -> Result<(), Failure> {
    use std::io::Write;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    Ok(file.write_all(text.as_bytes())?)
}
