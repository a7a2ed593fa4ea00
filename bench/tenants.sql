-- A table of tenants: the index with the tenant before the fingerprint, beside those without it.
--
-- From the environment: ROWS (1,000,000). They belong to 10,000 tenants by Zipf's law, so the
-- largest has a tenth of them. A tenth are planted copies of others of their tenant, with 1 to 3
-- bits flipped. Queries go to tenants with a ten-thousandth of the rows, more or less, then to the
-- largest. Half of them are rows with up to two bits flipped, half random. Warm, and prepared as in
-- index.sql.

\ir include/common.sql
\getenv rows ROWS
\if :{?rows} \else \set rows 1000000 \endif
\set data tenants
SET maintenance_work_mem = '2GB';
SET work_mem = '256MB';
\ir include/random.sql
\ir include/measure.sql
\timing off

\echo '== data'
CREATE TABLE doc AS
WITH share AS (
  SELECT array_agg(part ORDER BY part) AS up_to
  FROM (SELECT sum(1.0::float8 / r) OVER (ORDER BY r) / sum(1.0::float8 / r) OVER () AS part
        FROM generate_series(1, 10000) r) s
), drawn AS (
  SELECT i AS id, width_bucket(random(), up_to) + 1 AS tenant, random64() AS h
  FROM share, generate_series(1, :rows) i
)
SELECT id::bigint, tenant, h, h::fingerprint64 AS fp
FROM (SELECT id, tenant,
        CASE WHEN id % 10 = 0
          THEN flipped(lag(h) OVER (PARTITION BY tenant ORDER BY id), 1 + (id / 10 % 3)::integer)
          ELSE h END AS h
      FROM drawn) s
WHERE h IS NOT NULL;
CREATE TABLE own AS SELECT id, h, fp FROM doc WHERE tenant = 1;
ALTER TABLE own ADD PRIMARY KEY (id);
VACUUM ANALYZE doc, own;

CREATE TABLE query (n integer, tenant integer, h bigint, fp fingerprint64);
-- 1000 queries to tenants of so many rows.
CREATE PROCEDURE ask(fewest bigint, most bigint) LANGUAGE sql AS $$
  TRUNCATE query;
  INSERT INTO query
  SELECT n, tenant, asked, asked::fingerprint64
  FROM (SELECT n, tenant, CASE WHEN n % 2 = 0 THEN flipped(h, 2) ELSE random64() END AS asked
        FROM (SELECT row_number() OVER (ORDER BY md5(id::text)) AS n, tenant, h
              FROM doc
              WHERE tenant IN (SELECT tenant FROM doc GROUP BY 1 HAVING count(*)
                BETWEEN fewest AND most)) s
        WHERE n <= 1000) s
$$;
CALL ask(:rows / 11000, :rows / 9000);
SELECT count(*) AS queries, count(DISTINCT tenant) AS tenants FROM query;
\echo '== without the tenant in the index, filtered afterwards'
CALL build('simhash (fp)', 'CREATE INDEX doc_fp ON doc USING simhash (fp)', 'doc_fp');
CALL within('simhash (fp), filtered', 3, 1000, 'tenant = q.tenant AND hamming(fp, q.fp)');
CALL within('simhash (fp), filtered', 10, 1000, 'tenant = q.tenant AND hamming(fp, q.fp)');
DROP INDEX doc_fp;
\echo '== a B-tree on the tenant, with the fingerprint and the id in it'
CALL build('covering B-tree (tenant)',
  'CREATE INDEX doc_tenant ON doc (tenant) INCLUDE (h, id)', 'doc_tenant');
CALL within('covering B-tree (tenant)', 3, 1000, 'tenant = q.tenant AND hamming(h, q.h)');
CALL within('covering B-tree (tenant)', 10, 1000, 'tenant = q.tenant AND hamming(h, q.h)');
CALL nearest('covering B-tree (tenant)', 1000, 'doc WHERE tenant = q.tenant', 'hamming(h, q.h)');
\echo '== the tenant before the fingerprint'
CALL build('simhash', 'CREATE INDEX doc_fp ON doc USING simhash (tenant, fp)', 'doc_fp');
CALL within('simhash', 3, 1000, 'tenant = q.tenant AND hamming(fp, q.fp)');
CALL within('simhash', 10, 1000, 'tenant = q.tenant AND hamming(fp, q.fp)');
CALL nearest('simhash', 1000, 'doc WHERE tenant = q.tenant', 'fp <~> q.fp');

\echo '== the largest tenant'
SELECT set_config('bench.data', 'largest tenant', false) AS data;
SELECT count(*) AS largest FROM own \gset
CALL ask(:largest, :rows);
CREATE INDEX own_fp ON own USING simhash (fp);
CALL within('simhash', 3, 1000, 'tenant = q.tenant AND hamming(fp, q.fp)');
CALL within('simhash', 10, 1000, 'tenant = q.tenant AND hamming(fp, q.fp)');
CALL nearest('simhash', 1000, 'doc WHERE tenant = q.tenant', 'fp <~> q.fp');
ALTER TABLE doc RENAME TO everybody;
ALTER TABLE own RENAME TO doc;
CALL within('an index of its own', 3, 1000, 'hamming(fp, q.fp)');
CALL within('an index of its own', 10, 1000, 'hamming(fp, q.fp)');
CALL nearest('an index of its own', 1000, 'doc', 'fp <~> q.fp');
ALTER TABLE doc RENAME TO own;
ALTER TABLE everybody RENAME TO doc;
CALL within('covering B-tree (tenant), 3 queries', 10, 3, 'tenant = q.tenant AND hamming(h, q.h)');

SELECT data, contender, metric, round(value::numeric, 3) AS value FROM bench_result
WHERE section = 'latency' AND data IN ('tenants', 'largest tenant') AND rows = :rows
ORDER BY ctid;
DROP SCHEMA bench CASCADE;
