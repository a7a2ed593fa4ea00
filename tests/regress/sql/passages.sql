-- shares_passage, shared_passages and passage_share, against runs of tokens found in SQL.
\pset null NULL
SET client_min_messages = warning;
CREATE FUNCTION shown(a text, b text, config simhash_config DEFAULT '{}')
RETURNS TABLE (of_a text, of_b text, words integer) LANGUAGE sql AS $$
  SELECT substr(a, a_start, a_length), substr(b, b_start, b_length), words
  FROM shared_passages(a, b, 5, config)
$$;
SELECT s.*, shares_passage(a, b, 5), shares_passage(a, b, 6), shares_passage(a, b, 7),
  passage_share(a, b, 6)
FROM (VALUES ('He said: «The cat sat on the mat.»', 'So the Cat -- sat on THE mat, and slept'))
  t(a, b), shown(a, b) s;

-- places are in characters of the texts as they are, whatever was done to find the words
SELECT replace(of_a, chr(173), '~') AS of_a, of_b, words
FROM shown('x ﬁve sma' || chr(173) || 'll cafés, 12 bars y', 'five small cafes 12 bars');
SELECT * FROM shown('<p>one</p> two <b>th</b>ree four five &lt;six&gt;',
  'One, two, three, four, five!',
  '{"normalize": ["html", "nfkc", "lower", "punctuation", "space"]}');
SELECT * FROM shown('按照规定，公民有权查阅政府机关的公开文件。', '《條例》：公民有權查閱政府機關的公開文件和資料');
SELECT * FROM shown('int a = b + c; // sum', 'x; int a = b + c;', '{"tokenizer": "code"}');

-- NULL gives NULL; a text without a token has no passage
SELECT shares_passage(NULL, 'a'), shares_passage('a', NULL), shares_passage('a', 'a', NULL),
  shares_passage('a', 'a', 5, NULL), passage_share(NULL, 'a'), passage_share('', 'a'),
  passage_share('...', '...'), shares_passage('', '');
SELECT count(*) FROM shared_passages(NULL, 'a');
SELECT count(*) FROM shared_passages('', '');
-- 24 words in common are too few for 25
SELECT n, shares_passage(a, a || ' more'), passage_share(a, a || ' more'),
  passage_share('more ' || a, a)
FROM (SELECT n, string_agg(chr(96 + i), ' ' ORDER BY i) AS a
  FROM generate_series(24, 26) n, generate_series(1, n) i GROUP BY n) t
ORDER BY n;

SELECT shares_passage('a', 'a', 4);
SELECT passage_share('a', 'a', 10001);
SELECT count(*) FROM shared_passages('a', 'a', -1);
SELECT shares_passage('a', 'a', 5), shares_passage('a', 'a', 10000);
SELECT shares_passage('a', 'a', 25, '{"tokenizer": "none such"}');
SELECT shares_passage('a', 'a', 25, '{"dictionary": "none such"}');

-- Brute force: every pair of places where a run begins, and how long it goes on.
CREATE FUNCTION runs(a text[], b text[], fewest integer)
RETURNS TABLE (at_a integer, at_b integer, words integer) LANGUAGE sql IMMUTABLE AS $$
  WITH RECURSIVE run(i, j, words) AS (
    SELECT i, j, 1 FROM generate_subscripts(a, 1) i, generate_subscripts(b, 1) j
    WHERE a[i] = b[j] AND (i = 1 OR j = 1 OR a[i - 1] <> b[j - 1])
    UNION ALL
    SELECT i, j, words + 1 FROM run WHERE a[i + words] = b[j + words])
  SELECT i, j, max(words) FROM run GROUP BY i, j HAVING max(words) >= fewest
$$;
-- texts of few words, so that runs are many, and the places of their words
CREATE TABLE texts AS
SELECT n, array_agg(chr(97 + abs(hashint4(n * 1000 + i)) % (1 + n % 3)) ORDER BY i) AS words
FROM generate_series(1, 30) n, generate_series(1, 10 + n) i GROUP BY n;
CREATE FUNCTION place(word integer) RETURNS integer LANGUAGE sql IMMUTABLE AS
  'SELECT 2 * word - 1';
CREATE VIEW found AS
SELECT a.n AS a, b.n AS b, fewest, array_to_string(a.words, ' ') AS text_a,
  array_to_string(b.words, ' ') AS text_b, a.words AS words_a, b.words AS words_b
FROM texts a, texts b, unnest('{5,8}'::integer[]) fewest;
WITH expected AS (
  SELECT a, b, fewest, place(at_a) AS a_start, 2 * words - 1 AS a_length, place(at_b) AS b_start,
    2 * words - 1 AS b_length, words
  FROM found, runs(words_a, words_b, fewest)),
got AS (
  SELECT a, b, fewest, f.* FROM found, shared_passages(text_a, text_b, fewest) f)
SELECT (SELECT count(*) FROM expected) AS runs,
  (SELECT count(*) FROM (TABLE expected EXCEPT ALL TABLE got) s) AS missed,
  (SELECT count(*) FROM (TABLE got EXCEPT ALL TABLE expected) s) AS invented;
WITH expected AS (
  SELECT a, b, fewest, count(DISTINCT at) AS words
  FROM found LEFT JOIN LATERAL (
    SELECT at_a + i AS at FROM runs(words_a, words_b, fewest), generate_series(0, words - 1) i) s
    ON true
  GROUP BY a, b, fewest)
SELECT count(*), count(*) FILTER (WHERE words > 0) AS shared,
  count(*) FILTER (WHERE shares_passage(text_a, text_b, fewest) <> (words > 0)) AS wrong,
  count(*) FILTER (WHERE passage_share(text_a, text_b, fewest)
    <> words::double precision / cardinality(words_a)) AS wrong_share
FROM found JOIN expected USING (a, b, fewest);
-- in the order of places
SELECT bool_and(ordered) FROM (
  SELECT (a_start, b_start) > lag((a_start, b_start), 1, (0, 0)) OVER (
    PARTITION BY a, b, fewest ORDER BY number) AS ordered
  FROM found, shared_passages(text_a, text_b, fewest) WITH ORDINALITY
    s(a_start, a_length, b_start, b_length, words, number)) s;
-- one word many times over: as many runs as places where one can begin
SELECT count(*) = 2 * 20000 - 49 AS all_of_them, min(words), max(words)
FROM (SELECT repeat('buffalo ', 20000) AS body) t, shared_passages(body, body, 25);
SELECT passage_share(body, body || body) FROM (SELECT repeat('buffalo ', 100000) AS body) t;
DROP VIEW found;
DROP TABLE texts;
DROP FUNCTION runs, place, shown;
