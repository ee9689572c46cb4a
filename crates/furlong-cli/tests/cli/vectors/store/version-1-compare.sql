-- Comparisons in a database of the first version, which had no names. Never changed.
-- One has its commands in its schedule, one in the facts of its workload, one nowhere.
INSERT INTO runs SELECT '1schedul', '2026-01-06T10:00:00+00:00', status, '["compare"]', profile, 6, version,
    binary, NULL, NULL, machine_id, machine, warnings, margin_pct,
    '{"subject":{"commands":["sleep  0","sleep 0.01"]}}' FROM runs WHERE id = '0wzbhrhn';
INSERT INTO runs SELECT '2imports', '2026-01-07T10:00:00+00:00', status, '["compare"]', profile, 7, version,
    binary, NULL, NULL, machine_id, machine, warnings, margin_pct, 'null' FROM runs WHERE id = '0wzbhrhn';
INSERT INTO runs SELECT '3unknown', '2026-01-08T10:00:00+00:00', status, '["compare"]', profile, 8, version,
    binary, NULL, NULL, machine_id, machine, warnings, margin_pct, 'null' FROM runs WHERE id = '0wzbhrhn';
INSERT INTO experiments SELECT 2, '1schedul', 0, 'compare', 'Which is faster?',
    '{"wall_s":{"unit":"s","better":"lower","kind":"sampled","primary":true}}', '["wall_s"]', '[]';
INSERT INTO experiments SELECT 3, '2imports', 0, 'compare', question, metrics, metric_order, left_out
    FROM experiments WHERE id = 2;
INSERT INTO experiments SELECT 4, '3unknown', 0, 'compare', question, metrics, metric_order, left_out
    FROM experiments WHERE id = 2;
INSERT INTO workloads VALUES (2, 2, 0, 'commands', '{"operations":1}', '[]');
INSERT INTO workloads VALUES (3, 3, 0, 'commands',
    '{"operations":1,"commands":{"short":{"command":"sleep 0"},"long":{"command":"sleep 0.02"}}}', '[]');
INSERT INTO workloads VALUES (4, 4, 0, 'commands', '{"operations":1}', '[]');
INSERT INTO arms VALUES (2, 0, 'sleep 0', NULL), (2, 1, 'sleep 0.01', NULL);
INSERT INTO arms VALUES (3, 0, 'short', NULL), (3, 1, 'long', NULL);
INSERT INTO arms VALUES (4, 0, 'old', NULL), (4, 1, 'new', NULL);
INSERT INTO blocks SELECT id, 1, 1, '2026-01-06T10:00:01Z' FROM workloads WHERE id > 1;
INSERT INTO samples SELECT workload, 1, position, name, 0.5, 1, NULL, NULL FROM arms WHERE workload > 1;
INSERT INTO samples SELECT id, 1, 2, 'control', 0.5, 1, NULL, NULL FROM workloads WHERE id > 1;
INSERT INTO sample_values SELECT workload, 1, position, 'wall_s', 0.5 + position FROM samples WHERE workload > 1;
