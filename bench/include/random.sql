-- A schema named bench with random fingerprints to come.

DROP SCHEMA IF EXISTS bench CASCADE;
CREATE SCHEMA bench;
SET search_path = bench, public;
SELECT setseed(0.5) AS seeded \gset
CREATE FUNCTION random64() RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT (floor(random() * 4294967296)::bigint << 32) | floor(random() * 4294967296)::bigint
$$;
-- 1 to `bits` bits flipped
CREATE FUNCTION flipped(h bigint, bits integer) RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT mask # h
  FROM (SELECT bit_or(1::bigint << floor(random() * 64)::integer) AS mask
        FROM generate_series(1, bits)) s
$$;
