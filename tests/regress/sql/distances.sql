-- Distances (hamming, <~>, ~=, balls), each compared with the number of ones in PostgreSQL's text
-- form of bits.
CREATE FUNCTION ones(bit) RETURNS integer IMMUTABLE LANGUAGE sql AS $$
  SELECT length(replace($1::text, '0', '')) $$;
\set SHOW_CONTEXT never

CREATE TABLE distances_t AS
SELECT i AS id,
       ('x' || substr(md5(i::text), 1, 16))::bit(64)::fingerprint64 AS a64,
       -- the same with `i % 65` bits flipped
       (('x' || substr(md5(i::text), 1, 16))::bit(64)
         # (~(('x' || repeat('f', 16))::bit(64) >> (i % 65))))::fingerprint64 AS b64,
       md5(i::text)::uuid::fingerprint128 AS a128,
       md5((i / 2)::text)::uuid::fingerprint128 AS b128
FROM generate_series(0, 1299) i;

SELECT count(*) FILTER (WHERE hamming(a64, b64) <> ones(a64::bit(64) # b64::bit(64))) AS wrong64,
       count(*) FILTER (WHERE hamming(a64, b64) <> id % 65) AS not_as_made,
       count(*) FILTER (WHERE hamming(a128, b128)
         <> ones(a128::bit(128) # b128::bit(128))) AS wrong128,
       count(*) FILTER (WHERE hamming(a64::bigint, b64::bigint)
         <> ones(a64::bit(64) # b64::bit(64))) AS wrong_bigint,
       count(*) FILTER (WHERE hamming(a64::bit(64), b64::bit(64))
         <> ones(a64::bit(64) # b64::bit(64))) AS wrong_bit,
       count(*) FILTER (WHERE hamming(a64::text, b64::text)
         <> ones(a64::bit(64) # b64::bit(64))) AS wrong_text,
       count(*) FILTER (WHERE (a64 <~> b64) <> hamming(b64, a64)) AS asymmetric,
       count(*)
FROM distances_t;
SELECT min(hamming(a64, b64)), max(hamming(a64, b64)), max(a128 <~> b128) > 64 AS far128
  FROM distances_t;

-- near-duplicates, and balls at every radius
SELECT count(*) FILTER (WHERE (a64 ~= b64) <> (id % 65 <= 3)) AS wrong64,
       count(*) FILTER (WHERE (a64::bigint ~= b64::bigint) <> (id % 65 <= 3)) AS wrong_bigint,
       count(*) FILTER (WHERE (a128 ~= b128)
         <> (ones(a128::bit(128) # b128::bit(128)) <= 10)) AS wrong128
FROM distances_t;
SELECT count(*) FILTER (WHERE (a64 <@ hamming_ball(b64, k)) <> (id % 65 <= k)) AS wrong_within,
       count(*) FILTER (WHERE (hamming_ball(b64, k) @> a64) <> (id % 65 <= k)) AS wrong_contains,
       count(*) FILTER (WHERE (a64::bigint <@ hamming_ball(b64::bigint, k))
         <> (id % 65 <= k)) AS wrong_bigint,
       count(*) FILTER (WHERE hamming_within(a64, b64, k) <> (id % 65 <= k)) AS wrong_function,
       count(*)
FROM distances_t, generate_series(0, 64) k;
SELECT count(*) FILTER (WHERE (a128 <@ hamming_ball(b128, k))
         <> (ones(a128::bit(128) # b128::bit(128)) <= k)) AS wrong_within,
       count(*) FILTER (WHERE (hamming_ball(b128, k) @> a128)
         <> (ones(a128::bit(128) # b128::bit(128)) <= k)) AS wrong_contains
FROM distances_t, generate_series(0, 128, 7) k;
-- two balls are near when each holds the other's centre
SELECT count(*) FILTER (WHERE (hamming_ball(a64, j) ~= hamming_ball(b64, k))
         <> (id % 65 <= least(j, k))) AS wrong,
       count(*) FILTER (WHERE (hamming_ball(a64, j) ~= hamming_ball(b64, k))
         <> (hamming_ball(b64, k) ~= hamming_ball(a64, j))) AS asymmetric
FROM distances_t, generate_series(0, 64, 5) j, generate_series(0, 64, 7) k;
SELECT hamming_ball('00000000000000000000000000000000'::fingerprint128, 4)
         ~= hamming_ball('0000000000000000000000000000000f'::fingerprint128, 9) AS near,
       hamming_ball('00000000000000000000000000000000'::fingerprint128, 3)
         ~= hamming_ball('0000000000000000000000000000000f'::fingerprint128, 9) AS not_near;

-- calls with untyped literals are not ambiguous
SELECT hamming('0000000000000000', '000000000000000f'),
       hamming('00000000000000000000000000000000', '0000000000000000000000000000ffff'),
       hamming(7, 8), hamming(B'1010', B'0101'),
       a64 <~> '0000000000000000' IS NOT NULL AS literal_operand,
       hamming_ball('000000000000000f', 4) @> '0000000000000000' AS ball
FROM distances_t WHERE id = 0;
SELECT hamming(NULL, '0000000000000000'::fingerprint64) IS NULL AS strict;

-- errors
SELECT hamming('00', '000000000000000f');
SELECT hamming('000000000000000f', '0000000000000000000000000000ffff');
SELECT hamming(B'1', B'10');

-- the constructor that the planner uses takes any limit
SELECT hamming_ball_or_null('000000000000000f'::fingerprint64, -1),
       hamming_ball_or_null('000000000000000f'::fingerprint64, 9223372036854775807);

DROP TABLE distances_t;
