-- The extension installs, and says so.
SELECT extname, extversion, extrelocatable FROM pg_extension WHERE extname = 'pg_simhash';
