//! Opening a database of attempts.

use super::error::{Error, WAIT_SECONDS, explain};
use super::schema::{APPLICATION, NEWEST, STEPS};
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A database of attempts, open.
#[derive(Debug)]
pub struct Database {
    pub(super) connection: Connection,
    path: PathBuf,
}

impl Database {
    /// Opens a database to read and write; makes the file, and the folders it lies in, if they are not there.
    ///
    /// ```
    /// let folder = tempfile::tempdir()?;
    /// let database = assay_tune::attempts::Database::open(folder.path().join("attempts.db"))?;
    /// assert!(database.sessions()?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(path: impl AsRef<Path>) -> Result<Database, Error> {
        let path = path.as_ref();
        if let Some(folder) = path.parent().filter(|it| !it.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(|error| Error::ReadOnly {
                path: path.to_owned(),
                why: error.to_string(),
            })?;
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let mut database = Database::connect(path, flags)?;
        database.prepare()?;
        Ok(database)
    }

    /// Opens a database that is there.
    pub fn open_to_read(path: impl AsRef<Path>) -> Result<Database, Error> {
        let path = path.as_ref();
        if !path.exists() {
            return Err(Error::Absent {
                path: path.to_owned(),
            });
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
        let read = Database::connect(path, flags).and_then(|it| Ok((it.form()?, it)));
        match read {
            Ok((NEWEST, database)) => Ok(database),
            // An older form, or a journal beside it that has to be replayed first.
            Ok(_) | Err(Error::ReadOnly { .. }) => Database::open(path),
            Err(error) => Err(error),
        }
    }

    fn connect(path: &Path, flags: OpenFlags) -> Result<Database, Error> {
        if path.is_dir() {
            return Err(Error::Foreign {
                path: path.to_owned(),
                why: "it is a folder".to_owned(),
            });
        }
        let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).and_then(|connection| {
            connection.busy_timeout(Duration::from_secs(WAIT_SECONDS))?;
            connection.pragma_update(None, "foreign_keys", true)?;
            // The schema of a file is data from outside: nothing in it may run.
            connection.pragma_update(None, "trusted_schema", false)?;
            Ok(connection)
        });
        Ok(Database {
            connection: connection.map_err(|error| explain(path, &error))?,
            path: path.to_owned(),
        })
    }

    fn prepare(&mut self) -> Result<(), Error> {
        if self.form()? != NEWEST {
            self.write_ahead()?;
            self.write(upgrade)?;
        }
        let synchronous = self.connection.pragma_update(None, "synchronous", "FULL");
        synchronous.map_err(|error| self.explain(&error))
    }

    /// Switches to write-ahead logging, which does not wait for other programs by itself.
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
                Err(Error::Locked { .. }) if start.elapsed().as_secs() < WAIT_SECONDS => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The form of the file, after making sure that it is a database of attempts and not too new.
    fn form(&self) -> Result<i64, Error> {
        // Seen at one moment: another program may be making the tables right now.
        let header = || -> rusqlite::Result<(i64, i64, i64)> {
            let moment = self.connection.unchecked_transaction()?;
            let number = |query| moment.query_row(query, [], |row| row.get::<_, i64>(0));
            Ok((
                number("PRAGMA application_id")?,
                number("PRAGMA user_version")?,
                number("SELECT count(*) FROM sqlite_schema")?,
            ))
        };
        let (application, form, tables) = header().map_err(|error| self.explain(&error))?;
        let path = self.path.clone();
        if application != APPLICATION && tables > 0 {
            let why = "the file is a database of another program".to_owned();
            return Err(Error::Foreign { path, why });
        }
        if form > NEWEST {
            let (found, known) = (form, NEWEST);
            return Err(Error::Newer { path, found, known });
        }
        Ok(form.max(0))
    }

    /// One transaction, which waits for other writers at its start and not in its middle.
    pub(super) fn write<T>(
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

    /// What an error of the database means.
    pub(super) fn explain(&self, error: &rusqlite::Error) -> Error {
        explain(&self.path, error)
    }
}

/// Takes a database through the steps it has not been through; another program may have been faster.
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
