-- What leads from 0.1.0 to 0.2.0 beside the statements of the pieces that 0.1.0 does not have. See
-- scripts/sql.py.

-- before: CREATE CAST (jsonb AS simhash_config)
-- Implicit from now on, because programs send objects as jsonb. No view or column depends on a cast
-- that goes through the text form.
DROP CAST (jsonb AS simhash_config);

-- again: COMMENT ON CAST (jsonb AS simhash_config)

-- instead of: CREATE FUNCTION hamming(a bit, b bit)
ALTER FUNCTION hamming(bit, bit) SUPPORT hamming_support;

-- before: CREATE FUNCTION simhash_index_info(
-- More columns.
DROP FUNCTION simhash_index_info(regclass);

-- again: COMMENT ON FUNCTION simhash_index_info(

-- instead of: CREATE FUNCTION simhash_pairs(index regclass, distance integer, OUT a
-- It gets columns, which CREATE OR REPLACE refuses to add. DROP would take along the views of
-- users, and the rights that they granted or revoked.
UPDATE pg_catalog.pg_proc SET
  proallargtypes = proallargtypes OPERATOR(pg_catalog.||) '{regclass,regclass}'::regtype[]::oid[],
  proargmodes = proargmodes OPERATOR(pg_catalog.||) '{o,o}'::"char"[],
  proargnames = proargnames OPERATOR(pg_catalog.||) '{a_table,b_table}'::text[]
WHERE oid OPERATOR(pg_catalog.=) 'simhash_pairs(regclass, integer)'::regprocedure::oid;
ALTER FUNCTION simhash_pairs(regclass, integer) SUPPORT simhash_whole_support;

-- instead of: CREATE FUNCTION simhash_clusters(index regclass, distance integer, OUT member
-- It gets columns, in the same way.
UPDATE pg_catalog.pg_proc SET
  proallargtypes = proallargtypes OPERATOR(pg_catalog.||)
    '{regclass,regclass,integer,integer}'::regtype[]::oid[],
  proargmodes = proargmodes OPERATOR(pg_catalog.||) '{o,o,o,o}'::"char"[],
  proargnames = proargnames OPERATOR(pg_catalog.||)
    '{member_table,representative_table,distance,greatest_distance}'::text[]
WHERE oid OPERATOR(pg_catalog.=) 'simhash_clusters(regclass, integer)'::regprocedure::oid;
ALTER FUNCTION simhash_clusters(regclass, integer) SUPPORT simhash_whole_support;

-- before: CREATE FUNCTION simhash_suggest(
-- Similarities too, and other columns.
DROP FUNCTION simhash_suggest(regclass);

-- instead of: models CONSTANT oid := 'simhash_model'::regclass
-- 0.1.0 granted the same rights, but that PostgreSQL 13 had no pg_database_owner.
