# Random queries, each in two wordings: over the extension's types and operators, and over bigint
# copies of the same rows with plain SQL. The first wording runs with the rewrite on and off, under
# settings that change the planner's choices. All must give the same rows, or the same error. There
# are 2,500 queries. The long form runs as many as fit into SIMHASH_SOAK_SECONDS (300), with new
# rows after each 2,500.
#
# A failure prints what repeats it: with SIMHASH_SEED and SIMHASH_CASE only that query runs.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use SimhashTest;
use EquivalenceValues;
use EquivalenceQueries;
use PostgreSQL::Test::Utils;
use Test::More;

my $count = 2500;
my $batch = 250;
my $single = $ENV{SIMHASH_CASE};
my $deadline = soak() && !defined $single ? time + soak_seconds() : 0;
my $base_seed = seed();
my $node = new_node('main', <<'CONF');
autovacuum = off
jit = off
restart_after_crash = on
shared_buffers = 128MB
statement_timeout = 60s
max_parallel_workers = 4
max_worker_processes = 12
CONF

# Settings that change plans but not answers, with the values that they take.
my %settings = (
	(map { $_ => [ 'off', 'off', 'on' ] } qw(enable_seqscan)),
	(   map { $_ => [ 'off', 'on' ] }
		  qw(enable_indexscan enable_bitmapscan enable_indexonlyscan enable_nestloop
		  enable_hashjoin enable_mergejoin enable_material enable_memoize enable_sort
		  enable_incremental_sort enable_hashagg enable_partition_pruning enable_tidscan
		  enable_partitionwise_join enable_partitionwise_aggregate enable_group_by_reordering
		  enable_presorted_aggregate enable_self_join_elimination enable_or_transformation geqo
		  parallel_leader_participation)
	),
	plan_cache_mode => [qw(auto force_generic_plan force_generic_plan force_custom_plan)],
	constraint_exclusion => [qw(on off partition)],
	from_collapse_limit => [ 1, 8 ],
	join_collapse_limit => [ 1, 8 ],
	geqo_threshold => [ 2, 12 ],
	work_mem => [ '64kB', '4MB' ],
	random_page_cost => [ 0, 1, 4 ],
	cpu_operator_cost => [ 0.0001, 0.0025, 1 ],
	effective_cache_size => [ '8MB', '4GB' ],
	cursor_tuple_fraction => [ 0.01, 1 ]);
my @known = grep { $settings{$_} } split /\n/,
  $node->safe_psql('postgres', 'SELECT name FROM pg_settings ORDER BY name');
my $forced_parallel = $node->safe_psql('postgres',
	"SELECT name FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query')");

sub some_settings
{
	my %set = map { $_ => pick(@{ $settings{$_} }) }
	  grep { chance($_ eq 'enable_seqscan' ? 0.7 : 0.12) } @known;
	if (chance(0.06))
	{
		%set = (%set, $forced_parallel => 'on') if chance(0.4);
		%set = (
			%set,
			max_parallel_workers_per_gather => 2,
			parallel_setup_cost => 0,
			parallel_tuple_cost => 0,
			min_parallel_table_scan_size => 0,
			min_parallel_index_scan_size => 0);
	}
	return join '', map { "SET LOCAL $_ = '$set{$_}'; " } sort keys %set;
}

# --- Cases

# One case: the statements in both wordings, settings, and whether the order of the answer is known.
sub make_case
{
	my ($seed, $number) = @_;
	srand($seed * 1_000_003 + $number);
	my $mode =
	  pick(('plain') x 9, 'cursor', ('prepared') x 4, ('plpgsql') x 3, 'function', 'view', 'table');
	my $writes = $mode =~ /^(?:plain|prepared)$/ && chance(0.12);
	my $takes_parameters = $mode =~ /^(?:prepared|plpgsql|function)$/;
	new_case($takes_parameters);
	my ($about, $query) = statement($writes, $takes_parameters ? 15_000 : 40_000);
	my $settings = some_settings();
	my $types = parameters();
	my $declared = $types->[0] ? pair('(', $types, ')') : '';

	# The sixth call of a prepared statement or a function may be the first with a generic plan.
	my $calls = !$types->[0] ? 2 : 7;
	my $call = sub { my $given = arguments(); return $types->[0] ? pair('(', $given, ')') : '' };
	my @statements = ($query);
	if ($mode eq 'cursor')
	{
		@statements = (
			pair('DECLARE c ', pick('', 'NO SCROLL ', 'SCROLL '), 'CURSOR FOR ', $query),
			map { pair("FETCH $_ FROM c") } pick(1, 3, 20), 'ALL');
	}
	elsif ($mode eq 'prepared')
	{
		@statements = (
			pair('PREPARE q', $declared, ' AS ', $query),
			map { pair('EXECUTE q', $call->()) } 1 .. ($writes ? 1 : $calls));
	}
	elsif ($takes_parameters)
	{
		my $named = $types->[0] ? $declared : '()';
		my $language = $mode eq 'plpgsql' ? 'plpgsql' : 'sql ' . pick('STABLE', 'VOLATILE');
		my $body =
			$mode eq 'function' ? pair('SELECT s::text FROM (', $query, ') s')
		  : chance(0.5) ? pair('BEGIN RETURN QUERY SELECT s::text FROM (', $query, ') s; END')
		  : pair('DECLARE r record; BEGIN FOR r IN ',
			$query, ' LOOP RETURN NEXT r::text; END LOOP; END');
		@statements = (
			pair(
				'CREATE FUNCTION pg_temp.q',
				$named, " RETURNS SETOF text LANGUAGE $language AS \$body\$ ",
				$body, ' $body$'),
			map { pair('SELECT * FROM pg_temp.q', $call->() || '()') } 1 .. $calls);
	}
	elsif ($mode ne 'plain' && !$about->{ordered})
	{
		@statements = (pair('CREATE TEMPORARY ', $mode, ' q AS ', $query), pair('TABLE q'));
	}
	push @statements, $about->{check} if $about->{check};
	return {
		number => $number,
		mode => $mode,
		settings => $settings,
		statements => \@statements,
		ordered => $about->{ordered} };
}

# The script of one wording. In its output lines that begin with `#` are not rows.
sub script
{
	my ($case, $name, $side, $settings) = @_;
	return join "\n", "\\echo '#' $case->{number} $name", "BEGIN; $settings",
	  (map { "$_->[$side];\n\\echo '#' state :SQLSTATE" } @{ $case->{statements} }),
	  'ROLLBACK; DEALLOCATE ALL;', '';
}

my %variants = (
	plain => [ 1, sub { '' } ],
	on => [ 0, sub { $_[0] } ],
	off => [ 0, sub { "SET LOCAL simhash.enable_rewrite = off; $_[0]" } ]);

# Runs cases in one session. Returns each variant's answer by case number, and how the session
# ended.
sub run_cases
{
	my (@cases) = @_;
	my $text = join '', map {
		my $case = $_;
		map { script($case, $_, $variants{$_}[0], $variants{$_}[1]->($case->{settings})) }
		  sort keys %variants
	} @cases;
	my ($status, $output, $error) =
	  $node->psql('postgres', $text, on_error_stop => 0, extra_params => [ '-P', 'null=NULL' ]);
	my (%answers, $current);
	for my $line (split /\n/, $output)
	{
		if ($line =~ /^# (\d+) (\w+)$/) { $current = $answers{$1}{$2} = [ [] ]; }
		elsif ($line =~ /^# state (\S+)$/)
		{
			push @{ $current->[-1] }, "state $1";
			push @$current, [];
		}
		elsif (defined $current) { push @{ $current->[-1] }, $line }
	}
	return (\%answers, $status, $error);
}

sub normal
{
	my ($case, $answer) = @_;
	my @parts = @{ $answer // [ ['no answer'] ] };

	# Each FETCH may return any rows.
	@parts = [ map { @$_ } @parts ] if $case->{mode} eq 'cursor';
	return join "\n--\n", map { join "\n", $case->{ordered} ? @$_ : sort @$_ } @parts;
}

# Some of the lines that only one of two answers contains.
sub difference
{
	my ($expected, $got) = @_;
	my %count;
	$count{$_}++ for split /\n/, $got;
	$count{$_}-- for split /\n/, $expected;
	my @lines = map { my $sign = $count{$_} > 0 ? '+' : '-'; ("$sign $_") x abs $count{$_} }
	  grep { $count{$_} } sort keys %count;
	push @lines, 'the same lines in another order' if !@lines;
	return join "\n", @lines > 12 ? (@lines[ 0 .. 11 ], '...') : @lines;
}

sub report
{
	my ($seed, $case, $name, $expected, $got) = @_;
	my $first = $case->{statements}[0];
	my $settings = $variants{$name}[1]->($case->{settings});
	my @statements = map { $_->[0] } @{ $case->{statements} };
	my $explained =
	  $case->{mode} =~ /^(?:plain|prepared)$/
	  ? "EXPLAIN (VERBOSE, COSTS OFF) $statements[ $case->{mode} eq 'plain' ? 0 : 1 ]"
	  : '';
	my $prepared = $case->{mode} eq 'prepared' ? "$statements[0];" : '';
	my (undef, $plan, $error) = $node->psql(
		'postgres', "BEGIN; $settings $prepared $explained",
		on_error_stop => 0,
		timeout => 60);
	diag(
		join "\n",
		"query $case->{number} ($case->{mode}), rewrite $name; run it alone:",
		"SIMHASH_SEED=$seed SIMHASH_CASE=$case->{number} ONLY=equivalence scripts/test.sh tap",
		'-- settings',
		$settings,
		'-- ours',
		@statements,
		'-- plain',
		(map { $_->[1] } @{ $case->{statements} }),
		'-- plan',
		$explained ? $plan : 'not shown',
		$error,
		'-- difference, + ours alone, - plain alone',
		difference($expected, $got));
	return;
}

# Creates the tables, with rows that depend on the seed.
sub make_tables
{
	my ($seed) = @_;
	srand($seed);
	make_data();
	my $columns =
	    'id integer, grp integer, k2 smallint, k integer, k8 bigint, kn numeric, ok boolean, '
	  . 'rad integer, fp bigint, w1 bigint, w2 bigint, h bigint, lex bigint[]';
	my $text =
	    'SET client_min_messages = warning; DROP SCHEMA IF EXISTS eq, plain CASCADE;'
	  . "DROP EXTENSION IF EXISTS postgres_fdw CASCADE; CREATE SCHEMA plain;\n";
	for my $table (grep { !/^v_/ } sort keys %tables)
	{
		$text .= "CREATE TABLE plain.$table ($columns);\nCOPY plain.$table FROM stdin;\n"
		  . join('', map { "$_\n" } rows_of($tables{$table})) . "\\.\n";
	}
	$text .= "\\set c$_ " . hex16($centres[$_]) . "\n" for 0 .. 3;
	$text .= '\set w0 ' . join('', map { hex16($_) } @{ $wide_centres[0] }) . "\n";
	$text .=
		"CREATE TABLE plain.constants AS SELECT 'c0' AS name, '"
	  . signed($centres[0])
	  . "'::bigint AS value;\n";
	$text .= slurp_file("$FindBin::Bin/equivalence.sql");
	my ($status, undef, $error) =
	  $node->psql('postgres', $text . "\nVACUUM ANALYZE;", on_error_stop => 1);
	is($status, 0, "rows of seed $seed") or BAIL_OUT($error);
	answer_is(
		$node,
		q{SELECT count(*) FROM plain.t p JOIN eq.t o USING (id)
		  WHERE (lpad(to_hex(p.fp), 16, '0'), p.lex::text)
		    IS NOT DISTINCT FROM (o.fp::text, o.lex::bigint[]::text)},
		$tables{t},
		'both sides have the same rows');
	return;
}

# Runs queries `from` to `to` of a seed. Returns how many failed, and how many were errors in both
# wordings.
sub run_range
{
	my ($seed, $from, $to) = @_;
	my ($failed, $errors) = (0, 0);
	my @cases = map { make_case($seed, $_) } $from .. $to;
	my ($answers, $status, $error) = run_cases(@cases);
	for my $case (@cases)
	{
		my $answer = $answers->{ $case->{number} };
		my $expected = normal($case, $answer->{plain});
		$errors++ if $expected =~ /^state (?!00000)/m;
		for my $name ('on', 'off')
		{
			my $got = normal($case, $answer->{$name});
			next if $got eq $expected;
			report($seed, $case, $name, $expected, $got) if $failed++ < 3;
			last;
		}
	}
	if ($status != 0)
	{
		diag("psql ended with $status: ", substr($error, -2000));
		$failed++;
		$node->poll_query_until('postgres', 'SELECT true');
	}
	return ($failed, $errors);
}

my $seed = $base_seed;
if (defined $single)
{
	make_tables($seed);
	my ($failed) = run_range($seed, $single, $single);
	is($failed, 0, "query $single");
}
else
{
	do
	{
		make_tables($seed);
		my $all_errors = 0;
		for (my $from = 1; $from <= $count && (!$deadline || time < $deadline); $from += $batch)
		{
			my $to = $from + $batch - 1;
			my ($failed, $errors) = run_range($seed, $from, $to);
			is($failed, 0, "seed $seed: queries $from to $to give the same rows as plain SQL");
			$all_errors += $errors;

			# Rolled-back transactions left dead rows and pages that are not all-visible.
			$node->safe_psql('postgres', 'VACUUM');
		}

		# If most queries were errors, nothing would be compared.
		cmp_ok($all_errors, '<', $count / 50, "seed $seed: next to no query is an error");
		$seed++;
	} while ($deadline && time < $deadline);
}

$node->stop;
done_testing();
