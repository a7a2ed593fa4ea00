-- simhash_explain: features side by side, and the distance that they cause.
\pset null NULL
SET client_min_messages = warning;
SELECT feature, side, weight_a, weight_b FROM simhash_explain('the cat sat', 'the the dog sat')
  ORDER BY side, feature;
SELECT feature, side, weight_a, weight_b
  FROM simhash_explain('the cat sat', 'the the dog sat', '{"weight": "tf", "shingle": [1, 2]}')
  ORDER BY side, feature;
-- what matters most stands first
SELECT feature, side, weight_a, weight_b
  FROM simhash_explain('x x x x x y z', 'y z z', '{"weight": "tf"}');
SELECT feature, side, weight_a, weight_b, share, distance, similarity
  FROM simhash_explain('the cat sat', 'the cat sat', '{}', 'minhash', 64);
-- a text without features has no fingerprint
SELECT * FROM simhash_explain('cat', '...');
SELECT * FROM simhash_explain('', '');
SELECT * FROM simhash_explain(NULL, 'a');
SELECT * FROM simhash_explain('a', 'b', method => 'maxhash');
SELECT * FROM simhash_explain('a', 'b', bits => 100);
SELECT * FROM simhash_explain('a', 'b', '{"weight": "idf", "model": "none such"}');

-- by the functions that make the fingerprints: features and weights, distance, similarity; and the
-- shares add up
CREATE TABLE explained AS
SELECT i, string_agg('w' || (i * k * k) % 23, ' ' ORDER BY k) AS a,
  string_agg('w' || CASE WHEN k % 9 = 0 THEN k ELSE (i * k * k) % 23 END, ' ' ORDER BY k)
    || ' 数据库' AS b
FROM generate_series(1, 20) i, generate_series(1, 10 + i * 3) k GROUP BY i;
CREATE FUNCTION checked(config simhash_config, method text, bits integer)
RETURNS TABLE (texts bigint, shares bigint, distances bigint, features bigint, similar_ones bigint)
LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY EXECUTE format($q$
    SELECT count(*), count(*) FILTER (WHERE abs(s - d) < 0.01),
      count(*) FILTER (WHERE d = hamming(%1$s(a, $1), %1$s(b, $1))),
      count(*) FILTER (WHERE f = (SELECT jsonb_object_agg(feature, ARRAY[x.weight, y.weight])
        FROM %2$s(a, $2) x FULL JOIN %2$s(b, $2) y USING (feature))),
      count(*) FILTER (WHERE j = similarity)
    FROM explained,
      LATERAL (SELECT sum(share) AS s, min(distance) AS d, min(similarity) AS similarity,
          (sum(least(weight_a, weight_b)) FILTER (WHERE side = 'both')
            / sum(greatest(weight_a, weight_b)))::real AS j,
          jsonb_object_agg(feature, ARRAY[weight_a, weight_b]) AS f
        FROM simhash_explain(a, b, $1, $3, $4)) e$q$,
    method || CASE WHEN (method, bits) = ('simhash', 64) THEN '' ELSE bits::text END,
    'simhash' || CASE bits WHEN 64 THEN '' ELSE bits::text END || '_features')
  USING config, CASE method WHEN 'minhash' THEN '{"shingle": 2}' ELSE config END, method, bits;
END $$;
SELECT c.*, checked.* FROM (VALUES ('{}', 'simhash', 64), ('{"shingle": 2}', 'simhash', 128),
  ('{"weight": "log", "shingle": [1, 3]}', 'simhash', 256),
  ('{"position": "spread"}', 'simhash', 128),
  ('{"shingle": 2, "weight": "tf"}', 'minhash', 64), ('{"shingle": 2}', 'minhash', 128),
  ('{"shingle": 2}', 'minhash', 256)) c(config, method, bits),
  checked(config::simhash_config, method, bits);
SELECT count(*) AS pairs, count(*) FILTER (WHERE similarity = shingle_similarity(a, b, 2)) AS equal
FROM explained, LATERAL (SELECT * FROM simhash_explain(a, b, '{"shingle": 2}') LIMIT 1) e;
DROP FUNCTION checked;
DROP TABLE explained;
