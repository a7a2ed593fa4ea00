-- simhash_suggest within the values of columns that are compared by equality. Every row has a copy
-- beside it that differs in two bits or none. Each tenant has 570 rows, and one row in 20 has none.
CREATE TABLE tenants AS
  SELECT i, CASE WHEN i % 20 > 0 THEN i / 600 END AS tenant,
    (('x' || left(md5((i / 2)::text), 16))::bit(64)::bigint # CASE WHEN i % 2 > 0
      THEN 1::bigint << (i % 60) # (1::bigint << (i % 47)) ELSE 0 END)::fingerprint64 AS fp
  FROM generate_series(0, 119999) i;
CREATE INDEX tenants_fp ON tenants USING simhash (tenant, fp);
CREATE INDEX tenants_alone ON tenants USING simhash (i, fp);
-- Of 114,000 rows 6,000 have lost their copy.
SELECT distance, expected_false < 0.0001 AS no_chance, round(found::numeric, 3) AS found
  FROM simhash_suggest('tenants_fp') WHERE suggested;
SELECT count(*) FROM simhash_suggest('tenants_alone');
-- In a small table every row is searched: what is found is what a join counts.
CREATE TABLE few AS SELECT * FROM tenants WHERE i < 900;
CREATE INDEX few_fp ON few USING simhash (tenant, fp);
WITH n AS MATERIALIZED (
    SELECT hamming(a.fp, b.fp) AS d, count(*) AS c FROM few a JOIN few b USING (tenant)
    WHERE a.ctid <> b.ctid GROUP BY 1)
SELECT count(*) > 10 AS many, count(*) FILTER (WHERE round(s.found::numeric, 9)
    <> round(COALESCE((SELECT sum(c) FROM n WHERE d <= s.distance), 0)::numeric
      / (SELECT count(tenant) FROM few), 9)) AS wrong
  FROM simhash_suggest('few_fp') s;
DROP TABLE tenants, few;
