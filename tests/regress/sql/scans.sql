-- simhash_last_scans: what scans of this session did. How many leaves they read depends on the plan
-- of a scan, so it is not shown.
-- superuser only: it takes another role
CREATE FUNCTION random64(seed text) RETURNS fingerprint64 IMMUTABLE LANGUAGE sql
  AS $$ SELECT left(md5(seed), 16)::fingerprint64 $$;
CREATE TABLE scanned AS SELECT i AS id, random64((i / 3)::text) AS fp, 'text number ' || i / 3
    || ' about a cat on the mat that has been there for long' AS body
  FROM generate_series(3, 3002) i;
CREATE INDEX scanned_fp ON scanned USING simhash (fp);
CREATE INDEX scanned_body ON scanned USING simhash (body);
SET enable_seqscan = off;
SET enable_bitmapscan = off;

-- One search that finds three rows.
SELECT count(*) FROM scanned WHERE hamming(fp, random64('7')) <= 3;
SELECT index, searches, leaves > 0 AS leaves, candidates, returned, rechecked, dead
  FROM simhash_last_scans() LIMIT 1;

-- A join starts its scan for each row.
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT count(*) FROM (SELECT random64(i::text) AS q FROM generate_series(1, 20) i OFFSET 0) q
  JOIN scanned ON hamming(fp, q) <= 3;
SELECT index, searches, leaves >= 20 AS leaves, candidates, returned, rechecked, dead
  FROM simhash_last_scans() LIMIT 1;

-- Nearest first, which stops at the limit.
SELECT count(*) FROM (SELECT * FROM scanned ORDER BY fp <~> random64('7') LIMIT 2) s;
SELECT index, searches, leaves > 0 AS leaves, candidates >= 2 AS candidates, returned, dead
  FROM simhash_last_scans() LIMIT 1;

-- A bitmap, of which none is rechecked.
SET enable_indexscan = off;
SET enable_bitmapscan = on;
SELECT count(*) FROM scanned WHERE hamming(fp, random64('7')) <= 3;
SELECT index, searches, candidates, returned, rechecked FROM simhash_last_scans() LIMIT 1;

-- Texts are compared in the table.
SELECT count(*) FROM scanned
  WHERE near_duplicate(body,
    'text number 9 about a cat on the mat that has been there for long', 0.9);
SELECT index, searches, leaves > 0 AS leaves, candidates >= 3 AS candidates,
    returned = candidates AS returned, rechecked = returned AS rechecked
  FROM simhash_last_scans() LIMIT 1;

-- Whoever may not know how many rows a table has is told of no scan.
SET enable_indexscan = on;
SET enable_bitmapscan = off;
CREATE ROLE simhash_stranger;
SET ROLE simhash_stranger;
SELECT count(*) FROM simhash_last_scans();
RESET ROLE;
GRANT SELECT ON scanned TO simhash_stranger;
SET ROLE simhash_stranger;
SELECT count(*) > 0 AS some FROM simhash_last_scans();
RESET ROLE;
ALTER TABLE scanned ENABLE ROW LEVEL SECURITY;
SET ROLE simhash_stranger;
SELECT count(*) FROM simhash_last_scans();
RESET ROLE;
DROP TABLE scanned;
SELECT count(*) FROM simhash_last_scans();
DROP ROLE simhash_stranger;
DROP FUNCTION random64(text);
