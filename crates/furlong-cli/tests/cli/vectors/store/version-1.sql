-- A database of the first version of the schema, with one run. Never changed.
PRAGMA application_id = 1179996748;
PRAGMA user_version = 1;

CREATE TABLE runs (
    id         TEXT PRIMARY KEY,
    started    TEXT NOT NULL,
    status     TEXT NOT NULL CHECK (status IN ('running', 'finished', 'interrupted', 'failed')),
    command    TEXT NOT NULL,
    profile    TEXT NOT NULL,
    seed       INTEGER NOT NULL,
    version    TEXT NOT NULL,
    binary     TEXT NOT NULL,
    tag        TEXT,
    note       TEXT,
    machine_id TEXT NOT NULL,
    machine    TEXT NOT NULL,
    warnings   TEXT NOT NULL,
    margin_pct REAL,
    agenda     TEXT NOT NULL
) STRICT;
CREATE INDEX runs_by_start ON runs (started);

CREATE TABLE experiments (
    id           INTEGER PRIMARY KEY,
    run          TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
    position     INTEGER NOT NULL,
    name         TEXT NOT NULL,
    question     TEXT NOT NULL,
    metrics      TEXT NOT NULL,
    metric_order TEXT NOT NULL,
    left_out     TEXT NOT NULL,
    UNIQUE (run, name)
) STRICT;
CREATE INDEX experiments_by_name ON experiments (name);

CREATE TABLE workloads (
    id         INTEGER PRIMARY KEY,
    experiment INTEGER NOT NULL REFERENCES experiments ON DELETE CASCADE,
    position   INTEGER NOT NULL,
    name       TEXT NOT NULL,
    params     TEXT NOT NULL,
    warnings   TEXT NOT NULL,
    UNIQUE (experiment, name)
) STRICT;

CREATE TABLE arms (
    workload INTEGER NOT NULL REFERENCES workloads ON DELETE CASCADE,
    position INTEGER NOT NULL,
    name     TEXT NOT NULL,
    na       TEXT,
    PRIMARY KEY (workload, name)
) STRICT, WITHOUT ROWID;

-- One value for all blocks; NULL where the arm failed.
CREATE TABLE exact_values (
    workload INTEGER NOT NULL,
    arm      TEXT NOT NULL,
    metric   TEXT NOT NULL,
    value    REAL,
    PRIMARY KEY (workload, arm, metric),
    FOREIGN KEY (workload, arm) REFERENCES arms ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE blocks (
    workload INTEGER NOT NULL REFERENCES workloads ON DELETE CASCADE,
    number   INTEGER NOT NULL,
    seed     INTEGER NOT NULL,
    finished TEXT NOT NULL,
    PRIMARY KEY (workload, number)
) STRICT, WITHOUT ROWID;

-- One row a process; `position` is its place in the block's order.
CREATE TABLE samples (
    workload   INTEGER NOT NULL,
    block      INTEGER NOT NULL,
    position   INTEGER NOT NULL,
    runner     TEXT NOT NULL,
    elapsed_s  REAL NOT NULL,
    operations INTEGER NOT NULL,
    digest     INTEGER,
    failure    TEXT,
    PRIMARY KEY (workload, block, position),
    FOREIGN KEY (workload, block) REFERENCES blocks ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE sample_values (
    workload INTEGER NOT NULL,
    block    INTEGER NOT NULL,
    position INTEGER NOT NULL,
    metric   TEXT NOT NULL,
    value    REAL NOT NULL,
    PRIMARY KEY (workload, block, position, metric),
    FOREIGN KEY (workload, block, position) REFERENCES samples ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

INSERT INTO runs VALUES ('0wzbhrhn', '2026-01-05T10:00:00+00:00', 'finished', '["run","tree-order"]',
    'quick', 5, '0.1.0', '00000000deadbeef', 'first', NULL, '0123456789abcdef',
    '{"id":"0123456789abcdef","host":"box","kernel":"Linux 6.1.0","cpu":null,"cpus":2,"memory_bytes":null,"caches":{},"hypervisor":null,"governor":null,"turbo":null,"smt":null,"aslr":null,"thp":null,"load_1m":null,"steal_pct":0.5,"rustc":"rustc 1.95.0","build":"release"}',
    '[]', NULL, 'an agenda of a form that no later furlong reads');
INSERT INTO experiments VALUES (1, '0wzbhrhn', 0, 'tree-order', 'Which?',
    '{"calls_per_op":{"unit":"1","better":"lower","kind":"exact","primary":false},"time_ns_per_op":{"unit":"ns","better":"lower","kind":"sampled","primary":true}}',
    '["time_ns_per_op","calls_per_op"]', '["ins: left out"]');
INSERT INTO workloads VALUES (1, 1, 0, 'plain', '{"nodes":256,"operations":1000}', '[]');
INSERT INTO arms VALUES (1, 0, 'one', NULL), (1, 1, 'other', NULL);
INSERT INTO exact_values VALUES (1, 'one', 'calls_per_op', 3.5), (1, 'other', 'calls_per_op', 2.5);
INSERT INTO blocks VALUES (1, 1, -1708195370473402361, '2026-01-05T10:00:01.568Z');
INSERT INTO blocks VALUES (1, 2, 3981657132579762742, '2026-01-05T10:00:02.585Z');
INSERT INTO samples VALUES (1, 1, 0, 'other', 0.5, 1000, -7, NULL);
INSERT INTO samples VALUES (1, 1, 1, 'control', 0.5, 1000, -7, NULL);
INSERT INTO samples VALUES (1, 1, 2, 'one', 0.5, 1000, -7, NULL);
INSERT INTO samples VALUES (1, 2, 0, 'one', 0.5, 1000, 8, NULL);
INSERT INTO samples VALUES (1, 2, 1, 'other', 0.0, 0, NULL, 'exit status: 1: it broke');
INSERT INTO samples VALUES (1, 2, 2, 'control', 0.5, 1000, 8, NULL);
INSERT INTO sample_values VALUES (1, 1, 0, 'time_ns_per_op', 14.75);
INSERT INTO sample_values VALUES (1, 1, 1, 'time_ns_per_op', 14.625);
INSERT INTO sample_values VALUES (1, 1, 2, 'time_ns_per_op', 14.5);
INSERT INTO sample_values VALUES (1, 2, 0, 'time_ns_per_op', 15.25);
INSERT INTO sample_values VALUES (1, 2, 2, 'time_ns_per_op', 15.5);
