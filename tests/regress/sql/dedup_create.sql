-- simhash_dedup_create: the trigger with all its arguments checked at once.
CREATE TABLE doc (id int PRIMARY KEY, body text, fp fingerprint64, same_as int);
-- what is wrong is said now, and nothing is left of it
SELECT simhash_dedup_create('doc', 'fp=fp', 'distnace=3');
SELECT simhash_dedup_create('doc', 'fp=body');
SELECT simhash_dedup_create('doc', 'fp=fp', 'action=link');
SELECT simhash_dedup_create('doc', 'fp=fp', NULL);
SELECT simhash_dedup_create('doc', 'body=body', 'fp=fp', 'config={"tokenizer": "none"}');
SELECT count(*) FROM pg_trigger WHERE tgrelid = 'doc'::regclass;
-- a missing index is named with the statement that makes it
SELECT simhash_dedup_create('doc', 'body=body', 'fp=fp', 'action=link', 'link=same_as');
CREATE INDEX ON doc USING simhash (fp);
INSERT INTO doc (id, body) VALUES (1, 'one two three four'), (2, 'One, two, three, four!');
SELECT id, same_as FROM doc ORDER BY id;
-- another one has another name; quotes and backslashes stay what they are
SELECT simhash_dedup_create('doc', 'fp=fp', 'distance=0');
SELECT simhash_dedup_create('doc', 'fp=f''p\');
SELECT tgname,
  pg_get_triggerdef(oid) ~ 'BEFORE INSERT OR UPDATE ON public.doc FOR EACH ROW' AS is_so
  FROM pg_trigger WHERE tgrelid = 'doc'::regclass ORDER BY tgname;
-- of a partitioned table, and of what is no table
CREATE TABLE parts (id int, fp fingerprint64) PARTITION BY RANGE (id);
CREATE TABLE part PARTITION OF parts DEFAULT;
CREATE INDEX ON parts USING simhash (fp);
SELECT simhash_dedup_create('parts', 'fp=fp', 'action=error');
SELECT count(*) FROM pg_trigger WHERE tgrelid = 'part'::regclass;
CREATE VIEW seen AS SELECT * FROM doc;
SELECT simhash_dedup_create('seen', 'fp=fp');
DROP TABLE doc, parts CASCADE;
