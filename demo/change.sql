-- Shows the changes from the text titled :from to the one titled :to.
SELECT format(E'\n%s  ->  %s: %s', a.title, b.title,
  round(text_similarity(a.body, b.body)::numeric, 2))
FROM doc a, doc b WHERE a.title = :'from' AND b.title = :'to';
SELECT side, piece FROM (
  SELECT 'a' AS side, place, piece FROM doc, pieces(body) WHERE title = :'from'
  UNION ALL
  SELECT 'b', place, piece FROM doc, pieces(body) WHERE title = :'to'
) words ORDER BY side, place
\g (fieldsep='\t') | demo/word_diff
