# Concurrent writers through the trigger simhash_dedup: which waits for which, and how long. Each
# row here is near those of its own kind (a, b, ...) and far from all others.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Sessions;
use SimhashTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('main', <<'CONF');
autovacuum = off
max_prepared_transactions = 5
shared_preload_libraries = 'pg_simhash'
CONF
$node->safe_psql('postgres', <<'SQL');
-- A fingerprint of a kind: those of one kind are up to three bits apart.
CREATE FUNCTION of(kind text, variant int DEFAULT 0) RETURNS fingerprint64 LANGUAGE sql AS
  $$ SELECT (test.number(kind) # ((1::bigint << variant) - (variant = 0)::int))::fingerprint64 $$;
CREATE TABLE t (id serial PRIMARY KEY, kind text, fp fingerprint64, tenant int, same_as int,
  code int UNIQUE);
CREATE INDEX t_fp ON t USING simhash (fp);
CREATE TABLE one (LIKE t INCLUDING ALL);
CREATE TABLE linked (LIKE t INCLUDING ALL);
CREATE TABLE scoped (LIKE t INCLUDING ALL);
-- Functions of triggers: one that drops rows, one that does what the code says.
CREATE FUNCTION drops() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.code = -1 THEN RETURN NULL; END IF;
  RETURN NEW;
END $$;
CREATE FUNCTION inserts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.code = -2 THEN INSERT INTO t (kind, fp) VALUES ('inside', of('inside', 1)); END IF;
  IF NEW.code = -3 THEN INSERT INTO t (kind, fp) VALUES (NEW.kind, of(NEW.kind, 1)); END IF;
  IF NEW.code = -4 THEN PERFORM pg_advisory_unlock_all(); END IF;
  RETURN NEW;
END $$;
CREATE FUNCTION inserts_after() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.code = -5 THEN INSERT INTO t (kind, fp) VALUES (NEW.kind, of(NEW.kind, 1)); END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER d BEFORE INSERT OR UPDATE ON t
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp');
CREATE TRIGGER x BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION inserts();
CREATE TRIGGER z BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION drops();
CREATE TRIGGER a AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION inserts_after();
CREATE TRIGGER d BEFORE INSERT OR UPDATE ON one
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp', 'writers=one');
CREATE TRIGGER d BEFORE INSERT OR UPDATE ON linked
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp', 'action=link', 'link=same_as');
CREATE TRIGGER d BEFORE INSERT OR UPDATE ON scoped
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp', 'scope=tenant');
SQL

sub insert
{
	my ($kind, $variant) = @_;
	return "INSERT INTO t (kind, fp) VALUES ('$kind', of('$kind', $variant))";
}

# One test: the number of rows of a kind in a table, and no claim exists.
sub there_are
{
	my ($count, $kind, $test, $table) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$table //= 't';
	answer_is($node, <<"SQL", "$count|0", $test);
SELECT (SELECT count(*) FROM $table WHERE kind = '$kind'),
  (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 29545)
SQL
}

open_session($node, $_) for qw(A B);
# Sessions that should not wait would run into this timeout.
answer('B', "SET lock_timeout = '5s'");

answer('A', 'BEGIN');
is(answer('A', insert('committed', 0)), '', 'a row in a transaction');
is(answer('B', insert('far', 0)), '', 'a far row does not wait');
begin('B', insert('committed', 1));
waits('B', 'transactionid', 'a near one waits for the transaction');
answer('A', 'COMMIT');
is(ended('B'), '', 'until it is committed');
there_are(1, 'committed', 'and is skipped');

answer('A', 'BEGIN');
answer('A', insert('aborted', 0));
begin('B', insert('aborted', 1));
waits('B', 'transactionid', 'a near one waits for the transaction');
answer('A', 'ROLLBACK');
is(ended('B'), '', 'until it is rolled back');
there_are(1, 'aborted', 'and is inserted');
answer_is($node, "SELECT fp = of('aborted', 1) FROM t WHERE kind = 'aborted'", 't', 'it itself');

answer('A', 'BEGIN');
answer('A', 'SAVEPOINT s');
answer('A', insert('undone', 0));
begin('B', insert('undone', 1));
waits('B', 'transactionid', 'a near one waits for the subtransaction');
answer('A', 'ROLLBACK TO s');
is(ended('B'), '', 'until that is rolled back');
there_are(1, 'undone', 'and is inserted');
answer('A', 'COMMIT');

# Rows on their way that are not stored in the end.
answer('A', 'BEGIN');
answer('A', "INSERT INTO t (kind, fp, code) VALUES ('dropped', of('dropped'), -1)");
is(answer('B', insert('dropped', 1)), '', 'a row that another trigger drops is in nobody\'s way');
there_are(1, 'dropped', 'a near one is inserted');
answer('A', 'COMMIT');
answer('A', "INSERT INTO t (kind, fp, code) VALUES ('code', of('code'), 1)");
answer('A', 'BEGIN');
is(answer('A', "INSERT INTO t (kind, fp, code) VALUES ('nothing', of('nothing'), 1)
	ON CONFLICT DO NOTHING"), '', 'a row that ON CONFLICT leaves away');
is(answer('B', insert('nothing', 1)), '', 'is in nobody\'s way');
answer('A', 'COMMIT');
there_are(1, 'nothing', 'a near one is inserted');
answer('A', 'BEGIN');
is(answer('A', "INSERT INTO t (kind, fp, code) VALUES ('failing', of('failing'), 1)"),
	'ERROR:  23505', 'a row that violates another constraint');
is(answer('B', insert('failing', 1)), '', 'is in nobody\'s way');
answer('A', 'ROLLBACK');
there_are(1, 'failing', 'a near one is inserted');
is(answer('A', "DO \$\$ BEGIN
  FOR i IN 1..3 LOOP
    BEGIN
      INSERT INTO t (kind, fp, code) VALUES ('caught', of('caught'), 1);
    EXCEPTION WHEN unique_violation THEN NULL;
    END;
  END LOOP;
  INSERT INTO t (kind, fp) VALUES ('caught', of('caught', 2));
END \$\$"), '', 'and so it is where the error is caught');
there_are(1, 'caught', 'a near one is inserted after it');

# Nested statements.
is(answer('A', "INSERT INTO t (kind, fp, code) VALUES ('own', of('own'), -3)"),
	'ERROR:  27000', 'a trigger BEFORE inserts what is near its row: an error');
there_are(0, 'own', 'and neither is there');
is(answer('A', "INSERT INTO t (kind, fp, code) VALUES ('own', of('own'), -2)"),
	'', 'or what is far');
there_are(1, 'own', 'and both are there');
there_are(1, 'inside', 'both');
is(answer('A', "INSERT INTO t (kind, fp, code) VALUES ('after', of('after'), -5)"),
	'', 'a trigger AFTER inserts what is near its row');
there_are(1, 'after', 'which is skipped');
answer('A', 'UPDATE t SET code = NULL WHERE code < 0');
is(answer('A', "INSERT INTO t (kind, fp, code) VALUES ('several', of('several'), -5),
	('several', of('several', 2), 7), ('dropped last', of('dropped last'), -1)"), '',
	'rows of one statement, the last one dropped');
there_are(1, 'several', 'of near ones the first is there');
is(answer('A', "INSERT INTO t (kind, fp, code) VALUES ('unlocked', of('unlocked'), -4)"), '',
	'giving up the session\'s advisory locks meanwhile');
there_are(1, 'unlocked', 'changes nothing');
# A claim ends when its row is in the index, not with the statement.
sub claims_are
{
	my ($count, $test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok($node->poll_query_until('postgres', <<"SQL"), $test);
SELECT EXISTS (SELECT FROM pg_stat_activity
    WHERE wait_event = 'PgSleep' AND pid = @{[backend('A')]})
  AND $count = (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 29545)
SQL
}
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE parts (id int, kind text, fp fingerprint64, u int) PARTITION BY RANGE (id);
CREATE TABLE part1 PARTITION OF parts FOR VALUES FROM (0) TO (10);
CREATE TABLE part2 (fp fingerprint64, gone int, id int, u int, kind text);
ALTER TABLE part2 DROP COLUMN gone;
ALTER TABLE parts ATTACH PARTITION part2 FOR VALUES FROM (10) TO (20);
CREATE UNIQUE INDEX part2_u ON part2 (u);
CREATE INDEX ON parts USING simhash (fp);
CREATE TRIGGER d BEFORE INSERT OR UPDATE ON parts
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp');
SQL
begin('A', "INSERT INTO t (kind, fp) SELECT k, of(k) FROM unnest(ARRAY['ends', 'ends2']) k
  WHERE k = 'ends' OR pg_sleep(2) IS NOT NULL");
claims_are(0, 'of a row that is stored no claim is left while the statement goes on');
is(ended('A'), '', 'which ends well');
begin('A', "INSERT INTO parts SELECT i, 'p' || i, of('p' || i) FROM generate_series(9, 10) i
  WHERE i = 9 OR pg_sleep(2) IS NOT NULL");
claims_are(0, 'nor in a partition');
is(ended('A'), '', 'which ends well');
$node->safe_psql('postgres', <<'SQL');
CREATE SEQUENCE copied;
CREATE FUNCTION next_copied() RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  number int = nextval('copied');
BEGIN
  PERFORM pg_sleep(2) WHERE number = 2;
  RETURN number;
END $$;
CREATE TABLE slow (id int DEFAULT next_copied(), kind text, fp fingerprint64);
CREATE INDEX ON slow USING simhash (fp);
SELECT simhash_dedup_create('slow', 'fp=fp');
SQL
my $copied = $node->basedir . '/copied';
$node->safe_psql('postgres',
	"COPY (SELECT 'copied', of(k) FROM unnest(ARRAY['x', 'y']) k) TO '$copied'");
begin('A', "COPY slow (kind, fp) FROM '$copied'");
claims_are(0, 'nor with COPY');
is(ended('A'), '', 'which ends well');
there_are(2, 'copied', 'and the rows are there', 'slow');

# A row on its way has a claim until it is stored. The unique index keeps it waiting there.
$node->safe_psql('postgres', <<'SQL');
INSERT INTO parts VALUES (1, 'moved', of('moved before'), 5);
CREATE TABLE two (id int, kind text, a fingerprint64, b fingerprint64, u int);
CREATE INDEX ON two USING simhash (a);
CREATE UNIQUE INDEX two_u ON two (u);
CREATE INDEX ON two USING simhash (b);
SELECT simhash_dedup_create('two', 'fp=a');
SELECT simhash_dedup_create('two', 'fp=b');
CREATE TABLE inner_row (id int, kind text, fp fingerprint64, tenant int, n int, u int);
CREATE INDEX ON inner_row USING simhash (fp);
CREATE INDEX ON inner_row (n);
CREATE UNIQUE INDEX inner_u ON inner_row (u);
CREATE TRIGGER d BEFORE INSERT OR UPDATE ON inner_row
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp', 'scope=tenant');
CREATE FUNCTION touches() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE inner_row SET n = n + 1 WHERE tenant <> NEW.tenant AND fp = NEW.fp;
  PERFORM pg_sleep(2);
  RETURN NEW;
END $$;
INSERT INTO inner_row VALUES (1, 'outer', of('outer'), 2, 1);
CREATE TRIGGER z BEFORE INSERT ON inner_row FOR EACH ROW EXECUTE FUNCTION touches();
SQL
answer('A', 'BEGIN');
answer('A', "INSERT INTO parts VALUES (12, 'holds', of('holds'), 5)");
begin('B', "UPDATE parts SET id = 11, fp = of('moved') WHERE id = 1");
waits('B', 'transactionid', 'a row that moves to another partition waits for a unique key');
is(answer('A', "SET LOCAL lock_timeout = '200ms'"), '', '');
open_session($node, 'C');
begin('C', "INSERT INTO parts VALUES (2, 'moved', of('moved', 1), 6)");
waits('C', 'advisory', 'a near one waits for its claim');
answer('A', 'ROLLBACK');
is(ended('B'), '', 'the row has moved');
is(ended('C'), '', 'the other one is judged');
there_are(1, 'moved', 'and skipped', 'parts');

answer('A', 'BEGIN');
answer('A', "INSERT INTO two VALUES (1, 'holds', of('held a'), of('held b'), 1)");
begin('B', "INSERT INTO two VALUES (2, 'two', of('two'), of('two'), 1)");
waits('B', 'transactionid', 'a row with one value in two columns waits for a unique key');
begin('C', "INSERT INTO two VALUES (3, 'two', of('other'), of('two', 1), 3)");
waits('C', 'advisory', 'one near it by the column that is stored last waits for its claim');
answer('A', 'ROLLBACK');
is(ended('B') . ended('C'), '', 'both end well');
there_are(1, 'two', 'and one is there', 'two');

begin('A', "INSERT INTO inner_row VALUES (2, 'inner', of('outer'), 1, 1)");
claims_are(1, 'a claim is still there after a statement inside has stored such a row');
is(ended('A'), '', 'the row is stored');

# One writer at a time because of another trigger: no deadlock.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE mixed (id serial, kind text, a fingerprint64, b fingerprint64, c fingerprint64);
CREATE INDEX ON mixed USING simhash (a);
CREATE INDEX ON mixed USING simhash (b);
CREATE TRIGGER d1 BEFORE INSERT ON mixed FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=a');
CREATE TRIGGER d2 BEFORE INSERT ON mixed
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=b', 'writers=one');
CREATE TABLE lacking (LIKE mixed INCLUDING ALL);
CREATE TRIGGER d1 BEFORE INSERT ON lacking FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=a');
CREATE TRIGGER d2 BEFORE INSERT ON lacking FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=c');
SQL
for my $table ('mixed', 'lacking')
{
	my $row = "INSERT INTO $table (kind, a, b, c) VALUES";
	answer('A', 'BEGIN');
	like(answer('A', "$row ('one', of('$table 1'), of('$table 2'), of('$table 3'))"),
		qr/^(?:WARNING:  01000)?$/, "$table: a row that one trigger wants alone");
	begin('B', "$row ('one', of('$table 4'), of('$table 5'), of('$table 6'))");
	waits('B', 'advisory', "$table: a far one waits from the first trigger on");
	answer('A', 'COMMIT');
	like(ended('B'), qr/^(?:WARNING:  01000)?$/, "$table: and is judged");
	there_are(2, 'one', "$table: both are there", $table);
}

# A disabled trigger has no effect, and its arguments are not parsed.
$node->safe_psql('postgres', <<'SQL');
CREATE TRIGGER d0 BEFORE INSERT ON mixed FOR EACH ROW EXECUTE FUNCTION simhash_dedup('wrong=1');
ALTER TABLE mixed DISABLE TRIGGER d0, DISABLE TRIGGER d2;
SQL
answer('A', 'BEGIN');
is(answer('A', "INSERT INTO mixed (kind, a) VALUES ('off', of('off 1'))"), '',
	'a wrong trigger that is disabled is no obstacle');
is(answer('B', "INSERT INTO mixed (kind, a) VALUES ('off', of('off 2'))"), '',
	'nor does one with writers=one make a far row wait');
answer('A', 'COMMIT');
there_are(2, 'off', 'both are there', 'mixed');

# A row that ON CONFLICT has stored or left out is not on its way.
$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION adds(fingerprint64) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO t (kind, fp) VALUES ('added', $1);
  RETURN 1;
END $$;
SQL
is(answer('A', "INSERT INTO t (kind, fp) VALUES ('added', of('added')) ON CONFLICT DO NOTHING
  RETURNING adds(fp)"), '1', 'a function in RETURNING');
there_are(1, 'added', 'inserts a near row, which is skipped');
is(answer('A', "INSERT INTO t (kind, fp, code) SELECT 'left away', of('left away'), 1
	WHERE 1 = 1 UNION ALL SELECT 'next', of('next'), adds(of('left away', 1)) + 100
	ON CONFLICT DO NOTHING"), '', 'and one for the next row');
there_are(2, 'added', 'inserts what is near to a row that was left away');

# Many partitions, each with its own trigger.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE many (id int PRIMARY KEY, kind text, fp fingerprint64) PARTITION BY LIST (id);
CREATE INDEX ON many USING simhash (fp);
DO $$ BEGIN
  FOR i IN 1..700 LOOP
    EXECUTE format('CREATE TABLE many_%s PARTITION OF many FOR VALUES IN (%1$s)', i);
    EXECUTE format('CREATE TRIGGER d%s BEFORE INSERT ON many_%1$s
      FOR EACH ROW EXECUTE FUNCTION simhash_dedup(''fp=fp'')', i);
  END LOOP;
END $$;
SQL
is(answer('A', "INSERT INTO many SELECT i, 'many', test.number('many ' || i)::fingerprint64
  FROM generate_series(1, 700) i ON CONFLICT DO NOTHING"), '',
	'700 partitions, each with a trigger of its own');
there_are(700, 'many', 'all rows are there', 'many');

# Updates.
answer('A', 'BEGIN');
answer('A', "UPDATE t SET fp = of('updated', 0), kind = 'updated' WHERE kind = 'own'");
begin('B', insert('updated', 1));
waits('B', 'transactionid', 'a near one waits for an update');
answer('A', 'COMMIT');
is(ended('B'), '', 'until it is committed');
there_are(1, 'updated', 'and is skipped');
answer('A', 'BEGIN');
answer('A', "UPDATE t SET tenant = 1 WHERE kind = 'updated'");
is(answer('B', insert('updated', 2)), '', 'near a row that is updated otherwise nobody waits');
answer('A', "DELETE FROM t WHERE kind = 'updated'");
is(answer('B', insert('updated', 2)), '', 'nor near one that is being deleted');
answer('A', 'COMMIT');
there_are(0, 'updated', 'they are skipped');

# Waits that end in other ways.
answer('A', 'BEGIN');
answer('A', insert('cancelled', 0));
answer('B', "SET lock_timeout = '100ms'");
is(answer('B', insert('cancelled', 1)), 'ERROR:  55P03', 'a wait can time out');
answer('B', "SET lock_timeout = '5s'");
begin('B', insert('cancelled', 1));
waits('B', 'transactionid', 'a near one waits');
$node->safe_psql('postgres', "SELECT pg_terminate_backend(@{[backend('A')]})");
is(ended('B'), '', 'until the other session is terminated');
there_are(1, 'cancelled', 'and is inserted');
answer('A', 'SELECT 1');
open_session($node, 'A');

answer('A', 'BEGIN');
answer('A', insert('prepared', 0));
is(answer('A', "PREPARE TRANSACTION 'p'"), '', 'a transaction can be prepared');
begin('B', insert('prepared', 1));
waits('B', 'transactionid', 'a near one waits for it');
answer('A', "COMMIT PREPARED 'p'");
is(ended('B'), '', 'until it is committed');
there_are(1, 'prepared', 'and is skipped');

# A deadlock over near rows, and only there.
answer('A', "SET deadlock_timeout = '100ms'");
answer($_, 'BEGIN') for qw(A B);
answer('A', insert('first', 0));
answer('B', insert('second', 0));
begin('B', insert('first', 1));
waits('B', 'transactionid', 'one waits for the other');
my $first = answer('A', insert('second', 1));
answer('A', 'COMMIT');
my $second = ended('B');
answer('B', 'COMMIT');
is(join('', sort $first, $second), 'ERROR:  40P01', 'the other for the one: one of them ends');
there_are(1, 'first', 'the first row is there once');
there_are(1, 'second', 'and the second');

# Links.
answer('A', 'BEGIN');
answer('A', "INSERT INTO linked (id, kind, fp) VALUES (1, 'linked', of('linked'))");
begin('B', "INSERT INTO linked (id, kind, fp) VALUES (2, 'linked', of('linked', 1))");
waits('B', 'transactionid', 'a row that is linked waits');
answer('A', 'ROLLBACK');
is(ended('B'), '', 'until the other transaction has ended');
is(answer('A', "INSERT INTO linked (id, kind, fp) VALUES (3, 'linked', of('linked', 2))"), '',
	'another one');
answer_is($node, 'SELECT id, same_as FROM linked ORDER BY id', "2|\n3|2", 'no link leads nowhere');

# Scopes, and one writer at a time.
answer('A', 'BEGIN');
answer('A', "INSERT INTO scoped (kind, fp, tenant) VALUES ('scoped', of('scoped'), 1)");
is(answer('B', "INSERT INTO scoped (kind, fp, tenant) VALUES ('scoped', of('scoped', 1), 2)"), '',
	'near rows of different tenants do not wait');
begin('B', "INSERT INTO scoped (kind, fp, tenant) VALUES ('scoped', of('scoped', 1), 1)");
waits('B', 'transactionid', 'those of one tenant do');
answer('A', 'COMMIT');
is(ended('B'), '', 'until the other is committed');
there_are(2, 'scoped', 'and are skipped', 'scoped');
answer('A', 'BEGIN');
answer('A', "INSERT INTO one (kind, fp) VALUES ('one', of('one'))");
begin('B', "INSERT INTO one (kind, fp) VALUES ('other', of('other'))");
waits('B', 'advisory', 'with writers=one a far row waits');
answer('A', 'COMMIT');
is(ended('B'), '', 'until the other transaction has ended');
there_are(1, 'other', 'and is inserted', 'one');

# Triggers on several columns of one table, of different widths, and an index on an expression.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE wide (id serial PRIMARY KEY, kind text, body text, fp fingerprint64,
  fp128 fingerprint128, fp256 fingerprint256);
CREATE INDEX ON wide USING simhash (fp256);
CREATE INDEX ON wide USING simhash (fp);
CREATE INDEX ON wide USING simhash (minhash64(body));
CREATE INDEX ON wide USING simhash (body);
CREATE INDEX ON wide USING simhash (fp128);
SELECT simhash_dedup_create('wide', VARIADIC a) FROM (VALUES (ARRAY['fp=fp']),
  (ARRAY['fp=fp128', 'body=body']), (ARRAY['fp=fp256']), (ARRAY['body=body', 'similarity=0.9']),
  (ARRAY['fp=fp', 'distance=1', 'scope=kind'])) v (a);
SQL
is(answer('A', "INSERT INTO wide (kind, body, fp, fp256) SELECT 'wide', kind, of(kind),
	simhash256(kind) FROM unnest(ARRAY['one', 'two', 'three', 'one']) kind"), '',
	'rows that several triggers judge');
there_are(3, 'wide', 'are judged by each', 'wide');
is(answer('A', "UPDATE wide SET body = body || ' more', fp = of(body || ' more')"), '', 'updated');
there_are(3, 'wide', 'too', 'wide');

# Texts by similarity: the same, and many clients with variations of the same texts.
$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION body(base int, variant int) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT string_agg(CASE WHEN i = variant % 37 THEN 'other' || variant ELSE
    test.word(base || ' ' || i) END, ' ' ORDER BY i) FROM generate_series(1, 40) i $$;
CREATE TABLE offered AS SELECT base, variant, body(base, variant)
  FROM generate_series(1, 60) base, generate_series(0, 5) variant;
CREATE TABLE story (id serial PRIMARY KEY, kind text, body text, same_as int);
CREATE INDEX story_body ON story USING simhash (body);
SELECT simhash_dedup_create('story', 'body=body', 'similarity=0.7');
SQL
answer('A', 'BEGIN');
answer('A', "INSERT INTO story (kind, body) VALUES ('story', body(1001, 1))");
is(answer('B', "INSERT INTO story (kind, body) VALUES ('another', body(1002, 1))"), '',
	'far texts do not wait');
begin('B', "INSERT INTO story (kind, body) VALUES ('story', body(1001, 2))");
waits('B', 'transactionid', 'near ones do');
answer('A', 'COMMIT');
is(ended('B'), '', 'until the other is committed');
there_are(1, 'story', 'and are skipped', 'story');
there_are(1, 'another', 'only these', 'story');
if (pgbench_tries_again('texts of many clients'))
{
	for my $arguments ("", "'action=link', 'link=same_as'")
	{
		my $name = $arguments ? 'links' : 'skips';
		$node->safe_psql('postgres', <<"SQL");
TRUNCATE story;
DROP TRIGGER zz_simhash_dedup ON story;
SELECT simhash_dedup_create('story', VARIADIC ARRAY['body=body', 'similarity=0.7'@{[
	$arguments ? ", $arguments" : '']}]);
SQL
		$node->pgbench('-n -c 6 -j 2 -t 60 --max-tries=1000 -D i=0', 0,
			[qr/actually processed: 360/], [qr/^(?!.*(?:ERROR|aborted|FATAL))/s],
			"$name: six clients", { $name => <<'SQL' });
\set base (:i * 7 + :client_id * 13) % 60 + 1
INSERT INTO story (body) SELECT body FROM offered WHERE base = :base AND variant = :client_id;
\set i :i + 1
SQL
		my $force = by_force();
		answer_is($node, <<"SQL", '0', "$name: no near texts without a link");
$force SELECT count(*) FROM story a JOIN story b ON a.id < b.id
  AND text_similarity(a.body, b.body) >= 0.7 WHERE num_nulls(a.same_as, b.same_as) = 2
SQL
		answer_is($node, <<"SQL", '0', "$name: every text has one near it");
$force SELECT count(*) FROM offered o
  WHERE NOT EXISTS (SELECT FROM story s WHERE text_similarity(o.body, s.body) >= 0.7)
SQL
		answer_is($node, <<"SQL", '0', "$name: links lead to near texts that are there");
$force SELECT count(*) FROM story s LEFT JOIN story o ON o.id = s.same_as
  WHERE s.same_as IS NOT NULL AND coalesce(text_similarity(s.body, o.body), 0) < 0.7
SQL
		answer_is($node, 'SELECT count(*) FROM story', $arguments ? 360 : 60, "$name: rows");
		index_is_clean($node, 'story_body', "$name: the structure is sound");
		there_are(0, 'none', "$name: no claim is left", 'story');
	}
}

## Several triggers of a table: claims of one are not compared with those of another.
{
	$node->safe_psql('postgres', <<'SQL');
CREATE TABLE graded (id serial PRIMARY KEY, body text, tenant int, likely bool, same bool);
CREATE INDEX ON graded USING simhash (body) WITH (similarity = 0.5);
SELECT simhash_dedup_create('graded', 'body=body', 'similarity=0.9'),
  simhash_dedup_create('graded', 'body=body', 'similarity=0.5', 'action=flag', 'flag=likely'),
  simhash_dedup_create('graded', 'body=body', 'similarity=0.5', 'config={"shingle": 1}',
    'action=flag', 'flag=same');
SQL
	$node->pgbench('-n -c 8 -j 2 -t 300', 0,
		[qr/actually processed: 2400/], [qr/^(?!.*(?:ERROR|aborted|FATAL))/s],
		'three triggers, far rows: no deadlock', { 'far rows' => <<'SQL' });
INSERT INTO graded (body) SELECT string_agg(md5(random()::text), ' ') FROM generate_series(1, 12);
SQL
	answer_is($node, 'SELECT count(*), bool_or(likely), bool_or(same) FROM graded', '2400|f|f',
		'and all are in');
}

## A row is let through because it has the key of its near row, whose key changes meanwhile.
{
	$node->safe_psql('postgres', <<'SQL');
CREATE TABLE rekeyed (id int PRIMARY KEY, fp fingerprint64);
CREATE INDEX ON rekeyed USING simhash (fp);
CREATE TRIGGER d BEFORE INSERT OR UPDATE ON rekeyed
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp');
CREATE TABLE deferred (id int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED, fp fingerprint64);
CREATE INDEX ON deferred USING simhash (fp);
CREATE TRIGGER d BEFORE INSERT OR UPDATE ON deferred
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp');
BEGIN;
INSERT INTO deferred VALUES (1, '00000000000000ff');
INSERT INTO deferred VALUES (1, '00000000000000ff');
UPDATE deferred SET id = id + 1;
COMMIT;
SQL
	answer_is($node, 'SELECT count(*) FROM deferred', '1', 'a key that may be deferred is none');
	begin('A', q{BEGIN; INSERT INTO rekeyed VALUES (1, '00000000000000ff')});
	ended('A');
	begin('B', q{INSERT INTO rekeyed VALUES (1, '00000000000000ff') ON CONFLICT DO NOTHING});
	waits('B', 'transactionid', 'a row with the same key waits in the unique index');
	begin('A', 'UPDATE rekeyed SET id = 2; COMMIT');
	ended($_) for 'A', 'B';
	answer_is($node, 'SELECT count(*) FROM rekeyed', '1', 'and does not come in by the key');
}

close_sessions();
my @expected = ('unique constraint', 'that is still being written', 'lock timeout',
	'deadlock detected', 'terminating connection');
my $expected = join('|', @expected);
is(session_errors(slurp_file($node->logfile), qr/$expected/), '', 'nothing unexpected in the log');
$node->stop;
done_testing();
