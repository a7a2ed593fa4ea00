-- Near-duplicates of texts on a server where no extension may be loaded: docs/portable.md.
--
-- A program makes of each text its sketch, pg_simhash.sketch(text, 0.5), and its set of shingles,
-- pg_simhash.shingles(text), and stores both as bigint[]. An index of PostgreSQL's own on the
-- sketches finds candidates; the functions here decide, with the answers of the extension's.
--
-- Needs PostgreSQL 14 or newer, and no more rights than to create functions.

-- The law of a similarity: near-duplicates agree in at least `shared` of the first `bands` keys of
-- their sketches. As pg_simhash.sketch_law has it, from 0.5 on. NULL for another similarity.
CREATE FUNCTION near_law(similarity double precision, OUT bands integer, OUT shared integer)
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
  SELECT CASE WHEN similarity >= 0.9 THEN 14 WHEN similarity >= 0.8 THEN 24 ELSE 35 END,
    CASE WHEN similarity >= 0.8 THEN 5 WHEN similarity >= 0.7 THEN 4 WHEN similarity >= 0.65 THEN 2
      ELSE 1 END
  WHERE similarity BETWEEN 0.5 AND 1;
END;

-- Jaccard's coefficient of two sets of shingles: what the extension's text_similarity says. 0 if
-- one is empty.
CREATE FUNCTION shingle_similarity(a bigint[], b bigint[]) RETURNS double precision
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
  SELECT CASE WHEN cardinality(a) > 0 AND cardinality(b) > 0
    THEN count(*)::double precision / (cardinality(a) + cardinality(b) - count(*)) ELSE 0 END
  FROM unnest(a) x JOIN unnest(b) y ON x = y;
END;

-- Whether two texts are near-duplicates, by their sketches and sets of shingles: what the
-- extension's near_duplicate says. Raises an ERROR for a similarity that sketches do not serve.
CREATE FUNCTION near_duplicate_of(
    a_sketch bigint[], a_shingles bigint[], b_sketch bigint[], b_shingles bigint[],
    similarity double precision DEFAULT 0.7)
  RETURNS boolean LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
  SET search_path FROM CURRENT AS $$
DECLARE
  law record;
  agree integer := 0;
BEGIN
  SELECT * INTO law FROM near_law(similarity);
  IF law.bands IS NULL THEN
    RAISE numeric_value_out_of_range USING
      MESSAGE = format('similarity %s is out of range for these sketches', similarity),
      HINT = 'Allowed: 0.5 to 1.';
  END IF;
  IF cardinality(a_sketch) <> 35 OR cardinality(b_sketch) <> 35 THEN
    RAISE invalid_parameter_value USING
      MESSAGE = 'a sketch must have 35 keys',
      HINT = 'Make sketches for the similarity 0.5: pg_simhash.sketch(text, 0.5).';
  END IF;
  FOR band IN 1 .. law.bands LOOP
    IF a_sketch[band] = b_sketch[band] THEN
      agree := agree + 1;
      IF agree = law.shared THEN
        RETURN shingle_similarity(a_shingles, b_shingles) >= similarity;
      END IF;
    END IF;
  END LOOP;
  RETURN false;
END $$;
