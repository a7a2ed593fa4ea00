-- Messages about long values: they quote only the beginning of the value, and end with what is
-- wrong.
CREATE FUNCTION said(statement text)
RETURNS TABLE (code text, bytes_below_3000 boolean, starts text, ends text)
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
EXCEPTION WHEN OTHERS THEN
	RETURN QUERY SELECT SQLSTATE, octet_length(SQLERRM) < 3000, left(SQLERRM, 24), right(SQLERRM, 24);
END $$;

SELECT s.* FROM said($$SELECT esimhash('text', repeat('name', 2500000))$$) s;
SELECT s.* FROM said($$SELECT imatch('text', repeat('學', 1000000))$$) s;
SELECT s.* FROM said($$SELECT simhash_model_term(repeat('name', 2500000), 'term')$$) s;
SELECT s.* FROM said($$SELECT simhash('text',
  ('{"tokenizer": "' || repeat('x', 1000000) || '"}')::simhash_config)$$) s;
SELECT s.* FROM said($$SELECT repeat('0', 1000000)::fingerprint64$$) s;
SELECT s.* FROM said($$SELECT repeat('0', 1000000)::hamming_ball64$$) s;
SELECT s.* FROM said($$SELECT * FROM dedup_texts('SELECT 1', exact => repeat('x', 1000000))$$) s;
-- A short value is quoted whole.
SELECT s.* FROM said($$SELECT esimhash('text', 'name')$$) s;
DROP FUNCTION said;
