-- simhash_pairs and simhash_clusters over several indexes: partitions of one table, and two tables.
-- What is expected is computed by a join ON hamming(...).
\set SHOW_CONTEXT never
\pset null -
SELECT 'pairs_across, ' || current_setting('search_path') AS path \gset
CREATE SCHEMA pairs_across;
SET search_path = :path;

-- Partitions with columns in other orders, two levels deep, one of them empty; copies, clusters and
-- rows that are gone or have later versions.
CREATE TABLE doc (id int, part int, tenant int, body text, fp fingerprint64)
  PARTITION BY LIST (part);
CREATE TABLE doc0 PARTITION OF doc FOR VALUES IN (0);
CREATE TABLE doc1 (fp fingerprint64, dropped text, body text, tenant int, part int, id int);
ALTER TABLE doc1 DROP COLUMN dropped;
ALTER TABLE doc ATTACH PARTITION doc1 FOR VALUES IN (1);
CREATE TABLE doc2 PARTITION OF doc FOR VALUES IN (2) PARTITION BY RANGE (id);
CREATE TABLE doc2a PARTITION OF doc2 FOR VALUES FROM (0) TO (200);
CREATE TABLE doc2b PARTITION OF doc2 FOR VALUES FROM (200) TO (10000);
CREATE TABLE doc3 PARTITION OF doc FOR VALUES IN (3);
INSERT INTO doc
SELECT id, id % 3, id % 4,
  'word' || chr(97 + id % 5) || ' and ' || chr(97 + id % 3) || ' or ' || chr(97 + id % 2) || ' so',
  CASE WHEN id % 9 = 4 THEN NULL WHEN id % 7 = 0 THEN '00ff00ff00ff00ff'
    ELSE (hashint8(id % 40) # (1 << id % 11) # (1 << id % 13))::bigint::fingerprint64 END
FROM generate_series(1, 500) id;
DELETE FROM doc WHERE id % 17 = 3;
UPDATE doc SET part = (part + 1) % 3 WHERE id % 19 = 5;
UPDATE doc SET body = body || ' more' WHERE id % 23 = 5;
UPDATE doc SET tenant = NULL WHERE id % 29 = 5;
CREATE INDEX doc_fp ON doc USING simhash (fp);
CREATE INDEX doc_tenant ON doc USING simhash (tenant, fp);
CREATE TABLE other (id int, tenant int, body text, fp fingerprint64);
INSERT INTO other SELECT id + 100000, (tenant + id % 2) % 4, body, fp FROM doc WHERE id % 5 < 2;
INSERT INTO other SELECT -id, id % 4, 'x', (id * 7777777)::bigint::fingerprint64
FROM generate_series(1, 200) id;
DELETE FROM other WHERE id % 31 = 7;
CREATE INDEX other_fp ON other USING simhash (fp);
CREATE INDEX other_tenant ON other USING simhash (tenant, fp);
CREATE TABLE item AS
SELECT 'doc' AS source, tableoid::regclass AS member, ctid AS place, id, tenant, body, fp FROM doc
UNION ALL SELECT 'other', tableoid::regclass, ctid, id, tenant, body, fp FROM other;
CREATE UNIQUE INDEX ON item (member, place);

-- The order of rows is that of their tables' OIDs, then of their ctids.
CREATE FUNCTION comes_first(a item, b item) RETURNS boolean IMMUTABLE LANGUAGE sql AS
  $$ SELECT (a.member::oid, a.place) < (b.member::oid, b.place) $$;
CREATE TABLE near AS
SELECT a.source AS a_source, b.source AS b_source, a.id AS a, b.id AS b,
  hamming(a.fp, b.fp) AS distance, a.tenant = b.tenant AS one_tenant,
  shingle_similarity(a.body, b.body, 1) AS similarity, comes_first(a, b) AS is_first
FROM item a JOIN item b ON hamming(a.fp, b.fp) <= 12;

-- Wrong pairs: those that are found and not expected, or the other way round.
CREATE FUNCTION wrong(index text, other text, k int, at_least float8, OUT pairs bigint,
  OUT wrong bigint)
LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format($f$
    SELECT count(*), count(*) FILTER (WHERE e IS NULL OR f IS NULL)
    FROM (SELECT a, b, distance FROM near
      WHERE a_source = %L AND b_source = %L AND (%L <> '' OR is_first) AND distance <= %s
        AND (one_tenant OR %L) AND similarity >= %s) e
    FULL JOIN (SELECT a.id AS a, b.id AS b, p.distance
      FROM simhash_pairs(%L, %s %s %s) p
      JOIN item a ON a.member = p.a_table AND a.place = p.a
      JOIN item b ON b.member = p.b_table AND b.place = p.b) f USING (a, b, distance) $f$,
    split_part(index, '_', 1), split_part(coalesce(nullif(other, ''), index), '_', 1), other, k,
    index NOT LIKE '%tenant', at_least, index,
    CASE WHEN other <> '' THEN quote_literal(other) || '::regclass,' END, k,
    CASE WHEN at_least > 0 THEN
      format(', body => ''body'', similarity => %s, shingle => 1', at_least) END)
  INTO pairs, wrong;
END $$;
SELECT index, other, k, at_least, pairs > 300 AS many, wrong
FROM (VALUES ('doc_fp', ''), ('doc_tenant', ''), ('doc_fp', 'other_fp'), ('other_fp', 'doc_fp'),
    ('doc_tenant', 'other_tenant'), ('other_fp', 'other_fp'), ('doc_fp', 'doc_fp'))
    i (index, other),
  unnest(ARRAY[0, 3, 9]) k, unnest(ARRAY[0, 0.5]) at_least, wrong(index, other, k, at_least)
ORDER BY 1, 2, 3, 4;

-- Clusters across partitions: what chains of pairs connect, named by their first row.
CREATE FUNCTION wrong_clusters(index text, k int, at_least float8, OUT members bigint,
  OUT wrong bigint)
LANGUAGE plpgsql AS $$
DECLARE changed bigint;
BEGIN
  CREATE TABLE edge AS
  SELECT a, b FROM near WHERE a_source = 'doc' AND b_source = 'doc' AND a <> b AND distance <= k
    AND (one_tenant OR index NOT LIKE '%tenant') AND similarity >= at_least;
  CREATE TABLE label AS
  SELECT id, row_number() OVER (ORDER BY member::oid, place) AS first FROM item
  WHERE source = 'doc' AND id IN (SELECT a FROM edge);
  CREATE TABLE numbered AS TABLE label;
  LOOP
    UPDATE label l SET first = m.first
    FROM (SELECT e.a, min(o.first) FROM edge e JOIN label o ON o.id = e.b GROUP BY 1) m (a, first)
    WHERE m.a = l.id AND m.first < l.first;
    GET DIAGNOSTICS changed = ROW_COUNT;
    EXIT WHEN changed = 0;
  END LOOP;
  EXECUTE format($f$
    SELECT count(*), count(*) FILTER (WHERE e IS NULL OR f IS NULL)
    FROM (SELECT l.id AS member, n.id AS representative,
            count(*) OVER (PARTITION BY l.first) AS size
          FROM label l JOIN numbered n USING (first)) e
    FULL JOIN (SELECT m.id AS member, r.id AS representative, c.size::bigint
      FROM simhash_clusters(%L, %s %s) c
      JOIN item m ON m.member = c.member_table AND m.place = c.member
      JOIN item r ON r.member = c.representative_table AND r.place = c.representative) f
    USING (member, representative, size) $f$, index, k,
    CASE WHEN at_least > 0 THEN format(', ''body'', %s, 1', at_least) END)
  INTO members, wrong;
  DROP TABLE edge, label, numbered;
END $$;
SELECT index, k, at_least, members > 100 AS many, wrong
FROM unnest('{doc_fp,doc_tenant}'::text[]) index, unnest(ARRAY[0, 3, 9]) k,
  unnest(ARRAY[0, 0.5]) at_least, wrong_clusters(index, k, at_least)
ORDER BY 1, 2, 3;

-- The rights to a parent are rights to its partitions. Those to a column are enough.
CREATE ROLE pairs_across_reader ROLE CURRENT_USER;
SELECT extnamespace::regnamespace AS home FROM pg_extension WHERE extname = 'pg_simhash' \gset
GRANT USAGE ON SCHEMA pairs_across, :home TO pairs_across_reader;
SET ROLE pairs_across_reader;
SELECT count(*) FROM simhash_pairs('pairs_across.doc_fp', 0);
RESET ROLE;
GRANT SELECT (fp) ON doc TO pairs_across_reader;
SET ROLE pairs_across_reader;
SELECT count(*) > 0 AS may_read FROM simhash_pairs('pairs_across.doc_fp', 0);
SELECT count(*) FROM simhash_pairs('pairs_across.doc0_fp_idx', 0);
SELECT count(*) FROM simhash_pairs('pairs_across.doc_fp', 'pairs_across.other_fp', 0);
SELECT count(*) FROM simhash_clusters('pairs_across.doc_fp', 0, 'body', 0.5);
RESET ROLE;
GRANT SELECT (body) ON doc TO pairs_across_reader;
SET ROLE pairs_across_reader;
SELECT count(*) > 0 AS may_read FROM simhash_clusters('pairs_across.doc_fp', 0, 'body', 0.5);
RESET ROLE;
ALTER TABLE doc ENABLE ROW LEVEL SECURITY;
SET ROLE pairs_across_reader;
SELECT count(*) FROM simhash_pairs('pairs_across.doc_fp', 0);
RESET ROLE;
ALTER TABLE doc DISABLE ROW LEVEL SECURITY;

-- What cannot be compared
CREATE TABLE another (id int, tenant bigint, body text, fp fingerprint64, wide fingerprint128,
  hash bigint, fps fingerprint64[]);
INSERT INTO another VALUES (1, 1, 'x', '00ff00ff00ff00ff', '00ff00ff00ff00ff00ff00ff00ff00ff',
  x'00ff00ff00ff00ff'::bit(64)::bigint);
CREATE INDEX another_fp ON another USING simhash (fp) WITH (blocks = 6);
CREATE INDEX another_wide ON another USING simhash (wide);
CREATE INDEX another_tenant ON another USING simhash (tenant, fp);
CREATE INDEX another_included ON another USING simhash (fp) INCLUDE (id);
CREATE INDEX another_array ON another USING simhash (fps);
CREATE INDEX another_btree ON another (fp);
CREATE INDEX another_hash ON another USING simhash (hash hamming_int8_ops);
SELECT count(*) FROM simhash_pairs('other_fp', 'another_fp', 0);
SELECT count(*) FROM simhash_pairs('other_fp', 'another_wide', 0);
SELECT count(*) FROM simhash_pairs('other_tenant', 'another_tenant', 0);
SELECT count(*) FROM simhash_pairs('other_fp', 'another_tenant', 0);
SELECT count(*) FROM simhash_pairs('other_fp', 'another_included', 0);
SELECT count(*) FROM simhash_pairs('other_fp', 'another_array', 0);
SELECT count(*) FROM simhash_pairs('other_fp', 'another_btree', 0);
SELECT count(*) FROM simhash_pairs('other_fp', 'another', 0);
SELECT count(*) FROM simhash_pairs('other_fp', 'doc_fp', 65);
SELECT count(*) FROM simhash_pairs('other_fp', 'another_included', 0, 'nobody', 0.5);
-- The type may be another one, if the bits are the same.
SELECT count(*) = (SELECT count(*) FROM other WHERE fp = '00ff00ff00ff00ff') AS right
FROM simhash_pairs('other_fp', 'another_hash', 0);

-- A partitioned index that lacks a partition's, one without partitions, one of another kind
CREATE TABLE bare (id int, fp fingerprint64) PARTITION BY LIST (id);
CREATE INDEX bare_fp ON bare USING simhash (fp);
CREATE INDEX bare_btree ON bare (fp);
SELECT count(*) FROM simhash_pairs('bare_fp', 3);
SELECT count(*) FROM simhash_clusters('bare_fp', 3);
SELECT count(*) FROM simhash_pairs('bare_fp', 'other_fp', 3);
SELECT count(*) FROM simhash_pairs('bare_btree', 3);
CREATE TABLE lacking (id int, fp fingerprint64) PARTITION BY LIST (id);
CREATE TABLE lacking1 PARTITION OF lacking FOR VALUES IN (1);
CREATE INDEX lacking_fp ON ONLY lacking USING simhash (fp);
SELECT count(*) FROM simhash_pairs('lacking_fp', 3);

SET client_min_messages = warning;
DROP SCHEMA pairs_across CASCADE;
REVOKE USAGE ON SCHEMA :home FROM pairs_across_reader;
DROP ROLE pairs_across_reader;
