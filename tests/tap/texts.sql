-- What the cluster tests of indexes of texts use in the database, beside compare.sql.

-- A text of some words. Variants of one base differ in as many words as `changes` says.
CREATE FUNCTION test.text(base bigint, length integer, variant bigint, changes integer)
  RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT coalesce(string_agg(CASE WHEN place = ANY (ARRAY(
        SELECT 1 + abs(hashint8extended(variant, j)) % greatest(length, 1)
          FROM generate_series(1, changes) j))
      THEN test.word(variant || 'x' || place) ELSE test.word(base || ' ' || place) END,
    ' ' ORDER BY place), '')
  FROM generate_series(1, length) place $$;

-- Any text: of a cluster, of one token, of shared tokens only, without a token, Chinese, long.
CREATE FUNCTION test.any_text(salt text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE n bigint := abs(test.number(salt)); m integer := abs(test.number(salt || 'm')) % 1000;
BEGIN
  RETURN CASE
    WHEN n % 40 = 0 THEN NULL
    WHEN n % 40 = 1 THEN (ARRAY['', '   ', '...', E'\n\t!?', ' - '])[1 + m % 5]
    WHEN n % 40 < 5 THEN (ARRAY['one', 'One', 'two', 'one one', 'One, two!'])[1 + m % 5]
    WHEN n % 40 < 10 THEN test.text(1, 1, m % 5, 1) || ' ' || test.text(1, 1, m % 4, 1) || ' '
      || test.text(1, 1, m % 3, 1) || ' ' || test.text(1, 1, m % 7, 1)
    WHEN n % 40 < 14 THEN (SELECT
      string_agg(chr(19968 + (m % 4 * 50 + i * i % (20 + m % 7)) % 3000),
      '' ORDER BY i) FROM generate_series(1, 5 + m % 30) i)
    WHEN n % 40 = 14 THEN (SELECT string_agg(CASE WHEN i = m THEN 'other' ELSE 'word' || i END, ' '
      ORDER BY i) FROM generate_series(1, 2000) i)
    WHEN n % 40 < 20 THEN 'the very same text, again and again'
    ELSE test.text(n / 40 % 12, 1 + (n / 40 % 12)::integer * 3, m, (n / 500 % 6)::integer) END;
END $$;

-- Compares what is near some texts of a table's rows by its index, in every way, with a sequential
-- scan. Of an index on near_text(...) `indexed` is the expression. Returns where they differ, and
-- how many rows were found.
CREATE FUNCTION test.compare_texts(tab text, idx text, questions integer, salt text,
  config text DEFAULT '{}', indexed text DEFAULT 'body',
  OUT failures text, OUT matches bigint) LANGUAGE plpgsql AS $$
DECLARE
  ids text := format(
    'SELECT coalesce(string_agg(id::text, '','' ORDER BY id), '''') FROM %s WHERE ', tab);
  question text; similarity float8; kind text; condition text; expected text; got text;
BEGIN
  failures := ''; matches := 0;
  FOR question, similarity IN EXECUTE format('SELECT CASE i %% 3 WHEN 0 THEN body
        WHEN 1 THEN body || '' more'' ELSE reverse(body) END,
      0.3 + (abs(test.number($2 || i)) %% 71) / 100.0
    FROM (SELECT body, row_number() OVER (ORDER BY md5(body || $2)) AS i FROM (
      SELECT DISTINCT body FROM %s) d) b WHERE i <= $1', tab) USING questions, salt LOOP
    condition := format('%s ~= near_text(%L, %s, %L)', indexed, coalesce(question, ''), similarity,
      config);
    expected := test.by('sequential', idx, ids || condition);
    matches := matches + cardinality(string_to_array(expected, ','));
    FOREACH kind IN ARRAY ARRAY['index', 'bitmap'] LOOP
      got := test.by(kind, idx, ids || condition);
      IF got IS DISTINCT FROM expected THEN
        failures := failures || format(E'%s scan of %s at %s of %s: %s, should be %s\n', kind, idx,
          similarity, left(question, 60), left(got, 300), left(expected, 300));
      END IF;
    END LOOP;
    -- In words of SQL, by whatever plan there is but a sequential scan.
    CONTINUE WHEN indexed <> 'body';
    PERFORM test.allow((ARRAY['index', 'bitmap'])[1 + length(question) % 2]);
    EXECUTE ids || format('near_duplicate(%L, body, %s, %L)', coalesce(question, ''), similarity,
      config) INTO got;
    IF got IS DISTINCT FROM expected THEN
      failures := failures || format(E'near_duplicate at %s of %s: %s, should be %s\n', similarity,
        left(question, 60), left(got, 300), left(expected, 300));
    END IF;
  END LOOP;
END $$;

-- The rows near a text by two plans under the snapshot of the calling query.
CREATE FUNCTION test.near_by_index(condition text) RETURNS bigint[]
LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET max_parallel_workers_per_gather = 0 AS $$
DECLARE ids bigint[];
BEGIN
  EXECUTE 'SELECT array_agg(id ORDER BY id) FROM ' || condition INTO ids;
  RETURN ids;
END $$;
CREATE FUNCTION test.near_by_scan(condition text) RETURNS bigint[]
LANGUAGE plpgsql STABLE
SET enable_indexscan = off SET enable_bitmapscan = off SET enable_indexonlyscan = off
SET enable_seqscan = on SET max_parallel_workers_per_gather = 0 AS $$
DECLARE ids bigint[];
BEGIN
  EXECUTE 'SELECT array_agg(id ORDER BY id) FROM ' || condition INTO ids;
  RETURN ids;
END $$;
-- The number of rows near a text. An error if the index and the table disagree.
CREATE FUNCTION test.agree_on_text(tab text, body text, similarity float8)
  RETURNS integer LANGUAGE plpgsql STABLE AS $$
DECLARE
  condition text := format('%s WHERE body ~= near_text(%L, %s)', tab, body, similarity);
  by_index bigint[] := test.near_by_index(condition);
  by_scan bigint[] := test.near_by_scan(condition);
BEGIN
  IF by_index IS DISTINCT FROM by_scan THEN
    RAISE '%: the index has % rows, the table %', condition, cardinality(by_index),
      cardinality(by_scan)
      USING DETAIL = (SELECT 'only one of them has ' || string_agg(id::text, ', ') FROM (
        SELECT id FROM unnest(by_index || by_scan) id
        GROUP BY id HAVING count(*) <> 2 LIMIT 20) x);
  END IF;
  RETURN coalesce(cardinality(by_index), 0);
END $$;
