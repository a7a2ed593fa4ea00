--
-- On insert
--

CREATE FUNCTION simhash_dedup() RETURNS trigger
  AS 'MODULE_PATHNAME', 'simhash_dedup_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION simhash_dedup() IS
  'trigger, BEFORE INSERT OR UPDATE FOR EACH ROW: skips, refuses, links or flags near-duplicates '
  'of rows that are there';
