-- {"spots": ...}: features are chains of words after stop words, for whatever takes a config.
\pset null NULL
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SELECT simhash_stopwords('antecedents', '{a,an,the,is,的,是}') IS NOT NULL AS stored;
-- the paper's sentence, cut by its own antecedents and by all stop words
SELECT shingles('At a rally to kick off a weeklong campaign for the South Carolina primary', 0,
  '{"spots": {}, "stopwords": "antecedents"}') AS by_antecedents,
  shingles('At a rally to kick off a weeklong campaign for the South Carolina primary', 0,
    '{"spots": {"chain": 1, "distance": 2}, "stopwords": "antecedents"}') AS every_second;
SELECT shingles('学历的重要性是能力的基础', 0,
  '{"spots": {"chain": 1}, "stopwords": "antecedents", "hmm": false}') AS chinese;
SELECT '{"spots": {}, "stopwords": "en"}'::simhash_config,
  '{"spots": {"distance": 3, "chain": 4}, "stopwords": "en"}'::simhash_config;

-- what excludes each other
SELECT '{"spots": {}}'::simhash_config;
SELECT '{"spots": {}, "stopwords": "en", "shingle": 2}'::simhash_config;
SELECT '{"spots": {}, "stopwords": "en", "tokenizer": "char"}'::simhash_config;
SELECT '{"spots": {"chain": 0}, "stopwords": "en"}'::simhash_config;
SELECT '{"spots": {"chains": 2}, "stopwords": "en"}'::simhash_config;
SELECT '{"spots": 2, "stopwords": "en"}'::simhash_config;
SELECT shingles('a b', 5, '{"spots": {}, "stopwords": "en"}');
SELECT shingle_similarity('a b', 'a c', config => '{"spots": {}, "stopwords": "en"}');

-- Pages: articles with a menu and a footer around them, and pages that are nothing else.
\set spots '{"spots": {"chain": 2, "distance": 1}, "stopwords": "antecedents"}'
CREATE TABLE page (id int PRIMARY KEY, article int, site int, body text);
INSERT INTO page SELECT article * 10 + site, article, site,
    repeat('Home' || site || ' News' || site || ' Shop' || site || ' Login' || site || '. ', 6)
    || coalesce((SELECT string_agg('the w' || chr(97 + (article * 7 + i) % 26) || chr(97 + i)
        || ' x' || chr(97 + article) || ' is y' || chr(97 + i % 11), ' ')
      FROM generate_series(1, 12) i WHERE article > 0), '')
    || repeat(' Imprint' || site || ' Terms' || site, 3)
  FROM generate_series(0, 9) article, generate_series(1, 3) site;
-- by spots the copies of an article are near, and nothing else; by pairs of words they are not
SELECT count(*) AS pairs, count(*) FILTER (WHERE a.article = b.article) AS copies,
  count(*) FILTER (WHERE near_duplicate(a.body, b.body, 0.9, :'spots')) AS by_spots,
  count(*) FILTER (WHERE near_duplicate(a.body, b.body, 0.9, :'spots')
    AND (a.article <> b.article OR a.article = 0)) AS wrong,
  count(*) FILTER (WHERE near_duplicate(a.body, b.body, 0.9)) AS by_pairs
FROM page a JOIN page b ON a.id < b.id;
-- A page without a spot is near to nothing, itself included.
SELECT minhash64(body, :'spots'), simhash(body, :'spots'), minhash(body, 2, :'spots'),
  shingles(body, 0, :'spots'), text_similarity(body, body, :'spots'),
  near_duplicate(body, body, 0.3, :'spots')
FROM page WHERE id = 1;
SELECT feature, side FROM simhash_explain('the old bridge is closed', 'the old bridge is open',
  :'spots', 'minhash', 64) ORDER BY feature COLLATE "C";

-- An index, whole tables, the trigger and a constraint take them.
SELECT format('CREATE INDEX page_body ON page USING simhash (body) WITH (config = %L)', :'spots')
\gexec
SET enable_seqscan = off;
SELECT p.id, array_agg(n.id ORDER BY n.id) AS near FROM page p
  JOIN page n ON near_duplicate(n.body, p.body, 0.9, :'spots')
WHERE p.id IN (1, 11, 52) GROUP BY p.id ORDER BY p.id;
RESET enable_seqscan;
SELECT count(DISTINCT representative) AS clusters, min(size), max(size)
FROM simhash_clusters('page_body', 0.9);
CREATE TABLE kept (id int, body text);
SELECT format('ALTER TABLE kept ADD EXCLUDE USING simhash (near_text(body, 0.9, %L) WITH ~=)',
  :'spots') \gexec
INSERT INTO kept SELECT id, body FROM page ORDER BY id ON CONFLICT DO NOTHING;
SELECT array_agg(id ORDER BY id) FROM kept;
-- a model is of spots if it was trained on them
SELECT simhash_train('spots', 'SELECT body FROM page', :'spots');
SELECT simhash_lexicons('the cat sat', 'spots', 1);
SELECT simhash_train('words', 'SELECT body FROM page');
SELECT simhash('a', '{"spots": {}, "stopwords": "antecedents", "weight": "idf", "model": "words"}');
DROP TABLE page, kept;
DELETE FROM simhash_model WHERE name IN ('spots', 'words');
DELETE FROM simhash_word_list WHERE name = 'antecedents';
