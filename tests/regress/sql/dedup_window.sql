-- The argument since= of the trigger simhash_dedup: only rows of the last days, say, are looked at.
\set SHOW_CONTEXT never
\pset null -
SELECT 'dedup_window, ' || current_setting('search_path') AS path \gset
CREATE SCHEMA dedup_window;
SET search_path = :path;
SET TimeZone = 'UTC';

-- Days are counted back from the row's own time; without one, from now.
CREATE TABLE doc (id int PRIMARY KEY, made timestamptz DEFAULT now(), fp fingerprint64);
CREATE INDEX ON doc USING simhash (fp);
CREATE TRIGGER no_near BEFORE INSERT OR UPDATE ON doc FOR EACH ROW EXECUTE FUNCTION
  simhash_dedup('fp=fp', 'since=made 30 days');
INSERT INTO doc VALUES (1, '2026-01-01', '0000000000000000'), (2, '2026-01-31', '0000000000000001'),
  (3, '2026-01-31 00:00:01', '0000000000000001'), (4, '2026-03-15', '0000000000000001'),
  (5, '2025-12-15', '0000000000000000'), (6, NULL, '0000000000000001'),
  (7, NULL, '0000000000000001') RETURNING id;
INSERT INTO doc (id, fp) VALUES (8, '0000000000000003'), (9, '0000000000000007') RETURNING id;
INSERT INTO doc VALUES (10, 'infinity', '0000000000000003'), (11, '-infinity', '0000000000000003')
  RETURNING id;
SELECT id,
  CASE WHEN made > now() - interval '1 day' AND isfinite(made) THEN 'now' ELSE made::text END
FROM doc ORDER BY id;
-- An update of the time alone is no occasion to judge the row.
UPDATE doc SET made = '2026-01-02' WHERE id = 3 RETURNING id;

-- Partitions by time, dates, a B-tree on the time and none: the same rows are kept, and what is too
-- old is not read.
CREATE TABLE given AS
SELECT i AS id, timestamptz '2026-01-01' + i * interval '7 hours' AS made,
  (i % 23 * 77777777 # 1 << i % 3)::bigint::fingerprint64 AS fp
FROM generate_series(1, 400) i;
CREATE FUNCTION model(days int, as_date boolean) RETURNS int[] LANGUAGE plpgsql AS $$
DECLARE row given; kept int[] := '{}';
BEGIN
  FOR row IN SELECT * FROM given ORDER BY id LOOP
    IF NOT EXISTS (SELECT FROM given o WHERE o.id = ANY (kept) AND hamming(o.fp, row.fp) <= 3
      AND CASE WHEN as_date THEN o.made::date >= row.made::date - days
        ELSE o.made >= row.made - make_interval(days => days) END) THEN
      kept := kept || row.id;
    END IF;
  END LOOP;
  RETURN kept;
END $$;
CREATE FUNCTION actual(days int, type text, kind text) RETURNS int[] LANGUAGE plpgsql AS $$
DECLARE kept int[];
BEGIN
  EXECUTE format('CREATE TABLE target (id int, made %s, fp fingerprint64) %s', type,
    CASE WHEN kind LIKE 'parts%' THEN 'PARTITION BY RANGE (made)' END);
  IF kind LIKE 'parts%' THEN
    FOR month IN 0..5 LOOP
      EXECUTE format('CREATE TABLE target%s PARTITION OF target FOR VALUES FROM (%L) TO (%L)',
        month, date '2026-01-01' + make_interval(months => month),
        date '2026-01-01' + make_interval(months => month + 1));
    END LOOP;
  END IF;
  IF kind LIKE '%simhash' THEN CREATE INDEX ON target USING simhash (fp); END IF;
  IF kind LIKE '%time' THEN CREATE INDEX ON target (made DESC); END IF;
  EXECUTE format('CREATE TRIGGER t BEFORE INSERT ON target FOR EACH ROW EXECUTE FUNCTION
    simhash_dedup(%L, %L)', 'fp=fp', format('since=made %s days', days));
  INSERT INTO target SELECT id, made, fp FROM given ORDER BY id;
  SELECT array_agg(id ORDER BY id) INTO kept FROM target;
  DROP TABLE target;
  RETURN kept;
END $$;
SET client_min_messages = error;
SELECT type, kind, bool_and(model = actual) AS "as the model",
  array_agg(cardinality(actual) ORDER BY days) AS kept
FROM unnest('{timestamptz,timestamp,date}'::text[]) type,
  unnest('{none,simhash,time,parts,parts simhash,parts time}'::text[]) kind,
  unnest(ARRAY[1, 10, 60]) days, model(days, type = 'date'), actual(days, type, kind)
GROUP BY 1, 2 ORDER BY 1, 2;

CREATE TABLE old (id int, made timestamptz, fp fingerprint64) PARTITION BY RANGE (made);
CREATE TABLE old1 PARTITION OF old FOR VALUES FROM ('2025-01-01') TO ('2026-01-01');
CREATE TABLE old2 PARTITION OF old FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
CREATE INDEX ON old USING simhash (fp);
CREATE TRIGGER t BEFORE INSERT ON old FOR EACH ROW EXECUTE FUNCTION
  simhash_dedup('fp=fp', 'since=made 30 days');
INSERT INTO old SELECT i, '2025-06-01', (i * 7777777)::bigint::fingerprint64
FROM generate_series(1, 9) i;
-- A new session has counted nothing yet.
\c -
SET search_path = :path;
BEGIN;
INSERT INTO old VALUES (10, '2026-06-01', '0000000000000000');
SELECT relname, pg_stat_get_xact_numscans(oid) > 0 AS "was searched"
FROM pg_class WHERE relname IN ('old1_fp_idx', 'old2_fp_idx') ORDER BY 1;
COMMIT;
CREATE TABLE timed (id int, made date, fp fingerprint64);
CREATE INDEX timed_made ON timed (made);
CREATE TRIGGER t BEFORE INSERT ON timed FOR EACH ROW EXECUTE FUNCTION
  simhash_dedup('fp=fp', 'since=made 30 days');
INSERT INTO timed SELECT i, date '2025-01-01' + 40 * i, (i * 7777777)::bigint::fingerprint64
FROM generate_series(1, 9) i;
BEGIN;
INSERT INTO timed VALUES (10, '2026-06-01', '0000000000000000'),
  (11, '2026-06-01', '0000000000000001');
SELECT pg_stat_get_xact_tuples_returned('timed_made'::regclass) AS "rows read";
COMMIT;
RESET client_min_messages;

-- what is refused
CREATE TABLE wrong (id int PRIMARY KEY, n int, at timestamptz, fp fingerprint64,
  made date GENERATED ALWAYS AS ('2026-01-01') STORED);
\i test/tests/regress/include/try_trigger.sql
SELECT try('fp=fp', 'since=at');
SELECT try('fp=fp', 'since=n 3 days');
SELECT try('fp=fp', 'since=made 3 days');
SELECT try('fp=fp', 'since=nowhere 3 days');
SELECT try('fp=fp', 'since=at three days');
SELECT try('fp=fp', 'since=at -3 days');
SELECT try('fp=fp', 'since=at 0 days');
SELECT try('fp=fp', 'since=at 1 week');

SET client_min_messages = warning;
DROP SCHEMA dedup_window CASCADE;
