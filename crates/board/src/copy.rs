//! A board copied into another database, and the proof that the copy is one.

use crate::error::Error;
use crate::schema::TABLES;
use crate::sql::{self, Failed, Row, Session, Value};
use crate::store::Board;

/// What was copied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// Rows of each table, by its name.
    pub rows: Vec<(&'static str, u64)>,
    /// A number over every value of every row, the same for both boards.
    pub digest: u64,
}

impl Board {
    /// Copies everything into an empty board and compares both, row by row, before the copy becomes visible.
    ///
    /// ```
    /// use assay_board::Board;
    /// # let folder = std::env::temp_dir().join(format!("assay-copy-{}", std::process::id()));
    /// let from = Board::open(folder.join("from.db"))?;
    /// let mut to = Board::open(folder.join("to.db"))?;
    /// assert_eq!(from.copy_to(&mut to)?.rows.len(), 6);
    /// # std::fs::remove_dir_all(folder).map_err(|error| error.to_string())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn copy_to(&self, target: &mut Board) -> Result<Copied, Error> {
        let runs = target.runs()?;
        if runs > 0 {
            return Err(Error::NotEmpty {
                path: target.path().to_owned(),
                runs,
            });
        }
        let (source, name) = (self, self.path().display().to_string());
        target.write(|to| {
            let mut copied = Copied::default();
            for (table, columns, order) in TABLES {
                let rows = source
                    .read(|from| copy_table(from, to, table, columns, order))
                    .map_err(|error| Failed::Differs(format!("{name}: {error}")))?;
                if columns.starts_with("id,") {
                    to.renumber(table)?;
                }
                copied.rows.push((table, rows));
            }
            copied.digest = digest(to)?;
            let original = source
                .read(digest)
                .map_err(|error| Failed::Differs(format!("{name}: {error}")))?;
            if original != copied.digest {
                return Err(Failed::Differs(
                    "the rows of both are not the same".to_owned(),
                ));
            }
            Ok(copied)
        })
    }

    /// A number over every value of every row: boards with the same content have the same.
    pub fn digest(&self) -> Result<u64, Error> {
        self.read(digest)
    }
}

fn copy_table(
    from: &dyn Session,
    to: &dyn Session,
    table: &str,
    columns: &str,
    order: &str,
) -> Result<u64, Failed> {
    let places: Vec<String> = (1..=columns.split(',').count())
        .map(|place| format!("?{place}"))
        .collect();
    let insert = format!(
        "INSERT INTO {table} ({columns}) VALUES ({})",
        places.join(", ")
    );
    let mut rows = 0;
    each(from, table, columns, order, &mut |row| {
        rows += to.execute(&insert, &row.values)?;
        Ok(())
    })?;
    Ok(rows)
}

fn each(
    session: &dyn Session,
    table: &str,
    columns: &str,
    order: &str,
    take: &mut dyn FnMut(&Row) -> Result<(), Failed>,
) -> Result<(), Failed> {
    let query = format!("SELECT {columns} FROM {table} ORDER BY {order}");
    session.each(&query, &[], take)
}

/// FNV-1a over tables, columns and values in the order that all databases share.
fn digest(session: &dyn Session) -> Result<u64, Failed> {
    let mut hash = Hash(0xcbf2_9ce4_8422_2325);
    for (table, columns, order) in TABLES {
        hash.bytes(table.as_bytes());
        each(session, table, columns, order, &mut |row| {
            for value in &row.values {
                hash.value(value);
            }
            Ok(())
        })?;
        let count = sql::number(session, &format!("SELECT count(*) FROM {table}"), &[])?;
        hash.bytes(&count.to_le_bytes());
    }
    Ok(hash.0)
}

struct Hash(u64);

impl Hash {
    fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.bytes(&[0]),
            // SQLite may keep a whole number without its point, PostgreSQL by the column's type.
            Value::Integer(number) => self.bytes(&(*number as f64).to_bits().to_le_bytes()),
            Value::Real(number) => self.bytes(&number.to_bits().to_le_bytes()),
            Value::Text(text) => self.bytes(text.as_bytes()),
            Value::Blob(bytes) => self.bytes(bytes),
        }
        // Where a value ends counts too.
        self.bytes(&[0xff]);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}
