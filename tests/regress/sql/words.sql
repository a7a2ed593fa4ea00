-- Dictionaries and lists of stop words: how they are made, that they never change, and that every
-- function that takes a config takes them. What they do to tokens is tested in the core.
\pset null NULL
SET client_min_messages = warning;
\set VERBOSITY terse

-- the hash is that of the words, by its definition
SELECT simhash_dictionary('shop', '{石墨烯,New York,node js,5G,New York}')
  = encode(sha256(convert_to(string_agg(word || E'\n', '' ORDER BY word COLLATE "C"), 'UTF8')),
    'hex') AS same
FROM unnest('{石墨烯,New York,node js,5G}'::text[]) word;
SELECT simhash_dictionary('counted', '{京东,大厦,a b}', '{1000000000,0,NULL}')
  = encode(sha256(convert_to(string_agg(word || coalesce(E'\t' || count, '') || E'\n', ''
    ORDER BY word COLLATE "C"), 'UTF8')), 'hex') AS same
FROM (VALUES ('京东', 1000000000), ('大厦', 0), ('a b', NULL)) v(word, count);
SELECT simhash_stopwords('shop', '{的,of course,THE}')
  = encode(sha256(convert_to(E'THE\nof course\n的\n', 'UTF8')), 'hex') AS same;
SELECT kind, name, words, frequencies, length(content), made <= now() AS made
  FROM simhash_word_list ORDER BY kind, name;

-- what they do
SELECT simhash_tokens('I love New York, NODE JS and 5G; 石墨烯', '{"dictionary": "shop"}');
SELECT simhash_tokens('北京东路的大厦', '{"hmm": false}') AS without,
  simhash_tokens('北京东路的大厦', '{"dictionary": "counted", "hmm": false}') AS with;
SELECT simhash_tokens('The cat of course, 的 cat', '{"stopwords": "shop"}');
SELECT simhash_tokens('New York, the 石墨烯', '{"stopwords": "shop", "dictionary": "shop"}');
SELECT '{"stopwords": "shop", "dictionary": "shop", "hmm": true}'::simhash_config;

-- wherever a config is taken, the fingerprint is that of the text with the tokens written as words
CREATE TABLE given (body text, plain text);
INSERT INTO given VALUES ('new york new york node js', 'newyork newyork nodejs'),
  ('the new york times', 'newyork times'), ('5G in New York', '5g in newyork');
\set config '{"dictionary": "shop", "stopwords": "shop", "shingle": 2}'
\set by_word '{"shingle": 2}'
SELECT body, simhash(body, :'config') = simhash(plain, :'by_word') AS simhash,
  simhash128(body, :'config') = simhash128(plain, :'by_word') AS simhash128,
  minhash64(body, :'config') = minhash64(plain, :'by_word') AS minhash64,
  minhash256(body, :'config') = minhash256(plain, :'by_word') AS minhash256,
  shingles(body, 2, :'config') = shingles(plain, 2) AS shingles,
  split_part(minhash(body, 64, :'config')::text, '/', 1)
    = split_part(minhash(plain, 64, :'by_word')::text, '/', 1) AS minhash,
  (SELECT array_agg(feature) FROM simhash_features(body, :'config'))
    = (SELECT array_agg(feature) FROM simhash_features(plain, :'by_word')) AS features
FROM given WHERE body !~ '5G';
SELECT shingle_similarity('New York', 'new-york', 1, '{"dictionary": "shop"}') AS same,
  shingle_similarity('New York', 'newyork', 1) AS other,
  shingle_similarity('New York', 'newyork', 1, '{"dictionary": "shop"}') AS joined;
SELECT id, duplicate_of, stage, distance FROM dedup_texts(
  $$VALUES (1::bigint, 'in new york'), (2, 'in newyork'), (3, 'in york new')$$,
  config => '{"dictionary": "shop", "shingle": 2}', distance => 0);
SELECT jaccard(minhash('a', 64, '{"dictionary": "shop"}'), minhash('a', 64));

-- a trigger, a generated column, an index
CREATE TABLE doc (id int PRIMARY KEY, body text, fp fingerprint64, made fingerprint64
  GENERATED ALWAYS AS (simhash(body, '{"dictionary": "shop"}')) STORED);
CREATE INDEX ON doc (simhash(body, '{"stopwords": "shop"}'));
CREATE INDEX ON doc USING simhash (fp);
CREATE TRIGGER dedup BEFORE INSERT ON doc FOR EACH ROW EXECUTE FUNCTION
  simhash_dedup('body=body', 'fp=fp', 'distance=0', 'config={"dictionary": "shop"}');
INSERT INTO doc VALUES (1, 'in new york'), (2, 'in newyork'), (3, 'in york new');
SELECT id, fp = simhash(body, '{"dictionary": "shop"}') AS fp, made = fp AS made FROM doc;

-- models: trained with them, by both ways, and used with them only
SELECT simhash_train('words', 'SELECT body FROM given', '{"dictionary": "shop"}');
SELECT documents FROM simhash_model_term('words', 'newyork');
SELECT simhash_store_model('words2', simhash_train_agg(body, '{"dictionary": "shop"}')) FROM given;
SELECT count(DISTINCT model) AS models FROM simhash_model WHERE name LIKE 'words%';
SELECT esimhash('new york times', 'words') = esimhash('newyork times', 'words') AS same,
  simhash('times', '{"dictionary": "shop", "weight": "idf", "model": "words"}') IS NOT NULL AS idf;
SELECT simhash('new york', '{"weight": "idf", "model": "words"}');
DELETE FROM simhash_model WHERE name LIKE 'words%';

-- a list never changes; the same words again are no ERROR
SELECT simhash_dictionary('shop', '{5G,石墨烯,node js,New York}') = content AS same
  FROM simhash_word_list WHERE (kind, name) = ('dictionary', 'shop');
\set VERBOSITY default
SELECT simhash_dictionary('shop', '{5G}');
SELECT simhash_dictionary('shop', '{5G,石墨烯,node js,New York}', '{1,1,1,1}');
SELECT simhash_stopwords('shop', '{the}');
UPDATE simhash_word_list SET name = 'other' WHERE kind = 'stopwords';
SELECT simhash('a', '{"dictionary": "none such"}');
SELECT simhash('a', '{"stopwords": "de"}');

-- what is no list
SELECT simhash_dictionary('', '{a}');
SELECT simhash_stopwords('zh', '{a}');
SELECT simhash_dictionary('auto', '{a}');
SELECT simhash_dictionary(NULL, '{a}');
SELECT simhash_dictionary('bad', NULL);
SELECT simhash_dictionary('bad', '{}');
SELECT simhash_stopwords('bad', '{a,NULL}');
SELECT simhash_dictionary('bad', '{a,""}');
SELECT simhash_dictionary('bad', ARRAY[E'a\nb']);
SELECT simhash_dictionary('bad', '{a,++}');
SELECT simhash_dictionary('bad', ARRAY[repeat('长', 101)]);
SELECT simhash_dictionary('bad', '{a,b}', '{1}');
SELECT simhash_dictionary('bad', '{a,b}', '{1,-1}');
SELECT simhash_dictionary('bad', '{a,a}', '{1,2}');
SELECT simhash_dictionary('bad', array_agg(i::text)) FROM generate_series(1, 1000001) i;
SELECT '{"dictionary": "shop", "tokenizer": "char"}'::simhash_config;
SELECT simhash_stopwords('short', NULL);

-- a row that was not made by these functions
INSERT INTO simhash_word_list (kind, name, words, content)
  VALUES ('dictionary', 'forged', '{a}', '');
SELECT simhash('a', '{"dictionary": "forged"}');
\set VERBOSITY terse
INSERT INTO simhash_word_list (kind, name, words, content) VALUES ('list', 'forged', '{a}', '');
\set VERBOSITY default

-- rights: as for models
CREATE ROLE words_reader ROLE CURRENT_USER;
SELECT extnamespace::regnamespace AS home FROM pg_extension WHERE extname = 'pg_simhash' \gset
GRANT USAGE ON SCHEMA :home TO words_reader;
SET ROLE words_reader;
SELECT simhash('the cat', '{"dictionary": "shop"}') IS NOT NULL AS reads;
SELECT simhash_stopwords('mine', '{a}');
SELECT length(simhash_dictionary('shop', '{5G,石墨烯,node js,New York}')) AS there_already;
RESET ROLE;
GRANT INSERT ON simhash_word_list TO words_reader;
SET ROLE words_reader;
SELECT length(simhash_stopwords('mine', '{a}')) AS made;
DELETE FROM simhash_word_list;
RESET ROLE;
REVOKE SELECT ON simhash_word_list FROM PUBLIC;
SET ROLE words_reader;
SELECT simhash('the cat', '{"dictionary": "shop"}');
SELECT simhash_stopwords('mine', '{a}');
RESET ROLE;
GRANT SELECT ON simhash_word_list TO PUBLIC;
REVOKE ALL ON simhash_word_list FROM words_reader;
REVOKE USAGE ON SCHEMA :home FROM words_reader;
DROP ROLE words_reader;
BEGIN READ ONLY;
SELECT simhash_stopwords('never', '{a}');
ROLLBACK;

-- whatever the search path is
CREATE VIEW fingerprints AS SELECT simhash(body, '{"stopwords": "shop"}') AS fp FROM given;
SET search_path = pg_catalog;
SELECT count(fp) FROM public.fingerprints;
RESET search_path;

-- without its list nothing is computed, in a session that has used it either
DELETE FROM simhash_word_list WHERE name <> 'counted';
SELECT simhash_tokens('new york', '{"dictionary": "shop"}');
INSERT INTO doc VALUES (4, 'something else');
-- as with models, the name is free again
SELECT length(simhash_dictionary('shop', '{in new}')) AS made;
SELECT simhash_tokens('in new york', '{"dictionary": "shop"}');
DELETE FROM simhash_word_list;
DROP VIEW fingerprints;
DROP TABLE given, doc;
