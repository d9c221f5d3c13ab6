//! The tables, as a list of steps: a board's form is how many of them it has been through.
//!
//! A step is never changed once released; a new need is a new step. Steps are written in SQLite's words;
//! [`for_postgres`] has PostgreSQL's for the few that differ.

/// Marks the file as a board: "ASAY".
pub(crate) const APPLICATION: i64 = 0x4153_4159;

/// The newest form.
pub(crate) const NEWEST: i64 = STEPS.len() as i64;

/// What leads from each form to the next.
pub(crate) const STEPS: [&str; 5] = [RESULTS, CLAIMS, PROVENANCE, MODELLED, JOBS];

/// Form 1: verified results.
const RESULTS: &str = "
CREATE TABLE source (
    hash TEXT PRIMARY KEY,
    text TEXT NOT NULL
) WITHOUT ROWID;

-- What competes with what.
CREATE TABLE place (
    id INTEGER PRIMARY KEY,
    kernel TEXT NOT NULL,
    kernel_set TEXT NOT NULL,
    dtype TEXT NOT NULL,
    size_set TEXT NOT NULL,
    sizes TEXT NOT NULL,
    device TEXT NOT NULL,
    origin TEXT NOT NULL CHECK (origin IN ('measured', 'host')),
    mode TEXT NOT NULL,
    UNIQUE (kernel, dtype, size_set, sizes, device, origin, mode)
);

-- Verified runs, each whole.
CREATE TABLE run (
    id INTEGER PRIMARY KEY,
    place INTEGER NOT NULL REFERENCES place (id),
    source TEXT NOT NULL REFERENCES source (hash),
    source_path TEXT NOT NULL,
    taken_at INTEGER NOT NULL,
    chip TEXT,
    gpu_cores INTEGER,
    seed TEXT NOT NULL,
    comparisons INTEGER NOT NULL,
    max_relative REAL,
    median REAL NOT NULL CHECK (median > 0),
    samples BLOB NOT NULL,
    warm_up INTEGER NOT NULL,
    buffer_sets INTEGER NOT NULL,
    stop TEXT NOT NULL,
    remarks TEXT NOT NULL,
    flops INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    environment TEXT NOT NULL,
    reference TEXT,
    reference_samples BLOB
);
CREATE INDEX run_of_source ON run (place, source, median);

-- How the record at a place changed hands: the last row is who holds it.
CREATE TABLE record (
    id INTEGER PRIMARY KEY,
    place INTEGER NOT NULL REFERENCES place (id),
    run INTEGER NOT NULL REFERENCES run (id),
    beaten INTEGER REFERENCES run (id),
    ratio REAL,
    ratio_low REAL,
    ratio_high REAL
);
CREATE INDEX record_of_place ON record (place, id);
";

/// Form 2: what others say, which nobody here has verified.
const CLAIMS: &str = "
CREATE TABLE claim (
    id INTEGER PRIMARY KEY,
    kernel TEXT NOT NULL,
    device TEXT NOT NULL,
    gpu_cores INTEGER,
    format TEXT NOT NULL,
    taken_at TEXT,
    imported_at INTEGER NOT NULL,
    time REAL,
    speedup REAL,
    gflops REAL,
    gbps REAL,
    iterations INTEGER,
    correct INTEGER,
    max_error REAL,
    source_path TEXT,
    source TEXT REFERENCES source (hash),
    body TEXT NOT NULL,
    UNIQUE (kernel, device, format, body)
);
";

/// Form 3: what a result is worth. A description is kept among the sources, under its hash; runs without one are from
/// before.
const PROVENANCE: &str = "
ALTER TABLE run ADD COLUMN description TEXT;
ALTER TABLE run ADD COLUMN compared INTEGER;
ALTER TABLE run ADD COLUMN elements INTEGER;
ALTER TABLE record ADD COLUMN old_time REAL;
ALTER TABLE record ADD COLUMN new_time REAL;
";

/// Form 4: predicted times, apart from everything that a clock has told.
const MODELLED: &str = "
CREATE TABLE modelled (
    kernel TEXT NOT NULL,
    dtype TEXT NOT NULL,
    size_set TEXT NOT NULL,
    source TEXT NOT NULL,
    chip TEXT NOT NULL,
    model TEXT NOT NULL,
    time REAL NOT NULL,
    low REAL NOT NULL,
    high REAL NOT NULL,
    limited_by TEXT NOT NULL,
    predicted_at INTEGER NOT NULL,
    PRIMARY KEY (kernel, dtype, size_set, source, chip, model)
) WITHOUT ROWID;
";

/// Form 5: which job of a fleet a run answers. A job that is answered twice is still one run.
const JOBS: &str = "
ALTER TABLE run ADD COLUMN job TEXT;
CREATE UNIQUE INDEX run_of_job ON run (job);
";

/// Every table, its columns, and the order of its rows that is the same in every database.
pub(crate) const TABLES: [(&str, &str, &str); 6] = [
    ("source", "hash, text", "hash"),
    (
        "place",
        "id, kernel, kernel_set, dtype, size_set, sizes, device, origin, mode",
        "id",
    ),
    (
        "run",
        "id, place, source, source_path, taken_at, chip, gpu_cores, seed, comparisons, max_relative, median, samples,
         warm_up, buffer_sets, stop, remarks, flops, bytes, environment, reference, reference_samples, description,
         compared, elements, job",
        "id",
    ),
    (
        "record",
        "id, place, run, beaten, ratio, ratio_low, ratio_high, old_time, new_time",
        "id",
    ),
    (
        "claim",
        "id, kernel, device, gpu_cores, format, taken_at, imported_at, time, speedup, gflops, gbps, iterations, correct,
         max_error, source_path, source, body",
        "id",
    ),
    (
        "modelled",
        "kernel, dtype, size_set, source, chip, model, time, low, high, limited_by, predicted_at",
        "kernel, dtype, size_set, source, chip, model",
    ),
];

/// A step in PostgreSQL's words. Text is ordered by its bytes, as SQLite orders it.
#[cfg(feature = "postgres")]
pub(crate) fn for_postgres(step: &str) -> String {
    let words = [
        // An index row of PostgreSQL has less than 3 kB, and the body of a claim may have more.
        (
            "body TEXT NOT NULL,\n    UNIQUE (kernel, device, format, body)\n);",
            "body TEXT NOT NULL\n);\nCREATE UNIQUE INDEX claim_once ON claim (kernel, device, format, md5(body));",
        ),
        (
            "INTEGER PRIMARY KEY",
            "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY",
        ),
        (" INTEGER", " BIGINT"),
        (" REAL", " DOUBLE PRECISION"),
        (" BLOB", " BYTEA"),
        (" TEXT", " TEXT COLLATE \"C\""),
        (") WITHOUT ROWID", ")"),
    ];
    let replace = |step: String, (ours, theirs): &(&str, &str)| step.replace(ours, theirs);
    words.iter().fold(step.to_owned(), replace)
}
