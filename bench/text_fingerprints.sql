-- Fingerprints of texts in the index: simhash beside one-bit MinHash of word pairs. How evenly they
-- spread, what queries and all pairs take, at the same recall.
--
-- ROWS (1,000,000 unless set in the environment) texts of four clauses drawn at random from the
-- shipped English verses. Every tenth is a copy of the one before it that lacks a word within.
-- Distances are those that find 90 % and 99 % of a sample of such copies, for each method its own.
-- Medians and 99th percentiles of 1,000 queries (200 where slow), warm, each planned again as
-- EXECUTE in PL/pgSQL does. The fingerprint is read by its row's key. Half of the queries ask for
-- copies.

\ir include/common.sql
\getenv rows ROWS
\if :{?rows} \else \set rows 1000000 \endif
SET maintenance_work_mem = '2GB';
DROP SCHEMA IF EXISTS bench_text CASCADE;
CREATE SCHEMA bench_text;
SET search_path = bench_text, public;

CREATE TEMP TABLE shipped (source text, title text, body text);
\copy shipped FROM 'demo/data/en_verses.csv' (FORMAT csv, HEADER)
CREATE TABLE clause AS
SELECT row_number() OVER () - 1 AS n, c AS body
FROM shipped, regexp_split_to_table(body, '[,;:.?!]+\s*') c
WHERE array_length(string_to_array(c, ' '), 1) BETWEEN 4 AND 12;
ALTER TABLE clause ADD PRIMARY KEY (n);
ANALYZE clause;
-- Clause numbers of a text: by the hash of its number, so that a copy can be made of any.
CREATE FUNCTION clauses(i bigint, many bigint) RETURNS bigint[] LANGUAGE sql IMMUTABLE AS $$
  SELECT ARRAY(SELECT (hashint8extended(i, k) & 9223372036854775807) % many
               FROM generate_series(1, 4) k)
$$;
SELECT count(*) AS clauses FROM clause \gset
CREATE TABLE text AS
WITH pick AS (
  SELECT i, CASE WHEN i % 10 = 0 THEN i - 1 END AS original,
    clauses(CASE WHEN i % 10 = 0 THEN i - 1 ELSE i END, :clauses) AS c
  FROM generate_series(1, :rows::bigint) i)
SELECT i AS id, original, simhash128(body) AS s,
  minhash128(body) AS m, minhash64(body) AS m64
FROM pick,
  LATERAL (SELECT a.body || ', ' || b.body || ', '
             || CASE WHEN original IS NULL THEN d.body
                ELSE regexp_replace(d.body, '^\S+\s*', '') END
             || ', ' || e.body AS body
           FROM clause a, clause b, clause d, clause e
           WHERE a.n = c[1] AND b.n = c[2] AND d.n = c[3] AND e.n = c[4] OFFSET 0) t;
VACUUM ANALYZE text;
ALTER TABLE text ADD PRIMARY KEY (id);

CREATE TABLE method (name text, col text);
INSERT INTO method
VALUES ('simhash128', 's'), ('minhash128, word pairs', 'm'), ('minhash64, word pairs', 'm64');
CREATE TABLE distance (name text, share float8, distance int);
SELECT format($$
  INSERT INTO distance
  SELECT %L, share, percentile_disc(share) WITHIN GROUP (ORDER BY hamming(a.%2$I, b.%2$I))
  FROM text a JOIN text b ON a.original = b.id, unnest('{0.9,0.99}'::float8[]) share
  WHERE a.id %% 1000 = 0 GROUP BY share $$, name, col)
FROM method \gexec
SELECT format('CREATE INDEX text_%1$s ON text USING simhash (%1$s)', col) FROM method \gexec
INSERT INTO bench_result
SELECT 'text fingerprints', 'en', :rows, name, 'largest run', largest_run
FROM method, simhash_index_info(('bench_text.text_' || col)::regclass);
INSERT INTO bench_result
SELECT 'text fingerprints', 'en', :rows, name, 'distance that finds ' || share, distance
FROM distance;

CREATE FUNCTION took(query text, asked text) RETURNS float8[] LANGUAGE plpgsql AS $$
DECLARE took float8[]; started timestamptz; q bigint; found bigint; all_found bigint;
BEGIN
  FOR pass IN 1..2 LOOP
    took := '{}'; all_found := 0;
    FOR q IN EXECUTE asked LOOP
      started := clock_timestamp();
      EXECUTE query INTO found USING q;
      took := took || 1000 * extract(epoch FROM clock_timestamp() - started)::float8;
      all_found := all_found + found;
    END LOOP;
  END LOOP;
  RETURN (SELECT ARRAY[percentile_cont(0.5) WITHIN GROUP (ORDER BY t),
            percentile_cont(0.99) WITHIN GROUP (ORDER BY t), all_found::float8 / count(*)]
          FROM unnest(took) t);
END $$;
SELECT format($$
  INSERT INTO bench_result
  SELECT 'text fingerprints', 'en', %s, %L, v.metric, v.value
  FROM took('SELECT count(id) FROM text
             WHERE hamming(%3$I, (SELECT %3$I FROM text WHERE id = $1)) <= %4$s',
            'SELECT n * (%1$s / %5$s) + n %% 2 FROM generate_series(1, %5$s - 1) n') t,
    LATERAL (VALUES ('query that finds %6$s p50', t[1]), ('query that finds %6$s p99', t[2]),
               ('query that finds %6$s found', t[3])) v (metric, value) $$,
  :rows, name, col, distance, CASE WHEN share < 0.95 THEN 1000 ELSE 200 END, share)
FROM method JOIN distance USING (name) \gexec

CREATE FUNCTION pairs(column_name text, distance int) RETURNS float8[] LANGUAGE plpgsql AS $$
DECLARE started timestamptz; found bigint;
BEGIN
  started := clock_timestamp();
  SELECT count(*) INTO found
  FROM simhash_pairs(('bench_text.text_' || column_name)::regclass, distance);
  RETURN ARRAY[extract(epoch FROM clock_timestamp() - started), found];
END $$;
SELECT format($$
  INSERT INTO bench_result
  SELECT 'text fingerprints', 'en', %s, %L, v.metric, v.value
  FROM pairs(%L, %s) p,
    LATERAL (VALUES ('all pairs at the distance that finds 0.9, seconds', p[1]),
               ('all pairs at the distance that finds 0.9, found', p[2])) v (metric, value) $$,
  :rows, name, col, distance)
FROM method JOIN distance USING (name) WHERE share = 0.9 \gexec
SELECT contender, metric, round(value::numeric, 3) AS value
FROM bench_result WHERE section = 'text fingerprints' AND rows = :rows ORDER BY ctid;
DROP SCHEMA bench_text CASCADE;
