-- MERGE: its plan uses the index, and its rows go through simhash_dedup. PostgreSQL 14 has
-- no MERGE: their output is merge_1.out.
SELECT current_setting('server_version_num')::integer < 150000 AS has_none \gset
\if :has_none
\quit
\endif
CREATE TABLE merged (id integer PRIMARY KEY, fp fingerprint64);
CREATE INDEX merged_fp ON merged USING simhash (fp);
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) MERGE INTO merged t
  USING (SELECT '0123456789abcdef'::fingerprint64 AS fp) s ON hamming(t.fp, s.fp) <= 3
  WHEN MATCHED THEN DELETE
  WHEN NOT MATCHED THEN INSERT (id, fp) VALUES (-1, s.fp);
RESET enable_seqscan;
CREATE TRIGGER no_near BEFORE INSERT OR UPDATE ON merged
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp');
INSERT INTO merged VALUES (1, '8000000000000001'), (2, '00ff00ff00ff00ff'), (3, '3333333333333333');
-- 61 is near 2, and 3 would come near it
MERGE INTO merged USING (VALUES
    (60, '6000000000006666'), (61, '00ff00ff00ff00fe'), (1, 'c000000000000f00'),
    (3, '00ff00ff00ff00fd'))
  v(id, fp) ON merged.id = v.id
  WHEN MATCHED THEN UPDATE SET fp = v.fp::fingerprint64
  WHEN NOT MATCHED THEN INSERT (id, fp) VALUES (v.id, v.fp::fingerprint64);
SELECT id, fp FROM merged ORDER BY id;
DROP TABLE merged;
