-- One-bit MinHash fingerprints: compared with signatures, of whose components they hold one bit
-- each, and in every place that takes the name of a method.
SET client_min_messages = warning;
\set VERBOSITY terse
SELECT minhash64('the cat sat on the mat'), minhash128('the cat sat on the mat'),
  minhash64('...'), minhash128(''), minhash64(NULL);

-- bit i of a fingerprint is the first bit of component i
CREATE FUNCTION by_signature(body text, bits int, config simhash_config) RETURNS text
LANGUAGE sql AS $$
  SELECT string_agg((component >> 31)::text, '' ORDER BY i DESC)
  FROM unnest(split_part(minhash(body, bits, config)::text, '/', 1)::bigint[])
    WITH ORDINALITY u(component, i)
$$;
CREATE TABLE minhash_texts AS
SELECT i, (
  SELECT string_agg('word' || chr(97 + (i * k * k) % 26) || chr(97 + (i + k * 7) % 26), ' ')
  FROM generate_series(1, 1 + i % 40) k) AS body
FROM generate_series(1, 300) i;
SELECT count(*),
  count(*) FILTER (WHERE minhash64(body, config)::bigint::bit(64)::text
    <> by_signature(body, 64, config)) AS wrong64,
  count(*) FILTER (WHERE ('x' || minhash128(body, config)::text)::bit(128)::text
    <> by_signature(body, 128, config)) AS wrong128
FROM minhash_texts, (VALUES ('{}'::simhash_config), ('{"shingle": 2}'), ('{"shingle": [1, 2]}'),
  ('{"tokenizer": "char", "shingle": 3}')) c(config);

-- of the caller's own features and of lexemes
SELECT count(*) FILTER (WHERE minhash64_from(shingles(body, 2)) <> minhash64(body)
  OR minhash128_from(shingles(body, 0, '{"shingle": [1, 2]}'))
    <> minhash128(body, '{"shingle": [2, 1]}')
  OR minhash64_from(shingles(body, 1) || shingles(body, 1)) <> minhash64(body, '{"shingle": 1}')
  OR minhash64(to_tsvector('simple', body)) <> minhash64(body, '{"shingle": 1}')
  OR minhash128(to_tsvector('simple', body)) <> minhash128(body, '{"shingle": 1}')) AS wrong
FROM minhash_texts;
SELECT minhash64_from('{}'), minhash64_from(NULL), minhash128(''::tsvector);
SELECT minhash64_from('{a,NULL}');
SELECT minhash128('a', '{"shingel": 2}');
-- weights, positions and caps do not count, and no model is looked up
SELECT minhash64('b a b a', '{"weight": "tfidf", "model": "none", "position": "paper", "cap": 2}')
  = minhash64('b a b') AS same;

-- several sizes of shingles together
SELECT shingles('a b c', 0, '{"shingle": [1, 2]}'), shingles('a b c', 0),
  shingles('a', 0, '{"shingle": [2, 3]}'), shingles('a b', 0, '{"shingle": [2, 3]}');
SELECT shingle_similarity('a b c', 'a b d', 0, '{"shingle": [1, 2]}'),
  shingle_containment('a b', 'a b d', 0, '{"shingle": [1, 2]}');
SELECT simhash('a b', '{"shingle": [1, 2]}') = simhash_from('{a,b,a b}') AS same;
SELECT * FROM simhash_features('a b a b', '{"shingle": [2, 1], "weight": "tf"}')
  f(feature, weight, hash);

-- tokens end where letters and digits meet
SELECT hamming(simhash128('iPhone15'), simhash128('iPhone 15')) AS iphone,
  minhash64('华为Mate60Pro') = minhash64('华为 Mate 60 Pro') AS mate,
  simhash('2022WTT') = simhash('2022 WTT') AS wtt, simhash('v2.0') = simhash('v20') AS version,
  simhash('USB3.0') = simhash('usb30') AS usb;
SELECT simhash_tokens('iOS：Android 3.14 v2.0 华为Mate60Pro'),
  simhash_normalize('iOS：Android 3.14 v2.0');

-- the mean distance is half of the Jaccard distance: 30 words are shared, and each side has 10 more
SELECT abs(avg(hamming(minhash128_from(shared || a), minhash128_from(shared || b)))
  - 128 * (1 - 0.6) / 2) < 0.75 AS near_25_6
FROM (SELECT i, array_agg('shared' || i || 'x' || k) FILTER (WHERE k <= 30) AS shared,
  array_agg('a' || i || 'x' || k) FILTER (WHERE k <= 10) AS a,
  array_agg('b' || i || 'x' || k) FILTER (WHERE k <= 10) AS b
  FROM generate_series(1, 500) i, generate_series(1, 30) k GROUP BY i) sets;

-- in the index and in bulk, like any fingerprint
CREATE INDEX minhash_texts_idx ON minhash_texts USING simhash (minhash128(body, '{"shingle": 2}'));
SET enable_seqscan = off;
SELECT count(*) > 300 AS some,
  count(*) FILTER (WHERE hamming(minhash128(a.body, '{"shingle": 2}'),
    minhash128(b.body, '{"shingle": 2}')) > 24) AS wrong
FROM minhash_texts a, minhash_texts b
WHERE hamming(minhash128(b.body, '{"shingle": 2}'), minhash128(a.body, '{"shingle": 2}')) <= 24;
SELECT (SELECT count(*) FROM simhash_pairs('minhash_texts_idx', 24))
  = (SELECT count(*) FROM minhash_texts a JOIN minhash_texts b ON a.i < b.i
      AND (minhash128(a.body, '{"shingle": 2}') <~> minhash128(b.body, '{"shingle": 2}')) <= 24)
  AS all_pairs;

-- the trigger and dedup_texts by this method
CREATE TABLE minhash_dedup (id serial PRIMARY KEY, body text, fp fingerprint64);
CREATE INDEX ON minhash_dedup USING simhash (fp);
CREATE TRIGGER t BEFORE INSERT ON minhash_dedup FOR EACH ROW
  EXECUTE FUNCTION simhash_dedup('body=body', 'fp=fp', 'method=minhash',
    'config={"shingle": [1, 2]}', 'distance=8');
INSERT INTO minhash_dedup (body) VALUES
  ('the quick brown fox jumps over the lazy dog near the river bank'),
  ('Something else entirely'),
  ('The quick brown fox jumps over the lazy dog near the river bank!'),
  ('the quick brown fox jumps over a lazy dog near the river bank');
SELECT id, body, fp = minhash64(body, '{"shingle": [1, 2]}') AS by_minhash
  FROM minhash_dedup ORDER BY id;
SELECT * FROM dedup_texts($$SELECT i, body FROM (VALUES
  (1, 'the quick brown fox jumps over the lazy dog near the river bank'), (2, 'other'),
  (3, 'the quick brown fox jumps over a lazy dog near the river bank'), (4, 'other')) v(i, body)$$,
  distance => 20, method => 'minhash', config => '{"shingle": 2}');
SELECT hamming(
    minhash64('the quick brown fox jumps over the lazy dog near the river bank', '{"shingle": 2}'),
    minhash64('the quick brown fox jumps over a lazy dog near the river bank', '{"shingle": 2}'))
  AS distance_of_3;
SELECT * FROM dedup_texts('SELECT 1, ''a''', method => 'minhsh');
SELECT * FROM dedup_texts('SELECT 1, ''a''', method => NULL);
CREATE TRIGGER wrong BEFORE INSERT ON minhash_dedup
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('body=body', 'fp=fp', 'method=minhsh');
INSERT INTO minhash_dedup (body) VALUES ('x');
DROP TRIGGER wrong ON minhash_dedup;
CREATE TRIGGER wrong BEFORE INSERT ON minhash_dedup
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp', 'method=minhash');
INSERT INTO minhash_dedup (body) VALUES ('x');
DROP TABLE minhash_dedup, minhash_texts;
DROP FUNCTION by_signature;
