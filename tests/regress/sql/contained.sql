-- Containment where passages are indexed: pairs, clusters and covers by fingerprints compare rows
-- that share a passage as well. What is expected is computed by hamming, shares_passage and
-- shingle_containment.
\set SHOW_CONTEXT never
\pset null -
SET client_min_messages = warning;
SELECT 'contained, ' || current_setting('search_path') AS path \gset
CREATE SCHEMA contained;
SET search_path = :path;

CREATE FUNCTION words_of(i integer, first integer, count integer) RETURNS text LANGUAGE sql
IMMUTABLE AS $$
  SELECT string_agg(translate(substr(md5(i || 'x' || w), 1, 4), '0123456789', 'ghijklmnop'), ' '
    ORDER BY w)
  FROM generate_series(first, first + count - 1) w
$$;
-- Short texts, and longer ones that quote one or two of them, wholly or in part; copies; texts that
-- are too short for a passage; no texts, no fingerprints.
CREATE TABLE doc (id int PRIMARY KEY, tenant int, body text, fp fingerprint64);
INSERT INTO doc
SELECT i, i % 2, CASE WHEN i % 50 = 9 THEN NULL WHEN i % 50 = 10 THEN 'few words'
    WHEN i % 5 < 2 THEN words_of(i, 1, 12 + i % 9)
    WHEN i % 5 = 2 THEN words_of(i - 1 - i % 2, 1, 14)
    ELSE words_of(i, 30, 10 + i % 40) || ' ' || words_of(i - 3 - i % 2, 1 + i % 3, 9 + i % 12)
      || ' ' || words_of(i, 80, 20) || ' ' || words_of(i - 14, 1, 12) END,
  CASE WHEN i % 60 <> 11 THEN hashint8(i / (1 + i % 2))::bigint # (1 << i % 7) END::fingerprint64
FROM generate_series(1, 240) i;
INSERT INTO doc SELECT id + 1000, tenant, body, fp FROM doc WHERE id % 20 IN (3, 6);
UPDATE doc SET body = body || ' more' WHERE id % 11 = 4;
DELETE FROM doc WHERE id % 13 = 5;
CREATE INDEX doc_fp ON doc USING simhash (fp);
CREATE INDEX doc_tenant ON doc USING simhash (tenant, fp);

CREATE TABLE expected AS
SELECT a.id AS a, b.id AS b, hamming(a.fp, b.fp) AS apart, a.tenant = b.tenant AS one_tenant,
  shares_passage(a.body, b.body, 8) AS shared,
  greatest(shingle_containment(a.body, b.body, 2), shingle_containment(b.body, a.body, 2))
    AS similarity
FROM doc a JOIN doc b ON a.ctid < b.ctid
WHERE shares_passage(a.body, b.body, 8) OR hamming(a.fp, b.fp) <= 12;
CREATE FUNCTION found(index text, distance int, enough float8, OUT pairs bigint, OUT missed bigint,
  OUT invented bigint, OUT far bigint)
LANGUAGE sql AS $$
  SELECT count(f), count(*) FILTER (WHERE f IS NULL), count(*) FILTER (WHERE e IS NULL),
    count(*) FILTER (WHERE f.apart > $2)
  FROM (SELECT a, b, apart, similarity::real FROM expected
    WHERE similarity >= enough AND apart IS NOT NULL
      AND (apart <= $2 OR shared AND index <> 'none')
      AND (one_tenant OR index <> 'doc_tenant')) e
  FULL JOIN (SELECT l.id AS a, r.id AS b, p.distance AS apart, p.similarity
    FROM simhash_pairs(CASE index WHEN 'none' THEN 'doc_fp' ELSE index END, $2, body => 'body',
      similarity => enough, shingle => 2, measure => 'containment') p
    JOIN doc l ON l.ctid = p.a JOIN doc r ON r.ctid = p.b) f USING (a, b, apart, similarity)
$$;
-- Without an index of passages it is said what is not found.
SET client_min_messages = notice;
SELECT * FROM found('none', 3, 0.9);
SET client_min_messages = warning;
-- An index of some rows, and one of tenants, are not for all pairs.
CREATE INDEX doc_some ON doc USING simhash (body text_passage_ops) WITH (words = 8)
  WHERE id < 100;
CREATE INDEX doc_in_tenant ON doc USING simhash (tenant, body text_passage_ops) WITH (words = 8);
SELECT * FROM found('none', 3, 0.9);
SELECT * FROM found('doc_tenant', 3, 0.9);
CREATE INDEX doc_words ON doc USING simhash (body text_passage_ops) WITH (words = 12);
CREATE INDEX doc_passages ON doc USING simhash (body text_passage_ops) WITH (words = 8);
-- Fewer words, of other tokens than those that are compared.
CREATE INDEX doc_graphemes ON doc USING simhash (body text_passage_ops)
  WITH (words = 5, config = '{"tokenizer": "char"}');
SET client_min_messages = notice;
SELECT distance, enough, f.* FROM (VALUES (0, 0.9), (3, 0.3), (3, 1), (12, 0.9))
  q (distance, enough), found('doc_fp', distance, enough) f;
SET client_min_messages = warning;

-- Clusters are what chains of these pairs connect.
WITH RECURSIVE edge AS (
  SELECT a, b FROM expected WHERE similarity >= 0.9 AND apart IS NOT NULL AND (apart <= 3 OR shared)
  UNION SELECT b, a FROM expected
  WHERE similarity >= 0.9 AND apart IS NOT NULL AND (apart <= 3 OR shared)),
reached AS (SELECT a AS member, a AS other FROM edge
  UNION SELECT member, b FROM reached JOIN edge ON a = other),
cluster AS (SELECT member, (SELECT d.id FROM reached r JOIN doc d ON d.id = r.other
    WHERE r.member = m.member ORDER BY d.ctid LIMIT 1) AS first
  FROM (SELECT DISTINCT member FROM reached) m)
SELECT count(*) AS members, count(DISTINCT c.first) AS clusters,
  count(*) FILTER (WHERE c.member IS NULL OR f.member IS NULL) AS differ
FROM cluster c FULL JOIN (SELECT m.id AS member, r.id AS first
  FROM simhash_clusters('doc_fp', 3, body => 'body', similarity => 0.9, shingle => 2,
    measure => 'containment') s
  JOIN doc m ON m.ctid = s.member JOIN doc r ON r.ctid = s.representative) f USING (member, first);

-- A cover in the order of keep: each row that is near a kept one before it is dropped for the most
-- similar one, the nearest of these, the first of these.
CREATE FUNCTION cover_of(enough float8, within int) RETURNS TABLE (id int, kept int)
LANGUAGE plpgsql AS $$
DECLARE row record; best int;
BEGIN
  CREATE TEMP TABLE stays (id int, n int) ON COMMIT DROP;
  FOR row IN SELECT d.id, row_number() OVER (ORDER BY length(d.body) DESC, d.id) AS n FROM doc d
    WHERE d.fp IS NOT NULL ORDER BY 2 LOOP
    SELECT s.id INTO best FROM stays s
    JOIN expected e ON (e.a, e.b) IN ((s.id, row.id), (row.id, s.id))
    WHERE e.similarity >= enough AND (e.apart <= within OR e.shared)
    ORDER BY e.similarity DESC, e.apart, s.n LIMIT 1;
    IF best IS NULL THEN INSERT INTO stays VALUES (row.id, row.n);
    ELSE id := row.id; kept := best; RETURN NEXT; END IF;
  END LOOP;
  DROP TABLE stays;
END $$;
CREATE FUNCTION dropped(enough float8, within int, OUT dropped bigint, OUT far bigint,
  OUT differ bigint) LANGUAGE sql AS $$
  SELECT count(f), count(*) FILTER (WHERE f.distance > within),
    count(*) FILTER (WHERE e.id IS NULL OR f.id IS NULL)
  FROM cover_of(enough, within) e
  FULL JOIN (SELECT x.id, y.id AS kept, s.distance
    FROM simhash_duplicates('doc_fp', enough, distance => within,
      keep => 'length(body) DESC, id', body => 'body', shingle => 2, measure => 'containment') s
    JOIN doc x ON x.ctid = s.duplicate JOIN doc y ON y.ctid = s.kept) f USING (id, kept)
$$;
SELECT distance, enough, d.* FROM (VALUES (3, 0.9), (3, 0.4), (12, 0.9)) q (distance, enough),
  dropped(enough, distance) d;

-- Of two tables: which texts of one stand in one of the other.
CREATE TABLE quote (id int PRIMARY KEY, tenant int, body text, fp fingerprint64);
INSERT INTO quote SELECT id, tenant, body, (hashint8(id * 31)::bigint)::fingerprint64 FROM doc
  WHERE id % 5 < 2 AND body IS NOT NULL;
CREATE INDEX quote_fp ON quote USING simhash (fp);
-- One index of passages is not enough.
SET client_min_messages = notice;
SELECT count(*) FROM simhash_pairs('quote_fp', other => 'doc_fp', distance => 3, body => 'body',
  similarity => 1, shingle => 2, measure => 'containment');
CREATE INDEX quote_passages ON quote USING simhash (body text_passage_ops) WITH (words = 8);
CREATE TABLE of_two AS
SELECT q.id AS a, d.id AS b, hamming(q.fp, d.fp) AS apart,
  greatest(shingle_containment(q.body, d.body, 2), shingle_containment(d.body, q.body, 2))
    AS similarity
FROM quote q JOIN doc d ON hamming(q.fp, d.fp) <= 3 OR shares_passage(q.body, d.body, 8)
WHERE d.fp IS NOT NULL;
SELECT count(f) AS pairs, count(*) FILTER (WHERE e.a IS NULL OR f.a IS NULL) AS differ
FROM (SELECT a, b, apart, similarity::real FROM of_two WHERE similarity >= 0.9) e
FULL JOIN (SELECT q.id AS a, d.id AS b, p.distance AS apart, p.similarity
  FROM simhash_pairs('quote_fp', other => 'doc_fp', distance => 3, body => 'body',
    similarity => 0.9, shingle => 2, measure => 'containment') p
  JOIN quote q ON q.ctid = p.a JOIN doc d ON d.ctid = p.b) f USING (a, b, apart, similarity);
SELECT count(f) AS dropped, count(*) FILTER (WHERE e.id IS NULL OR f.id IS NULL) AS differ
FROM (SELECT DISTINCT ON (a) a AS id, b AS kept FROM of_two JOIN doc d ON d.id = b
  WHERE similarity >= 0.9 ORDER BY a, similarity DESC, apart, d.ctid) e
FULL JOIN (SELECT q.id, d.id AS kept
  FROM simhash_duplicates('quote_fp', other => 'doc_fp', similarity => 0.9, distance => 3,
    body => 'body', shingle => 2, measure => 'containment') s
  JOIN quote q ON q.ctid = s.duplicate JOIN doc d ON d.ctid = s.kept) f USING (id, kept);

-- Partitions have their parent's index.
CREATE TABLE part (id int, tenant int, body text, fp fingerprint64) PARTITION BY HASH (id);
CREATE TABLE part_0 PARTITION OF part FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE part_1 PARTITION OF part FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO part SELECT id, tenant, body, fp FROM doc;
CREATE INDEX part_fp ON part USING simhash (fp);
CREATE INDEX part_passages ON part USING simhash (body text_passage_ops) WITH (words = 8);
SELECT count(*), (SELECT count(*) FROM expected WHERE similarity >= 0.9 AND apart IS NOT NULL
  AND (apart <= 3 OR shared)) AS expected
FROM simhash_pairs('part_fp', 3, body => 'body', similarity => 0.9, shingle => 2,
  measure => 'containment');

-- Copies cost no more than their texts: 4,000 equal texts of far fingerprints, and their source.
CREATE TABLE copy (id int PRIMARY KEY, body text, fp fingerprint64);
INSERT INTO copy SELECT i, CASE i WHEN 7 THEN words_of(0, 50, 30) || ' ' ELSE '' END
  || words_of(0, 1, 20), hashint8extended(i, 3)::bigint::fingerprint64
FROM generate_series(1, 4000) i;
CREATE INDEX copy_fp ON copy USING simhash (fp);
CREATE INDEX copy_some ON copy USING simhash (fp) WHERE id <= 3;
CREATE INDEX copy_passages ON copy USING simhash (body text_passage_ops) WITH (words = 8);
SELECT y.id AS kept, count(*) FROM simhash_duplicates('copy_fp', 0.9, distance => 3, body => 'body',
  shingle => 2, measure => 'containment', keep => 'length(body) DESC') s
JOIN copy y ON y.ctid = s.kept GROUP BY 1;
SELECT count(*), count(DISTINCT representative), min(size) FROM simhash_clusters('copy_fp', 3,
  body => 'body', similarity => 0.9, shingle => 2, measure => 'containment');
SELECT count(*) FROM (SELECT simhash_pairs('copy_fp', 3, body => 'body', similarity => 0.9,
  shingle => 2, measure => 'containment') LIMIT 10) s;
-- A partial index of fingerprints has not all rows that share a passage.
SET client_min_messages = notice;
SELECT count(*) FROM simhash_pairs('copy_some', 3, body => 'body', similarity => 0.9, shingle => 2,
  measure => 'containment');
-- Expressions of a scope are not compared, so they find no index of passages.
CREATE INDEX copy_fp_2 ON copy USING simhash ((id % 2), fp);
CREATE INDEX copy_passages_3 ON copy USING simhash ((id % 3), body text_passage_ops)
  WITH (words = 8);
SELECT count(*) FROM simhash_pairs('copy_fp_2', 3, body => 'body', similarity => 0.9, shingle => 2,
  measure => 'containment');
-- Two tables with indexes of other words of a text.
CREATE TABLE cited AS SELECT * FROM copy WHERE id < 9;
CREATE INDEX cited_fp ON cited USING simhash (fp);
CREATE INDEX ON cited USING simhash (body text_passage_ops)
  WITH (words = 8, config = '{"normalize": []}');
SELECT count(*) FROM simhash_pairs('cited_fp', other => 'copy_fp', distance => 3, body => 'body',
  similarity => 0.9, shingle => 2, measure => 'containment');
CREATE INDEX ON cited USING simhash (body text_passage_ops) WITH (words = 8);
SELECT count(*) FROM simhash_pairs('cited_fp', other => 'copy_fp', distance => 3, body => 'body',
  similarity => 0.9, shingle => 2, measure => 'containment');

-- A cursor holds the index of passages, as it does that of the fingerprints.
BEGIN;
DECLARE held CURSOR FOR SELECT simhash_pairs('copy_fp', 3, body => 'body', similarity => 0.9,
  shingle => 2, measure => 'containment');
MOVE 10 FROM held;
DROP INDEX copy_passages;
ROLLBACK;

-- No memory for what is known of the rows.
SET simhash.work_mem = '16MB';
INSERT INTO doc SELECT 10000 + i, 1, concat_ws(' ', i, i, i, i, 'a', 'b', i, i),
  (i::bigint << 20)::fingerprint64
FROM generate_series(1, 200000) i;
SELECT count(*) FROM simhash_pairs('doc_fp', 0, body => 'body', similarity => 0.9,
  measure => 'containment');
RESET simhash.work_mem;
SET client_min_messages = warning;
DROP SCHEMA contained CASCADE;
