# An index never changes the privileges that a role needs. The extension is in its own schema, on
# which one role has USAGE and another does not. Both use objects that others made for them (views,
# functions, policies, triggers) over a table with indexes, with the rewrite on and off, and over
# the same table without an index. They get the same rows, or the same error.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use SimhashTest;
use PostgreSQL::Test::Cluster;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "autovacuum = off\njit = off\nrestart_after_crash = on");
$node->start;
my $version = $node->safe_psql('postgres',
	"SELECT current_setting('server_version_num')::integer / 10000");

# Two schemas of the same objects: `indexed` has simhash indexes, `bare` none.
my @schemas = ('indexed', 'bare');
my @q = ("'0000000000000000'", "'00000000000000ff'");
my $wide = "'" . '0' x 32 . "'";

# Conditions for views. They qualify the extension's names, as for any other object.
my %conditions = (
	at_most => "home.hamming(fp, $q[0]) <= 6",
	less => "home.hamming($q[0], fp) < 6",
	mirrored => "6 >= home.hamming(fp, $q[0])",
	equal => "home.hamming(fp, $q[0]) = 5",
	between => "home.hamming(fp, $q[0]) BETWEEN 2 AND 6",
	either => "home.hamming(fp, $q[0]) <= 2 OR home.hamming(fp, $q[1]) <= 2",
	operator => "fp OPERATOR(home.<~>) $q[0] <= 6",
	column_limit => "home.hamming(fp, $q[0]) <= k",
	subquery_limit => "home.hamming(fp, $q[0]) < (SELECT 6)",
	within => "fp OPERATOR(home.<@) home.hamming_ball($q[0]::home.fingerprint64, 6)",
	contains => "home.hamming_ball($q[0]::home.fingerprint64, 6) OPERATOR(home.@>) fp",
	near => "fp OPERATOR(home.~=) $q[0]",
	same => "fp OPERATOR(home.=) $q[0]",
	wide => "home.hamming(w, $wide) <= 12",
	bigint => 'home.hamming(h, 0) <= 6',
	lexicons => "home.hamming(lex, '{0000000000000000}') <= 6",
	balls => 'home.hamming_ball(fp, 6) OPERATOR(home.~=) '
		. "home.hamming_ball($q[0]::home.fingerprint64, 6)",
	join => "EXISTS (SELECT FROM %s.probe p WHERE home.hamming(t.fp, p.fp) <= 2)",
	anti_join => "NOT EXISTS (SELECT FROM %s.probe p WHERE home.hamming(t.fp, p.fp) <= 2)");

my $script = <<'SQL';
SET client_min_messages = warning;
CREATE ROLE maker;
CREATE ROLE user_of_schema;
CREATE ROLE stranger;
CREATE SCHEMA home;
CREATE EXTENSION pg_simhash SCHEMA home;
GRANT USAGE ON SCHEMA home TO maker, user_of_schema;
SQL
$script .= join '',
  map { "CREATE SCHEMA $_ AUTHORIZATION maker; GRANT USAGE ON SCHEMA $_ TO PUBLIC;\n" } @schemas;
$script .= "SET SESSION AUTHORIZATION maker;\n";
my @queries;

for my $schema (@schemas)
{
	$script .= <<"SQL";
SET search_path = $schema, home;
CREATE TABLE t (id integer PRIMARY KEY, body text, k integer, fp fingerprint64, w fingerprint128,
  h bigint, lex fingerprint64[]);
INSERT INTO t
SELECT i, 'text ' || i, i % 9, f, (f::text || f::text)::fingerprint128, f::bigint, ARRAY[f]
FROM (SELECT i, ((1::bigint << i % 9) - 1 + (i / 9 << 20))::fingerprint64 AS f
  FROM generate_series(1, 300) i) s;
CREATE TABLE probe AS SELECT id, fp FROM t WHERE id % 10 = 0;
CREATE TABLE parted (LIKE t) PARTITION BY RANGE (id);
CREATE TABLE parted1 PARTITION OF parted FOR VALUES FROM (0) TO (100);
CREATE TABLE parted2 PARTITION OF parted FOR VALUES FROM (100) TO (1000);
INSERT INTO parted SELECT * FROM t;
CREATE TABLE ruled (LIKE t);
INSERT INTO ruled SELECT * FROM t;
ALTER TABLE ruled ENABLE ROW LEVEL SECURITY;
CREATE POLICY near ON ruled USING (hamming(fp, $q[0]) <= 6) WITH CHECK (hamming(fp, $q[0]) <= 20);
-- A table of which only two columns may be read.
CREATE TABLE part_read (LIKE t);
INSERT INTO part_read SELECT * FROM t;
-- Written to by others: a check, a generated column, a default, triggers.
CREATE TABLE written (id integer PRIMARY KEY, body text,
  fp fingerprint64 DEFAULT simhash('nothing') CHECK (hamming(fp, $q[0]) <= 64),
  made fingerprint64 GENERATED ALWAYS AS (simhash(body)) STORED);
INSERT INTO written VALUES (1, 'one two three', $q[0]), (2, 'something else', $q[1]);
CREATE TABLE guarded (id integer PRIMARY KEY, body text, fp fingerprint64);
CREATE TRIGGER dedup BEFORE INSERT OR UPDATE ON guarded FOR EACH ROW
  EXECUTE FUNCTION simhash_dedup('body=body', 'fp=fp', 'action=skip');
INSERT INTO guarded VALUES (1, NULL, $q[0]), (2, 'one two three', NULL);
CREATE TABLE upserted (id integer PRIMARY KEY, fp fingerprint64);
INSERT INTO upserted VALUES (1, $q[0]);
SQL
	if ($schema eq 'indexed')
	{
		for my $table ('t', 'parted', 'ruled', 'part_read')
		{
			$script .=
			  join '', map { "CREATE INDEX ON $table USING simhash ($_);\n" }
			  'fp', 'w', 'h hamming_int8_ops', 'lex', 'hamming_ball(fp, 6)';
		}
		$script .= <<"SQL";
CREATE INDEX ON probe USING simhash (fp);
CREATE INDEX ON t (k) WHERE hamming(fp, $q[0]) <= 6;
CREATE INDEX ON t (hamming(fp, $q[0]));
CREATE INDEX ON written USING simhash (fp) WHERE hamming(fp, $q[0]) <= 30;
CREATE INDEX ON written USING simhash (made);
CREATE INDEX ON written USING simhash (simhash(body));
CREATE INDEX ON guarded USING simhash (fp);
CREATE INDEX ON upserted USING simhash (fp);
SQL
	}
	$script .= "SET search_path = pg_catalog;\n";
	for my $name (sort keys %conditions)
	{
		my $condition = sprintf $conditions{$name} =~ s/%s/$schema/r;
		$script .= <<"SQL";
CREATE VIEW $schema.v_$name AS SELECT id, k, fp FROM $schema.t WHERE $condition;
CREATE VIEW $schema.b_$name WITH (security_barrier) AS SELECT id, k FROM $schema.t WHERE $condition;
CREATE VIEW $schema.p_$name AS SELECT id FROM $schema.parted t WHERE $condition;
CREATE VIEW $schema.o_$name AS SELECT id FROM $schema.v_$name WHERE id > 10;
CREATE FUNCTION $schema.d_$name() RETURNS SETOF integer LANGUAGE sql SECURITY DEFINER AS
  \$\$SELECT id FROM $schema.t WHERE $condition\$\$;
CREATE FUNCTION $schema.i_$name() RETURNS SETOF integer LANGUAGE sql STABLE AS
  \$\$SELECT id FROM $schema.t WHERE $condition\$\$;
CREATE FUNCTION $schema.l_$name() RETURNS SETOF integer LANGUAGE plpgsql AS
  \$\$BEGIN RETURN QUERY SELECT id FROM $schema.t WHERE $condition; END\$\$;
SQL
		$script .=
		    "CREATE VIEW $schema.s_$name WITH (security_invoker) AS "
		  . "SELECT id FROM $schema.t WHERE $condition;\n"
		  if $version >= 15;
		$script .=
		    "CREATE FUNCTION $schema.a_$name() RETURNS SETOF integer LANGUAGE sql STABLE "
		  . "BEGIN ATOMIC SELECT id FROM $schema.t WHERE $condition; END;\n";
	}
	$script .= <<"SQL";
CREATE VIEW $schema.nearest AS SELECT id FROM $schema.t
  ORDER BY fp OPERATOR(home.<~>) $q[0], id LIMIT 5;
CREATE VIEW $schema.pairs AS SELECT a.id AS a, b.id AS b
  FROM $schema.t a JOIN $schema.t b ON home.hamming(a.fp, b.fp) <= 1 AND a.id < b.id;
CREATE VIEW $schema.pairs_outer AS SELECT a.id AS a, b.id AS b
  FROM $schema.probe a LEFT JOIN $schema.t b ON home.hamming(a.fp, b.fp) < a.id % 4;
CREATE VIEW $schema.checked AS SELECT id, fp FROM $schema.upserted
  WHERE home.hamming(fp, $q[0]) <= 6 WITH CHECK OPTION;
GRANT SELECT ON ALL TABLES IN SCHEMA $schema TO PUBLIC;
REVOKE SELECT ON $schema.part_read FROM PUBLIC;
GRANT SELECT (id, k) ON $schema.part_read TO PUBLIC;
GRANT INSERT, UPDATE, DELETE ON $schema.written, $schema.guarded, $schema.upserted, $schema.checked,
  $schema.ruled, $schema.v_at_most, $schema.v_less TO PUBLIC;
GRANT UPDATE, DELETE ON $schema.t TO PUBLIC;
SQL
}

# Queries over either schema. With or without an index, those that name the extension's functions
# need USAGE on its schema.
for my $name (sort keys %conditions)
{
	push @queries, map { "SELECT id FROM %s.${_}_$name" } 'v', 'b', 'p', 'o',
	  $version >= 15 ? 's' : ();
	push @queries, map { "SELECT * FROM %s.${_}_$name()" } 'd', 'i', 'l', 'a';
	push @queries, "SELECT count(*) FROM %s.v_$name a JOIN %s.b_$name b USING (id)",
	  "SELECT id FROM %s.probe WHERE id IN (SELECT id FROM %s.v_$name)",
	  "PREPARE q AS SELECT id FROM %s.v_$name; EXECUTE q; DEALLOCATE q",
	  "DECLARE c CURSOR FOR SELECT id FROM %s.b_$name; FETCH ALL FROM c",
	  "UPDATE %s.t SET k = 1 WHERE id IN (SELECT id FROM %s.v_$name) RETURNING id",
	  "DELETE FROM %s.t USING %s.v_$name v WHERE v.id = t.id RETURNING t.id",
	  ($conditions{$name} =~ /%s/ ? () : "SELECT id FROM %s.t WHERE $conditions{$name}"),
	  ($conditions{$name} =~ /%s/ ? () : "SELECT id FROM %s.part_read WHERE $conditions{$name}");
}
push @queries, 'SELECT * FROM %s.nearest', 'SELECT * FROM %s.pairs',
  'SELECT * FROM %s.pairs_outer', 'SELECT id FROM %s.ruled',
  'SELECT count(*) FROM %s.ruled WHERE k < 5',
  'UPDATE %s.ruled SET k = 7 RETURNING id', 'DELETE FROM %s.ruled WHERE id < 50 RETURNING id',
  "INSERT INTO %s.ruled (id, fp) SELECT 1000, fp FROM %s.t WHERE id = 1 RETURNING id",
  'SELECT r.id, t.id FROM %s.ruled r JOIN %s.v_at_most t ON t.id = r.id',
  'SELECT id FROM %s.t WHERE k = 3', 'SELECT id FROM %s.part_read WHERE k = 3',
  "INSERT INTO %s.written (id, body) VALUES (10, 'four five') RETURNING id, fp, made",
  "UPDATE %s.written SET body = 'six' WHERE id = 1 RETURNING made",
  'UPDATE %s.written SET fp = made RETURNING id',
  "INSERT INTO %s.guarded (id, body) "
  . "VALUES (10, 'one two three'), (11, 'quite another text, of other words') RETURNING id",
  "UPDATE %s.guarded SET body = 'one, two, three' WHERE id = 1 RETURNING id",
  "INSERT INTO %s.guarded SELECT 12, NULL, fp FROM %s.t WHERE id = 1 RETURNING id",
  'UPDATE %s.checked SET id = id + 1 RETURNING id',
  'INSERT INTO %s.checked SELECT 20, fp FROM %s.t WHERE id = 1 RETURNING id',
  'INSERT INTO %s.checked SELECT 20, fp FROM %s.t WHERE id = 300 RETURNING id',
  'DELETE FROM %s.v_less RETURNING id', 'UPDATE %s.v_at_most SET k = 3 RETURNING id',
  'SELECT DISTINCT k FROM %s.v_at_most ORDER BY k', 'TABLE %s.upserted',
  'COPY (SELECT id FROM %s.v_less ORDER BY id) TO stdout';

my ($status, undef, $error) = $node->psql('postgres', $script, on_error_stop => 1);
is($status, 0, 'tables, views, functions and policies') or BAIL_OUT($error);
$node->safe_psql('postgres', 'VACUUM ANALYZE');

# Runs all queries as one role in each of the three ways. Returns how many succeeded.
sub same_for
{
	my ($role, $name, @settings) = @_;
	my @ways = ([ 'bare', 'on' ], [ 'indexed', 'on' ], [ 'indexed', 'off' ]);
	my $text = join "\n", "SET SESSION AUTHORIZATION $role;",
	  map { "SET $_ = off;\n" } 'enable_seqscan', @settings;
	for my $number (0 .. $#queries)
	{
		for my $way (0 .. $#ways)
		{
			my ($schema, $rewrite) = @{ $ways[$way] };
			my $query = $queries[$number] =~ s/%s/$schema/gr;
			$text .=
			  join "\n", "\\echo '#' $number $way",
			  "BEGIN; SET LOCAL simhash.enable_rewrite = $rewrite;", "$query;",
			  "\\echo '#state' :SQLSTATE", '\if :ERROR', '\echo :LAST_ERROR_MESSAGE', '\endif',
			  "ROLLBACK;\n";
		}
	}
	my ($status, $output, $error) = $node->psql('postgres', $text, on_error_stop => 0);
	is($status, 0, "$name: the session is there at the end") or diag($error);
	my (@answers, $current);
	for my $line (split /\n/, $output)
	{
		if ($line =~ /^# (\d+) (\d)$/) { $current = $answers[$1][$2] = [] }
		else { push @$current, $line =~ s/\b(?:bare|indexed)\b/schema/gr }
	}
	my ($wrong, $allowed) = (0, 0);
	for my $number (0 .. $#queries)
	{
		my ($expected, @others) =
		  map { join "\n", sort @{ $answers[$number][$_] // ['no answer'] } } 0 .. $#ways;
		$allowed++ if $expected =~ /^#state 00000$/m;
		for my $way (1, 2)
		{
			next if $others[ $way - 1 ] eq $expected;
			diag(join "\n", "$name, by $role: $queries[$number], rewrite $ways[$way][1]",
				'-- without an index', $expected, '-- with indexes', $others[ $way - 1 ])
				if $wrong++ < 5;
			last;
		}
	}
	is($wrong, 0, "$name: indexes change nothing in " . @queries . ' queries');
	return $allowed;
}

cmp_ok(same_for('user_of_schema', 'with USAGE'), '>', @queries * 0.85,
	'with USAGE nearly all is allowed');
cmp_ok(same_for('stranger', 'without USAGE'), '>', @queries * 0.6,
	'without USAGE what others made is allowed');
same_for('maker', 'the owner');

# A role that may call the functions in its query needs no privilege on those that the planner
# substitutes.
$node->safe_psql('postgres', <<'SQL');
DO $$
DECLARE helper regprocedure;
BEGIN
  FOR helper IN SELECT oid::regprocedure FROM pg_proc WHERE pronamespace = 'home'::regnamespace
    AND proname IN ('hamming_within', 'hamming_ball_or_null') LOOP
    EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', helper);
  END LOOP;
END $$
SQL
same_for('user_of_schema', 'with USAGE, without EXECUTE on what the planner writes');
same_for('stranger', 'without USAGE, without EXECUTE on what the planner writes');
$node->safe_psql('postgres', <<'SQL');
DO $$
DECLARE behind regprocedure;
BEGIN
  FOR behind IN SELECT DISTINCT oprcode::regprocedure FROM pg_operator
    WHERE oprnamespace = 'home'::regnamespace AND oprname = '<@' LOOP
    EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', behind);
  END LOOP;
END $$
SQL
# For an index scan PostgreSQL itself, with any access method, turns `ball @> fp` into `fp <@ ball`,
# whose function its executor may then be forbidden to call. A bitmap scan uses the condition as it
# was written.
my $contains = "SET SESSION AUTHORIZATION user_of_schema; SET enable_seqscan = off; "
  . 'SET enable_bitmapscan = %s; SET enable_indexscan = %s; '
  . 'SELECT count(*) FROM indexed.v_contains';
($status, undef, $error) = $node->psql('postgres', sprintf $contains, 'off', 'on');
like($error, qr/permission denied for function/, 'an index scan for @> needs the function of <@');
is($node->safe_psql('postgres', sprintf $contains, 'on', 'off'),
	$node->safe_psql('postgres', 'SELECT count(*) FROM bare.v_contains'),
	'a bitmap scan does not');
my @bitmap = ('enable_indexscan', 'enable_indexonlyscan');
same_for('user_of_schema', 'with USAGE, without EXECUTE on <@', @bitmap);
same_for('stranger', 'without USAGE, without EXECUTE on <@', @bitmap);

$node->stop;
done_testing();
