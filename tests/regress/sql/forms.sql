-- Spellings of a question that an index serves, and those that it does not serve: docs/indexing.md.
-- Served or not, the rows are those of a sequential scan.

CREATE TABLE forms AS
SELECT i AS id, h, h::fingerprint64 AS fp, (i % 3)::smallint AS small, i % 3 AS number
FROM generate_series(1, 3000) i,
  LATERAL (SELECT hashint8extended(i / 10, 5) # (CASE WHEN i % 10 = 0 THEN 0
    ELSE (1::bigint << (i % 31)) | (1::bigint << (i * 7 % 61)) END)) v (h);
INSERT INTO forms SELECT 3000 + i, i % 3, (i % 3)::bigint::fingerprint64, 0, 0
FROM generate_series(1, 30) i;
CREATE INDEX forms_fp ON forms USING simhash (fp);
CREATE INDEX forms_h ON forms USING simhash (h hamming_int8_ops);
VACUUM ANALYZE forms;

-- Whether a query reads an index of the table, and whether its rows are those without the index.
CREATE FUNCTION form(asked text, OUT served boolean, OUT same boolean) LANGUAGE plpgsql AS $$
DECLARE
  -- x is a constant.
  query text := replace(asked, '$x', (SELECT quote_literal(fp) || '::fingerprint64' FROM forms
    WHERE id = 20));
  line text;
  rows text[];
BEGIN
  served := false;
  SET LOCAL enable_seqscan = off;
  SET LOCAL enable_indexscan = on;
  SET LOCAL enable_bitmapscan = on;
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
    served := served OR line ~ '(Index Cond|Order By): ';
  END LOOP;
  EXECUTE format('SELECT array_agg(q::text ORDER BY q::text) FROM (%s) q', query) INTO rows;
  SET LOCAL enable_seqscan = on;
  SET LOCAL enable_indexscan = off;
  SET LOCAL enable_bitmapscan = off;
  EXECUTE format('SELECT array_agg(q::text ORDER BY q::text) IS NOT DISTINCT FROM $1 FROM (%s) q',
    query) INTO same USING rows;
END $$;

CREATE TABLE asked (place serial, clause text);
INSERT INTO asked (clause) VALUES
  ('hamming(fp, x) <= 6'), ('hamming(fp, x) < 7'), ('6 >= hamming(x, fp)'),
  ('hamming(fp, x) <= 6.0'), ('hamming(fp, x) < 6.5'), ('hamming(fp, x) <= 6::float8'),
  ('hamming(fp, x)::numeric <= 6.7'), ('hamming(fp, x) <= 6::bigint'),
  ('64 - hamming(fp, x) >= 60'), ('64 - hamming(fp, x) > 60'),
  ('1 - hamming(fp, x) / 64.0 >= 0.95'), ('1 - hamming(fp, x)::float8 / 64 >= 0.95'),
  ('hamming(fp, x) IN (0, 1, 2)'), ('hamming(fp, x) = ANY (''{2,4}'')'),
  ('hamming(fp, x) IN (4, 2)'),
  ('hamming(fp, x) <= ALL (''{4,9}'')'), ('hamming(fp, x) = 2'), ('hamming(fp, x) = 2.0'),
  ('hamming(fp, x) BETWEEN 1 AND 4'), ('(fp <~> x) * 2 <= 8'), ('hamming(fp, x) + 1 <= 3'),
  ('2 * hamming(fp, x) + 1 < 9'), ('hamming(fp, x) <= NULL'),
  ('hamming(fp, x) = ANY (''{2,NULL}'')'),
  -- Not served: what most rows meet, what no constant bounds, what is long or may raise an ERROR.
  ('hamming(fp, x) >= 60'), ('hamming(fp, x) <> 3'), ('hamming(fp, x) <= 100.5'),
  ('(64 - hamming(fp, x)) * 100.0 / 64 >= 95'),
  ('10 / (hamming(fp, x) + 1) >= 5'), ('hamming(fp, x) % 5 = 0'),
  ('hamming(fp, x) * 3000000 <= 6000000'), ('hamming(fp, x) + hamming(fp, x) <= 8'),
  ('hamming(fp, x) <= number');
SELECT clause, (form('SELECT id FROM forms WHERE ' || replace(clause, 'x', '$x'))).*
FROM asked ORDER BY place;

-- Equality of bigints takes integers of other types.
SELECT clause, (form('SELECT id FROM forms WHERE ' || clause)).*
FROM (VALUES ('h = 0'), ('0 = h'), ('h = 2::smallint'), ('h = 1::bigint'), ('h IN (0, 1)'),
  ('hamming(h, 0) <= 1')) v (clause);
SELECT (form('SELECT b.id FROM (VALUES (0), (1)) a (number) JOIN forms b ON b.h = a.number')).*;
SELECT (form('SELECT b.id FROM (VALUES (0::smallint)) a (small) JOIN forms b ON b.h = a.small')).*;

-- ORDER BY. The distances of the rows that come first, not which of equally near ones.
SELECT expression, (form(format('SELECT hamming(fp, $x) FROM forms ORDER BY %s LIMIT 20',
  replace(expression, 'x', '$x')))).*
FROM (VALUES ('fp <~> x'), ('hamming(fp, x)'), ('hamming(x, fp)'), ('1'),
  ('hamming(fp, x) DESC')) v (expression);
-- Within a radius, nearest first.
SELECT query, (form('SELECT hamming(fp, $x) FROM forms ' || replace(query, 'x', '$x'))).*
FROM (VALUES ('WHERE hamming(fp, x) <= 6 ORDER BY fp <~> x'),
  ('WHERE hamming(fp, x) <= 6 ORDER BY hamming(fp, x) LIMIT 3'),
  ('WHERE hamming(fp, x) <= 30 ORDER BY hamming(fp, x) LIMIT 40'),
  ('WHERE hamming(fp, ''0000000000000001'') <= 30 ORDER BY fp <~> x LIMIT 40'),
  ('WHERE hamming(fp, x) <= 64 ORDER BY fp <~> x LIMIT 4')) v (query);
-- Grouped or distinct: as it was.
SELECT hamming(fp, x) AS distance, count(*)
FROM forms, (SELECT fp FROM forms WHERE id = 20) _ (x)
WHERE hamming(fp, x) <= 4 GROUP BY hamming(fp, x) ORDER BY hamming(fp, x);
SELECT DISTINCT hamming(fp, x) AS distance
FROM forms, (SELECT fp FROM forms WHERE id = 20) _ (x)
WHERE hamming(fp, x) <= 4 ORDER BY hamming(fp, x);

-- The index of a constraint serves what is within its radius.
CREATE TABLE apart AS SELECT DISTINCT ON (id / 10) * FROM forms WHERE id <= 3000 ORDER BY id / 10;
ALTER TABLE apart ADD EXCLUDE USING simhash (hamming_ball(fp, 8) WITH ~=);
SELECT clause, (form('SELECT id FROM apart WHERE ' || replace(clause, 'x', '$x'))).*
FROM (VALUES ('hamming(fp, x) <= 8'), ('hamming(x, fp) <= 3'), ('hamming(fp, x) < 8.5'),
  ('hamming(fp, x) = 2'), ('hamming(fp, x) <= 9')) v (clause);
SELECT (form('SELECT a.id, b.id AS other FROM forms a JOIN apart b ON hamming(a.fp, b.fp) <= 2')).*;

DROP TABLE forms, asked, apart;
DROP FUNCTION form(text);
