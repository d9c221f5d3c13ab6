//! Whose turn it is to evaluate a program, when several sessions share a database.
//!
//! Before a program is predicted or proven its session takes the turn. Another session that comes to the same program waits
//! for the result. A turn whose process is gone goes to whoever asks, as does one that is older than [`LONGEST_SECONDS`],
//! or than [`STALE_SECONDS`] where nothing tells which processes run.

use super::{Database, Error, SessionId};
use rusqlite::{OptionalExtension, params};

/// A turn older than this is taken over where nothing tells which processes run.
const STALE_SECONDS: i64 = 120;
/// A turn older than this is taken over although a process of that number runs: it may be another by now.
const LONGEST_SECONDS: i64 = 3600;

/// Whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The session that asked.
    Own,
    /// Another session, which is at it.
    Other,
}

impl Database {
    /// Takes the turn to evaluate a program (or to prove it, under another name), unless another session has it.
    pub fn take_turn(
        &mut self,
        session: SessionId,
        program: &str,
        (chip, model): (&str, &str),
    ) -> Result<Turn, Error> {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let now = now.map_or(0, |time| time.as_secs() as i64);
        let process = i64::from(std::process::id());
        self.write(|transaction| {
            let holder = transaction
                .query_row(
                    "SELECT session, process, started_at FROM evaluation WHERE program = ?1 AND chip = ?2 AND model = ?3",
                    params![program, chip, model],
                    |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?)),
                )
                .optional()?;
            let taken = holder.is_some_and(|(holder, of, since)| {
                holder != session.0 && is_at_it(of, now - since)
            });
            if taken {
                return Ok(Turn::Other);
            }
            transaction.execute(
                "INSERT OR REPLACE INTO evaluation (program, chip, model, session, process, started_at) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![program, chip, model, session.0, process, now],
            )?;
            Ok(Turn::Own)
        })
    }

    /// Ends all turns of a session.
    pub fn end_turns(&mut self, session: SessionId) -> Result<(), Error> {
        self.write(|transaction| {
            transaction.execute("DELETE FROM evaluation WHERE session = ?1", [session.0])?;
            Ok(())
        })
    }
}

impl Database {
    /// Takes a session for this process. Returns false if another process is at it.
    pub fn enter(&mut self, session: SessionId) -> Result<bool, Error> {
        let process = i64::from(std::process::id());
        let name = format!("session {}", session.0);
        self.write(|transaction| {
            let holder = transaction
                .query_row(
                    "SELECT process FROM evaluation WHERE program = ?1 AND chip = '' AND model = ''",
                    [&name],
                    |row| row.get::<_, i64>(0),
                )
                .optional()?;
            if holder.is_some_and(|holder| holder != process && is_known_to_run(holder)) {
                return Ok(false);
            }
            transaction.execute(
                "INSERT OR REPLACE INTO evaluation (program, chip, model, session, process, started_at) \
                 VALUES (?1, '', '', ?2, ?3, 0)",
                params![name, -session.0, process],
            )?;
            Ok(true)
        })
    }

    /// Gives a session back.
    pub fn leave(&mut self, session: SessionId) -> Result<(), Error> {
        self.write(|transaction| {
            transaction.execute("DELETE FROM evaluation WHERE session = ?1", [-session.0])?;
            Ok(())
        })
    }
}

/// Whether a process of this machine runs: it can be sent a signal, or only its owner may send one. `None` where the system
/// does not tell.
#[cfg(unix)]
fn runs(process: i64) -> Option<bool> {
    use rustix::process::{Pid, test_kill_process};
    let id = i32::try_from(process).ok().filter(|id| *id > 0);
    let Some(id) = id.and_then(Pid::from_raw) else {
        return Some(false);
    };
    Some(match test_kill_process(id) {
        Ok(()) => true,
        Err(error) => error == rustix::io::Errno::PERM,
    })
}

#[cfg(not(unix))]
fn runs(_process: i64) -> Option<bool> {
    None
}

fn is_known_to_run(process: i64) -> bool {
    runs(process) == Some(true)
}

/// Returns true if a process may still be at what it took a turn for, so many seconds ago.
fn is_at_it(process: i64, seconds: i64) -> bool {
    match runs(process) {
        Some(runs) => seconds < LONGEST_SECONDS && runs,
        None => seconds < STALE_SECONDS,
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::{LONGEST_SECONDS, is_at_it, runs};

    /// Without a look into `/proc`, which macOS does not have.
    #[test]
    fn processes_are_known_by_signals() {
        let own = i64::from(std::process::id());
        assert_eq!(runs(own), Some(true));
        assert_eq!(runs(1), Some(true), "of another user, maybe");
        let mut ended = std::process::Command::new("true").spawn().expect("starts");
        ended.wait().expect("ends");
        assert_eq!(runs(i64::from(ended.id())), Some(false));
        for nonsense in [0, -1, i64::MAX] {
            assert_eq!(runs(nonsense), Some(false), "{nonsense}");
        }
        assert!(is_at_it(own, 10));
        assert!(!is_at_it(own, LONGEST_SECONDS));
    }
}
