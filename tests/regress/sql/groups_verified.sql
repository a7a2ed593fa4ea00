-- The argument similarity= of the trigger simhash_cluster: rows are in one group if their
-- fingerprints are near and their texts similar. Texts and fingerprints are chosen apart from each
-- other, and words are few, so that similarities can be counted by eye.
\set SHOW_CONTEXT never
\pset null -
SELECT 'groups_verified, ' || current_setting('search_path') AS path \gset
CREATE SCHEMA groups_verified;
SET search_path = :path;

-- {a, b, c, d} and {a, b, c, e} share three of five words, {a, b, c, e} and {a, b, e, f} too,
-- {a, b, c, d} and {a, b, e, f} two of six
CREATE TABLE doc (id int PRIMARY KEY, body text, fp fingerprint64, story int);
CREATE INDEX ON doc USING simhash (fp);
CREATE INDEX ON doc (story);
INSERT INTO doc VALUES (1, 'a b c d', '0000000000000000'), (2, 'a b c e', '0000000000000007'),
  (3, 'a b c e', '000000000000ffff');
SELECT simhash_cluster_create('doc', 'fp=fp', 'cluster=story', 'body=body', 'distance=3',
  'similarity=0.6', 'shingle=1') AS groups;
TABLE doc ORDER BY id;
-- the same fingerprint and another text; a text that is near one of the group; texts without words
INSERT INTO doc VALUES (4, 'x y z', '0000000000000000'), (5, 'a b e f', '0000000000000001'),
  (6, NULL, '0000000000000000'), (7, '', '0000000000000000'), (8, '', '0000000000000000'),
  (9, 'e f b a', '0000000000000001');
TABLE doc ORDER BY id;
-- the text alone changes: row 2 held rows 1 and 5 together, and does so again
UPDATE doc SET body = 'x y' WHERE id = 2;
TABLE doc ORDER BY id;
UPDATE doc SET body = 'e c b a' WHERE id = 2;
TABLE doc ORDER BY id;
-- an update that sets the text takes the lock before it locks rows
BEGIN;
UPDATE doc SET body = body;
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory';
ROLLBACK;
-- of rows with one fingerprint, one leaves a group
DELETE FROM doc WHERE id = 1;
TABLE doc ORDER BY id;
-- what the search and the join of the whole table find is the same, here and below
CREATE VIEW differing AS
  WITH truth AS (
    SELECT d.id, min(d.id) OVER (PARTITION BY c.representative) AS true_first
    FROM simhash_clusters('doc_fp_idx', 3, 'body', similarity => 0.6, shingle => 1) c
    JOIN doc d ON d.ctid = c.member),
  stored AS (SELECT id, min(id) OVER (PARTITION BY story) AS first FROM doc
    WHERE story IS NOT NULL)
  SELECT * FROM truth FULL JOIN stored USING (id) WHERE true_first IS DISTINCT FROM first;
TABLE differing;
SELECT simhash_cluster_settle('doc', "full" => true);
TABLE doc ORDER BY id;
-- many rows in one statement, by the join: every third text of a fingerprint is of another kind
INSERT INTO doc SELECT 100 + i,
  CASE i % 3 WHEN 0 THEN 'p q r s ' || i / 30 ELSE 'a b c d ' || i END,
  left(md5((i / 30)::text), 16)::fingerprint64 FROM generate_series(1, 12000) i;
TABLE differing;
SELECT rows, count(*) AS groups
FROM (SELECT count(*) AS rows FROM doc WHERE story > 100 GROUP BY story) g GROUP BY 1 ORDER BY 1;
DELETE FROM doc WHERE id > 100 AND id % 5 = 0;
TABLE differing;

-- shingles of two words and of one, containment, a config
CREATE FUNCTION grouped(VARIADIC arguments text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE groups text;
BEGIN
  CREATE TABLE t (id int PRIMARY KEY, body text, fp fingerprint64, story int);
  CREATE INDEX ON t USING simhash (fp);
  CREATE INDEX ON t (story);
  PERFORM simhash_cluster_create('t', VARIADIC ARRAY['fp=fp', 'cluster=story', 'body=body']
    || arguments);
  INSERT INTO t SELECT i, body, '00000000000000ff' FROM unnest(ARRAY['A b c d e f', 'a B c d',
    'a b c d e x', 'f e d c b a', 'red fox', 'the fox of red', 'abcdefg'])
    WITH ORDINALITY b(body, i);
  SELECT string_agg(ids, '; ') INTO groups FROM (
    SELECT string_agg(id::text, ' ' ORDER BY id) AS ids FROM t WHERE story IS NOT NULL
    GROUP BY story ORDER BY story) g;
  DROP TABLE t;
  RETURN groups;
END $$;
SELECT grouped('similarity=0.7');
SELECT grouped('similarity=0.7', 'shingle=2');
SELECT grouped('similarity=0.7', 'config={"shingle": 2}');
SELECT grouped('similarity=0.7', 'shingle=1');
SELECT grouped('similarity=0.7', 'config={"shingle": 1}');
SELECT grouped('similarity=1', 'measure=containment', 'shingle=1');
SELECT grouped('similarity=0.3', 'measure=weighted', 'config={"weight": "tf", "shingle": 1}');
SELECT grouped('similarity=1', 'config={"stopwords": "en", "shingle": 1}');

-- texts in a generated column, and in partitions that have their columns in another order
CREATE TABLE part (id int PRIMARY KEY, raw text, fp fingerprint64, story int,
  body text GENERATED ALWAYS AS (lower(raw)) STORED) PARTITION BY RANGE (id);
CREATE TABLE part_a PARTITION OF part FOR VALUES FROM (1) TO (10);
CREATE TABLE part_b (story int, body text GENERATED ALWAYS AS (lower(raw)) STORED,
  fp fingerprint64, gone int, raw text, id int NOT NULL);
ALTER TABLE part_b DROP gone;
ALTER TABLE part ATTACH PARTITION part_b FOR VALUES FROM (10) TO (20);
CREATE INDEX ON part USING simhash (fp);
CREATE INDEX ON part (story);
SELECT simhash_cluster_create('part', 'fp=fp', 'cluster=story', 'body=body', 'similarity=0.6',
  'shingle=1', 'settle=later');
INSERT INTO part (id, raw, fp) VALUES (1, 'A B C D', '0000000000000000'),
  (2, 'x', '0000000000000000'), (11, 'a b c e', '0000000000000001'),
  (12, 'X', '0000000000000000');
UPDATE part SET id = 13, raw = 'a b e f' WHERE id = 1;
SELECT id, story FROM part ORDER BY id;
UPDATE part SET raw = 'y' WHERE id = 12;
SELECT id, story FROM part ORDER BY id;
SELECT simhash_cluster_settle('part');
SELECT id, story FROM part ORDER BY id;

-- arguments
CREATE TABLE wrong (id int PRIMARY KEY, fp fingerprint64, story int, body text, held int NOT NULL,
  n int);
CREATE FUNCTION try(VARIADIC arguments text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE state text; message text; hint text;
BEGIN
  PERFORM simhash_cluster_create('wrong', VARIADIC arguments);
  RAISE NOTICE 'accepted';
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE,
    message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
  RAISE NOTICE E'% %\n  hint: %', state, message, hint;
END $$;
SELECT try('fp=fp', 'cluster=story', 'similarity=0.8');
SELECT try('fp=fp', 'cluster=story', 'similarity=0.8', 'body=nothing');
SELECT try('fp=fp', 'cluster=story', 'similarity=0.8', 'body=n');
SELECT try('fp=fp', 'cluster=story', 'similarity=0', 'body=body');
SELECT try('fp=fp', 'cluster=story', 'similarity=much', 'body=body');
SELECT try('fp=fp', 'cluster=story', 'body=body');
SELECT try('fp=fp', 'cluster=story', 'measure=jaccard');
SELECT try('fp=fp', 'cluster=story', 'config={}');
SELECT try('fp=fp', 'cluster=story', 'similarity=0.8', 'body=body', 'config={"shingle": 0}');
SELECT try('fp=fp', 'cluster=story', 'similarity=0.8', 'body=body', 'measure=cosine');
SELECT try('fp=fp', 'cluster=held');
SELECT try('fp=fp', NULL, 'cluster=story');
