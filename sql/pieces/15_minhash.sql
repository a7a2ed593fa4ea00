--
-- Sets: MinHash
--

CREATE TYPE minhash_signature;

CREATE FUNCTION minhash_signature_in(cstring) RETURNS minhash_signature
  AS 'MODULE_PATHNAME', 'minhash_signature_in_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minhash_signature_in(cstring) IS 'internal: I/O';
CREATE FUNCTION minhash_signature_out(minhash_signature) RETURNS cstring
  AS 'MODULE_PATHNAME', 'minhash_signature_out_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minhash_signature_out(minhash_signature) IS 'internal: I/O';
CREATE FUNCTION minhash_signature_recv(internal) RETURNS minhash_signature
  AS 'MODULE_PATHNAME', 'minhash_signature_recv_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minhash_signature_recv(internal) IS 'internal: I/O';
CREATE FUNCTION minhash_signature_send(minhash_signature) RETURNS bytea
  AS 'MODULE_PATHNAME', 'minhash_signature_send_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minhash_signature_send(minhash_signature) IS 'internal: I/O';

CREATE TYPE minhash_signature (
  INPUT = minhash_signature_in, OUTPUT = minhash_signature_out,
  RECEIVE = minhash_signature_recv, SEND = minhash_signature_send,
  INTERNALLENGTH = VARIABLE, ALIGNMENT = int4, STORAGE = extended
);
COMMENT ON TYPE minhash_signature IS
  'MinHash signature of a set of shingles: {component,...}/config';

CREATE FUNCTION minhash_signature_eq(minhash_signature, minhash_signature) RETURNS boolean
  AS 'byteaeq' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION minhash_signature_eq(minhash_signature, minhash_signature) IS
  'internal: implementation of = operator';
CREATE FUNCTION minhash_signature_ne(minhash_signature, minhash_signature) RETURNS boolean
  AS 'byteane' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION minhash_signature_ne(minhash_signature, minhash_signature) IS
  'internal: implementation of <> operator';
CREATE FUNCTION minhash_signature_lt(minhash_signature, minhash_signature) RETURNS boolean
  AS 'bytealt' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION minhash_signature_lt(minhash_signature, minhash_signature) IS
  'internal: implementation of < operator';
CREATE FUNCTION minhash_signature_le(minhash_signature, minhash_signature) RETURNS boolean
  AS 'byteale' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION minhash_signature_le(minhash_signature, minhash_signature) IS
  'internal: implementation of <= operator';
CREATE FUNCTION minhash_signature_gt(minhash_signature, minhash_signature) RETURNS boolean
  AS 'byteagt' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION minhash_signature_gt(minhash_signature, minhash_signature) IS
  'internal: implementation of > operator';
CREATE FUNCTION minhash_signature_ge(minhash_signature, minhash_signature) RETURNS boolean
  AS 'byteage' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION minhash_signature_ge(minhash_signature, minhash_signature) IS
  'internal: implementation of >= operator';
CREATE FUNCTION minhash_signature_cmp(minhash_signature, minhash_signature) RETURNS integer
  AS 'byteacmp' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION minhash_signature_cmp(minhash_signature, minhash_signature) IS
  'internal: less-equal-greater';
CREATE FUNCTION minhash_signature_hash(minhash_signature) RETURNS integer
  AS 'hashvarlena' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION minhash_signature_hash(minhash_signature) IS 'internal: hash';
CREATE FUNCTION minhash_signature_hash_extended(minhash_signature, bigint) RETURNS bigint
  AS 'hashvarlenaextended' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION minhash_signature_hash_extended(minhash_signature, bigint) IS 'internal: hash';
CREATE OPERATOR = (
  LEFTARG = minhash_signature, RIGHTARG = minhash_signature, FUNCTION = minhash_signature_eq,
  COMMUTATOR = =, NEGATOR = <>, RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES
);
COMMENT ON OPERATOR = (minhash_signature, minhash_signature) IS 'equal';
CREATE OPERATOR <> (
  LEFTARG = minhash_signature, RIGHTARG = minhash_signature, FUNCTION = minhash_signature_ne,
  COMMUTATOR = <>, NEGATOR = =, RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (minhash_signature, minhash_signature) IS 'not equal';
CREATE OPERATOR < (
  LEFTARG = minhash_signature, RIGHTARG = minhash_signature, FUNCTION = minhash_signature_lt,
  COMMUTATOR = >, NEGATOR = >=, RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (minhash_signature, minhash_signature) IS 'less than';
CREATE OPERATOR <= (
  LEFTARG = minhash_signature, RIGHTARG = minhash_signature, FUNCTION = minhash_signature_le,
  COMMUTATOR = >=, NEGATOR = >, RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (minhash_signature, minhash_signature) IS 'less than or equal';
CREATE OPERATOR > (
  LEFTARG = minhash_signature, RIGHTARG = minhash_signature, FUNCTION = minhash_signature_gt,
  COMMUTATOR = <, NEGATOR = <=, RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (minhash_signature, minhash_signature) IS 'greater than';
CREATE OPERATOR >= (
  LEFTARG = minhash_signature, RIGHTARG = minhash_signature, FUNCTION = minhash_signature_ge,
  COMMUTATOR = <=, NEGATOR = <, RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (minhash_signature, minhash_signature) IS 'greater than or equal';
CREATE OPERATOR CLASS minhash_ops DEFAULT FOR TYPE minhash_signature USING btree AS
  OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
  FUNCTION 1 minhash_signature_cmp(minhash_signature, minhash_signature),
  FUNCTION 4 btequalimage(oid);
CREATE OPERATOR CLASS minhash_ops DEFAULT FOR TYPE minhash_signature USING hash AS
  OPERATOR 1 =,
  FUNCTION 1 minhash_signature_hash(minhash_signature),
  FUNCTION 2 minhash_signature_hash_extended(minhash_signature, bigint);

CREATE FUNCTION minhash(body text, permutations integer DEFAULT 128,
    config simhash_config DEFAULT '{}')
  RETURNS minhash_signature
  AS 'MODULE_PATHNAME', 'minhash_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 3000;
COMMENT ON FUNCTION minhash(body text, permutations integer, config simhash_config) IS
  'MinHash signature of the shingles of a text; NULL for a text without shingles';
CREATE FUNCTION jaccard(a minhash_signature, b minhash_signature) RETURNS real
  AS 'MODULE_PATHNAME', 'minhash_jaccard_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION jaccard(a minhash_signature, b minhash_signature) IS
  'estimate of the Jaccard similarity: share of equal components';
CREATE FUNCTION minhash_bands(signature minhash_signature, bands integer, rows integer)
  RETURNS bigint[]
  AS 'MODULE_PATHNAME', 'minhash_bands_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION minhash_bands(signature minhash_signature, bands integer, rows integer) IS
  'a key for every band of a signature: sets of similarity s share one with probability 1 - (1 - '
  's^rows)^bands';
CREATE FUNCTION minhash_share_band(minhash_signature, minhash_signature) RETURNS boolean
  AS 'MODULE_PATHNAME', 'minhash_share_band_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION minhash_share_band(minhash_signature, minhash_signature) IS
  'internal: implementation of && operator';
CREATE OPERATOR && (
  LEFTARG = minhash_signature, RIGHTARG = minhash_signature, FUNCTION = minhash_share_band,
  COMMUTATOR = &&, RESTRICT = contsel, JOIN = contjoinsel
);
COMMENT ON OPERATOR && (minhash_signature, minhash_signature) IS
  'share a band: candidates for a high similarity';

CREATE FUNCTION minhash_or(minhash_signature, minhash_signature) RETURNS minhash_signature
  AS 'MODULE_PATHNAME', 'minhash_or_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION minhash_or(minhash_signature, minhash_signature) IS
  'internal: implementation of | operator';
CREATE OPERATOR | (
  LEFTARG = minhash_signature, RIGHTARG = minhash_signature, FUNCTION = minhash_or,
  COMMUTATOR = |
);
COMMENT ON OPERATOR | (minhash_signature, minhash_signature) IS
  'signature of the union of two sets';
CREATE FUNCTION minhash_agg_add(internal, text) RETURNS internal
  AS 'MODULE_PATHNAME', 'minhash_agg_add_wrapper' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 3000;
COMMENT ON FUNCTION minhash_agg_add(internal, text) IS 'internal: transition of minhash_agg';
CREATE FUNCTION minhash_agg_add(internal, text, integer) RETURNS internal
  AS 'MODULE_PATHNAME', 'minhash_agg_add_permutations_wrapper'
  LANGUAGE C IMMUTABLE PARALLEL SAFE COST 3000;
COMMENT ON FUNCTION minhash_agg_add(internal, text, integer) IS
  'internal: transition of minhash_agg';
CREATE FUNCTION minhash_agg_add(internal, text, integer, simhash_config) RETURNS internal
  AS 'MODULE_PATHNAME', 'minhash_agg_add_config_wrapper'
  LANGUAGE C IMMUTABLE PARALLEL SAFE COST 3000;
COMMENT ON FUNCTION minhash_agg_add(internal, text, integer, simhash_config) IS
  'internal: transition of minhash_agg';
CREATE FUNCTION minhash_union_add(internal, minhash_signature) RETURNS internal
  AS 'MODULE_PATHNAME', 'minhash_union_add_wrapper' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;
COMMENT ON FUNCTION minhash_union_add(internal, minhash_signature) IS
  'internal: transition of minhash_union';
CREATE FUNCTION minhash_agg_combine(internal, internal) RETURNS internal
  AS 'MODULE_PATHNAME', 'minhash_agg_combine_wrapper' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;
COMMENT ON FUNCTION minhash_agg_combine(internal, internal) IS
  'internal: combination of partial unions';
CREATE FUNCTION minhash_agg_serialize(internal) RETURNS bytea
  AS 'MODULE_PATHNAME', 'minhash_agg_serialize_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION minhash_agg_serialize(internal) IS 'internal: partial union to bytes';
CREATE FUNCTION minhash_agg_deserialize(bytea, internal) RETURNS internal
  AS 'MODULE_PATHNAME', 'minhash_agg_deserialize_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION minhash_agg_deserialize(bytea, internal) IS 'internal: bytes to partial union';
CREATE FUNCTION minhash_agg_final(internal) RETURNS minhash_signature
  AS 'MODULE_PATHNAME', 'minhash_agg_final_wrapper' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;
COMMENT ON FUNCTION minhash_agg_final(internal) IS 'internal: the signature';
CREATE AGGREGATE minhash_agg(text) (
  SFUNC = minhash_agg_add, STYPE = internal, FINALFUNC = minhash_agg_final,
  COMBINEFUNC = minhash_agg_combine, SERIALFUNC = minhash_agg_serialize,
  DESERIALFUNC = minhash_agg_deserialize, SSPACE = 640, PARALLEL = SAFE
);
COMMENT ON AGGREGATE minhash_agg(text) IS
  'MinHash signature of the union of the sets of shingles of the texts; NULL where none has any';
CREATE AGGREGATE minhash_agg(text, permutations integer) (
  SFUNC = minhash_agg_add, STYPE = internal, FINALFUNC = minhash_agg_final,
  COMBINEFUNC = minhash_agg_combine, SERIALFUNC = minhash_agg_serialize,
  DESERIALFUNC = minhash_agg_deserialize, SSPACE = 640, PARALLEL = SAFE
);
COMMENT ON AGGREGATE minhash_agg(text, permutations integer) IS
  'MinHash signature of the union of the sets of shingles of the texts; NULL where none has any';
CREATE AGGREGATE minhash_agg(text, permutations integer, config simhash_config) (
  SFUNC = minhash_agg_add, STYPE = internal, FINALFUNC = minhash_agg_final,
  COMBINEFUNC = minhash_agg_combine, SERIALFUNC = minhash_agg_serialize,
  DESERIALFUNC = minhash_agg_deserialize, SSPACE = 640, PARALLEL = SAFE
);
COMMENT ON AGGREGATE minhash_agg(text, permutations integer, config simhash_config) IS
  'MinHash signature of the union of the sets of shingles of the texts; NULL where none has any';
CREATE AGGREGATE minhash_union(minhash_signature) (
  SFUNC = minhash_union_add, STYPE = internal, FINALFUNC = minhash_agg_final,
  COMBINEFUNC = minhash_agg_combine, SERIALFUNC = minhash_agg_serialize,
  DESERIALFUNC = minhash_agg_deserialize, SSPACE = 640, PARALLEL = SAFE
);
COMMENT ON AGGREGATE minhash_union(minhash_signature) IS
  'MinHash signature of the union of the sets of the signatures';

CREATE FUNCTION minhash_gin_extract_value(minhash_signature, internal, internal) RETURNS internal
  AS 'MODULE_PATHNAME', 'minhash_gin_extract_value_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minhash_gin_extract_value(minhash_signature, internal, internal) IS
  'internal: GIN support';
CREATE FUNCTION minhash_gin_extract_query(minhash_signature, internal, smallint, internal,
    internal, internal, internal)
  RETURNS internal
  AS 'MODULE_PATHNAME', 'minhash_gin_extract_query_wrapper' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION minhash_gin_extract_query(minhash_signature, internal, smallint, internal,
    internal, internal, internal) IS
  'internal: GIN support';
CREATE FUNCTION minhash_gin_consistent(internal, smallint, minhash_signature, integer,
    internal, internal, internal, internal)
  RETURNS boolean
  AS 'MODULE_PATHNAME', 'minhash_gin_consistent_wrapper' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION minhash_gin_consistent(internal, smallint, minhash_signature, integer,
    internal, internal, internal, internal) IS
  'internal: GIN support';
CREATE FUNCTION minhash_gin_triconsistent(internal, smallint, minhash_signature, integer,
    internal, internal, internal)
  RETURNS "char"
  AS 'MODULE_PATHNAME', 'minhash_gin_triconsistent_wrapper' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION minhash_gin_triconsistent(internal, smallint, minhash_signature, integer,
    internal, internal, internal) IS
  'internal: GIN support';
CREATE FUNCTION minhash_gin_options(internal) RETURNS void
  AS 'MODULE_PATHNAME', 'minhash_gin_options_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minhash_gin_options(internal) IS 'internal: GIN support';

CREATE OPERATOR CLASS minhash_ops DEFAULT FOR TYPE minhash_signature USING gin AS
  OPERATOR 1 && (minhash_signature, minhash_signature),
  FUNCTION 1 (minhash_signature) btint8cmp(bigint, bigint),
  FUNCTION 2 (minhash_signature) minhash_gin_extract_value(minhash_signature, internal, internal),
  FUNCTION 3 (minhash_signature)
    minhash_gin_extract_query(minhash_signature, internal, smallint, internal,
    internal, internal, internal),
  FUNCTION 4 (minhash_signature)
    minhash_gin_consistent(internal, smallint, minhash_signature, integer,
    internal, internal, internal, internal),
  FUNCTION 6 (minhash_signature)
    minhash_gin_triconsistent(internal, smallint, minhash_signature, integer,
    internal, internal, internal),
  FUNCTION 7 (minhash_signature) minhash_gin_options(internal),
  STORAGE bigint;
COMMENT ON OPERATOR CLASS minhash_ops USING gin IS
  'signatures by their bands; options bands and rows';
