CREATE EXTENSION pg_simhash;
CREATE TABLE doc (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, source text, title text, body text,
  fp64 fingerprint64 GENERATED ALWAYS AS (simhash(body)) STORED,
  fp fingerprint128 GENERATED ALWAYS AS (simhash128(body)) STORED);
\timing on
CREATE TEMP TABLE st (title text, body text);
\copy st from demo/data/zh_laws.csv csv header
INSERT INTO doc(source,title,body) SELECT 'zh_laws',* FROM st; TRUNCATE st;
\copy st from demo/data/en_licenses.csv csv header
INSERT INTO doc(source,title,body) SELECT 'en_licenses',* FROM st; TRUNCATE st;
\copy st from demo/data/zh_verses.csv csv header
INSERT INTO doc(source,title,body) SELECT 'zh_verses',* FROM st; TRUNCATE st;
\copy st from demo/data/en_verses.csv csv header
INSERT INTO doc(source,title,body) SELECT 'en_verses',* FROM st; TRUNCATE st;
