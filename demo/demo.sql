-- Near-duplicates among real texts, step by step. `make demo` runs this file in its own server. It
-- works in any UTF8 database where the extension can be created. Start psql in the root of the
-- checkout.

\set ON_ERROR_STOP on
\set QUIET on
\pset footer off
SET client_min_messages = warning;

\echo
\echo '== 1. A table with an index on its texts'
\set ECHO queries

CREATE EXTENSION IF NOT EXISTS pg_simhash;

CREATE TABLE doc (
  id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  source text,
  title  text,
  body   text NOT NULL
);
CREATE INDEX ON doc USING simhash (body);

\set ECHO none
\echo
\echo '== 2. Loading Chinese statutes, software licences, and Bible verses in both languages'
\timing on

\echo -n 'zh_laws       '
\copy doc (source, title, body) FROM 'demo/data/zh_laws.csv' (FORMAT csv, HEADER)
\echo -n 'en_licenses   '
\copy doc (source, title, body) FROM 'demo/data/en_licenses.csv' (FORMAT csv, HEADER)
\echo -n 'zh_verses     '
\copy doc (source, title, body) FROM 'demo/data/zh_verses.csv' (FORMAT csv, HEADER)
\echo -n 'en_verses     '
\copy doc (source, title, body) FROM 'demo/data/en_verses.csv' (FORMAT csv, HEADER)

\timing off
ANALYZE doc;
\echo
SELECT source, count(*) AS texts, pg_size_pretty(sum(octet_length(body))) AS size,
       round(avg(length(body))) AS characters_each
FROM doc GROUP BY source ORDER BY source;

\echo '== 3. Near-duplicates: texts that have 60 % of their word pairs in common'
\set ECHO queries
\timing on

CREATE TABLE pair AS
  SELECT a.id AS a, b.id AS b
  FROM doc a JOIN doc b ON near_duplicate(a.body, b.body, 0.6) AND a.id < b.id;

\timing off
\set ECHO none

-- Texts that are connected by pairs form a group. Its first text represents it.
CREATE TABLE duplicate AS
  WITH RECURSIVE link (a, b) AS (
    SELECT a, b FROM pair UNION ALL SELECT b, a FROM pair
  ), reached (id, other) AS (
    SELECT a, a FROM link
    UNION
    SELECT r.id, l.b FROM reached r JOIN link l ON l.a = r.other
  )
  SELECT id, min(other) AS first FROM reached GROUP BY id;

\echo
SELECT source, count(DISTINCT first) AS groups, count(*) AS texts_in_groups,
       count(*) - count(DISTINCT first) AS could_go
FROM duplicate JOIN doc USING (id) GROUP BY source ORDER BY source;

\echo '== 4. Some of the groups. Before each text stands how similar it is to the first one'
\pset tuples_only on
\pset format unaligned

WITH member AS (
  SELECT d.source, g.first, d.id, d.title, text_similarity(d.body, f.body) AS similarity,
         regexp_replace(d.body, '\s+', ' ', 'g') AS text
  FROM duplicate g JOIN doc d ON d.id = g.id JOIN doc f ON f.id = g.first
), chosen AS (
  -- For each source the three groups with the least similarities, of those small enough to read.
  SELECT first, source,
         row_number() OVER (PARTITION BY source ORDER BY min(similarity), first) AS place
  FROM member GROUP BY first, source HAVING count(*) <= 4
)
SELECT CASE WHEN id = first THEN E'\n' ELSE '' END
         || to_char(similarity, '90.99') || '  ' || title || E'\n        '
       || CASE WHEN length(text) > 130 AND source LIKE 'en%' THEN left(text, 130) || ' …'
               WHEN length(text) > 60 AND source LIKE 'zh%' THEN left(text, 60) || ' …'
               ELSE text END
FROM member JOIN chosen USING (first, source) WHERE place <= 3 ORDER BY source, place, id;

\echo
\echo '== 5. What changed between two of them: [-gone-] {+new+}'

-- The words of a text in order, and the text between them. simhash_tokens finds the ends of Chinese
-- words.
CREATE FUNCTION pieces(body text) RETURNS TABLE (place integer, piece text)
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  rest text := regexp_replace(body, '\s+', ' ', 'g');
  word text;
  start integer;
BEGIN
  place := 0;
  FOREACH word IN ARRAY simhash_tokens(rest, '{"normalize": [], "stopwords": "none"}') LOOP
    start := strpos(rest, word);
    IF start > 1 THEN
      piece := left(rest, start - 1);
      place := place + 1;
      RETURN NEXT;
    END IF;
    piece := word;
    place := place + 1;
    RETURN NEXT;
    rest := substr(rest, start + length(word));
  END LOOP;
  piece := rest;
  place := place + 1;
  RETURN NEXT;
END $$;

\set from '国家科学技术奖励条例(2020-10-07)'
\set to '国家科学技术奖励条例(2024-05-26)'
\ir change.sql
\set from 'BSD-3-Clause'
\set to 'BSD-3-Clause, variant 1348'
\ir change.sql
\set from 'Jonah 1:3 (ASV)'
\set to 'Jonah 1:3 (KJVPCE)'
\ir change.sql


\echo
\echo '== 6. Keeping them out: a constraint, and what it lets in'
\pset tuples_only off
\pset format aligned
\set ECHO queries
\timing on

CREATE TABLE clean (title text, body text, EXCLUDE USING simhash (near_text(body, 0.6) WITH ~=));
INSERT INTO clean SELECT title, body FROM doc ORDER BY id ON CONFLICT DO NOTHING;

\timing off
SELECT (SELECT count(*) FROM doc) AS offered, (SELECT count(*) FROM clean) AS kept;

\set ECHO none
\echo '== 7. Fingerprints: 16 bytes a text, and distances. What causes most of one'
\set ECHO queries

ALTER TABLE doc ADD fp fingerprint128 GENERATED ALWAYS AS (simhash128(body)) STORED;

SELECT e.*
FROM doc a, doc b, simhash_explain(a.body, b.body) e
WHERE a.title = 'BSD-3-Clause' AND b.title = 'BSD-3-Clause, variant 1348'
LIMIT 8;

\set ECHO none
