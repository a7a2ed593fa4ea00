--
-- Words of the user's own
--

CREATE TABLE simhash_word_list (
  kind text COLLATE "C" NOT NULL CHECK (kind IN ('dictionary', 'stopwords')),
  name text COLLATE "C" NOT NULL,
  words text[] NOT NULL,
  frequencies bigint[],
  content text NOT NULL,
  made timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (kind, name)
);
-- Compressing a long list could not be cancelled.
ALTER TABLE simhash_word_list
  ALTER words SET STORAGE EXTERNAL, ALTER frequencies SET STORAGE EXTERNAL;
COMMENT ON TABLE simhash_word_list IS 'dictionaries and lists of stop words that configs name';
COMMENT ON COLUMN simhash_word_list.words IS 'in the order of their UTF-8 bytes';
COMMENT ON COLUMN simhash_word_list.frequencies IS 'those that a dictionary was given, if any';
COMMENT ON COLUMN simhash_word_list.content IS
  'SHA-256 of the words: lists with the same words have the same';
GRANT SELECT ON simhash_word_list TO PUBLIC;
-- Rights as to simhash_model, granted in the same way.
-- It runs as a superuser, with the schema of whoever installs on the path: every operator is
-- between equal types, so that it can only be PostgreSQL's own.
DO $$
DECLARE
  database CONSTANT pg_database := (SELECT d FROM pg_database d WHERE datname = current_database());
  installer CONSTANT oid := (SELECT extowner FROM pg_extension WHERE extname = 'pg_simhash');
  lists CONSTANT oid := 'simhash_word_list'::regclass;
  initial aclitem[];
  may_let_others text := 'WITH GRANT OPTION';
BEGIN
  GRANT INSERT, DELETE ON simhash_word_list TO pg_database_owner WITH GRANT OPTION;
  IF database.datdba = installer THEN
    may_let_others := '';
  END IF;
  IF installer <> (SELECT relowner FROM pg_class WHERE oid = lists) THEN
    SELECT initprivs INTO initial FROM pg_init_privs
      WHERE objoid = lists AND classoid = 'pg_class'::regclass::oid AND objsubid = 0;
    EXECUTE 'GRANT INSERT, DELETE ON simhash_word_list TO ' || installer::regrole::text || ' ' ||
      may_let_others;
    UPDATE pg_init_privs SET initprivs = initial
      WHERE objoid = lists AND classoid = 'pg_class'::regclass::oid AND objsubid = 0;
    DELETE FROM pg_shdepend
      WHERE dbid = database.oid AND classid = 'pg_class'::regclass::oid AND objid = lists
        AND refclassid = 'pg_authid'::regclass::oid AND refobjid = installer AND deptype = 'i';
  END IF;
END $$;
SELECT pg_catalog.pg_extension_config_dump('simhash_word_list', '');

CREATE FUNCTION simhash_word_list_unchangeable() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE '% "%" cannot be changed',
      CASE OLD.kind WHEN 'stopwords' THEN 'list of stop words' ELSE OLD.kind END, OLD.name
    USING ERRCODE = 'object_not_in_prerequisite_state',
          HINT = 'Fingerprints made with it would no longer be comparable: '
            'make another one under another name.';
END $$;
COMMENT ON FUNCTION simhash_word_list_unchangeable() IS
  'internal: refuses to change a list of words';
CREATE TRIGGER unchangeable BEFORE UPDATE ON simhash_word_list
  FOR EACH ROW EXECUTE FUNCTION simhash_word_list_unchangeable();

CREATE FUNCTION simhash_dictionary(name text, words text[], frequencies bigint[] DEFAULT NULL)
  RETURNS text
  AS 'MODULE_PATHNAME', 'simhash_dictionary_wrapper'
  LANGUAGE C VOLATILE PARALLEL UNSAFE COST 10000;
COMMENT ON FUNCTION simhash_dictionary(name text, words text[], frequencies bigint[]) IS
  'stores words that are tokens to the configs that name them; returns the SHA-256 of the words';
CREATE FUNCTION simhash_stopwords(name text, words text[]) RETURNS text
  AS 'MODULE_PATHNAME', 'simhash_stopwords_wrapper'
  LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 10000;
COMMENT ON FUNCTION simhash_stopwords(name text, words text[]) IS
  'stores words that configs that name them leave out; returns the SHA-256 of the words';
