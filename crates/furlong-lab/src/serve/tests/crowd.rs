//! A store with many runs, made by the database itself, in words that both engines understand.
#![forbid(unsafe_code)]

use furlong_lab::record::store::{Location, Store};

/// Fills a new store: so many runs, `run0` and so on, of `steady` and every fifth also of `other`,
/// on three machines by turns, of two workloads with two arms and so many blocks. Every tenth is a
/// smoke run, every fiftieth has a tag.
pub(crate) fn fill(location: &Location, runs: u32, blocks: u32) {
    drop(Store::open(location).unwrap());
    let sql = sql(runs, blocks);
    match location {
        Location::File(path) => {
            let file = rusqlite::Connection::open(path).unwrap();
            file.execute_batch(&format!(
                "BEGIN; {sql} COMMIT; PRAGMA wal_checkpoint(truncate);"
            ))
            .unwrap();
        }
        Location::Server(url) => {
            let mut client = postgres::Client::connect(url, postgres::NoTls).unwrap();
            client
                .batch_execute(&format!(
                    "SET search_path TO furlong; BEGIN; {sql} COMMIT; ANALYZE;"
                ))
                .unwrap();
        }
    }
}

fn sql(runs: u32, blocks: u32) -> String {
    let last_run = runs - 1;
    let machine = r#"'{"id":"m' || (n % 3) || '","host":"lab-' || (n % 3)
        || '","kernel":"Linux 6.1","cpus":4,"rustc":"1.95","build":"release"}'"#;
    let two = |number: &str| format!("CASE WHEN {number} < 10 THEN '0' ELSE '' END || {number}");
    let (day, hour) = (two("(1 + n / 24 % 28)"), two("(n % 24)"));
    let metrics = r#"'{"time":{"unit":"ns","better":"lower","kind":"sampled","primary":true}}'"#;
    // Noise that both engines agree on, and for the second arm a step before the last tenth.
    let value = format!(
        "(100.0 + (number * 13 + position * 29 + samples.workload * 7) % 17 * 0.03)
        * CASE WHEN runner <> 'b' THEN 1.0
            WHEN began >= 1767225600000 + {} * 3600000 THEN 0.8 ELSE 0.9 END",
        runs - runs / 10
    );
    format!(
        "WITH RECURSIVE numbers(n) AS (
            SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < {last_run})
        INSERT INTO runs (id, started, began, status, command, profile, seed, version, \"binary\",
            tag, note, machine_id, machine, warnings, margin_pct, agenda)
        SELECT 'run' || n, '2026-' || {month} || '-' || {day} || 'T' || {hour} || ':00:00+00:00',
            1767225600000 + n * CAST(3600000 AS BIGINT), 'finished', '[\"run\"]',
            CASE WHEN n % 10 = 9 THEN 'smoke' ELSE 'quick' END, n, '0.1.0', 'none',
            CASE WHEN n % 50 = 0 THEN 'release' END, CASE WHEN n % 50 = 0 THEN 'shipped' END,
            'm' || (n % 3), {machine}, '[]', NULL, 'null' FROM numbers ORDER BY n;
        INSERT INTO experiments (run, position, name, question, metrics, metric_order, left_out,
            machine_id, began)
        SELECT id, 0, 'steady', 'Does it last?', {metrics}, '[\"time\"]', '[]', machine_id, began
            FROM runs ORDER BY began;
        INSERT INTO experiments (run, position, name, question, metrics, metric_order, left_out,
            machine_id, began)
        SELECT id, 1, 'other', 'What else?', {metrics}, '[\"time\"]', '[]', machine_id, began
            FROM runs WHERE seed % 5 = 0 ORDER BY began;
        INSERT INTO workloads (experiment, position, name, params, warnings)
        SELECT id, place, CASE WHEN place = 0 THEN 'plain' ELSE 'deep' END,
            '{{\"operations\":64}}', '[]'
            FROM experiments CROSS JOIN (SELECT 0 AS place UNION ALL SELECT 1) AS places;
        INSERT INTO arms (workload, position, name, na)
        SELECT id, place, CASE WHEN place = 0 THEN 'a' ELSE 'b' END, NULL
            FROM workloads CROSS JOIN (SELECT 0 AS place UNION ALL SELECT 1) AS places;
        WITH RECURSIVE numbers(n) AS (
            SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {blocks})
        INSERT INTO blocks (workload, number, seed, finished)
        SELECT id, n, n, '2026-01-01T00:00:00Z' FROM workloads CROSS JOIN numbers;
        INSERT INTO samples (workload, block, position, runner, elapsed_s, operations, digest,
            failure)
        SELECT workload, number, place,
            CASE place WHEN 0 THEN 'a' WHEN 1 THEN 'control' ELSE 'b' END, 0.5, 64, 1, NULL
            FROM blocks CROSS JOIN
                (SELECT 0 AS place UNION ALL SELECT 1 UNION ALL SELECT 2) AS places;
        INSERT INTO sample_values (workload, block, position, metric, value)
        SELECT samples.workload, block, position, 'time', {value}
            FROM samples JOIN blocks ON blocks.workload = samples.workload AND number = block
            JOIN (SELECT workloads.id AS workload, experiments.began FROM workloads
                JOIN experiments ON experiments.id = workloads.experiment) AS theirs
            ON theirs.workload = samples.workload;",
        month = two("(1 + n / 672 % 12)"),
    )
}
