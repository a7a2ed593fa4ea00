-- Indexes of passages: every form of a question, against a sequential scan; what they are made of;
-- the trigger; whole tables, against shares_passage.
\set SHOW_CONTEXT never
\pset null NULL
SET client_min_messages = warning;

-- 600 texts of 20 to 139 words, in which passages of others stand: a fourth of them has 5 to 44
-- words of another one.
CREATE FUNCTION words_of(i integer, first integer, count integer) RETURNS text LANGUAGE sql
IMMUTABLE AS $$
  SELECT string_agg(translate(substr(md5(i || 'x' || w), 1, 4), '0123456789', 'ghijklmnop'), ' '
    ORDER BY w)
  FROM generate_series(first, first + count - 1) w
$$;
CREATE TABLE p_t (id integer PRIMARY KEY, tenant integer, body text, asked integer);
INSERT INTO p_t
SELECT i, i % 3, words_of(i, 1, 10 + i % 60)
  || CASE WHEN i % 4 = 0 THEN ' ' || words_of(i - 1 - i % 37, 1 + i % 9, 5 + i % 40) ELSE '' END
  || ' ' || words_of(i, 100, 10 + i % 30),
  CASE WHEN i % 5 > 0 THEN 12 + i % 5 END
FROM generate_series(1, 600) i;
INSERT INTO p_t VALUES (0, 0, NULL, 12), (-1, 1, '', 12), (-2, 1, 'too few words', 12),
  (-3, 2, repeat('buffalo ', 5000), 12), (-4, 2, repeat('Buffalo, ', 3000), 12);
CREATE INDEX p_body ON p_t USING simhash (body text_passage_ops) WITH (words = 12);
VACUUM ANALYZE p_t;
SELECT simhash_index_check('p_body');
SELECT rows, tables, similarity, config, words FROM simhash_index_info('p_body');

CREATE FUNCTION passage_form(query text, OUT nodes text, OUT agree boolean, OUT answer text)
LANGUAGE plpgsql AS $$
DECLARE plan jsonb; plain text;
BEGIN
  EXECUTE 'EXPLAIN (COSTS OFF, FORMAT JSON) ' || query INTO plan;
  WITH RECURSIVE node (n) AS (
    SELECT plan->0->'Plan' UNION ALL SELECT child FROM node, jsonb_array_elements(n->'Plans') child)
  SELECT string_agg(DISTINCT (n->>'Node Type') || ' ' || (n->>'Index Name'), ', ') INTO nodes
    FROM node WHERE n->>'Index Cond' LIKE '%&&%';
  EXECUTE query INTO answer;
  BEGIN
    SET LOCAL enable_indexscan = off;
    SET LOCAL enable_bitmapscan = off;
    EXECUTE query INTO plain;
    RAISE SQLSTATE 'P0099';
  EXCEPTION WHEN SQLSTATE 'P0099' THEN NULL;
  END;
  agree := answer IS NOT DISTINCT FROM plain;
  answer := CASE WHEN length(answer) > 60 THEN left(answer, 60) || '...' ELSE answer END;
END $$;
CREATE TABLE form (number integer GENERATED ALWAYS AS IDENTITY, form text, query text);
INSERT INTO form (form, query) VALUES
('a constant', 'SELECT IDS FROM p_t WHERE shares_passage(body, $1, 12)'),
('the other way round', 'SELECT IDS FROM p_t WHERE shares_passage($1, body, 12)'),
('more words', 'SELECT IDS FROM p_t WHERE shares_passage(body, $1, 20)'),
('25 words', 'SELECT IDS FROM p_t WHERE shares_passage(body, $1)'),
('fewer words', 'SELECT IDS FROM p_t WHERE shares_passage(body, $1, 11)'),
('another config', 'SELECT IDS FROM p_t WHERE shares_passage(body, $1, 12, ''{"normalize": []}'')'),
('a config of the same words',
  'SELECT IDS FROM p_t WHERE shares_passage(body, $1, 12, ''{"shingle": 3, "weight": "tf"}'')'),
('the operator', 'SELECT IDS FROM p_t WHERE body && text_passage($1::text, 12)'),
('its commutator', 'SELECT IDS FROM p_t WHERE text_passage($1::text, 12) && body'),
('a sub-select',
  'SELECT IDS FROM p_t WHERE shares_passage(body, (SELECT body FROM p_t WHERE id = 64), 12)'),
('any of a list', 'SELECT IDS FROM p_t WHERE body && ANY (ARRAY[text_passage($1::text, 12),
  text_passage((SELECT body FROM p_t WHERE id = 128), 12)])'),
('any of a constant list', 'SELECT IDS FROM p_t WHERE body && ANY (ARRAY[
  text_passage($1::text, 12), text_passage($1::text, 13)])'),
('OR', 'SELECT IDS FROM p_t WHERE shares_passage(body, $1, 12)
  OR shares_passage(body, (SELECT body FROM p_t WHERE id = 128), 12)'),
('AND', 'SELECT IDS FROM p_t WHERE shares_passage(body, $1, 12) AND tenant = 1'),
('NULL', 'SELECT IDS FROM p_t WHERE shares_passage(body, NULL, 12)'),
('no word', 'SELECT IDS FROM p_t WHERE shares_passage(body, '''', 12)'),
('too few words', 'SELECT IDS FROM p_t WHERE shares_passage(body, ''one two three'', 12)'),
('one word many times',
  'SELECT IDS FROM p_t WHERE shares_passage(body, repeat(''buffalo '', 12), 12)'),
('a long text', 'SELECT count(*)::text FROM p_t WHERE shares_passage(body,
  (SELECT string_agg(body, '' '' ORDER BY id) FROM p_t WHERE id % 2 = 0), 12)'),
('a join', 'SELECT count(*) || '' '' || sum(a.id * b.id) FROM p_t a JOIN p_t b
  ON shares_passage(a.body, b.body, 12) AND a.id < b.id'),
('a join with words of the row', 'SELECT count(*) || '' '' || sum(a.id * b.id) FROM p_t a JOIN p_t b
  ON shares_passage(a.body, b.body, a.asked) AND a.id < b.id WHERE a.asked >= 12'),
('EXISTS', 'SELECT IDS FROM p_t p WHERE id < 100 AND EXISTS (
  SELECT FROM p_t o WHERE shares_passage(o.body, p.body, 12) AND o.id <> p.id)'),
('NOT EXISTS', 'SELECT count(*)::text FROM p_t p WHERE NOT EXISTS (
  SELECT FROM p_t o WHERE shares_passage(o.body, p.body, 12) AND o.id <> p.id)'),
('LATERAL', 'SELECT sum(n)::text FROM p_t p, LATERAL (
  SELECT count(*) AS n FROM p_t o WHERE shares_passage(o.body, p.body, 30)) s');
SELECT form, f.* FROM form, LATERAL passage_form(replace(replace(query, '$1',
  (SELECT quote_literal(body) FROM p_t WHERE id = 64)), 'IDS',
  'string_agg(id::text, '' '' ORDER BY id)')) f ORDER BY number;

-- a prepared statement, with any number of words
SET plan_cache_mode = force_generic_plan;
PREPARE p (text, integer) AS
  SELECT string_agg(id::text, ' ' ORDER BY id) FROM p_t WHERE shares_passage(body, $1, $2);
PREPARE shown (text, integer) AS SELECT count(*) FROM p_t WHERE shares_passage(body, $1, $2);
EXPLAIN (COSTS OFF) EXECUTE shown ('a', 12);
SELECT body AS asked FROM p_t WHERE id = 64 \gset
EXECUTE p (:'asked', 12);
EXECUTE p (:'asked', 6);
RESET plan_cache_mode;

-- every word count and every row, by index and without
CREATE TABLE by_index AS SELECT n, a.id AS a, b.id AS b FROM generate_series(12, 50, 2) n
  CROSS JOIN p_t a JOIN p_t b ON shares_passage(b.body, a.body, n) WHERE n >= 12;
SET enable_indexscan = off;
SET enable_bitmapscan = off;
CREATE TABLE by_scan AS SELECT n, a.id AS a, b.id AS b FROM generate_series(12, 50, 2) n
  CROSS JOIN p_t a JOIN p_t b ON shares_passage(b.body, a.body, n) WHERE a.id % 7 IN (0, 4);
RESET enable_indexscan;
RESET enable_bitmapscan;
SELECT (SELECT count(*) > 4000 FROM by_scan) AS many,
  (SELECT count(*) FROM (TABLE by_scan EXCEPT SELECT * FROM by_index WHERE a % 7 IN (0, 4)) s)
    AS missed,
  (SELECT count(*) FROM (SELECT * FROM by_index WHERE a % 7 IN (0, 4) EXCEPT TABLE by_scan) s)
    AS invented;

-- changes
UPDATE p_t SET body = body || ' ' || words_of(700, 1, 12) WHERE id % 10 = 1;
DELETE FROM p_t WHERE id % 10 = 2;
VACUUM p_t;
SELECT simhash_index_check('p_body');
SELECT count(*), bool_and(id % 10 = 1) FROM p_t
WHERE shares_passage(body, words_of(700, 1, 12), 12);

-- scopes, another encoding of white space, Chinese
CREATE INDEX p_scope ON p_t USING simhash (tenant, body text_passage_ops) WITH (words = 12);
SELECT f.* FROM passage_form('SELECT string_agg(id::text, '' '' ORDER BY id) FROM p_t
  WHERE tenant = 1 AND shares_passage(body, ''' || :'asked' || ''', 12)') f;
CREATE TABLE p_zh (id integer, body text);
INSERT INTO p_zh VALUES (1, '为了规范口岸开放，提高口岸通关效率，保障口岸安全畅通，促进对外开放和经济社会发展'),
  (2, '根據國家有關法律，提高口岸通關效率，保障口岸安全暢通，促進對外開放，制定本條例'), (3, '别的');
CREATE INDEX p_zh_body ON p_zh USING simhash (body text_passage_ops) WITH (words = 8);
SET enable_seqscan = off;
SELECT id FROM p_zh WHERE shares_passage(body, (SELECT body FROM p_zh WHERE id = 1), 8) ORDER BY id;
SELECT id FROM p_zh WHERE shares_passage(body, (SELECT body FROM p_zh WHERE id = 1), 12)
ORDER BY id;
RESET enable_seqscan;

-- what an index is made of
CREATE INDEX ON p_zh USING simhash (body text_passage_ops) WITH (words = 4);
CREATE INDEX ON p_zh USING simhash (body text_passage_ops) WITH (words = 10001);
CREATE INDEX ON p_zh USING simhash (body text_passage_ops) WITH (similarity = 0.7);
CREATE INDEX ON p_zh USING simhash (body text_passage_ops) WITH (blocks = 4);
CREATE INDEX ON p_zh USING simhash (body text_passage_ops) WITH (config = '{"tokenizer": "x"}');
CREATE INDEX ON p_zh USING simhash (body) WITH (words = 12);
CREATE INDEX ON p_zh USING simhash (simhash(body)) WITH (words = 12);
SELECT text_passage('a', 4);
SELECT text_passage('a' || chr(10) || 'b', 12, '{"tokenizer": "word"}');
SELECT 'a'::text_passage;
SELECT count(*) FROM simhash_pairs('p_body');
SELECT count(*) FROM simhash_pairs('p_body', distance => 3);
SELECT count(*) FROM simhash_duplicates('p_body', 0.7);
SELECT count(*) FROM simhash_suggest('p_body');
SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'text_passage_ops';
ALTER INDEX p_zh_body SET (words = 9);
SET client_min_messages = notice;
SET enable_seqscan = off;
SELECT count(*) FROM p_zh WHERE shares_passage(body, 'a', 8);
RESET enable_seqscan;
SET client_min_messages = warning;

-- the trigger
CREATE TABLE p_post (id integer PRIMARY KEY, body text, quotes integer, flag boolean);
SELECT simhash_dedup_create('p_post', 'body=body', 'passage=12', 'action=link', 'link=quotes',
  'flag=flag');
CREATE INDEX ON p_post USING simhash (body text_passage_ops) WITH (words = 12);
SET client_min_messages = notice;
INSERT INTO p_post SELECT id, body FROM p_t WHERE id BETWEEN 1 AND 200 ORDER BY id;
SET client_min_messages = warning;
-- the link is to the row that has most of the text
SELECT count(*) AS linked, count(*) FILTER (WHERE NOT flag) AS unflagged,
  count(*) FILTER (WHERE
    passage_share(p.body, (SELECT body FROM p_post q WHERE q.id = p.quotes), 12) <
    (SELECT max(passage_share(p.body, q.body, 12)) FROM p_post q WHERE q.id < p.id)) AS not_most
FROM p_post p WHERE quotes IS NOT NULL;
SELECT count(*) AS not_linked FROM p_post p WHERE quotes IS NULL AND EXISTS (
  SELECT FROM p_post q WHERE q.id < p.id AND shares_passage(q.body, p.body, 12));
DROP TRIGGER zz_simhash_dedup ON p_post;
SELECT simhash_dedup_create('p_post', 'body=body', 'passage=12', 'action=error');
INSERT INTO p_post VALUES (1000, words_of(7, 1, 12) || ' and more');
INSERT INTO p_post VALUES (1001, words_of(7, 1, 11) || ' and more');
DROP TRIGGER zz_simhash_dedup ON p_post;
SELECT simhash_dedup_create('p_post', 'body=body', 'passage=4');
SELECT simhash_dedup_create('p_post', 'body=body', 'passage=12', 'similarity=0.7');
SELECT simhash_dedup_create('p_post', 'body=body', 'passage=12', 'distance=3');
SELECT simhash_dedup_create('p_post', 'passage=12');
SELECT simhash_cluster_create('p_post', 'body=body', 'cluster=id', 'passage=12');

-- whole tables, against every pair by shares_passage and passage_share
DELETE FROM p_t WHERE id < -2;
INSERT INTO p_t SELECT id + 1000, tenant, body FROM p_t WHERE id IN (64, 65, 128);
INSERT INTO p_t SELECT 2000 + i, 0, body FROM p_t, generate_series(1, 40) i WHERE id = 64;
CREATE FUNCTION whole(words integer, most integer) RETURNS TABLE (a integer, b integer,
  passages integer, words_ integer, share_a numeric, share_b numeric) LANGUAGE sql AS $$
  SELECT x.id, y.id, passages, p.words, round(share_a::numeric, 6), round(share_b::numeric, 6)
  FROM simhash_passages('p_body', words, most) p
  JOIN p_t x ON x.ctid = p.a JOIN p_t y ON y.ctid = p.b
$$;
-- each text once, and the copies of it
CREATE TABLE first_of AS
SELECT id, body, first_value(id) OVER (PARTITION BY body ORDER BY ctid) AS first,
  first_value(ctid) OVER (PARTITION BY body ORDER BY ctid) AS place FROM p_t;
CREATE TABLE expected AS
SELECT n AS words, a.id AS a, b.id AS b,
  round(passage_share(a.body, b.body, n)::numeric, 6) AS share_a,
  round(passage_share(b.body, a.body, n)::numeric, 6) AS share_b
FROM unnest('{12,20,40}'::integer[]) n, first_of a, first_of b
WHERE a.place < b.place AND a.id = a.first AND b.id = b.first AND shares_passage(a.body, b.body, n)
UNION ALL
SELECT n, first, id, 1, 1 FROM unnest('{12,20,40}'::integer[]) n, first_of
WHERE id <> first AND shares_passage(body, body, n);
SELECT n, (SELECT count(*) > 10 FROM expected WHERE words = n) AS many,
  (SELECT count(*) FROM (SELECT a, b, share_a, share_b FROM expected WHERE words = n EXCEPT ALL
    SELECT a, b, share_a, share_b FROM whole(n, NULL)) s) AS missed,
  (SELECT count(*) FROM (SELECT a, b, share_a, share_b FROM whole(n, NULL) EXCEPT ALL
    SELECT a, b, share_a, share_b FROM expected WHERE words = n) s) AS invented
FROM unnest('{12,20,40}'::integer[]) n;
-- two tables: all rows of both
CREATE TABLE p_q AS SELECT id, body FROM p_t WHERE id % 5 = 0;
INSERT INTO p_q VALUES (-5, 'a question of few words');
CREATE INDEX p_q_body ON p_q USING simhash (body text_passage_ops) WITH (words = 12);
SET client_min_messages = notice;
CREATE TABLE two AS
SELECT x.id AS a, y.id AS b, round(share_a::numeric, 6) AS share_a,
  round(share_b::numeric, 6) AS share_b
FROM simhash_passages('p_body', other => 'p_q_body', most => NULL) p
JOIN p_t x ON x.ctid = p.a JOIN p_q y ON y.ctid = p.b;
SET client_min_messages = warning;
CREATE TABLE expected_two AS
SELECT a.id AS a, b.id AS b, round(passage_share(a.body, b.body, 12)::numeric, 6) AS share_a,
  round(passage_share(b.body, a.body, 12)::numeric, 6) AS share_b
FROM p_t a JOIN p_q b ON shares_passage(a.body, b.body, 12);
SELECT (SELECT count(*) > 100 FROM two) AS many,
  (SELECT count(*) FROM (TABLE expected_two EXCEPT ALL TABLE two) s) AS missed,
  (SELECT count(*) FROM (TABLE two EXCEPT ALL TABLE expected_two) s) AS invented;
-- what stands in more texts than are asked for is named, and left out
UPDATE p_t SET body = body || ' this stands in many of the texts because it is the same everywhere'
WHERE id BETWEEN 300 AND 340;
SET client_min_messages = notice;
SELECT count(*) FILTER (WHERE a BETWEEN 300 AND 340 AND b BETWEEN 300 AND 340) < 41 * 20 AS fewer
FROM whole(12, 20);
SELECT count(*) FILTER (WHERE a BETWEEN 300 AND 340 AND b BETWEEN 300 AND 340) > 41 * 15 AS most
FROM whole(12, 50);
SELECT count(*) FROM simhash_passages('p_body', 11);
SELECT count(*) FROM simhash_passages('p_body', 10001);
SELECT count(*) FROM simhash_passages('p_body', most => 1);
SELECT count(*) FROM simhash_passages('p_zh_body', other => 'p_body');
SELECT count(*) FROM simhash_passages('p_t_pkey');
SELECT count(*) FROM simhash_passages(NULL);
CREATE INDEX p_near ON p_q USING simhash (body);
SELECT count(*) FROM simhash_passages('p_near');
-- Where a plan does not know how many words are asked for, it takes the index that serves most.
CREATE INDEX p_t_25 ON p_t USING simhash (body text_passage_ops);
ANALYZE p_t;
SET client_min_messages = warning;
SET plan_cache_mode = force_generic_plan;
SET enable_seqscan = off;
PREPARE asked (text, integer) AS SELECT count(*) FROM p_t WHERE shares_passage(body, $1, $2);
EXPLAIN (COSTS OFF) EXECUTE asked('a', 12);
PREPARE asked_25 (text) AS SELECT count(*) FROM p_t WHERE shares_passage(body, $1);
EXPLAIN (COSTS OFF) EXECUTE asked_25('a');
RESET enable_seqscan;
RESET plan_cache_mode;
DEALLOCATE ALL;
DROP TABLE p_t, p_zh, p_post, p_q, form, by_index, by_scan, first_of, expected, expected_two, two;
DROP FUNCTION words_of, passage_form, whole;
