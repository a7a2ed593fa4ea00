-- Leaves the planner only the named way of reading tables.
CREATE FUNCTION force(how text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('enable_seqscan', (how = 'seq')::text, false),
    set_config('enable_indexscan', (how = 'index')::text, false),
    set_config('enable_indexonlyscan', (how = 'only')::text, false),
    set_config('enable_bitmapscan', (how = 'bitmap')::text, false),
    set_config('enable_sort', (how = 'seq')::text, false);
END $$;
