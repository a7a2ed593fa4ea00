-- One row of fingerprints.sql: 100,000 texts of about 600 bytes in :language, cut out of the
-- shipped ones.

CREATE TEMP TABLE text_of AS
WITH piece AS (
  SELECT row_number() OVER () AS place,
    substr(regexp_replace(body, '\s+', ' ', 'g'), 1 + part * size, size) AS body
  FROM shipped,
    LATERAL (SELECT CASE WHEN :'language' = 'zh' THEN 200 ELSE 600 END AS size) s,
    LATERAL generate_series(0, length(body) / size) part
  WHERE source LIKE :'language' || '%'
)
SELECT replace(body, '\', '') || ' ' || copy AS body
FROM piece, generate_series(1, 1 + 100000 / (SELECT count(*)::integer FROM piece)) copy
LIMIT 100000;
VACUUM ANALYZE text_of;

\setenv LINES_FILE /tmp/pg_simhash_bench_lines
\copy text_of TO PROGRAM 'cat > "$LINES_FILE"'
\set core `target/release/examples/fingerprint_lines "$LINES_FILE"; rm -f "$LINES_FILE"`
SELECT simhash('预热 warm up') IS NOT NULL AS warm \gset
INSERT INTO result
SELECT :'language', count(*), round(sum(octet_length(body)) / 1e6, 1), :core,
  (SELECT median_seconds('SELECT count(simhash(body)) FROM text_of'))
FROM text_of;
DROP TABLE text_of;
