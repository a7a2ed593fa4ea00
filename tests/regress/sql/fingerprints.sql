-- Fingerprints: simhash and its parts, configurations, the caller's own features, lexemes.
\set SHOW_CONTEXT never

CREATE TABLE fingerprints_t (id integer PRIMARY KEY, body text);
INSERT INTO fingerprints_t VALUES
  (1, 'the cat sat on the mat'), (2, 'The cat, sat on THE mat!'), (3, 'a dog ran off'),
  (4, '你妈妈喊你回家吃饭哦，回家罗回家罗'), (5, '你妈妈叫你回家吃饭啦，回家罗回家罗'),
  (6, '能力比学历重要性高'), (7, '学历比能力重要性高'), (8, 'PostgreSQL 数据库里的重复文章 are found here'),
  (9, ''), (10, ' .,!? '), (11, NULL), (12, '你媽媽喊你回家吃飯哦，回家羅回家羅'), (13, 'ＰｏｓｔｇｒｅＳＱＬ　１７'),
  (14, 'Привет, мир'), (15, 'مرحبا بالعالم'), (16, '😀😀 👩‍👩‍👧 ok'),
  (17, 'ｃａｆé cafe' || U&'\0301'), (18, E'zero\u200Bwidth'), (19, 'שלום עולם'),
  (20, repeat('word ', 1000)), (21, repeat('x', 100000));

-- calls with plain literals
SELECT simhash('the cat sat on the mat')
         = simhash('the cat sat on the mat', '{}') AS default_config,
       simhash('the cat sat on the mat')
         <> simhash('the cat sat on the mat', '{"shingle":2}') AS shingles_differ,
       simhash128('the cat sat on the mat') IS NOT NULL AS wide;
SELECT pg_typeof(simhash('a')), pg_typeof(simhash128('a')), pg_typeof(simhash('a'::tsvector));

-- a text without features has no fingerprint
SELECT id, simhash(body), simhash128(body) FROM fingerprints_t
  WHERE simhash(body) IS NULL ORDER BY id;
SELECT simhash(NULL::text) IS NULL, simhash('a', NULL) IS NULL;

-- case, punctuation, width, script and normal forms make no difference
SELECT a.id, b.id FROM fingerprints_t a
  JOIN fingerprints_t b ON a.id < b.id AND simhash(a.body) = simhash(b.body) ORDER BY 1, 2;
SELECT hamming(simhash(a.body), simhash(b.body))
         < hamming(simhash(a.body), simhash(c.body)) AS nearer,
       hamming(simhash(a.body), simhash(b.body))
         < hamming(simhash(b.body), simhash(c.body)) AS nearer_too
FROM fingerprints_t a, fingerprints_t b, fingerprints_t c
WHERE (a.id, b.id) = (4, 5) AND c.id IN (3, 8, 14);
SELECT simhash(a.body) = simhash(b.body) AS unigrams,
  simhash(a.body, '{"shingle": 2}') = simhash(b.body, '{"shingle": 2}') AS shingles
FROM fingerprints_t a, fingerprints_t b WHERE (a.id, b.id) = (6, 7);

-- a fingerprint is the sign of its features' weighted sum, whatever the configuration
CREATE TABLE fingerprints_c (config simhash_config);
INSERT INTO fingerprints_c
SELECT jsonb_build_object('tokenizer', t, 'weight', w, 'shingle', k, 'stopwords', s)::simhash_config
FROM unnest('{auto,word,jieba,char}'::text[]) t, unnest('{uniform,tf,log,level}'::text[]) w,
     unnest('{1,2,5}'::int[]) k, unnest('{none,auto}'::text[]) s;
INSERT INTO fingerprints_c
  VALUES ('{"position": "paper"}'), ('{"cap": 1}'), ('{"normalize": []}'), ('{"hmm": false}');
CREATE FUNCTION sign_of_sum(text, simhash_config) RETURNS bit(64) LANGUAGE sql AS $$
  SELECT string_agg(CASE WHEN v > 0 THEN '1' ELSE '0' END, '' ORDER BY i)::bit(64)
  FROM (SELECT i, sum(weight::float8 * (2 * get_bit(hash::bit(64), i) - 1)) AS v
        FROM simhash_features($1, $2), generate_series(0, 63) i GROUP BY i) s
$$;
CREATE FUNCTION sign_of_sum128(text, simhash_config) RETURNS bit(128) LANGUAGE sql AS $$
  SELECT string_agg(CASE WHEN v > 0 THEN '1' ELSE '0' END, '' ORDER BY i)::bit(128)
  FROM (SELECT i, sum(weight::float8 * (2 * get_bit(hash::bit(128), i) - 1)) AS v
        FROM simhash128_features($1, $2), generate_series(0, 127) i GROUP BY i) s
$$;
SELECT count(*) FILTER (WHERE simhash(body, config)::bit(64)
         IS DISTINCT FROM sign_of_sum(body, config)) AS wrong64,
       count(*) FILTER (WHERE simhash128(body, config)::bit(128)
         IS DISTINCT FROM sign_of_sum128(body, config)) AS wrong128,
       count(*) > 1500 AS enough
FROM fingerprints_t, fingerprints_c WHERE id <> 21 AND body <> '';
-- tokens are those of the normalised text, and normalising twice changes nothing
SELECT count(*) FILTER (WHERE simhash_tokens(simhash_normalize(body, config), config)
         IS DISTINCT FROM simhash_tokens(body, config)) AS wrong_tokens,
       count(*) FILTER (WHERE simhash_normalize(simhash_normalize(body, config), config)
         IS DISTINCT FROM simhash_normalize(body, config)) AS wrong_normalize
FROM fingerprints_t, fingerprints_c;
-- the features of unigrams are the distinct tokens, their term frequencies the weights
SELECT count(*) AS wrong FROM (
  (SELECT id, feature, weight::bigint
    FROM fingerprints_t, simhash_features(body, '{"weight": "tf"}')
   EXCEPT ALL SELECT id, t, count(*)
   FROM fingerprints_t, unnest(simhash_tokens(body)) t GROUP BY id, t)
  UNION ALL
  (SELECT id, t, count(*) FROM fingerprints_t, unnest(simhash_tokens(body)) t GROUP BY id, t
   EXCEPT ALL SELECT id, feature, weight::bigint
   FROM fingerprints_t, simhash_features(body, '{"weight": "tf"}'))
) s;
SELECT feature, weight FROM simhash_features('the cat sat on the mat the end', '{"weight": "log"}');
SELECT feature, weight
  FROM simhash_features('the cat sat on the mat', '{"shingle": 3, "weight": "uniform"}');
SELECT feature FROM simhash_features('two words', '{"shingle": 5}');
SELECT simhash_tokens('能力比学历重要性高'), simhash_tokens('能力abc高', '{"tokenizer": "char"}');
SELECT simhash_tokens('the cat is on the mat', '{"stopwords": "en"}');

-- normalisation steps
SELECT simhash_normalize('Hello，　WORLD！'), simhash_normalize('Hello，　WORLD！', '{"normalize": []}');
SELECT simhash_normalize('<p>Fish &amp; <b>chips</b><script>x()</script></p>',
    '{"normalize": ["html", "space"]}');
SELECT simhash_normalize('漢語詞彙', '{"normalize": ["simplified"]}'),
       simhash_normalize('ＡＢＣ ①', '{"normalize": ["nfkc"]}'),
       simhash_normalize('Straße ΣΊΣΥΦΟΣ', '{"normalize": ["lower"]}'),
       simhash_normalize(E' a \n\t b ', '{"normalize": ["space"]}'),
       simhash_normalize('a.b, c!', '{"normalize": ["punctuation"]}');
SELECT simhash_normalize('L''été à Łódź, Đà Nẵng', '{"normalize": ["marks"]}'),
       simhash_normalize('IŞIK ışık İ', '{"normalize": ["marks", "lower"]}'),
       simhash_normalize('Größe ÄÖÜ', '{"normalize": ["german"]}'),
       simhash_normalize('१२ ٣٫٥', '{"normalize": ["digits"]}'),
       simhash_normalize(E'exam- \n  ple, Jean-\nPaul', '{"normalize": ["hyphens"]}'),
       simhash_normalize('a data:image/png;base64,iVBORw0KGgo= b', '{"normalize": ["data"]}'),
       simhash_normalize('CAFÉ»', '{"normalize": ["mojibake"]}'),
       simhash_normalize('Un cafÃ©', '{"normalize": ["mojibake"]}'),
       simhash_normalize('Сhеар', '{"normalize": ["confusables"]}') \gx
SELECT simhash_normalize('manned.org path/app.apk 3.5mm U.S.A. e.g. end.Start');
SELECT simhash_normalize(t.body) = simhash_normalize(t.other) AS same, t.body
  FROM (VALUES ('Crème brûlée', 'creme brulee'), ('كِتَابٌ', 'كتاب'), ('שָׁלוֹם', 'שלום'),
    ('٢٠٢٦', '2026'), ('İSTANBUL', 'istanbul'), ('Tiếng Việt', 'tieng viet'),
    ('हिन्दी', 'हनद'), ('がぎ', 'かき')) t(body, other);

-- configurations: canonical form, and errors that say what is allowed
SELECT '{ "weight" : "tf", "shingle" : 3 }'::simhash_config,
  '{}'::simhash_config, '{"shingle": 1}'::simhash_config;
SELECT '{"weight": "tf"}'::jsonb::simhash_config,
  '{"weight": "tf"}'::simhash_config::jsonb ->> 'weight', '{"weight": "tf"}'::simhash_config::json;
SELECT '{"wieght": "tf"}'::simhash_config;
SELECT '{"weight": "heavy"}'::simhash_config;
SELECT '{"weight": 1}'::simhash_config;
SELECT '{"shingle": 0}'::simhash_config;
SELECT '{"shingle": "2"}'::simhash_config;
SELECT '{"normalize": ["upper"]}'::simhash_config;
SELECT '{"tokenizer": "space"}'::simhash_config;
SELECT '{"stopwords": 5}'::simhash_config;
SELECT '{"weight": "idf"}'::simhash_config;
SELECT '[]'::simhash_config;
SELECT '{"weight": '::simhash_config;
SELECT simhash('text', '{"weight": "idf", "model": "none"}');

-- the caller's own features: their order does not matter, the weights of equal ones add up
SELECT simhash_from('{a,b,c}', '{1,2,3}') = simhash_from('{c,a,b}', '{3,1,2}') AS any_order,
       simhash_from('{a,b,a}', '{1,2.5,2}') = simhash_from('{a,b}', '{3,2.5}') AS add_up,
       simhash_from('{a,b}') = simhash_from('{a,b}', '{1,1}') AS default_weight,
       simhash_from('{a}', '{5}')::text
         = (SELECT hash::text FROM simhash_features('a')) AS one_feature_is_its_hash,
       simhash_from('{}') IS NULL
         AND simhash_from('{a}', '{0}') IS NULL AND simhash_from(NULL) IS NULL AS none;
SELECT simhash_from('{a,b,c}', '{1e20,1e20,1}') = simhash_from('{c,b,a}', '{1,1e20,1e20}') AS exact;
SELECT count(*) AS wrong FROM fingerprints_t,
  LATERAL (SELECT array_agg(feature) AS f, array_agg(weight) AS w FROM simhash_features(body)) s
WHERE simhash_from(f, w) IS DISTINCT FROM simhash(body) AND body <> '';
SELECT simhash_from('{a,b}', '{1}');
SELECT simhash_from('{a,NULL}', '{1,2}');
SELECT simhash_from('{a,b}', '{1,NULL}');
SELECT simhash_from('{a,b}', '{1,NaN}');
SELECT simhash_from('{a,b}', '{1,-1}');
SELECT simhash128_from('{a,b}', '{Infinity,1}');

-- lexemes: a label weighs 10 (A), 4 (B), 2 (C) or 1 (D) at each of its positions
CREATE FUNCTION from_lexemes(tsvector) RETURNS fingerprint64 LANGUAGE sql AS $$
  SELECT simhash_from(array_agg(lexeme), array_agg(weight))
  FROM (SELECT lexeme, coalesce((
          SELECT sum(CASE w WHEN 'A' THEN 10 WHEN 'B' THEN 4 WHEN 'C' THEN 2 ELSE 1 END)
          FROM unnest(weights) w), 1)::real AS weight
        FROM unnest($1)) s
$$;
SELECT count(*) FILTER (WHERE simhash(v) IS DISTINCT FROM from_lexemes(v)) AS wrong,
  count(DISTINCT simhash(v)) > 5 AS varied
FROM (SELECT to_tsvector('simple', body) FROM fingerprints_t UNION ALL
      SELECT setweight(to_tsvector('simple', body), 'A')
        || setweight(to_tsvector('simple', coalesce(lag(body) OVER (ORDER BY id), '')), 'C')
      FROM fingerprints_t UNION ALL
      SELECT strip(to_tsvector('english', body)) FROM fingerprints_t) s (v);
SELECT simhash(''::tsvector) IS NULL AS empty,
  simhash128(to_tsvector('simple', 'a b')) IS NOT NULL AS wide;

-- a generated column, an expression index, a config column
CREATE TABLE fingerprints_g (body text,
  fp fingerprint64 GENERATED ALWAYS AS (simhash(body)) STORED,
  fp128 fingerprint128 GENERATED ALWAYS AS (simhash128(body, '{"shingle": 2}')) STORED);
INSERT INTO fingerprints_g (body) SELECT body FROM fingerprints_t;
UPDATE fingerprints_g SET body = 'another text' WHERE body = '';
SELECT count(*) FILTER (WHERE fp IS DISTINCT FROM simhash(body)
         OR fp128 IS DISTINCT FROM simhash128(body, '{"shingle": 2}')) AS wrong,
       count(fp)
FROM fingerprints_g;
CREATE INDEX fingerprints_e ON fingerprints_g (simhash(body));
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM fingerprints_g WHERE simhash(body) = '0123456789abcdef';
RESET enable_seqscan;
SELECT count(DISTINCT simhash(body, config)) > 10 AS follows_each_row
  FROM fingerprints_t, fingerprints_c WHERE id = 8;

DROP TABLE fingerprints_t, fingerprints_c, fingerprints_g;
DROP FUNCTION sign_of_sum, sign_of_sum128, from_lexemes;
