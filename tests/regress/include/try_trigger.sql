-- Makes the trigger of the table `wrong` with these arguments, and shows what its first row brings.
CREATE FUNCTION try(VARIADIC arguments text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE state text; message text; hint text;
BEGIN
  EXECUTE 'CREATE TRIGGER t BEFORE INSERT ON wrong FOR EACH ROW EXECUTE FUNCTION simhash_dedup('
    || (SELECT coalesce(string_agg(quote_literal(a), ', '), '') FROM unnest(arguments) a) || ')';
  BEGIN
    INSERT INTO wrong (id, fp) VALUES (1, '0000000000000000');
    RAISE NOTICE 'accepted';
  EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE,
      message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
    RAISE NOTICE E'% %\n  hint: %', state, message, hint;
  END;
  DROP TRIGGER t ON wrong;
END $$;
