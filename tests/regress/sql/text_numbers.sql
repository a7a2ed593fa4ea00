-- {"numbers": ...}: texts are near only if their numbers agree, by every way that asks for it.
\pset null NULL
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;

-- what is compared
SELECT simhash_numbers('On 4 March 2024 we paid 1.234,50 EUR for INV-2024-0017, and 三千 more');
SELECT simhash_numbers('b 3 a 20', config) FROM unnest(ARRAY['{}', '{"numbers": "any"}',
  '{"numbers": "same"}', '{"numbers": "order"}']::simhash_config[]) config;
SELECT simhash_numbers(''), simhash_numbers('none'), simhash_numbers(NULL);
SELECT simhash_numbers(body) FROM (VALUES ('2024-03-04'), ('March 4, 2024'), ('4. März 2024'),
  ('04.03.2024'), ('2024年3月4日'), ('二〇二四年三月四日'), ('04/03/2024'), ('2024-02-30'),
  ('+49 (30) 1234-567'), ('2:30 pm'), ('1.2.3-rc1'), ('٣٫١٤')) t(body);
SELECT simhash_numbers('<td width=100>5</td>', '{"normalize": ["html"]}');
-- a number of any length is kept
SELECT simhash_numbers(repeat('123', 1000)) = ARRAY[repeat('123', 1000)] AS kept,
  near_duplicate(a, b, 0.3) AS any, near_duplicate(a, b, 0.3, '{"numbers": "same"}') AS same
FROM (VALUES ('a b c d e ' || repeat('9', 1000), 'a b c d e ' || repeat('9', 999) || '8')) t(a, b);
SELECT simhash_numbers('1', '{"numbers": "some"}');

-- two texts
CREATE TABLE letter (id int PRIMARY KEY, body text);
INSERT INTO letter SELECT id, replace(body, '...', ' Please pay it in time to the account that you
  know') FROM (VALUES
 (1, 'Dear tenant, the rent of 850.00 EUR for your flat is due on 4 March 2024....'),
 (2, 'Dear tenant, the rent of 850 EUR for your flat is due on 2024-03-04...!'),
 (3, 'Dear tenant, the rent of 850.00 EUR for your flat is due on 4 April 2024....'),
 (4, 'Dear tenant, on 4 March 2024 the rent of 850.00 EUR for your flat is due....'),
 (5, 'Dear tenant, the rent of 950.00 EUR for your flat is due on 4 March 2024....'),
 (6, 'Water boils at 100 degrees'), (7, NULL), (8, '-')) t(id, body);
CREATE FUNCTION near_ids(config simhash_config) RETURNS text LANGUAGE plpgsql AS $$
DECLARE ids text;
BEGIN
  EXECUTE format($q$SELECT string_agg(a.id || '-' || b.id, ' ' ORDER BY a.id, b.id)
    FROM letter a JOIN letter b ON a.id < b.id
      AND near_duplicate(a.body, b.body, 0.4, %L)$q$, config) INTO ids;
  RETURN ids;
END $$;
SELECT config, near_ids(config) FROM unnest(ARRAY['{}', '{"numbers": "any"}', '{"numbers": "same"}',
  '{"numbers": "order"}']::simhash_config[]) config;
SELECT near_duplicate(a, b, 0.4, config), near_duplicate(b, a, 0.4, config)
FROM unnest(ARRAY['{"numbers": "same"}', '{"numbers": "order"}']::simhash_config[]) config,
  (VALUES ('two of 2 and three of 3', 'two of 3 and three of 2')) t(a, b);
-- it says nothing of how similar they are
SELECT text_similarity('a 1 b', 'a 2 b') = text_similarity('a 1 b', 'a 2 b', '{"numbers": "same"}');

-- which number it is
SELECT feature, side, weight_a, weight_b, share FROM simhash_explain('pay 5 on 4 March 2024',
  'pay 5 on 2024-03-05', '{"numbers": "same"}') LIMIT 3;
SELECT feature, side FROM simhash_explain('2 of 3', '3 of 2', '{"numbers": "order"}', 'minhash')
WHERE weight_a IS NULL AND weight_b IS NULL;
SELECT count(*) FROM simhash_explain('2 of 3', '3 of 4')
WHERE weight_a IS NULL AND weight_b IS NULL;

-- an index serves every choice: of a column, with any config of its own
CREATE TABLE found (config simhash_config, answer text);
INSERT INTO found SELECT config, near_ids(config) FROM unnest(ARRAY['{}', '{"numbers": "same"}',
  '{"numbers": "order"}']::simhash_config[]) config;
CREATE FUNCTION numbers_plan(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text; plan text = '';
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP plan = plan || line; END LOOP;
  RETURN CASE WHEN plan ~ 'Index' THEN 'index' ELSE 'seq' END;
END $$;
CREATE FUNCTION ids_near(center int, config simhash_config, seqscan text) RETURNS int[]
LANGUAGE plpgsql AS $$
DECLARE ids int[];
BEGIN
  PERFORM set_config('enable_seqscan', seqscan, true),
    set_config('enable_indexscan', CASE seqscan WHEN 'on' THEN 'off' ELSE 'on' END, true),
    set_config('enable_bitmapscan', CASE seqscan WHEN 'on' THEN 'off' ELSE 'on' END, true);
  EXECUTE format($q$SELECT array_agg(id ORDER BY id) FROM letter
    WHERE near_duplicate(body, %L, 0.4, %L)$q$,
    (SELECT body FROM letter WHERE id = center), config) INTO ids;
  PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_indexscan', 'on', true),
    set_config('enable_bitmapscan', 'on', true);
  RETURN coalesce(ids, '{}');
END $$;
CREATE TABLE choice (config simhash_config);
INSERT INTO choice VALUES ('{}'), ('{"numbers": "any"}'), ('{"numbers": "same"}'),
  ('{"numbers": "order"}');
CREATE FUNCTION check_all() RETURNS TABLE (own text, asked text, plan text, is_right boolean)
LANGUAGE plpgsql AS $$
DECLARE kind text; named text; choice simhash_config;
BEGIN
  FOR kind, named IN SELECT k, config FROM unnest(ARRAY['body', 'near_text']) k, choice LOOP
    EXECUTE format(CASE kind WHEN 'body' THEN
        'CREATE INDEX letter_i ON letter USING simhash (body) WITH (similarity = 0.4, config = %L)'
      ELSE 'CREATE INDEX letter_i ON letter USING simhash (near_text(body, 0.4, %L))' END, named);
    FOR choice IN SELECT config FROM choice LOOP
      own = kind || ' ' || named;
      asked = choice;
      PERFORM set_config('enable_seqscan', 'off', true);
      plan = numbers_plan(format('SELECT id FROM letter WHERE near_duplicate(body, %L, 0.4, %L)',
        (SELECT body FROM letter WHERE id = 1), choice));
      SELECT bool_and(ids_near(id, choice, 'off') = ids_near(id, choice, 'on'))
          AND near_ids(choice) = (SELECT answer FROM found WHERE found.config::text
            = replace(choice::text, '{"numbers": "any"}', '{}'))
        INTO is_right FROM letter;
      RETURN NEXT;
    END LOOP;
    DROP INDEX letter_i;
  END LOOP;
END $$;
SELECT * FROM check_all();

-- near_text: one that says nothing leaves it to the other; of two that say something the one
-- that compares less decides
SELECT a, b,
  near_text('pay 5 in May or go', 0.3, a) ~= near_text('pay 6 in May or go', 0.3, b) AS near
FROM unnest(ARRAY['{}', '{"numbers": "any"}', '{"numbers": "same"}']::simhash_config[]) a,
  unnest(ARRAY['{}', '{"numbers": "any"}', '{"numbers": "same"}']::simhash_config[]) b;

-- a constraint
CREATE TABLE bill (id int, body text,
  EXCLUDE USING simhash (near_text(body, 0.4, '{"numbers": "same"}') WITH ~=));
INSERT INTO bill SELECT * FROM letter ORDER BY id ON CONFLICT DO NOTHING;
SELECT array_agg(id ORDER BY id) FROM bill;
INSERT INTO bill SELECT 9, body FROM letter WHERE id = 5;

-- the trigger: by similarity alone, and of fingerprints whose texts are compared
CREATE TABLE mail (id int PRIMARY KEY, body text);
CREATE INDEX ON mail USING simhash (body) WITH (similarity = 0.4);
SELECT simhash_dedup_create('mail', 'body=body', 'similarity=0.4', 'action=skip',
  'config={"numbers": "same"}') IS NOT NULL AS made;
INSERT INTO mail SELECT * FROM letter ORDER BY id;
SELECT array_agg(id ORDER BY id) FROM mail;
CREATE TABLE post (id int PRIMARY KEY, body text, fp fingerprint128);
CREATE INDEX ON post USING simhash (fp);
SELECT simhash_dedup_create('post', 'fp=fp', 'body=body', 'method=minhash', 'distance=60',
  'similarity=0.4', 'action=skip', 'config={"numbers": "same"}') IS NOT NULL AS made;
INSERT INTO post SELECT id, body FROM letter ORDER BY id;
SELECT array_agg(id ORDER BY id) FROM post;

-- whole tables: what the index says
CREATE INDEX letter_any ON letter USING simhash (body) WITH (similarity = 0.4);
CREATE INDEX letter_same ON letter USING simhash (body)
  WITH (similarity = 0.4, config = '{"numbers": "same"}');
CREATE INDEX letter_order ON letter USING simhash (body)
  WITH (similarity = 0.4, config = '{"numbers": "order"}');
SELECT i, (SELECT string_agg((SELECT id FROM letter WHERE ctid = duplicate) || '>' ||
      (SELECT id FROM letter WHERE ctid = kept), ' ' ORDER BY duplicate)
    FROM simhash_duplicates(i::regclass, 0.4) d) AS duplicates
FROM unnest(ARRAY['letter_any', 'letter_same', 'letter_order']) i;
-- or the call
SELECT array_agg((SELECT id FROM letter WHERE ctid = duplicate) ORDER BY duplicate)
FROM simhash_duplicates('letter_any', 0.4, config => '{"numbers": "same"}');
SELECT simhash_duplicates('letter_any', 0.4, config => '{"numbers": "same", "shingle": 1}');
SELECT i, (SELECT string_agg(least(a.id, b.id) || '-' || greatest(a.id, b.id), ' '
      ORDER BY least(a.id, b.id), greatest(a.id, b.id))
    FROM simhash_pairs(i::regclass, 0.4) p JOIN letter a ON a.ctid = p.a
      JOIN letter b ON b.ctid = p.b) AS pairs
FROM unnest(ARRAY['letter_any', 'letter_same', 'letter_order']) i;

-- groups that live: those of the rows that are there, found by the join of an index that says
-- nothing of numbers, and of rows that come
CREATE TABLE news (id int PRIMARY KEY, body text, story int);
CREATE INDEX ON news USING simhash (body) WITH (similarity = 0.4);
CREATE INDEX ON news (story);
INSERT INTO news SELECT * FROM letter WHERE id IN (1, 2, 3, 6);
SELECT simhash_cluster_create('news', 'body=body', 'cluster=story', 'similarity=0.4',
  'config={"numbers": "same"}') IS NOT NULL AS made;
SELECT array_agg(id ORDER BY id) FROM news WHERE story IS NOT NULL GROUP BY story ORDER BY 1;
INSERT INTO news SELECT * FROM letter WHERE id NOT IN (1, 2, 3, 6) ORDER BY id;
SELECT array_agg(id ORDER BY id) FROM news WHERE story IS NOT NULL GROUP BY story ORDER BY 1;
UPDATE news SET body = replace(body, 'April', 'March') WHERE id = 3;
SELECT array_agg(id ORDER BY id) FROM news WHERE story IS NOT NULL GROUP BY story ORDER BY 1;

DROP TABLE letter, found, choice, bill, mail, post, news CASCADE;
DROP FUNCTION near_ids, ids_near, numbers_plan, check_all;
