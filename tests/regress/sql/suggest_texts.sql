-- simhash_suggest for texts: tables whose pairs are known by construction. Each word is made of a
-- seed, so words are equal only where they are meant to be.
CREATE FUNCTION words(seed text, n integer) RETURNS text[] IMMUTABLE LANGUAGE sql
  AS $$ SELECT array_agg(
    'w' || translate(left(md5(seed || ' ' || i), 12), '0123456789', 'ghijklmnop') ORDER BY i)
    FROM generate_series(1, n) i $$;
-- A text with every word replaced whose number is in a list.
CREATE FUNCTION edited(seed text, n integer, places integer[]) RETURNS text IMMUTABLE LANGUAGE sql
  SET search_path FROM CURRENT
  AS $$ SELECT string_agg(CASE WHEN i = ANY (places) THEN 'edit' || w ELSE w END, ' ' ORDER BY i)
    FROM unnest(words(seed, n)) WITH ORDINALITY u (w, i) $$;
-- What it says of each band, and what a join counts: in a small table every row is looked up, and
-- every candidate.
CREATE FUNCTION brute(index regclass, tab regclass, config simhash_config DEFAULT '{}')
  RETURNS TABLE (bands bigint, suggested bigint, wrong bigint) LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY EXECUTE format($q$
    WITH r AS MATERIALIZED (SELECT ctid AS c, body FROM %1$s WHERE body IS NOT NULL),
      n AS MATERIALIZED (
        SELECT a.c, text_similarity(a.body, b.body, %3$L) AS s FROM r a JOIN r b ON a.c <> b.c),
      s AS MATERIALIZED (SELECT *, lead(similarity, 1, 2) OVER (ORDER BY similarity) AS upto
        FROM simhash_suggest(%2$L)),
      e AS (SELECT s.*, (SELECT count(*) / 2 FROM n WHERE n.s >= similarity AND n.s < upto) AS p,
        (SELECT count(DISTINCT c) FROM n WHERE n.s >= similarity) AS near,
        (SELECT count(*) FROM n WHERE n.s >= similarity)::float8
          / (SELECT count(*) FROM r WHERE body <> '') AS mean,
        (SELECT count(*) FROM (
          SELECT FROM n WHERE n.s >= similarity GROUP BY c HAVING count(*) >= 24) c) AS crowded
        FROM s)
    SELECT count(*), count(*) FILTER (WHERE suggested), count(*) FILTER (WHERE p <> pairs
      OR near <> near_rows OR crowded <> crowded_rows OR abs(mean - found) > 1e-9
      OR distance IS NOT NULL OR expected_false IS NOT NULL OR beyond_chance IS NOT NULL) FROM e
    $q$, tab, index, config);
END $$;

-- Copies: of 120 texts of 30 words 50 have a copy with one word replaced, which is 27 pairs of
-- words of 31, and 30 one with three, which is 23 of 35. No other pairs share a word.
CREATE TABLE copies (id integer, body text);
INSERT INTO copies
  SELECT i, edited('copy ' || i, 30, '{}') FROM generate_series(1, 120) i
  UNION ALL SELECT 1000 + i, edited('copy ' || i, 30, '{7}') FROM generate_series(1, 50) i
  UNION ALL SELECT 2000 + i, edited('copy ' || i, 30, '{7,15,22}')
    FROM generate_series(51, 80) i;
CREATE INDEX copies_body ON copies USING simhash (body);
SELECT similarity, pairs, near_rows, crowded_rows FROM simhash_suggest('copies_body');
-- Any similarity up to 23/35 finds all pairs and no other.
SELECT similarity BETWEEN 0.5 AND 23.0 / 35 AS right, note FROM simhash_suggest('copies_body')
  WHERE suggested;
SELECT * FROM brute('copies_body', 'copies');

-- Families: 40 templates of 30 words, each filled in 30 times with 6 words: 29 pairs of words of
-- 41 are the same. Of 100 of these texts there is a copy with one of its own words replaced: 33 of
-- 37, if it is not the last one.
CREATE TABLE families (id integer, body text);
INSERT INTO families
  SELECT 100 * t + i, edited('template ' || t, 30, '{}') || ' '
    || edited('own ' || t || ' ' || i, 6, '{}')
  FROM generate_series(1, 40) t, generate_series(1, 30) i
  UNION ALL SELECT -(100 * t + i), edited('template ' || t, 30, '{}') || ' '
    || edited('own ' || t || ' ' || i, 6, '{3}')
  FROM generate_series(1, 10) t, generate_series(1, 10) i;
CREATE INDEX families_body ON families USING simhash (body);
SELECT similarity > 29.0 / 41 AND similarity <= 33.0 / 37 AS right, note
  FROM simhash_suggest('families_body') WHERE suggested;
SELECT count(*) FROM simhash_pairs('families_body',
  (SELECT similarity FROM simhash_suggest('families_body') WHERE suggested));
-- What it proposes: rare words, and 0.6.
SELECT simhash_train('families', 'SELECT body FROM families', '{"shingle": 2}') > 0 AS trained;
CREATE INDEX families_idf ON families USING simhash (body)
  WITH (config = '{"weight": "idf", "model": "families"}');
SELECT count(*), count(*) FILTER (WHERE a.id = -b.id) AS copies
  FROM simhash_pairs('families_idf', 0.6) p JOIN families a ON a.ctid = p.a
    JOIN families b ON b.ctid = p.b;
SELECT similarity, note FROM simhash_suggest('families_idf') WHERE suggested;
-- Many copies of one text are no family.
CREATE TABLE spam (body text);
INSERT INTO spam SELECT edited('spam', 250, ARRAY[i]) FROM generate_series(0, 59) i
  UNION ALL SELECT edited('other ' || i, 30, '{}') FROM generate_series(1, 200) i;
CREATE INDEX spam_body ON spam USING simhash (body);
SELECT similarity <= 0.9 AS right, note FROM simhash_suggest('spam_body') WHERE suggested;

-- Numbers: 150 pairs of notices that differ in a number, and ten that differ in a word.
CREATE TABLE notices (body text);
INSERT INTO notices
  SELECT edited('notice ' || i, 20, '{}') || ' of ' || 1000 + n * i || ' euros'
    FROM generate_series(1, 150) i, generate_series(1, 2) n
  UNION ALL SELECT edited('letter ' || i, 20, ARRAY[n]) FROM generate_series(1, 10) i,
    generate_series(1, 2) n;
CREATE INDEX notices_body ON notices USING simhash (body);
SELECT note FROM simhash_suggest('notices_body') WHERE suggested;
CREATE INDEX notices_numbers ON notices USING simhash (body)
  WITH (config = '{"numbers": "same"}');
SELECT sum(pairs) AS pairs, max(note) AS note FROM simhash_suggest('notices_numbers');

-- Pairs to look at: ten of each band, each row once in a band, and the texts as they are.
SELECT sum(n) AS pairs, max(n) AS most, bool_and(rows = 2 * n) AS different FROM (
  SELECT count(*) / 2 AS n, count(DISTINCT r) AS rows
    FROM simhash_suggest_pairs('copies_body'), unnest(ARRAY[a, b]) r
    GROUP BY floor(similarity * 20)) s;
SELECT count(*) FILTER (WHERE p.similarity <> text_similarity(a.body, b.body)
    OR p.a_text <> rtrim(left(a.body, 200))
      || CASE WHEN length(a.body) > 200 THEN '...' ELSE '' END)
  AS wrong, count(distance) AS distances
  FROM simhash_suggest_pairs('copies_body') p JOIN copies a ON a.ctid = p.a
    JOIN copies b ON b.ctid = p.b;

-- Few rows, no rows, equal rows, no near pairs, single words, NULLs.
CREATE TABLE tiny (body text);
CREATE INDEX tiny_body ON tiny USING simhash (body);
SELECT similarity, note FROM simhash_suggest('tiny_body') WHERE suggested;
INSERT INTO tiny VALUES (NULL), (''), ('one two three four five six seven'),
  ('One two three four five six seven!'), ('one two three four five six eight');
SELECT similarity, found, pairs, note FROM simhash_suggest('tiny_body')
  WHERE suggested OR pairs > 0;
TRUNCATE tiny;
INSERT INTO tiny SELECT 'the same text in every row of it' FROM generate_series(1, 300);
SELECT similarity, found, pairs, crowded_rows, note FROM simhash_suggest('tiny_body')
  WHERE suggested OR pairs > 0;
TRUNCATE tiny;
INSERT INTO tiny SELECT edited('none ' || i, 20, '{}') FROM generate_series(1, 300) i;
SELECT similarity, pairs, note FROM simhash_suggest('tiny_body') WHERE suggested;
TRUNCATE tiny;
INSERT INTO tiny SELECT (words('word ' || i / 2, 1))[1] FROM generate_series(1, 300) i;
SELECT similarity, pairs, note FROM simhash_suggest('tiny_body') WHERE suggested;
-- An index for a greater similarity says nothing of lesser ones.
CREATE INDEX copies_most ON copies USING simhash (body) WITH (similarity = 0.83);
SELECT similarity, pairs FROM simhash_suggest('copies_most') WHERE pairs > 0;
SELECT min(similarity) FROM simhash_suggest('copies_most');
SELECT * FROM brute('copies_most', 'copies');
-- Rows that the query does not see do not count, and the same index gives the same answer.
DELETE FROM copies WHERE id > 1000;
SELECT sum(pairs) FROM simhash_suggest('copies_body');
SELECT count(*) AS differ FROM simhash_suggest('families_body') a
  FULL JOIN simhash_suggest('families_body') b ON a::text = b::text WHERE a IS NULL OR b IS NULL;
-- Of a scope, of an expression, of a constraint.
CREATE TABLE tenants AS SELECT id % 2 AS tenant, body FROM families WHERE abs(id) < 500;
CREATE INDEX tenants_body ON tenants USING simhash (tenant, body);
CREATE INDEX tenants_lower ON tenants USING simhash (lower(body));
CREATE INDEX tenants_near ON tenants USING simhash (near_text(body, 0.8));
SELECT sum(pairs) = (SELECT count(*) FROM tenants a JOIN tenants b
    ON a.ctid < b.ctid AND a.tenant = b.tenant AND text_similarity(a.body, b.body) >= 0.5) AS equal
  FROM simhash_suggest('tenants_body');
SELECT sum(pairs) = (SELECT count(*) FROM tenants a JOIN tenants b
    ON a.ctid < b.ctid AND text_similarity(a.body, b.body) >= 0.5) AS equal
  FROM simhash_suggest('tenants_lower');
SELECT similarity, pairs FROM simhash_suggest('tenants_near') WHERE pairs > 0;

-- Whoever may not read the texts sees none of them.
CREATE ROLE regress_simhash_owner ROLE CURRENT_USER;
CREATE ROLE regress_simhash_other ROLE CURRENT_USER;
SELECT extnamespace::regnamespace AS home FROM pg_extension WHERE extname = 'pg_simhash' \gset
GRANT USAGE ON SCHEMA :home TO regress_simhash_owner, regress_simhash_other;
CREATE TABLE owned (body text);
CREATE INDEX owned_body ON owned USING simhash (body);
ALTER TABLE owned OWNER TO regress_simhash_owner;
INSERT INTO owned VALUES ('one two three four'), ('one two three four');
SET ROLE regress_simhash_owner;
SELECT sum(pairs) FROM simhash_suggest('owned_body');
SELECT similarity, a_text FROM simhash_suggest_pairs('owned_body');
SET ROLE regress_simhash_other;
SELECT sum(pairs) FROM simhash_suggest('owned_body');
SELECT a_text FROM simhash_suggest_pairs('owned_body');
RESET ROLE;
GRANT SELECT (body) ON owned TO regress_simhash_other;
SET ROLE regress_simhash_other;
SELECT sum(pairs) FROM simhash_suggest('owned_body');
SELECT count(*) FROM simhash_suggest_pairs('owned_body');
RESET ROLE;
ALTER TABLE owned ENABLE ROW LEVEL SECURITY;
SET ROLE regress_simhash_other;
SELECT sum(pairs) FROM simhash_suggest('owned_body');
SELECT count(*) FROM simhash_suggest_pairs('owned_body');
SET ROLE regress_simhash_owner;
REVOKE ALL ON owned FROM regress_simhash_owner;
SELECT sum(pairs) FROM simhash_suggest('owned_body');
SELECT count(*) FROM simhash_suggest_pairs('owned_body');
RESET ROLE;

-- What it refuses.
CREATE TABLE parts (body text) PARTITION BY LIST (body);
CREATE INDEX parts_body ON parts USING simhash (body);
SELECT * FROM simhash_suggest('parts_body');
SELECT * FROM simhash_suggest_pairs('parts_body');
SELECT * FROM simhash_suggest_pairs('owned');
SELECT count(*) FROM simhash_suggest_pairs(NULL);

-- Forms: their numbers differ, and each has dozens of relatives. Rare words would find no copy of
-- one whose date is written in another way, so they are not proposed beside numbers.
CREATE TABLE forms AS SELECT format(
    'Invoice %s of %s: for services in your quarter please pay %s.00 '
    'euros within thirty days to the account that is named below, with kind regards, your office',
    i, date '2024-01-01' + i, 100 + i) AS body FROM generate_series(1, 300) i;
CREATE INDEX forms_body ON forms USING simhash (body);
SELECT note LIKE '%families%' AS families, note LIKE '%numbers%' AS numbers,
    note LIKE '%rare words%' AS rare_words
  FROM simhash_suggest('forms_body') WHERE suggested;
-- A table of fingerprints without near pairs says so.
CREATE TABLE hashes AS SELECT hashtextextended(i::text, 0) AS h FROM generate_series(1, 500) i;
CREATE INDEX hashes_h ON hashes USING simhash (h hamming_int8_ops);
SELECT note FROM simhash_suggest('hashes_h') WHERE suggested;
DROP TABLE copies, families, spam, notices, tiny, tenants, owned, parts, forms, hashes;
DELETE FROM simhash_model WHERE name = 'families';
REVOKE USAGE ON SCHEMA :home FROM regress_simhash_owner, regress_simhash_other;
DROP ROLE regress_simhash_owner, regress_simhash_other;
DROP FUNCTION brute, edited, words;
