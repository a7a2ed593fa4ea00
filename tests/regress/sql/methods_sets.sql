-- Sets (shingles, signatures, sentences, Bloom filters): forms, bad input, NULLs.
-- tests/tap/methods.pl compares values with computations of its own.
\pset null NULL
SELECT shingles('a b c a b c', 2), shingles('a b', 5), shingles('...', 2), shingles('你好 世界', 1);
SELECT shingle_similarity('a b c d', 'a b c e', 2) AS similarity,
       shingle_similarity('a', '', 2) AS with_none,
       shingle_similarity('', '', 2) AS of_none,
       shingle_containment('', 'a', 2) AS contained, shingle_similarity(NULL, 'a');
SELECT shingle_similarity('能力比学历重要性高', '学历比能力重要性高', 1) AS words,
  shingle_similarity('能力比学历重要性高', '学历比能力重要性高', 2) < 1 AS order_counts;
SELECT shingles('a', -1);
SELECT shingles('a', 1001);
SELECT shingle_similarity('a', 'b', 2, '{"shingel": 3}');

-- signatures
SELECT minhash('c b a', 8, '{"shingle": 1}') = minhash('a b c', 8, '{"shingle": 1}') AS same,
  minhash('', 8),
  minhash(NULL, 8);
SELECT jaccard(minhash('a b c', 8), minhash('a b c', 8)),
  jaccard('{1,2,3,4}/0000000000000001', '{1,2,3,5}/0000000000000001');
SELECT jaccard(minhash('a', 8), minhash('a', 16));
SELECT jaccard(minhash('a', 8), minhash('a', 8, '{"shingle": 1}'));
SELECT jaccard(minhash('a', 8), minhash('a', 8, '{"shingle": 2}')) AS by_pairs;
SELECT jaccard(minhash('a', 8, '{"weight": "tf"}'),
  minhash('a', 8, '{"position": "paper"}')) AS weights_do_not_count;
SELECT minhash('a', 0);
SELECT minhash('a', 8193);
SELECT '{1,2}'::minhash_signature;
SELECT '{}/0000000000000001'::minhash_signature;
SELECT '{4294967296}/0000000000000001'::minhash_signature;
SELECT ' { 1 , 2 }/00000000000000Ff'::minhash_signature;
SELECT '{1,2,3,4,5,6,7,8}/0000000000000001'::minhash_signature
         && '{1,2,3,4,9,9,9,9}/0000000000000001' AS first_band,
       '{1,2,3,4,5,6,7,8}/0000000000000001'::minhash_signature
         && '{9,2,3,4,5,9,7,8}/0000000000000001' AS none,
       '{1,2,3,4}/0000000000000001'::minhash_signature
         && '{1,2,3,4}/0000000000000002' AS other_config;
SELECT array_length(minhash_bands(minhash('a b c'), 16, 8), 1);
SELECT minhash_bands(minhash('a b c'), 16, 9);
SELECT minhash_bands(minhash('a b c'), 0, 9);
CREATE TABLE sets_t (id int, s minhash_signature);
INSERT INTO sets_t SELECT i, minhash('text number ' || i % 7 || ' of some')
  FROM generate_series(1, 50) i;
INSERT INTO sets_t VALUES (0, NULL);
CREATE INDEX ON sets_t USING gin (s minhash_ops (bands = 64, rows = 3));
CREATE INDEX ON sets_t USING gin (s minhash_ops (rows = 0));
CREATE INDEX ON sets_t USING gin (s minhash_ops (band = 3));
CREATE INDEX sets_i ON sets_t USING gin (s minhash_ops (bands = 32, rows = 4));
SET enable_seqscan = off;
SELECT count(*) > 6 AS found,
  count(*) FILTER (WHERE jaccard(s, minhash('text number 3 of some')) = 1) AS equal
FROM sets_t WHERE s && minhash('text number 3 of some');
SELECT count(*) FROM sets_t WHERE s && NULL;
RESET enable_seqscan;
DROP TABLE sets_t;

-- sets that are spread over rows
SELECT minhash_agg(b, 8) = minhash('a b c', 8) AS pairs_of_both,
  minhash_agg(b, 8, '{"shingle": 1}') = minhash('c b a', 8, '{"shingle": 1}') AS words_of_both,
  minhash_agg(b) = minhash('a b c') AS by_default
FROM unnest(ARRAY['a b', NULL, '', '...', 'b c', 'a b']) b;
SELECT minhash_agg(b) AS of_none FROM unnest(ARRAY[NULL, '', '...']) b;
SELECT minhash_agg('a'), minhash_agg('a', 8), minhash_union(minhash('a')) WHERE false;
SELECT minhash_agg('a', NULL), minhash_agg('a', 8, NULL), minhash_union(NULL);
SELECT minhash_agg(b, 8, '{"shingle": 1}') OVER (ORDER BY b)
    = minhash('a ' || b, 8, '{"shingle": 1}') AS of_frame
FROM (VALUES ('a'), ('b')) v (b);
SELECT minhash('a b', 8) | minhash('b c', 8) = minhash('a b c', 8) AS united,
  minhash('a', 8) | NULL AS with_null,
  minhash_union(m) = minhash('a b c', 8) AS of_rows
FROM (VALUES (minhash('a b', 8)), (NULL), (minhash('b c', 8))) v (m);
SELECT minhash_agg('a', 0);
SELECT minhash_agg('a', 8193);
SELECT minhash_agg('a', n) FROM (VALUES (8), (16)) v (n);
SELECT minhash_agg('', n) IS NULL AS of_none FROM (VALUES (8), (16)) v (n);
SELECT minhash_agg('a', 8, c::simhash_config) FROM (VALUES ('{}'), ('{"shingle": 1}')) v (c);
SELECT minhash_agg('a', 8, c::simhash_config) = minhash('a', 8) AS one_kind
FROM (VALUES ('{}'), ('{"weight": "tf"}'), ('{"shingle": 2}')) v (c);
SELECT minhash_union(minhash('a', n)) FROM (VALUES (8), (16)) v (n);
SELECT minhash('a', 8) | minhash('a', 8, '{"shingle": 1}');

-- sentences
SELECT ksentence('One. Two three, four', 2) = ksentence('two THREE; four! one', 2) AS same,
  ksentence('... ', 2), ksentence(NULL);
SELECT ksentence('a', 0);

-- Bloom filters
SELECT bloom_agg(x, 8, 0.1) FROM unnest(ARRAY['a', NULL, 'b']) x;
SELECT bloom_agg(x) IS NULL AS of_none FROM unnest(ARRAY[NULL]::text[]) x;
SELECT bloom_contains(f, 'a'), bloom_contains(f, NULL),
  bloom_contains(f::text::bloom_filter, 'b'), bloom_contains(f::bytea::bloom_filter, 'b')
FROM (SELECT bloom_agg(x, 100) AS f FROM unnest(ARRAY['a', 'b']) x) s;
SELECT (a | b)::text = (b | a)::text AS commutes,
  bloom_contains(a | b, 'a') AND bloom_contains(a | b, 'b') AS both
FROM (SELECT bloom_agg('a', 10, 0.1) AS a, bloom_agg('b', 10, 0.1) AS b) s;
SELECT bloom_agg('a', 10, 0.1) | bloom_agg('a', 20, 0.1);
SELECT bloom_agg('a', 0, 0.1);
SELECT bloom_agg('a', 10, 0);
SELECT bloom_agg('a', 10, 'NaN');
SELECT bloom_agg('a', 10, 1.5);
SELECT bloom_agg('a', 9223372036854775807, 0.1);
SELECT 'm=8,k=1,count=0'::bloom_filter;
SELECT 'm=8,k=0,count=0,bits=00'::bloom_filter;
SELECT 'm=9,k=1,count=0,bits=0002'::bloom_filter;
SELECT 'm=9,k=1,count=0,bits=0001'::bloom_filter;
SELECT '\x0001'::bytea::bloom_filter;

-- duplicates
CREATE TABLE sets_d (id int, body text);
INSERT INTO sets_d VALUES (1, 'the quick brown fox jumps over the lazy dog'),
  (2, 'The quick, brown fox jumps over the lazy dog!'),
  (3, 'the quick brown fox jumps over the lazy dog'),
  (4, NULL), (5, ''), (6, ''), (7, '...'), (8, '...'), (9, 'something else altogether');
SELECT * FROM dedup_texts('SELECT id, body FROM sets_d ORDER BY id');
SELECT * FROM dedup_texts('SELECT id, body FROM sets_d ORDER BY id', 'none');
SELECT * FROM dedup_texts('SELECT id, body FROM sets_d ORDER BY id', 'trie', distance => NULL);
SELECT * FROM dedup_texts('SELECT id, body FROM sets_d ORDER BY id', 'bloom', '{"shingle": 2}', 0);
SELECT * FROM dedup_texts('SELECT id, body FROM sets_d', 'exactly');
SELECT * FROM dedup_texts('SELECT id, body FROM sets_d', distance => 65);
SELECT * FROM dedup_texts('SELECT body FROM sets_d');
SELECT * FROM dedup_texts('SELECT body, id FROM sets_d');
SELECT * FROM dedup_texts('DELETE FROM sets_d');
SELECT * FROM dedup_texts('SELECT NULL::int, body FROM sets_d');
SELECT * FROM dedup_texts(NULL);
DROP TABLE sets_d;

-- keys and distances
SELECT * FROM simhash_blocks('0123456789abcdef'::fingerprint64);
SELECT * FROM simhash_blocks('0123456789abcdef0123456789abcdef'::fingerprint128, 2);
SELECT * FROM simhash_blocks('0123456789abcdef'::fingerprint64, 0);
SELECT * FROM simhash_blocks('0123456789abcdef0123456789abcdef'::fingerprint128, 1);
-- The length of an untyped literal tells its width.
SELECT * FROM simhash_blocks('0123456789abcdef');
SELECT * FROM simhash_blocks('0123456789abcdef0123456789abcdef', 2);
SELECT count(*) FROM simhash_blocks('0123456789abcdef0123456789abcdef');
SELECT * FROM simhash_blocks('0123456789abcde');
SELECT hamming('{0000000000000000,00000000000000ff}'::fingerprint64[],
         '{0000000000000007,00000000000000fe}') AS least,
       hamming('{0000000000000000,NULL}'::fingerprint64[], '{NULL,0000000000000007}') AS none,
       '{0000000000000000}'::fingerprint64[] <~> '{0000000000000003,0000000000000000}' AS shorter;
SELECT * FROM simhash_evaluate(
    'SELECT a::bigint, b::bigint, d FROM (VALUES (0, 0, true), (0, 1, true), (0, 3, false),
      (0, 7, true), (NULL, 7, true)) v (a, b, d)')
  WHERE distance < 5;
SELECT count(*) FROM simhash_evaluate('SELECT simhash128(''a''), simhash128(''b''), true');
SELECT * FROM simhash_evaluate('SELECT simhash128(''a''), simhash(''b''), true');
-- The types of the columns decide which distances there are, even without a row.
SELECT count(*) FROM simhash_evaluate(
  'SELECT simhash128(''a''), simhash128(''b''), true WHERE false');
SELECT * FROM simhash_evaluate('SELECT simhash128(''a''), simhash(''b''), true WHERE false');
SELECT * FROM simhash_evaluate('SELECT 1, 2, true');
SELECT * FROM simhash_evaluate('SELECT 1::bigint, 2::bigint, NULL::boolean');
