-- Rare words decide: near_duplicate by the weighted Jaccard coefficient, where a model says how
-- rare the pairs of words are. What it is, is computed here from the model's terms.
\pset null NULL
SET client_min_messages = warning;
CREATE TABLE notice (id int PRIMARY KEY, body text);
-- Of a template, with a few words that differ; and other texts.
INSERT INTO notice
  SELECT i, 'This package provides the development files that are needed to compile programs with '
    || 'lib' || chr(97 + i % 26) || chr(97 + i % 7) || ' and its ' || CASE i % 3
    WHEN 0 THEN 'codecs for sound' WHEN 1 THEN 'parsers of markup' ELSE 'solvers of equations' END
    || ' in version ' || i / 4
  FROM generate_series(1, 120) i;
INSERT INTO notice
  SELECT 200 + i,
    (SELECT string_agg('w' || (i * 31 + j * 7) % 400, ' ') FROM generate_series(1, 20) j)
  FROM generate_series(1, 60) i;
SELECT simhash_train('rare', 'SELECT body FROM notice', '{"shingle": 2}');
\set idf '{"weight": "idf", "model": "rare", "shingle": 2}'

CREATE FUNCTION weighted(a text, b text) RETURNS double precision LANGUAGE sql AS $$
  SELECT sum(idf) FILTER (WHERE in_a AND in_b) / sum(idf)
  FROM (SELECT shingle, greatest(0, coalesce(
        (SELECT t.idf FROM simhash_model_term('rare', shingle) t),
        ln((SELECT documents FROM simhash_model WHERE name = 'rare')))) AS idf,
      shingle = ANY (shingles(a, 2)) AS in_a, shingle = ANY (shingles(b, 2)) AS in_b
    FROM (SELECT unnest(shingles(a, 2)) UNION SELECT unnest(shingles(b, 2))) s(shingle)) w
$$;
-- Weights are whole numbers of 2^-18.
SELECT count(*) AS pairs, count(*) FILTER (WHERE abs(coalesce(weighted(a.body, b.body), 0)
  - text_similarity(a.body, b.body, :'idf')) > 1e-4) AS wrong
FROM notice a JOIN notice b ON a.id < b.id AND a.id % 7 = 3 AND b.id % 5 < 3;
-- A template is near by all words, and not by the rare ones.
SELECT round(text_similarity(a.body, b.body)::numeric, 2) AS plain,
  round(text_similarity(a.body, b.body, :'idf')::numeric, 2) AS weighted,
  near_duplicate(a.body, b.body, 0.6) AS plain_near, near_duplicate(a.body, b.body, 0.6, :'idf')
FROM notice a, notice b WHERE a.id = 1 AND b.id = 2;
-- What the model has not seen is as rare as can be.
SELECT near_duplicate('of the', 'of the', 1, :'idf');

-- An index, whole tables, groups, the trigger and a constraint find what it says.
CREATE INDEX notice_idf ON notice USING simhash (body)
  WITH (similarity = 0.4, config = '{"weight": "idf", "model": "rare", "shingle": 2}');
ANALYZE notice;
CREATE TEMP VIEW some_notice AS SELECT id, body FROM notice WHERE id % 9 = 0;
CREATE FUNCTION differ(asked double precision) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
  SET LOCAL enable_seqscan = off;
  CREATE TEMP TABLE by_index ON COMMIT DROP AS
    SELECT a.id AS a, b.id AS b FROM some_notice a JOIN notice b
    ON near_duplicate(a.body, b.body, asked, '{"weight": "idf", "model": "rare", "shingle": 2}');
  SET LOCAL enable_seqscan = on; SET LOCAL enable_indexscan = off;
  SET LOCAL enable_bitmapscan = off;
  CREATE TEMP TABLE by_scan ON COMMIT DROP AS
    SELECT a.id AS a, b.id AS b FROM some_notice a, notice b
    WHERE near_duplicate(a.body || '', b.body || '', asked,
      '{"weight": "idf", "model": "rare", "shingle": 2}');
  SELECT count(*) INTO n FROM (TABLE by_index EXCEPT TABLE by_scan
    UNION ALL (TABLE by_scan EXCEPT TABLE by_index)) d;
  n := n + CASE WHEN (SELECT count(*) FROM by_scan) > 13 THEN 0 ELSE 1000 END;
  DROP TABLE by_index, by_scan;
  RETURN n;
END $$;
EXPLAIN (COSTS off)
SELECT id FROM notice WHERE near_duplicate(body, 'libaa and its codecs', 0.5, :'idf');
EXPLAIN (COSTS off) SELECT id FROM notice WHERE near_duplicate(body, 'libaa and its codecs', 0.5);
SELECT asked, differ(asked) FROM unnest('{0.4, 0.5, 0.7, 0.9}'::float8[]) asked;
SELECT count(*) > 30 AS some,
  count(*) FILTER (WHERE NOT near_duplicate(a.body, b.body, 0.5, :'idf')) AS wrong,
  count(*) = (SELECT count(*) FROM notice a JOIN notice b ON a.id < b.id
    AND near_duplicate(a.body || '', b.body || '', 0.5, :'idf')) AS all_of_them
FROM simhash_pairs('notice_idf', similarity => 0.5) p
JOIN notice a ON a.ctid = p.a JOIN notice b ON b.ctid = p.b;
CREATE TABLE kept (id int PRIMARY KEY, body text, same_as int, story int);
CREATE INDEX ON kept USING simhash (body)
  WITH (config = '{"weight": "idf", "model": "rare", "shingle": 2}');
CREATE INDEX ON kept (story);
SELECT simhash_dedup_create('kept', 'body=body', 'similarity=0.6', 'action=link', 'link=same_as',
  'config={"weight": "idf", "model": "rare", "shingle": 2}');
SELECT simhash_cluster_create('kept', 'body=body', 'similarity=0.6', 'cluster=story',
  'config={"weight": "idf", "model": "rare", "shingle": 2}');
INSERT INTO kept (id, body) SELECT id, body FROM notice ORDER BY id;
SELECT count(*) FILTER (WHERE same_as IS NOT NULL) > 10 AS some,
  count(*) FILTER (WHERE (same_as IS NOT NULL) <> EXISTS (SELECT FROM kept e WHERE e.id < k.id
    AND near_duplicate(e.body || '', k.body || '', 0.6, :'idf'))) AS wrong,
  count(*) FILTER (WHERE (story IS NOT NULL) <> EXISTS (SELECT FROM kept e WHERE e.id <> k.id
    AND near_duplicate(e.body || '', k.body || '', 0.6, :'idf'))) AS wrong_groups
FROM kept k;
CREATE TABLE once (body text);
ALTER TABLE once ADD EXCLUDE USING simhash
  (near_text(body, 0.6, '{"weight": "idf", "model": "rare", "shingle": 2}') WITH ~=);
INSERT INTO once SELECT body FROM notice ORDER BY id ON CONFLICT DO NOTHING;
SELECT count(*) > 50 AS kept, (SELECT count(*) FROM once a, once b WHERE a.ctid < b.ctid
  AND near_duplicate(a.body || '', b.body || '', 0.6, :'idf')) AS near FROM once;

-- A model of other shingles, none, and one that was made anew.
SELECT near_duplicate('a b', 'a b', 0.7, '{"weight": "idf", "model": "rare"}');
SELECT near_duplicate('a b', 'a b', 0.7, '{"weight": "idf", "model": "rare", "shingle": 3}');
SELECT near_duplicate('a b', 'a b', 0.7, '{"weight": "idf", "model": "none"}');
SELECT near_duplicate('a b', 'a b', 0.7, '{"weight": "idf"}');
DELETE FROM simhash_model WHERE name = 'rare';
INSERT INTO notice VALUES (500, 'new');
SELECT simhash_train('rare', 'SELECT body FROM notice WHERE id > 100', '{"shingle": 2}');
INSERT INTO notice VALUES (500, 'new');
REINDEX INDEX notice_idf;
INSERT INTO notice VALUES (500, 'new');
DROP VIEW some_notice;
DROP TABLE notice, kept, once;
DROP FUNCTION weighted, differ;
DELETE FROM simhash_model WHERE name = 'rare';
