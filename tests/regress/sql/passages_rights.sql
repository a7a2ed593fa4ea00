-- Passages under row-level security: the index is used, and what is hidden stays so.
-- superuser only: it makes a role
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE ROLE p_reader;
CREATE TABLE p_hidden (id integer PRIMARY KEY, tenant integer, body text);
-- each text begins as the one of the number before it ends
INSERT INTO p_hidden
SELECT i, i % 3, (SELECT string_agg('w' || n, ' ' ORDER BY n)
  FROM generate_series(40 * i, 40 * i + 54) n)
FROM generate_series(1, 300) i;
CREATE INDEX p_hidden_body ON p_hidden USING simhash (body text_passage_ops) WITH (words = 12);
VACUUM ANALYZE p_hidden;
GRANT SELECT ON p_hidden TO p_reader;
ALTER TABLE p_hidden ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON p_hidden FOR SELECT TO p_reader USING (tenant = 1);
SELECT body AS asked FROM p_hidden WHERE id = 64 \gset
SELECT id FROM p_hidden WHERE shares_passage(body, :'asked', 12) ORDER BY id;
SET ROLE p_reader;
SELECT id FROM p_hidden WHERE shares_passage(body, :'asked', 12) ORDER BY id;
EXPLAIN (COSTS OFF) SELECT FROM p_hidden WHERE shares_passage(body, :'asked', 12);
SELECT count(*) FROM simhash_passages('p_hidden_body');
RESET ROLE;
DROP TABLE p_hidden;
DROP ROLE p_reader;
