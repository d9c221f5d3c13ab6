//! SQLite as a [`Session`].

use super::{Failed, Row, Session, Value};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ToSql, params_from_iter};
use std::sync::Arc;

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Integer(number) => ValueRef::Integer(*number),
            Self::Real(number) => ValueRef::Real(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

/// A value of a row. Text that is no UTF-8 comes from damage, and is shown as far as it can be.
fn value(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Integer(number),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => Value::Blob(bytes.to_vec()),
    }
}

impl Session for Connection {
    fn execute(&self, sql: &str, values: &[Value]) -> Result<u64, Failed> {
        let mut statement = self.prepare(sql)?;
        Ok(statement.execute(params_from_iter(values))? as u64)
    }

    fn each(
        &self,
        sql: &str,
        values: &[Value],
        take: &mut dyn FnMut(&Row) -> Result<(), Failed>,
    ) -> Result<(), Failed> {
        let mut statement = self.prepare(sql)?;
        let columns: Arc<[String]> = statement.column_names().map(str::to_owned).collect();
        let mut rows = statement.query(params_from_iter(values))?;
        while let Some(row) = rows.next()? {
            let values = (0..columns.len()).map(|place| row.get_ref(place).map(value));
            let row = Row {
                columns: Arc::clone(&columns),
                values: values.collect::<rusqlite::Result<_>>()?,
            };
            take(&row)?;
        }
        Ok(())
    }

    /// A transaction that writes has the whole file.
    fn hold(&self, _: i64) -> Result<(), Failed> {
        Ok(())
    }

    /// The next number is always above all that are there.
    fn renumber(&self, _: &str) -> Result<(), Failed> {
        Ok(())
    }
}
