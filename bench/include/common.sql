-- What every file begins with: errors end it, and figures go to bench_result.

\ir results.sql
CREATE EXTENSION IF NOT EXISTS pg_simhash;
