-- Errors end the file, and figures go to bench_result.

\set ON_ERROR_STOP on
\pset footer off
SET client_min_messages = warning;
CREATE TABLE IF NOT EXISTS public.bench_result
  (section text, data text, rows bigint, contender text, metric text, value float8);
