-- Near-duplicates among real texts, step by step. `make demo` runs this file in a server of its own; it works in any
-- database where the extension can be created, with psql started in the root of the checkout.

\set ON_ERROR_STOP on
\set QUIET on
\pset footer off
\set ECHO none

\echo '1. A table whose fingerprints are generated from its texts'
\set ECHO queries

CREATE EXTENSION pg_simhash;

CREATE TABLE doc (
  id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  source text,
  title  text,
  body   text NOT NULL,
  fp     fingerprint128 GENERATED ALWAYS AS (simhash128(body)) STORED
);

\set ECHO none
\echo '2. Texts: Chinese statutes, software licences, Bible verses in both languages'
\timing on

\copy doc (source, title, body) FROM 'demo/data/zh_laws.csv' (FORMAT csv, HEADER)
\copy doc (source, title, body) FROM 'demo/data/en_licenses.csv' (FORMAT csv, HEADER)
\copy doc (source, title, body) FROM 'demo/data/zh_verses.csv' (FORMAT csv, HEADER)
\copy doc (source, title, body) FROM 'demo/data/en_verses.csv' (FORMAT csv, HEADER)

\timing off
ANALYZE doc;
SELECT source, count(*) AS texts, pg_size_pretty(sum(octet_length(body))) AS size, round(avg(length(body))) AS characters_each
FROM doc GROUP BY source ORDER BY source;

\echo '3. Near-duplicates: fingerprints that differ in few of their 128 bits'
\set distance 20
\set ECHO queries
\timing on

CREATE TABLE pair AS
  SELECT a.id AS a, b.id AS b, hamming(a.fp, b.fp) AS distance
  FROM doc a JOIN doc b ON hamming(a.fp, b.fp) <= :distance AND a.id < b.id;

\timing off
\set ECHO none

-- A group is what pairs connect; it is named by its first text.
CREATE TABLE duplicate AS
  WITH RECURSIVE link (a, b) AS (
    SELECT a, b FROM pair UNION ALL SELECT b, a FROM pair
  ), reached (id, other) AS (
    SELECT a, a FROM link
    UNION
    SELECT r.id, l.b FROM reached r JOIN link l ON l.a = r.other
  )
  SELECT id, min(other) AS first FROM reached GROUP BY id;

SELECT source, count(DISTINCT first) AS groups, count(*) AS texts_in_them, count(*) - count(DISTINCT first) AS could_go
FROM duplicate JOIN doc USING (id) GROUP BY source ORDER BY source;
