-- near_duplicate and text_similarity: sets of shingles compared exactly, against sets made in SQL.
\pset null NULL
SET client_min_messages = warning;
SELECT text_similarity('the cat sat on the mat', 'the cat sat on a mat'),
  near_duplicate('the cat sat on the mat', 'the cat sat on a mat', 0.4),
  near_duplicate('the cat sat on the mat', 'the cat sat on a mat');
-- a similarity is reached by the decimal fraction that it is: 7 of 10 pairs
SELECT text_similarity(a, b), near_duplicate(a, b, 0.7), near_duplicate(a, b, 0.70000001)
FROM (VALUES ('a b c d e f g h i', 'a b c d e f g h j k')) t(a, b);
SELECT text_similarity(a, b) = 0.7::double precision AS seven_of_ten, near_duplicate(b, a, 0.7)
FROM (VALUES ('a b c d e f g h i j', 'a b c d e f g h k')) t(a, b);

-- '{}' is pairs of words in all functions of sets, and says as much as {"shingle": 2}
SELECT config, text_similarity('a b c d', 'a c b d', config),
  shingle_similarity('a b c d', 'a c b d', 0, config),
  minhash('a b c d', 2, config) = minhash('a b c d', 2, '{"shingle": 2}') AS as_pairs,
  minhash64('a b c d', config) = minhash64('a b c d', '{"shingle": 2}') AS as_pairs,
  simhash('a b c d', config) = simhash('a b c d', '{"shingle": 1}') AS as_words
FROM (VALUES ('{}'::simhash_config), ('{"shingle": 1}'), ('{"shingle": 2}'),
  ('{"weight": "tf", "position": "paper", "cap": 2}'), ('{"shingle": [1, 2]}')) c(config);
SELECT '{"shingle": 1}'::simhash_config = '{}'::simhash_config AS same_text;
-- other keys count as everywhere
SELECT text_similarity('The CAT sat', 'the cat sat'),
  text_similarity('The CAT sat', 'the cat sat', '{"normalize": []}'),
  text_similarity('the cat sat', 'cat sat', '{"stopwords": "en"}'),
  text_similarity('abcd', 'abce', '{"tokenizer": "char", "shingle": 1}');

-- NULL gives NULL; a text without a token is near to nothing, itself included
SELECT text_similarity(NULL, 'a'), text_similarity('a', NULL), text_similarity('a', 'a', NULL),
  near_duplicate(NULL, 'a'), near_duplicate('a', NULL), near_duplicate('a', 'a', NULL),
  near_duplicate('a', 'a', 0.7, NULL);
SELECT text_similarity(a, b), near_duplicate(a, b), near_duplicate(a, b, 0.3)
FROM (VALUES ('', ''), ('...', '...'), ('', 'a b'), ('a b', '-'), ('a', 'a'), ('a', 'A.')) t(a, b);

-- similarities are from 0.3 to 1
\set VERBOSITY sqlstate
SELECT near_duplicate('a', 'a', 0.29);
\set VERBOSITY default
SELECT near_duplicate('a', 'a', 0.29);
SELECT near_duplicate('a', 'a', 1.0000001);
SELECT near_duplicate('a', 'a', -1);
SELECT near_duplicate('a', 'a', 'NaN');
SELECT near_duplicate('a', 'a', 'Infinity');
SELECT near_duplicate('a', 'a', 0.3), near_duplicate('a', 'a', 1);
SELECT near_duplicate('a', 'a', 0.7, '{"shingel": 1}');
SELECT text_similarity('a', 'a', '{"dictionary": "none such"}');

-- against sets made in SQL, of texts that need no normalisation
CREATE FUNCTION pairs_of(body text) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN cardinality(w) < 2 THEN w
    ELSE (SELECT array_agg(DISTINCT w[i] || ' ' || w[i + 1])
      FROM generate_series(1, cardinality(w) - 1) i) END
  FROM string_to_array(body, ' ') w
$$;
CREATE FUNCTION jaccard_of(a text[], b text[]) RETURNS double precision LANGUAGE sql IMMUTABLE AS $$
  SELECT count(*) FILTER (WHERE x IS NOT NULL AND y IS NOT NULL)::double precision / count(*)
  FROM (SELECT DISTINCT unnest(a)) a(x) FULL JOIN (SELECT DISTINCT unnest(b)) b(y) ON x = y
$$;
CREATE TABLE near_texts AS
SELECT i AS id, (SELECT string_agg(translate((100 + CASE WHEN (i * 7919 + k * 31) % 11 < i % 4
      THEN i * k % 97 ELSE (i % 6 * 41 + k * k) % 53 END)::text, '0123456789', 'abcdefghij'), ' '
    ORDER BY k)
  FROM generate_series(1, 1 + i * i % 37) k) AS body
FROM generate_series(1, 120) i;
CREATE TABLE near_pairs AS
SELECT a.id AS a_id, b.id AS b_id, a.body AS a, b.body AS b,
  jaccard_of(pairs_of(a.body), pairs_of(b.body)) AS exact
FROM near_texts a, near_texts b;
SELECT count(*), count(*) FILTER (WHERE exact BETWEEN 0.3 AND 0.99) AS between,
  count(*) FILTER (WHERE text_similarity(a, b) <> exact) AS wrong,
  count(*) FILTER (WHERE text_similarity(a, b, '{"shingle": 1}')
    <> jaccard_of(string_to_array(a, ' '), string_to_array(b, ' '))) AS wrong_words
FROM near_pairs;
-- never without the similarity, nearly always with it, the same both ways, and at every smaller one
SELECT s, count(*) FILTER (WHERE near) > 100 AS some,
  count(*) FILTER (WHERE near AND exact < s) AS too_far,
  count(*) FILTER (WHERE NOT near AND exact >= s) <= count(*) FILTER (WHERE near) / 100
    AS few_missed,
  count(*) FILTER (WHERE near <> back) AS differ, count(*) FILTER (WHERE near AND NOT less) AS lost
FROM near_pairs, (VALUES (0.3), (0.35), (0.4), (0.5), (0.6), (0.65), (0.7), (0.8), (0.9), (1)) v(s),
  LATERAL (SELECT near_duplicate(a, b, s) AS near, near_duplicate(b, a, s) AS back,
    near_duplicate(a, b, greatest(s - 0.1, 0.3)) AS less) n
GROUP BY s ORDER BY s;

-- what a call site keeps of either argument changes nothing: constants, columns, joins in both
-- orders, configs and similarities that change from row to row
SELECT count(*) FILTER (WHERE near_duplicate(body, (SELECT body FROM near_texts WHERE id = 40), 0.4)
    <> (exact >= 0.4)) AS second_constant,
  count(*) FILTER (WHERE near_duplicate((SELECT body FROM near_texts WHERE id = 40), body, 0.4)
    <> (exact >= 0.4)) AS first_constant,
  count(*) FILTER (WHERE text_similarity(body, (SELECT body FROM near_texts WHERE id = 40))
    <> exact) AS similarity
FROM near_texts JOIN near_pairs ON a_id = id AND b_id = 40;
SELECT count(*) FROM near_pairs p, LATERAL (VALUES ('{}'::simhash_config), ('{"shingle": 1}'),
    ('{"tokenizer": "char", "shingle": 4}')) c(config)
  WHERE near_duplicate(a, b, 0.3 + a_id % 7 / 10.0, config)
    <> near_duplicate(b || '.', a || ' !', 0.3 + a_id % 7 / 10.0, config);
PREPARE near(text, double precision) AS
  SELECT count(*) FROM near_texts WHERE near_duplicate(body, $1, $2);
SET plan_cache_mode = force_generic_plan;
SELECT body FROM near_texts WHERE id = 40 \gset
EXECUTE near(:'body', 0.4);
EXECUTE near('', 0.4);
EXECUTE near(NULL, 0.4);
EXECUTE near('a', NULL);
EXECUTE near('a', 2);
RESET plan_cache_mode;
-- the order of texts by how near they are: empty ones last
SELECT body FROM (VALUES ('a b c'), (''), ('a b d e'), ('a b'), ('x')) t(body)
  ORDER BY text_similarity(body, 'a b c') DESC, body;

-- near_text: a text with its similarity and config
SELECT near_text('a text', 0.8), near_text('a text'::text), near_text('a', 1, '{"shingle": 1}'),
  near_text('', 0.5), near_text(NULL::text), near_text('a', NULL);
SELECT near_text(repeat('0123456789', 6)), near_text(repeat('0123456789', 6) || '!');
SELECT near_text(E'  two\n\t\x01 lines  ', 0.7), near_text(repeat('数据库 ', 100)),
  length(near_text(repeat(E' \n', 1000) || 'end', 0.3)::text);
SELECT near_text('a', 0.2);
SELECT near_text('a', 'NaN');
\set VERBOSITY sqlstate
SELECT '<a,0.7>'::near_text;
\set VERBOSITY default
SELECT '<a,0.7>'::near_text;
SELECT near_text('a b', 0.7) ~= 'a b';
-- a function call of a lone literal is a cast
SELECT near_text('a b');
SELECT near_text(a) ~= a AS x, a ~= near_text(a) AS y, near_text(a) ~= near_text(a) AS z,
  near_text(a) ~= near_text(NULL::text) AS u, NULL ~= near_text(a) AS v, near_text(a) ~= NULL AS w
FROM (VALUES ('a b'::text), ('a'), (''), ('...')) t(a);
-- the greater similarity decides
SELECT near_text(a, 0.4) ~= near_text(b, 0.4) AS both, near_text(a, 0.4) ~= near_text(b, 0.5),
  near_text(a, 0.5) ~= near_text(b, 0.4), near_text(a, 0.4) ~= b, b ~= near_text(a, 0.4),
  near_text(a, 0.5) ~= b, b ~= near_text(a, 0.5)
FROM (VALUES ('the cat sat on the mat', 'the cat sat on a mat')) t(a, b);
-- two configs that make the same sets are one
SELECT near_text('a b', 0.7, '{"shingle": 2, "weight": "tf"}') ~= near_text('a b', 0.7);
\set VERBOSITY sqlstate
SELECT near_text('a b', 0.7, '{"shingle": 1}') ~= near_text('a b', 0.7);
\set VERBOSITY default
SELECT near_text('a b', 0.7, '{"shingle": 1}') ~= near_text('a b', 0.7);
-- as near_duplicate, also without a call site that lasts
SELECT s, count(*) FILTER (WHERE near), count(*) FILTER (WHERE near <> x) AS x,
  count(*) FILTER (WHERE near <> y) AS y, count(*) FILTER (WHERE near <> z) AS z
FROM near_pairs, (VALUES (0.3), (0.5), (0.7), (0.9)) v(s),
  LATERAL (SELECT near_duplicate(a, b, s) AS near, near_text(a, s) ~= b AS x,
    a ~= near_text(b, s) AS y, near_text(a, s) ~= near_text(b, 0.3) AS z) n
GROUP BY s ORDER BY s;
-- it can be stored and compressed, though nothing reads it back
CREATE TEMP TABLE kept AS SELECT near_text(repeat('many words ', 10000), 0.8) AS t;
SELECT t, t ~= repeat('many words ', 20000) AS near, pg_column_size(t) < 10000 AS compressed
FROM kept;

-- the law of reach: 99 % of one-bit fingerprints of texts so similar
SELECT bits, array_agg(simhash_reach(similarity, bits) ORDER BY similarity DESC)
FROM unnest(ARRAY[64, 128, 256]) bits, unnest(ARRAY[0.9, 0.8, 0.7, 0.6, 0.5]) similarity
GROUP BY bits ORDER BY bits;
SELECT simhash_reach(0.7), simhash_reach(1, 8), simhash_reach(0.3, 8), simhash_reach(0.3, 1024),
  simhash_reach(NULL);
SELECT simhash_reach(0.7, 7);
SELECT simhash_reach(0.7, 1025);
SELECT simhash_reach(0.7, -1);
SELECT simhash_reach(0.2);
-- of the pairs here
SELECT count(*) > 200 AS pairs, count(*) FILTER (WHERE hamming(minhash128(a), minhash128(b))
    <= simhash_reach(exact)) >= count(*) * 0.97 AS within
FROM near_pairs WHERE exact BETWEEN 0.3 AND 0.999;
DROP TABLE near_texts, near_pairs;
DROP FUNCTION pairs_of, jaccard_of;

-- the edit distance of normalised texts, in graphemes, over the longer one's length
SELECT edit_similarity('Kitten', 'sitting') = 4 / 7.0::double precision AS four_of_seven,
  edit_similarity('intention', 'execution') = 4 / 9.0::double precision AS four_of_nine,
  edit_similarity('The CAT sat.', 'the cat sat'), edit_similarity('漢字', '汉字'),
  edit_similarity('été', U&'e\0301te\0301'), edit_similarity('hello world', 'helloworld') * 11,
  edit_similarity('ab', 'AB', '{"normalize": []}'), edit_similarity('ab', 'ba');
SELECT edit_similarity(NULL, 'a'), edit_similarity('a', NULL), edit_similarity('a', 'a', NULL);
SELECT edit_similarity(a, b), edit_similarity(b, a)
FROM (VALUES ('', ''), ('...', '...'), ('', 'a b'), ('a b', '-'), ('a', 'a'), ('a', 'A.'),
  ('a', 'b')) t(a, b);
SELECT edit_similarity('a', 'b', '{"normalise": []}');
-- beyond a million graphemes, without what both begin and end with
SELECT edit_similarity(repeat('a', 1048577), repeat('b', 10));
SELECT edit_similarity(repeat('a', 2000000) || 'x', repeat('a', 2000000) || 'y')
  = 2000000 / 2000001.0::double precision AS all_but_one;
