# Calls every function, operator, aggregate and cast of the extension, as the catalogue lists them.
# First one argument at a time is NULL, extreme or of another kind; then all are random and nested.
# Further tests damage the binary input of every type, attach every estimator to operators of other
# types, and let an ordinary user make functions that imitate the extension's. Each statement gives
# a result or an error whose SQLSTATE is not of class XX, and the server stays up. `scripts/run
# soak` takes minutes for it, with another seed each time.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use SimhashTest;
use ArgumentValues;
use Hostile;
use PostgreSQL::Test::Utils;
use Test::More;

seed();
my $node = new_node('main',
	hostile_settings() . "shared_buffers = 64MB\nfsync = off\nmax_worker_processes = 8\njit = off");
$node->safe_psql('postgres', slurp_file("$FindBin::Bin/$_"))
  for sort map { s|.*/||r } glob("$FindBin::Bin/arguments*.sql");

# ---- functions, operators and types, from the catalogue

sub rows_of
{
	return map { [split /\t/, $_, -1] } split /\n/,
	  $node->safe_psql('postgres', shift, extra_params => ['-F', "\t"]);
}

my $member = <<'SQL';
SELECT objid FROM pg_depend WHERE deptype = 'e' AND refclassid = 'pg_extension'::regclass
  AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pg_simhash')
SQL
my @functions = map {
	my ($name, $kind, $set, $result, $types, $names) = @$_;
	my @types = split /;/, $types;
	my @names = split /;/, $names;
	{
		name   => $name,
		kind   => $kind,
		set    => $set eq 't',
		result => $result,
		types  => \@types,
		names  => \@names
	}
} rows_of(<<"SQL");
SELECT proname, prokind, proretset, format_type(prorettype, NULL),
    (SELECT coalesce(string_agg(format_type(t, NULL), ';' ORDER BY i), '')
      FROM unnest(proargtypes) WITH ORDINALITY a (t, i)),
    coalesce(array_to_string(proargnames, ';'), '')
  FROM pg_proc WHERE oid IN ($member AND classid = 'pg_proc'::regclass)
    AND prorettype <> 'trigger'::regtype ORDER BY 1, 5
SQL
cmp_ok(scalar @functions, '>', 150, 'functions and aggregates are found in the catalogue');
my %unknown = map { $_ => 1 } grep { !$values{$_} } map { @{ $_->{types} } } @functions;
is(join(', ', sort keys %unknown), '', 'there are values for every type of argument');

# The results of functions that return internal serve as arguments of type internal.
for my $function (grep { $_->{result} eq 'internal' } @functions)
{
	push @{ $values{internal} },
	  call($function, map { plain($function, $_) } 0 .. $#{ $function->{types} });
}

my @operators =
  map { { name => $_->[0], left => $_->[1], right => $_->[2], selective => $_->[3] eq 't' } }
  rows_of(<<"SQL");
SELECT oprname, format_type(oprleft, NULL), format_type(oprright, NULL),
    oprresult = 'boolean'::regtype
  FROM pg_operator WHERE oid IN ($member AND classid = 'pg_operator'::regclass) ORDER BY 1, 2, 3
SQL
my @casts = map { { from => $_->[0], to => $_->[1] } } rows_of(<<"SQL");
SELECT format_type(castsource, NULL), format_type(casttarget, NULL) FROM pg_cast
  WHERE oid IN ($member AND classid = 'pg_cast'::regclass) ORDER BY 1, 2
SQL
my @types = rows_of(<<"SQL");
SELECT typname FROM pg_type
  WHERE oid IN ($member AND classid = 'pg_type'::regclass) AND typtype = 'b' AND typelem = 0
  ORDER BY 1
SQL

sub plain
{
	my ($function, $i)    = @_;
	my ($type,     $name) = ($function->{types}[$i], $function->{names}[$i] // '');
	return value($type,
		$plain_of{"$function->{name} $name"} // $plain_of{"$function->{name} $type"}
		  // ($type eq 'text' ? $plain{$name} : undef) // $values{$type}[0]);
}

sub call
{
	my ($function, @arguments) = @_;
	return "$function->{name}(" . join(', ', @arguments) . ')';
}

my $form = 0;

# A statement around a call, in one of several forms: folded by the planner, with values that the
# planner does not see, over a table, as an aggregate over groups and windows, in a parallel worker
# where settings force one.
sub statement
{
	my ($function, @arguments) = @_;
	my @columns = map { "a$_" } 1 .. @arguments;
	my $source =
	  'SELECT ' . (join(', ', map { "$arguments[$_] AS $columns[$_]" } 0 .. $#arguments) || '1');
	my @forms =
	  $function->{kind} eq 'a'
	  ? (
		"SELECT " . call($function, @columns) . " FROM ($source FROM generate_series(1, 3)) x",
		"SELECT g, "
		  . call($function, @columns)
		  . " FROM ($source, g FROM generate_series(1, 6) g) x GROUP BY GROUPING SETS ((g), ())",
		"SELECT "
		  . call($function, @columns)
		  . ' OVER (ORDER BY g ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) '
		  . "FROM ($source, g FROM generate_series(1, 4) g) x",
		"SELECT " . call($function, @arguments) . " FILTER (WHERE id > 5) FROM rows",
	  )
	  : (
		'SELECT ' . call($function, @arguments) . ' LIMIT 100',

		# cstring and internal cannot be columns.
		$source =~ /cstring|internal|\bNULL AS/
		? 'SELECT ' . call($function, @arguments) . ' FROM generate_series(1, 2)'
		: 'SELECT ' . call($function, @columns) . " FROM ($source OFFSET 0) x LIMIT 100",
		"SELECT " . call($function, @arguments) . ' FROM rows WHERE id < 3 LIMIT 100',
	  );
	return $forms[$form++ % @forms];
}

# ---- one argument at a time

my @statements;
for my $function (@functions)
{
	my $n = @{ $function->{types} };
	push @statements, statement($function, map { plain($function, $_) } 0 .. $n - 1);
	for my $i (0 .. $n - 1)
	{
		for my $text ('NULL', @{ $values{ $function->{types}[$i] } })
		{
			my @arguments =
			  map { $_ == $i ? value($function->{types}[$_], $text) : plain($function, $_) }
			  0 .. $n - 1;
			push @statements, statement($function, @arguments);
		}
	}

	# One argument fewer: the last one may have a default.
	push @statements, statement($function, map { plain($function, $_) } 0 .. $n - 2) if $n > 1;
}
no_faults($node, 'one argument at a time', \@statements);

# ---- operators, as conditions of scans and joins too

@statements = ();
my %column = (
	fingerprint64     => 'fp',
	fingerprint128    => 'wide',
	fingerprint256    => 'quad',
	bigint            => 'number',
	hamming_ball64    => 'ball',
	hamming_ball128   => 'wide_ball',
	hamming_ball256   => 'quad_ball',
	'fingerprint64[]' => 'many',
	minhash_signature => 'signature',
	bit               => 'bits',
	hamming_ball_bit  => 'bit_ball'
);
for my $operator (@operators)
{
	my ($left, $right) = ($column{ $operator->{left} }, $column{ $operator->{right} });
	for
	  my $text ('NULL', @{ $values{ $operator->{right} } // die "no values of $operator->{right}" })
	{
		my $value = value($operator->{right}, $text);
		push @statements,
			'SELECT '
		  . value($operator->{left}, $values{ $operator->{left} }[0])
		  . " $operator->{name} $value";
		next if !$left;
		push @statements, "SELECT count(*) FROM rows WHERE $left $operator->{name} $value",
		  "SELECT count(*) FROM rows_empty WHERE $left $operator->{name} $value"
		  if $operator->{selective};
		push @statements, "SELECT id FROM rows WHERE ($left $operator->{name} (SELECT $value)) "
		  . 'IS NOT FALSE ORDER BY id LIMIT 5'
		  if $operator->{selective};
		push @statements, "SELECT $left FROM rows ORDER BY $left $operator->{name} $value LIMIT 5";
	}
	next unless $left && $right;
	push @statements, "SELECT count(*) FROM rows a JOIN rows b "
	  . "ON a.$left $operator->{name} b.$right WHERE a.id < 10"
	  if $operator->{selective};
	push @statements, <<"SQL";
SELECT a.id, n.id FROM rows a, LATERAL (
    SELECT id FROM rows b ORDER BY b.$left $operator->{name} a.$right LIMIT 2) n
  WHERE a.id < 10
SQL
}
for my $cast (@casts)
{
	push @statements,
	  map { "SELECT CAST(" . value($cast->{from}, $_) . " AS $cast->{to})" } 'NULL',
	  @{ $values{ $cast->{from} } // next };
}
my @preamble = ('SET enable_seqscan = off');
no_faults($node, 'operators and casts', \@statements, preamble => \@preamble);

# ---- binary input of values and arrays: cut, lengthened, with every early byte changed

sub copy_file
{
	my ($bytes, $number) = @_;
	my $file = $node->basedir . "/binary$number";
	open my $handle, '>:raw', $file or die;
	print $handle "PGCOPY\n\377\r\n\0", pack('NN n', 0, 0, 1), pack('N', length $bytes), $bytes,
	  pack('n', 0xffff);
	close $handle;
	return $file;
}

@statements = ();
my $files = 0;
for my $type (map { ($_->[0], "$_->[0]\[]") } @types)
{
	push @statements, "CREATE TEMP TABLE received (value $type)";
	my $base  = $type =~ s/\[\]//r;
	my @texts = @{ $values{$type}
		  // [map { "ARRAY[$_]" } map { value($base, $_) } @{ $values{$base} }[0 .. 1]] };
	my $send =
	  $type =~ /\[\]/
	  ? 'array_send'
	  : $node->safe_psql('postgres', "SELECT typsend FROM pg_type WHERE oid = '$type'::regtype");
	my (undef, $good) = $node->psql(
		'postgres',
		join(';',
			map  { "SELECT encode($send(" . value($type, $_) . "), 'hex')" }
			grep { !/array_fill|4096/ } @texts),
		on_error_stop => 1
	);
	my @good = split /\n/, $good;
	cmp_ok(scalar @good, '>', 0, "$type: binary forms to damage");
	my %bad = map { $_ => 1 } '', "\0", "\xff" x 4, "\0" x 100, "\xff" x 1000;

	for my $good (map { pack 'H*', $_ } @good)
	{
		$bad{ substr($good, 0, $_) } = 1 for grep { $_ < length $good } 0 .. 40, length($good) - 1;
		$bad{ $good . "\0" } = 1;
		for my $at (grep { $_ < length $good } 0 .. 40, map { roll(length($good) + 1) } 1 .. 10)
		{
			my $changed = $good;
			substr($changed, $at, 1) = chr(ord(substr $good, $at, 1) ^ (1 << roll(8)));
			$bad{$changed} = 1;
			substr($changed, $at, 1) = $at % 2 ? "\xff" : "\x80";
			$bad{$changed} = 1;
		}
		$bad{$good} = 1;
	}
	push @statements,
	  map { "COPY received FROM '" . copy_file($_, ++$files) . "' (FORMAT binary)" } sort keys %bad;

	# Values that were accepted must be valid in every use.
	push @statements, 'SELECT value, value::text FROM received', 'DROP TABLE received';
}
no_faults($node, 'binary input', \@statements);

# ---- estimators attached to operators of other types

@statements = ();
my @foreign = (
	'text',           'bigint',         'integer',         'smallint',
	'boolean',        'uuid',           'real',            'numeric',
	'name',           'bytea',          'jsonb',           'fingerprint64',
	'fingerprint128', 'fingerprint256', 'hamming_ball64', 'hamming_ball128', 'hamming_ball256',
	'hamming_ball_bit',
	'fingerprint64[]', 'text[]', '"char"', 'interval'
);
my %foreign = (
	text     => "'short'",
	bigint   => 12345678,
	integer  => 7,
	smallint => 1,
	boolean  => 'true',
	uuid     => "'" . '1' x 32 . "'",
	real     => 1.5,
	numeric  => '1e100',
	name     => "'n'",
	bytea    => "'\\x00'",
	jsonb    => "'{}'",
	'text[]' => "'{a}'",
	'"char"' => "'c'",
	interval => "'1 day'",
);
my @estimators = (
	['within',  'RESTRICT = hamming_within_sel, JOIN = hamming_within_joinsel'],
	['near',    'RESTRICT = hamming_near_sel, JOIN = hamming_near_joinsel'],
	['swapped', 'RESTRICT = hamming_near_joinsel, JOIN = hamming_within_sel'],
);
push @statements, 'CREATE SCHEMA foreigners',
  'CREATE TABLE foreigners.t AS SELECT '
  . join(', ',
	map { value($foreign[$_], $foreign{ $foreign[$_] } // $values{ $foreign[$_] }[0]) . " AS c$_" }
	  0 .. $#foreign)
  . ' FROM generate_series(1, 300)', 'ANALYZE foreigners.t';
my $accepted = <<'SQL';
SELECT count(*) FROM pg_operator o JOIN pg_namespace n ON n.oid = oprnamespace
  WHERE nspname = 'foreigners'
SQL
for my $i (0 .. $#foreign)
{
	for my $j (0 .. $#foreign)
	{
		my ($left, $right) = @foreign[$i, $j];
		push @statements, <<"SQL";
CREATE FUNCTION foreigners.f($left, $right)
  RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN true; END'
SQL
		for my $e (0 .. $#estimators)
		{
			my $name = ('###', '##&', '##!')[$e];
			push @statements, <<"SQL";
CREATE OPERATOR foreigners.$name (
  LEFTARG = $left, RIGHTARG = $right, FUNCTION = foreigners.f, $estimators[$e][1])
SQL
			my $constant = value($right, $foreign{$right} // $values{$right}[0]);
			my $other    = value($left,  $foreign{$left}  // $values{$left}[0]);
			push @statements,
			  map { "EXPLAIN SELECT * FROM foreigners.t a $_" }
			  "WHERE c$i OPERATOR(foreigners.$name) $constant",
			  "WHERE $other OPERATOR(foreigners.$name) c$j",
			  "WHERE c$i OPERATOR(foreigners.$name) c$j",
			  "JOIN foreigners.t b ON a.c$i OPERATOR(foreigners.$name) b.c$j";
		}
	}
}
no_faults($node, 'estimators of operators of other types', \@statements);
cmp_ok($node->safe_psql('postgres', $accepted),
	'>', 0, 'PostgreSQL let such operators be made by a superuser');

# PostgreSQL's minor versions of February 2026 and later refuse all of this to an ordinary user.
$node->safe_psql('postgres', 'CREATE ROLE ordinary; CREATE SCHEMA mine AUTHORIZATION ordinary');
my ($status) = $node->psql('postgres', <<'SQL', on_error_stop => 1);
SET ROLE ordinary;
CREATE FUNCTION mine.f(text, bigint) RETURNS boolean LANGUAGE sql AS 'SELECT true';
CREATE OPERATOR mine.### (
  LEFTARG = text, RIGHTARG = bigint, FUNCTION = mine.f, RESTRICT = hamming_near_sel)
SQL
note 'an ordinary user '
  . ($status ? 'is refused' : 'may make')
  . ' an operator with an estimator of the extension';

# ---- a user's functions that imitate the extension's: the same names, the same C symbols as a
# body, other types

$node->safe_psql('postgres', <<'SQL');
GRANT CREATE ON SCHEMA public TO ordinary;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO ordinary
SQL
my %symbols = map { $_->[0] => $_->[1] } rows_of(<<"SQL");
SELECT proname, prosrc FROM pg_proc
  WHERE oid IN ($member AND classid = 'pg_proc'::regclass) AND prokind = 'f'
SQL
for my $type (soak() ? @foreign : ('text', 'bigint', 'real', 'fingerprint128', 'jsonb'))
{
	my $constant = value($type, $foreign{$type} // $values{$type}[0]);
	my (@made, @queries);
	for my $function (
		grep {
			$_->{kind} eq 'f' && !grep { /internal|cstring/ } @{ $_->{types} }
		} @functions
	  )
	{
		for my $i (0 .. $#{ $function->{types} })
		{
			my @types = @{ $function->{types} };
			$types[$i] = $type;
			my $symbol  = $symbols{ $function->{name} };
			my @results = ('integer', 'boolean', 'bigint', $type);
			my $result  = $results[roll(scalar @results)];
			my $body =
			  "LANGUAGE sql IMMUTABLE AS 'SELECT "
			  . (value($result, $result eq 'integer' ? 7 : $foreign{$result} // $values{$result}[0])
				  =~ s/'/''/gr)
			  . "'";

			# One function has the same name, so that a look-up by name may find it. The others have
			# other names and the C symbol as a body.
			push @made,
			  "CREATE FUNCTION $function->{name}(" . join(', ', @types) . ") RETURNS $result $body";
			for my $returned (@results[0, 1])
			{
				my $name = "$function->{name}_" . substr($returned, 0, 1);
				push @made,
					"CREATE FUNCTION $name("
				  . join(', ', @types)
				  . ") RETURNS $returned LANGUAGE plpgsql IMMUTABLE AS '$symbol'";
				my @arguments = map {
					$_ == $i ? $constant : value($types[$_], ($values{ $types[$_] } // [0])->[0])
				} 0 .. $#types;
				for my $at (0 .. $#types)
				{
					my $column = $column{ $types[$at] } or next;
					my $call   = "$name("
					  . join(', ', map { $_ == $at ? $column : $arguments[$_] } 0 .. $#types) . ')';
					push @queries, "EXPLAIN SELECT id FROM rows WHERE $call"
					  . ($returned eq 'integer' ? ' <= 3' : '');
				}
			}
		}
	}

	# The rewrite of the extension's own functions must not use the user's objects.
	push @queries,
	  map { "EXPLAIN SELECT id FROM rows WHERE hamming($_->[0], $_->[1]) <= 3" }
	  ['fp', "'0123456789abcdef'"], ['wide', "'" . '0' x 32 . "'"], ['number', 7],
	  ['many', "ARRAY['0123456789abcdef']::fingerprint64[]"], ['bits', "B'" . '01' x 32 . "'"];
	no_faults(
		$node,
		"namesakes with $type",
		[@made, @queries, 'DROP OWNED BY ordinary'],
		preamble => ['SET ROLE ordinary', 'SET check_function_bodies = off']
	);
}
$node->safe_psql('postgres', 'DROP OWNED BY ordinary');

# ---- all arguments at random, nested

# An expression of a type: a value, or a call that returns one.
sub expression
{
	my ($type, $depth) = @_;
	my @makers =
	  $depth > 0
	  ? grep { $_->{result} eq $type && !$_->{set} && $_->{kind} eq 'f' } @functions
	  : ();
	if (@makers && roll(3) == 0)
	{
		my $maker = $makers[roll(scalar @makers)];
		return call($maker, map { expression($_, $depth - 1) } @{ $maker->{types} });
	}
	return value($type, 'NULL') if roll(12) == 0;
	my $all = $values{$type};
	return value($type, $all->[roll(3) ? roll(scalar @$all) : 0]);
}

my $until = time + (soak() ? 240 : 0);
my $round = 0;
do
{
	@statements = map {
		my $f = $functions[roll(scalar @functions)];
		statement($f, map { expression($_, 2) } @{ $f->{types} })
	} 1 .. (soak() ? 5000 : 1500);
	my $forced =
		'UPDATE pg_settings SET setting = \''
	  . ($round % 2 ? 'on' : 'off')
	  . q(' WHERE name IN ('force_parallel_mode', 'debug_parallel_query'));
	no_faults($node, 'at random, round ' . ++$round, \@statements, preamble => [$forced]);
} while (time < $until);

index_is_clean($node, $_, "$_ is sound afterwards")
  for qw(rows_fp rows_wide rows_number rows_ball rows_many rows_quad rows_quad_ball rows_bits);

$node->stop;
done_testing();
