--
-- Groups that live
--

CREATE TABLE simhash_unsettled (
  relation regclass,
  "column" name,
  cluster text COLLATE "C",
  PRIMARY KEY (relation, "column", cluster)
);
COMMENT ON TABLE simhash_unsettled IS
  'groups that rows have left, until simhash_cluster_settle looks at what remains of them';
COMMENT ON COLUMN simhash_unsettled."column" IS 'the column that holds the ids of groups';
COMMENT ON COLUMN simhash_unsettled.cluster IS 'the id of the group';

CREATE FUNCTION simhash_cluster() RETURNS trigger
  AS 'MODULE_PATHNAME', 'simhash_cluster_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION simhash_cluster() IS
  'trigger, FOR EACH STATEMENT: keeps the id of each row''s group of near-duplicates in a column';
CREATE FUNCTION simhash_dedup_create(relation regclass, VARIADIC arguments text[])
  RETURNS text
  LANGUAGE c STRICT VOLATILE PARALLEL UNSAFE COST 10000
  AS 'MODULE_PATHNAME', 'simhash_dedup_create_wrapper';
COMMENT ON FUNCTION simhash_dedup_create(relation regclass, arguments text[]) IS
  'creates a trigger of simhash_dedup() with these arguments, checks all of them, and returns the '
  'trigger''s name';
CREATE FUNCTION simhash_cluster_create(relation regclass, VARIADIC arguments text[])
  RETURNS bigint
  LANGUAGE c STRICT VOLATILE PARALLEL UNSAFE COST 10000000
  AS 'MODULE_PATHNAME', 'simhash_cluster_create_wrapper';
COMMENT ON FUNCTION simhash_cluster_create(relation regclass, arguments text[]) IS
  'creates the triggers of simhash_cluster() with these arguments, and finds the groups of the '
  'rows that are there; returns how many there are';
CREATE FUNCTION simhash_cluster_settle(relation regclass, "full" boolean DEFAULT false)
  RETURNS bigint
  LANGUAGE c STRICT VOLATILE PARALLEL UNSAFE COST 10000000
  AS 'MODULE_PATHNAME', 'simhash_cluster_settle_wrapper';
COMMENT ON FUNCTION simhash_cluster_settle(relation regclass, "full" boolean) IS
  'settles the groups that rows have left, or all groups of the table; returns how many';
