//! Opening a board: whether it is one, which form it has, and what one may do with it.

use crate::error::{Error, WAIT_SECONDS, explain, explain_failed};
use crate::schema::{APPLICATION, NEWEST, STEPS};
#[cfg(feature = "postgres")]
use crate::sql::postgresql::Server;
use crate::sql::{Failed, Session};
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Bytes that the log of changes may keep after they are in the file; when the file is closed it is emptied.
const LARGEST_LOG: i64 = 4 << 20;

/// A board, open.
///
/// Every write is one transaction that is either there or not, whenever the program ends. Writers wait for each other;
/// readers wait for nobody.
#[derive(Debug)]
pub struct Board {
    database: Database,
    /// The file, or the address without its password.
    path: PathBuf,
}

#[derive(Debug)]
enum Database {
    Sqlite(Connection),
    #[cfg(feature = "postgres")]
    Postgres(Box<Server>),
}

impl Board {
    /// Opens a board to read and write; makes the file, and the folders it lies in, if they are not there. An address
    /// (`postgres://user@host/database`) is a board on a server, whose tables are made if they are not there.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        if is_address(path) {
            return Self::on_server(path, false);
        }
        if let Some(folder) = path.parent().filter(|it| !it.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(|error| Error::ReadOnly {
                path: path.to_owned(),
                why: error.to_string(),
            })?;
        }
        refuse_folder(path)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let mut board = Self::connect(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        board.prepare()?;
        Ok(board)
    }

    /// Opens a board that is there, only to read it. One in an older form is first brought to the newest.
    pub fn open_to_read(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        if is_address(path) {
            return Self::on_server(path, true);
        }
        if !path.exists() {
            return Err(Error::Absent {
                path: path.to_owned(),
            });
        }
        refuse_folder(path)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let board = match Self::connect(path, flags).and_then(|board| Ok((board.form()?, board))) {
            Ok((_, board)) => board,
            // Where nothing can be written there is no place for the file that readers share. Without a journal
            // beside it the board is whole, and can be read as it lies.
            Err(Error::ReadOnly { .. }) if !has_journal(path) => Self::connect_unchanging(path)?,
            Err(error) => return Err(error),
        };
        match board.form()? {
            NEWEST => Ok(board),
            _ => Self::open(path),
        }
    }

    #[cfg(feature = "postgres")]
    fn on_server(path: &Path, reads: bool) -> Result<Self, Error> {
        Ok(Self {
            database: Database::Postgres(Box::new(Server::open(path, reads)?)),
            path: redacted(path),
        })
    }

    #[cfg(not(feature = "postgres"))]
    fn on_server(path: &Path, _: bool) -> Result<Self, Error> {
        Err(Error::NoPostgres {
            path: redacted(path),
        })
    }

    /// The file, or the address without its password.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn connect(path: &Path, flags: OpenFlags) -> Result<Self, Error> {
        let connection = Connection::open_with_flags(path, flags);
        Self::ready(path, connection)
    }

    fn connect_unchanging(path: &Path) -> Result<Self, Error> {
        // Characters that mean something in an address are written by their number.
        let address: String = path
            .to_string_lossy()
            .bytes()
            .map(|byte| match byte {
                b'/' | b'.' | b'-' | b'_' => char::from(byte).to_string(),
                _ if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
                _ => format!("%{byte:02x}"),
            })
            .collect();
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let connection = Connection::open_with_flags(format!("file:{address}?immutable=1"), flags);
        Self::ready(path, connection)
    }

    fn ready(path: &Path, connection: rusqlite::Result<Connection>) -> Result<Self, Error> {
        let connection = connection.and_then(|connection| {
            connection.busy_timeout(Duration::from_secs(WAIT_SECONDS))?;
            connection.pragma_update(None, "foreign_keys", true)?;
            // The SQLite of macOS leaves its log beside the file when the last one closes it, as long as this is not set.
            connection.pragma_update(None, "journal_size_limit", LARGEST_LOG)?;
            // The schema of a file is data from outside: nothing in it may run.
            connection.pragma_update(None, "trusted_schema", false)?;
            Ok(connection)
        });
        let connection = connection.map_err(|error| explain(path, &error))?;
        Ok(Self {
            database: Database::Sqlite(connection),
            path: path.to_owned(),
        })
    }

    /// Brings the file to the newest form, and into the mode in which readers do not wait.
    fn prepare(&mut self) -> Result<(), Error> {
        let form = self.form()?;
        let path = &self.path;
        #[allow(irrefutable_let_patterns, reason = "servers are a feature")]
        let Database::Sqlite(connection) = &mut self.database else {
            return Ok(());
        };
        if form != NEWEST {
            write_ahead(connection, path)?;
            transaction(connection, |transaction| Ok(upgrade(transaction)?))
                .map_err(|failed| explain_failed(path, failed))?;
        }
        connection
            .pragma_update(None, "synchronous", "FULL")
            .map_err(|error| explain(path, &error))
    }

    /// The form of the file, after making sure that it is a board and not too new.
    fn form(&self) -> Result<i64, Error> {
        #[allow(irrefutable_let_patterns, reason = "servers are a feature")]
        let Database::Sqlite(connection) = &self.database else {
            return Ok(NEWEST);
        };
        let (application, form, tables) =
            header(connection).map_err(|error| explain(&self.path, &error))?;
        if application != APPLICATION && tables > 0 {
            return Err(Error::NotABoard {
                path: self.path.clone(),
                why: "the file is a database of another program".to_owned(),
            });
        }
        if form > NEWEST {
            return Err(Error::Newer {
                path: self.path.clone(),
                found: form,
                known: NEWEST,
            });
        }
        Ok(form.max(0))
    }

    /// Reads with what `work` asks.
    pub(crate) fn read<T>(
        &self,
        work: impl FnOnce(&dyn Session) -> Result<T, Failed>,
    ) -> Result<T, Error> {
        let done = match &self.database {
            Database::Sqlite(connection) => work(connection),
            #[cfg(feature = "postgres")]
            Database::Postgres(server) => work(&**server),
        };
        done.map_err(|failed| explain_failed(&self.path, failed))
    }

    /// One transaction. It is there whole when this returns, or not at all.
    pub(crate) fn write<T>(
        &mut self,
        work: impl FnOnce(&dyn Session) -> Result<T, Failed>,
    ) -> Result<T, Error> {
        let done = match &mut self.database {
            Database::Sqlite(connection) => transaction(connection, |session| work(&**session)),
            #[cfg(feature = "postgres")]
            Database::Postgres(server) => server.write(work),
        };
        done.map_err(|failed| explain_failed(&self.path, failed))
    }
}

/// Returns true if a board's place is the address of a server and no file.
pub(crate) fn is_address(path: &Path) -> bool {
    let text = path.to_string_lossy();
    text.starts_with("postgres://") || text.starts_with("postgresql://")
}

/// An address without its password: `postgres://me:…@host/board`.
pub(crate) fn redacted(path: &Path) -> PathBuf {
    let text = path.to_string_lossy();
    let split = || {
        let (scheme, rest) = text.split_once("://")?;
        // A password may hold an `@` that is not written by its number.
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (user, host) = rest.get(..end)?.rsplit_once('@')?;
        let (name, _) = user.split_once(':')?;
        Some(format!("{scheme}://{name}:…@{host}{}", rest.get(end..)?))
    };
    let shown = split().unwrap_or_else(|| text.clone().into_owned());
    match shown.split_once("password=") {
        Some((before, _)) => format!("{before}password=…").into(),
        None => shown.into(),
    }
}

/// Switches to write-ahead logging. This does not wait for other programs by itself.
fn write_ahead(connection: &Connection, path: &Path) -> Result<(), Error> {
    let start = Instant::now();
    loop {
        let mode = connection
            .pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0));
        match mode.map_err(|error| explain(path, &error)) {
            // Some file systems cannot; the old journal is as safe, readers then wait.
            Ok(_) => return Ok(()),
            Err(Error::Locked { .. }) if start.elapsed() < Duration::from_secs(WAIT_SECONDS) => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(error) => return Err(error),
        }
    }
}

/// Whose file it is, its form and how many things it holds, all seen at one moment: another program may be making
/// the tables right now, and a file with tables and not yet a name would look like a stranger's.
fn header(connection: &Connection) -> rusqlite::Result<(i64, i64, i64)> {
    let moment = connection.unchecked_transaction()?;
    let number = |query| moment.query_row(query, [], |row| row.get::<_, i64>(0));
    Ok((
        number("PRAGMA application_id")?,
        number("PRAGMA user_version")?,
        number("SELECT count(*) FROM sqlite_schema")?,
    ))
}

/// One transaction of SQLite, which waits for other writers at its start and not in its middle.
fn transaction<T>(
    connection: &mut Connection,
    work: impl FnOnce(&Transaction<'_>) -> Result<T, Failed>,
) -> Result<T, Failed> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let done = work(&transaction)?;
    transaction.commit()?;
    Ok(done)
}

/// Takes a board through the steps it has not been through. Runs inside a transaction that has the file for itself:
/// another program may have been faster.
fn upgrade(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    let form: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    for step in STEPS.iter().skip(usize::try_from(form).unwrap_or(0)) {
        transaction.execute_batch(step)?;
    }
    if form < NEWEST {
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.pragma_update(None, "user_version", NEWEST)?;
    }
    Ok(())
}

fn refuse_folder(path: &Path) -> Result<(), Error> {
    match path.is_dir() {
        false => Ok(()),
        true => Err(Error::NotABoard {
            path: path.to_owned(),
            why: "it is a folder".to_owned(),
        }),
    }
}

/// Whether something written lies beside the file and not yet in it.
fn has_journal(path: &Path) -> bool {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    std::fs::metadata(name).is_ok_and(|journal| journal.len() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_password() {
        for (address, shown) in [
            ("postgres://me@host/db", "postgres://me@host/db"),
            (
                "postgres://me:secret@host:5432/db",
                "postgres://me:…@host:5432/db",
            ),
            (
                "postgres://me:a@b@host/db?x=1",
                "postgres://me:…@host/db?x=1",
            ),
            (
                "postgresql://host/db?user=me&password=secret",
                "postgresql://host/db?user=me&password=…",
            ),
        ] {
            assert_eq!(redacted(Path::new(address)), Path::new(shown));
        }
        assert!(!is_address(Path::new("board.db")));
    }
}
