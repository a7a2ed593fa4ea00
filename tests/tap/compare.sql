-- Functions that the index's cluster tests use in the database: made-up fingerprints, and
-- comparisons of an index's answers, in every way of scanning, with those of a sequential scan.
CREATE SCHEMA test;

-- 64 bits that depend on a text only.
CREATE FUNCTION test.number(salt text) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
  $$SELECT ('x' || substr(md5(salt), 1, 16))::bit(64)::bigint$$;
-- A word of letters that depends on a text only: a digit would end a token.
CREATE FUNCTION test.word(salt text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
  $$SELECT translate(md5(salt), '0123456789', 'ghijklmnop')$$;
-- At most the given number of bits set.
CREATE FUNCTION test.flips(salt text, bits bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
  $$SELECT coalesce(bit_or(1::bigint << get_byte(decode(md5(salt || ' ' || j), 'hex'), 0) % 64), 0)
    FROM generate_series(1, bits) j$$;
CREATE FUNCTION test.wide(high bigint, low bigint) RETURNS fingerprint128
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
  $$SELECT (lpad(to_hex(high), 16, '0') || lpad(to_hex(low), 16, '0'))::fingerprint128$$;

-- The type of a column, its values as hexadecimal digits, and a literal of the type.
CREATE FUNCTION test.type_of(tab text, col text) RETURNS text LANGUAGE sql STABLE AS
  $$SELECT format_type(atttypid, NULL) FROM pg_attribute
    WHERE attrelid = tab::regclass AND attname = col$$;
CREATE FUNCTION test.hex(fingerprint64) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT $1::text';
CREATE FUNCTION test.hex(fingerprint128) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT $1::text';
CREATE FUNCTION test.hex(bigint) RETURNS text LANGUAGE sql IMMUTABLE AS
  'SELECT $1::fingerprint64::text';
CREATE FUNCTION test.literal(type text, hex text) RETURNS text LANGUAGE sql IMMUTABLE AS
  $$SELECT quote_literal(hex)
    || CASE type WHEN 'bigint' THEN '::fingerprint64::bigint' ELSE '::' || type END$$;

-- Allows one kind of scan for the rest of the transaction.
CREATE FUNCTION test.allow(kind text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('enable_seqscan', (kind = 'sequential')::text, true),
    set_config('enable_indexscan', (kind IN ('index', 'only'))::text, true),
    set_config('enable_bitmapscan', (kind = 'bitmap')::text, true),
    set_config('enable_indexonlyscan', (kind = 'only')::text, true),
    set_config('simhash.enable_rewrite', (kind <> 'sequential')::text, true),
    set_config('max_parallel_workers_per_gather', '0', true);
  -- From PostgreSQL 16 on string_agg(id ... ORDER BY id) would read the rows by the index on id.
  PERFORM set_config(name, 'off', true) FROM pg_settings WHERE name = 'enable_presorted_aggregate';
END $$;

CREATE FUNCTION test.plan(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text; plan text := '';
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP plan := plan || line || E'\n'; END LOOP;
  RETURN plan;
END $$;

-- The single value of a query by one kind of scan. An error if the plan is another.
CREATE FUNCTION test.by(kind text, index text, query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  intended text := CASE kind
    WHEN 'sequential' THEN '%Seq Scan on %'
    WHEN 'index' THEN '% Index Scan using ' || index || ' on %'
    WHEN 'bitmap' THEN '%Bitmap Index Scan on ' || index || E'\n%'
    WHEN 'only' THEN '%Index Only Scan using ' || index || ' on %' END;
  answer text;
BEGIN
  PERFORM test.allow(kind);
  -- A standby has no index-only scans, because replay of vacuum does not wait for their pins.
  IF kind = 'only' AND pg_is_in_recovery() THEN
    intended := '% Index Scan using ' || index || ' on %';
  END IF;
  IF test.plan(query) NOT LIKE intended THEN
    RAISE 'not the intended plan (%) for %: %', kind, query, test.plan(query);
  END IF;
  EXECUTE query INTO answer;
  RETURN answer;
END $$;

-- Points to ask about, as hexadecimal digits: values of some rows, values a few bits away from
-- them, and values of no row.
CREATE FUNCTION test.points(tab text, col text, n integer, salt text)
  RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE taken text[]; points text[] := '{}'; digits integer; point text;
BEGIN
  PERFORM test.allow('sequential');
  digits := CASE test.type_of(tab, col) WHEN 'fingerprint128' THEN 32 ELSE 16 END;
  EXECUTE format('SELECT coalesce(array_agg(h), ''{}'') FROM (
    SELECT test.hex(%1$I) AS h FROM %2$s WHERE %1$I IS NOT NULL
    ORDER BY md5(test.hex(%1$I) || $2), id LIMIT $1) r', col, tab) USING n, salt INTO taken;
  FOR i IN 1 .. n LOOP
    point := CASE WHEN i % 4 = 3 OR i > cardinality(taken)
      THEN left(md5(salt || i), digits) ELSE taken[i] END;
    IF i % 2 = 0 THEN
      point := (('x' || left(point, 16))::bit(64) # test.flips(salt || i, i)::bit(64))
        ::fingerprint64 || substr(point, 17);
    END IF;
    points := points || point;
  END LOOP;
  RETURN points || repeat('0', digits) || repeat('f', digits);
END $$;

-- Compares the rows within each distance of each point, and the first rows in order of distance, by
-- the index in every way and by a sequential scan. Returns where they differ, and how many
-- comparisons were made over how many rows.
CREATE FUNCTION test.compare(tab text, col text, idx text, points text[], distances integer[],
  limits integer[],
  OUT failures text, OUT comparisons integer, OUT matches bigint) LANGUAGE plpgsql AS $$
DECLARE
  type text := test.type_of(tab, col);
  digest text := 'SELECT count(*) || '' '' '
    '|| coalesce(md5(string_agg(%1$I::text, '','' ORDER BY %1$I)), '''') FROM %2$s WHERE ';
  ids text := format(digest, 'id', tab);
  vals text := format(digest, col, tab);
  point text; literal text; condition text; k integer; kind text;
  expected text; expected_vals text; got text;
BEGIN
  failures := ''; comparisons := 0; matches := 0;
  FOREACH point IN ARRAY points LOOP
    literal := test.literal(type, point);
    FOREACH k IN ARRAY distances LOOP
      condition := format('hamming(%I, %s) <= %s', col, literal, k);
      expected := test.by('sequential', idx, ids || condition);
      expected_vals := test.by('sequential', idx, vals || condition);
      matches := matches + split_part(expected, ' ', 1)::bigint;
      -- With the operator itself, because at the full width the rewrite leaves hamming() as it is.
      condition := format('%I <@ hamming_ball(%s, %s)', col, literal, k);
      FOREACH kind IN ARRAY ARRAY['index', 'bitmap', 'only'] LOOP
        got := test.by(kind, idx, CASE kind WHEN 'only' THEN vals ELSE ids END || condition);
        comparisons := comparisons + 1;
        IF got IS DISTINCT FROM (CASE kind WHEN 'only' THEN expected_vals ELSE expected END) THEN
          failures := failures || format(E'%s scan of %s within %s of %s: %s, should be %s\n',
            kind, idx, k, point, got, expected);
        END IF;
      END LOOP;
    END LOOP;
    FOREACH k IN ARRAY limits LOOP
      failures := failures || test.compare_order(tab, col, idx, literal, k);
      comparisons := comparisons + 2;
    END LOOP;
  END LOOP;
END $$;

-- The first n rows by distance: the distances are in order and right for their rows, and no row
-- comes twice.
CREATE FUNCTION test.compare_order(tab text, col text, idx text, literal text, n integer)
  RETURNS text LANGUAGE plpgsql AS $$
DECLARE expected text; got text; problems text := ''; wrong text;
BEGIN
  expected := test.by('sequential', idx, format('SELECT array_agg(d)::text FROM (
    SELECT hamming(%I, %s) AS d FROM %s ORDER BY 1 LIMIT %s) s', col, literal, tab, n));
  got := test.by('index', idx, format(
    'SELECT array_agg(d)::text || '';'' || array_agg(id)::text FROM (
      SELECT %1$I <~> %2$s AS d, id FROM %3$s ORDER BY %1$I <~> %2$s LIMIT %4$s) s',
    col, literal, tab, n));
  IF split_part(coalesce(got, expected), ';', 1) IS DISTINCT FROM expected THEN
    problems := format(E'nearest %s of %s by %s: %s, should be %s\n',
      n, literal, idx, left(got, 200), left(expected, 200));
  END IF;
  EXECUTE format('SELECT concat_ws('', '',
      CASE WHEN count(*) > count(DISTINCT o.id) THEN ''a row comes twice'' END,
      CASE WHEN NOT bool_and(t.id IS NOT NULL AND hamming(t.%I, %s) IS NOT DISTINCT FROM o.d)
        THEN ''a wrong distance'' END)
    FROM unnest($1::integer[], $2::integer[]) o (d, id) LEFT JOIN %s t USING (id)',
    col, literal, tab)
    USING coalesce(split_part(got, ';', 1), '{}'), coalesce(split_part(got, ';', 2), '{}')
    INTO wrong;
  IF wrong <> '' THEN
    problems := problems || format(E'nearest %s of %s by %s: %s\n', n, literal, idx, wrong);
  END IF;
  got := test.by('only', idx, format('SELECT array_agg(d)::text FROM (
    SELECT %1$I <~> %2$s AS d FROM %3$s ORDER BY %1$I <~> %2$s LIMIT %4$s) s',
    col, literal, tab, n));
  IF got IS DISTINCT FROM expected THEN
    problems := problems || format(E'index-only nearest %s of %s by %s: %s, should be %s\n',
      n, literal, idx, left(got, 200), left(expected, 200));
  END IF;
  RETURN problems;
END $$;

-- A fingerprint of one of fifty clusters.
CREATE FUNCTION test.made(salt bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
  $$SELECT test.number((salt % 50)::text) # test.flips(salt::text, salt % 7)$$;

-- The rows within a distance, by two plans under the snapshot of the calling query: stable
-- functions take no new snapshot.
CREATE FUNCTION test.ids_by_index(tab text, col text, literal text, k bigint) RETURNS bigint[]
LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET max_parallel_workers_per_gather = 0 AS $$
DECLARE ids bigint[];
BEGIN
  EXECUTE format('SELECT array_agg(id ORDER BY id) FROM %s WHERE %I <@ hamming_ball(%s, %s)',
    tab, col, literal, k) INTO ids;
  RETURN ids;
END $$;
CREATE FUNCTION test.ids_by_scan(tab text, col text, literal text, k bigint) RETURNS bigint[]
LANGUAGE plpgsql STABLE
SET enable_indexscan = off SET enable_bitmapscan = off SET enable_indexonlyscan = off
SET simhash.enable_rewrite = off SET enable_seqscan = on
SET max_parallel_workers_per_gather = 0 AS $$
DECLARE ids bigint[];
BEGIN
  EXECUTE format('SELECT array_agg(id ORDER BY id) FROM %s WHERE hamming(%I, %s) <= %s',
    tab, col, literal, k) INTO ids;
  RETURN ids;
END $$;
-- The number of rows within a distance of a point. An error if the index and the table disagree.
CREATE FUNCTION test.agree(tab text, col text, hex text, k bigint)
  RETURNS integer LANGUAGE plpgsql STABLE AS $$
DECLARE
  literal text := test.literal(test.type_of(tab, col), hex);
  by_index bigint[] := test.ids_by_index(tab, col, literal, k);
  by_scan bigint[] := test.ids_by_scan(tab, col, literal, k);
BEGIN
  IF by_index IS DISTINCT FROM by_scan THEN
    RAISE 'within % of %.% %: the index has % rows, the table %',
      k, tab, col, hex, cardinality(by_index), cardinality(by_scan)
      USING DETAIL = (SELECT 'only one of them has ' || string_agg(id::text, ', ') FROM (
        SELECT id FROM unnest(by_index || by_scan) id
        GROUP BY id HAVING count(*) <> 2 LIMIT 20) x);
  END IF;
  RETURN coalesce(cardinality(by_index), 0);
END $$;
