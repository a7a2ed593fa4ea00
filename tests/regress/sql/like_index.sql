-- simhash_like: a fingerprint made as those of an index are, of whichever width.
\pset null NULL
SET client_min_messages = warning;
CREATE TABLE doc (
  id int PRIMARY KEY, title varchar, body text,
  fp fingerprint64 GENERATED ALWAYS AS (simhash(body, '{"weight": "tf"}')) STORED,
  by_hand fingerprint128, lexemes fingerprint64, ids bigint
);
INSERT INTO doc (id, title, body)
  SELECT i, 'Title ' || i % 50,
    (SELECT string_agg(translate(((i % 50 * 13 + k * k) % 101)::text, '0123456789', 'abcdefghij'),
      ' ') FROM generate_series(1, 30) k)
  FROM generate_series(1, 1000) i;
CREATE INDEX doc_generated ON doc USING simhash (fp);
CREATE INDEX doc_128 ON doc USING simhash (minhash128(body));
CREATE INDEX doc_256 ON doc USING simhash (minhash256(title || ' ' || body, '{"shingle": 1}'));
CREATE INDEX doc_varchar ON doc USING simhash (simhash(title));
CREATE INDEX doc_scope ON doc USING simhash ((id % 5), minhash128(body)) INCLUDE (id);
CREATE INDEX doc_ball ON doc USING simhash (hamming_ball(minhash64(body), 3));
CREATE INDEX doc_bit ON doc USING simhash ((minhash128(body)::bit(128)));
CREATE INDEX doc_int ON doc USING simhash ((simhash(body)::bigint) hamming_int8_ops);
CREATE FUNCTION mine(text) RETURNS fingerprint64 LANGUAGE sql IMMUTABLE
  RETURN simhash($1, '{"weight": "log"}');
CREATE INDEX doc_mine ON doc USING simhash (mine(body));
CREATE INDEX doc_hand ON doc USING simhash (by_hand);
CREATE INDEX doc_tsvector ON doc USING simhash (simhash(to_tsvector('simple'::regconfig, body)));
CREATE INDEX doc_config ON doc USING simhash
  (simhash(body, CASE WHEN id = 0 THEN '{}' ELSE '{"weight": "tf"}' END::simhash_config));
CREATE INDEX doc_btree ON doc (body);
ANALYZE doc;

SELECT simhash_like('doc_generated', 'a b')::fingerprint64 = simhash('a b', '{"weight": "tf"}'),
  simhash_like('doc_128', 'a b')::fingerprint128 = minhash128('a b'),
  simhash_like('doc_256', 'a b')::fingerprint256 = minhash256('a b', '{"shingle": 1}'),
  simhash_like('doc_varchar', 'a b')::fingerprint64 = simhash('a b'),
  simhash_like('doc_scope', 'a b')::fingerprint128 = minhash128('a b'),
  simhash_like('doc_ball', 'a b')::fingerprint64 = minhash64('a b'),
  simhash_like('doc_bit', 'a b')::fingerprint128 = minhash128('a b'),
  simhash_like('doc_int', 'a b')::fingerprint64 = simhash('a b'),
  simhash_like('doc_mine', 'a b')::fingerprint64 = simhash('a b', '{"weight": "log"}');
SELECT simhash_like('doc_generated', 'a b'), simhash_like('doc_128', 'a b'),
  pg_typeof(simhash_like('doc_128', 'a b'));
-- texts without features have no fingerprint
SELECT simhash_like('doc_generated', '...'), simhash_like(NULL, 'a'), simhash_like('doc_128', NULL);

-- where a fingerprint is expected, of any width, and by the index
EXPLAIN (COSTS OFF) SELECT id FROM doc WHERE hamming(fp, simhash_like('doc_generated', 'a b')) <= 3;
EXPLAIN (COSTS OFF)
  SELECT id FROM doc WHERE hamming(minhash128(body), simhash_like('doc_128', 'a b')) <= 10;
EXPLAIN (COSTS OFF) SELECT id FROM doc
  ORDER BY fp <~> simhash_like('doc_generated', 'a b') LIMIT 3;
SELECT count(*) FROM doc WHERE hamming(fp, simhash_like('doc_generated',
  (SELECT body FROM doc WHERE id = 7))) <= 3;
SELECT count(*) FROM doc WHERE hamming(minhash128(body), simhash_like('doc_128',
  (SELECT body FROM doc WHERE id = 7))) <= 10;
SELECT count(*) FROM doc d WHERE hamming(minhash256(title || ' ' || body, '{"shingle": 1}'),
  simhash_like('doc_256', (SELECT title || ' ' || body FROM doc WHERE id = 7))) <= 31;
SELECT count(*) FROM doc d WHERE d.fp = simhash_like('doc_generated', d.body);
-- of another width
SELECT id FROM doc WHERE hamming(fp, simhash_like('doc_128', 'a b')) <= 3;

-- a parent of partitions has the recipe of all
CREATE TABLE parts (id int, body text) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (10);
CREATE INDEX parts_fp ON parts USING simhash (minhash64(body, '{"shingle": 3}'));
SELECT simhash_like('parts_fp', 'a b c d')::fingerprint64 = minhash64('a b c d', '{"shingle": 3}'),
  simhash_like('parts_1_minhash64_idx', 'a b c d')::fingerprint64
    = minhash64('a b c d', '{"shingle": 3}');

-- what says nothing of how fingerprints are made
\set VERBOSITY sqlstate
SELECT simhash_like('doc_hand', 'a');
\set VERBOSITY default
SELECT simhash_like('doc_hand', 'a');
\set VERBOSITY terse
SELECT simhash_like('doc_tsvector', 'a');
SELECT simhash_like('doc_config', 'a');
SELECT simhash_like('doc_btree', 'a');
SELECT simhash_like('doc', 'a');
SELECT simhash_like(0, 'a');
-- rights: as other functions that read an index
CREATE ROLE like_reader ROLE CURRENT_USER;
SELECT extnamespace::regnamespace AS home FROM pg_extension WHERE extname = 'pg_simhash' \gset
GRANT USAGE ON SCHEMA :home TO like_reader;
SET ROLE like_reader;
SELECT simhash_like('doc_generated', 'a');
RESET ROLE;
GRANT SELECT (fp) ON doc TO like_reader;
SET ROLE like_reader;
SELECT simhash_like('doc_generated', 'a b')::fingerprint64 = simhash('a b', '{"weight": "tf"}');
SELECT simhash_like('doc_128', 'a');
RESET ROLE;

-- the type: digits of three widths, and nothing else
SELECT '0123456789ABCDEF'::simhash_fingerprint,
  '0x0123456789abcdef0123456789abcdef'::simhash_fingerprint::fingerprint128,
  '\x0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef'::simhash_fingerprint;
SELECT '0123'::simhash_fingerprint;
SELECT '0123456789abcdef'::simhash_fingerprint::fingerprint128;
REVOKE SELECT (fp) ON doc FROM like_reader;
REVOKE USAGE ON SCHEMA :home FROM like_reader;
DROP ROLE like_reader;
DROP TABLE doc, parts;
DROP FUNCTION mine;
