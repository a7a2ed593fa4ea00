-- The argument similarity= of the trigger simhash_dedup: near fingerprints propose, the similarity
-- of the texts decides. What is expected is computed by shingle_similarity and
-- shingle_containment.
\set SHOW_CONTEXT never
\pset null -
SELECT 'dedup_verified, ' || current_setting('search_path') AS path \gset
CREATE SCHEMA dedup_verified;
SET search_path = :path;

-- Texts and fingerprints are chosen apart from each other. {a, b, c, d} and {a, b, c, e} share
-- three of five words.
CREATE TABLE doc (id int PRIMARY KEY, body text, fp fingerprint64);
CREATE INDEX ON doc USING simhash (fp);
CREATE TRIGGER no_near BEFORE INSERT OR UPDATE ON doc FOR EACH ROW EXECUTE FUNCTION
  simhash_dedup('fp=fp', 'body=body', 'distance=3', 'similarity=0.6', 'shingle=1');
INSERT INTO doc VALUES
  (1, 'a b c d', '0000000000000000'), (2, 'a b c e', '0000000000000007'),
  (3, 'a b f g', '0000000000000000'), (4, 'a b c e', '000000000000000f'),
  (5, NULL, '0000000000000000'), (6, '', '0000000000000000'), (7, '', '0000000000000000')
  RETURNING id;
-- an update of the text alone is judged, one that changes neither takes no lock
BEGIN;
UPDATE doc SET body = body, fp = fp, id = id;
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory';
ROLLBACK;
SELECT id, body FROM doc ORDER BY id;
-- words in another order have the same fingerprint, and other pairs of words, which count
CREATE TABLE ordered (id int PRIMARY KEY, body text, fp fingerprint64);
CREATE INDEX ON ordered USING simhash (fp);
CREATE TRIGGER no_near BEFORE INSERT OR UPDATE ON ordered FOR EACH ROW EXECUTE FUNCTION
  simhash_dedup('fp=fp', 'body=body', 'similarity=0.6');
INSERT INTO ordered VALUES (1, 'one two three four five'), (2, 'five four three two one')
  RETURNING *;
UPDATE ordered SET body = 'two three four five one' WHERE id = 2 RETURNING *;
UPDATE ordered SET body = 'three two one five four' WHERE id = 2 RETURNING *;
UPDATE ordered SET body = NULL WHERE id = 2 RETURNING *;

-- shingles of two words, by default, or of one; the greater of both containments; the config
-- decides what a word is
CREATE FUNCTION kept(VARIADIC arguments text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE ids text;
BEGIN
  CREATE TABLE t (id int PRIMARY KEY, body text, fp fingerprint64);
  CREATE INDEX ON t USING simhash (fp);
  EXECUTE format('CREATE TRIGGER t BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION
    simhash_dedup(%L, %L, %s)', 'fp=fp', 'body=body',
    (SELECT string_agg(quote_literal(a), ', ') FROM unnest(arguments) a));
  INSERT INTO t SELECT i, body, '00000000000000ff' FROM unnest(ARRAY['A b c d e f', 'a B c d',
    'a b c d e x', 'f e d c b a', 'red fox', 'the fox of red', 'abcdefg'])
    WITH ORDINALITY b(body, i);
  SELECT string_agg(id::text, ' ' ORDER BY id) INTO ids FROM t;
  DROP TABLE t;
  RETURN ids;
END $$;
SELECT kept('similarity=0.7');
SELECT kept('similarity=0.7', 'shingle=2');
SELECT kept('similarity=0.7', 'config={"shingle": 2}');
SELECT kept('similarity=0.7', 'shingle=1');
SELECT kept('similarity=0.7', 'config={"shingle": 1}');
SELECT kept('similarity=1', 'measure=containment', 'shingle=1');
SELECT kept('similarity=1', 'measure=containment', 'shingle=2');
SELECT kept('similarity=0.6', 'measure=weighted', 'config={"weight": "tf", "shingle": 1}');
SELECT kept('similarity=0.6', 'config={"tokenizer": "char", "shingle": 1}');
SELECT kept('similarity=1', 'config={"stopwords": "en", "shingle": 1}');

-- error and link: the most similar row, then the nearest, then the least key
CREATE TABLE strict (id int PRIMARY KEY, body text, fp fingerprint64);
CREATE INDEX ON strict USING simhash (fp);
CREATE TRIGGER no_near BEFORE INSERT ON strict FOR EACH ROW EXECUTE FUNCTION
  simhash_dedup('fp=fp', 'body=body', 'distance=9', 'similarity=0.5', 'shingle=1',
    'action=error');
INSERT INTO strict VALUES (1, 'a b c', '0000000000000001'), (2, 'd e f g h i', '000000000000000f');
INSERT INTO strict VALUES (3, 'd e f g h', '0000000000000000');
CREATE TABLE linked (id int PRIMARY KEY, body text, fp fingerprint64, same_as int, near boolean);
CREATE INDEX ON linked USING simhash (fp);
CREATE TRIGGER mark BEFORE INSERT OR UPDATE ON linked FOR EACH ROW EXECUTE FUNCTION
  simhash_dedup('fp=fp', 'body=body', 'distance=9', 'similarity=0.2', 'shingle=1', 'action=link',
    'link=same_as', 'flag=near');
INSERT INTO linked VALUES (1, 'a b c d', '0000000000000000'),
  (2, 'a b e f g h', '0000000000000001'),
  (3, 'a b e f i j', '00000000000000ff'), (4, 'a b e f g i', '00000000000000ff'),
  (5, 'a b e f g i', '000000000000007f'), (6, 'a b e f g i', '00000000000000fe'),
  (7, 'x', '0000000000000000');
TABLE linked ORDER BY id;

-- a generated fingerprint: the config is that of the shingles
CREATE TABLE made (id int PRIMARY KEY, body text,
  fp fingerprint64 GENERATED ALWAYS AS (simhash(body)) STORED);
CREATE INDEX ON made USING simhash (fp);
CREATE TRIGGER no_near BEFORE INSERT OR UPDATE ON made FOR EACH ROW EXECUTE FUNCTION
  simhash_dedup('fp=fp', 'body=body', 'distance=40', 'similarity=0.5', 'config={"shingle": 2}');
INSERT INTO made VALUES (1, 'one two three four five six'), (2, 'six five four three two one'),
  (3, 'one two three four five seven') RETURNING id;
UPDATE made SET body = 'one two three four five, six, seven' WHERE id = 2 RETURNING id;

-- Against a model: every row in turn is kept if no kept row is within the distance and similar.
-- Partitions, long texts (toasted), an index or none.
CREATE TABLE word AS SELECT i, 'w' || i || repeat('x', i % 7) AS word FROM generate_series(0, 99) i;
CREATE TABLE given AS
SELECT id, base % 2 AS part,
  (SELECT string_agg(word, ' ' ORDER BY n) FROM generate_series(1, length) n JOIN word w
   ON w.i = (base * 7919 + n * 104729 + CASE hashint4(n * 1000 + id) % 5 WHEN 0 THEN id ELSE 0 END)
     % 100) AS body
FROM (SELECT id, id % 15 AS base, CASE WHEN id % 15 = 3 THEN 3000 ELSE 12 END AS length
      FROM generate_series(1, 150) id) s;
CREATE TABLE hashed AS SELECT *, minhash128(body, '{"shingle": 2}') AS fp FROM given;
CREATE FUNCTION model(at_least float8, k int, contains boolean) RETURNS int[] LANGUAGE plpgsql AS $$
DECLARE row hashed; kept int[] := '{}';
BEGIN
  FOR row IN SELECT * FROM hashed ORDER BY id LOOP
    IF NOT EXISTS (SELECT FROM hashed o WHERE o.id = ANY (kept) AND hamming(o.fp, row.fp) <= 40
      AND CASE WHEN contains
        THEN greatest(shingle_containment(o.body, row.body, k),
          shingle_containment(row.body, o.body, k))
        ELSE shingle_similarity(o.body, row.body, k) END >= at_least::real) THEN
      kept := kept || row.id;
    END IF;
  END LOOP;
  RETURN kept;
END $$;
CREATE FUNCTION actual(at_least float8, k int, contains boolean, index boolean) RETURNS int[]
LANGUAGE plpgsql AS $$
DECLARE kept int[];
BEGIN
  CREATE TABLE target (id int, part int, body text, fp fingerprint128) PARTITION BY LIST (part);
  CREATE TABLE target0 PARTITION OF target FOR VALUES IN (0);
  CREATE TABLE target1 (body text, fp fingerprint128, part int, id int);
  ALTER TABLE target ATTACH PARTITION target1 FOR VALUES IN (1);
  IF index THEN CREATE INDEX ON target USING simhash (fp); END IF;
  EXECUTE format('CREATE TRIGGER t BEFORE INSERT ON target FOR EACH ROW EXECUTE FUNCTION
    simhash_dedup(%L, %L, %L, %L, %L, %L, %L, %L)', 'fp=fp', 'body=body', 'method=minhash',
    'config={"shingle": 2}', 'distance=40', 'similarity=' || at_least, 'shingle=' || k,
    'measure=' || CASE WHEN contains THEN 'containment' ELSE 'jaccard' END);
  INSERT INTO target (id, part, body) SELECT id, part, body FROM given ORDER BY id;
  SELECT array_agg(id ORDER BY id) INTO kept FROM target;
  DROP TABLE target;
  RETURN kept;
END $$;
SET client_min_messages = error;
SELECT at_least, k, contains, index, model = actual AS "as the model",
  cardinality(model) BETWEEN 16 AND 149 AS "some are kept"
FROM unnest(ARRAY[0.3, 0.5, 0.75]) at_least, unnest(ARRAY[1, 3]) k,
  unnest('{f,t}'::boolean[]) contains, unnest('{f,t}'::boolean[]) index,
  model(at_least, k, contains), actual(at_least, k, contains, index)
ORDER BY 1, 2, 3, 4;
RESET client_min_messages;

-- An update that moves a row to another partition is judged once.
CREATE TABLE moved (id int, part int, body text, fp fingerprint64) PARTITION BY LIST (part);
CREATE TABLE moved1 PARTITION OF moved FOR VALUES IN (1);
CREATE TABLE moved2 PARTITION OF moved FOR VALUES IN (2);
CREATE INDEX ON moved USING simhash (fp);
INSERT INTO moved SELECT id, part, body, simhash(body) FROM (VALUES
  (1, 1, 'a b c'), (2, 1, 'a b c'), (3, 2, 'x y z')) v (id, part, body);
CREATE TRIGGER t BEFORE INSERT OR UPDATE ON moved FOR EACH ROW EXECUTE FUNCTION
  simhash_dedup('fp=fp', 'body=body', 'similarity=0.9', 'shingle=1');
UPDATE moved SET part = 2 WHERE id = 2 RETURNING id, part, body;
UPDATE moved SET part = 2, body = 'x z y' WHERE id = 1 RETURNING id, part, body;
UPDATE moved SET part = 2, body = 'x z v w' WHERE id = 1 RETURNING id, part, body;
SELECT id, part, body FROM moved ORDER BY id;

-- what is refused
CREATE TABLE wrong (id int PRIMARY KEY, body text, n int, fp fingerprint64,
  made text GENERATED ALWAYS AS ('x') STORED);
\i test/tests/regress/include/try_trigger.sql
SELECT try('fp=fp', 'similarity=0.8');
SELECT try('fp=fp', 'body=n', 'similarity=0.8');
SELECT try('fp=fp', 'body=made', 'similarity=0.8');
SELECT try('fp=fp', 'body=body', 'similarity=0');
SELECT try('fp=fp', 'body=body', 'similarity=80%');
SELECT try('fp=fp', 'body=body', 'similarity=NaN');
SELECT try('fp=fp', 'body=body', 'similarity=1.01');
SELECT try('fp=fp', 'body=body', 'similarity=0.8', 'measure=cosine');
SELECT try('fp=fp', 'body=body', 'similarity=0.8', 'shingle=0');
SELECT try('fp=fp', 'body=body', 'similarity=0.8', 'shingle=1,2');
SELECT try('fp=fp', 'body=body', 'measure=jaccard');
SELECT try('fp=fp', 'body=body', 'shingle=2');
SELECT try('fp=fp', 'config={}');

SET client_min_messages = warning;
DROP SCHEMA dedup_verified CASCADE;
