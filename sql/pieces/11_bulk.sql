--
-- In bulk: deduplicating a whole table, straight from its index
--

CREATE FUNCTION simhash_whole_support(internal) RETURNS internal
  LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
  AS 'MODULE_PATHNAME', 'simhash_whole_support_wrapper';
COMMENT ON FUNCTION simhash_whole_support(internal) IS
  'internal: planner support: how many rows functions of whole tables return';
CREATE FUNCTION simhash_pairs(index regclass, distance integer, OUT a tid, OUT b tid,
    OUT distance integer, OUT a_table regclass, OUT b_table regclass)
  RETURNS SETOF record
  LANGUAGE c STRICT STABLE PARALLEL RESTRICTED ROWS 100000 COST 10000000
  SUPPORT simhash_whole_support
  AS 'MODULE_PATHNAME', 'simhash_pairs_wrapper';
COMMENT ON FUNCTION simhash_pairs(regclass, integer) IS
  'every pair of rows, by ctid and table, whose fingerprints in a simhash index differ in so many '
  'bits at most; each once, a < b';
CREATE FUNCTION simhash_pairs(index regclass, other regclass, distance integer, OUT a tid,
    OUT b tid, OUT distance integer, OUT a_table regclass, OUT b_table regclass)
  RETURNS SETOF record
  LANGUAGE c STRICT STABLE PARALLEL RESTRICTED ROWS 100000 COST 10000000
  SUPPORT simhash_whole_support
  AS 'MODULE_PATHNAME', 'simhash_pairs_of_two_wrapper';
COMMENT ON FUNCTION simhash_pairs(regclass, regclass, integer) IS
  'every row of one simhash index with every row of another, by ctid and table, whose fingerprints '
  'differ in so many bits at most';
CREATE FUNCTION simhash_clusters(index regclass, distance integer, OUT member tid,
    OUT representative tid, OUT size integer, OUT member_table regclass,
    OUT representative_table regclass, OUT distance integer, OUT greatest_distance integer)
  RETURNS SETOF record
  LANGUAGE c STRICT STABLE PARALLEL RESTRICTED ROWS 100000 COST 10000000
  SUPPORT simhash_whole_support
  AS 'MODULE_PATHNAME', 'simhash_clusters_wrapper';
COMMENT ON FUNCTION simhash_clusters(regclass, integer) IS
  'every row, by ctid and table, that a chain of such pairs connects with another; the first row '
  'of its cluster, how many they are, and how far they are from it';
CREATE FUNCTION simhash_clusters(index regclass, distance integer, linkage text,
    keep text DEFAULT NULL, OUT member tid, OUT representative tid, OUT size integer,
    OUT member_table regclass, OUT representative_table regclass, OUT distance integer,
    OUT greatest_distance integer)
  RETURNS SETOF record
  LANGUAGE c STABLE PARALLEL RESTRICTED ROWS 100000 COST 10000000
  SUPPORT simhash_whole_support
  AS 'MODULE_PATHNAME', 'simhash_linked_clusters_wrapper';
COMMENT ON FUNCTION simhash_clusters(regclass, integer, text, text) IS
  'as simhash_clusters(index, distance), where with linkage => ''star'' a cluster is a row that is '
  'kept, in the order of keep, and those that it stands for';
CREATE FUNCTION simhash_pairs(index regclass, distance integer, body text,
    similarity double precision, shingle integer DEFAULT 0, measure text DEFAULT 'jaccard',
    config simhash_config DEFAULT '{}', OUT a tid, OUT b tid, OUT distance integer,
    OUT similarity real, OUT a_table regclass, OUT b_table regclass)
  RETURNS SETOF record
  LANGUAGE c STRICT STABLE PARALLEL RESTRICTED ROWS 100000 COST 100000000
  SUPPORT simhash_whole_support
  AS 'MODULE_PATHNAME', 'simhash_verified_pairs_wrapper';
COMMENT ON FUNCTION simhash_pairs(regclass, integer, text, double precision, integer, text,
    simhash_config) IS
  'every pair of rows, by ctid and table, whose fingerprints are near, or which share an indexed '
  'passage if measure is containment, and whose texts, in the column that body names, are so '
  'similar; each once, a < b';
CREATE FUNCTION simhash_pairs(index regclass, other regclass, distance integer, body text,
    similarity double precision, shingle integer DEFAULT 0, measure text DEFAULT 'jaccard',
    config simhash_config DEFAULT '{}', OUT a tid, OUT b tid, OUT distance integer,
    OUT similarity real, OUT a_table regclass, OUT b_table regclass)
  RETURNS SETOF record
  LANGUAGE c STRICT STABLE PARALLEL RESTRICTED ROWS 100000 COST 100000000
  SUPPORT simhash_whole_support
  AS 'MODULE_PATHNAME', 'simhash_verified_pairs_of_two_wrapper';
COMMENT ON FUNCTION simhash_pairs(regclass, regclass, integer, text, double precision, integer,
    text, simhash_config) IS
  'every row of one simhash index with every row of another, by ctid and table, whose fingerprints '
  'are near, or which share an indexed passage if measure is containment, and whose texts, in the '
  'column that body names, are so similar';
CREATE FUNCTION simhash_clusters(index regclass, distance integer, body text,
    similarity double precision, shingle integer DEFAULT 0, measure text DEFAULT 'jaccard',
    config simhash_config DEFAULT '{}', linkage text DEFAULT 'chain', keep text DEFAULT NULL,
    OUT member tid, OUT representative tid, OUT size integer, OUT member_table regclass,
    OUT representative_table regclass, OUT similarity double precision,
    OUT least_similarity double precision)
  RETURNS SETOF record
  LANGUAGE c STABLE PARALLEL RESTRICTED ROWS 100000 COST 100000000
  SUPPORT simhash_whole_support
  AS 'MODULE_PATHNAME', 'simhash_verified_clusters_wrapper';
COMMENT ON FUNCTION simhash_clusters(regclass, integer, text, double precision, integer, text,
    simhash_config, text, text) IS
  'every row, by ctid and table, that a chain of such pairs connects with another, or that a kept '
  'row stands for; the representative of its cluster, how many they are, and how similar to it';
CREATE FUNCTION simhash_pairs(index regclass, similarity double precision DEFAULT 0.7,
    OUT a tid, OUT b tid, OUT similarity double precision, OUT a_table regclass,
    OUT b_table regclass)
  RETURNS SETOF record
  LANGUAGE c STRICT STABLE PARALLEL RESTRICTED ROWS 100000 COST 100000000
  SUPPORT simhash_whole_support
  AS 'MODULE_PATHNAME', 'simhash_similar_pairs_wrapper';
COMMENT ON FUNCTION simhash_pairs(regclass, double precision) IS
  'every pair of rows, by ctid and table, whose texts in a simhash index are near-duplicates; each '
  'once, a < b, with its similarity';
CREATE FUNCTION simhash_pairs(index regclass, other regclass,
    similarity double precision DEFAULT 0.7, OUT a tid, OUT b tid,
    OUT similarity double precision, OUT a_table regclass, OUT b_table regclass)
  RETURNS SETOF record
  LANGUAGE c STRICT STABLE PARALLEL RESTRICTED ROWS 100000 COST 100000000
  SUPPORT simhash_whole_support
  AS 'MODULE_PATHNAME', 'simhash_similar_pairs_of_two_wrapper';
COMMENT ON FUNCTION simhash_pairs(regclass, regclass, double precision) IS
  'every row of one simhash index on texts with every row of another, by ctid and table, that are '
  'near-duplicates';
CREATE FUNCTION simhash_passages(index regclass, words integer DEFAULT NULL,
    most integer DEFAULT 1000, OUT a tid, OUT b tid, OUT passages integer, OUT words integer,
    OUT share_a double precision, OUT share_b double precision, OUT a_table regclass,
    OUT b_table regclass)
  RETURNS SETOF record
  LANGUAGE c STABLE PARALLEL RESTRICTED ROWS 100000 COST 100000000
  AS 'MODULE_PATHNAME', 'simhash_passages_wrapper';
COMMENT ON FUNCTION simhash_passages(regclass, integer, integer) IS
  'every pair of rows, by ctid and table, whose texts in a simhash index of passages have so many '
  'words in a row in common: in how many stretches of a, how many words of it, which share of each '
  'text; copies of a text come with the first of them only';
CREATE FUNCTION simhash_passages(index regclass, other regclass, words integer DEFAULT NULL,
    most integer DEFAULT 1000, OUT a tid, OUT b tid, OUT passages integer, OUT words integer,
    OUT share_a double precision, OUT share_b double precision, OUT a_table regclass,
    OUT b_table regclass)
  RETURNS SETOF record
  LANGUAGE c STABLE PARALLEL RESTRICTED ROWS 100000 COST 100000000
  AS 'MODULE_PATHNAME', 'simhash_passages_of_two_wrapper';
COMMENT ON FUNCTION simhash_passages(regclass, regclass, integer, integer) IS
  'every row of one simhash index of passages with every row of another, by ctid and table, whose '
  'texts have so many words in a row in common';
CREATE FUNCTION simhash_duplicates(index regclass, similarity double precision DEFAULT 0.7,
    distance integer DEFAULT NULL, keep text DEFAULT NULL, body text DEFAULT NULL,
    shingle integer DEFAULT 0, measure text DEFAULT 'jaccard',
    config simhash_config DEFAULT '{}', OUT duplicate tid, OUT kept tid,
    OUT similarity double precision, OUT distance integer, OUT duplicate_table regclass,
    OUT kept_table regclass)
  RETURNS SETOF record
  LANGUAGE c STABLE PARALLEL RESTRICTED ROWS 100000 COST 100000000
  SUPPORT simhash_whole_support
  AS 'MODULE_PATHNAME', 'simhash_duplicates_wrapper';
COMMENT ON FUNCTION simhash_duplicates(regclass, double precision, integer, text, text, integer,
    text, simhash_config) IS
  'the rows to drop, by ctid and table, each with a row that is kept and near to it: rows are '
  'taken in the order of keep, and one that is near no row kept before it is kept';
CREATE FUNCTION simhash_duplicates(index regclass, other regclass,
    similarity double precision DEFAULT 0.7, distance integer DEFAULT NULL,
    keep text DEFAULT NULL, body text DEFAULT NULL, shingle integer DEFAULT 0,
    measure text DEFAULT 'jaccard', config simhash_config DEFAULT '{}', OUT duplicate tid,
    OUT kept tid, OUT similarity double precision, OUT distance integer,
    OUT duplicate_table regclass, OUT kept_table regclass)
  RETURNS SETOF record
  LANGUAGE c STABLE PARALLEL RESTRICTED ROWS 100000 COST 100000000
  SUPPORT simhash_whole_support
  AS 'MODULE_PATHNAME', 'simhash_duplicates_of_two_wrapper';
COMMENT ON FUNCTION simhash_duplicates(regclass, regclass, double precision, integer, text, text,
    integer, text, simhash_config) IS
  'the rows of the first table that are near any row of the second, by ctid and table, each with '
  'the nearest row of the second';
CREATE FUNCTION simhash_clusters(index regclass, similarity double precision DEFAULT 0.7,
    linkage text DEFAULT 'chain', keep text DEFAULT NULL, OUT member tid, OUT representative tid,
    OUT size integer, OUT member_table regclass, OUT representative_table regclass,
    OUT similarity double precision, OUT least_similarity double precision)
  RETURNS SETOF record
  LANGUAGE c STABLE PARALLEL RESTRICTED ROWS 100000 COST 100000000
  SUPPORT simhash_whole_support
  AS 'MODULE_PATHNAME', 'simhash_similar_clusters_wrapper';
COMMENT ON FUNCTION simhash_clusters(regclass, double precision, text, text) IS
  'every row, by ctid and table, that a chain of near-duplicates connects with another, or that a '
  'kept row stands for; the representative of its cluster, how many they are, and how similar';

CREATE FUNCTION simhash_part_recipe(index regclass, content text) RETURNS text
  LANGUAGE c STRICT STABLE PARALLEL RESTRICTED COST 10000
  AS 'MODULE_PATHNAME', 'simhash_part_recipe_wrapper';
COMMENT ON FUNCTION simhash_part_recipe(regclass, text) IS
  'internal: how the index of a part of a table over servers makes keys';
CREATE FUNCTION simhash_part_rows(index regclass, with_keys boolean) RETURNS SETOF bytea
  LANGUAGE c STRICT STABLE PARALLEL RESTRICTED COST 100000000
  AS 'MODULE_PATHNAME', 'simhash_part_rows_wrapper';
COMMENT ON FUNCTION simhash_part_rows(regclass, boolean) IS
  'internal: which rows of a part of a table over servers have keys, or none';
CREATE FUNCTION simhash_part_roots(index regclass, versions bytea) RETURNS bytea
  LANGUAGE c STRICT STABLE PARALLEL RESTRICTED COST 100000
  AS 'MODULE_PATHNAME', 'simhash_part_roots_wrapper';
COMMENT ON FUNCTION simhash_part_roots(regclass, bytea) IS
  'internal: what an index calls rows of a part of a table over servers';
CREATE FUNCTION simhash_part_keys(index regclass, bands integer, low bigint, high bigint)
  RETURNS SETOF bytea
  LANGUAGE c STRICT STABLE PARALLEL RESTRICTED COST 100000000
  AS 'MODULE_PATHNAME', 'simhash_part_keys_wrapper';
COMMENT ON FUNCTION simhash_part_keys(regclass, integer, bigint, bigint) IS
  'internal: the keys of a part of a table over servers, and the rows that have them';
CREATE FUNCTION simhash_part_texts(index regclass, roots bytea, sets boolean, numbers text,
    most bigint)
  RETURNS SETOF bytea
  LANGUAGE c STRICT STABLE PARALLEL RESTRICTED COST 1000000
  AS 'MODULE_PATHNAME', 'simhash_part_texts_wrapper';
COMMENT ON FUNCTION simhash_part_texts(regclass, bytea, boolean, text, bigint) IS
  'internal: what is made of texts of a part of a table over servers';
CREATE FUNCTION simhash_part_tokens(index regclass, roots bytea, most bigint)
  RETURNS SETOF bytea
  LANGUAGE c STRICT STABLE PARALLEL RESTRICTED COST 1000000
  AS 'MODULE_PATHNAME', 'simhash_part_tokens_wrapper';
COMMENT ON FUNCTION simhash_part_tokens(regclass, bytea, bigint) IS
  'internal: the tokens of texts of a part of a table over servers';

CREATE FUNCTION simhash_part_fingerprints(index regclass) RETURNS SETOF bytea
  LANGUAGE c STRICT STABLE PARALLEL RESTRICTED COST 100000000
  AS 'MODULE_PATHNAME', 'simhash_part_fingerprints_wrapper';
COMMENT ON FUNCTION simhash_part_fingerprints(regclass) IS
  'internal: the fingerprints of a part of a table over servers';

CREATE FUNCTION simhash_get_progress(OUT pid integer, OUT datid oid, OUT relid oid,
    OUT index_relid oid, OUT command text, OUT phase text, OUT tables_total bigint,
    OUT tables_done bigint, OUT rows_total bigint, OUT rows_read bigint,
    OUT compared double precision, OUT pairs bigint)
  RETURNS SETOF record
  LANGUAGE c STRICT STABLE PARALLEL RESTRICTED ROWS 10
  AS 'MODULE_PATHNAME', 'simhash_get_progress_wrapper';
COMMENT ON FUNCTION simhash_get_progress() IS
  'internal: implementation of the view simhash_progress';
CREATE VIEW simhash_progress AS
  SELECT p.pid, p.datid, d.datname, p.relid, p.index_relid, p.command, p.phase,
    p.tables_total, p.tables_done, p.rows_total, p.rows_read, p.compared, p.pairs
  FROM simhash_get_progress() p LEFT JOIN pg_catalog.pg_database d ON d.oid = p.datid;
COMMENT ON VIEW simhash_progress IS
  'sessions that run simhash_pairs, simhash_clusters or simhash_suggest, '
  'and how far they have come';
GRANT SELECT ON simhash_progress TO PUBLIC;
