-- superuser only: a role is created
-- Mistakes that people make, each with the HINT that leads to the right statement.
\set VERBOSITY terse
SET client_min_messages = warning;
CREATE TABLE m_doc (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body text NOT NULL, posted timestamptz,
  fp fingerprint64, wide fingerprint128, phash bigint, hex text, bits bit(64), j jsonb,
  same_as int);
INSERT INTO m_doc (body, fp, wide, phash, hex, bits, j) VALUES
  ('The quick brown fox jumps', minhash64('a b'), minhash128('a b'), -1, 'ffffffffffffffff',
   B'1'::bit(64), '{"a": "b"}');
CREATE INDEX m_doc_fp ON m_doc USING simhash (fp);
CREATE INDEX m_doc_body ON m_doc USING simhash (body);
CREATE DOMAIN m_words AS text;
CREATE DOMAIN m_hash AS bigint;
CREATE ROLE regress_simhash_guest;

CREATE FUNCTION outcome(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  message text;
  state text;
  hint text;
BEGIN
  IF statement LIKE 'AS GUEST %' THEN
    statement := substr(statement, 10);
    SET LOCAL ROLE regress_simhash_guest;
  END IF;
  EXECUTE statement;
  RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, state = RETURNED_SQLSTATE,
    hint = PG_EXCEPTION_HINT;
  RETURN format(E'%s %s\n  HINT: %s', state, message, coalesce(nullif(hint, ''), 'none'));
END $$;

CREATE TABLE m_mistake (n int GENERATED ALWAYS AS IDENTITY, about text, statement text);
INSERT INTO m_mistake (about, statement) VALUES
('two widths', 'SELECT hamming(fp, wide) FROM m_doc'),
('two widths', 'SELECT fp FROM m_doc ORDER BY fp <~> wide'),
('two widths', 'SELECT hamming(minhash64(body), minhash256(body)) FROM m_doc'),
('two widths', 'SELECT hamming(fp, ''ffffffffffffffffffffffffffffffff'') FROM m_doc'),
('a text', 'SELECT hamming(fp, body) FROM m_doc'),
('a text', 'SELECT hamming(''a text''::varchar, fp) FROM m_doc'),
('a text', 'SELECT hamming(fp, ''the quick brown fox'') FROM m_doc'),
('a text', 'SELECT fp <~> body FROM m_doc'),
('no text', 'SELECT id FROM m_doc WHERE near_duplicate(fp, ''the quick brown fox'', 0.7)'),
('no text', 'SELECT id FROM m_doc WHERE near_duplicate(body, fp)'),
('no text', 'SELECT text_similarity(fp, fp) FROM m_doc'),
('no text', 'SELECT near_duplicate(id, ''7'') FROM m_doc'),
('no text', 'SELECT text_similarity(j, ''b'') FROM m_doc'),
('no text', 'SELECT near_duplicate(phash, phash, 0.9) FROM m_doc'),
('domains', 'SELECT hamming(fp, body::m_words) FROM m_doc'),
('domains', 'SELECT hamming(wide, phash::m_hash) FROM m_doc'),
('numbers', 'SELECT hamming(fp, 5) FROM m_doc'),
('numbers', 'SELECT hamming(5, fp) FROM m_doc'),
('numbers', 'SELECT hamming(wide, 1::smallint) FROM m_doc'),
('numbers', 'SELECT hamming(fp, phash) FROM m_doc'),
('numbers', 'SELECT hamming(wide, phash) FROM m_doc'),
('numbers', 'SELECT hamming(fp, 18446744073709551615) FROM m_doc'),
('numbers', 'SELECT hamming(phash, 18446744073709551615) FROM m_doc'),
('numbers', 'SELECT 18446744073709551616::fingerprint64'),
('numbers', 'SELECT 0.5::fingerprint64'),
('digits', 'SELECT hamming(phash, hex) FROM m_doc'),
('digits', 'SELECT hamming(hex, fp) FROM m_doc'),
('digits', 'SELECT ''ffff''::fingerprint64'),
('digits', 'SELECT hamming(''ffff'', ''fffe'')'),
('bytes', 'SELECT hamming(fp, ''\xff''::bytea) FROM m_doc'),
('bits', 'SELECT hamming(bits, fp) FROM m_doc'),
('bits', 'SELECT hamming(bits, phash) FROM m_doc'),
('bits', 'SELECT bits <~> ''101'' FROM m_doc'),
('bits', 'SELECT hamming(bits, B''101'') FROM m_doc'),
('balls', 'SELECT hamming_ball(fp, 65) FROM m_doc'),
('balls', 'SELECT fp <@ ''ffffffffffffffff'' FROM m_doc'),
('similarities', 'SELECT near_duplicate(body, ''a'', 70) FROM m_doc'),
('similarities', 'SELECT near_text(body, 0.1) FROM m_doc'),
('similarities', 'SELECT simhash_reach(80)'),
('configs', 'SELECT simhash(body, ''{"shingles": 2}'') FROM m_doc'),
('configs', 'SELECT simhash(body, ''{"shingle": "2"}'') FROM m_doc'),
('configs', 'SELECT simhash(body, ''shingle=2'') FROM m_doc'),
('configs', 'SELECT near_duplicate(body, ''a'', 0.7, ''{"numbers": "equal"}'') FROM m_doc'),
('configs', 'SELECT simhash(body, ''{"weight": "idf"}'') FROM m_doc'),
('configs', 'SELECT simhash(body, ''{"model": "none", "weight": "idf"}'') FROM m_doc'),
('indexes', 'CREATE INDEX ON m_doc USING simhash (body) WITH (similarity = 70)'),
('indexes', 'CREATE INDEX ON m_doc USING simhash (body) WITH (similarty = 0.7)'),
('indexes', 'CREATE INDEX ON m_doc USING simhash (fp) WITH (similarity = 0.7)'),
('indexes', 'CREATE INDEX ON m_doc USING simhash (fp, wide)'),
('indexes', 'CREATE INDEX ON m_doc USING simhash (phash)'),
('indexes', 'CREATE INDEX ON m_doc USING simhash (id)'),
('indexes', 'CREATE INDEX ON m_doc USING simhash (body) INCLUDE (j)'),
('whole tables', 'SELECT * FROM simhash_pairs(''m_doc'')'),
('whole tables', 'SELECT * FROM simhash_pairs(''m_doc_pkey'', 3)'),
('whole tables', 'SELECT * FROM simhash_pairs(''m_mistake'')'),
('whole tables', 'SELECT * FROM simhash_pairs(''m_doc_fp'', 0.7)'),
('whole tables', 'SELECT * FROM simhash_pairs(''m_doc_body'', 3)'),
('whole tables', 'SELECT * FROM simhash_pairs(''m_doc_fp'', 65)'),
('whole tables', 'SELECT * FROM simhash_duplicates(''m_doc_body'', keep => ''first'')'),
('whole tables', 'SELECT * FROM simhash_duplicates(''m_doc_body'', keep => ''posted descending'')'),
('whole tables', 'SELECT * FROM simhash_clusters(''m_doc_fp'', 3, ''stars'')'),
('whole tables', 'SELECT * FROM simhash_passages(''m_doc_body'')'),
('whole tables', 'SELECT simhash_like(''m_doc'', ''a text'')'),
('trigger', 'SELECT simhash_dedup_create(''m_doc'', ''body'', ''similarity=0.7'')'),
('trigger', 'SELECT simhash_dedup_create(''m_doc'', ''body=body'', ''similarty=0.7'')'),
('trigger', 'SELECT simhash_dedup_create(''m_doc'', ''body=body'', ''similarity=70'')'),
('trigger', 'SELECT simhash_dedup_create(''m_doc'', ''body=bodi'', ''similarity=0.7'')'),
('trigger',
 'SELECT simhash_dedup_create(''m_doc'', ''body=body'', ''similarity=0.7'', ''action=ignore'')'),
('trigger',
 'SELECT simhash_dedup_create(''m_doc'', ''body=body'', ''similarity=0.7'', ''action=link'')'),
('trigger',
 'SELECT simhash_dedup_create(''m_doc'', ''body=body'', ''similarity=0.7'', ''action=link'',
  ''link=same_as'')'),
('trigger',
 'SELECT simhash_dedup_create(''m_doc'', ''body=body'', ''similarity=0.7'',
  ''since=posted 3 dais'')'),
('groups', 'SELECT simhash_cluster_create(''m_doc'', ''body=body'', ''similarity=0.7'')'),
('groups',
 'SELECT simhash_cluster_create(''m_doc'', ''body=body'', ''cluster=same_as'',
  ''similarity=0.7'')'),
('rights', 'AS GUEST SELECT * FROM simhash_pairs(''m_doc_body'')'),
('rights', 'AS GUEST SELECT simhash_index_check(''m_doc_body'')'),
('rights', 'AS GUEST SELECT simhash_train(''guests'', ''SELECT 1'')');
\pset format unaligned
\pset tuples_only on
SELECT format(E'%s: %s\n  %s\n', about, statement, outcome(statement)) FROM m_mistake ORDER BY n;
SELECT count(*) FILTER (WHERE outcome(statement) LIKE '%HINT: none'), count(*) >= 40 FROM m_mistake;
\pset format aligned
\pset tuples_only off

-- What the hints say is understood.
SELECT hamming(fp, 5::fingerprint64) >= 0, hamming(wide, 5::numeric::fingerprint128) >= 0,
  hamming(phash, 18446744073709551615::fingerprint64::bigint) AS unsigned,
  hamming(phash, hex::fingerprint64::bigint) AS digits,
  hamming(phash, 'fffffffffffffffe'::fingerprint64::bigint) AS literal,
  hamming(bits, phash::bigint::bit(64)) AS bits
FROM m_doc;
SELECT hamming(fp, '\xff00000000000000'::bytea::fingerprint64) >= 0,
  hamming(bits::fingerprint64, fp) >= 0, hamming(hex::fingerprint64, fp) >= 0,
  hamming(fp, minhash64('a b')) = 0, near_duplicate(id::text, '7')
FROM m_doc;

-- What is left alone: no call means something else than it did.
SELECT hamming(1, 2), hamming('7', 5), hamming(5, '7'), hamming(NULL, 5),
  hamming(1::bigint, 3), hamming(1::smallint, 3::bigint),
  hamming('00000000000000ff', '0000000000000000'),
  hamming('00000000000000ff'::varchar, '0000000000000000'::varchar),
  hamming(fp, 'c16ffa60a6b79d0a') BETWEEN 0 AND 64 AS literal,
  hamming('c16ffa60a6b79d0a', fp) BETWEEN 0 AND 64 AS literal_first,
  hamming(fp, NULL) IS NULL AS null_is_null, near_duplicate('a b c', 'a b c'),
  near_duplicate('a b c'::varchar, 'a b c'), text_similarity('a b c'::name, 'a b c'::"char"::text)
FROM m_doc;
PREPARE untyped AS SELECT hamming(fp, $1), hamming($2, phash), near_duplicate($3, body),
  hamming($4, 5) FROM m_doc;
SELECT parameter_types FROM pg_prepared_statements WHERE name = 'untyped';
DEALLOCATE untyped;
SELECT 1::bigint = '1'::text;
SELECT 'a'::text || 1::numeric, coalesce(1::bigint, 2::numeric);
SELECT 1::bigint::simhash_incomparable;
DROP TABLE m_doc, m_mistake;
DROP DOMAIN m_words, m_hash;
DROP FUNCTION outcome;
DROP ROLE regress_simhash_guest;
