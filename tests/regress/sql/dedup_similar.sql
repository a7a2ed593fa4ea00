-- The trigger simhash_dedup by similarity: on a text, without a fingerprint.
CREATE TABLE doc (id int PRIMARY KEY, body text, tenant int, same_as int, is_copy boolean);
CREATE FUNCTION base(n int) RETURNS text LANGUAGE sql IMMUTABLE AS
  $$ SELECT string_agg('word' || (n * 100 + i), ' ' ORDER BY i) FROM generate_series(1, 20) i $$;
-- a missing index is named with the statement that makes it
CREATE TRIGGER d BEFORE INSERT OR UPDATE ON doc FOR EACH ROW EXECUTE FUNCTION
  simhash_dedup('body=body', 'similarity=0.7', 'action=link', 'link=same_as', 'flag=is_copy');
INSERT INTO doc VALUES (1, base(1)), (2, base(1) || '!'), (3, base(1) || ' and three more words'),
  (4, base(2)), (5, NULL), (6, '...'), (7, '...'), (8, left(base(1), 90));
SELECT id, same_as, is_copy, text_similarity(body, base(1))::numeric(3, 2) AS similarity
  FROM doc ORDER BY id;
TRUNCATE doc;
CREATE INDEX ON doc USING simhash (body);
INSERT INTO doc VALUES (1, base(1)), (2, base(1) || '!'), (3, base(1) || ' and three more words'),
  (4, base(2)), (5, NULL), (6, '...'), (7, '...'), (8, left(base(1), 90));
SELECT id, same_as, is_copy, text_similarity(body, base(1))::numeric(3, 2) AS similarity
  FROM doc ORDER BY id;
-- the most similar one, and of equal ones the least key
INSERT INTO doc VALUES (9, base(1) || ' and three more'), (10, upper(base(1)));
SELECT id, same_as FROM doc WHERE id > 8 ORDER BY id;
-- an UPDATE of the text is judged, another one is not
UPDATE doc SET body = base(2) || ' x' WHERE id = 9;
UPDATE doc SET tenant = 1 WHERE id = 4;
SELECT id, same_as, is_copy FROM doc WHERE id IN (4, 9) ORDER BY id;
-- rows that come in together, and ON CONFLICT
INSERT INTO doc VALUES (11, base(3)), (12, base(3)), (1, base(1))
  ON CONFLICT (id) DO UPDATE SET tenant = 2;
SELECT id, tenant, same_as FROM doc WHERE id IN (1, 11, 12) ORDER BY id;
DROP TRIGGER d ON doc;

-- skip, in a scope, and error
TRUNCATE doc;
CREATE INDEX ON doc USING simhash (tenant, body);
SELECT simhash_dedup_create('doc', 'body=body', 'similarity=0.6', 'scope=tenant');
INSERT INTO doc VALUES (1, base(1), 1), (2, base(1), 2), (3, base(1), 1), (4, base(1), NULL),
  (5, base(1), NULL);
SELECT id, tenant FROM doc ORDER BY id;
DROP TRIGGER zz_simhash_dedup ON doc;
SELECT simhash_dedup_create('doc', 'body=body', 'similarity=0.9', 'action=error');
INSERT INTO doc VALUES (6, base(1) || ' x', 1);
INSERT INTO doc VALUES (6, base(6), 1);
DROP TRIGGER zz_simhash_dedup ON doc;

-- indexes that do not serve: of a greater similarity, of another config, of near_text
CREATE TABLE other (id int PRIMARY KEY, body text);
CREATE INDEX ON other USING simhash (body) WITH (similarity = 0.8);
CREATE INDEX ON other USING simhash (body) WITH (config = '{"shingle": 1}');
SELECT simhash_dedup_create('other', 'body=body', 'similarity=0.7');
SELECT simhash_dedup_create('other', 'body=body', 'similarity=0.4', 'config={"stopwords": "en"}');
DROP TABLE other;
-- partitions
CREATE TABLE parts (id int PRIMARY KEY, body text) PARTITION BY RANGE (id);
CREATE TABLE part1 PARTITION OF parts FOR VALUES FROM (1) TO (100);
CREATE TABLE part2 (body text, gone int, id int NOT NULL);
ALTER TABLE part2 DROP COLUMN gone;
ALTER TABLE parts ATTACH PARTITION part2 FOR VALUES FROM (100) TO (200);
CREATE INDEX ON parts USING simhash (body);
SELECT simhash_dedup_create('parts', 'body=body', 'similarity=0.7');
INSERT INTO parts SELECT i, base(i % 10) || ' ' || i FROM generate_series(1, 199) i;
SELECT tableoid::regclass, count(*) FROM parts GROUP BY 1;
UPDATE parts SET id = id + 150 WHERE id < 5;
SELECT tableoid::regclass, count(*) FROM parts GROUP BY 1 ORDER BY 1;
INSERT INTO parts VALUES (50, base(1));
SELECT count(*) FROM parts;
DROP TABLE parts;

-- what is wrong
CREATE FUNCTION try(VARIADIC arguments text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  hint text;
BEGIN
  PERFORM simhash_dedup_create('doc', VARIADIC arguments);
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
  RAISE NOTICE '% %', SQLSTATE, SQLERRM USING HINT = hint;
END $$;
SELECT try('body=body');
SELECT try('similarity=0.7');
SELECT try('body=body', 'similarity=70');
SELECT try('body=body', 'similarity=0.2');
SELECT try('body=body', 'similarity=0.7', 'distance=3');
SELECT try('body=body', 'similarity=0.7', 'measure=containment');
SELECT try('body=body', 'similarity=0.7', 'config={"shingle": "x"}');
SELECT try('body=id', 'similarity=0.7');
SELECT try('body=body', 'similarity=0.7', 'scope=body');
DROP TABLE doc;
DROP FUNCTION base(int), try;
