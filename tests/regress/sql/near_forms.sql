-- Every form of near_duplicate that an index of texts serves, and those that none does: the plan,
-- and whether the answer is that of a sequential scan.
\set SHOW_CONTEXT never
SET client_min_messages = warning;

-- 2,400 texts of 40 words, in families of four: each has two words of its own.
CREATE TABLE near_t (id integer PRIMARY KEY, tenant integer, title text, body text, v varchar,
  c character(400), kind text, asked double precision);
INSERT INTO near_t
SELECT i, i % 16, 'title ' || i, body, body, body,
  CASE WHEN i % 50 = 0 THEN 'rare' ELSE 'usual' END,
  CASE WHEN i % 3 > 0 THEN 0.6 + i % 3 * 0.1 END
FROM generate_series(1, 2400) i, LATERAL (
  SELECT string_agg(CASE WHEN w IN (7, 23) THEN 'own' || i || 'x' || w
    ELSE 'w' || substr(md5(i / 4 || 'x' || w), 1, 4) END, ' ' ORDER BY w)
  FROM generate_series(1, 40) w) b (body);
INSERT INTO near_t VALUES (0, 0, NULL, NULL, NULL, NULL, 'usual', 0.7),
  (-1, 1, '', '', '', '', 'usual', 0.7);
CREATE INDEX near_body ON near_t USING simhash (body);
VACUUM ANALYZE near_t;
SELECT body AS asked FROM near_t WHERE id = 2001 \gset
SELECT set_config('near.asked', :'asked', false) IS NOT NULL AS set;

-- The nodes of a plan that tell how texts are looked up.
CREATE FUNCTION near_nodes(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE plan jsonb; nodes text;
BEGIN
  EXECUTE 'EXPLAIN (COSTS OFF, FORMAT JSON) ' || query INTO plan;
  WITH RECURSIVE node (n) AS (
    SELECT plan->0->'Plan'
    UNION ALL SELECT child FROM node, jsonb_array_elements(n->'Plans') child)
  SELECT string_agg(DISTINCT said, ', ') INTO nodes FROM node, LATERAL (SELECT CASE
    WHEN n->>'Index Cond' LIKE '%~=%' THEN (n->>'Node Type') || ' ' || (n->>'Index Name')
    WHEN n->>'Node Type' IN ('BitmapAnd', 'BitmapOr', 'Gather') THEN n->>'Node Type'
    WHEN n->>'Join Filter' ~ '~=|near_duplicate' THEN (n->>'Node Type') || ' with a filter'
    WHEN n->>'Filter' ~ '~=|near_duplicate|text_similarity' AND n->>'Node Type' LIKE '%Scan'
      AND n->>'Node Type' NOT LIKE 'Bitmap%' THEN (n->>'Node Type') || ' ' || (n->>'Alias')
    END) s (said);
  RETURN nodes;
END $$;

-- What a query of one value answers by the plan that is chosen, and without any index of texts.
-- What it changes is undone.
CREATE FUNCTION near_form(form text, query text, OUT form_ text, OUT nodes text, OUT agree boolean,
  OUT answer text) LANGUAGE plpgsql AS $$
DECLARE plain text;
BEGIN
  form_ := form;
  nodes := near_nodes(query);
  BEGIN
    EXECUTE query INTO answer;
    RAISE SQLSTATE 'P0099';
  EXCEPTION WHEN SQLSTATE 'P0099' THEN NULL;
    WHEN others THEN answer := SQLERRM;
  END;
  BEGIN
    SET LOCAL simhash.enable_rewrite = off;
    SET LOCAL enable_indexscan = off;
    SET LOCAL enable_bitmapscan = off;
    SET LOCAL enable_indexonlyscan = off;
    EXECUTE query INTO plain;
    RAISE SQLSTATE 'P0099';
  EXCEPTION WHEN SQLSTATE 'P0099' THEN NULL;
    WHEN others THEN plain := SQLERRM;
  END;
  agree := answer IS NOT DISTINCT FROM plain;
  answer := CASE WHEN length(answer) > 60 THEN left(answer, 60) || '...' ELSE answer END;
END $$;

-- The forms. $1 stands for the text of row 2001, IDS for the ids of what is found.
CREATE TABLE near_form (number integer GENERATED ALWAYS AS IDENTITY, form text, query text);
CREATE FUNCTION near_forms(OUT form text, OUT nodes text, OUT agree boolean, OUT answer text)
RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE f record; query text;
BEGIN
  FOR f IN SELECT * FROM near_form ORDER BY number LOOP
    query := replace(f.query, '$1', quote_literal(current_setting('near.asked')));
    query := replace(query, 'IDS', 'string_agg(id::text, '' '' ORDER BY id)');
    SELECT n.form_, n.nodes, n.agree, n.answer INTO form, nodes, agree, answer
      FROM near_form(f.form, query) n;
    RETURN NEXT;
  END LOOP;
  DELETE FROM near_form;
END $$;

INSERT INTO near_form (form, query) VALUES
('text on the left', $q$SELECT IDS FROM near_t WHERE near_duplicate(body, $1)$q$),
('text on the right', $q$SELECT IDS FROM near_t WHERE near_duplicate($1, body)$q$),
('the operator', $q$SELECT IDS FROM near_t WHERE body ~= near_text($1::text)$q$),
('the operator, commuted', $q$SELECT IDS FROM near_t WHERE near_text($1::text) ~= body$q$),
('a greater similarity', $q$SELECT IDS FROM near_t WHERE near_duplicate(body, $1, 0.8)$q$),
('named arguments',
  $q$SELECT IDS FROM near_t WHERE near_duplicate(b => body, a => $1, similarity => 0.5)$q$),
('the config in other words',
  $q$SELECT IDS FROM near_t WHERE near_duplicate(body, $1, 0.7, ' { } ')$q$),
('sub-select',
  $q$SELECT IDS FROM near_t
     WHERE near_duplicate(body, (SELECT body FROM near_t WHERE id = 2001))$q$),
('LATERAL',
  $q$SELECT string_agg(a.id || ':' || n.ids, ' ' ORDER BY a.id) FROM near_t a,
       LATERAL (SELECT string_agg(b.id::text, ',' ORDER BY b.id) AS ids FROM near_t b
         WHERE near_duplicate(b.body, a.body)) n
     WHERE a.id BETWEEN 40 AND 45$q$),
('EXISTS',
  $q$SELECT IDS FROM near_t a WHERE kind = 'rare' AND id < 300
     AND EXISTS (SELECT FROM near_t b WHERE b.id <> a.id AND near_duplicate(b.body, a.body))$q$),
('NOT EXISTS',
  $q$SELECT IDS FROM near_t a WHERE kind = 'rare' AND id < 300
     AND NOT EXISTS (SELECT FROM near_t b WHERE b.id < a.id AND near_duplicate(b.body, a.body))$q$),
('EXISTS in the select list',
  $q$SELECT string_agg((EXISTS (SELECT FROM near_t b
       WHERE b.id < a.id AND near_duplicate(a.body, b.body)))::text, ' ' ORDER BY a.id)
     FROM near_t a WHERE a.id BETWEEN 40 AND 45$q$),
('JOIN ... ON',
  $q$SELECT string_agg(a.id || '-' || b.id, ' ' ORDER BY a.id, b.id)
     FROM near_t a JOIN near_t b ON near_duplicate(a.body, b.body) AND a.id < b.id
     WHERE a.kind = 'rare' AND a.id < 250$q$),
('LEFT JOIN',
  $q$SELECT string_agg(a.id || '-' || coalesce(b.id, 0), ' ' ORDER BY a.id, b.id)
     FROM near_t a LEFT JOIN near_t b ON near_duplicate(b.body, a.body, 0.9) AND a.id <> b.id
     WHERE a.kind = 'rare' AND a.id < 250$q$),
('a join with itself',
  $q$SELECT count(*) FROM near_t a JOIN near_t b
     ON near_duplicate(a.body, b.body) AND a.id < b.id WHERE a.id < 30$q$),
('unnest of an array',
  $q$SELECT string_agg(id || '', ' ' ORDER BY id) FROM near_t,
       unnest(ARRAY[$1, 'nothing like it', title]) one
     WHERE id < 2002 AND near_duplicate(body, one)$q$),
('unnest of a constant array',
  $q$SELECT IDS FROM near_t, unnest(ARRAY[$1, 'nothing like it']) one
     WHERE near_duplicate(body, one)$q$),
('= ANY of near_texts',
  $q$SELECT IDS FROM near_t
    WHERE body ~= ANY (ARRAY[near_text($1::text), near_text('nothing like it'::text)])$q$),
('= ANY of a sub-select''s array',
  $q$SELECT IDS FROM near_t WHERE body ~= ANY (ARRAY(
       SELECT near_text(body, 0.8) FROM near_t WHERE id IN (9, 99)))$q$),
('order by similarity',
  $q$SELECT string_agg(id::text, ' ') FROM (SELECT id FROM near_t
     WHERE near_duplicate(body, $1) ORDER BY text_similarity(body, $1) DESC, id LIMIT 10) t$q$),
('UPDATE',
  $q$WITH u AS (UPDATE near_t SET kind = 'new' WHERE near_duplicate(body, $1) RETURNING id)
     SELECT IDS FROM u$q$),
('UPDATE of the text',
  $q$WITH u AS (UPDATE near_t SET body = body || ' more' WHERE near_duplicate(body, $1)
     RETURNING id) SELECT IDS FROM u$q$),
('DELETE',
  $q$WITH u AS (DELETE FROM near_t WHERE near_duplicate($1, body) RETURNING id)
     SELECT IDS FROM u$q$),
('DELETE ... USING',
  $q$WITH u AS (DELETE FROM near_t a USING near_t b WHERE b.id < a.id AND b.kind = 'rare'
       AND b.id < 200 AND near_duplicate(a.body, b.body) RETURNING a.id) SELECT IDS FROM u$q$),
('AND, by another index',
  $q$SELECT IDS FROM near_t WHERE near_duplicate(body, $1) AND id = 2002$q$),
('OR of two texts',
  $q$SELECT IDS FROM near_t WHERE near_duplicate(body, $1) OR near_duplicate(body, title)
     OR id = 7$q$),
('OR by two indexes',
  $q$SELECT IDS FROM near_t WHERE near_duplicate(body, $1) OR id = 7$q$),
('OR of two constants',
  $q$SELECT IDS FROM near_t WHERE near_duplicate(body, $1)
     OR near_duplicate(body, 'nothing like it', 0.9)$q$),
('NOT', $q$SELECT count(*) FROM near_t WHERE NOT near_duplicate(body, $1)$q$),
('UNION ALL',
  $q$SELECT IDS FROM (SELECT id, body FROM near_t UNION ALL SELECT id + 10000, body FROM near_t) u
     WHERE near_duplicate(body, $1)$q$),
('the similarity of another table',
  $q$SELECT string_agg(a.id || '-' || b.id, ' ' ORDER BY a.id, b.id) FROM near_t a
     JOIN near_t b ON near_duplicate(b.body, a.body, a.asked) WHERE a.id BETWEEN 40 AND 45$q$),
('the similarity of the same row',
  $q$SELECT IDS FROM near_t WHERE near_duplicate(body, $1, asked)$q$),
('a stable similarity',
  $q$SELECT IDS FROM near_t WHERE near_duplicate(body, $1, current_setting('near.s')::float)$q$),
('a volatile similarity',
  $q$SELECT IDS FROM near_t WHERE near_duplicate(body, $1, 0.8 + random() / 1e9)$q$),
('two texts of a row', $q$SELECT IDS FROM near_t WHERE near_duplicate(body, v) AND id < 9$q$),
('a NULL text', $q$SELECT IDS FROM near_t WHERE near_duplicate(body, NULL)$q$),
('a NULL similarity', $q$SELECT IDS FROM near_t WHERE near_duplicate(body, $1, NULL)$q$),
('a text without a token', $q$SELECT IDS FROM near_t WHERE near_duplicate(body, '...')$q$),
('a smaller similarity than the index''s',
  $q$SELECT IDS FROM near_t WHERE near_duplicate(body, $1, 0.45)$q$),
('a similarity that is none', $q$SELECT IDS FROM near_t WHERE near_duplicate(body, $1, 7)$q$),
('another config',
  $q$SELECT IDS FROM near_t WHERE near_duplicate(body, $1, 0.7, '{"shingle": 3}')$q$),
('a config that is no constant',
  $q$SELECT IDS FROM near_t WHERE near_duplicate(body, $1, 0.7,
       (SELECT '{}'::simhash_config))$q$),
('text_similarity alone',
  $q$SELECT IDS FROM near_t WHERE text_similarity(body, $1) >= 0.7$q$),
('varchar', $q$SELECT IDS FROM near_t WHERE near_duplicate(v, $1)$q$);
SET near.s = '0.8';
SELECT * FROM near_forms();

-- parameters: in custom and in generic plans
PREPARE near (text, double precision) AS
  SELECT string_agg(id::text, ' ' ORDER BY id) FROM near_t WHERE near_duplicate(body, $1, $2);
PREPARE near_config (text, double precision, simhash_config) AS
  SELECT string_agg(id::text, ' ' ORDER BY id) FROM near_t WHERE near_duplicate(body, $1, $2, $3);
INSERT INTO near_form (form, query) VALUES
('parameters', $q$EXECUTE near($1, 0.7)$q$),
('a smaller similarity as a parameter', $q$EXECUTE near($1, 0.4)$q$),
('a config as a parameter', $q$EXECUTE near_config($1, 0.7, '{}')$q$);
SET plan_cache_mode = force_custom_plan;
SELECT * FROM near_forms();
INSERT INTO near_form (form, query) VALUES
('parameters, generic', $q$EXECUTE near($1, 0.7)$q$),
('a greater similarity, generic', $q$EXECUTE near($1, 0.9)$q$),
('a smaller similarity, generic', $q$EXECUTE near($1, 0.4)$q$),
('a NULL similarity, generic', $q$EXECUTE near($1, NULL)$q$),
('a NULL text, generic', $q$EXECUTE near(NULL, 0.7)$q$),
('a similarity that is none, generic', $q$EXECUTE near($1, 7)$q$),
('a config as a parameter, generic', $q$EXECUTE near_config($1, 0.7, '{}')$q$);
SET plan_cache_mode = force_generic_plan;
SELECT * FROM near_forms();
RESET plan_cache_mode;
DEALLOCATE ALL;

-- other columns and indexes
CREATE INDEX near_both ON near_t USING simhash ((title || ' ' || body));
CREATE INDEX near_v ON near_t USING simhash (v);
CREATE INDEX near_c ON near_t USING simhash ((c::text));
CREATE INDEX near_rare ON near_t USING simhash (upper(body)) WHERE kind = 'rare';
CREATE INDEX near_strict ON near_t USING simhash (lower(body))
  WITH (similarity = 0.8, config = '{"shingle": 1}');
CREATE INDEX near_tenant ON near_t USING simhash (tenant, (body || ''));
CREATE INDEX near_text_scope ON near_t USING simhash (kind, lower(title));
VACUUM ANALYZE near_t;
INSERT INTO near_form (form, query) VALUES
('an index on an expression',
  $q$SELECT IDS FROM near_t WHERE near_duplicate(title || ' ' || body, 'title 2001 ' || $1)$q$),
('varchar', $q$SELECT IDS FROM near_t WHERE near_duplicate(v, $1)$q$),
('character, by its cast', $q$SELECT IDS FROM near_t WHERE near_duplicate(c::text, $1)$q$),
('a partial index',
  $q$SELECT IDS FROM near_t WHERE kind = 'rare' AND near_duplicate(upper(body),
       (SELECT upper(body) FROM near_t WHERE id = 2000))$q$),
('a partial index without its predicate',
  $q$SELECT IDS FROM near_t WHERE near_duplicate(upper(body), upper($1))$q$),
('an index of another config and similarity',
  $q$SELECT IDS FROM near_t WHERE near_duplicate(lower(body), $1, 0.8, '{"shingle": 1}')$q$),
('... below its similarity',
  $q$SELECT IDS FROM near_t WHERE near_duplicate(lower(body), $1, 0.75, '{"shingle": 1}')$q$),
('... with the default config',
  $q$SELECT IDS FROM near_t WHERE near_duplicate(lower(body), $1, 0.8, '{"shingle": 3}')$q$),
('within a tenant',
  $q$SELECT IDS FROM near_t WHERE tenant = 1 AND near_duplicate(body || '', $1, 0.8)$q$),
('within some tenants',
  $q$SELECT IDS FROM near_t WHERE tenant IN (1, 2, 7) AND near_duplicate(body || '', $1, 0.8)$q$),
('a join within tenants',
  $q$SELECT string_agg(a.id || '-' || b.id, ' ' ORDER BY a.id, b.id) FROM near_t a JOIN near_t b
     ON a.tenant = b.tenant AND near_duplicate(b.body || '', a.body, 0.7)
     WHERE a.id BETWEEN 40 AND 45$q$),
('a text that is only a scope',
  $q$SELECT IDS FROM near_t WHERE near_duplicate(kind, 'rare') AND lower(title) = 'title 2000'$q$);
SELECT * FROM near_forms();

-- a domain
CREATE DOMAIN near_domain AS text;
CREATE TABLE near_d AS SELECT id, body::near_domain AS body FROM near_t;
CREATE INDEX near_d_body ON near_d USING simhash (body);
VACUUM ANALYZE near_d;
INSERT INTO near_form (form, query) VALUES
('a domain over text', $q$SELECT IDS FROM near_d WHERE near_duplicate(body, $1)$q$),
('a join of two tables',
  $q$SELECT string_agg(d.id || '-' || t.id, ' ' ORDER BY d.id, t.id) FROM near_d d
     JOIN near_t t ON near_duplicate(d.body, t.body) WHERE t.id BETWEEN 40 AND 43$q$);
SELECT * FROM near_forms();

-- partitions, of which one has no index
CREATE TABLE near_p (id integer, tenant integer, body text) PARTITION BY LIST (tenant);
CREATE TABLE near_p1 PARTITION OF near_p FOR VALUES IN (1, 2, 3, 4, 5, 6, 7);
CREATE TABLE near_p2 PARTITION OF near_p DEFAULT;
INSERT INTO near_p SELECT id, tenant, body FROM near_t;
CREATE INDEX near_p_body ON near_p USING simhash (body);
VACUUM ANALYZE near_p;
INSERT INTO near_form (form, query) VALUES
('a partitioned table', $q$SELECT IDS FROM near_p WHERE near_duplicate(body, $1)$q$),
('one partition', $q$SELECT IDS FROM near_p WHERE tenant = 1 AND near_duplicate(body, $1)$q$),
('a join with partitions',
  $q$SELECT string_agg(t.id || '-' || p.id, ' ' ORDER BY t.id, p.id) FROM near_t t
     JOIN near_p p ON near_duplicate(p.body, t.body) WHERE t.id BETWEEN 40 AND 43$q$);
SELECT * FROM near_forms();
DROP INDEX near_p_body;
CREATE INDEX near_p1_body ON near_p1 USING simhash (body);
INSERT INTO near_form (form, query) VALUES
('one partition has an index', $q$SELECT IDS FROM near_p WHERE near_duplicate(body, $1)$q$);
SELECT * FROM near_forms();

-- views
CREATE VIEW near_view AS SELECT id, lower(body) AS low, body FROM near_t WHERE tenant < 9;
CREATE VIEW near_grouped AS SELECT body, min(id) AS id FROM near_t GROUP BY body;
CREATE VIEW near_barrier WITH (security_barrier) AS SELECT id, body FROM near_t WHERE tenant < 9;
INSERT INTO near_form (form, query) VALUES
('a view', $q$SELECT IDS FROM near_view WHERE near_duplicate(body, $1)$q$),
('a view with GROUP BY', $q$SELECT IDS FROM near_grouped WHERE near_duplicate(body, $1)$q$),
('a view with a security barrier',
  $q$SELECT IDS FROM near_barrier WHERE near_duplicate(body, $1)$q$),
('... the text on the right',
  $q$SELECT IDS FROM near_barrier WHERE near_duplicate($1, body, 0.8)$q$),
('... a sub-select',
  $q$SELECT IDS FROM near_barrier
     WHERE near_duplicate(body, (SELECT body FROM near_t WHERE id = 2001))$q$),
('... a sub-select of near_text',
  $q$SELECT IDS FROM near_barrier
     WHERE body ~= (SELECT near_text(body) FROM near_t WHERE id = 2001)$q$),
('... a join', $q$SELECT string_agg(t.id || '-' || b.id, ' ' ORDER BY t.id, b.id) FROM near_t t
     JOIN near_barrier b ON near_duplicate(b.body, t.body) WHERE t.id BETWEEN 40 AND 41$q$);
SELECT * FROM near_forms();

-- parallel plans
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
INSERT INTO near_form (form, query) VALUES
('parallel workers, each with the index',
  $q$SELECT count(*) FROM near_t a JOIN near_t b ON near_duplicate(a.body, b.body)
     WHERE a.title LIKE '%777'$q$);
SELECT * FROM near_forms();
SET enable_indexscan = off;
SET enable_bitmapscan = off;
INSERT INTO near_form (form, query) VALUES
('parallel workers without an index',
  $q$SELECT count(*) FROM near_t WHERE near_duplicate(body, $1)$q$);
SELECT * FROM near_forms();
RESET ALL;
SET client_min_messages = warning;
SELECT set_config('near.asked', :'asked', false) IS NOT NULL AS set;

-- bitmaps of several indexes
CREATE INDEX near_kind ON near_t (kind);
ANALYZE near_t;
SET enable_indexscan = off;
SET enable_seqscan = off;
INSERT INTO near_form (form, query) VALUES
('AND by two indexes',
  $q$SELECT IDS FROM near_t WHERE near_duplicate(body, $1) AND kind = 'rare'$q$),
('AND, OR by three',
  $q$SELECT IDS FROM near_t
    WHERE (near_duplicate(body, $1) OR near_duplicate(body, 'nothing like it'))
     AND kind = 'rare'$q$);
SELECT * FROM near_forms();
RESET enable_indexscan;
RESET enable_seqscan;

-- cursors, forwards and backwards
BEGIN;
DECLARE near SCROLL CURSOR FOR SELECT id FROM near_t WHERE near_duplicate(body, :'asked');
FETCH ALL near;
FETCH BACKWARD ALL near;
FETCH FIRST near;
FETCH LAST near;
FETCH PRIOR near;
COMMIT;

-- an exclusion constraint's index
CREATE TABLE near_x (id integer, tenant integer, body text,
  EXCLUDE USING simhash (near_text(body, 0.8) WITH ~=));
INSERT INTO near_x SELECT id, tenant, body FROM near_t
  WHERE id % 4 = 0 AND (id BETWEEN 1 AND 500 OR id BETWEEN 1900 AND 2400);
VACUUM ANALYZE near_x;
INSERT INTO near_form (form, query) VALUES
('a constraint', $q$SELECT IDS FROM near_x WHERE near_duplicate(body, $1, 0.8)$q$),
('... a greater similarity', $q$SELECT IDS FROM near_x WHERE near_duplicate($1, body, 0.9)$q$),
('... a smaller one', $q$SELECT IDS FROM near_x WHERE near_duplicate(body, $1, 0.7)$q$),
('... by its own expression',
  $q$SELECT IDS FROM near_x WHERE near_text(body, 0.8) ~= near_text($1, 0.8)$q$),
('... and a text', $q$SELECT IDS FROM near_x WHERE near_text(body, 0.8) ~= $1::text$q$),
('... another config',
  $q$SELECT IDS FROM near_x WHERE near_duplicate(body, $1, 0.8, '{"shingle": 3}')$q$),
('... OR',
  $q$SELECT IDS FROM near_x WHERE near_duplicate(body, $1, 0.8)
     OR near_duplicate(body, 'nothing like it', 0.9)$q$),
('... a join',
  $q$SELECT string_agg(t.id || '-' || x.id, ' ' ORDER BY t.id, x.id) FROM near_t t
     JOIN near_x x ON near_duplicate(x.body, lower(t.body), 0.85) WHERE t.id BETWEEN 40 AND 47$q$),
('... a join with a table that has an index of texts',
  $q$SELECT string_agg(t.id || '-' || x.id, ' ' ORDER BY t.id, x.id) FROM near_t t
     JOIN near_x x ON near_duplicate(x.body, t.body, 0.8) WHERE t.id BETWEEN 40 AND 47$q$),
('... and the other way round',
  $q$SELECT string_agg(t.id || '-' || x.id, ' ' ORDER BY t.id, x.id) FROM near_t t
     JOIN near_x x ON near_duplicate(t.body, x.body, 0.85) WHERE x.id BETWEEN 40 AND 47$q$),
('... NOT EXISTS',
  $q$SELECT count(*) FROM near_t t
     WHERE NOT EXISTS (SELECT FROM near_x x WHERE near_duplicate(x.body, t.body, 0.8))$q$),
('... LEFT JOIN',
  $q$SELECT count(x.id) || ' of ' || count(*) FROM near_t t
     LEFT JOIN near_x x ON near_duplicate(t.body, x.body, 0.8)$q$),
('... UPDATE FROM',
  $q$WITH u AS (UPDATE near_t SET title = '' FROM near_x x
       WHERE near_duplicate(x.body, near_t.body, 0.8) AND near_t.id < 60 RETURNING near_t.id)
     SELECT IDS FROM u$q$),
('... a join with itself',
  $q$SELECT count(*) FROM near_x a JOIN near_x b ON near_duplicate(a.body, b.body, 0.8)$q$),
('... a join with itself above',
  $q$SELECT count(*) FROM near_x a JOIN near_x b ON near_duplicate(a.body, b.body, 0.9)$q$),
('... UNION ALL',
  $q$SELECT IDS FROM (SELECT id, body FROM near_x UNION ALL SELECT id + 10000, body FROM near_x) u
     WHERE near_duplicate(body, $1, 0.8)$q$),
('... UPDATE',
  $q$WITH u AS (UPDATE near_x SET tenant = 0 WHERE near_duplicate(body, $1, 0.8) RETURNING id)
     SELECT IDS FROM u$q$),
('... a similarity that is not known',
  $q$SELECT IDS FROM near_x
     WHERE near_duplicate(body, $1, current_setting('near.s')::float)$q$);
SET near.s = '0.8';
SELECT * FROM near_forms();
-- beside an index of texts, the call stays as it is
CREATE INDEX near_x_body ON near_x USING simhash (body);
INSERT INTO near_form (form, query) VALUES
('a constraint beside an index of texts',
  $q$SELECT IDS FROM near_x WHERE near_duplicate(body, $1, 0.8)$q$);
SELECT * FROM near_forms();
-- one of a part of the rows, or with a column before the text, does not hide the constraint's
DROP INDEX near_x_body;
CREATE INDEX near_x_part ON near_x USING simhash (body) WHERE tenant = 3;
CREATE INDEX near_x_scope ON near_x USING simhash (id, body);
VACUUM ANALYZE near_x;
INSERT INTO near_form (form, query) VALUES
('a constraint beside indexes of less',
  $q$SELECT IDS FROM near_x WHERE near_duplicate(body, $1, 0.8)$q$),
('... in the scope',
  $q$SELECT IDS FROM near_x WHERE near_duplicate(body, $1, 0.8) AND id = 2000$q$);
SELECT * FROM near_forms();
DROP VIEW near_view, near_grouped, near_barrier;
DROP TABLE near_t, near_d, near_p, near_x, near_form;
DROP DOMAIN near_domain;
