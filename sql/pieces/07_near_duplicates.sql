--
-- Near-duplicates of texts
--

-- What the planner asks: the support function of near_duplicate, and estimators of ~= and &&.
CREATE FUNCTION near_duplicate_support(internal) RETURNS internal
  AS 'MODULE_PATHNAME', 'near_duplicate_support_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION near_duplicate_support(internal) IS
  'internal: planner support of near_duplicate, of shares_passage, and of ~= and && for texts';
CREATE FUNCTION text_passage_sel(internal, oid, internal, integer) RETURNS double precision
  AS 'MODULE_PATHNAME', 'text_passage_sel_wrapper' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION text_passage_sel(internal, oid, internal, integer) IS
  'internal: restriction selectivity of && for texts';
CREATE FUNCTION text_passage_joinsel(internal, oid, internal, smallint, internal)
  RETURNS double precision
  AS 'MODULE_PATHNAME', 'text_passage_joinsel_wrapper' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION text_passage_joinsel(internal, oid, internal, smallint, internal) IS
  'internal: join selectivity of && for texts';
CREATE FUNCTION near_text_sel(internal, oid, internal, integer) RETURNS double precision
  AS 'MODULE_PATHNAME', 'near_text_sel_wrapper' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION near_text_sel(internal, oid, internal, integer) IS
  'internal: restriction selectivity of ~= for texts';
CREATE FUNCTION near_text_joinsel(internal, oid, internal, smallint, internal)
  RETURNS double precision
  AS 'MODULE_PATHNAME', 'near_text_joinsel_wrapper' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION near_text_joinsel(internal, oid, internal, smallint, internal) IS
  'internal: join selectivity of ~= for texts';

CREATE FUNCTION text_similarity(a text, b text, config simhash_config DEFAULT '{}')
  RETURNS double precision
  AS 'MODULE_PATHNAME', 'text_similarity_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 3000;
COMMENT ON FUNCTION text_similarity(a text, b text, config simhash_config) IS
  'Jaccard similarity of the sets of shingles of two texts, 0 to 1; 0 for a text without a token';
CREATE FUNCTION near_duplicate(a text, b text, similarity double precision DEFAULT 0.7,
    config simhash_config DEFAULT '{}')
  RETURNS boolean
  AS 'MODULE_PATHNAME', 'near_duplicate_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500 SUPPORT near_duplicate_support;
COMMENT ON FUNCTION near_duplicate(a text, b text, similarity double precision,
    config simhash_config) IS
  'whether the sketches of two texts agree, and text_similarity(a, b, config) >= similarity';
CREATE FUNCTION edit_similarity(a text, b text, config simhash_config DEFAULT '{}')
  RETURNS double precision
  AS 'MODULE_PATHNAME', 'edit_similarity_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 4000;
COMMENT ON FUNCTION edit_similarity(a text, b text, config simhash_config) IS
  'one minus the edit distance of two normalised texts over the length of the longer one, in '
  'graphemes; 0 for a text without any';
CREATE FUNCTION shares_passage(a text, b text, words integer DEFAULT 25,
    config simhash_config DEFAULT '{}')
  RETURNS boolean
  AS 'MODULE_PATHNAME', 'shares_passage_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 3000 SUPPORT near_duplicate_support;
COMMENT ON FUNCTION shares_passage(a text, b text, words integer, config simhash_config) IS
  'whether two texts have a passage in common: so many words in a row, or more';
CREATE FUNCTION shared_passages(a text, b text, words integer DEFAULT 25,
    config simhash_config DEFAULT '{}',
    OUT a_start integer, OUT a_length integer, OUT b_start integer, OUT b_length integer,
    OUT words integer)
  RETURNS SETOF record
  AS 'MODULE_PATHNAME', 'shared_passages_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10000 ROWS 10;
COMMENT ON FUNCTION shared_passages(a text, b text, words integer, config simhash_config) IS
  'the passages that two texts have in common, as long as they are: where each stands in a and in '
  'b, for substr(a, a_start, a_length), and how many words it has';
CREATE FUNCTION passage_share(a text, b text, words integer DEFAULT 25,
    config simhash_config DEFAULT '{}')
  RETURNS double precision
  AS 'MODULE_PATHNAME', 'passage_share_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5000;
COMMENT ON FUNCTION passage_share(a text, b text, words integer, config simhash_config) IS
  'the share of the words of a that stand in a passage that b has as well, 0 to 1; 0 for a text '
  'without a token';

CREATE TYPE near_text;

CREATE FUNCTION near_text_in(cstring) RETURNS near_text
  AS 'MODULE_PATHNAME', 'near_text_in_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION near_text_in(cstring) IS 'internal: I/O';
CREATE FUNCTION near_text_out(near_text) RETURNS cstring
  AS 'MODULE_PATHNAME', 'near_text_out_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION near_text_out(near_text) IS 'internal: I/O';
CREATE FUNCTION near_text_recv(internal) RETURNS near_text
  AS 'MODULE_PATHNAME', 'near_text_recv_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION near_text_recv(internal) IS 'internal: I/O';
CREATE FUNCTION near_text_send(near_text) RETURNS bytea
  AS 'MODULE_PATHNAME', 'near_text_send_wrapper' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION near_text_send(near_text) IS 'internal: I/O';

CREATE TYPE near_text (
  INPUT = near_text_in, OUTPUT = near_text_out,
  RECEIVE = near_text_recv, SEND = near_text_send,
  INTERNALLENGTH = VARIABLE, ALIGNMENT = int4, STORAGE = extended
);
COMMENT ON TYPE near_text IS
  'a text and how similar another must be to be near: shown as <its beginning,similarity>';

CREATE FUNCTION near_text(body text, similarity double precision DEFAULT 0.7,
    config simhash_config DEFAULT '{}')
  RETURNS near_text
  AS 'MODULE_PATHNAME', 'near_text_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION near_text(body text, similarity double precision, config simhash_config) IS
  'a text to be compared by near_duplicate, with the operator ~=';
CREATE FUNCTION near_text_near(near_text, near_text) RETURNS boolean
  AS 'MODULE_PATHNAME', 'near_text_near_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500
  SUPPORT near_duplicate_support;
COMMENT ON FUNCTION near_text_near(near_text, near_text) IS
  'internal: implementation of ~= operator';
CREATE FUNCTION near_text_near(near_text, text) RETURNS boolean
  AS 'MODULE_PATHNAME', 'near_text_near_text_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE COST 500
  SUPPORT near_duplicate_support;
COMMENT ON FUNCTION near_text_near(near_text, text) IS 'internal: implementation of ~= operator';
CREATE FUNCTION near_text_near(text, near_text) RETURNS boolean
  AS 'MODULE_PATHNAME', 'text_near_near_text_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE COST 500
  SUPPORT near_duplicate_support;
COMMENT ON FUNCTION near_text_near(text, near_text) IS 'internal: implementation of ~= operator';
CREATE OPERATOR ~= (
  LEFTARG = near_text, RIGHTARG = near_text, FUNCTION = near_text_near, COMMUTATOR = ~=,
  RESTRICT = near_text_sel, JOIN = near_text_joinsel
);
COMMENT ON OPERATOR ~= (near_text, near_text) IS
  'near-duplicates: the greater of their similarities decides';
CREATE OPERATOR ~= (
  LEFTARG = near_text, RIGHTARG = text, FUNCTION = near_text_near, COMMUTATOR = ~=,
  RESTRICT = near_text_sel, JOIN = near_text_joinsel
);
COMMENT ON OPERATOR ~= (near_text, text) IS 'near-duplicates';
CREATE OPERATOR ~= (
  LEFTARG = text, RIGHTARG = near_text, FUNCTION = near_text_near, COMMUTATOR = ~=,
  RESTRICT = near_text_sel, JOIN = near_text_joinsel
);
COMMENT ON OPERATOR ~= (text, near_text) IS 'near-duplicates';

CREATE TYPE text_passage;

CREATE FUNCTION text_passage_in(cstring) RETURNS text_passage
  AS 'MODULE_PATHNAME', 'text_passage_in_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION text_passage_in(cstring) IS 'internal: I/O';
CREATE FUNCTION text_passage_out(text_passage) RETURNS cstring
  AS 'MODULE_PATHNAME', 'text_passage_out_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION text_passage_out(text_passage) IS 'internal: I/O';
CREATE FUNCTION text_passage_recv(internal) RETURNS text_passage
  AS 'MODULE_PATHNAME', 'text_passage_recv_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION text_passage_recv(internal) IS 'internal: I/O';
CREATE FUNCTION text_passage_send(text_passage) RETURNS bytea
  AS 'MODULE_PATHNAME', 'text_passage_send_wrapper' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION text_passage_send(text_passage) IS 'internal: I/O';

CREATE TYPE text_passage (
  INPUT = text_passage_in, OUTPUT = text_passage_out,
  RECEIVE = text_passage_recv, SEND = text_passage_send,
  INTERNALLENGTH = VARIABLE, ALIGNMENT = int4, STORAGE = extended
);
COMMENT ON TYPE text_passage IS
  'a text and how many words in a row another must have of it: shown as <its beginning,words>';

CREATE FUNCTION text_passage(body text, words integer DEFAULT 25,
    config simhash_config DEFAULT '{}')
  RETURNS text_passage
  AS 'MODULE_PATHNAME', 'text_passage_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION text_passage(body text, words integer, config simhash_config) IS
  'a text to be compared by shares_passage, with the operator &&';
CREATE FUNCTION text_passage_shares(text, text_passage) RETURNS boolean
  AS 'MODULE_PATHNAME', 'text_shares_passage_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE COST 3000
  SUPPORT near_duplicate_support;
COMMENT ON FUNCTION text_passage_shares(text, text_passage) IS
  'internal: implementation of && operator';
CREATE FUNCTION text_passage_shares(text_passage, text) RETURNS boolean
  AS 'MODULE_PATHNAME', 'text_passage_shares_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE COST 3000
  SUPPORT near_duplicate_support;
COMMENT ON FUNCTION text_passage_shares(text_passage, text) IS
  'internal: implementation of && operator';
CREATE OPERATOR && (
  LEFTARG = text, RIGHTARG = text_passage, FUNCTION = text_passage_shares, COMMUTATOR = &&,
  RESTRICT = text_passage_sel, JOIN = text_passage_joinsel
);
COMMENT ON OPERATOR && (text, text_passage) IS 'have a passage in common';
CREATE OPERATOR && (
  LEFTARG = text_passage, RIGHTARG = text, FUNCTION = text_passage_shares, COMMUTATOR = &&,
  RESTRICT = text_passage_sel, JOIN = text_passage_joinsel
);
COMMENT ON OPERATOR && (text_passage, text) IS 'have a passage in common';
