-- Passages under row-level security: the index is used, and what is hidden stays so.
-- superuser only: it makes a role
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE ROLE p_reader;
CREATE FUNCTION words_of(i integer, count integer) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT string_agg(translate(substr(md5(i || 'x' || w), 1, 4), '0123456789', 'ghijklmnop'), ' '
    ORDER BY w) FROM generate_series(1, count) w
$$;
CREATE TABLE p_hidden (id integer PRIMARY KEY, tenant integer, body text);
-- each text quotes that of the number before it
INSERT INTO p_hidden
SELECT i, i % 3, words_of(i, 40) || ' ' || words_of(i - 1, 15) FROM generate_series(1, 300) i;
CREATE INDEX p_hidden_body ON p_hidden USING simhash (body text_passage_ops) WITH (words = 12);
VACUUM ANALYZE p_hidden;
GRANT SELECT ON p_hidden TO p_reader;
ALTER TABLE p_hidden ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON p_hidden FOR SELECT TO p_reader USING (tenant = 1);
SELECT body AS asked FROM p_hidden WHERE id = 64 \gset
SELECT id FROM p_hidden WHERE shares_passage(body, :'asked', 12) ORDER BY id;
SET ROLE p_reader;
SELECT id FROM p_hidden WHERE shares_passage(body, :'asked', 12) ORDER BY id;
EXPLAIN (COSTS OFF) SELECT FROM p_hidden WHERE shares_passage(body, words_of(64, 40), 12);
SELECT count(*) FROM simhash_passages('p_hidden_body');
RESET ROLE;
DROP TABLE p_hidden;
DROP FUNCTION words_of;
DROP ROLE p_reader;
