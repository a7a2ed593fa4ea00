-- Columns compared by equality before the one searched by distance: of every type, one, two and
-- three of them, under every form of condition, by every kind of scan. The expected answers are
-- those of sequential scans.
SET client_min_messages = warning;
SET jit = off;
SET timezone = 'UTC';

-- Leaves the planner only the named way of reading tables, or every way.
CREATE FUNCTION force(how text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('enable_seqscan', (how IN ('seq', 'any'))::text, false),
    set_config('enable_indexscan', (how IN ('index', 'only', 'any'))::text, false),
    set_config('enable_indexonlyscan', (how IN ('only', 'any'))::text, false),
    set_config('enable_bitmapscan', (how IN ('bitmap', 'any'))::text, false),
    set_config('enable_sort', (how IN ('seq', 'any'))::text, false),
    set_config('simhash.enable_rewrite', (how <> 'seq')::text, false);
  PERFORM set_config(name, 'off', false) FROM pg_settings WHERE name = 'enable_presorted_aggregate';
END $$;

-- The scans of a query's plan: seq, index, bitmap, only. None where a condition is known to be
-- false.
CREATE FUNCTION scans(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text; found text[] := '{}'; kind text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS off) ' || query LOOP
    kind := CASE WHEN line ~ 'Bitmap Index Scan' THEN 'bitmap'
      WHEN line ~ 'Index Only Scan' THEN 'only'
      WHEN line ~ 'Index Scan' THEN 'index'
      WHEN line ~ 'Seq Scan' THEN 'seq' END;
    found := found || array_remove(ARRAY[kind], NULL);
  END LOOP;
  RETURN array_to_string(found, ' ');
END $$;

-- A query for the number of rows of another query and a digest of them.
CREATE FUNCTION digest_of(query text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT format('SELECT count(*) || '' '' || coalesce(md5(string_agg(r::text, '';'' ORDER BY id)),'
    ' '''') FROM (%s) r', query) $$;
-- The same of distances, in the order in which they come.
CREATE FUNCTION digest_of_order(query text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT format('SELECT count(*) || '' '' || coalesce(string_agg(coalesce(d::text, ''-''), '' ''),'
    ' '''') FROM (%s) r', query) $$;

-- Compares the answers to such queries by every kind of scan with those of a sequential scan.
CREATE FUNCTION compare(queries text[], INOUT compared integer, INOUT matches bigint,
  INOUT problems text)
LANGUAGE plpgsql AS $$
DECLARE query text; how text; expected text; got text;
BEGIN
  FOREACH query IN ARRAY queries LOOP
    PERFORM force('seq');
    EXECUTE query INTO expected;
    matches := matches + split_part(expected, ' ', 1)::bigint;
    FOREACH how IN ARRAY ARRAY['index', 'bitmap', 'only'] LOOP
      CONTINUE WHEN how = 'bitmap' AND query ~ 'ORDER BY fp <~>'
        -- Without a condition or an order only an index-only scan is planned. Before PostgreSQL 16
        -- a column that is compared with a boolean constant is no condition of an index.
        OR how <> 'only'
          AND query ~ 'WHERE (true|(''.''::boolean = )?b|b = ''.''::boolean)( AND true)*\) r';
      PERFORM force(how);
      EXECUTE query INTO got;
      compared := compared + 1;
      IF got IS DISTINCT FROM expected THEN
        problems := problems || format(E'\n%s: %s, should be %s: %s', how, got, expected, query);
      END IF;
      got := scans(query);
      -- An index cannot return a text.
      IF got <> how AND got <> ''
          AND NOT (how = 'only' AND got = 'index' AND query ~ '\m(t|v|y)\M') THEN
        problems := problems || format(E'\n%s: the plan has %s: %s', how, got, query);
      END IF;
    END LOOP;
  END LOOP;
  PERFORM force('seq');
END $$;

CREATE FUNCTION number(seed text) RETURNS integer IMMUTABLE LANGUAGE sql
  AS $$ SELECT ('x' || left(md5(seed), 7))::bit(28)::integer $$;
CREATE FUNCTION random64(seed text) RETURNS fingerprint64 IMMUTABLE LANGUAGE sql
  AS $$ SELECT left(md5(seed), 16)::fingerprint64 $$;
-- One of some clusters, a few bits away from its centre.
CREATE FUNCTION clustered(i integer, clusters integer) RETURNS fingerprint64 IMMUTABLE LANGUAGE sql
  AS $$
  SELECT (random64('centre' || number(i::text) % clusters)::bigint
    # (1::bigint << number(i || 'a') % 64) # (1::bigint << number(i
      || 'b') % 64))::fingerprint64 $$;

-- The columns, and values of each. NULL is one more.
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE DOMAIN tenant_number AS integer;
CREATE TABLE kinds (col text PRIMARY KEY, type text, vals text[]);
INSERT INTO kinds VALUES
  ('b', 'boolean', '{t, f}'),
  ('i2', 'smallint', '{0, 1, -1, 32767, -32768}'),
  ('i4', 'integer', '{0, 1, -1, 2147483647, -2147483648}'),
  ('i8', 'bigint', '{9223372036854775807, -1, 0, -9223372036854775808, 4294967297}'),
  ('o', 'oid', '{0, 1, 2147483648, 4294967295}'),
  ('u', 'uuid', '{00000000-0000-0000-0000-000000000000, ffffffff-ffff-ffff-ffff-ffffffffffff,
    00000000-0000-0000-0000-000000000001, 80000000-0000-0000-0000-000000000000}'),
  ('t', 'text', '{"", a, "a ", A, ä}'),
  ('v', 'varchar', '{x, "", "x ", X}'),
  ('y', 'bytea', '{"\\x", "\\x00", "\\x0000", "\\xff"}'),
  ('d', 'date', '{infinity, -infinity, 2000-01-01, 1999-12-31, 5874897-12-31, 4713-01-01 BC}'),
  ('ts', 'timestamp', '{infinity, -infinity, 2000-01-01, 2000-01-01 00:00:00.000001,
    1999-12-31 23:59:59.999999}'),
  ('tz', 'timestamptz', '{-infinity, infinity, 2000-01-01 00:00:00+00, 2000-01-01 00:00:00+01}'),
  ('e', 'mood', '{sad, happy}'),
  ('n', 'tenant_number', '{7, -7, 0}');
CREATE FUNCTION value(of text, i integer) RETURNS text STABLE LANGUAGE sql
  AS $$ SELECT vals[1 + number(i || col) % (cardinality(vals) + 1)] FROM kinds WHERE col = of $$;
SELECT string_agg(format('%s %s', col, type), ', ') AS columns,
    string_agg(format('value(%L, i)::%s', col, type), ', ') AS vals FROM kinds \gset
CREATE TABLE s (id integer, fp fingerprint64, :columns);
INSERT INTO s (id, fp, b, d, e, i2, i4, i8, n, o, t, ts, tz, u, v, y)
  SELECT i, CASE WHEN i % 11 > 0 THEN clustered(i, 12) END, value('b', i)::boolean,
    value('d', i)::date, value('e', i)::mood, value('i2', i)::smallint, value('i4', i)::integer,
    value('i8', i)::bigint, value('n', i)::tenant_number, value('o', i)::oid, value('t', i)::text,
    value('ts', i)::timestamp, value('tz', i)::timestamptz, value('u', i)::uuid,
    value('v', i)::varchar, value('y', i)::bytea
  FROM generate_series(1, 600) i;

-- Conditions on one column.
CREATE FUNCTION scope_conditions(of text) RETURNS text[] STABLE LANGUAGE sql AS $$
  SELECT array_agg(format(form, col, type, vals[1], vals[2], vals[cardinality(vals)], vals::text)
      ORDER BY number)
    FROM kinds, unnest(ARRAY['true', '%1$s = %3$L::%2$s', '%1$s = %4$L::%2$s', '%5$L::%2$s = %1$s',
        '%1$s = ANY (ARRAY[%3$L, %4$L, NULL, %3$L]::%2$s[])', '%1$s IN (%5$L, %3$L)',
        '%1$s IS NULL', '%1$s IS NOT NULL',
        '%1$s = (SELECT %3$L::%2$s) AND %1$s = (SELECT %4$L::%2$s)',
        '%1$s = (SELECT %3$L::%2$s) AND %1$s = ANY (ARRAY[%4$L, %3$L]::%2$s[])',
        '%1$s = ANY (''{}''::%2$s[])', '%1$s = ANY (''{NULL}''::%2$s[])',
        '%1$s = ANY (NULL::%2$s[])',
        '%1$s = ANY (%6$L::%2$s[])', '%1$s = (SELECT NULL::%2$s)',
        '%1$s IS NULL AND %1$s = (SELECT %3$L::%2$s)', '%1$s IS NULL AND %1$s IS NOT NULL',
        '%1$s IS NOT NULL AND %1$s = ANY (%6$L::%2$s[])',
        '%1$s = ANY (%6$L::%2$s[]) AND %1$s = ANY (ARRAY[%4$L, %3$L]::%2$s[])',
        '%1$s <> %3$L::%2$s']) WITH ORDINALITY AS f (form, number)
    WHERE col = of $$;
CREATE FUNCTION fp_conditions() RETURNS text[] STABLE LANGUAGE sql AS $$
  SELECT ARRAY['true', format('hamming(fp, %L) <= 8', x), format('fp ~= %L', x),
      format('fp = %L', x),
      'fp IS NULL', 'fp IS NOT NULL',
      format('fp = ANY (ARRAY[%L, %L, %1$L, NULL]::fingerprint64[])', x, y),
      format('fp <@ ANY (ARRAY[hamming_ball(%L, 5), hamming_ball(%L, 3), hamming_ball(%1$L, 2),'
        ' NULL])', x, y),
      format('fp <@ hamming_ball(%L, 30) AND fp <@ hamming_ball(%L, 29)', x, y),
      format('fp <@ ANY (ARRAY[hamming_ball(%L, 6), hamming_ball(%L, 28)])'
        ' AND hamming(fp, %L) <= 27', x, y, z),
      'fp = ANY (''{}''::fingerprint64[])', 'fp = ANY (NULL::fingerprint64[])',
      format('fp <@ hamming_ball(%L, 64)', x), format('hamming(fp, %L) BETWEEN 2 AND 25', z),
      format('fp = %L AND fp = ANY (ARRAY[%L, %1$L]::fingerprint64[])', y, x),
      format('fp IS NULL AND fp <@ hamming_ball(%L, (SELECT 9))', x)]
    FROM (SELECT (SELECT fp FROM s WHERE id = 12) AS x, (SELECT fp FROM s WHERE id = 500) AS y,
      random64('centre3') AS z) q $$;

-- An index of some columns of a copy of the table, built from its rows or grown with them. Returns
-- how many answers were compared, of how many rows, and which were wrong.
CREATE FUNCTION trial(cols text[], grown boolean, options text DEFAULT '') RETURNS text
  LANGUAGE plpgsql AS $$
DECLARE
  make text := format('CREATE INDEX g_scoped ON g USING simhash (%s, fp) INCLUDE (id) %s',
    array_to_string(cols, ', '), options);
  -- What an index-only scan returns.
  returned text := (SELECT string_agg(col, ', ') FROM unnest(cols) col WHERE col NOT IN ('t', 'v',
    'y'));
  fps text[] := fp_conditions();
  per text[]; condition text; query text; queries text[] := '{}'; result record;
BEGIN
  DROP TABLE IF EXISTS g;
  CREATE TABLE g (LIKE s);
  IF grown THEN EXECUTE make; END IF;
  INSERT INTO g SELECT * FROM s ORDER BY id;
  IF NOT grown THEN EXECUTE make; END IF;
  ANALYZE g;
  FOR j IN 0 .. (CASE cardinality(cols) WHEN 1 THEN 39 ELSE 23 END) LOOP
    condition := fps[1 + (j * 5 + j / 16) % cardinality(fps)];
    FOR c IN 1 .. cardinality(cols) LOOP
      per := scope_conditions(cols[c]);
      condition := per[1 + (j + c * j / 4) % cardinality(per)] || ' AND ' || condition;
    END LOOP;
    queries := queries || digest_of(format('SELECT %s FROM g WHERE %s',
      concat_ws(', ', 'id', returned, 'fp'), condition));
    IF j % 4 = 0 THEN
      query := format('SELECT %s AS d FROM g WHERE %s ORDER BY %1$s',
        format('fp <~> %L', random64('centre' || j)), condition);
      queries := queries || digest_of_order(query) || digest_of_order(query || ' LIMIT 15');
    END IF;
  END LOOP;
  SELECT * INTO result FROM compare(queries, 0, 0, '');
  PERFORM simhash_index_check('g_scoped');
  RETURN format('%s: %s answers, %s rows%s', cols, result.compared, result.matches,
    result.problems);
END $$;

SELECT trial(ARRAY[col], number(col) % 2 = 0) FROM kinds ORDER BY col;
-- Every column beside two others, first and last.
SELECT trial(ARRAY[a.col, b.col], number(a.col || b.col) % 2 = 0)
  FROM (SELECT *, row_number() OVER (ORDER BY col) AS n FROM kinds) a
    JOIN (SELECT *, row_number() OVER (ORDER BY col) AS n FROM kinds) b
      ON b.n = 1 + (a.n + 4) % 14 ORDER BY a.col;
SELECT trial(ARRAY[a.col, b.col, c.col], number(a.col || b.col) % 2 = 0, 'WITH (fillfactor = 60)')
  FROM (SELECT *, row_number() OVER (ORDER BY col) AS n FROM kinds) a
    JOIN (SELECT *, row_number() OVER (ORDER BY col) AS n FROM kinds) b ON b.n = 1 + (a.n + 2) % 14
    JOIN (SELECT *, row_number() OVER (ORDER BY col) AS n FROM kinds) c ON c.n = 1 + (a.n + 8) % 14
  WHERE a.n % 2 = 0 ORDER BY a.col;
SELECT trial('{t, u, y}', false, 'WITH (blocks = 2)');
SELECT trial('{i4, i4, i4}', true, 'WITH (blocks = 7)');

-- Integers of every size, and beyond each, against columns of every size.
CREATE DOMAIN wide_tenant AS bigint;
CREATE FUNCTION integers() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  col text; number text; type text; queries text[] := '{}'; result record;
  answers integer := 0; matches bigint := 0; problems text := '';
  form text := digest_of('SELECT id, fp, %1$s FROM g WHERE %1$s %2$s');
BEGIN
  FOREACH col IN ARRAY ARRAY['i2', 'i4', 'i8', 'n'] LOOP
    DROP INDEX IF EXISTS g_scoped;
    EXECUTE format('CREATE INDEX g_scoped ON g USING simhash (%s, fp) INCLUDE (id)', col);
    queries := '{}';
    FOREACH number IN ARRAY ARRAY['0', '1', '-1', '7', '32767', '-32768', '32768', '65536',
      '-65535',
        '2147483647', '-2147483648', '2147483648', '4294967296', '4294967297',
          '9223372036854775807',
        '-9223372036854775808'] LOOP
      FOREACH type IN ARRAY ARRAY['smallint', 'integer', 'bigint', 'tenant_number',
        'wide_tenant'] LOOP
        CONTINUE WHEN number::bigint NOT BETWEEN -32768 AND 32767 AND type = 'smallint'
          OR number::bigint NOT BETWEEN -2147483648 AND 2147483647 AND type IN ('integer',
            'tenant_number');
        queries := queries || format(form, col, format('= (SELECT %L::%s)', number, type))
          || format(form, col, format('= ANY ((SELECT ARRAY[%L, 0, 7]::%s[])::%2$s[])', number,
            type));
      END LOOP;
      queries := queries || format(form, col, format('= %s', number))
        || format(form, col, format('= ANY (ARRAY[%s, 0])', number));
    END LOOP;
    SELECT * INTO result FROM compare(queries, 0, 0, '');
    answers := answers + result.compared;
    matches := matches + result.matches;
    problems := problems || result.problems;
  END LOOP;
  RETURN format('%s answers, %s rows%s', answers, matches, problems);
END $$;
SELECT integers();

-- Texts that are stored compressed and out of line, equal up to their last byte.
CREATE TABLE long (id integer, body text, fp fingerprint64);
CREATE INDEX long_body ON long USING simhash (body, fp) INCLUDE (id);
INSERT INTO long SELECT i, s.body || i % 3, random64((i % 2)::text)
  FROM (SELECT string_agg(md5(i::text), '') AS body FROM generate_series(1, 3200) i
    UNION ALL SELECT repeat('x', 100000)) s, generate_series(1, 12) i;
SELECT count(DISTINCT body), max(length(body)), max(pg_column_size(body)) > 50000 AS large
  FROM long;
CREATE FUNCTION long_texts(how text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE one text; answer text := '';
BEGIN
  PERFORM force('seq');
  FOR one IN SELECT DISTINCT body FROM long ORDER BY body LOOP
    PERFORM force(how);
    answer := answer || ' ' || (SELECT string_agg(id::text, ',' ORDER BY id) FROM long
      WHERE body = one AND fp = random64('1'));
  END LOOP;
  RETURN answer;
END $$;
SELECT long_texts('seq') AS seq, long_texts('index') AS index;
REINDEX INDEX long_body;
SELECT long_texts('index');
SELECT simhash_index_check('long_body');
SELECT force('index');
SELECT scans('SELECT id FROM long WHERE body = ''x'' AND fp ~= ''0000000000000001''');
SELECT force('seq');

-- Other widths, balls, arrays and numbers after a scope.
CREATE TABLE others (id integer, t integer, a fingerprint128, b fingerprint256, c hamming_ball64,
  d fingerprint64[], e bigint);
INSERT INTO others SELECT i, nullif(i % 8, 7), f::fingerprint128, (f || f)::fingerprint256,
    hamming_ball(left(f, 16)::fingerprint64, 2 + i % 3),
    ARRAY[left(f, 16), NULL, left(md5(f), 16), left(f, 16)]::fingerprint64[],
    left(f, 16)::fingerprint64
  FROM (SELECT i, replace(md5((i % 90)::text), '7', (i % 3)::text) AS f FROM generate_series(1,
    1000) i
    UNION ALL SELECT i, NULL FROM generate_series(1001, 1050) i) r;
CREATE FUNCTION of_others(col text, class text, conditions text[]) RETURNS text LANGUAGE plpgsql
  AS $$
DECLARE queries text[]; result record;
BEGIN
  EXECUTE format('CREATE INDEX others_scoped ON others USING simhash (t, %s %s) INCLUDE (id)', col,
    class);
  SELECT array_agg(digest_of(format('SELECT id, t FROM others WHERE %s AND %s', scope, condition)))
    FROM unnest(ARRAY['t = 3', 't = ANY (''{1, 2, 9}'')', 't IS NULL', 't IS NOT NULL',
      'true']) scope,
      unnest(conditions) condition INTO queries;
  ANALYZE others;
  SELECT * INTO result FROM compare(queries, 0, 0, '');
  PERFORM simhash_index_check('others_scoped');
  DROP INDEX others_scoped;
  RETURN format('%s: %s answers, %s rows%s', col, result.compared, result.matches,
    -- A condition that is checked again needs the column, which the index cannot return.
    CASE WHEN col IN ('c', 'd')
      THEN regexp_replace(result.problems, '\nonly: the plan has index: [^\n]*', '', 'g')
      ELSE result.problems END);
END $$;
SELECT a AS a, b AS b, c AS c, d[1] AS d, e AS e FROM others WHERE id = 11 \gset
SELECT of_others('a', '', ARRAY['a ~= ' || quote_literal(:'a'), format('hamming(a, %L) <= 40',
  :'a'),
  format('a = ANY (ARRAY[%L, %L]::fingerprint128[])', :'a', md5('2')), 'a IS NULL',
  format('a <@ hamming_ball(%L::fingerprint128, 128)', :'a')]);
SELECT of_others('b', '', ARRAY['b ~= ' || quote_literal(:'b'), format('hamming(b, %L) <= 90',
  :'b'),
  format('b = ANY (ARRAY[%L, %L]::fingerprint256[])', :'b', :'b'), 'b IS NULL',
  format('b <@ hamming_ball(%L::fingerprint256, 256)', :'b')]);
SELECT of_others('c', '', ARRAY[format('c ~= %L', :'c'), 'c IS NULL', 'c IS NOT NULL']);
SELECT of_others('d', '', ARRAY[format('d ~= ARRAY[%L]::fingerprint64[]', :'d'),
  format('d <@ ARRAY[hamming_ball(%L, 20)]', :'d'), 'd IS NULL', 'd IS NOT NULL']);
SELECT of_others('e', 'hamming_int8_ops', ARRAY[format('hamming(e, %s) <= 22', :e),
  format('e <@ ANY (ARRAY[hamming_ball(%s::bigint, 20), hamming_ball(5::bigint, 20)])', :e),
    'e IS NULL']);

-- The plans that are expected.
CREATE TABLE doc (id bigint, tenant integer, lang text, is_public boolean, fp fingerprint64);
INSERT INTO doc SELECT i, number(i::text) % 40, CASE i % 3 WHEN 0 THEN 'en' WHEN 1 THEN 'de' END,
    i % 2 = 0, clustered(i, 500) FROM generate_series(1, 20000) i;
CREATE INDEX doc_fp ON doc USING simhash (tenant, fp) INCLUDE (id);
VACUUM ANALYZE doc;
SELECT force('any');
EXPLAIN (COSTS OFF) SELECT * FROM doc WHERE tenant = 5 AND hamming(fp, '0123456789abcdef') <= 6;
EXPLAIN (COSTS OFF) SELECT id, tenant, fp FROM doc WHERE tenant = 5 AND fp ~= '0123456789abcdef';
EXPLAIN (COSTS OFF) SELECT * FROM doc WHERE tenant = 5 ORDER BY fp <~> '0123456789abcdef' LIMIT 10;
EXPLAIN (COSTS OFF) SELECT id FROM doc WHERE tenant = 5 ORDER BY fp <~> '0123456789abcdef' LIMIT 10;
EXPLAIN (COSTS OFF) SELECT * FROM doc WHERE tenant IN (5, 6, 7) AND fp ~= '0123456789abcdef';
EXPLAIN (COSTS OFF) SELECT * FROM doc WHERE tenant IS NULL AND fp ~= '0123456789abcdef';
EXPLAIN (COSTS OFF) SELECT * FROM doc WHERE tenant = 5000000000 AND fp ~= '0123456789abcdef';
EXPLAIN (COSTS OFF) SELECT * FROM doc WHERE hamming(fp, '0123456789abcdef') <= 3;
EXPLAIN (COSTS OFF) SELECT * FROM doc WHERE tenant <> 5 AND fp ~= '0123456789abcdef';
EXPLAIN (COSTS OFF) SELECT * FROM doc a JOIN doc b ON a.tenant = b.tenant AND hamming(a.fp,
  b.fp) <= 6
  WHERE a.id IN (5, 6);
-- Half of the rows are cheaper to read from the table.
EXPLAIN (COSTS OFF) SELECT * FROM doc WHERE tenant BETWEEN 5 AND 25;

-- Joins on both columns, from either side, by the index and without it.
CREATE FUNCTION join_answers(setting text) RETURNS TABLE (plan text, answer text) LANGUAGE plpgsql
  AS $$
DECLARE query text;
BEGIN
  FOREACH query IN ARRAY ARRAY[
    'a.tenant = b.tenant AND hamming(a.fp, b.fp) <= 6',
    'b.tenant = a.tenant AND 7 > hamming(b.fp, a.fp)',
    'a.tenant = b.tenant AND a.fp ~= b.fp',
    'a.tenant = b.tenant AND a.fp <@ hamming_ball(b.fp, (b.id % 9)::integer)',
    'a.tenant = b.id AND a.fp = b.fp',
    'a.tenant = ANY (ARRAY[b.tenant, b.tenant + 1, NULL]) AND hamming(a.fp, b.fp) < 5',
    '(a.tenant = b.tenant OR a.tenant = b.tenant + 1) AND hamming(a.fp, b.fp) < 5'] LOOP
    query := format('SELECT count(*) || '' '' || sum(a.id * b.id)'
      ' FROM doc a JOIN (SELECT * FROM doc WHERE id <= 40) b ON %s', query);
    PERFORM set_config('enable_' || name, CASE setting WHEN 'index' THEN 'off' ELSE 'on' END, true)
      FROM unnest(ARRAY['hashjoin', 'mergejoin', 'material', 'memoize']) name;
    PERFORM force(setting);
    plan := scans(query);
    EXECUTE query INTO answer;
    RETURN NEXT;
  END LOOP;
  PERFORM force('seq');
END $$;
SELECT i.plan, i.answer IS NOT DISTINCT FROM s.answer AS right, i.answer
  FROM join_answers('index') WITH ORDINALITY i (plan, answer, n)
  JOIN join_answers('seq') WITH ORDINALITY s (plan, answer, n) USING (n) ORDER BY n;
-- For each row its two nearest of the same tenant.
SELECT force('index');
SELECT bool_and(near.ds = all_of.ds) AS right, count(*) FROM (SELECT * FROM doc WHERE id <= 20) a,
  LATERAL (SELECT array_agg(d) AS ds FROM (SELECT fp <~> a.fp AS d FROM doc
    WHERE tenant = a.tenant ORDER BY fp <~> a.fp LIMIT 2) n) near,
  LATERAL (SELECT array_agg(d) AS ds FROM (SELECT hamming(fp, a.fp) AS d FROM doc
    WHERE tenant + 0 = a.tenant ORDER BY hamming(fp, a.fp) LIMIT 2) n) all_of;
SELECT force('seq');

-- Generic plans.
SET plan_cache_mode = force_generic_plan;
PREPARE by_tenant(integer, fingerprint64, integer) AS
  SELECT count(*) FROM doc WHERE tenant = $1 AND hamming(fp, $2) <= $3;
PREPARE by_tenants(bigint[], fingerprint64[]) AS
  SELECT count(*) FROM doc WHERE tenant = ANY ($1) AND fp = ANY ($2);
PREPARE nearest(integer, fingerprint64) AS
  SELECT count(*), sum(d)
    FROM (SELECT fp <~> $2 AS d FROM doc WHERE tenant = $1 ORDER BY fp <~> $2 LIMIT 9) r;
SELECT tenant AS tenant, fp AS fp FROM doc WHERE id = 77 \gset
SELECT force('index');
EXPLAIN (COSTS OFF) EXECUTE by_tenant(1, NULL, 2);
EXPLAIN (COSTS OFF) EXECUTE by_tenants(NULL, NULL);
EXPLAIN (COSTS OFF) EXECUTE nearest(1, NULL);
EXECUTE by_tenant(:tenant, :'fp', 4);
EXECUTE by_tenant(:tenant, :'fp', 28);
EXECUTE by_tenant(:tenant, :'fp', -1);
EXECUTE by_tenant(:tenant, :'fp', 65);
EXECUTE by_tenant(NULL, :'fp', 4);
EXECUTE by_tenant(:tenant, NULL, 4);
EXECUTE by_tenants(ARRAY[:tenant, 3, NULL, 5000000000, :tenant], ARRAY[:'fp', NULL,
  :'fp']::fingerprint64[]);
EXECUTE by_tenants(NULL, ARRAY[:'fp']::fingerprint64[]);
EXECUTE by_tenants('{}', ARRAY[:'fp']::fingerprint64[]);
EXECUTE by_tenants('{{1}}', NULL);
EXECUTE nearest(:tenant, :'fp');
EXECUTE nearest(NULL, :'fp');
EXECUTE nearest(:tenant, NULL);
SELECT force('seq');
DEALLOCATE ALL;
PREPARE by_tenant(integer, fingerprint64, integer) AS
  SELECT count(*) FROM doc WHERE tenant = $1 AND hamming(fp, $2) <= $3;
EXECUTE by_tenant(:tenant, :'fp', 4);
EXECUTE by_tenant(:tenant, :'fp', 28);
SELECT count(*), sum(d) FROM (SELECT hamming(fp, :'fp') AS d FROM doc WHERE tenant = :tenant
  ORDER BY 1 LIMIT 9) r;
SELECT count(*) FROM doc WHERE tenant IN (:tenant, 3) AND fp = :'fp';
RESET plan_cache_mode;
DEALLOCATE ALL;

-- Expression and partial indexes, an index on texts under a collation, and a boolean column, whose
-- comparison with a constant the planner may have simplified.
DROP INDEX doc_fp;
CREATE INDEX doc_expression ON doc USING simhash ((tenant % 7), (lang || 'x'), fp) INCLUDE (id)
  WHERE is_public;
ANALYZE doc;
SELECT force('index');
EXPLAIN (COSTS OFF) SELECT id FROM doc
  WHERE tenant % 7 = 3 AND lang || 'x' = 'enx' AND fp ~= :'fp' AND is_public;
SELECT count(*) FROM doc
  WHERE tenant % 7 = :tenant % 7 AND lang || 'x' = 'dex' AND hamming(fp, :'fp') <= 28 AND is_public;
SELECT force('seq');
SELECT count(*) FROM doc
  WHERE tenant % 7 = :tenant % 7 AND lang || 'x' = 'dex' AND hamming(fp, :'fp') <= 28 AND is_public;
DROP INDEX doc_expression;
CREATE INDEX doc_lang ON doc USING simhash (lang COLLATE "C", is_public, fp);
SELECT force('index');
SET plan_cache_mode = force_generic_plan;
PREPARE in_public(boolean) AS SELECT id FROM doc
  WHERE lang COLLATE "C" = 'en' AND is_public = $1 AND fp ~= :'fp';
EXPLAIN (COSTS OFF) EXECUTE in_public(true);
RESET plan_cache_mode;
-- Another collation is another equality.
EXPLAIN (COSTS OFF) SELECT id FROM doc WHERE lang COLLATE "POSIX" = 'en' AND fp ~= :'fp';
SELECT count(*) FROM doc WHERE lang COLLATE "C" = 'en' AND is_public AND hamming(fp, :'fp') <= 28;
SELECT count(*) FROM doc WHERE lang COLLATE "C" IS NULL AND NOT is_public AND hamming(fp,
  :'fp') <= 28;
SELECT count(*) FROM doc
  WHERE lang COLLATE "POSIX" = 'en' AND is_public = true AND hamming(fp, :'fp') <= 28;
SELECT force('seq');
SELECT count(*) FROM doc WHERE lang = 'en' AND is_public AND hamming(fp, :'fp') <= 28;
SELECT count(*) FROM doc WHERE lang IS NULL AND NOT is_public AND hamming(fp, :'fp') <= 28;

-- A cursor that goes back: the planner keeps the rows, because the index cannot.
DROP INDEX doc_lang;
CREATE INDEX doc_fp ON doc USING simhash (tenant, fp) INCLUDE (id);
BEGIN;
SELECT force('index');
DECLARE c SCROLL CURSOR FOR SELECT tenant, fp <~> :'fp' AS d FROM doc WHERE tenant = :tenant
  ORDER BY fp <~> :'fp';
FETCH 2 FROM c;
FETCH BACKWARD 1 FROM c;
MOVE ALL FROM c;
FETCH FIRST FROM c;
COMMIT;
SELECT force('seq');

DROP TABLE s, g, kinds, long, others, doc;
DROP FUNCTION force, scans, digest_of, digest_of_order, compare, number, random64, clustered,
  value, scope_conditions,
  fp_conditions,
  trial, integers, long_texts, of_others, join_answers;
DROP DOMAIN tenant_number, wide_tenant;
DROP TYPE mood;
