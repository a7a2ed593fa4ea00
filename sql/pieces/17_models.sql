--
-- Models
--

CREATE TABLE simhash_model (
  name text COLLATE "C" PRIMARY KEY,
  config simhash_config NOT NULL,
  documents bigint NOT NULL,
  terms bigint NOT NULL,
  model bytea NOT NULL,
  trained timestamptz NOT NULL DEFAULT now()
);
ALTER TABLE simhash_model ALTER model SET STORAGE EXTERNAL;
COMMENT ON TABLE simhash_model IS 'trained models: what a corpus says about the weight of a term';
COMMENT ON COLUMN simhash_model.config IS 'how texts were cut into terms';
COMMENT ON COLUMN simhash_model.documents IS 'documents counted';
COMMENT ON COLUMN simhash_model.terms IS 'distinct terms';
COMMENT ON COLUMN simhash_model.model IS 'the statistics, in a form of their own';
GRANT SELECT ON simhash_model TO PUBLIC;
-- The database's owner and whoever installs the extension may store and delete models, and may let
-- others do so. What a script grants belongs to the extension: pg_dump leaves it out, because
-- creating the extension grants it again. But a superuser who restores is not the role that
-- installed, so the rights of that one role must be dumped as rights granted later are: they are
-- not recorded as initial ones. The owner has the grant option as pg_database_owner and is granted
-- nothing by name: his own dump would end in an ERROR (granted back to the grantor) when he
-- restores it.
-- It runs as a superuser, with the schema of whoever installs on the path: every operator is
-- between equal types, so that it can only be PostgreSQL's own.
DO $$
DECLARE
  database CONSTANT pg_database := (SELECT d FROM pg_database d WHERE datname = current_database());
  installer CONSTANT oid := (SELECT extowner FROM pg_extension WHERE extname = 'pg_simhash');
  models CONSTANT oid := 'simhash_model'::regclass;
  initial aclitem[];
  may_let_others text := 'WITH GRANT OPTION';
BEGIN
  GRANT INSERT, DELETE ON simhash_model TO pg_database_owner WITH GRANT OPTION;
  IF database.datdba = installer THEN
    may_let_others := '';
  END IF;
  IF installer <> (SELECT relowner FROM pg_class WHERE oid = models) THEN
    SELECT initprivs INTO initial FROM pg_init_privs
      WHERE objoid = models AND classoid = 'pg_class'::regclass::oid AND objsubid = 0;
    EXECUTE 'GRANT INSERT, DELETE ON simhash_model TO ' || installer::regrole::text || ' ' ||
      may_let_others;
    UPDATE pg_init_privs SET initprivs = initial
      WHERE objoid = models AND classoid = 'pg_class'::regclass::oid AND objsubid = 0;
    -- From PostgreSQL 17 on, roles in initial rights are dependencies.
    DELETE FROM pg_shdepend
      WHERE dbid = database.oid AND classid = 'pg_class'::regclass::oid AND objid = models
        AND refclassid = 'pg_authid'::regclass::oid AND refobjid = installer AND deptype = 'i';
  END IF;
END $$;
SELECT pg_catalog.pg_extension_config_dump('simhash_model', '');

CREATE FUNCTION simhash_model_unchangeable() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE 'model "%" cannot be changed', OLD.name
    USING ERRCODE = 'object_not_in_prerequisite_state',
          HINT = 'Fingerprints made with it would no longer be comparable: '
            'train another model under another name.';
END $$;
COMMENT ON FUNCTION simhash_model_unchangeable() IS 'internal: refuses to change a trained model';
CREATE TRIGGER unchangeable BEFORE UPDATE ON simhash_model
  FOR EACH ROW EXECUTE FUNCTION simhash_model_unchangeable();

CREATE FUNCTION simhash_train(name text, query text, config simhash_config DEFAULT '{}')
  RETURNS bigint
  AS 'MODULE_PATHNAME', 'simhash_train_wrapper'
  LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 1000000;
COMMENT ON FUNCTION simhash_train(name text, query text, config simhash_config) IS
  'trains and stores a model on the texts that a query yields; returns the documents read';
CREATE FUNCTION simhash_store_model(name text, model bytea) RETURNS bigint
  AS 'MODULE_PATHNAME', 'simhash_store_model_wrapper'
  LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 10000;
COMMENT ON FUNCTION simhash_store_model(name text, model bytea) IS
  'stores what simhash_train_agg returned; returns its number of documents';

CREATE FUNCTION simhash_train_agg_add(internal, text, simhash_config) RETURNS internal
  AS 'MODULE_PATHNAME', 'simhash_train_agg_add_wrapper'
  LANGUAGE C IMMUTABLE PARALLEL SAFE COST 3000;
COMMENT ON FUNCTION simhash_train_agg_add(internal, text, simhash_config) IS
  'internal: transition of simhash_train_agg';
CREATE FUNCTION simhash_train_agg_combine(internal, internal) RETURNS internal
  AS 'MODULE_PATHNAME', 'simhash_train_agg_combine_wrapper' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION simhash_train_agg_combine(internal, internal) IS
  'internal: combination of partial models';
CREATE FUNCTION simhash_train_agg_serialize(internal) RETURNS bytea
  AS 'MODULE_PATHNAME', 'simhash_train_agg_serialize_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION simhash_train_agg_serialize(internal) IS 'internal: partial model to bytes';
CREATE FUNCTION simhash_train_agg_deserialize(bytea, internal) RETURNS internal
  AS 'MODULE_PATHNAME', 'simhash_train_agg_deserialize_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION simhash_train_agg_deserialize(bytea, internal) IS
  'internal: bytes to partial model';
CREATE FUNCTION simhash_train_agg_final(internal) RETURNS bytea
  AS 'MODULE_PATHNAME', 'simhash_train_agg_final_wrapper' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION simhash_train_agg_final(internal) IS 'internal: the model';
CREATE AGGREGATE simhash_train_agg(body text, config simhash_config) (
  SFUNC = simhash_train_agg_add, STYPE = internal, FINALFUNC = simhash_train_agg_final,
  COMBINEFUNC = simhash_train_agg_combine, SERIALFUNC = simhash_train_agg_serialize,
  DESERIALFUNC = simhash_train_agg_deserialize, SSPACE = 10000000, PARALLEL = SAFE
);
COMMENT ON AGGREGATE simhash_train_agg(body text, config simhash_config) IS
  'a model of the texts, for simhash_store_model; NULL for none';

CREATE FUNCTION simhash_model_term(model text, term text, OUT documents bigint,
    OUT idf double precision, OUT entropy double precision)
  RETURNS SETOF record
  AS 'MODULE_PATHNAME', 'simhash_model_term_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100 ROWS 1;
COMMENT ON FUNCTION simhash_model_term(model text, term text) IS
  'what a model knows of a term: documents with it, ln(|D| / (df + 1)), mean neighbour entropy in '
  'bits';
CREATE FUNCTION esimhash(body text, model text) RETURNS fingerprint128
  AS 'MODULE_PATHNAME', 'esimhash_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2500;
COMMENT ON FUNCTION esimhash(body text, model text) IS
  'E-Simhash: features weighted by tf-idf and neighbour entropy, at their places; NULL for a text '
  'without features';
CREATE FUNCTION simhash_lexicons(body text, model text, lexicons integer, shingle integer DEFAULT 2)
  RETURNS fingerprint64[]
  AS 'MODULE_PATHNAME', 'simhash_lexicons_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10000;
COMMENT ON FUNCTION simhash_lexicons(body text, model text, lexicons integer, shingle integer) IS
  'a shingle simhash by the whole lexicon of a model and one by each of its random parts';
CREATE FUNCTION imatch(body text, model text, low real DEFAULT 1, high real DEFAULT 8)
  RETURNS fingerprint128
  AS 'MODULE_PATHNAME', 'imatch_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2500;
COMMENT ON FUNCTION imatch(body text, model text, low real, high real) IS
  'I-Match: hash of the terms with an IDF in a band; equal means duplicate';
CREATE FUNCTION imatch_keys(body text, model text, lexicons integer DEFAULT 10,
    low real DEFAULT 1, high real DEFAULT 8)
  RETURNS bigint[]
  AS 'MODULE_PATHNAME', 'imatch_keys_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 4000;
COMMENT ON FUNCTION imatch_keys(body text, model text, lexicons integer, low real, high real) IS
  'I-Match by the whole lexicon of a model and by each of its random parts; any equal element '
  'means duplicate';
