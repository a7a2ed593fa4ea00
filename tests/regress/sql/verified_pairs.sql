-- simhash_pairs and simhash_clusters with texts: near fingerprints propose pairs, the similarity of
-- the texts decides. What is expected is computed in SQL, by hamming and shingle_similarity.
\set SHOW_CONTEXT never
\pset null -
SELECT 'verified_pairs, ' || current_setting('search_path') AS path \gset
CREATE SCHEMA verified_pairs;
SET search_path = :path;

-- Families of texts that share more or less of their words, copies, long texts, texts without words
-- and no texts. Fingerprints are given, so that near ones have different texts, and the other way
-- round. Rows that are gone, and later versions of rows.
CREATE TABLE word AS SELECT i, 'w' || chr(97 + i % 26) || chr(97 + i / 26) AS word
FROM generate_series(0, 99) i;
CREATE TABLE doc (id int PRIMARY KEY, tenant int, body text, fp fingerprint64);
INSERT INTO doc
SELECT id, id % 3,
  CASE id % 40 WHEN 7 THEN NULL WHEN 8 THEN '...' ELSE
    (SELECT string_agg(word, ' ' ORDER BY n) FROM generate_series(1, length) n JOIN word w
     ON w.i = (base * 7919 + n * 104729
       + CASE hashint4(n * 1000 + id) % changed WHEN 0 THEN id ELSE 0 END) % 100) END,
  (hashint8(base) # (1 << id % 5) # (1 << id % 7))::bigint::fingerprint64
FROM (SELECT id, id % 17 AS base, 2 + id % 9 AS changed,
        CASE WHEN id % 17 = 3 THEN 2000 ELSE 12 END AS length
      FROM generate_series(1, 400) id) s;
INSERT INTO doc SELECT id + 1000, tenant, body, fp FROM doc WHERE id % 10 = 1;
INSERT INTO doc SELECT id + 2000, tenant, upper(body), fp FROM doc WHERE id % 10 = 1 AND id < 1000;
DELETE FROM doc WHERE id % 13 = 5;
UPDATE doc SET body = body || ' more' WHERE id % 11 = 4;
UPDATE doc SET tenant = NULL WHERE id % 31 = 3;
CREATE INDEX doc_fp ON doc USING simhash (fp);
CREATE INDEX doc_tenant ON doc USING simhash (tenant, fp);
CREATE INDEX doc_of_text ON doc USING simhash (minhash128(body, '{"shingle": 2}'));
CREATE TABLE given AS
SELECT *, ctid AS row, minhash128(body, '{"shingle": 2}') AS wide FROM doc;

CREATE TABLE expected AS
SELECT a.id AS a, b.id AS b, hamming(a.fp, b.fp) AS near, hamming(a.wide, b.wide) AS wide,
  a.tenant = b.tenant AS one_tenant, k, jaccard,
  greatest(shingle_containment(a.body, b.body, k), shingle_containment(b.body, a.body, k))
    AS containment
FROM given a JOIN given b ON a.row < b.row, unnest(ARRAY[1, 2]) k,
  shingle_similarity(a.body, b.body, k) jaccard
WHERE jaccard > 0;

CREATE TABLE question AS
SELECT row_number() OVER (ORDER BY index, distance, at_least, k, measure) AS n, *
FROM (VALUES ('doc_fp', 3), ('doc_fp', 10), ('doc_tenant', 6), ('doc_of_text', 40))
    i (index, distance),
  unnest(ARRAY[0.2, 0.5, 1]) at_least, unnest(ARRAY[1, 2]) k,
  unnest('{jaccard,containment}'::text[]) measure;
CREATE TABLE pair AS
SELECT n, a, b, CASE measure WHEN 'jaccard' THEN jaccard ELSE containment END AS similarity,
  CASE index WHEN 'doc_of_text' THEN wide ELSE near END AS apart
FROM question q JOIN expected e USING (k)
WHERE CASE index WHEN 'doc_of_text' THEN wide ELSE near END <= distance
  AND (index <> 'doc_tenant' OR one_tenant)
  AND CASE measure WHEN 'jaccard' THEN jaccard ELSE containment END >= at_least::real;
SELECT index, distance, count(*) FILTER (WHERE right_pairs) AS "right", count(*) AS of,
  sum(pairs) > 1000 AS many
FROM question q, LATERAL (
  SELECT count(*) FILTER (WHERE e IS NULL OR f IS NULL) = 0 AS right_pairs, count(*) AS pairs
  FROM (SELECT a, b, apart, similarity FROM pair WHERE n = q.n) e
  FULL JOIN (SELECT l.id AS a, r.id AS b, p.distance AS apart, p.similarity
    FROM simhash_pairs(q.index, q.distance, body => 'body', similarity => q.at_least,
      shingle => q.k, measure => q.measure) p
    JOIN given l ON l.row = p.a JOIN given r ON r.row = p.b) f USING (a, b, apart, similarity)) s
GROUP BY 1, 2 ORDER BY 1, 2;

-- Clusters are what chains of these pairs connect, named by their least ctid.
CREATE FUNCTION clusters_by_pairs(question bigint, OUT member int, OUT representative int)
RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE changed bigint;
BEGIN
  CREATE TEMP TABLE label ON COMMIT DROP AS
  SELECT g.id, g.row AS least FROM given g
  WHERE EXISTS (SELECT FROM pair p WHERE n = question AND g.id IN (a, b));
  LOOP
    UPDATE label l SET least = m.least
    FROM (SELECT p.id, min(other.least) AS least
          FROM (SELECT a AS id, b AS next FROM pair WHERE n = question UNION ALL
                SELECT b, a FROM pair WHERE n = question) p JOIN label other ON other.id = p.next
          GROUP BY 1) m (id, least)
    WHERE m.id = l.id AND m.least < l.least;
    GET DIAGNOSTICS changed = ROW_COUNT;
    EXIT WHEN changed = 0;
  END LOOP;
  RETURN QUERY SELECT l.id, g.id FROM label l JOIN given g ON g.row = l.least;
  DROP TABLE label;
END $$;
SELECT index, distance, count(*) FILTER (WHERE is_right) AS "right", count(*) AS of,
  sum(members) > 200 AS many
FROM question q, LATERAL (
  SELECT count(*) FILTER (WHERE e IS NULL OR f IS NULL) = 0 AS is_right, count(*) AS members
  FROM (SELECT member, representative, count(*) OVER (PARTITION BY representative) AS size
        FROM clusters_by_pairs(q.n)) e
  FULL JOIN (SELECT l.id AS member, r.id AS representative, c.size::bigint
    FROM simhash_clusters(q.index, q.distance, 'body', q.at_least, q.k, q.measure) c
    JOIN given l ON l.row = c.member JOIN given r ON r.row = c.representative) f
  USING (member, representative, size)) s
GROUP BY 1, 2 ORDER BY 1, 2;

-- The config says what a shingle is. With LIMIT, the rest is not computed.
CREATE TABLE small (body text, fp fingerprint64);
INSERT INTO small VALUES ('The quick fox', '0000000000000000'),
  ('quick quick fox', '0000000000000001'), ('a quick, fox', '0000000000000003');
CREATE INDEX small_fp ON small USING simhash (fp);
SELECT a, b, distance, similarity
FROM simhash_pairs('small_fp', 3, 'body', 0.5, config => '{"shingle": 1}') ORDER BY a, b;
SELECT a, b, distance, similarity
FROM simhash_pairs('small_fp', 3, 'body', 0.9, config => '{"stopwords": "en", "shingle": 1}')
ORDER BY a, b;
-- weighed by how often a word is there: 2 of 4 each time
SELECT a, b, similarity
FROM simhash_pairs('small_fp', 3, 'body', 0.5, measure => 'weighted',
  config => '{"weight": "tf", "shingle": 1}')
ORDER BY a, b;
SELECT * FROM simhash_clusters('small_fp', 3, 'body', 0.6, 1);
-- pairs of words, unless it says otherwise
SELECT * FROM simhash_pairs('small_fp', 3, 'body', 0.1);
SELECT count(*) > 100 AS many, count(*) = (SELECT count(*)
  FROM simhash_pairs('doc_fp', 10, 'body', 0.5, 2)) AS as_many
FROM simhash_pairs('doc_fp', 10, 'body', 0.5);
SELECT count(*) FROM (SELECT simhash_pairs('doc_fp', 10, 'body', 0.2) LIMIT 7) s;

-- what is refused
SELECT * FROM simhash_pairs('small_fp', 3, 'nobody', 0.8);
SELECT * FROM simhash_pairs('small_fp', 3, 'fp', 0.8);
SELECT * FROM simhash_pairs('small_fp', 3, 'ctid', 0.8);
SELECT * FROM simhash_pairs('small_fp', 3, 'body', 0);
SELECT * FROM simhash_pairs('small_fp', 3, 'body', 'NaN');
SELECT * FROM simhash_pairs('small_fp', 65, 'body', 0.8);
SELECT * FROM simhash_pairs('small_fp', 3, 'body', 0.8, shingle => -1);
SELECT * FROM simhash_clusters('small_fp', 3, 'body', 0.8, measure => 'cosine');
SELECT * FROM simhash_clusters('small_fp', 3, 'body', 0.8, measure => NULL);
CREATE ROLE verified_pairs_reader ROLE CURRENT_USER;
SELECT extnamespace::regnamespace AS home FROM pg_extension WHERE extname = 'pg_simhash' \gset
GRANT USAGE ON SCHEMA verified_pairs, :home TO verified_pairs_reader;
GRANT SELECT (fp) ON small TO verified_pairs_reader;
SET ROLE verified_pairs_reader;
SELECT * FROM simhash_pairs('verified_pairs.small_fp', 3, 'body', 0.8);
RESET ROLE;
GRANT SELECT (body) ON small TO verified_pairs_reader;
SET ROLE verified_pairs_reader;
SELECT count(*) FROM simhash_pairs('verified_pairs.small_fp', 3, 'body', 0.5, 1);
RESET ROLE;

SET client_min_messages = warning;
DROP SCHEMA verified_pairs CASCADE;
REVOKE USAGE ON SCHEMA :home FROM verified_pairs_reader;
DROP ROLE verified_pairs_reader;
