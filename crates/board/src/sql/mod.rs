//! The database under a board: one small interface, SQLite and PostgreSQL behind it.
//!
//! Queries are written once, in the SQL that both understand; parameters are `?1`, `?2`. What differs is here: types of
//! columns are in [`crate::schema`], writers wait for each other in [`Session::hold`].

#[cfg(feature = "postgres")]
pub(crate) mod postgresql;
pub(crate) mod sqlite;
#[cfg(feature = "postgres")]
mod tls;

use std::sync::Arc;

/// A value in a column, or for a parameter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    Blob(Vec<u8>),
}

/// A row of a result.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) columns: Arc<[String]>,
    pub(crate) values: Vec<Value>,
}

/// Why a query failed.
#[derive(Debug)]
pub(crate) enum Failed {
    Sqlite(rusqlite::Error),
    #[cfg(feature = "postgres")]
    Postgres(postgres::Error),
    /// A column is missing or of another type than the tables have.
    Shape(String),
    /// Two boards that should be equal are not.
    Differs(String),
}

impl From<rusqlite::Error> for Failed {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

/// What queries run in: a connection to read, a transaction to write.
pub(crate) trait Session {
    /// Runs a statement and returns the number of rows that it changed.
    fn execute(&self, sql: &str, values: &[Value]) -> Result<u64, Failed>;

    /// Calls `take` with every row of a query, in order. `take` must not start another query.
    fn each(
        &self,
        sql: &str,
        values: &[Value],
        take: &mut dyn FnMut(&Row) -> Result<(), Failed>,
    ) -> Result<(), Failed>;

    /// Makes other writers of this place wait until the transaction ends.
    fn hold(&self, place: i64) -> Result<(), Failed>;

    /// Prepares the numbering of rows for a table whose rows were written with their numbers.
    fn renumber(&self, table: &str) -> Result<(), Failed>;
}

/// All rows of a query.
pub(crate) fn rows<T>(
    session: &dyn Session,
    sql: &str,
    values: &[Value],
    mut read: impl FnMut(&Row) -> Result<T, Failed>,
) -> Result<Vec<T>, Failed> {
    let mut found = Vec::new();
    session.each(sql, values, &mut |row| {
        found.push(read(row)?);
        Ok(())
    })?;
    Ok(found)
}

/// The first row of a query, if there is one.
pub(crate) fn first<T>(
    session: &dyn Session,
    sql: &str,
    values: &[Value],
    mut read: impl FnMut(&Row) -> Result<T, Failed>,
) -> Result<Option<T>, Failed> {
    let mut found = None;
    session.each(sql, values, &mut |row| {
        if found.is_none() {
            found = Some(read(row)?);
        }
        Ok(())
    })?;
    Ok(found)
}

/// The number that a query returns.
pub(crate) fn number(session: &dyn Session, sql: &str, values: &[Value]) -> Result<i64, Failed> {
    let found = first(session, sql, values, |row| row.at(0))?;
    found.ok_or_else(|| Failed::Shape("a query returned no row".to_owned()))
}

impl Row {
    /// The value of a column by its name.
    pub(crate) fn get<T: FromValue>(&self, name: &str) -> Result<T, Failed> {
        let place = self.columns.iter().position(|column| column == name);
        let place = place.ok_or_else(|| Failed::Shape(format!("there is no column {name}")))?;
        self.at(place)
    }

    /// The value of a column by its place.
    pub(crate) fn at<T: FromValue>(&self, place: usize) -> Result<T, Failed> {
        let value = self.values.get(place).unwrap_or(&Value::Null);
        T::from_value(value).ok_or_else(|| {
            let name = self.columns.get(place).map_or("?", String::as_str);
            Failed::Shape(format!("column {name} is of another type"))
        })
    }
}

/// What a value may be read as; `None` if it is something else.
pub(crate) trait FromValue: Sized {
    fn from_value(value: &Value) -> Option<Self>;
}

impl FromValue for i64 {
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Integer(number) => Some(*number),
            _ => None,
        }
    }
}

impl FromValue for u32 {
    fn from_value(value: &Value) -> Option<Self> {
        i64::from_value(value).and_then(|number| u32::try_from(number).ok())
    }
}

impl FromValue for bool {
    fn from_value(value: &Value) -> Option<Self> {
        i64::from_value(value).map(|number| number != 0)
    }
}

impl FromValue for f64 {
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Real(number) => Some(*number),
            // SQLite writes a whole number without its point.
            Value::Integer(number) => Some(*number as f64),
            _ => None,
        }
    }
}

impl FromValue for String {
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        }
    }
}

impl FromValue for Vec<u8> {
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Blob(bytes) => Some(bytes.clone()),
            _ => None,
        }
    }
}

impl FromValue for Value {
    fn from_value(value: &Value) -> Option<Self> {
        Some(value.clone())
    }
}

impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Null => Some(None),
            value => T::from_value(value).map(Some),
        }
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Integer(number.into())
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Integer(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<usize> for Value {
    fn from(number: usize) -> Self {
        Self::Integer(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Self::Integer(truth.into())
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Real(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Self {
        Self::Text(text.clone())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Vec<u8>> for Value {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Blob(bytes)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// Parameters of a query, each whatever a [`Value`] can be made of.
macro_rules! values {
    ($($value:expr),* $(,)?) => {
        [$($crate::sql::Value::from($value)),*]
    };
}
pub(crate) use values;
