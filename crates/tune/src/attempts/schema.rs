//! The tables, as a list of steps: a database's form is how many of them it has been through.
//!
//! A step is never changed once released; a new need is a new step.

/// Marks the file as a database of attempts: "ASAT".
pub(super) const APPLICATION: i64 = 0x4153_4154;

/// The newest form.
pub(super) const NEWEST: i64 = STEPS.len() as i64;

/// What leads from each form to the next.
pub(super) const STEPS: [&str; 3] = [ATTEMPTS, CALLS, SHARED];

/// Form 1.
const ATTEMPTS: &str = "
CREATE TABLE source (
    hash TEXT PRIMARY KEY,
    text TEXT NOT NULL
) WITHOUT ROWID;

-- One search. Equal keys search the same kernel in the same way.
CREATE TABLE session (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL,
    kernel TEXT NOT NULL,
    chip TEXT NOT NULL,
    seed TEXT NOT NULL,
    command TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER
);
CREATE INDEX session_of_key ON session (key, id);

-- Predicted times by the fingerprint of program and geometry: any session may use them.
CREATE TABLE prediction (
    program TEXT NOT NULL,
    chip TEXT NOT NULL,
    model TEXT NOT NULL,
    time_us REAL NOT NULL CHECK (time_us > 0),
    low_us REAL NOT NULL,
    high_us REAL NOT NULL,
    limited_by TEXT NOT NULL,
    class TEXT NOT NULL,
    terms TEXT NOT NULL,
    PRIMARY KEY (program, chip, model)
) WITHOUT ROWID;

CREATE TABLE attempt (
    session INTEGER NOT NULL REFERENCES session (id),
    ordinal INTEGER NOT NULL,
    parent INTEGER,
    phase TEXT NOT NULL,
    knobs TEXT NOT NULL,
    steps TEXT NOT NULL,
    -- What was made, where something was.
    program TEXT,
    model TEXT,
    class TEXT,
    geometry TEXT,
    source TEXT REFERENCES source (hash),
    -- Where it failed and why, where it did.
    stage TEXT,
    why TEXT,
    made_at INTEGER NOT NULL,
    PRIMARY KEY (session, ordinal),
    FOREIGN KEY (session, parent) REFERENCES attempt (session, ordinal)
) WITHOUT ROWID;

CREATE TABLE verification (
    session INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    level TEXT NOT NULL,
    stage TEXT,
    why TEXT,
    detail TEXT,
    PRIMARY KEY (session, ordinal, level),
    FOREIGN KEY (session, ordinal) REFERENCES attempt (session, ordinal)
) WITHOUT ROWID;

CREATE TABLE measurement (
    session INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    device TEXT NOT NULL,
    median_us REAL NOT NULL CHECK (median_us > 0),
    ratio_low REAL,
    ratio_high REAL,
    PRIMARY KEY (session, ordinal, device),
    FOREIGN KEY (session, ordinal) REFERENCES attempt (session, ordinal)
) WITHOUT ROWID;

CREATE TABLE decision (
    session INTEGER PRIMARY KEY REFERENCES session (id),
    winner INTEGER,
    kept INTEGER NOT NULL,
    gain REAL NOT NULL,
    claimed REAL NOT NULL,
    reason TEXT NOT NULL
);
";

/// Form 2: what language models were asked, what they proposed, and which programs are being evaluated by whom.
const CALLS: &str = "
CREATE TABLE call (
    session INTEGER NOT NULL REFERENCES session (id),
    number INTEGER NOT NULL,
    round INTEGER NOT NULL,
    model TEXT NOT NULL,
    -- The template with its version, and the fingerprint of what was sent.
    prompt TEXT NOT NULL,
    request TEXT NOT NULL,
    -- What came back, or why nothing usable did.
    answer TEXT,
    error TEXT,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost REAL,
    made_at INTEGER NOT NULL,
    PRIMARY KEY (session, number)
) WITHOUT ROWID;

CREATE TABLE proposal (
    session INTEGER NOT NULL,
    call INTEGER NOT NULL,
    place INTEGER NOT NULL,
    -- The attempt that it became, or that was the same.
    attempt INTEGER,
    technique TEXT NOT NULL,
    hypothesis TEXT,
    genome TEXT NOT NULL,
    source TEXT REFERENCES source (hash),
    -- Why it became no attempt.
    refusal TEXT,
    PRIMARY KEY (session, call, place),
    FOREIGN KEY (session, call) REFERENCES call (session, number)
) WITHOUT ROWID;

-- Programs that a session is evaluating now, so that another one waits for the result instead.
CREATE TABLE evaluation (
    program TEXT NOT NULL,
    chip TEXT NOT NULL,
    model TEXT NOT NULL,
    session INTEGER NOT NULL,
    process INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    PRIMARY KEY (program, chip, model)
) WITHOUT ROWID;
";

/// Form 3: what sessions share besides predicted times: programs that cannot be predicted, and proofs, found by program.
const SHARED: &str = "
CREATE TABLE unpredicted (
    program TEXT NOT NULL,
    chip TEXT NOT NULL,
    model TEXT NOT NULL,
    stage TEXT NOT NULL,
    why TEXT NOT NULL,
    PRIMARY KEY (program, chip, model)
) WITHOUT ROWID;

CREATE INDEX attempt_of_program ON attempt (program);
";
