-- pgvector's HNSW over bit(256), in the server that it comes with.
--
-- From the environment: ROWS. Reads the rows and queries of wide.sql from files named in LINES and
-- QUERIES, a number in hexadecimal a line. HNSW has no search within a distance. It is asked for
-- the nearest ten, and those within 31 bits count.

\ir include/results.sql
CREATE EXTENSION IF NOT EXISTS vector;
\getenv rows ROWS
\getenv lines LINES
\getenv queries QUERIES
\set data '256 bits'
SET maintenance_work_mem = '4GB';
\ir include/random.sql
\ir include/measure.sql
CREATE TABLE doc (fp bit(256));
CREATE TABLE query (n integer GENERATED ALWAYS AS IDENTITY, fp bit(256));
SELECT format('\copy doc FROM PROGRAM ''sed s/^/x/ %s''', :'lines') AS copy_rows,
  format('\copy query (fp) FROM PROGRAM ''sed s/^/x/ %s''', :'queries') AS copy_queries \gset
:copy_rows
:copy_queries
VACUUM ANALYZE doc, query;
CALL build('pgvector HNSW', 'CREATE INDEX doc_fp ON doc USING hnsw (fp bit_hamming_ops)', 'doc_fp');
\set nearest '(SELECT fp <~> q.fp AS d FROM doc ORDER BY 1 LIMIT 10) s'
SELECT format('SELECT count(*) FROM %s WHERE d <= 31', :'nearest') AS within \gset
SELECT format(
  'SET hnsw.ef_search = %1$s; CALL contender(%2$L, %3$L); CALL measure(%4$L, %5$L, 1000)',
  ef, contender || ' ≤ 31', :'within', contender, ' ≤ 31')
FROM unnest('{40,200,1000}'::integer[]) ef, format('pgvector HNSW, ef %s', ef) contender \gexec
SELECT contender, metric, round(value::numeric, 3) AS value FROM bench_result ORDER BY ctid;
