-- Functions by which families.pl judges the trigger simhash_dedup: they use text forms and count
-- bits, and call none of the extension's functions.
CREATE FUNCTION test.bits(fp text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE length(fp)
    WHEN 16 THEN ('x' || fp)::bit(64)::text ELSE ('x' || fp)::bit(128)::text END $$;
CREATE FUNCTION test.distance(a text, b text) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
  SELECT length(replace((test.bits(a)::varbit # test.bits(b)::varbit)::text, '0', '')) $$;
-- The digits of a fingerprint, also of one in a bigint column.
CREATE FUNCTION test.digits(value anyelement) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN pg_typeof(value) = 'bigint'::regtype
    THEN lpad(to_hex(value::text::bigint), 16, '0') ELSE value::text END $$;

-- The rows of a family within a distance of a fingerprint: where they are, how far away, and the
-- text of their key if their table has the key's column.
CREATE FUNCTION test.near(family regclass, fp text, reach integer, key text,
  OUT tab regclass, OUT place tid, OUT apart integer, OUT shown text)
  RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE member regclass; has_key boolean;
BEGIN
  FOR member IN
    WITH RECURSIVE below AS (
      SELECT family::oid AS t UNION SELECT inhrelid FROM pg_inherits JOIN below ON inhparent = t)
    SELECT t FROM below JOIN pg_class c ON c.oid = t WHERE relkind = 'r'
  LOOP
    has_key := EXISTS (SELECT FROM pg_attribute
      WHERE attrelid = member AND attname = key AND NOT attisdropped);
    RETURN QUERY EXECUTE format(
      'SELECT %L::regclass, ctid, test.distance(test.digits(fp), $1), %s FROM ONLY %s
        WHERE fp IS NOT NULL AND test.distance(test.digits(fp), $1) <= $2',
      member, CASE WHEN has_key THEN format('format(''%%s'', %I)', key) ELSE 'NULL' END, member)
      USING fp, reach;
  END LOOP;
END $$;

-- Runs a statement that brings a fingerprint into a family with a trigger, and raises a WARNING
-- that says what is wrong with the outcome. own and own_table are the place of the row that is
-- updated. If strange is set, errors other than that for a near-duplicate are allowed.
CREATE FUNCTION test.push(statement text, family regclass, fp text, action text, reach integer,
  key text, link text, own tid, own_table regclass, strange boolean)
  RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  near record; linked text; rows_done bigint; least integer;
  state text; message text; detail text; said text;
BEGIN
  SELECT count(*) AS n, min(apart) AS least,
      array_agg(shown) FILTER (WHERE shown IS NOT NULL) AS keys INTO near
    FROM test.near(family, nullif(fp, ''), reach, key)
    WHERE (tab, place) IS DISTINCT FROM (own_table, own);
  BEGIN
    IF link IS NULL THEN
      EXECUTE statement;
      GET DIAGNOSTICS rows_done = ROW_COUNT;
    ELSE
      EXECUTE statement || format(
        ' RETURNING CASE WHEN %1$I IS NOT NULL THEN format(''%%s'', %1$I) END', link) INTO linked;
      GET DIAGNOSTICS rows_done = ROW_COUNT;
    END IF;
  EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS
      state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
    IF state = '23S01' THEN
      said := substring(detail FROM '^The row with [^=]* = (.*) is at distance \d+;');
      IF near.n = 0 THEN
        RAISE WARNING 'WRONG: a duplicate of nothing: % %', message, detail;
      ELSIF action <> 'error' THEN
        RAISE WARNING 'WRONG: an error where the action is %', action;
      ELSIF said IS NOT NULL AND NOT coalesce(said = ANY (near.keys), false) THEN
        RAISE WARNING 'WRONG: % is no key of %: %', quote_literal(said), near.keys, detail;
      ELSIF substring(detail FROM 'at distance (\d+);')::integer <> near.least THEN
        RAISE WARNING 'WRONG: the nearest is at %, not %', near.least, detail;
      END IF;
    ELSIF state LIKE 'XX%' OR NOT strange THEN
      RAISE WARNING 'WRONG: % % %', state, message, detail;
    END IF;
    RETURN;
  END;
  IF rows_done = 0 AND (near.n = 0 OR action <> 'skip') THEN
    RAISE WARNING 'WRONG: a row was lost that had % duplicates, action %', near.n, action;
  ELSIF rows_done > 0 AND near.n > 0 AND action IN ('skip', 'error') THEN
    RAISE WARNING 'WRONG: a row was let in that has % duplicates, the nearest at %, action %',
      near.n, near.least, action;
  ELSIF linked IS NOT NULL AND NOT coalesce(linked = ANY (near.keys), false) THEN
    RAISE WARNING 'WRONG: linked to %, keys of duplicates are %', quote_literal(linked), near.keys;
  ELSIF link IS NOT NULL AND linked IS NULL AND NOT strange AND cardinality(near.keys) = near.n THEN
    RAISE WARNING 'WRONG: no link, keys of duplicates are %', near.keys;
  END IF;
END $$;
