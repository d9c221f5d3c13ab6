//! Opening a board: whether it is one, which form it has, and what one may do with it.

use crate::error::{Error, WAIT_SECONDS, explain};
use crate::schema::{APPLICATION, NEWEST, STEPS};
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A board, open.
///
/// Every write is one transaction that is either there or not, whenever the program ends. Writers wait for each other;
/// readers wait for nobody.
#[derive(Debug)]
pub struct Board {
    pub(crate) connection: Connection,
    path: PathBuf,
}

impl Board {
    /// Opens a board to read and write; makes the file, and the folders it lies in, if they are not there.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
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

    /// The file.
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
            // The schema of a file is data from outside: nothing in it may run.
            connection.pragma_update(None, "trusted_schema", false)?;
            Ok(connection)
        });
        let connection = connection.map_err(|error| explain(path, &error))?;
        Ok(Self {
            connection,
            path: path.to_owned(),
        })
    }

    /// Brings the file to the newest form, and into the mode in which readers do not wait.
    fn prepare(&mut self) -> Result<(), Error> {
        let form = self.form()?;
        if form != NEWEST {
            self.write_ahead()?;
            self.write(upgrade)?;
        }
        self.connection
            .pragma_update(None, "synchronous", "FULL")
            .map_err(|error| self.explain(&error))
    }

    /// Switches to write-ahead logging. This does not wait for other programs by itself.
    fn write_ahead(&self) -> Result<(), Error> {
        let start = Instant::now();
        loop {
            let mode =
                self.connection
                    .pragma_update_and_check(None, "journal_mode", "WAL", |row| {
                        row.get::<_, String>(0)
                    });
            match mode.map_err(|error| self.explain(&error)) {
                // Some file systems cannot; the old journal is as safe, readers then wait.
                Ok(_) => return Ok(()),
                Err(Error::Locked { .. })
                    if start.elapsed() < Duration::from_secs(WAIT_SECONDS) =>
                {
                    std::thread::sleep(Duration::from_millis(20));
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The form of the file, after making sure that it is a board and not too new.
    fn form(&self) -> Result<i64, Error> {
        let (application, form, tables) = self.header().map_err(|error| self.explain(&error))?;
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

    /// Whose file it is, its form and how many things it holds, all seen at one moment: another program may be making
    /// the tables right now, and a file with tables and not yet a name would look like a stranger's.
    fn header(&self) -> rusqlite::Result<(i64, i64, i64)> {
        let moment = self.connection.unchecked_transaction()?;
        let number = |query| moment.query_row(query, [], |row| row.get::<_, i64>(0));
        Ok((
            number("PRAGMA application_id")?,
            number("PRAGMA user_version")?,
            number("SELECT count(*) FROM sqlite_schema")?,
        ))
    }

    /// One transaction, which waits for other writers at its start and not in its middle.
    pub(crate) fn write<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        let path = &self.path;
        let run = || {
            let transaction = self
                .connection
                .transaction_with_behavior(TransactionBehavior::Immediate)?;
            let done = work(&transaction)?;
            transaction.commit()?;
            Ok(done)
        };
        run().map_err(|error: rusqlite::Error| explain(path, &error))
    }

    /// What an error of this board's database means.
    pub(crate) fn explain(&self, error: &rusqlite::Error) -> Error {
        explain(&self.path, error)
    }
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
