-- pg_simhash 0.1.0 to 0.2.0: makes the catalogue of 0.1.0 equal to that of a fresh 0.2.0. The same
-- statements stand in pg_simhash--0.2.0.sql, in the same order.

-- complain if the script is sourced in psql rather than through ALTER EXTENSION
\echo Use "ALTER EXTENSION pg_simhash UPDATE TO '0.2.0'" to load this file. \quit
