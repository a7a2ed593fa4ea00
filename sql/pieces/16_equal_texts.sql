--
-- Sets: equal texts
--

CREATE FUNCTION ksentence(body text, k integer DEFAULT 5) RETURNS uuid
  AS 'MODULE_PATHNAME', 'ksentence_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION ksentence(body text, k integer) IS
  'MD5 of the k longest sentences of a text: equal means duplicate';

CREATE TYPE bloom_filter;

CREATE FUNCTION bloom_filter_in(cstring) RETURNS bloom_filter
  AS 'MODULE_PATHNAME', 'bloom_filter_in_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloom_filter_in(cstring) IS 'internal: I/O';
CREATE FUNCTION bloom_filter_out(bloom_filter) RETURNS cstring
  AS 'MODULE_PATHNAME', 'bloom_filter_out_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloom_filter_out(bloom_filter) IS 'internal: I/O';
CREATE FUNCTION bloom_filter_recv(internal) RETURNS bloom_filter
  AS 'MODULE_PATHNAME', 'bloom_filter_recv_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloom_filter_recv(internal) IS 'internal: I/O';
CREATE FUNCTION bloom_filter_send(bloom_filter) RETURNS bytea
  AS 'MODULE_PATHNAME', 'bloom_filter_send_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloom_filter_send(bloom_filter) IS 'internal: I/O';

CREATE TYPE bloom_filter (
  INPUT = bloom_filter_in, OUTPUT = bloom_filter_out,
  RECEIVE = bloom_filter_recv, SEND = bloom_filter_send,
  INTERNALLENGTH = VARIABLE, ALIGNMENT = int4, STORAGE = external
);
COMMENT ON TYPE bloom_filter IS 'Bloom filter: a set of texts that answers maybe or certainly not';

CREATE FUNCTION bloom_filter_eq(bloom_filter, bloom_filter) RETURNS boolean
  AS 'byteaeq' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION bloom_filter_eq(bloom_filter, bloom_filter) IS
  'internal: implementation of = operator';
CREATE FUNCTION bloom_filter_ne(bloom_filter, bloom_filter) RETURNS boolean
  AS 'byteane' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION bloom_filter_ne(bloom_filter, bloom_filter) IS
  'internal: implementation of <> operator';
CREATE FUNCTION bloom_filter_lt(bloom_filter, bloom_filter) RETURNS boolean
  AS 'bytealt' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION bloom_filter_lt(bloom_filter, bloom_filter) IS
  'internal: implementation of < operator';
CREATE FUNCTION bloom_filter_le(bloom_filter, bloom_filter) RETURNS boolean
  AS 'byteale' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION bloom_filter_le(bloom_filter, bloom_filter) IS
  'internal: implementation of <= operator';
CREATE FUNCTION bloom_filter_gt(bloom_filter, bloom_filter) RETURNS boolean
  AS 'byteagt' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION bloom_filter_gt(bloom_filter, bloom_filter) IS
  'internal: implementation of > operator';
CREATE FUNCTION bloom_filter_ge(bloom_filter, bloom_filter) RETURNS boolean
  AS 'byteage' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION bloom_filter_ge(bloom_filter, bloom_filter) IS
  'internal: implementation of >= operator';
CREATE FUNCTION bloom_filter_cmp(bloom_filter, bloom_filter) RETURNS integer
  AS 'byteacmp' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION bloom_filter_cmp(bloom_filter, bloom_filter) IS 'internal: less-equal-greater';
CREATE FUNCTION bloom_filter_hash(bloom_filter) RETURNS integer
  AS 'hashvarlena' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION bloom_filter_hash(bloom_filter) IS 'internal: hash';
CREATE FUNCTION bloom_filter_hash_extended(bloom_filter, bigint) RETURNS bigint
  AS 'hashvarlenaextended' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION bloom_filter_hash_extended(bloom_filter, bigint) IS 'internal: hash';
CREATE OPERATOR = (
  LEFTARG = bloom_filter, RIGHTARG = bloom_filter, FUNCTION = bloom_filter_eq,
  COMMUTATOR = =, NEGATOR = <>, RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES
);
COMMENT ON OPERATOR = (bloom_filter, bloom_filter) IS 'equal';
CREATE OPERATOR <> (
  LEFTARG = bloom_filter, RIGHTARG = bloom_filter, FUNCTION = bloom_filter_ne,
  COMMUTATOR = <>, NEGATOR = =, RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (bloom_filter, bloom_filter) IS 'not equal';
CREATE OPERATOR < (
  LEFTARG = bloom_filter, RIGHTARG = bloom_filter, FUNCTION = bloom_filter_lt,
  COMMUTATOR = >, NEGATOR = >=, RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (bloom_filter, bloom_filter) IS 'less than';
CREATE OPERATOR <= (
  LEFTARG = bloom_filter, RIGHTARG = bloom_filter, FUNCTION = bloom_filter_le,
  COMMUTATOR = >=, NEGATOR = >, RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (bloom_filter, bloom_filter) IS 'less than or equal';
CREATE OPERATOR > (
  LEFTARG = bloom_filter, RIGHTARG = bloom_filter, FUNCTION = bloom_filter_gt,
  COMMUTATOR = <, NEGATOR = <=, RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (bloom_filter, bloom_filter) IS 'greater than';
CREATE OPERATOR >= (
  LEFTARG = bloom_filter, RIGHTARG = bloom_filter, FUNCTION = bloom_filter_ge,
  COMMUTATOR = <=, NEGATOR = <, RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (bloom_filter, bloom_filter) IS 'greater than or equal';
CREATE OPERATOR CLASS bloom_filter_ops DEFAULT FOR TYPE bloom_filter USING btree AS
  OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
  FUNCTION 1 bloom_filter_cmp(bloom_filter, bloom_filter),
  FUNCTION 4 btequalimage(oid);
CREATE OPERATOR CLASS bloom_filter_ops DEFAULT FOR TYPE bloom_filter USING hash AS
  OPERATOR 1 =,
  FUNCTION 1 bloom_filter_hash(bloom_filter),
  FUNCTION 2 bloom_filter_hash_extended(bloom_filter, bigint);

CREATE FUNCTION bloom_filter_from_bytea(bytea) RETURNS bloom_filter
  AS 'MODULE_PATHNAME', 'bloom_filter_from_bytea_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloom_filter_from_bytea(bytea) IS
  'internal: implementation of the cast from bytea';
CREATE CAST (bloom_filter AS bytea) WITH FUNCTION bloom_filter_send(bloom_filter) AS ASSIGNMENT;
CREATE CAST (bytea AS bloom_filter) WITH FUNCTION bloom_filter_from_bytea(bytea) AS ASSIGNMENT;
COMMENT ON CAST (bloom_filter AS bytea) IS 'the stored form';
COMMENT ON CAST (bytea AS bloom_filter) IS 'checked as on input';

CREATE FUNCTION bloom_contains(filter bloom_filter, item text) RETURNS boolean
  AS 'MODULE_PATHNAME', 'bloom_contains_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION bloom_contains(filter bloom_filter, item text) IS
  'false: the text was certainly not added; true: it was, or, at the filters rate, it was not';
CREATE FUNCTION bloom_or(bloom_filter, bloom_filter) RETURNS bloom_filter
  AS 'MODULE_PATHNAME', 'bloom_or_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10000;
COMMENT ON FUNCTION bloom_or(bloom_filter, bloom_filter) IS
  'internal: implementation of | operator';
CREATE OPERATOR | (
  LEFTARG = bloom_filter, RIGHTARG = bloom_filter, FUNCTION = bloom_or,
  COMMUTATOR = |
);
COMMENT ON OPERATOR | (bloom_filter, bloom_filter) IS 'union of two filters of one size';

CREATE FUNCTION bloom_agg_add(internal, text) RETURNS internal
  AS 'MODULE_PATHNAME', 'bloom_agg_add_wrapper' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION bloom_agg_add(internal, text) IS 'internal: transition of bloom_agg';
CREATE FUNCTION bloom_agg_add(internal, text, bigint) RETURNS internal
  AS 'MODULE_PATHNAME', 'bloom_agg_add_expected_wrapper' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION bloom_agg_add(internal, text, bigint) IS 'internal: transition of bloom_agg';
CREATE FUNCTION bloom_agg_add(internal, text, bigint, real) RETURNS internal
  AS 'MODULE_PATHNAME', 'bloom_agg_add_sized_wrapper' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION bloom_agg_add(internal, text, bigint, real) IS
  'internal: transition of bloom_agg';
CREATE FUNCTION bloom_union_add(internal, bloom_filter) RETURNS internal
  AS 'MODULE_PATHNAME', 'bloom_union_add_wrapper' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION bloom_union_add(internal, bloom_filter) IS
  'internal: transition of bloom_union';
CREATE FUNCTION bloom_agg_combine(internal, internal) RETURNS internal
  AS 'MODULE_PATHNAME', 'bloom_agg_combine_wrapper' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION bloom_agg_combine(internal, internal) IS
  'internal: combination of partial filters';
CREATE FUNCTION bloom_agg_serialize(internal) RETURNS bytea
  AS 'MODULE_PATHNAME', 'bloom_agg_serialize_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloom_agg_serialize(internal) IS 'internal: partial filter to bytes';
CREATE FUNCTION bloom_agg_deserialize(bytea, internal) RETURNS internal
  AS 'MODULE_PATHNAME', 'bloom_agg_deserialize_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloom_agg_deserialize(bytea, internal) IS 'internal: bytes to partial filter';
CREATE FUNCTION bloom_agg_final(internal) RETURNS bloom_filter
  AS 'MODULE_PATHNAME', 'bloom_agg_final_wrapper' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION bloom_agg_final(internal) IS 'internal: the filter';
CREATE AGGREGATE bloom_agg(text) (
  SFUNC = bloom_agg_add, STYPE = internal, FINALFUNC = bloom_agg_final,
  COMBINEFUNC = bloom_agg_combine, SERIALFUNC = bloom_agg_serialize,
  DESERIALFUNC = bloom_agg_deserialize, SSPACE = 120000, PARALLEL = SAFE
);
COMMENT ON AGGREGATE bloom_agg(text) IS
  'Bloom filter of texts, sized for so many and for a false-positive rate (100000 and 0.01)';
CREATE AGGREGATE bloom_agg(text, expected bigint) (
  SFUNC = bloom_agg_add, STYPE = internal, FINALFUNC = bloom_agg_final,
  COMBINEFUNC = bloom_agg_combine, SERIALFUNC = bloom_agg_serialize,
  DESERIALFUNC = bloom_agg_deserialize, SSPACE = 120000, PARALLEL = SAFE
);
COMMENT ON AGGREGATE bloom_agg(text, expected bigint) IS
  'Bloom filter of texts, sized for so many and for a false-positive rate (100000 and 0.01)';
CREATE AGGREGATE bloom_agg(text, expected bigint, rate real) (
  SFUNC = bloom_agg_add, STYPE = internal, FINALFUNC = bloom_agg_final,
  COMBINEFUNC = bloom_agg_combine, SERIALFUNC = bloom_agg_serialize,
  DESERIALFUNC = bloom_agg_deserialize, SSPACE = 120000, PARALLEL = SAFE
);
COMMENT ON AGGREGATE bloom_agg(text, expected bigint, rate real) IS
  'Bloom filter of texts, sized for so many and for a false-positive rate (100000 and 0.01)';
CREATE AGGREGATE bloom_union(bloom_filter) (
  SFUNC = bloom_union_add, STYPE = internal, FINALFUNC = bloom_agg_final,
  COMBINEFUNC = bloom_agg_combine, SERIALFUNC = bloom_agg_serialize,
  DESERIALFUNC = bloom_agg_deserialize, SSPACE = 120000, PARALLEL = SAFE
);
COMMENT ON AGGREGATE bloom_union(bloom_filter) IS 'union of filters of one size';
CREATE FUNCTION dedup_texts(query text, exact text DEFAULT 'hash',
    config simhash_config DEFAULT '{}', distance integer DEFAULT 3, method text DEFAULT 'simhash',
    OUT id bigint, OUT duplicate_of bigint, OUT stage text, OUT distance integer)
  RETURNS SETOF record
  AS 'MODULE_PATHNAME', 'dedup_texts_wrapper'
  LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 10000;
COMMENT ON FUNCTION dedup_texts(query text, exact text, config simhash_config, distance integer,
    method text) IS
  'the duplicates among the texts that a query yields as (id bigint, body text): '
  'equal ones, then near ones';
