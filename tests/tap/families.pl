# The trigger simhash_dedup over random families of tables: partitions and inheritance, columns in
# other places, dropped columns, keys of other types, domains, collations and modifiers, indexes on
# some tables only, triggers with other arguments on each. For every row a check by text forms alone
# says whether it may be stored and to which duplicate's key it is linked. It also verifies that
# messages show no value but a duplicate's key.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use SimhashTest;
use Hostile;
use PostgreSQL::Test::Utils;
use Test::More;

seed();
my $node =
  new_node('main', hostile_settings() . "shared_buffers = 64MB\nfsync = off\nautovacuum = off");
$node->safe_psql('postgres', slurp_file("$FindBin::Bin/families.sql") . <<'SQL');
CREATE DOMAIN number_key AS bigint CHECK (value > 0);
CREATE DOMAIN text_key AS text;
CREATE DOMAIN fingerprint_domain AS fingerprint64;
CREATE TYPE pair AS (a bigint, b text);
SQL

sub one   { return $_[roll(scalar @_)] }
sub often { return roll($_[0]) > 0 }

# By type, a literal of the n-th key. All keys differ as texts.
my %key = (
	bigint                     => sub { 1000000 + shift },
	integer                    => sub { 1000000 + shift },
	smallint                   => sub { shift() % 32000 + 1 },
	text                       => sub { "'key " . shift() . "'" },
	'varchar(12)'              => sub { "'k" . shift() . "'" },
	'varchar(7)'               => sub { "'v" . shift() . "'" },
	'character(9)'             => sub { "'c" . shift() . "'" },
	name                       => sub { "'n" . shift() . "'" },
	uuid                       => sub { "'" . sprintf('%032x', shift) . "'" },
	numeric                    => sub { shift() . '.5' },
	'numeric(20,3)'            => sub { shift() . '.125' },
	bytea                      => sub { sprintf "'\\x%08x'", shift },
	'double precision'         => sub { shift() . '.25' },
	real                       => sub { shift },
	'timestamp with time zone' =>
	  sub { "'2020-01-01'::timestamptz + " . shift() . " * interval '1 s'" },
	date               => sub { "'2020-01-01'::date + " . shift },
	number_key         => sub { 5000000 + shift },
	text_key           => sub { "'domain " . shift() . "'" },
	'text COLLATE "C"' => sub { "'collated " . shift() . "'" },
	jsonb              => sub { "'{\"k\":" . shift() . "}'" },
	'integer[]'        => sub { "'{" . shift() . "}'" },
	pair               => sub { '(' . shift() . ", 'x')" },
	fingerprint64      => sub { "'" . sprintf('%016x', shift) . "'" },
	fingerprint128     => sub { "'" . sprintf('%032x', shift) . "'" },
	boolean            => sub { 'true' },
	'"char"'           => sub { "'" . chr(97 + shift() % 26) . "'" },
	interval           => sub { "'" . shift() . " s'" },
	inet               => sub { "'10.0." . (($_[0] / 256) % 256) . '.' . $_[0] % 256 . "'" },
	xid8               => sub { "'" . shift() . "'" },
	oid                => sub { 70000 + shift },
	money              => sub { shift },
	tsvector           => sub { "'t" . shift() . "'" },
);
my @key_types    = sort keys %key;
my @unique_types = grep { !/boolean|char"|pair/ } @key_types;
my %fp_bits = (fingerprint64 => 64, fingerprint128 => 128, bigint => 64, fingerprint_domain => 64);

my ($families, $keys) = (0, 0);

# A fingerprint near one of three points, as digits and as a literal of a type.
sub fingerprint
{
	my ($type, $points) = @_;
	my $bits  = $fp_bits{$type};
	my $point = [@{ one(@$points) }];
	$point->[roll($bits)] ^= 1 for 1 .. roll(5);
	my $digits = unpack 'H*', pack 'B*', join '', @$point[0 .. $bits - 1];
	return ($digits, $type eq 'bigint' ? "('x$digits')::bit(64)::bigint" : "'$digits'");
}

# One to three further columns of any type.
sub pads
{
	my @types = (qw(integer text smallint bytea), 'bigint DEFAULT 7', '"char"');
	return map { "pad$_ " . one(@types) } 1 .. roll(3);
}

sub shuffled
{
	my @list = @_;
	for my $i (reverse 1 .. $#list)
	{
		my $j = roll($i + 1);
		@list[$i, $j] = @list[$j, $i];
	}
	return @list;
}

# The functions below add tables and statements to a family:
# { schema, fp_type, partitioned, columns, tables, make }. A table is
# { name, columns => { name => type }, part, trigger }; `make` lists statements.

# CREATE TABLE with columns in a random order, some of them dropped again.
sub create_table
{
	my ($family, $name, $columns, $extra, $tail) = @_;
	my @dropped = map { "gone$_ " . one('integer', 'text', 'bigint') } 1 .. roll(3);
	my @list = shuffled((map { "$_ $columns->{$_}" } sort keys %$columns), @$extra, @dropped);
	my $table = "$family->{schema}.$name";
	push @{ $family->{make} }, "CREATE TABLE $table (" . join(', ', @list) . ")$tail",
	  map { "ALTER TABLE $table DROP COLUMN " . (/^(\w+)/)[0] } @dropped;
	return;
}

# Two to four partitions. Some are partitioned themselves, and some have another order of columns.
sub make_partitions
{
	my ($family) = @_;
	my ($f, $make, $columns) = @$family{qw(schema make columns)};
	my @pads = pads();
	create_table($family, 't0', { %$columns, part => 'integer' },
		\@pads, ' PARTITION BY LIST (part)');
	push @{ $family->{tables} }, { name => 't0', columns => {%$columns}, part => undef };
	for my $i (1 .. 2 + roll(3))
	{
		if (roll(4) == 0)
		{
			push @$make, "CREATE TABLE $f.t$i PARTITION OF $f.t0 FOR VALUES IN ($i)"
			  . (roll(2) ? '' : " PARTITION BY LIST (part)");
			push @$make, "CREATE TABLE $f.t${i}a PARTITION OF $f.t$i DEFAULT"
			  if $make->[-1] =~ /PARTITION BY/;
		}
		else
		{
			my @without_default = map { s/ DEFAULT 7//r } @pads;
			create_table($family, "t$i", { %$columns, part => 'integer' }, \@without_default, '');
			push @$make, "ALTER TABLE $f.t0 ATTACH PARTITION $f.t$i FOR VALUES IN ($i)";
		}
		push @{ $family->{tables} }, { name => "t$i", columns => {%$columns}, part => $i };
	}
	return;
}

# A parent and two to five tables, each of which inherits from any earlier one.
sub make_heirs
{
	my ($family) = @_;
	my ($f, $tables) = @$family{qw(schema tables)};
	create_table($family, 't0', $family->{columns}, [pads()], '');
	push @$tables, { name => 't0', columns => { %{ $family->{columns} } } };
	for my $i (1 .. 2 + roll(4))
	{
		my $parent  = one(@$tables);
		my %columns = %{ $parent->{columns} };
		my %new;
		if (!$columns{id} && often(5))
		{
			$new{id}   = one(@key_types);
			$new{link} = often(6) ? $new{id} : one(@key_types) if often(4);
			$new{dup}  = 'boolean'                             if often(3);
		}
		if (roll(2))
		{
			my @extra = map { "x$i$_" } pads();
			create_table($family, "t$i", \%new, \@extra, " INHERITS ($f.$parent->{name})");
		}
		else { make_late_heir($family, $i, $parent, \%new); }
		push @$tables, { name => "t$i", columns => { %columns, %new } };
	}
	return;
}

# A table that starts to inherit after its creation, so that it has its own order of columns.
sub make_late_heir
{
	my ($family, $i, $parent, $new) = @_;
	my ($f, $make, $columns) = (@$family{qw(schema make)}, $parent->{columns});
	push @$make, "CREATE TABLE $f.like$i (LIKE $f.$parent->{name} INCLUDING DEFAULTS)";
	my @inherited = map { "$_ $columns->{$_}" } sort keys %$columns;
	create_table($family, "t$i", $new, \@inherited, '');
	push @$make, <<"SQL", "DROP TABLE $f.like$i", "ALTER TABLE $f.t$i INHERIT $f.$parent->{name}";
DO \$\$
DECLARE c record;
BEGIN
  FOR c IN
    SELECT attname, format_type(atttypid, atttypmod) AS t FROM pg_attribute a
    WHERE attrelid = '$f.like$i'::regclass AND attnum > 0 AND NOT attisdropped AND NOT EXISTS (
      SELECT FROM pg_attribute b
      WHERE b.attrelid = '$f.t$i'::regclass AND b.attname = a.attname)
  LOOP
    EXECUTE format('ALTER TABLE $f.t$i ADD COLUMN %I %s', c.attname, c.t);
  END LOOP;
END\$\$
SQL
	return;
}

sub make_indexes
{
	my ($family) = @_;
	my ($f, $make, $partitioned) = @$family{qw(schema make partitioned)};
	my $class = $family->{fp_type} eq 'bigint' ? ' hamming_int8_ops' : '';
	for my $table (@{ $family->{tables} })
	{
		my $type = $table->{columns}{id};
		push @$make, "CREATE INDEX ON $f.$table->{name} USING simhash (fp$class)"
		  if often(3) && !($partitioned && $table->{name} ne 't0');
		next unless $type && grep { $_ eq $type } @unique_types;
		push @$make, "CREATE UNIQUE INDEX ON $f.$table->{name} (id)"
		  if !$partitioned && roll(3) == 0 && $type !~ /smallint|tsvector|jsonb/;
	}
	return;
}

# A trigger with its own arguments on most tables, or on a partitioned one.
sub make_triggers
{
	my ($family) = @_;

	# If all keys have one type, the trigger may not refuse the family.
	my %types =
	  map { $_ => 1 } grep { defined } map { $_->{columns}{id} } @{ $family->{tables} };
	my $alike = keys %types <= 1;
	for my $table (@{ $family->{tables} })
	{
		next if $family->{partitioned} && $table->{name} ne 't0' || roll(5) == 0;
		my $columns = $table->{columns};
		my $action  = one('skip', 'error', 'error', 'link', 'link', 'flag');
		$action = 'skip'
		  if $action eq 'link' && !($columns->{link} && $columns->{id})
		  || $action eq 'flag' && !$columns->{dup};
		my $reach     = one(0, 1, 3, 3, 6, $fp_bits{ $family->{fp_type} });
		my @arguments = ("'fp=fp'", "'distance=$reach'", "'action=$action'");
		push @arguments, "'key=id'" if $columns->{id};
		push @arguments, "'link=link'"
		  if $action eq 'link'
		  || $action eq 'flag' && roll(2) && $columns->{link} && $columns->{id};
		push @arguments, "'flag=dup'" if $action eq 'flag';
		my $links = grep { /link=/ } @arguments;
		my $list  = join(', ', shuffled(@arguments));
		push @{ $family->{make} }, <<"SQL";
CREATE TRIGGER dedup BEFORE INSERT OR UPDATE ON $family->{schema}.$table->{name}
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup($list)
SQL

		# The trigger refuses a link column of another type than the key's, and may refuse a family
		# whose keys have several types.
		my $strange = !$alike || $links && $columns->{link} ne $columns->{id};
		$table->{trigger} = {
			action  => $action,
			reach   => $reach,
			link    => $links         ? "'link'" : 'NULL',
			strange => $strange       ? 'true'   : 'false',
			key     => $columns->{id} ? "'id'"   : 'NULL'
		};
	}
	return;
}

# A statement that inserts a row into a table, or sets the fingerprint of an existing one. The
# function test.push checks what the trigger does.
sub bring_in
{
	my ($family, $points) = @_;
	my ($f, $partitioned, $tables) = @$family{qw(schema partitioned tables)};
	my $table   = one(@$tables);
	my $columns = $table->{columns};
	my ($digits, $literal) = fingerprint($family->{fp_type}, $points);
	($digits, $literal) = ('', 'NULL') if roll(20) == 0;
	my @parts = map { $_->{part} } grep { defined $_->{part} } @$tables;
	my %row = (fp => $literal);
	$row{id}   = $key{ $columns->{id} }->(++$keys) if $columns->{id};
	$row{part} = $table->{part} // one(@parts)     if $partitioned;
	my @names = sort keys %row;
	my $insert =
		"INSERT INTO $f.$table->{name} ("
	  . join(', ', @names)
	  . ') VALUES ('
	  . join(', ', map { $row{$_} } @names) . ')';
	my $trigger = $partitioned ? $tables->[0]{trigger} : $table->{trigger};
	return $insert unless $trigger;
	my $given = "'$f.t0', '$digits', '$trigger->{action}', $trigger->{reach}, "
	  . "$trigger->{key}, $trigger->{link}";
	return "SELECT test.push(\$q\$$insert\$q\$, $given, NULL, NULL, $trigger->{strange})"
	  unless roll(4) == 0 && !$partitioned && $digits;

	# An update of the first existing row.
	return <<"SQL";
SELECT test.push(\$q\$UPDATE $f.$table->{name} t SET fp = $literal
    WHERE ctid = '\$q\$ || c || \$q\$' AND tableoid = '\$q\$ || o || \$q\$'\$q\$,
    $given, c, o::regclass, $trigger->{strange})
  FROM (SELECT ctid c, tableoid o FROM ONLY $f.$table->{name}
    WHERE test.digits(fp) <> '$digits' ORDER BY ctid LIMIT 1) x
SQL
}

# The statements that create a family of tables, fill it and drop it.
sub family
{
	my %family = (schema => 'f' . ++$families, tables => []);
	$family{partitioned} = roll(3) == 0;
	$family{fp_type}     = one(sort keys %fp_bits);
	$family{make}        = ["CREATE SCHEMA $family{schema}"];
	my $own_keys = roll(2);
	my $type     = one(@key_types);
	$family{columns} = { fp => $family{fp_type} };
	@{ $family{columns} }{qw(id link dup)} = ($type, $type, 'boolean')
	  if !$own_keys || $family{partitioned};
	if   ($family{partitioned}) { make_partitions(\%family); }
	else                        { make_heirs(\%family); }
	make_indexes(\%family);
	make_triggers(\%family);
	my @points = map {
		[map { roll(2) } 1 .. 128]
	} 1 .. 3;
	my @fill = map { bring_in(\%family, \@points) } 1 .. 25;
	return (@{ $family{make} }, @fill, "DROP SCHEMA $family{schema} CASCADE");
}

my $rounds = soak() ? 10 : 1;
for my $round (1 .. $rounds)
{
	my @statements = map { family() } 1 .. 60;
	no_faults($node, "round $round", \@statements);
}

$node->stop;
done_testing();
