--
-- In bulk: which distance to use, and keys to repartition by
--

CREATE FUNCTION simhash_blocks(fp fingerprint64, blocks integer DEFAULT 4,
    OUT block smallint, OUT key bigint)
  RETURNS SETOF record
  AS 'MODULE_PATHNAME', 'simhash_blocks_64_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 4;
COMMENT ON FUNCTION simhash_blocks(fp fingerprint64, blocks integer) IS
  'the blocks of a fingerprint as keys under which near-duplicates meet';
CREATE FUNCTION simhash_blocks(fp fingerprint128, blocks integer DEFAULT 8,
    OUT block smallint, OUT key bigint)
  RETURNS SETOF record
  AS 'MODULE_PATHNAME', 'simhash_blocks_128_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 8;
COMMENT ON FUNCTION simhash_blocks(fp fingerprint128, blocks integer) IS
  'the blocks of a fingerprint as keys under which near-duplicates meet';
CREATE FUNCTION simhash_blocks(fp fingerprint256, blocks integer DEFAULT 16,
    OUT block smallint, OUT key bigint)
  RETURNS SETOF record
  AS 'MODULE_PATHNAME', 'simhash_blocks_256_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 16;
COMMENT ON FUNCTION simhash_blocks(fp fingerprint256, blocks integer) IS
  'the blocks of a fingerprint as keys under which near-duplicates meet';
-- For a quoted literal, which has no type yet: its length tells the width.
CREATE FUNCTION simhash_blocks(fp text, OUT block smallint, OUT key bigint)
  RETURNS SETOF record
  AS 'MODULE_PATHNAME', 'simhash_blocks_text_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10 ROWS 4;
COMMENT ON FUNCTION simhash_blocks(fp text) IS
  'the blocks of a fingerprint in text form: 4 of 64 bits, 8 of 128, 16 of 256';
CREATE FUNCTION simhash_blocks(fp text, blocks integer, OUT block smallint, OUT key bigint)
  RETURNS SETOF record
  AS 'MODULE_PATHNAME', 'simhash_blocks_text_count_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10 ROWS 4;
COMMENT ON FUNCTION simhash_blocks(fp text, blocks integer) IS
  'so many blocks of a fingerprint in text form';
CREATE FUNCTION simhash_suggest(index regclass, OUT distance integer,
    OUT similarity double precision, OUT found double precision,
    OUT expected_false double precision, OUT beyond_chance double precision, OUT pairs bigint,
    OUT near_rows bigint, OUT crowded_rows bigint, OUT suggested boolean, OUT note text)
  RETURNS SETOF record
  LANGUAGE c STRICT VOLATILE PARALLEL RESTRICTED ROWS 30 COST 10000000
  AS 'MODULE_PATHNAME', 'simhash_suggest_limits_wrapper';
COMMENT ON FUNCTION simhash_suggest(regclass) IS
  'neighbours of a row within every distance, or from every similarity on, in a sample of a '
  'simhash index; which distance or similarity to use, and what the table looks like';
CREATE FUNCTION simhash_suggest_pairs(index regclass, OUT distance integer,
    OUT similarity double precision, OUT a tid, OUT b tid, OUT a_text text, OUT b_text text)
  RETURNS SETOF record
  LANGUAGE c STRICT VOLATILE PARALLEL RESTRICTED ROWS 100 COST 10000000
  AS 'MODULE_PATHNAME', 'simhash_suggest_pairs_wrapper';
COMMENT ON FUNCTION simhash_suggest_pairs(regclass) IS
  'ten pairs of each distance, or of each band of similarities, of a sample of a simhash index, to '
  'look at';
CREATE FUNCTION simhash_evaluate(pairs text,
  OUT distance integer, OUT true_positives bigint, OUT false_positives bigint,
  OUT false_negatives bigint, OUT true_negatives bigint,
  OUT "precision" double precision, OUT recall double precision, OUT f1 double precision)
  RETURNS SETOF record
  AS 'MODULE_PATHNAME', 'simhash_evaluate_wrapper'
  LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 100000 ROWS 65;
COMMENT ON FUNCTION simhash_evaluate(pairs text) IS
  'what every distance finds of the labelled pairs that a query yields as (a, b, duplicate)';
