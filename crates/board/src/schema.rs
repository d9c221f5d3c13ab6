//! The tables, as a list of steps: a board's form is how many of them it has been through.
//!
//! A step is never changed once released; a new need is a new step.

/// Marks the file as a board: "ASAY".
pub(crate) const APPLICATION: i64 = 0x4153_4159;

/// The newest form.
pub(crate) const NEWEST: i64 = STEPS.len() as i64;

/// What leads from each form to the next.
pub(crate) const STEPS: [&str; 4] = [RESULTS, CLAIMS, PROVENANCE, MODELLED];

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
