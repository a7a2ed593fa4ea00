--
-- The index
--

CREATE FUNCTION simhash_handler(internal) RETURNS index_am_handler
  LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'simhash_handler_wrapper';
COMMENT ON FUNCTION simhash_handler(internal) IS 'internal: handler of index access method simhash';

CREATE ACCESS METHOD simhash TYPE INDEX HANDLER simhash_handler;
COMMENT ON ACCESS METHOD simhash IS
  'exact search within a Hamming distance: block tables of fingerprints';

CREATE FUNCTION simhash_kind_64(internal) RETURNS integer
  LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_kind_64_wrapper';
COMMENT ON FUNCTION simhash_kind_64(internal) IS
  'internal: support function: an index of 64-bit fingerprints';
CREATE FUNCTION simhash_kind_128(internal) RETURNS integer
  LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_kind_128_wrapper';
COMMENT ON FUNCTION simhash_kind_128(internal) IS
  'internal: support function: an index of 128-bit fingerprints';
CREATE FUNCTION simhash_kind_256(internal) RETURNS integer
  LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_kind_256_wrapper';
COMMENT ON FUNCTION simhash_kind_256(internal) IS
  'internal: support function: an index of 256-bit fingerprints';
CREATE FUNCTION simhash_kind_ball64(internal) RETURNS integer
  LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_kind_ball64_wrapper';
COMMENT ON FUNCTION simhash_kind_ball64(internal) IS
  'internal: support function: an index of 64-bit balls';
CREATE FUNCTION simhash_kind_ball128(internal) RETURNS integer
  LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_kind_ball128_wrapper';
COMMENT ON FUNCTION simhash_kind_ball128(internal) IS
  'internal: support function: an index of 128-bit balls';
CREATE FUNCTION simhash_kind_ball256(internal) RETURNS integer
  LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_kind_ball256_wrapper';
COMMENT ON FUNCTION simhash_kind_ball256(internal) IS
  'internal: support function: an index of 256-bit balls';
CREATE FUNCTION simhash_kind_lexicons(internal) RETURNS integer
  LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_kind_lexicons_wrapper';
COMMENT ON FUNCTION simhash_kind_lexicons(internal) IS
  'internal: support function: an index of arrays of 64-bit fingerprints';

CREATE OPERATOR CLASS fingerprint64_ops DEFAULT FOR TYPE fingerprint64 USING simhash AS
  OPERATOR 1 = (fingerprint64, fingerprint64),
  OPERATOR 2 <@ (fingerprint64, hamming_ball64),
  OPERATOR 3 ~= (fingerprint64, fingerprint64),
  OPERATOR 4 <~> (fingerprint64, fingerprint64) FOR ORDER BY integer_ops,
  FUNCTION 1 simhash_kind_64(internal);

CREATE OPERATOR CLASS fingerprint128_ops DEFAULT FOR TYPE fingerprint128 USING simhash AS
  OPERATOR 1 = (fingerprint128, fingerprint128),
  OPERATOR 2 <@ (fingerprint128, hamming_ball128),
  OPERATOR 3 ~= (fingerprint128, fingerprint128),
  OPERATOR 4 <~> (fingerprint128, fingerprint128) FOR ORDER BY integer_ops,
  FUNCTION 1 simhash_kind_128(internal);

CREATE OPERATOR CLASS fingerprint256_ops DEFAULT FOR TYPE fingerprint256 USING simhash AS
  OPERATOR 1 = (fingerprint256, fingerprint256),
  OPERATOR 2 <@ (fingerprint256, hamming_ball256),
  OPERATOR 3 ~= (fingerprint256, fingerprint256),
  OPERATOR 4 <~> (fingerprint256, fingerprint256) FOR ORDER BY integer_ops,
  FUNCTION 1 simhash_kind_256(internal);

CREATE OPERATOR CLASS hamming_int8_ops FOR TYPE bigint USING simhash AS
  OPERATOR 1 = (bigint, bigint),
  OPERATOR 2 <@ (bigint, hamming_ball64),
  OPERATOR 3 ~= (bigint, bigint),
  OPERATOR 4 <~> (bigint, bigint) FOR ORDER BY integer_ops,
  FUNCTION 1 simhash_kind_64(internal);

-- A number that is written in a query is an integer.
ALTER OPERATOR FAMILY hamming_int8_ops USING simhash ADD
  OPERATOR 1 = (bigint, integer), OPERATOR 1 = (bigint, smallint);

CREATE OPERATOR CLASS hamming_ball64_ops DEFAULT FOR TYPE hamming_ball64 USING simhash AS
  OPERATOR 3 ~= (hamming_ball64, hamming_ball64),
  FUNCTION 1 simhash_kind_ball64(internal);

CREATE OPERATOR CLASS hamming_ball128_ops DEFAULT FOR TYPE hamming_ball128 USING simhash AS
  OPERATOR 3 ~= (hamming_ball128, hamming_ball128),
  FUNCTION 1 simhash_kind_ball128(internal);

CREATE OPERATOR CLASS hamming_ball256_ops DEFAULT FOR TYPE hamming_ball256 USING simhash AS
  OPERATOR 3 ~= (hamming_ball256, hamming_ball256),
  FUNCTION 1 simhash_kind_ball256(internal);

CREATE OPERATOR CLASS fingerprint64_array_ops DEFAULT FOR TYPE fingerprint64[] USING simhash AS
  OPERATOR 2 <@ (fingerprint64[], hamming_ball64[]),
  OPERATOR 3 ~= (fingerprint64[], fingerprint64[]),
  OPERATOR 4 <~> (fingerprint64[], fingerprint64[]) FOR ORDER BY integer_ops,
  FUNCTION 1 simhash_kind_lexicons(internal);

CREATE FUNCTION simhash_kind_bit(internal) RETURNS integer
  LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_kind_bit_wrapper';
COMMENT ON FUNCTION simhash_kind_bit(internal) IS
  'internal: support function: an index of bit strings';

-- For bit(n) with n from 8 to 1024: the index's width is the column's.
CREATE OPERATOR CLASS bit_hamming_ops DEFAULT FOR TYPE bit USING simhash AS
  OPERATOR 1 = (bit, bit),
  OPERATOR 2 <@ (bit, hamming_ball_bit),
  OPERATOR 4 <^> (bit, bit) FOR ORDER BY integer_ops,
  FUNCTION 1 simhash_kind_bit(internal);

-- Columns that stand before the fingerprint and are compared by equality. Numbers of different
-- widths are compared as in a B-tree.

CREATE FUNCTION simhash_scope_bool(internal) RETURNS integer
  LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_scope_bool_wrapper';
COMMENT ON FUNCTION simhash_scope_bool(internal) IS
  'internal: support function: a column of boolean, compared by equality';
CREATE FUNCTION simhash_scope_int2(internal) RETURNS integer
  LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_scope_int2_wrapper';
COMMENT ON FUNCTION simhash_scope_int2(internal) IS
  'internal: support function: a column of smallint, compared by equality';
CREATE FUNCTION simhash_scope_int4(internal) RETURNS integer
  LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_scope_int4_wrapper';
COMMENT ON FUNCTION simhash_scope_int4(internal) IS
  'internal: support function: a column of integer, compared by equality';
CREATE FUNCTION simhash_scope_int8(internal) RETURNS integer
  LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_scope_int8_wrapper';
COMMENT ON FUNCTION simhash_scope_int8(internal) IS
  'internal: support function: a column of bigint, compared by equality';
CREATE FUNCTION simhash_scope_oid(internal) RETURNS integer
  LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_scope_oid_wrapper';
COMMENT ON FUNCTION simhash_scope_oid(internal) IS
  'internal: support function: a column of oid, compared by equality';
CREATE FUNCTION simhash_scope_uuid(internal) RETURNS integer
  LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_scope_uuid_wrapper';
COMMENT ON FUNCTION simhash_scope_uuid(internal) IS
  'internal: support function: a column of uuid, compared by equality';
CREATE FUNCTION simhash_scope_text(internal) RETURNS integer
  LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_scope_text_wrapper';
COMMENT ON FUNCTION simhash_scope_text(internal) IS
  'internal: support function: a column of text, compared by equality';
CREATE FUNCTION simhash_scope_bytea(internal) RETURNS integer
  LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_scope_bytea_wrapper';
COMMENT ON FUNCTION simhash_scope_bytea(internal) IS
  'internal: support function: a column of bytea, compared by equality';
CREATE FUNCTION simhash_scope_date(internal) RETURNS integer
  LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_scope_date_wrapper';
COMMENT ON FUNCTION simhash_scope_date(internal) IS
  'internal: support function: a column of date, compared by equality';
CREATE FUNCTION simhash_scope_timestamp(internal) RETURNS integer
  LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_scope_timestamp_wrapper';
COMMENT ON FUNCTION simhash_scope_timestamp(internal) IS
  'internal: support function: a column of timestamp without time zone, compared by equality';
CREATE FUNCTION simhash_scope_timestamptz(internal) RETURNS integer
  LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_scope_timestamptz_wrapper';
COMMENT ON FUNCTION simhash_scope_timestamptz(internal) IS
  'internal: support function: a column of timestamp with time zone, compared by equality';
CREATE FUNCTION simhash_scope_enum(internal) RETURNS integer
  LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_scope_enum_wrapper';
COMMENT ON FUNCTION simhash_scope_enum(internal) IS
  'internal: support function: a column of an enum, compared by equality';

CREATE OPERATOR FAMILY integer_ops USING simhash;
CREATE OPERATOR CLASS bool_ops DEFAULT FOR TYPE boolean USING simhash AS
  OPERATOR 1 = (boolean, boolean),
  FUNCTION 1 simhash_scope_bool(internal);
CREATE OPERATOR CLASS int2_ops DEFAULT FOR TYPE smallint USING simhash FAMILY integer_ops AS
  OPERATOR 1 = (smallint, smallint),
  FUNCTION 1 simhash_scope_int2(internal);
CREATE OPERATOR CLASS int4_ops DEFAULT FOR TYPE integer USING simhash FAMILY integer_ops AS
  OPERATOR 1 = (integer, integer),
  FUNCTION 1 simhash_scope_int4(internal);
CREATE OPERATOR CLASS int8_ops DEFAULT FOR TYPE bigint USING simhash FAMILY integer_ops AS
  OPERATOR 1 = (bigint, bigint),
  FUNCTION 1 simhash_scope_int8(internal);
ALTER OPERATOR FAMILY integer_ops USING simhash ADD
  OPERATOR 1 = (smallint, integer), OPERATOR 1 = (smallint, bigint),
  OPERATOR 1 = (integer, smallint), OPERATOR 1 = (integer, bigint),
  OPERATOR 1 = (bigint, smallint), OPERATOR 1 = (bigint, integer);
CREATE OPERATOR CLASS oid_ops DEFAULT FOR TYPE oid USING simhash AS
  OPERATOR 1 = (oid, oid),
  FUNCTION 1 simhash_scope_oid(internal);
CREATE OPERATOR CLASS uuid_ops DEFAULT FOR TYPE uuid USING simhash AS
  OPERATOR 1 = (uuid, uuid),
  FUNCTION 1 simhash_scope_uuid(internal);
-- In the last column of an index a text is searched by nearness, before it by equality.
CREATE OPERATOR CLASS text_ops DEFAULT FOR TYPE text USING simhash AS
  OPERATOR 1 = (text, text),
  OPERATOR 3 ~= (text, near_text),
  FUNCTION 1 simhash_scope_text(internal);
CREATE FUNCTION simhash_kind_near_text(internal) RETURNS integer
  AS 'MODULE_PATHNAME', 'simhash_kind_near_text_wrapper' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION simhash_kind_near_text(internal) IS 'internal: what an operator class holds';
CREATE OPERATOR CLASS near_text_ops DEFAULT FOR TYPE near_text USING simhash AS
  OPERATOR 3 ~= (near_text, near_text),
  OPERATOR 3 ~= (near_text, text),
  FUNCTION 1 simhash_kind_near_text(internal);
-- Texts by the passages that they have in common with others.
CREATE FUNCTION simhash_kind_passages(internal) RETURNS integer
  AS 'MODULE_PATHNAME', 'simhash_kind_passages_wrapper' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION simhash_kind_passages(internal) IS 'internal: what an operator class holds';
CREATE OPERATOR CLASS text_passage_ops FOR TYPE text USING simhash AS
  OPERATOR 3 && (text, text_passage),
  FUNCTION 1 simhash_kind_passages(internal);
-- For a column of varchar, whose default is text_ops: as for a B-tree, a name and nothing else. Its
-- operator and support function are those of the family.
CREATE OPERATOR CLASS varchar_ops FOR TYPE text USING simhash FAMILY text_ops AS
  STORAGE text;
CREATE OPERATOR CLASS bytea_ops DEFAULT FOR TYPE bytea USING simhash AS
  OPERATOR 1 = (bytea, bytea),
  FUNCTION 1 simhash_scope_bytea(internal);
CREATE OPERATOR CLASS date_ops DEFAULT FOR TYPE date USING simhash AS
  OPERATOR 1 = (date, date),
  FUNCTION 1 simhash_scope_date(internal);
CREATE OPERATOR CLASS timestamp_ops DEFAULT FOR TYPE timestamp USING simhash AS
  OPERATOR 1 = (timestamp, timestamp),
  FUNCTION 1 simhash_scope_timestamp(internal);
CREATE OPERATOR CLASS timestamptz_ops DEFAULT FOR TYPE timestamptz USING simhash AS
  OPERATOR 1 = (timestamptz, timestamptz),
  FUNCTION 1 simhash_scope_timestamptz(internal);
CREATE OPERATOR CLASS enum_ops DEFAULT FOR TYPE anyenum USING simhash AS
  OPERATOR 1 = (anyenum, anyenum),
  FUNCTION 1 simhash_scope_enum(internal);

CREATE FUNCTION simhash_index_info(index regclass, OUT rows bigint, OUT tables integer,
    OUT pages bigint, OUT bytes_per_row double precision, OUT levels integer,
    OUT largest_run bigint, OUT mean_run double precision, OUT fill double precision,
    OUT postings bigint, OUT recent bigint, OUT similarity double precision,
    OUT config simhash_config, OUT words integer)
  RETURNS SETOF record
  LANGUAGE c STRICT VOLATILE PARALLEL RESTRICTED ROWS 1 COST 100000
  AS 'MODULE_PATHNAME', 'simhash_index_numbers_wrapper';
COMMENT ON FUNCTION simhash_index_info(regclass) IS
  'rows and block tables of a simhash index, its size, height, the runs of rows that share a '
  'block, how full its leaves are';
CREATE FUNCTION simhash_index_check(index regclass, heap boolean DEFAULT true) RETURNS void
  LANGUAGE c STRICT VOLATILE PARALLEL UNSAFE COST 100000
  AS 'MODULE_PATHNAME', 'simhash_index_check_wrapper';
COMMENT ON FUNCTION simhash_index_check(regclass, boolean) IS
  'verifies a simhash index and, with heap, that every row is in it, for its owner; an ERROR names '
  'the damaged block';
CREATE FUNCTION simhash_last_scans(OUT index regclass, OUT searches bigint, OUT leaves bigint,
    OUT candidates bigint, OUT returned bigint, OUT rechecked bigint, OUT dead bigint)
  RETURNS SETOF record
  LANGUAGE c STRICT VOLATILE PARALLEL RESTRICTED ROWS 64
  AS 'MODULE_PATHNAME', 'simhash_last_scans_wrapper';
COMMENT ON FUNCTION simhash_last_scans() IS
  'what the latest 64 index scans of this session did, the last one first: how often each was '
  'started, the leaves that it read, rows that are near by the index, rows that were returned, of '
  'which the table was asked again, and which were dead';
