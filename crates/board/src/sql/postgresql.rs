//! PostgreSQL as a [`Session`]: a team's board.
//!
//! The tables lie in a schema of their own, `assay`, so that a database may hold other things too. Writers of different
//! places do not wait for each other; writers of one place do, on its row.

use super::tls::Tls;
use super::{Failed, Row, Session, Value};
use crate::error::{Error, WAIT_SECONDS};
use crate::schema::{APPLICATION, NEWEST, STEPS, for_postgres};
use crate::store::redacted;
use bytes::BytesMut;
use postgres::config::SslMode;
use postgres::error::SqlState;
use postgres::fallible_iterator::FallibleIterator;
use postgres::types::{IsNull, ToSql, Type};
use postgres::{Client, Config, GenericClient, NoTls};
use std::cell::{RefCell, RefMut};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

impl From<postgres::Error> for Failed {
    fn from(error: postgres::Error) -> Self {
        Self::Postgres(error)
    }
}

/// A connection that is made again when the server was away.
#[derive(Debug)]
pub(crate) struct Server {
    config: Config,
    /// For addresses with `sslmode=require`; others are not encrypted.
    tls: Option<Tls>,
    client: RefCell<Conn>,
    /// Only reads: the server refuses anything else.
    reads: bool,
}

/// A client and when it was last asked for; its `Debug` shows no password.
struct Conn {
    client: Client,
    used: Instant,
}

impl std::fmt::Debug for Conn {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Client")
    }
}

/// How long a server may take to answer the first time.
const CONNECT: Duration = Duration::from_secs(10);

/// A connection that was not used for so long may have been lost, and is tried first.
const IDLE: Duration = Duration::from_millis(100);

impl Server {
    /// Connects, and brings the tables to the newest form.
    pub(crate) fn open(path: &Path, reads: bool) -> Result<Self, Error> {
        let shown = redacted(path);
        let text = path.to_string_lossy();
        let mut config: Config = text.parse().map_err(|error: postgres::Error| {
            let why = error.to_string();
            Error::Database {
                path: shown.clone(),
                why,
            }
        })?;
        config
            .application_name("assay")
            .connect_timeout(CONNECT)
            .keepalives(true)
            .keepalives_idle(Duration::from_secs(30));
        let tls = match config.get_ssl_mode() {
            SslMode::Require => Some(Tls::new().map_err(|why| Error::Refused {
                path: shown.clone(),
                why,
            })?),
            _ => None,
        };
        let client = connect(&config, tls.as_ref()).map_err(|error| explain(&shown, &error))?;
        let server = Self {
            config,
            tls,
            client: RefCell::new(Conn {
                client,
                used: Instant::now(),
            }),
            reads,
        };
        server.prepare(&shown)?;
        Ok(server)
    }

    fn prepare(&self, shown: &Path) -> Result<(), Error> {
        let explain = |error: postgres::Error| explain(shown, &error);
        let mut client = self.ready().map_err(explain)?;
        let form = form(&mut *client).map_err(explain)?;
        if form > NEWEST {
            return Err(Error::Newer {
                path: shown.to_owned(),
                found: form,
                known: NEWEST,
            });
        }
        if form < NEWEST {
            upgrade(&mut client).map_err(explain)?;
        }
        if self.reads {
            client
                .batch_execute("SET default_transaction_read_only = on")
                .map_err(explain)?;
        }
        Ok(())
    }

    /// The client, connected again if the connection was lost between two uses.
    pub(crate) fn ready(&self) -> Result<RefMut<'_, Client>, postgres::Error> {
        let mut conn = self.client.borrow_mut();
        // What the server said in the meantime is read only when something is asked.
        let lost = conn.client.is_closed()
            || conn.used.elapsed() > IDLE && conn.client.is_valid(CONNECT).is_err();
        if lost {
            conn.client = connect(&self.config, self.tls.as_ref())?;
            if self.reads {
                conn.client
                    .batch_execute("SET default_transaction_read_only = on")?;
            }
        }
        conn.used = Instant::now();
        Ok(RefMut::map(conn, |conn| &mut conn.client))
    }

    /// One transaction.
    pub(crate) fn write<T>(
        &self,
        work: impl FnOnce(&dyn Session) -> Result<T, Failed>,
    ) -> Result<T, Failed> {
        let mut client = self.ready()?;
        let transaction = RefCell::new(client.transaction()?);
        let done = work(&InTransaction(&transaction))?;
        transaction.into_inner().commit()?;
        Ok(done)
    }
}

fn connect(config: &Config, tls: Option<&Tls>) -> Result<Client, postgres::Error> {
    let mut client = match tls {
        Some(tls) => config.connect(tls.clone())?,
        None => config.connect(NoTls)?,
    };
    client.batch_execute(&format!(
        "SET lock_timeout = '{WAIT_SECONDS}s'; SET client_min_messages = warning; SET search_path TO assay"
    ))?;
    Ok(client)
}

/// How many steps the tables have been through; 0 where there are none.
fn form(client: &mut impl GenericClient) -> Result<i64, postgres::Error> {
    let there = client.query_one("SELECT to_regclass('assay.board') IS NOT NULL", &[])?;
    if !there.get::<_, bool>(0) {
        return Ok(0);
    }
    let form = client.query_opt("SELECT form FROM assay.board", &[])?;
    Ok(form.map_or(0, |row| row.get(0)))
}

/// Takes the tables through the steps they have not been through, while nobody else does: the lock's number is the board's
/// own. It is taken before the transaction begins, whose view of the tables would otherwise be from before the wait.
fn upgrade(client: &mut Client) -> Result<(), postgres::Error> {
    client.execute("SELECT pg_advisory_lock($1)", &[&APPLICATION])?;
    let upgraded = take_steps(client);
    client.execute("SELECT pg_advisory_unlock($1)", &[&APPLICATION])?;
    upgraded
}

fn take_steps(client: &mut Client) -> Result<(), postgres::Error> {
    let mut transaction = client.transaction()?;
    let form = form(&mut transaction)?;
    if form == 0 {
        transaction.batch_execute(
            "CREATE SCHEMA IF NOT EXISTS assay;
             CREATE TABLE IF NOT EXISTS assay.board (form BIGINT NOT NULL)",
        )?;
    }
    for step in STEPS.iter().skip(usize::try_from(form).unwrap_or(0)) {
        transaction.batch_execute(&for_postgres(step))?;
    }
    if form == 0 {
        transaction.execute("INSERT INTO board (form) VALUES ($1)", &[&NEWEST])?;
    } else if form < NEWEST {
        transaction.execute("UPDATE board SET form = $1", &[&NEWEST])?;
    }
    transaction.commit()
}

/// What an error of the server means for the user.
pub(crate) fn explain(path: &Path, error: &postgres::Error) -> Error {
    let path = path.to_owned();
    let why = match error.as_db_error() {
        Some(error) => error.message().to_owned(),
        None => match std::error::Error::source(error) {
            Some(cause) => format!("{error}: {cause}"),
            None => error.to_string(),
        },
    };
    match error.code() {
        Some(code) if *code == SqlState::LOCK_NOT_AVAILABLE => Error::Locked {
            path,
            seconds: WAIT_SECONDS,
        },
        Some(code)
            if [
                SqlState::INSUFFICIENT_PRIVILEGE,
                SqlState::READ_ONLY_SQL_TRANSACTION,
                SqlState::DISK_FULL,
            ]
            .contains(code) =>
        {
            Error::ReadOnly { path, why }
        }
        Some(code)
            if [
                SqlState::INVALID_PASSWORD,
                SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
                SqlState::INVALID_CATALOG_NAME,
            ]
            .contains(code) =>
        {
            Error::Refused { path, why }
        }
        Some(_) => Error::Database { path, why },
        None => Error::Unreachable { path, why },
    }
}

/// A transaction that several queries use in turn.
struct InTransaction<'a, 'b>(&'a RefCell<postgres::Transaction<'b>>);

impl Session for InTransaction<'_, '_> {
    fn execute(&self, sql: &str, values: &[Value]) -> Result<u64, Failed> {
        execute(&mut *self.0.borrow_mut(), sql, values)
    }

    fn each(
        &self,
        sql: &str,
        values: &[Value],
        take: &mut dyn FnMut(&Row) -> Result<(), Failed>,
    ) -> Result<(), Failed> {
        each(&mut *self.0.borrow_mut(), sql, values, take)
    }

    fn hold(&self, place: i64) -> Result<(), Failed> {
        let sql = "SELECT id FROM place WHERE id = ?1 FOR UPDATE";
        self.execute(sql, &[Value::Integer(place)]).map(drop)
    }

    fn renumber(&self, table: &str) -> Result<(), Failed> {
        // The name is one of our own tables.
        let sql = format!(
            "SELECT setval(pg_get_serial_sequence('assay.{table}', 'id'),
                           (SELECT coalesce(max(id), 0) + 1 FROM {table}), false)"
        );
        self.execute(&sql, &[]).map(drop)
    }
}

impl Session for Server {
    fn execute(&self, sql: &str, values: &[Value]) -> Result<u64, Failed> {
        execute(&mut *self.ready()?, sql, values)
    }

    fn each(
        &self,
        sql: &str,
        values: &[Value],
        take: &mut dyn FnMut(&Row) -> Result<(), Failed>,
    ) -> Result<(), Failed> {
        each(&mut *self.ready()?, sql, values, take)
    }

    fn hold(&self, _: i64) -> Result<(), Failed> {
        Ok(())
    }

    fn renumber(&self, _: &str) -> Result<(), Failed> {
        Ok(())
    }
}

fn execute(client: &mut impl GenericClient, sql: &str, values: &[Value]) -> Result<u64, Failed> {
    let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| value as _).collect();
    Ok(client.execute(&translated(sql), &values)?)
}

fn each(
    client: &mut impl GenericClient,
    sql: &str,
    values: &[Value],
    take: &mut dyn FnMut(&Row) -> Result<(), Failed>,
) -> Result<(), Failed> {
    let values = values.iter().map(|value| value as &(dyn ToSql + Sync));
    let mut rows = client.query_raw(&translated(sql), values)?;
    let mut columns: Option<Arc<[String]>> = None;
    while let Some(row) = rows.next()? {
        let names = columns.get_or_insert_with(|| {
            let names = row.columns().iter();
            names.map(|column| column.name().to_owned()).collect()
        });
        let values = (0..row.len()).map(|place| value(&row, place));
        let row = Row {
            columns: Arc::clone(names),
            values: values.collect::<Result<_, Failed>>()?,
        };
        take(&row)?;
    }
    Ok(())
}

/// Parameters as PostgreSQL writes them: `$1` for `?1`. Our queries hold no other question marks.
fn translated(sql: &str) -> String {
    sql.replace('?', "$")
}

fn value(row: &postgres::Row, place: usize) -> Result<Value, Failed> {
    let Some(column) = row.columns().get(place) else {
        return Ok(Value::Null);
    };
    Ok(match *column.type_() {
        Type::INT8 => row.try_get::<_, Option<i64>>(place)?.into(),
        Type::INT4 => row.try_get::<_, Option<i32>>(place)?.map(i64::from).into(),
        Type::BOOL => row.try_get::<_, Option<bool>>(place)?.into(),
        Type::FLOAT8 => row.try_get::<_, Option<f64>>(place)?.into(),
        Type::TEXT => row.try_get::<_, Option<String>>(place)?.into(),
        Type::BYTEA => row.try_get::<_, Option<Vec<u8>>>(place)?.into(),
        ref other => return Err(Failed::Shape(format!("a column of type {other}"))),
    })
}

impl ToSql for Value {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match (self, kind) {
            (Self::Null, _) => Ok(IsNull::Yes),
            (Self::Integer(number), &Type::INT4) => i32::try_from(*number)?.to_sql(kind, out),
            (Self::Integer(number), &Type::FLOAT8) => (*number as f64).to_sql(kind, out),
            (Self::Integer(number), _) => number.to_sql(kind, out),
            (Self::Real(number), _) => number.to_sql(kind, out),
            (Self::Text(text), _) => text.to_sql(kind, out),
            (Self::Blob(bytes), _) => bytes.to_sql(kind, out),
        }
    }

    fn accepts(kind: &Type) -> bool {
        [
            Type::INT8,
            Type::INT4,
            Type::FLOAT8,
            Type::TEXT,
            Type::BYTEA,
        ]
        .contains(kind)
    }

    postgres::types::to_sql_checked!();
}
