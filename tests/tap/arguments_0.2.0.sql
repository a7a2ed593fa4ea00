-- What 0.2.0 adds to arguments.sql.
ALTER TABLE rows ADD quad fingerprint256, ADD quad_ball hamming_ball256,
  ADD bit_ball hamming_ball_bit;
UPDATE rows SET quad = sha256(id::text::bytea)::fingerprint256,
  quad_ball = hamming_ball(sha256(id::text::bytea)::fingerprint256, 31),
  bit_ball = hamming_ball(bits, id % 60) WHERE fp IS NOT NULL;
CREATE INDEX rows_quad ON rows USING simhash (quad);
CREATE INDEX rows_quad_ball ON rows USING simhash (quad_ball);
CREATE INDEX rows_bits ON rows USING simhash (bits);
DROP TABLE rows_empty;
CREATE TABLE rows_empty (LIKE rows INCLUDING INDEXES);
ANALYZE rows;
