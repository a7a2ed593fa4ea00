-- Indexes of texts. Whatever the index is like and however it is read, the rows near a text are
-- those that a sequential scan finds.
SET client_min_messages = warning;
SET jit = off;
\set VERBOSITY default
\set SHOW_CONTEXT never
\pset null NULL

\i test/tests/regress/include/force.sql

-- Texts that are made up: words of a small vocabulary.
CREATE FUNCTION words(seed text, n integer, vocabulary integer) RETURNS text IMMUTABLE
  LANGUAGE sql AS $$
  SELECT coalesce(string_agg('w' || hashtextextended(seed || i, 0) % vocabulary, ' ' ORDER BY i),
      '')
    FROM generate_series(1, n) i
$$;
-- A text with some words exchanged.
CREATE FUNCTION edited(body text, seed text, changes integer) RETURNS text IMMUTABLE
  LANGUAGE sql AS $$
  SELECT string_agg(CASE WHEN place IN (SELECT 1 + abs(hashtextextended(seed || i, 1))
        % array_length(string_to_array(body, ' '), 1) FROM generate_series(1, changes) i)
      THEN 'x' || place ELSE word END, ' ' ORDER BY place)
    FROM unnest(string_to_array(body, ' ')) WITH ORDINALITY w (word, place)
$$;
CREATE TABLE made (tenant integer, kind text, body text);
-- Random texts of 0 to 39 words; clusters of edits; permutations of the same five words; many
-- copies; what has one token or none; long ones.
INSERT INTO made SELECT i % 7, 'random', words('a' || i, i % 40, 500)
FROM generate_series(1, 160) i;
INSERT INTO made SELECT i % 3, 'cluster', edited(words('b' || i / 8, 8 + i / 8, 900), 'c' || i,
    i % 8 * (1 + i / 80)) FROM generate_series(0, 239) i;
INSERT INTO made SELECT i % 2, 'shared', words('d' || i, 5, 5) FROM generate_series(1, 100) i;
INSERT INTO made SELECT CASE i % 3 WHEN 1 THEN 1 WHEN 2 THEN 2 END, 'copy',
    'The same words, over and over again' FROM generate_series(1, 300) i;
INSERT INTO made VALUES (1, 'one', 'word'), (NULL, 'one', 'Word!'), (2, 'one', 'words'),
  (1, 'one', 'word word word'), (1, 'none', ''), (NULL, 'none', '   '), (1, 'none', '... !?'),
  (1, NULL, 'w1 w2 w3'), (1, 'null', NULL), (2, 'null', NULL), (NULL, 'null', NULL);
INSERT INTO made SELECT 1, 'long', edited(words('e', 2000, 100000), 'f' || i, i * i * 40)
  FROM generate_series(0, 4) i;
CREATE TABLE doc (id integer GENERATED ALWAYS AS IDENTITY, tenant integer, kind text, body text);
CREATE TABLE question (body text, similarity float8, n integer GENERATED ALWAYS AS IDENTITY);
INSERT INTO question
  SELECT body, similarity FROM (
    SELECT words('a' || i, i % 40, 500) FROM generate_series(3, 160, 39) i UNION ALL
    SELECT words('b' || i, 8 + i, 900) FROM generate_series(1, 29, 7) i UNION ALL
    SELECT words('d' || i, 5, 5) FROM generate_series(1, 3) i UNION ALL
    VALUES ('the same words over and over again'), ('word'), (''), (NULL), ('nothing like this'),
      ((SELECT body FROM made WHERE kind = 'long' LIMIT 1))) q (body),
    unnest('{0.3,0.5,0.65,0.8,1}'::float8[]) similarity;

-- What a sequential scan finds by each of three configs. Only what the index was not asked for is
-- left out, so that the same answers serve for all indexes.
CREATE TABLE truth (config text, n integer, body text);
CREATE TABLE distinct_made AS SELECT DISTINCT body FROM made;
INSERT INTO truth SELECT config, n, d.body
  FROM unnest('{"{}","{\"shingle\": 1}","{\"shingle\": 3}"}'::text[]) config, question q,
    distinct_made d
  WHERE d.body ~= near_text(q.body, similarity, config::simhash_config);
SELECT config, count(*) > 1000 AS many, count(DISTINCT (n, body)) = count(*) AS once
  FROM truth GROUP BY config ORDER BY config;
-- It is what near_duplicate says.
SELECT count(*) FROM question q, distinct_made d
  WHERE n % 7 = 0 AND near_duplicate(q.body, d.body, similarity) IS DISTINCT FROM
    (EXISTS (SELECT FROM truth t WHERE t.config = '{}' AND t.n = q.n AND t.body = d.body)
      OR CASE WHEN q.body IS NULL OR d.body IS NULL THEN NULL ELSE false END);

-- Asks every question by an index and compares the answers with the truth.
CREATE FUNCTION ask(how text, condition text DEFAULT 'true', config text DEFAULT '{}',
    asked text DEFAULT 'body ~= near_text(%L, %L, %L)') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  q record; line text; plan text := ''; found integer[]; wanted integer[]; hits bigint := 0;
  wrong text := '';
  intended text := CASE how WHEN 'index' THEN 'Index Scan using doc_'
    ELSE 'Bitmap Index Scan on doc_' END;
BEGIN
  FOR q IN SELECT * FROM question ORDER BY n LOOP
    PERFORM force('seq');
    EXECUTE format('SELECT array_agg(d.id ORDER BY d.id) FROM doc d JOIN truth t USING (body)'
      ' WHERE t.config = %L AND t.n = %L AND (%s)', config, q.n, condition) INTO wanted;
    PERFORM force(how);
    EXECUTE format('SELECT array_agg(id ORDER BY id) FROM doc WHERE (%s) AND ' || asked, condition,
      q.body, q.similarity, config) INTO found;
    hits := hits + coalesce(cardinality(found), 0);
    IF found IS DISTINCT FROM wanted THEN
      wrong := wrong || format('; at %s of %s: %s instead of %s', q.similarity, left(q.body, 40),
        cardinality(found), cardinality(wanted));
    END IF;
    IF q.n = 1 THEN
      FOR line IN EXECUTE format('EXPLAIN (COSTS OFF) SELECT id FROM doc WHERE (%s) AND ' || asked,
          condition, q.body, q.similarity, config) LOOP
        plan := plan || line;
      END LOOP;
      IF strpos(plan, intended) = 0 THEN
        wrong := wrong || '; no index: ' || plan;
      END IF;
    END IF;
  END LOOP;
  PERFORM force('seq');
  RETURN CASE WHEN hits = 0 THEN 'nothing found' ELSE 'right' END || wrong;
END $$;

-- Rows that were inserted one statement after the other; postings settle all the time.
CREATE INDEX doc_i ON doc USING simhash (body) WITH (recent = 16);
INSERT INTO doc (tenant, kind, body) SELECT * FROM made WHERE kind <> 'copy';
INSERT INTO doc (tenant, kind, body) SELECT * FROM made WHERE kind = 'copy';
INSERT INTO doc (tenant, kind, body) SELECT * FROM made WHERE kind IS NULL;
SELECT simhash_index_check('doc_i');
SELECT rows = (SELECT count(*) FROM doc) AS all_rows, tables, levels, recent < postings AS settles,
    postings = 35 * (SELECT count(*) FROM doc WHERE body ~ '\w') AS all_postings, similarity, config
  FROM simhash_index_info('doc_i');
SELECT ask('index'), ask('bitmap');
-- Other configs than the index's: every row is looked at.
SELECT ask('index', config => '{"shingle": 1}');
-- A half of the rows goes.
DELETE FROM doc WHERE id % 2 = 0;
SELECT ask('index');
VACUUM doc;
SELECT simhash_index_check('doc_i');
SELECT rows = (SELECT count(*) FROM doc) AS all_rows,
    postings = 35 * (SELECT count(*) FROM doc WHERE body ~ '\w') AS all_postings
  FROM simhash_index_info('doc_i');
SELECT reltuples = (SELECT count(*) FROM doc) AS counted FROM pg_class WHERE relname = 'doc_i';
SELECT ask('index');
INSERT INTO doc (tenant, kind, body) SELECT * FROM made WHERE kind = 'cluster';
UPDATE doc SET body = body || ' ' WHERE id % 6 = 1;
UPDATE doc SET body = btrim(body) WHERE kind = 'cluster' OR id % 6 = 1;
SELECT ask('index');
SELECT simhash_index_check('doc_i');
DROP INDEX doc_i;
TRUNCATE doc;

-- Indexes that are built, for each similarity. What is smaller than the index's is asked for at
-- every row.
INSERT INTO doc (tenant, kind, body) SELECT * FROM made;
CREATE FUNCTION built(parameters text, config text DEFAULT '{}') RETURNS text LANGUAGE plpgsql AS $$
DECLARE answer text;
BEGIN
  EXECUTE format('CREATE INDEX doc_i ON doc USING simhash (body) WITH (%s)', parameters);
  PERFORM simhash_index_check('doc_i');
  answer := ask('index', config => config);
  SELECT format('%s: %s %s, %s a row', answer, i.similarity, i.config,
      (postings::float8 / (SELECT count(*) FROM doc WHERE body ~ '\w'))) INTO answer
    FROM simhash_index_info('doc_i') i;
  DROP INDEX doc_i;
  RETURN answer;
END $$;
SELECT built('similarity = 0.3, fillfactor = 50');
SELECT built('similarity = 0.4');
SELECT built('similarity = 0.8, fillfactor = 100');
SELECT built('similarity = 0.9');
SELECT built('similarity = 1');
SELECT built(E'config = \'{"shingle": 1}\'', '{"shingle": 1}');
SELECT built(E'similarity = 0.35, config = \'{"shingle": 3}\'', '{"shingle": 3}');
-- A config is that which it means, however it is written.
SELECT built(E'similarity = 0.6, config = \'{"tokenizer":"auto","shingle":2}\'');

-- Scopes.
CREATE INDEX doc_s ON doc USING simhash (tenant, body);
SELECT condition, ask('index', condition) FROM unnest('{true,tenant = 1,tenant IS NULL,
  tenant IS NOT NULL,"tenant IN (0, 2, 5, NULL, 77)","tenant = ANY (''{}'')",tenant = 77,
  tenant = 1::bigint}'::text[]) condition;
SELECT ask('bitmap', 'tenant = 1');
DROP INDEX doc_s;
-- By texts, of which there are more than are searched one by one; with an included column; while
-- postings settle.
TRUNCATE doc;
CREATE INDEX doc_s ON doc USING simhash (kind, tenant, body) INCLUDE (id) WITH (recent = 8);
INSERT INTO doc (tenant, kind, body) SELECT * FROM made;
SELECT simhash_index_check('doc_s');
SELECT condition, ask('index', condition) FROM unnest(ARRAY['true', 'kind = ''copy''',
  'kind IS NULL', 'kind = ''cluster'' AND tenant = 2', 'kind IN (''copy'', ''one'', ''shared'')
    AND tenant IN (0, 1, 2, 3, 4, 5)', 'kind = ''copy'' AND tenant IS NULL', 'tenant = 1',
  'kind IS NOT NULL AND tenant IS NULL']) condition;
-- A condition on the first column is not one on the last.
SELECT force('index');
SELECT count(*) FROM doc WHERE kind ~= near_text('copy', 0.5);
SELECT count(*) FROM doc WHERE kind ~= near_text('copy', 0.5) AND tenant = 1
  AND body ~= near_text('the same words over and over again', 0.9);
-- Index-only scans: of the scope and of what is included, but of no text.
VACUUM ANALYZE doc;
SELECT force('only');
-- PostgreSQL 18 says of a plan when a setting was to prevent it.
CREATE FUNCTION plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
    IF line !~ 'Disabled: true' THEN RETURN NEXT line; END IF;
  END LOOP;
END $$;
SELECT plan('SELECT tenant, id FROM doc WHERE tenant = 2');
CREATE TABLE by_index AS SELECT tenant, id FROM doc WHERE tenant = 2;
SELECT count(*) AS by_index, min(id) - (SELECT min(id) FROM doc) AS first FROM by_index;
SELECT force('seq');
SELECT count(*) AS by_table, min(id) - (SELECT min(id) FROM doc) AS first FROM doc WHERE tenant = 2;
DROP INDEX doc_s;
-- A text before fingerprints is asked for nearness as well.
CREATE INDEX doc_f ON doc USING simhash (kind, simhash(body));
SELECT force('index');
EXPLAIN (COSTS OFF) SELECT count(*) FROM doc
  WHERE kind ~= near_text('copy', 0.5) AND simhash(body) ~= simhash('the same words');
CREATE FUNCTION scoped(how text) RETURNS SETOF bigint LANGUAGE plpgsql AS $$
BEGIN
  PERFORM force(how);
  RETURN QUERY EXECUTE 'SELECT count(*) FROM doc WHERE kind ~= near_text(''copy'', 0.5)';
  RETURN QUERY EXECUTE 'SELECT count(*) FROM doc WHERE kind ~= near_text(''copy'', 0.5)
    AND simhash(body) ~= simhash(''the same words, over and over again'')';
  RETURN QUERY EXECUTE 'SELECT count(*) FROM doc WHERE simhash(body) IS NOT NULL
    AND kind ~= ANY (ARRAY[near_text(''One'', 0.9), near_text(''none'', 0.3)])';
  RETURN QUERY EXECUTE 'SELECT sum(d) FROM (SELECT simhash(body) <~> ''0000000000000000'' AS d
    FROM doc WHERE kind ~= near_text(''one'', 0.5) ORDER BY d LIMIT 5) nearest';
END $$;
SELECT scoped('seq');
SELECT scoped('index');
SELECT scoped('bitmap');
SELECT force('seq');
DROP INDEX doc_f;

-- NULLs, and equality.
CREATE INDEX doc_i ON doc USING simhash (body) INCLUDE (tenant);
VACUUM doc;
CREATE FUNCTION counts(how text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE condition text; n bigint;
BEGIN
  PERFORM force(how);
  FOREACH condition IN ARRAY ARRAY['body IS NULL', 'body IS NOT NULL',
    'body IS NULL AND body IS NOT NULL', 'body = ''word''', 'body = ''''', 'body = ''   ''',
    'body = NULL', 'body = ''word'' AND body IS NULL', 'body IN (''word'', ''Word!'', '''', NULL)',
    'body = ''The same words, over and over again''',
    'body = ''the same words over and over again''',
    'body = (SELECT body FROM made WHERE kind = ''long'' LIMIT 1)',
    'body ~= ANY (ARRAY[near_text(''word'', 1), near_text(''word'', 0.3), near_text(NULL, 0.5)])',
    'body ~= ANY (ARRAY[near_text(''word'', 0.5), near_text(''the same words over'', 0.5),
      near_text('''', 0.5), near_text(''word'', 0.5, ''{"shingle": 1}'')])',
    'body ~= ANY (''{}''::near_text[])', 'body ~= ANY (NULL::near_text[])',
    'body ~= ALL (ARRAY[near_text(''word'', 0.5), near_text(''WORD'', 0.9)])',
    'body ~= near_text(''word'', 0.5) AND body ~= near_text(''words'', 0.5)',
    'body ~= near_text(''word'', 0.5) AND body = ''Word!''',
    'body ~= near_text(NULL, 0.5)', 'near_text(''word'', 0.5) ~= body',
    'body ~= near_text(''word'', 0.5) OR body = ''words''', 'NOT body ~= near_text(''word'', 0.5)',
    'body ~= near_text(''the same words over'', 0.4)',
    'body ~= near_text(''the same words over'', 0.4, ''{"shingle": 1}'')'] LOOP
    EXECUTE 'SELECT count(*) FROM doc WHERE ' || condition INTO n;
    RETURN NEXT n || ': ' || regexp_replace(condition, '\s+', ' ', 'g');
  END LOOP;
END $$;
SELECT counts('seq');
SELECT * FROM counts('index') EXCEPT ALL SELECT * FROM counts('seq');
SELECT * FROM counts('bitmap') EXCEPT ALL SELECT * FROM counts('seq');
SELECT * FROM counts('only') EXCEPT ALL SELECT * FROM counts('seq');
-- A similarity and a config that are known only when the query runs.
SET plan_cache_mode = force_generic_plan;
SELECT force('index');
PREPARE near (text, float8, simhash_config) AS
  SELECT count(*) FROM doc WHERE body ~= near_text($1, $2, $3);
EXPLAIN (COSTS OFF) EXECUTE near ('word', 0.9, '{}');
EXECUTE near ('word', 0.9, '{}');
EXECUTE near ('word', 0.3, '{}');
EXECUTE near ('word', 0.3, '{"shingle": 1}');
EXECUTE near (NULL, 0.3, '{}');
EXECUTE near ('word', NULL, '{}');
EXECUTE near ('word', 0.2, '{}');
EXECUTE near ('word', 'NaN', '{}');
RESET plan_cache_mode;
-- A cursor forward and backward, a join, a nested loop that begins again and again.
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT body FROM doc WHERE body ~= near_text('word', 0.3) ORDER BY id;
FETCH 2 FROM c;
FETCH BACKWARD 1 FROM c;
FETCH 1 FROM c;
COMMIT;
SELECT n, count(*) FROM question q JOIN doc d ON d.body ~= near_text(q.body, q.similarity)
  WHERE n % 20 = 1 GROUP BY n
EXCEPT SELECT t.n, count(*) FROM truth t JOIN doc d USING (body) WHERE config = '{}' GROUP BY n;
SELECT force('seq');
DROP INDEX doc_i;

-- Expressions, and a part of the rows.
CREATE INDEX doc_e ON doc USING simhash ((kind || ' ' || body)) WHERE tenant = 1;
CREATE INDEX doc_n ON doc USING simhash (tenant, body) WHERE body IS NOT NULL;
VACUUM ANALYZE doc;
SELECT simhash_index_check('doc_e'), simhash_index_check('doc_n');
SELECT ask('index', 'tenant IN (0, 1)');
CREATE FUNCTION seen(how text) RETURNS SETOF bigint LANGUAGE plpgsql AS $$
BEGIN
  PERFORM force(how);
  RETURN QUERY EXECUTE 'SELECT count(*) FROM doc WHERE tenant = 1
    AND kind || '' '' || body ~= near_text(''copy: the same words! Over and over again'', 0.8)';
  RETURN QUERY EXECUTE 'SELECT count(*) FROM doc WHERE tenant = 1
    AND kind || '' '' || body ~= near_text(''one word'', 0.4)';
  RETURN QUERY EXECUTE 'SELECT count(*) FROM doc WHERE body IS NOT NULL AND tenant = 2';
END $$;
SELECT seen('seq');
SELECT seen('index');
SELECT seen('bitmap');
SELECT seen('only');
SELECT force('index');
EXPLAIN (COSTS OFF) SELECT id FROM doc
  WHERE tenant = 1 AND kind || ' ' || body ~= near_text('one word', 0.4);
SELECT force('only');
SELECT plan('SELECT count(*) FROM doc WHERE body IS NOT NULL AND tenant = 2');
SELECT force('seq');
DROP INDEX doc_e, doc_n;

-- Types that are texts, and types that are not.
CREATE DOMAIN title AS varchar(60) CHECK (VALUE <> 'bad');
CREATE TABLE typed (id integer, v varchar(60), b char(60), t title, n name, a text[], j jsonb);
CREATE INDEX typed_v ON typed USING simhash (v);
CREATE INDEX typed_t ON typed USING simhash (t);
CREATE INDEX typed_b ON typed USING simhash ((b::text));
CREATE INDEX typed_j ON typed USING simhash ((j ->> 'x'));
CREATE INDEX typed_c ON typed USING simhash (v COLLATE "C");
\set VERBOSITY sqlstate
CREATE INDEX ON typed USING simhash (b);
CREATE INDEX ON typed USING simhash (n);
CREATE INDEX ON typed USING simhash (a);
CREATE INDEX ON typed USING simhash (j);
\set VERBOSITY default
INSERT INTO typed SELECT i, s, s, s, s, ARRAY[s], jsonb_build_object('x', s)
  FROM generate_series(1, 300) i, format('the quick brown fox %s', i) s;
CREATE FUNCTION found(how text) RETURNS SETOF integer LANGUAGE plpgsql AS $$
BEGIN
  PERFORM force(how);
  RETURN QUERY EXECUTE 'SELECT id FROM typed WHERE v ~= near_text(''The QUICK: brown fox 1'', 1)';
  RETURN QUERY EXECUTE 'SELECT id FROM typed WHERE t ~= near_text(''The QUICK: brown fox 2'', 1)';
  RETURN QUERY EXECUTE
    'SELECT id FROM typed WHERE b::text ~= near_text(''The QUICK: brown fox 3'', 1)';
  RETURN QUERY EXECUTE
    'SELECT id FROM typed WHERE j ->> ''x'' ~= near_text(''The QUICK: brown fox 4'', 1)';
  RETURN QUERY EXECUTE 'SELECT id FROM typed WHERE v = ''the quick brown fox 5''';
  RETURN QUERY EXECUTE 'SELECT count(*)::integer FROM typed
    WHERE t ~= near_text(''the quick brown fox'', 0.7) AND id < 250';
END $$;
SELECT found('seq');
SELECT found('index');
SELECT found('bitmap');
SELECT force('seq');
-- Unlogged, temporary, partitioned.
CREATE UNLOGGED TABLE fleeting (body text);
CREATE INDEX fleeting_b ON fleeting USING simhash (body);
INSERT INTO fleeting SELECT body FROM made;
SELECT simhash_index_check('fleeting_b');
ALTER TABLE fleeting SET LOGGED;
SELECT simhash_index_check('fleeting_b');
CREATE TEMPORARY TABLE brief (body text) ON COMMIT DELETE ROWS;
CREATE INDEX brief_b ON brief USING simhash (body) WITH (similarity = 0.6);
SELECT force('index');
BEGIN;
INSERT INTO brief SELECT body FROM made;
SELECT count(*) FROM brief WHERE body ~= near_text('the same words over and over again', 0.8);
SELECT simhash_index_check('brief_b');
COMMIT;
SELECT count(*) FROM brief WHERE body ~= near_text('the same words over and over again', 0.8);
INSERT INTO brief VALUES ('forgotten');
BEGIN;
INSERT INTO brief VALUES ('over and over again');
SELECT body FROM brief WHERE body ~= near_text('over and over again', 0.8);
ROLLBACK;
SELECT similarity, rows, postings FROM simhash_index_info('brief_b');
CREATE TABLE parted (id integer, tenant integer, body text) PARTITION BY LIST (tenant);
CREATE INDEX parted_b ON parted USING simhash (tenant, body) WITH (similarity = 0.6);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
CREATE TABLE parted_rest PARTITION OF parted DEFAULT;
CREATE TABLE attached (LIKE parted INCLUDING INDEXES);
INSERT INTO attached SELECT i, 2, 'attached ' || i FROM generate_series(1, 9) i;
ALTER TABLE parted ATTACH PARTITION attached FOR VALUES IN (2);
INSERT INTO parted SELECT 1, tenant, body FROM made WHERE tenant IS DISTINCT FROM 2;
ANALYZE parted;
EXPLAIN (COSTS OFF) SELECT count(*) FROM parted WHERE body ~= near_text('word', 0.8);
SELECT count(*) FROM parted WHERE body ~= near_text('word', 0.8);
SELECT count(*) FROM parted WHERE body ~= near_text('word', 0.8) AND tenant = 1;
UPDATE parted SET tenant = 1 WHERE id = 1 AND tenant = 5;
SELECT count(*) FROM parted WHERE body ~= near_text('attached 3', 0.9);
SELECT similarity FROM simhash_index_info('parted_rest_tenant_body_idx');
SELECT simhash_index_check('parted_1_tenant_body_idx');
SELECT similarity FROM simhash_index_info('parted_b');
SELECT force('seq');

-- Built again, and beside writers. Parameters take effect then.
CREATE INDEX CONCURRENTLY doc_c ON doc USING simhash (tenant, body) INCLUDE (id)
  WITH (similarity = 0.7, config = '{"shingle": 1}', recent = 64, fillfactor = 80);
SELECT ask('index', 'tenant = 1', '{"shingle": 1}');
SELECT pg_get_indexdef('doc_c'::regclass);
ALTER INDEX doc_c SET (similarity = 0.4, recent = 0);
ALTER INDEX doc_c RESET (config);
SELECT similarity, config FROM simhash_index_info('doc_c');
SELECT ask('index', 'tenant = 1', '{"shingle": 1}'), simhash_index_check('doc_c');
INSERT INTO doc (tenant, kind, body)
SELECT tenant, kind, body || '' FROM made WHERE kind = 'shared';
REINDEX INDEX doc_c;
SELECT similarity, config FROM simhash_index_info('doc_c');
SELECT ask('index', 'tenant = 1'), simhash_index_check('doc_c');
ALTER INDEX doc_c SET (similarity = 0.9);
REINDEX INDEX CONCURRENTLY doc_c;
SELECT similarity, config FROM simhash_index_info('doc_c');
SELECT ask('index', 'tenant = 1'), simhash_index_check('doc_c');
VACUUM FULL doc;
SELECT ask('index', 'tenant = 1'), simhash_index_check('doc_c');
CLUSTER doc USING doc_c;
ALTER TABLE doc ALTER tenant TYPE bigint;
SELECT ask('index', 'tenant = 1'), simhash_index_check('doc_c');
ALTER TABLE doc ADD extra text DEFAULT 'none', DROP kind;
SELECT ask('index', 'tenant = 1');
DROP INDEX CONCURRENTLY doc_c;

-- A dictionary in the config.
SELECT length(simhash_dictionary('places', '{new york,hot dog}'));
CREATE TABLE spoken (id integer, body text);
CREATE INDEX spoken_b ON spoken USING simhash (body)
  WITH (config = '{"dictionary": "places", "shingle": 2}');
INSERT INTO spoken
SELECT i, 'a hot dog stand in new york number ' || i FROM generate_series(1, 50) i;
SELECT force('index');
SELECT count(*) FROM spoken
  WHERE body ~= near_text('a hotdog stand in newyork number 7', 0.9,
    '{"dictionary": "places", "shingle": 2}');
SELECT simhash_index_check('spoken_b');
DELETE FROM simhash_word_list WHERE name = 'places';
INSERT INTO spoken VALUES (51, 'lost');
SELECT simhash_index_check('spoken_b');
REINDEX INDEX spoken_b;
SELECT count(*) FROM spoken;
SELECT force('seq');
SELECT length(simhash_dictionary('places', '{new york,hot dog}'));
SELECT simhash_index_check('spoken_b');
DROP TABLE spoken;
DELETE FROM simhash_word_list WHERE name = 'places';

-- What is refused.
CREATE TABLE bad (id integer, body text);
INSERT INTO bad VALUES (1, 'a b c');
CREATE INDEX ON bad USING simhash (body) WITH (similarity = 0.29);
CREATE INDEX ON bad USING simhash (body) WITH (similarity = 1.01);
CREATE INDEX ON bad USING simhash (body) WITH (similarity = 'NaN');
CREATE INDEX ON bad USING simhash (body) WITH (similarity = 'high');
CREATE INDEX ON bad USING simhash (body) WITH (config = '{"shingle": "two"}');
CREATE INDEX ON bad USING simhash (body) WITH (config = 'two words');
CREATE INDEX ON bad USING simhash (body) WITH (config = '{"shingel": 2}');
CREATE INDEX ON bad USING simhash (body) WITH (config = '{"dictionary": "nowhere"}');
CREATE INDEX ON bad USING simhash (body) WITH (config = '{"stopwords": "nowhere"}');
CREATE INDEX ON bad USING simhash (body) WITH (blocks = 4);
CREATE INDEX ON bad USING simhash (body) WITH (recent = -2);
CREATE INDEX ON bad USING simhash (body) WITH (recent = 2000000);
CREATE INDEX ON bad USING simhash (body) WITH (similarities = 0.5);
CREATE INDEX ON bad USING simhash (id, id, id, id, body);
CREATE INDEX ON bad USING simhash (body, id);
CREATE INDEX ON bad USING simhash (body) INCLUDE (body);
CREATE UNIQUE INDEX ON bad USING simhash (body);
CREATE INDEX ON bad USING simhash (near_text(body, 0.2));
CREATE INDEX ON bad USING simhash (near_text(body, 1.0 / id));
CREATE INDEX ON bad USING simhash (near_text(body, 0.8)) WITH (similarity = 0.8);
CREATE INDEX ON bad USING simhash (near_text(body, 0.8)) WITH (config = '{}');
CREATE INDEX ON bad USING simhash (near_text(body, 0.8, '{"dictionary": "nowhere"}'));
CREATE INDEX ON bad USING simhash (near_text(body, 0.8)) WITH (blocks = 4);
CREATE INDEX ON bad USING simhash ((simhash(body))) WITH (similarity = 0.8);
CREATE INDEX ON bad USING simhash ((simhash(body))) WITH (config = '{}');
CREATE TABLE worse AS SELECT near_text(body, 0.8) AS near FROM bad;
CREATE INDEX ON worse USING simhash (near);
CREATE INDEX bad_b ON bad USING simhash (body);
ALTER INDEX bad_b SET (similarity = 0.2);
ALTER INDEX bad_b SET (config = '{"shingle": 0}');
SELECT * FROM simhash_pairs('bad_b', 3);
SELECT * FROM simhash_clusters('bad_b', 3);
SELECT simhash_like('bad_b', 'a b c');
SELECT body ~= near_text(body, 1.5) FROM bad;
SELECT '<a,0.8>'::near_text;
SELECT near_text(body, 0.8) ~= near_text(body, 0.8, '{"shingle": 1}') FROM bad;

-- The constraint.
\set VERBOSITY default
CREATE TABLE single (id integer GENERATED ALWAYS AS IDENTITY, tenant integer, body text,
  CONSTRAINT no_near EXCLUDE USING simhash (tenant WITH =, near_text(body, 0.8) WITH ~=));
\d single
INSERT INTO single (tenant, body) VALUES (1, 'one two three four five six');
INSERT INTO single (tenant, body) VALUES (1, 'One two, three: FOUR FIVE SIX');
INSERT INTO single (tenant, body) VALUES (2, 'One two, three: FOUR FIVE SIX'),
  (NULL, 'one two three four five six'), (NULL, 'one two three four five six'),
  (1, NULL), (1, NULL), (1, ''), (1, ''), (1, '...'), (1, 'six seven eight nine ten eleven');
INSERT INTO single (tenant, body) VALUES (3, 'alpha beta'), (3, 'beta alpha');
INSERT INTO single (tenant, body) VALUES (3, 'alpha beta'), (3, 'beta alpha'),
  (1, 'one two three four: five! six?'), (3, 'gamma') ON CONFLICT DO NOTHING RETURNING tenant, body;
INSERT INTO single (tenant, body) VALUES (3, 'gamma')
  ON CONFLICT ON CONSTRAINT no_near DO NOTHING RETURNING tenant, body;
INSERT INTO single (tenant, body) VALUES (3, 'gamma')
  ON CONFLICT ON CONSTRAINT no_near DO UPDATE SET body = 'delta';
INSERT INTO single (tenant, body) VALUES (3, 'gamma') ON CONFLICT (body) DO NOTHING;
UPDATE single SET tenant = 1 WHERE tenant = 2;
UPDATE single SET body = 'One, two, three, four, five, six.' WHERE tenant = 1 AND id = 1;
UPDATE single SET body = 'gamma' WHERE body = 'alpha beta';
BEGIN;
DELETE FROM single WHERE body = 'gamma';
SAVEPOINT one;
INSERT INTO single (tenant, body) VALUES (3, 'Gamma');
ROLLBACK TO one;
INSERT INTO single (tenant, body) VALUES (3, 'GAMMA');
COMMIT;
SELECT tenant, body FROM single ORDER BY id;
SELECT simhash_index_check('no_near');
-- The message is short, however long the texts are.
INSERT INTO single (tenant, body)
  SELECT 9, repeat(E'a line\nof a long text ' || repeat('é', 40), 9000);
INSERT INTO single (tenant, body)
  SELECT 9, repeat(E'a line\nof a long text ' || repeat('é', 40), 1500);
CREATE FUNCTION detail(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE given text;
BEGIN
  EXECUTE statement;
  RETURN 'none';
EXCEPTION WHEN exclusion_violation THEN
  GET STACKED DIAGNOSTICS given = PG_EXCEPTION_DETAIL;
  RETURN CASE WHEN length(given) < 400 THEN 'short' ELSE given END;
END $$;
SELECT detail('INSERT INTO single (tenant, body)
  SELECT 9, repeat(E''\u4e2d\u6587'', 100000) FROM generate_series(1, 2)');
-- It serves questions too, by its own expression.
SELECT force('index');
EXPLAIN (COSTS OFF) SELECT id FROM single
  WHERE tenant = 1 AND near_text(body, 0.8) ~= near_text('one two three four five six', 0.9);
SELECT count(*) FROM single
  WHERE near_text(body, 0.8) ~= near_text('one two three four five six', 0.9);
SELECT count(*) FROM single
  WHERE near_text(body, 0.8) ~= near_text('one two three four five six', 0.3);
SELECT count(*) FROM single WHERE near_text(body, 0.8) ~= 'one two three four five six'::text;
SELECT count(*) FROM single WHERE near_text(body, 0.8) ~= ANY (ARRAY[near_text('alpha beta', 0.8),
  near_text('GAMMA', 0.3), near_text(NULL, 0.3)]);
SELECT count(*) FROM single WHERE near_text(body, 0.8) IS NULL;
SELECT count(*) FROM single WHERE near_text(body, 0.8) ~= near_text('a', 0.8, '{"shingle": 1}');
SELECT force('seq');
DROP TABLE single;
-- Deferred: only the end counts.
CREATE TABLE late (id integer, body text,
  EXCLUDE USING simhash (near_text(body, 0.6) WITH ~=) DEFERRABLE INITIALLY DEFERRED);
BEGIN;
INSERT INTO late VALUES (1, 'a b c d e f'), (2, 'A, b: c d e f');
UPDATE late SET body = 'quite another text' WHERE id = 2;
COMMIT;
BEGIN;
INSERT INTO late VALUES (3, 'A B C D E F');
SET CONSTRAINTS ALL IMMEDIATE;
ROLLBACK;
BEGIN;
INSERT INTO late VALUES (3, 'A B C D E F');
COMMIT;
SELECT * FROM late ORDER BY id;
-- By an expression over two columns, with another config, for a part of the rows.
CREATE TABLE pages (title text, body text, draft boolean,
  EXCLUDE USING simhash (near_text(title || ' ' || body, 0.5, '{"shingle": 2}') WITH ~=)
    WHERE (NOT draft));
INSERT INTO pages VALUES ('On cats', 'they purr and they sleep', false),
  ('Cats', 'sleep and purr they do', false), ('On cats', 'they purr and they sleep', true);
INSERT INTO pages VALUES ('On cats they', 'purr and they sleep', false);
-- Rows that are there already.
CREATE TABLE full_of_copies AS SELECT body FROM made WHERE kind = 'one';
-- The message without the schema, which PostgreSQL names from 17 on.
DO $$
DECLARE said text;
BEGIN
  ALTER TABLE full_of_copies ADD EXCLUDE USING simhash (near_text(body, 0.8) WITH ~=);
EXCEPTION WHEN exclusion_violation THEN
  GET STACKED DIAGNOSTICS said = PG_EXCEPTION_DETAIL;
  RAISE WARNING '%: %', SQLERRM, regexp_replace(said, '\w+\.near_text', 'near_text', 'g');
END $$;
DELETE FROM full_of_copies WHERE body <> 'words' AND body <> 'word';
ALTER TABLE full_of_copies ADD EXCLUDE USING simhash (near_text(body, 0.8) WITH ~=);
INSERT INTO full_of_copies VALUES ('Words');
-- Calls of other functions, with arguments like those of near_text, are not taken for such.
CREATE TABLE mistaken (body text);
INSERT INTO mistaken SELECT i || '0.53' FROM generate_series(1, 1000) i;
CREATE INDEX mistaken_body ON mistaken USING simhash (body);
SELECT count(*) FROM mistaken WHERE body = concat('7'::text, 0.5::float8, 3);
SELECT count(*) FROM mistaken WHERE body = concat('7'::text, 0.5::float8, '3'::text);
SELECT count(*) FROM mistaken WHERE body = concat('7'::text, 0.5::float8, '{}'::simhash_config);
CREATE FUNCTION no_near_text(text, float8, integer) RETURNS near_text IMMUTABLE LANGUAGE plpgsql
  AS 'BEGIN RETURN near_text($1, $2); END';
CREATE INDEX ON mistaken USING simhash (no_near_text(body, 0.8, 3));
DROP TABLE mistaken;
DROP FUNCTION no_near_text;
-- What other tests may want to name so.
SET client_min_messages = error;
DROP TABLE IF EXISTS made, doc, question, truth, distinct_made, by_index, typed, fleeting, brief,
  parted, attached, bad, worse, late, pages, full_of_copies CASCADE;
