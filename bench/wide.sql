-- Fingerprints of 256 bits, as PDQ makes them of images, at PDQ's own threshold: 31 bits.
--
-- From the environment: ROWS (1,000,000). Random fingerprints, a tenth of them planted copies of
-- others with up to 31 bits flipped. Half of the queries are rows with up to 31 bits flipped, half
-- random. Warm, and prepared as in index.sql. bench.py reads the tables afterwards.

\ir include/common.sql
\getenv rows ROWS
\if :{?rows} \else \set rows 1000000 \endif
\set data '256 bits'
SET maintenance_work_mem = '2GB';
SET work_mem = '256MB';
\ir include/random.sql
\ir include/measure.sql
\timing off

-- Up to 31 bits flipped.
CREATE FUNCTION flipped(fp fingerprint256, seed bigint) RETURNS fingerprint256
LANGUAGE sql IMMUTABLE AS $$
  SELECT (bit_or(~(~0::bit(256) << 1) << (hashint8extended(seed, i) & 255)::integer)
    # fp::bit(256))::fingerprint256
  FROM generate_series(1, 1 + (hashint8extended(seed, 0) & 255)::integer % 31) i
$$;
CREATE FUNCTION random256(seed bigint) RETURNS fingerprint256 LANGUAGE sql IMMUTABLE AS
  $$ SELECT (md5(seed::text) || md5((-seed)::text))::fingerprint256 $$;
\echo '== data'
CREATE TABLE doc AS
SELECT i::bigint AS id,
  CASE WHEN i % 10 = 0 THEN flipped(random256(i - 1), i) ELSE random256(i) END AS fp
FROM generate_series(1, :rows) i;
ALTER TABLE doc ADD PRIMARY KEY (id);
CREATE TABLE query AS
SELECT i AS n,
  CASE WHEN i % 2 = 0 THEN flipped(fp, -i) ELSE random256(-i) END AS fp
FROM generate_series(1, 1000) i JOIN doc ON doc.id = i * (:rows / 1000) - 1;
VACUUM ANALYZE doc, query;

CALL build('simhash', 'CREATE INDEX doc_fp ON doc USING simhash (fp)', 'doc_fp');
CALL within('simhash', 10, 1000, 'hamming(fp, q.fp)');
CALL within('simhash', 20, 1000, 'hamming(fp, q.fp)');
CALL within('simhash', 31, 1000, 'hamming(fp, q.fp)');
CALL within('simhash', 40, 1000, 'hamming(fp, q.fp)');
CALL nearest('simhash', 20, 'doc', 'fp <~> q.fp');
CALL within('sequential scan', 31, 3, 'bit_count(fp::bit(256) # q.fp::bit(256))');
SELECT contender, metric, round(value::numeric, 3) AS value FROM bench_result
WHERE data = '256 bits' AND rows = :rows ORDER BY ctid;
