# Indexes with columns compared by equality and included columns give the answers of a table without
# an index: for random columns, tenants of every distribution and all widths, while rows are
# inserted and deleted, after vacuum, rebuilds and kill -9. Also parallel builds, standbys and
# exclusion constraints on such indexes.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use SimhashTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('main', <<'CONF', allows_streaming => 1);
shared_buffers = 32MB
autovacuum = off
jit = off
max_worker_processes = 8
max_parallel_workers = 8
max_parallel_maintenance_workers = 4
deadlock_timeout = 50ms
CONF
seed();
my $deadline = soak() ? time + soak_seconds() : 0;

sub pick { return $_[ roll(scalar @_) ] }
sub chance { return rand() < shift }
sub value { my ($sql) = @_; return $node->safe_psql('postgres', $sql) }

# --- Tables

# By type: an expression that maps a number k to a value. Enums, booleans and smallints have few
# distinct values.
my %scope_types = (
	boolean => 'k %% 2 = 0',
	smallint => '(k %% 60000 - 30000)::smallint',
	integer => '(k * 1000003 %% 4294967296 - 2147483648)::integer',
	bigint => 'k * 90000000000007 - 9000000000000000000',
	oid => '(k * 999983 %% 4294967296)::oid',
	uuid => 'md5(k::text)::uuid',
	text => q{CASE k WHEN 0 THEN '' ELSE 'tenant ' || k END},
	varchar => q{repeat('x', (k %% 300)::integer) || k},
	bytea => q{decode(md5(k::text), 'hex')},
	date => q{CASE k WHEN 0 THEN 'infinity' WHEN 1 THEN '-infinity'
		ELSE '2000-01-01'::date + k::integer %% 9999 END},
	timestamp => q{'1999-12-31'::timestamp + k * interval '1 microsecond'},
	timestamptz => q{CASE k WHEN 0 THEN '-infinity'
		ELSE '1999-12-31 00:00+00'::timestamptz + k * interval '1 day' END},
	'test.mood' => q{('{sad,ok,happy}'::test.mood[])[1 + k %% 3]});
my %distributions = (
	one => '0::bigint',
	few => 'abs(h %% 5)',
	# A value's share of the rows is inversely proportional to its number.
	zipf => 'floor(exp((h & 1048575) / 1048576.0 * ln(3000)))::bigint',
	different => 'i::bigint');
# By type: its size in bytes, and an expression over a hash h.
my %payload_types = (
	boolean => [ 1, 'h %% 2 = 0' ],
	'"char"' => [ 1, 'chr((abs(h) %% 90 + 33)::integer)::"char"' ],
	smallint => [ 2, '(h %% 32768)::smallint' ],
	integer => [ 4, '(h %% 2147483648)::integer' ],
	bigint => [ 8, 'h' ],
	float8 => [ 8, 'h / 7.0::float8' ],
	timestamptz => [ 8, q{'2000-01-01'::timestamptz + (h %% 1000000) * interval '1 second'} ],
	macaddr => [ 6, 'left(md5(h::text), 12)::macaddr' ],
	uuid => [ 16, 'md5(h::text)::uuid' ],
	interval => [ 16, q{(h %% 1000000) * interval '1 minute'} ]);

# A random table: its columns, how each is made of a row's number i, and its index.
sub random_table
{
	my @scope = map {
		my $type = pick(sort keys %scope_types);
		{ type => $type, distribution => pick(sort keys %distributions), nulls => pick(0, 2, 13) }
	} 1 .. pick(0, 1, 1, 1, 2, 2, 3);
	my ($left, @payload) = (28);
	while (chance(0.6) && @payload < 5)
	{
		my @fitting = grep { $payload_types{$_}[0] <= $left } sort keys %payload_types;
		last if !@fitting;
		my $type = pick(@fitting);
		push @payload, { type => $type, nulls => pick(0, 3) };
		$left -= $payload_types{$type}[0];
	}
	return {
		scope => \@scope,
		payload => \@payload,
		width => pick(64, 64, 128, 256),
		clusters => pick(1, 12, 300),
		options => join(', ', chance(0.4) ? 'blocks = ' . pick(2, 3, 5, 8, 16) : (),
			chance(0.4) ? 'fillfactor = ' . pick(50, 70, 100) : ()),
		returns_id => chance(0.7) };
}

sub describe
{
	my ($table) = @_;
	return "$table->{width} bits, $table->{clusters} clusters, scope ("
		. join(', ', map { "$_->{type} $_->{distribution}" } @{ $table->{scope} })
		. '), payload (' . join(', ', map { $_->{type} } @{ $table->{payload} }) . ')';
}

sub nullable
{
	my ($expression, $every) = @_;
	return $every ? "CASE WHEN abs(g % $every) > 0 THEN $expression END" : $expression;
}

# A query that generates the rows numbered `first` to `last` for a salt.
sub rows_query
{
	my ($table, $first, $last, $salt) = @_;
	my @columns;
	my $hashed = sub {
		my ($name, $expression, $nulls, $k) = @_;
		my $number = defined $k ? ", LATERAL (SELECT $k AS k) k" : '';
		push @columns, "(SELECT " . nullable($expression, $nulls)
			. " FROM (SELECT test.number('$salt $name ' || i) AS h, test.number('$name null ' || i) AS g) h"
			. "$number) AS $name";
	};
	for my $n (1 .. @{ $table->{scope} })
	{
		my $column = $table->{scope}[ $n - 1 ];
		$hashed->("s$n", sprintf($scope_types{ $column->{type} }), $column->{nulls},
			sprintf($distributions{ $column->{distribution} }));
	}
	for my $n (1 .. @{ $table->{payload} })
	{
		my $column = $table->{payload}[ $n - 1 ];
		$hashed->("p$n", sprintf($payload_types{ $column->{type} }[1]), $column->{nulls});
	}
	my $words = $table->{width} / 64;
	my $hex = join(' || ', map {
		"lpad(to_hex(test.number('centre $_ ' || abs(h % $table->{clusters}))"
			. " # test.flips('$salt flips $_ ' || i, abs(h / 1000 % 4))), 16, '0')"
	} 1 .. $words);
	$hashed->('fp', "($hex)::fingerprint$table->{width}", 17);
	return "SELECT i AS id, 0 AS note, " . join(', ', @columns)
		. " FROM generate_series($first, $last) i";
}

sub index_definition
{
	my ($table) = @_;
	my $keys = join(', ', (map { "s$_" } 1 .. @{ $table->{scope} }), 'fp');
	my @included = ($table->{returns_id} ? 'id' : (), map { "p$_" } 1 .. @{ $table->{payload} });
	my $include = @included ? ' INCLUDE (' . join(', ', @included) . ')' : '';
	my $options = $table->{options} ? " WITH ($table->{options})" : '';
	return "CREATE INDEX t_fp ON t USING simhash ($keys)$include$options;\n";
}

# Statements that apply the same change to the table and its copy.
sub on_both
{
	my ($statement) = @_;
	return join("\n", map { $statement =~ s/\bTARGET\b/$_/gr . ';' } 't', 'copy') . "\n";
}

sub make_table
{
	my ($table, $rows) = @_;
	my $half = int($rows / 2);
	my $all = rows_query($table, 1, $rows, 'first');
	my $grown = chance(0.5);
	$table->{next} = $rows + 1;
	my ($status, undef, $error) = $node->psql('postgres',
		"DROP TABLE IF EXISTS t, copy; CREATE TABLE t AS $all LIMIT 0; CREATE TABLE copy AS TABLE t;\n"
			. ($grown ? index_definition($table) : '') . on_both("INSERT INTO TARGET $all")
			. ($grown ? '' : index_definition($table)) . 'ANALYZE t;',
		on_error_stop => 1);
	return is($status, 0, ($grown ? 'grown: ' : 'built: ') . describe($table)) || diag($error);
}

# --- Steps that change a table

my %steps = (
	insert => sub {
		my ($table) = @_;
		my ($first, $count) = ($table->{next}, pick(1, 50, 700));
		$table->{next} += $count;
		return on_both('INSERT INTO TARGET '
			. rows_query($table, $first, $first + $count - 1, roll(9999)));
	},
	update => sub {
		my ($table) = @_;
		my @columns = ((map { "s$_" } 1 .. @{ $table->{scope} }),
			(map { "p$_" } 1 .. @{ $table->{payload} }), 'fp');
		my @taken = grep { chance(0.6) } @columns;
		@taken = ('fp') if !@taken;
		my $rest = roll(9);
		return on_both('UPDATE TARGET SET ' . join(', ', map { "$_ = r.$_" } @taken)
			. ' FROM (' . rows_query($table, 1, $table->{next}, roll(9999))
			. ") r WHERE r.id = TARGET.id AND TARGET.id % 9 = $rest");
	},
	# HOT updates.
	'hot update' => sub {
		return on_both('UPDATE TARGET SET note = note + 1 WHERE id % 4 = ' . roll(4));
	},
	delete => sub { return on_both('DELETE FROM TARGET WHERE id % 5 = ' . roll(5)) },
	'delete a tenant' => sub {
		my ($table) = @_;
		return '' if !@{ $table->{scope} };
		my $salt = roll(999);
		return <<"SQL" . on_both('DELETE FROM TARGET WHERE s1 = (SELECT s1 FROM gone)') . 'COMMIT;';
BEGIN;
CREATE TEMPORARY TABLE gone ON COMMIT DROP AS
  SELECT s1 FROM copy ORDER BY md5(id || ' $salt') LIMIT 1;
SQL
	},
	rollback => sub {
		my ($table) = @_;
		return 'BEGIN; INSERT INTO t ' . rows_query($table, 1, 300, 'undone') . '; ROLLBACK;';
	},
	vacuum => sub { return 'VACUUM ANALYZE t; VACUUM t;' },
	reindex => sub { return 'REINDEX INDEX t_fp;' },
	'reindex concurrently' => sub { return 'REINDEX INDEX CONCURRENTLY t_fp;' },
	crash => sub { return });

sub take_step
{
	my ($table, $step) = @_;
	my $sql = $steps{$step}->($table);
	if (!defined $sql)
	{
		value('CHECKPOINT') if chance(0.5);
		$node->kill9;
		return ok(start_again($node), "$step: recovery");
	}
	my ($status, undef, $error) = $node->psql('postgres', $sql, on_error_stop => 1);
	return is($status, 0, $step) || diag("$sql\n$error");
}

# --- Queries

# Literals of some rows' columns, by name. A NULL appears as NULL.
sub sample
{
	my ($table) = @_;
	my @names = ((map { "s$_" } 1 .. @{ $table->{scope} }), 'fp');
	my $columns = join(', ', map { "quote_nullable($_)" } @names);
	my @rows = split /\n/,
		value("SELECT $columns FROM copy ORDER BY md5(id::text || '" . roll(99999) . "') LIMIT 12");
	return map { my @values = split /\|/; my %row; @row{@names} = @values; \%row } @rows;
}

sub scope_condition
{
	my ($name, $type, @rows) = @_;
	my ($a, $b, $c) = map { pick(@rows)->{$name} . "::$type" } 1 .. 3;
	return pick(
		"$name = $a", "$name = $a", "$name = $b", "$name = $c", "$name = (SELECT $a)", "$b = $name",
		"$name = ANY (ARRAY[$a, $b, $c, $a, NULL]::${type}[])",
		"$name = ANY ((SELECT ARRAY[$a, $c])::${type}[])",
		"$name IN ($a, $b)", "$name IS NULL", "$name IS NOT NULL", "$name = $a AND $name = $b",
		"$name = ANY (ARRAY[$a, $b]) AND $name IS NOT NULL", "$name <> $a",
		"($name = $a OR $name = $b)", "$name IS NULL AND $name = (SELECT $a)");
}

# A literal near the fingerprint of a row, or at random.
sub point
{
	my ($width, @rows) = @_;
	my $fp = pick(map { $_->{fp} } @rows);
	$fp = q{'} . join('', map { sprintf '%x', roll(16) } 1 .. $width / 4) . q{'}
		if $fp eq 'NULL' || chance(0.1);
	for (1 .. roll(4))
	{
		my $at = 1 + roll($width / 4);
		substr($fp, $at, 1) = sprintf '%x', hex(substr($fp, $at, 1)) ^ (1 << roll(4));
	}
	return "${fp}::fingerprint$width";
}

sub fp_condition
{
	my ($width, @rows) = @_;
	my ($a, $b) = (point($width, @rows), point($width, @rows));
	my ($k, $l) = map { pick(0, 1, 3, 6, 10, int($width / 5), int($width * 0.45), $width) } 1 .. 2;
	return pick(
		'true', "hamming(fp, $a) <= $k", "hamming(fp, $a) <= $k", "hamming(fp, $a) < $k",
		"fp ~= $a", "fp = $a", 'fp IS NULL', 'fp IS NOT NULL',
		"fp = ANY (ARRAY[$a, $b, NULL])", "fp <@ ANY (ARRAY[hamming_ball($a, $k), hamming_ball($b, $l)])",
		"fp <@ hamming_ball($a, $k) AND fp <@ hamming_ball($b, $width / 2)",
		"hamming(fp, $a) BETWEEN 2 AND $k", "fp <@ hamming_ball((SELECT $a), $k)",
		"hamming(fp, $a) <= $k AND fp = ANY (ARRAY[$a, $b])");
}

# A random query, with TARGET in place of the table: a digest of rows, or distances in order.
sub random_query
{
	my ($table, @rows) = @_;
	my @scope = @{ $table->{scope} };
	my @conditions = map {
		chance(0.75) ? scope_condition("s$_", $scope[ $_ - 1 ]{type}, @rows) : ()
	} 1 .. @scope;
	my @columns = ((map { "s$_" } grep { $scope[ $_ - 1 ]{type} !~ /text|varchar|bytea/ } 1 .. @scope),
		(map { "p$_" } 1 .. @{ $table->{payload} }), 'fp', $table->{returns_id} ? 'id' : ());
	if (chance(0.3))
	{
		my $point = point($table->{width}, @rows);
		push @conditions, fp_condition($table->{width}, @rows) if chance(0.3);
		my $where = @conditions ? 'WHERE ' . join(' AND ', @conditions) : '';
		my $limit = pick('LIMIT 1', 'LIMIT 7', 'LIMIT 100', '');
		# Rows at the same distance have no defined order, but each row appears once and with its
		# distance.
		my $ids = $table->{returns_id} ? 'count(*) = count(DISTINCT id)' : 'true';
		return "SELECT array_agg(d)::text || ($ids)"
			. " || bool_and((d = hamming(fp, $point)) IS NOT FALSE) FROM (SELECT "
			. join(', ', @columns)
			. ", fp <~> $point AS d FROM TARGET $where ORDER BY fp <~> $point $limit) r";
	}
	push @conditions, fp_condition($table->{width}, @rows);
	@columns = ('id', @columns) if chance(0.3) && !$table->{returns_id};
	return "SELECT count(*) || ' ' || md5(string_agg(r::text, ';' ORDER BY r::text)) FROM (SELECT "
		. join(', ', @columns) . ' FROM TARGET WHERE ' . join(' AND ', @conditions) . ') r';
}

$node->safe_psql('postgres', <<'SQL');
CREATE TYPE test.mood AS ENUM ('sad', 'ok', 'happy');
-- The answer of a query by one kind of scan, if the planner finds a plan with it; and whether the
-- index was used.
CREATE FUNCTION test.answer(kind text, query text, OUT answer text, OUT used boolean)
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM test.allow(kind);
  used := test.plan(query) LIKE '%t_fp%';
  EXECUTE query INTO answer;
END $$;
-- Which of some queries have other answers by the index than the copy has by a sequential scan.
CREATE FUNCTION test.differing(kinds text[], queries text[], OUT failures text, OUT used bigint)
LANGUAGE plpgsql AS $$
DECLARE got record; expected text;
BEGIN
  failures := ''; used := 0;
  FOR i IN 1 .. cardinality(queries) LOOP
    SELECT * INTO got FROM test.answer(kinds[i], replace(queries[i], 'TARGET', 't'));
    used := used + got.used::integer;
    expected := (test.answer('sequential', replace(queries[i], 'TARGET', 'copy'))).answer;
    IF got.answer IS DISTINCT FROM expected THEN
      failures := failures || format(E'%s: %s, should be %s: %s\n', kinds[i], left(got.answer, 300),
        left(expected, 300), queries[i]);
    END IF;
  END LOOP;
END $$;
SQL

# Tests that the answers are those of the copy and used the index and, on the primary, that the
# structure is sound.
sub check_table
{
	my ($table, $name, $on) = @_;
	$on //= $node;
	my $count = soak() ? 60 : 30;
	my @rows = sample($table) or return;
	my @queries = map { random_query($table, @rows) } 1 .. $count;
	my @kinds = map { pick('index', 'index', 'only', 'bitmap', 'all') } @queries;
	my $list = sub { 'ARRAY[' . join(",\n", map { "\$q\$$_\$q\$" } @_) . ']' };
	index_is_clean($on, 't_fp', "$name: the structure is sound") if $on == $node;
	my ($status, $output, $error) = $on->psql('postgres',
		'SELECT failures, used FROM test.differing(' . $list->(@kinds) . ', ' . $list->(@queries) . ')');
	my ($failures, $used) = $output =~ /\A(.*)\|(\d+)\z/s;
	is($status == 0 ? $failures : $error, '', "$name: $count answers are those of the copy");
	cmp_ok($used // 0, '>', $count / 3, "$name: the index was used");
	return;
}

sub one_table
{
	my ($rows, @steps) = @_;
	my $table = random_table();
	make_table($table, $rows) or return;
	check_table($table, 'at first');
	my $done = '';
	for my $step (@steps)
	{
		take_step($table, $step) or return diag(describe($table));
		$done .= " $step";
		check_table($table, "after$done") if chance(0.5) || $step eq $steps[-1];
	}
	return $table;
}

sub properties
{
	my @names = sort keys %steps;
	my $table = 0;
	do
	{
		my @taken = map { pick(@names) } 1 .. (soak() ? 10 : 4);
		# In the short form every step runs at least twice, and each table ends with a crash or a
		# vacuum.
		@taken = (@names[ 3 * $table % @names, (3 * $table + 1) % @names, (3 * $table + 2) % @names ],
			$table % 4 == 2 ? 'crash' : 'vacuum') if !soak();
		note "table $table";
		one_table(soak() ? pick(300, 3000, 20_000) : pick(0, 600, 2500), @taken);
		$table++;
	} while (soak() ? time < $deadline : $table < 8);
	return;
}

# A cursor that is read in pieces, while its own transaction adds rows that split pages, returns the
# rows that existed when it was opened, once each.
sub cursors
{
	value(<<'SQL');
DROP TABLE IF EXISTS t, copy;
CREATE TABLE t (id bigint, tenant integer, fp fingerprint64);
CREATE INDEX t_fp ON t USING simhash (tenant, fp) INCLUDE (id);
INSERT INTO t SELECT i, nullif(i % 40 - 9, 5), test.made(i / 40) FROM generate_series(1, 6000) i;
VACUUM ANALYZE t;
SQL
	my $near = 'hamming(fp, test.made(7)::fingerprint64) <= 26';
	my $order = 'ORDER BY fp <~> test.made(7)::fingerprint64';
	for my $condition ("tenant = 3 AND $near", "tenant = ANY ('{1, 2, 3, 20, 77}') AND $near", $near,
		"tenant IS NULL AND $near", "tenant IS NOT NULL AND $near", "tenant = ANY ('{1, 3}') $order",
		"tenant = 3 $order", "true $order")
	{
		my $plain = $condition =~ s/ORDER.*//r;
		my $expected =
			value(by_force() . "SELECT string_agg(id::text, ' ' ORDER BY id) FROM t WHERE $plain");
		for my $kind ('index', 'only', 'bitmap')
		{
			next if $kind eq 'bitmap' && $condition =~ /ORDER/;
			my $fill = <<'SQL';
INSERT INTO t SELECT 1000000 + i, (i % 4 + 1), test.made(7) FROM generate_series(1, 1500) i;
INSERT INTO t SELECT 1000000 + i, i, test.made(i) FROM generate_series(1, 1500) i;
SQL
			my $output = value("BEGIN; SELECT test.allow('$kind');"
				. "DECLARE c CURSOR FOR SELECT id FROM t WHERE $condition;"
				. "FETCH 3 FROM c; $fill FETCH 20 FROM c; $fill FETCH ALL FROM c; ROLLBACK;");
			is(join(' ', sort { $a <=> $b } grep { $_ ne '' } split /\n/, $output), $expected,
				"a cursor in pieces, $kind: $condition");
		}
	}
	index_is_clean($node, 't_fp', 'after cursors: the structure is sound');
	return;
}

# An index-only scan keeps the values of only one row in memory, whatever their types.
sub memory
{
	value(<<'SQL');
DROP TABLE IF EXISTS t;
CREATE TABLE t (tenant uuid, fp fingerprint256, page uuid, span interval);
INSERT INTO t SELECT md5((i % 3)::text)::uuid, repeat(md5(i::text), 2)::fingerprint256,
	md5('p' || i)::uuid, make_interval(secs => i) FROM generate_series(1, 20000) i;
CREATE INDEX t_fp ON t USING simhash (tenant, fp) INCLUDE (page, span);
VACUUM ANALYZE t;
SQL
	my $bytes = value(<<'SQL');
BEGIN;
SELECT test.allow('only');
DECLARE c CURSOR FOR SELECT tenant, fp, page, span FROM t;
MOVE 19000 FROM c;
SELECT sum(used_bytes) FROM pg_backend_memory_contexts WHERE name LIKE 'simhash%';
ROLLBACK;
SQL
	cmp_ok($bytes, '<', 100_000, 'an index-only scan keeps the values of one row');
	return;
}

# --- Builds

# The pages of an index without the 10 bytes that depend on when they were written.
sub pages
{
	return value(<<'SQL');
SELECT count(*) || ' pages '
    || md5(string_agg(substr(get_raw_page('t_fp', n::integer), 11), '' ORDER BY n))
  FROM generate_series(0, pg_relation_size('t_fp') / current_setting('block_size')::integer - 1) n
SQL
}

# Builds in memory and on disk give the same pages. With workers they give about as many, because
# each part of a table that a process writes ends with a leaf that is not full. All give the answers
# of the copy.
sub builds
{
	my $rows = soak() ? 300_000 : 20_000;
	my $table = {
		scope => [ { type => 'integer', distribution => 'zipf', nulls => 13 },
			{ type => 'text', distribution => 'few', nulls => 2 } ],
		payload => [ { type => 'uuid', nulls => 3 }, { type => 'smallint', nulls => 0 } ],
		width => 64, clusters => 300, options => '', returns_id => 1 };
	make_table($table, $rows) or return;
	value('CREATE EXTENSION pageinspect; VACUUM ANALYZE t');
	my (%pages, %counts);
	for my $workers (0, 1, 3)
	{
		for my $memory ('1MB', '64MB')
		{
			my (undef, undef, $messages) = $node->psql('postgres',
				"ALTER TABLE t SET (parallel_workers = $workers); SET maintenance_work_mem = '$memory';"
					. 'SET client_min_messages = debug1; REINDEX INDEX t_fp;');
			like($messages, qr/$workers of $workers parallel workers launched/,
				"$workers workers are launched") if $workers && $memory eq '64MB';
			my $pages = pages();
			$pages{$pages} = 1 if !$workers;
			$counts{"$workers $memory"} = $pages =~ s/ .*//r;
			check_table($table, "built with $workers workers and $memory")
				if $memory eq '1MB' || $workers == 3;
		}
	}
	is(scalar(keys %pages), 1, 'in memory and on disk: the same pages');
	my $alone = $counts{'0 1MB'};
	# The bound is for five tables.
	my @others = grep { abs($counts{$_} - $alone) > 2 * 5 * substr($_, 0, 1) } sort keys %counts;
	is("@others", '', 'with workers: about as many pages');
	return;
}

# --- A standby gives the primary's answers, during replay and after its promotion

sub standby
{
	value('DROP TABLE IF EXISTS t, copy');
	$node->backup('base');
	my $standby = PostgreSQL::Test::Cluster->new('standby');
	$standby->init_from_backup($node, 'base', has_streaming => 1);
	$standby->start;
	for my $number (1 .. (soak() ? 6 : 2))
	{
		my $table = random_table();
		make_table($table, 2000) or next;
		my $name = "standby, table $number";
		for my $step ('insert', 'update', 'delete', 'vacuum', 'insert')
		{
			take_step($table, $step) or last;
		}
		$node->wait_for_catchup($standby);
		check_table($table, $name, $standby);
		take_step($table, 'reindex');
		take_step($table, 'update');
		$node->wait_for_catchup($standby);
		check_table($table, "$name, after a rebuild", $standby);
		if ($number == (soak() ? 6 : 2))
		{
			$standby->promote;
			index_is_clean($standby, 't_fp', 'promoted: the structure is sound');
			check_table($table, 'promoted', $standby);
		}
	}
	$standby->stop;
	return;
}

# --- No near-duplicates within a tenant, under eight clients

# By name: the tenant's type and value, the excluded elements, the distance.
my %constraints = (
	near => [ 'integer', ':tenant', 'tenant WITH =, fp WITH ~=', 3 ],
	ball => [ 'text', q{'tenant ' || :tenant}, 'tenant WITH =, hamming_ball(fp, 5) WITH ~=', 5 ],
	'two columns' =>
		[ 'uuid', 'md5(:tenant::text)::uuid', 'tenant WITH =, half WITH =, fp WITH ~=', 3 ]);

sub exclusion
{
	my ($kind, $level) = @_;
	my $name = "exclusion, $kind, \L$level";
	return unless pgbench_tries_again($name);
	my ($type, $tenant, $excluded, $distance) = @{ $constraints{$kind} };
	my $transactions = soak() ? 1500 : 100;
	value(<<"SQL");
DROP TABLE IF EXISTS kept, offered;
CREATE TABLE kept (id bigint GENERATED ALWAYS AS IDENTITY, tenant $type, half boolean DEFAULT true,
  fp fingerprint64, CONSTRAINT no_near EXCLUDE USING simhash ($excluded) INCLUDE (id));
CREATE TABLE offered (tenant $type, fp fingerprint64);
SQL
	my $salt = roll(1_000_000);
	my $made = "(test.number('$salt ' || :base) # test.flips(:variant::text, :variant % 4))"
		. '::fingerprint64';
	my $begin = <<"SQL";
\\set tenant random_zipfian(1, 6, 1.2)
\\set base random(1, $transactions / 2)
\\set variant random(1, 1000000000)
BEGIN ISOLATION LEVEL $level;
SQL
	my $file = "\L${kind}_$level" =~ s/ /_/gr;
	$node->pgbench("-n -c 8 -j 2 -t $transactions --max-tries=1000", 0, [qr/processed: [1-9]/],
		[qr/^(?!.*(?:ERROR|aborted|FATAL))/s], "$name: eight clients", {
			"nothing_$file\@12" => $begin . <<"SQL",
INSERT INTO offered VALUES ($tenant, $made);
INSERT INTO kept (tenant, fp) VALUES ($tenant, $made) ON CONFLICT DO NOTHING;
COMMIT;
SQL
			"update_$file\@2" => $begin . <<"SQL",
SELECT test.try(\$\$UPDATE kept SET fp = \$\$ || quote_literal($made)
  || \$\$ WHERE id = \$\$ || 1 + :variant % 200);
COMMIT;
SQL
			"error_$file\@4" => $begin . <<"SQL",
INSERT INTO offered VALUES ($tenant, $made);
SELECT test.try(format('INSERT INTO kept (tenant, fp) VALUES (%L, %L)', $tenant, $made));
COMMIT;
SQL
			"delete_$file\@1" => $begin . <<"SQL",
DELETE FROM kept WHERE id = 1 + :variant % 300;
COMMIT;
SQL
			# To truncate the table, each vacuum would wait for those behind it.
			"vacuum_$file\@1" => "VACUUM (TRUNCATE off) kept;\n" });
	my $plain = by_force();
	my $pairs = 'SELECT count(*) FROM kept a JOIN kept b ON a.id < b.id '
		. "AND hamming(a.fp, b.fp) <= $distance";
	answer_is($node, "$plain $pairs AND a.tenant = b.tenant", '0', "$name: no pair within a tenant");
	cmp_ok(value("$plain $pairs AND a.tenant <> b.tenant"), '>', 10, "$name: pairs across tenants");
	my ($kept, $offered) = split /\|/,
		value('SELECT (SELECT count(*) FROM kept), (SELECT count(*) FROM offered)');
	cmp_ok($offered, '>', 1.3 * $kept, "$name: there were conflicts ($kept of $offered kept)");
	cmp_ok($kept, '>', 30, "$name: there were rows to keep");
	index_is_clean($node, 'no_near', "$name: the structure is sound");
	return;
}

sub exclusions
{
	value(<<'SQL');
CREATE FUNCTION test.try(statement text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE statement;
EXCEPTION WHEN exclusion_violation THEN NULL;
END $$
SQL
	my @levels = ('READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE');
	my @kinds = sort keys %constraints;
	for my $n (0 .. $#levels)
	{
		exclusion($_, $levels[$n]) for soak() ? @kinds : $kinds[$n];
	}
	return;
}

# An index would keep apart texts that are equal although their bytes differ.
sub collations
{
	return note 'collations: not run, because this server has no ICU'
		if value(q{SELECT count(*) FROM pg_collation WHERE collprovider = 'i'}) eq '0';
	value(<<'SQL');
CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE texts (body text COLLATE blind, other text COLLATE "C", fp fingerprint64);
CREATE INDEX texts_other ON texts USING simhash (other, (body COLLATE "C"), fp);
INSERT INTO texts VALUES ('A', 'A', '0000000000000000'), ('a', 'a', '0000000000000000');
SQL
	error_like($node, $_, qr/0A000: nondeterministic collations are not supported.*"blind".*HINT/s,
		"refused: $_")
		for 'CREATE INDEX ON texts USING simhash (body, fp)',
		'CREATE INDEX ON texts USING simhash (other COLLATE blind, fp)',
		'ALTER TABLE texts ADD EXCLUDE USING simhash (body WITH =, fp WITH ~=)',
		'ALTER TABLE texts ALTER other TYPE text COLLATE blind';
	answer_is($node, <<'SQL', "2\n1", 'another collation in the condition is another equality');
SET enable_seqscan = off;
SELECT count(*) FROM texts WHERE other = 'a' COLLATE blind AND fp ~= '0000000000000001';
SELECT count(*) FROM texts WHERE other = 'a' AND fp ~= '0000000000000001';
SQL
	return;
}

# citext has the layout of text, and PostgreSQL accepts it as text, but it has its own equality.
sub own_equality
{
	return note 'own_equality: not run, because this server has no citext'
		if value(q{SELECT count(*) FROM pg_available_extensions WHERE name = 'citext'}) eq '0';
	value('CREATE EXTENSION citext; CREATE TABLE named (name citext, fp fingerprint64)');
	error_like($node, 'CREATE INDEX ON named USING simhash (name, fp)',
		qr/0A000: column 1 of index .* is of type (public\.)?citext.*HINT/s, 'refused: citext');
	value('CREATE INDEX ON named USING simhash (lower(name::text), fp)');
	return;
}

properties();
own_equality();
cursors();
memory();
builds();
exclusions();
collations();
standby();
unlike(slurp_file($node->logfile), qr/PANIC|terminated by signal (?!9)/, 'no crash but ours');
$node->stop;
done_testing();
