-- Models: training, weights, bad input. tests/tap/methods.pl compares values with computations of
-- its own.
\pset null NULL
SELECT simhash('a', '{"weight": "idf", "model": "ten"}');
CREATE TABLE ten (body text);
INSERT INTO ten VALUES ('the cat sat'), ('the cat ran'), ('the dog sat'), ('the dog ran'),
  ('a cat sat'), ('a dog ran'),
  ('the cow ran'), ('the cat ran the race'), ('one cat'), ('one'), (NULL);
SELECT simhash_train('ten', 'SELECT body FROM ten');
SELECT name, config, documents, terms FROM simhash_model;
-- by hand: the idf is ln(10/6) = 0.5108. Left neighbours: the 3, a 1 and one 1 of 5, which is
-- 1.37095 bits. Right neighbours: sat 2 and ran 2 of 4, which is 1 bit.
SELECT documents, round(idf::numeric, 4) AS idf, round(entropy::numeric, 4) AS entropy
  FROM simhash_model_term('ten', 'cat');
SELECT * FROM simhash_model_term('ten', 'zebra');
-- "the cat sat": tf 1/3, idf of the, cat, sat: ln(10/7), ln(10/6), ln(10/4)
SELECT feature, round(weight::numeric, 4) AS weight
  FROM simhash_features('the cat sat', '{"weight": "idf", "model": "ten"}');
SELECT feature, round(weight::numeric, 4) AS weight
  FROM simhash_features('the cat sat', '{"weight": "tfidf", "model": "ten"}');
-- the: sqrt(((ln(10/7)/3)^2 + 0.9212^2) / 2), with the entropy (0 + 1.8424) / 2
SELECT feature, round(weight::numeric, 4) AS weight
  FROM simhash_features('the cat sat', '{"weight": "entropy", "model": "ten"}');
SELECT feature, weight
  FROM simhash_features('the the the cat', '{"weight": "tf", "cap": "90%", "model": "ten"}');
SELECT feature, round(weight::numeric, 4) AS weight
  FROM simhash_features('the cat zebra', '{"weight": "idf", "cap": 0.5, "model": "ten"}');
SELECT simhash('', '{"weight": "idf", "model": "ten"}'), esimhash('...', 'ten'),
  esimhash(NULL, 'ten');

-- the order of words makes no difference to a bag of words, but to E-Simhash it does
SELECT simhash_train('zh', $$VALUES ('能力比学历重要'), ('学历比能力重要'), ('重要性高'), ('能力高'), ('学历高')$$);
SELECT simhash('能力比学历重要性高') = simhash('学历比能力重要性高') AS simhash_same,
       esimhash('能力比学历重要性高', 'zh') = esimhash('学历比能力重要性高', 'zh') AS esimhash_same,
       esimhash('能力比学历重要性高', 'ten') = esimhash('学历比能力重要性高', 'ten') AS unseen_same;

-- models do not change
SELECT simhash_train('ten', 'SELECT 1');
SELECT simhash_train('', 'SELECT body FROM ten');
SELECT simhash_train('other', 'SELECT 1');
SELECT simhash_train('other', 'SELECT body FROM ten', '{"shingle": 2}');
UPDATE simhash_model SET documents = 11;
SELECT simhash('a', '{"weight": "idf", "model": "nine"}');
SELECT simhash('a', '{"weight": "idf", "model": "other"}');
SELECT simhash('a', '{"weight": "idf", "model": "ten", "shingle": 3}');
SELECT simhash('a', '{"weight": "level", "cap": "90%", "model": "ten"}');
SELECT simhash_store_model('again', simhash_train_agg(body, '{}')) FROM ten;
SELECT count(DISTINCT model) AS models FROM simhash_model WHERE name IN ('ten', 'again');
SELECT simhash_store_model('ten', model) FROM simhash_model WHERE name = 'again';
SELECT simhash_store_model('bad', '\x00');
SELECT simhash_train_agg(body, '{}') FROM ten WHERE false;
SELECT simhash_train_agg(body,
    CASE WHEN body ~ 'dog' THEN '{"shingle": 2}' ELSE '{}' END::simhash_config) FROM ten;

-- lexicons and I-Match
SELECT array_length(simhash_lexicons('the cat sat', 'ten', 4), 1),
  simhash_lexicons('zebra', 'ten', 1),
  array_length(simhash_lexicons('the cat', 'ten', 0), 1);
SELECT simhash_lexicons('the cat sat', 'ten', 4)
  = simhash_lexicons('the cat sat', 'again', 4) AS reproducible;
SELECT simhash_lexicons('the cat sat', 'ten', -1);
SELECT simhash_lexicons('the cat sat', 'ten', 101);
SELECT simhash_lexicons('the cat sat', 'ten', 1, 0);
SELECT simhash_lexicons('the cat sat', 'other', 1);
-- idf: the 0.36, cat 0.51, ran 0.69, dog and sat 0.92
SELECT imatch('the cat sat', 'ten', 0.4, 0.8) = imatch('a CAT, a cat', 'ten', 0.4, 0.8) AS same,
  imatch('the', 'ten', 0.4, 0.8), imatch('zebra', 'ten', 0, 10);
SELECT imatch('the cat sat', 'ten', 0.8, 0.4);
SELECT imatch('the cat sat', 'ten', 'NaN', 0.4);
-- and by random lexicons: the whole one comes first, and each has keys of its own
SELECT array_length(imatch_keys('the cat sat', 'ten', 4, 0.3), 1),
  array_length(imatch_keys('the cat sat', 'ten', low => 0.3), 1),
  array_length(imatch_keys('the cat sat', 'ten', 0, 0.3), 1),
  imatch_keys('the', 'ten', 10, 0.4, 0.8), imatch_keys('zebra', 'ten', 10, 0, 10),
  imatch_keys('the cat sat', NULL);
SELECT imatch_keys('the cat sat', 'ten', 4, 0.3) = imatch_keys('CAT, sat; the cat', 'ten', 4, 0.3)
    AS of_sets,
  imatch_keys('the cat sat', 'ten', 4, 0.3) = imatch_keys('the cat sat', 'again', 4, 0.3)
    AS reproducible,
  imatch_keys('the cat sat', 'ten', 0, 0.3) && imatch_keys('the cat sat ran', 'ten', 0, 0.3)
    AS by_the_whole,
  imatch_keys('the cat sat', 'ten', 10, 0.3) && imatch_keys('the cat sat ran', 'ten', 10, 0.3)
    AS by_parts,
  cardinality(imatch_keys('ran', 'ten', 100, 0.3)) BETWEEN 60 AND 90 AS some_lack_it;
SELECT imatch_keys('the cat sat', 'ten', -1);
SELECT imatch_keys('the cat sat', 'ten', 101);
SELECT imatch_keys('the cat sat', 'ten', 10, 0.8, 0.4);
SELECT imatch_keys('the cat sat', 'nine');
-- found by GIN as without it
CREATE TABLE pets AS SELECT row_number() OVER () AS id, a.body || b.body AS body
  FROM ten a, (VALUES (''), (' ran'), (' one cow'), (' zebra')) b(body);
CREATE INDEX pets_keys ON pets USING gin (imatch_keys(body, 'ten', 10, 0.3));
SET enable_seqscan = off;
CREATE TABLE by_index AS SELECT id FROM pets
  WHERE imatch_keys(body, 'ten', 10, 0.3) && imatch_keys('the cat sat ran', 'ten', 10, 0.3);
RESET enable_seqscan;
DROP INDEX pets_keys;
SELECT count(*) > 0 AS some, count(b.id) = count(*) AS same FROM (SELECT id FROM pets
    WHERE imatch_keys(body, 'ten', 10, 0.3) && imatch_keys('the cat sat ran', 'ten', 10, 0.3)) p
  FULL JOIN by_index b USING (id);
DROP TABLE by_index;

-- a role that may not read models
CREATE ROLE methods_reader ROLE CURRENT_USER;
-- To name the extension's functions a role needs USAGE on their schema.
SELECT extnamespace::regnamespace AS home FROM pg_extension WHERE extname = 'pg_simhash' \gset
GRANT USAGE ON SCHEMA :home TO methods_reader;
SET ROLE methods_reader;
SELECT esimhash('the cat', 'ten') IS NOT NULL AS reads;
SELECT simhash_train('mine', 'SELECT ''a''');
-- it is refused before the query runs
SELECT simhash_train('mine', 'SELECT (1 / 0)::text');
RESET ROLE;
REVOKE SELECT ON simhash_model FROM PUBLIC;
SET ROLE methods_reader;
SELECT esimhash('the cat', 'ten');
RESET ROLE;
GRANT SELECT ON simhash_model TO PUBLIC;
REVOKE USAGE ON SCHEMA :home FROM methods_reader;
DROP ROLE methods_reader;
BEGIN READ ONLY;
SELECT simhash_train('mine', 'SELECT (1 / 0)::text');
ROLLBACK;

-- an index over a model's fingerprints
CREATE INDEX ON ten (esimhash(body, 'ten'));
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT body FROM ten
  WHERE esimhash(body, 'ten') = 'e05fdd2cdc0a0bbd1c1bc0eb1d31a1d1';
RESET enable_seqscan;
DELETE FROM simhash_model WHERE name = 'ten';
SELECT esimhash('the cat', 'ten');
DELETE FROM simhash_model;
SELECT esimhash('the cat', 'ten');
DROP TABLE ten;
