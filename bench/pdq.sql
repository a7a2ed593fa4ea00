-- Real hashes: those that PDQ makes of emoji (bench/data/README.md), at PDQ's own threshold of 31
-- bits. The index has to find what brute force finds.

\ir include/common.sql
\set data PDQ
\set rows 7558
\ir include/random.sql
\ir include/measure.sql
\timing off
CREATE TABLE picture (image text, colours text, fp fingerprint256);
\copy picture FROM 'bench/data/pdq_emoji.csv' (FORMAT csv, HEADER)
CREATE TABLE doc AS SELECT row_number() OVER () AS id, fp FROM picture;
CREATE TABLE query AS
SELECT row_number() OVER (ORDER BY md5(id::text)) AS n, fp FROM doc ORDER BY 1 LIMIT 1000;
VACUUM ANALYZE doc, query;
CALL build('simhash', 'CREATE INDEX doc_fp ON doc USING simhash (fp)', 'doc_fp');
CALL within('simhash', 31, 1000, 'hamming(fp, q.fp)');
CALL nearest('simhash', 1000, 'doc', 'fp <~> q.fp');
CALL within('sequential scan', 31, 1000, 'bit_count(fp::bit(256) # q.fp::bit(256))');

-- All pairs, by the index and by brute force.
CREATE TABLE found AS
SELECT least(a.id, b.id) AS a, greatest(a.id, b.id) AS b, distance
FROM simhash_pairs('doc_fp', 31) p JOIN doc a ON a.ctid = p.a JOIN doc b ON b.ctid = p.b;
CREATE TABLE truth AS
SELECT a.id AS a, b.id AS b, bit_count(a.fp::bit(256) # b.fp::bit(256)) AS distance
FROM doc a JOIN doc b ON a.id < b.id
WHERE bit_count(a.fp::bit(256) # b.fp::bit(256)) <= 31;
SELECT count(*) AS pairs, (SELECT count(*) FROM truth) AS "by brute force" FROM found;
DO $$ BEGIN
  IF EXISTS (TABLE found EXCEPT TABLE truth) OR EXISTS (TABLE truth EXCEPT TABLE found) THEN
    RAISE EXCEPTION 'the index finds other pairs than brute force';
  END IF;
END $$;
SELECT contender, metric, round(value::numeric, 3) AS value FROM bench_result
WHERE data = 'PDQ' ORDER BY ctid;
DROP SCHEMA bench CASCADE;
