-- {"tokenizer": "code"}: source code, by every way that takes a config.
\pset null NULL
SET client_min_messages = warning;
\set code '{"tokenizer": "code"}'

SELECT simhash_tokens('int getHTTPCode(void) { return code == 200; } // for C++', :'code');
SELECT simhash_tokens('a(); // for C++, C# and .NET', '{"tokenizer": "code", "comments": "keep"}');
SELECT simhash_tokens(E'if x:\n  y()\nz', '{"tokenizer": "code", "whitespace": "keep"}');
SELECT simhash_normalize(E'// ＡＢ\nfooBar', :'code');
-- The default of normalize is that of the tokenizer, and is not written.
SELECT '{"tokenizer": "code", "normalize": ["digits", "simplified", "lower", "marks", "nfkc"]}'
  ::simhash_config, '{"whitespace": "keep", "tokenizer": "code"}'::simhash_config;
-- What contradicts itself.
SELECT '{"tokenizer": "code", "normalize": ["lower", "punctuation"]}'::simhash_config;
SELECT '{"comments": "keep"}'::simhash_config;
SELECT '{"tokenizer": "code", "comments": "some"}'::simhash_config;
-- Comments alone are nothing.
SELECT simhash('// none', :'code'), minhash64('/* none */', :'code'),
  simhash_tokens('-- none', :'code');

CREATE TABLE source (id int PRIMARY KEY, body text);
INSERT INTO source VALUES
  (1, E'/* Counts. */\nint count(const char *s)\n{\n    int n = 0;\n    while (*s++)\n'
    || E'        n++;\n}'),
  (2, E'int count( const char* s ) {\n\tint n=0; // from none\n\twhile( *s++ ) n++; }'),
  (3, E'// Counts.\nint sum(const int *v, int n)\n{\n    return n ? *v + sum(v + 1, n - 1)'
    || E' : 0;\n}'),
  (4, E'# Counts.\ndef count(s):\n    return len(s) // 1'),
  (5, '// Counts.');
-- By the function, by an index, by a constraint, and by whole tables.
SELECT b.id, near_duplicate(a.body, b.body, 0.9, :'code') AS near,
  round(text_similarity(a.body, b.body, :'code')::numeric, 2) AS by_code,
  round(text_similarity(a.body, b.body)::numeric, 2) AS by_words
FROM source a, source b WHERE a.id = 1 ORDER BY b.id;
SELECT hamming(simhash(a.body, :'code'), simhash(b.body, :'code')),
  hamming(minhash64(a.body, :'code'), minhash64(b.body, :'code'))
FROM source a, source b WHERE (a.id, b.id) = (1, 2);
CREATE INDEX source_body ON source USING simhash (body)
  WITH (similarity = 0.5, config = '{"tokenizer": "code"}');
SET enable_seqscan = off;
EXPLAIN (COSTS off) SELECT id FROM source
  WHERE near_duplicate(body, 'int count()', 0.9, '{"tokenizer": "code"}');
SELECT s.id FROM source s, (SELECT body FROM source WHERE id = 1) q
  WHERE near_duplicate(s.body, q.body, 0.9, '{"tokenizer": "code"}') ORDER BY s.id;
RESET enable_seqscan;
SELECT * FROM simhash_duplicates('source_body', 0.9);
SELECT feature, side FROM simhash_explain('a->b; // c', 'a.b; // d', :'code', 'minhash')
  ORDER BY side COLLATE "C", feature COLLATE "C";
ALTER TABLE source ADD EXCLUDE USING simhash
  (near_text(body, 0.95, '{"tokenizer": "code", "comments": "keep"}') WITH ~=);
INSERT INTO source SELECT 6, body FROM source WHERE id = 3;
DROP TABLE source;
