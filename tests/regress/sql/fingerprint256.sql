-- fingerprint256 and hamming_ball256: what their sisters have, compared with bit(256), bytea and
-- text.
\set SHOW_CONTEXT never
CREATE FUNCTION ones256(bit) RETURNS integer IMMUTABLE LANGUAGE sql AS $$
  SELECT length(replace($1::text, '0', '')) $$;
CREATE TABLE quads AS
SELECT i AS id, made::fingerprint256 AS a,
  -- the same with `i % 257` bits flipped
  (('x' || encode(made, 'hex'))::bit(256)
    # (~(('x' || repeat('f', 64))::bit(256) >> (i % 257))))::fingerprint256 AS b,
  sha256((i / 2)::text::bytea)::fingerprint256 AS c
FROM (SELECT i, sha256(i::text::bytea) AS made FROM generate_series(0, 1299) i) s;

-- text form
SELECT repeat('0123456789ABCDEF', 4)::fingerprint256;
SELECT ('  < ' || repeat('fF', 32) || ' , 256 > ')::hamming_ball256;
SELECT '0123'::fingerprint256;
SELECT repeat('0', 65)::fingerprint256;
SELECT ('+' || repeat('0', 63))::fingerprint256;
SELECT '0,3'::hamming_ball256;
SELECT ('<' || repeat('0', 64) || ',257>')::hamming_ball256;
SELECT hamming_ball(repeat('0', 64)::fingerprint256, -1);
SELECT hamming_ball(repeat('0', 64), 3);

-- casts: the same bits, most significant first
SELECT count(*) FILTER (WHERE a::text <> encode(a::bytea, 'hex')) AS wrong_bytes,
  count(*) FILTER (WHERE a::bit(256) <> ('x' || a::text)::bit(256)) AS wrong_bits,
  count(*) FILTER (WHERE a::bit(256)::fingerprint256 <> a OR a::bytea::fingerprint256 <> a
    OR a::text::fingerprint256 <> a) AS not_back
FROM quads;
SELECT B'101'::fingerprint256;
SELECT repeat('1', 255)::varbit::bit(255)::fingerprint256;
SELECT '\x01'::bytea::fingerprint256;

-- order and equality are those of the bytes, in operators, sorting, aggregates and joins
SELECT count(*) AS pairs, count(*) FILTER (WHERE (x.v < y.v) <> (x.t < y.t)
    OR (x.v <= y.v) <> (x.t <= y.t) OR (x.v = y.v) <> (x.t = y.t) OR (x.v <> y.v) <> (x.t <> y.t)
    OR (x.v >= y.v) <> (x.t >= y.t) OR (x.v > y.v) <> (x.t > y.t)
    OR fingerprint256_cmp(x.v, y.v) <> (x.t > y.t)::integer - (x.t < y.t)::integer) AS wrong
FROM (SELECT a, a::bytea FROM quads WHERE id < 90 UNION ALL SELECT b, b::bytea FROM quads
    WHERE id < 90) x (v, t),
  (SELECT c, c::bytea FROM quads WHERE id < 90) y (v, t);
SELECT count(*) FILTER (WHERE a <= previous) AS misplaced, count(*)
FROM (SELECT a, lag(a) OVER (ORDER BY a::text COLLATE "C") AS previous FROM quads) s;
SELECT count(*) FILTER (WHERE by_value <> by_bytes) AS misplaced
FROM (SELECT rank() OVER (ORDER BY c) AS by_value, rank() OVER (ORDER BY c::bytea) AS by_bytes
  FROM quads) s;
SELECT min(a)::text = min(a::text COLLATE "C") AS least,
  max(a)::text = max(a::text COLLATE "C") AS greatest, count(DISTINCT c) FROM quads;
SET enable_mergejoin = off; SET enable_nestloop = off;
SELECT count(*) FROM quads x JOIN quads y ON x.c = y.a;
RESET enable_mergejoin; SET enable_hashjoin = off;
SELECT count(*) FROM quads x JOIN quads y ON x.c = y.a;
RESET enable_nestloop; RESET enable_hashjoin;
CREATE INDEX quads_btree ON quads (a);
CREATE INDEX quads_hash ON quads USING hash (c);
SET enable_seqscan = off; SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM quads WHERE a < repeat('8', 64)::fingerprint256;
SELECT (SELECT count(*) FROM quads WHERE a < repeat('8', 64)::fingerprint256)
  = (SELECT count(*) FROM quads WHERE a::text < repeat('8', 64) COLLATE "C") AS same;
EXPLAIN (COSTS OFF) SELECT id FROM quads WHERE c = repeat('8', 64)::fingerprint256;
SELECT count(*) FROM quads WHERE c = (SELECT a FROM quads WHERE id = 7);
RESET enable_seqscan; RESET enable_bitmapscan;
-- hashes: those of PostgreSQL for a text of the same 32 bytes
SELECT count(*) FILTER (WHERE fingerprint256_hash(v::bytea::fingerprint256) <> hashtext(v))
    AS wrong,
  count(*) FILTER (WHERE fingerprint256_hash_extended(v::bytea::fingerprint256, id)
    <> hashtextextended(v, id)) AS wrong_extended
FROM (SELECT id, md5(id::text) FROM quads) s (id, v);
CREATE TABLE quads_p (a fingerprint256) PARTITION BY HASH (a);
CREATE TABLE quads_p0 PARTITION OF quads_p FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE quads_p1 PARTITION OF quads_p FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO quads_p SELECT a FROM quads;
SELECT count(*) > 500 AS both FROM quads_p GROUP BY tableoid;
DROP TABLE quads_p;

-- distances, near-duplicates, balls
SELECT count(*) FILTER (WHERE hamming(a, b) <> id % 257) AS not_as_made,
  count(*) FILTER (WHERE hamming(a, c) <> ones256(a::bit(256) # c::bit(256))) AS wrong,
  count(*) FILTER (WHERE (b <~> c) <> ones256(b::bit(256) # c::bit(256))) AS wrong_operator,
  count(*) FILTER (WHERE hamming(a::text, c::text) <> hamming(a, c)) AS wrong_text,
  count(*) FILTER (WHERE (a ~= b) <> (id % 257 <= 31)) AS wrong_near,
  count(*) FILTER (WHERE (b ~= a) <> (a ~= b)) AS asymmetric
FROM quads;
SELECT count(*) FILTER (WHERE (a <@ hamming_ball(b, k)) <> (id % 257 <= k)) AS wrong_within,
  count(*) FILTER (WHERE (hamming_ball(b, k) @> a) <> (id % 257 <= k)) AS wrong_contains,
  count(*) FILTER (WHERE hamming_within(a, b, k) <> (id % 257 <= k)) AS wrong_function,
  count(*) FILTER (WHERE ((a <@ hamming_ball_or_null(b, k * 2 - 9)) IS TRUE)
    <> (id % 257 <= k * 2 - 9)) AS wrong_or_null
FROM quads, generate_series(0, 256, 15) k;
SELECT count(*) FILTER (WHERE (hamming_ball(a, j) ~= hamming_ball(b, k))
  <> (id % 257 <= least(j, k))) AS wrong
FROM quads, generate_series(0, 256, 31) j, generate_series(0, 256, 37) k;
SELECT hamming(repeat('0', 63) || '1', repeat('0', 64)) AS texts;
SELECT hamming(repeat('0', 64), repeat('0', 32));
SELECT hamming_ball_or_null(repeat('0', 64)::fingerprint256, -1) IS NULL AS nothing,
  hamming_ball_or_null(repeat('0', 64)::fingerprint256, 9223372036854775807)
    = hamming_ball(repeat('0', 64)::fingerprint256, 256) AS everything;
-- balls are ordered by centre, then by radius
CREATE TABLE quad_balls AS
SELECT id, hamming_ball(sha256((id % 20)::text::bytea)::fingerprint256, id % 7 * 40) AS v
FROM quads;
SELECT count(*) FILTER (WHERE by_ball <> by_parts) AS misplaced FROM (
  SELECT rank() OVER (ORDER BY v) AS by_ball,
    rank() OVER (ORDER BY substr(v::text, 2, 64) COLLATE "C",
      rtrim(substr(v::text, 67), '>')::integer) AS by_parts
  FROM quad_balls) s;
SELECT count(*) FILTER (WHERE (x.v = y.v) <> (x.v::text = y.v::text)
    OR (x.v <> y.v) <> (x.v::text <> y.v::text)
    OR (x.v < y.v) <> (y.v > x.v) OR (x.v <= y.v) = (x.v > y.v) OR (x.v >= y.v) = (x.v < y.v))
  AS wrong
FROM quad_balls x, quad_balls y WHERE x.id < 150 AND y.id < 150;

-- COPY in text and binary gives back what it took
SELECT current_setting('data_directory') AS directory \gset
\set text_file :directory '/quads.text'
\set binary_file :directory '/quads.binary'
CREATE TABLE quads_c AS SELECT q.id, a, v FROM quads q JOIN quad_balls USING (id);
CREATE TABLE quads_d (LIKE quads_c);
COPY quads_c TO :'text_file';
COPY quads_c TO :'binary_file' (FORMAT binary);
COPY quads_d FROM :'text_file';
COPY quads_d FROM :'binary_file' (FORMAT binary);
SELECT copies, count(*)
FROM (SELECT count(*) AS copies FROM quads_d GROUP BY id, a, v) s GROUP BY copies;
SELECT count(*) AS lost FROM (SELECT * FROM quads_c EXCEPT SELECT * FROM quads_d) s;
DROP TABLE quads_c, quads_d, quad_balls;

-- fingerprints of texts: the sign of the features' weighted sum, and one bit of each component
CREATE TABLE quad_texts AS
SELECT i AS id, (
  SELECT string_agg('word' || chr(97 + (i * k * k) % 26) || chr(97 + (i + k * 7) % 26), ' ')
  FROM generate_series(1, 1 + i % 40) k) AS body
FROM generate_series(1, 60) i;
CREATE TABLE quad_configs (config simhash_config);
INSERT INTO quad_configs VALUES ('{}'), ('{"weight": "tf"}'), ('{"shingle": 2}'),
  ('{"position": "paper"}'), ('{"position": "spread"}'), ('{"tokenizer": "char", "shingle": 3}');
CREATE FUNCTION sign_of_sum256(text, simhash_config) RETURNS bit(256) LANGUAGE sql AS $$
  SELECT string_agg(CASE WHEN v > 0 THEN '1' ELSE '0' END, '' ORDER BY i)::bit(256)
  FROM (SELECT i, sum(weight::float8 * (2 * get_bit(hash::bit(256), i) - 1)) AS v
        FROM simhash256_features($1, $2), generate_series(0, 255) i GROUP BY i) s
$$;
CREATE FUNCTION by_signature(text, simhash_config) RETURNS bit(256) LANGUAGE sql AS $$
  SELECT string_agg((component >> 31)::text, '' ORDER BY i DESC)::bit(256)
  FROM unnest(split_part(minhash($1, 256, $2)::text, '/', 1)::bigint[])
    WITH ORDINALITY u(component, i)
$$;
SELECT count(*) FILTER (WHERE simhash256(body, config)::bit(256)
    IS DISTINCT FROM sign_of_sum256(body, config)) AS wrong_simhash,
  count(*) FILTER (WHERE minhash256(body, config)::bit(256)
    IS DISTINCT FROM by_signature(body, config)) AS wrong_minhash
FROM quad_texts, quad_configs;
-- the high half of a feature's hash is its hash of 128 bits; the low half is another
SELECT count(*) > 500 AS many,
  count(*) FILTER (WHERE left(q.hash::text, 32) <> w.hash::text) AS wrong_high,
  count(*) FILTER (WHERE right(q.hash::text, 32) = w.hash::text) AS wrong_low
FROM quad_texts, simhash256_features(body) q
  JOIN LATERAL simhash128_features(body) w USING (feature);
SELECT count(*) FILTER (WHERE simhash256_from(shingles(body, 1)) <> simhash256(body)
    OR simhash256_from(shingles(body, 1),
      array_fill(2::real, ARRAY[cardinality(shingles(body, 1))])) <> simhash256(body)
    OR minhash256_from(shingles(body, 2)) <> minhash256(body)
    OR minhash256(to_tsvector('simple', body)) <> minhash256(body, '{"shingle": 1}')
    OR simhash256(strip(to_tsvector('simple', body))) <> simhash256(body)) AS wrong
FROM quad_texts;
SELECT simhash256('...') IS NULL AND minhash256('') IS NULL AND simhash256(''::tsvector) IS NULL
  AND minhash256(''::tsvector) IS NULL AND simhash256_from('{}') IS NULL
  AND minhash256_from('{}') IS NULL AS nothing;
SELECT simhash256_from('{a,b}', '{-1,1}');
SELECT minhash256_from('{a,NULL}');
SELECT count(*) FILTER (WHERE distance <= 256), max(distance) FROM simhash_evaluate(
  'SELECT a, b, id % 2 = 0 FROM quads');
SELECT * FROM simhash_evaluate('SELECT a, simhash128(''x''), true FROM quads');

-- blocks: consecutive bits
SELECT block, key FROM simhash_blocks(repeat('0123', 16)::fingerprint256) WHERE block > 13;
SELECT count(*) FILTER (WHERE lpad(to_hex(key), 16, '0') <> substr(a::text, 1 + 16 * block, 16))
  AS wrong FROM quads, simhash_blocks(a, 4);
SELECT count(*) FROM simhash_blocks(repeat('0', 64));
SELECT * FROM simhash_blocks(repeat('0', 64)::fingerprint256, 3);

-- the trigger without an index, at the distance of ~=: every third text comes once more, edited
CREATE TABLE quad_posts (id integer PRIMARY KEY, body text, fp fingerprint256);
CREATE TRIGGER dedup BEFORE INSERT OR UPDATE ON quad_posts
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('body=body', 'fp=fp', 'action=skip');
INSERT INTO quad_texts SELECT 60 + row_number() OVER (ORDER BY id), body || ' edited'
  FROM quad_texts WHERE id % 3 = 0;
SET client_min_messages = error;
INSERT INTO quad_posts (id, body) SELECT id, body FROM quad_texts ORDER BY id;
RESET client_min_messages;
WITH RECURSIVE kept (id, ids) AS (
  SELECT 1, ARRAY[1]
  UNION ALL
  SELECT k.id + 1, CASE WHEN EXISTS (SELECT FROM quad_texts t WHERE t.id = ANY (k.ids)
      AND ones256(simhash256(t.body)::bit(256) # simhash256(n.body)::bit(256)) <= 31)
    THEN k.ids ELSE k.ids || n.id END
  FROM kept k JOIN quad_texts n ON n.id = k.id + 1)
SELECT ids = (SELECT array_agg(id ORDER BY id) FROM quad_posts) AS as_expected,
  cardinality(ids) BETWEEN 20 AND 79 AS some
FROM kept WHERE id = 80;
DROP TABLE quads, quad_texts, quad_configs, quad_posts;
DROP FUNCTION ones256, sign_of_sum256, by_signature;
