--
-- Sets: shingles
--

CREATE FUNCTION shingles(body text, k integer DEFAULT 5, config simhash_config DEFAULT '{}')
  RETURNS text[]
  AS 'MODULE_PATHNAME', 'shingles_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2000;
COMMENT ON FUNCTION shingles(body text, k integer, config simhash_config) IS
  'the distinct shingles of k tokens of a text';
CREATE FUNCTION shingle_similarity(a text, b text, k integer DEFAULT 5,
    config simhash_config DEFAULT '{}')
  RETURNS real
  AS 'MODULE_PATHNAME', 'shingle_similarity_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 4000;
COMMENT ON FUNCTION shingle_similarity(a text, b text, k integer, config simhash_config) IS
  'Jaccard similarity of the shingles of two texts, 0 to 1';
CREATE FUNCTION shingle_containment(a text, b text, k integer DEFAULT 5,
    config simhash_config DEFAULT '{}')
  RETURNS real
  AS 'MODULE_PATHNAME', 'shingle_containment_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 4000;
COMMENT ON FUNCTION shingle_containment(a text, b text, k integer, config simhash_config) IS
  'share of the first texts shingles that the second has, 0 to 1';
