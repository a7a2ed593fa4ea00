# Generates rows, fingerprints and expressions for equivalence.pl. Each expression has two wordings:
# over the extension's types and operators, and over bigint copies with plain SQL.
#
# A piece of SQL is a pair [ours, plain]. pair() joins pieces, and a string stands for both sides. A
# value is { kind, ours, plain }: `plain` lists the bigint expressions, two for a fingerprint128.
package EquivalenceValues;
use strict;
use warnings;
use Exporter 'import';

our @EXPORT = qw(pick chance roll_between pair commas literal column centre limit distance
  plain_distance ball_radius from_table new_case parameters arguments %types %tables @centres
  @wide_centres make_data rows_of hex16 signed);

# The kinds of columns and their types. Kind h is bigint.
our %types =
  (fp => 'fingerprint64', w => 'fingerprint128', h => 'bigint', lex => 'fingerprint64[]');

# Tables and views, with their numbers of rows.
our %tables = (
	t => 500,
	u => 70,
	big => 2500,
	n => 30,
	part => 250,
	ex => 200,
	dom => 150,
	pl => 200,
	pr => 180,
	ph => 150,
	inh => 200,
	far => 90,
	v_near => 130,
	v_some => 330,
	v_few => 63,
	v_barrier => 330,
	v_all => 285,
	v_mixed => 115,
	v_top => 100,
	v_family => 190);

sub width { return $_[0] eq 'w' ? 128 : 64 }

sub pick { return $_[ int rand @_ ] }
sub chance { return rand() < $_[0] }
sub roll_between { my ($low, $high) = @_; return $low + int rand($high - $low + 1) }

sub pair
{
	my @sides = ('', '');
	for my $piece (@_)
	{
		$sides[$_] .= ref $piece ? $piece->[$_] : $piece for 0, 1;
	}
	return \@sides;
}

sub commas
{
	my @pieces = @_;
	return pair(map { $_ ? (', ', $pieces[$_]) : $pieces[$_] } 0 .. $#pieces);
}

# --- Fingerprints and rows

our (@centres, @wide_centres);

sub word { my $bits = 0; $bits = $bits << 16 | int rand 65536 for 1 .. 4; return $bits }

sub flipped
{
	my ($bits, $most) = @_;
	$bits ^= 1 << int rand 64 for 1 .. int rand($most + 1);
	return $bits;
}
sub signed { return unpack 'q', pack 'Q', $_[0] }
sub hex16 { return sprintf '%016x', $_[0] }

sub near_word { return chance(0.85) ? flipped(pick(@centres), $_[0]) : word() }

sub near_wide
{
	my ($most) = @_;
	return [ word(), word() ] if chance(0.15);
	return [ map { flipped($_, $most) } @{ pick(@wide_centres) } ];
}

sub make_data
{
	@centres = (map({ word() } 1 .. 6), 0, ~0);
	push @centres, flipped($centres[0], 14);
	@wide_centres = map { [ word(), word() ] } 1 .. 5;
	return;
}

# Rows of a table for COPY: id, grp, k2, k, k8, kn, ok, rad, fp, w1, w2, h, lex.
sub rows_of
{
	my ($count) = @_;
	my @small = (-3 .. 14, 20, 24, 31);
	my $or_null = sub { my ($share, $value) = @_; return chance($share) ? '\N' : $value };
	return map {
		my $fp = near_word(9);
		my $wide = chance(0.06) ? [ '\N', '\N' ] : [ map { signed($_) } @{ near_wide(8) } ];
		my @elements =
		  map { $or_null->(0.08, signed(near_word(9))) } 1 .. roll_between(chance(0.05) ? 0 : 1, 3);
		s/\\N/NULL/ for @elements;
		join(
			"\t", $_,
			$or_null->(0.05, int rand 7),
			$or_null->(0.08, pick(@small, 32767, -32768, 64, 128)),
			$or_null->(0.08, pick(@small, @small, 63, 64, 65, 127, 128, 2147483647, -2147483648)),
			$or_null->(
				0.08,
				pick(
					@small, @small, 64, 128, 4294967299, '9223372036854775807',
					'-9223372036854775808')),
			$or_null->(0.08, pick(@small, 3.5, 2.999, -0.5, '1e30', 'NaN')),
			$or_null->(0.1, chance(0.7) ? 't' : 'f'),
			$or_null->(0.05, pick(0 .. 12, 20, 64)),
			$or_null->(0.07, signed($fp)),
			@$wide,
			$or_null->(0.07, signed(chance(0.5) ? flipped($fp, 2) : near_word(9))),
			$or_null->(0.05, '{' . join(',', @elements) . '}'))
	} 1 .. $count;
}

# --- A case's parameters: their types in both wordings, and how their arguments are made.

my $case;
sub new_case { $case = { parameters => [], counts => [ 0, 0 ], allowed => $_[0] }; return }

sub parameter
{
	my ($ours, $plain, $make) = @_;
	push @{ $case->{parameters} }, { types => [ $ours, $plain ], make => $make };
	my @names = ([], []);
	for my $side (0, 1)
	{
		push @{ $names[$side] }, '$' . ++$case->{counts}[$side]
		  for @{ $case->{parameters}[-1]{types}[$side] };
	}
	return @names;
}

# The parameters' types in both wordings. arguments() makes the values of one call.
sub parameters
{
	my @types = map {
		my $side = $_;
		join ', ', map { @{ $_->{types}[$side] } } @{ $case->{parameters} }
	} 0, 1;
	return \@types;
}

sub arguments
{
	return commas(map { $_->{make}->() } @{ $case->{parameters} });
}

# --- Values

sub constant
{
	my ($kind) = @_;
	my $quoted = sub { "'" . signed($_[0]) . "'::bigint" };
	if ($kind eq 'w')
	{
		my $bits = near_wide(6);
		return {
			kind => 'w',
			ours => "'" . join('', map { hex16($_) } @$bits) . "'",
			plain => [ map { $quoted->($_) } @$bits ] };
	}
	if ($kind eq 'lex')
	{
		my @elements =
		  map { chance(0.1) ? undef : near_word(5) } 1 .. roll_between(chance(0.05) ? 0 : 1, 3);
		return {
			kind => 'lex',
			ours => "'{" . join(',', map { defined $_ ? hex16($_) : 'NULL' } @elements) . "}'",
			plain => [
					"'{"
				  . join(',', map { defined $_ ? signed($_) : 'NULL' } @elements)
				  . "}'::bigint[]" ] };
	}

	# Sometimes a centre itself, because the predicates of partial indexes name the centres.
	my $bits = chance(0.25) ? $centres[ int rand 4 ] : near_word(6);
	return {
		kind => $kind,
		ours => $kind eq 'h' ? $quoted->($bits) : "'" . hex16($bits) . "'",
		plain => [ $quoted->($bits) ] };
}

sub literal
{
	my ($kind) = @_;
	my $value = constant($kind);
	$value->{ours} .= "::$types{$kind}" if $kind ne 'h';
	return $value;
}

sub column
{
	my ($kind, $alias) = @_;
	return {
		kind => $kind,
		ours => "$alias.$kind",
		plain => $kind eq 'w' ? [ "$alias.w1", "$alias.w2" ] : ["$alias.$kind"] };
}

# The same expression applied to every part of a value.
sub around
{
	my ($value, $before, $after) = @_;
	my $both = pair($before, '%', $after);
	my ($ours, $plain) = map { $both->[$_] } 0, 1;
	$ours =~ s/%/$value->{ours}/;
	return {
		kind => $value->{kind},
		ours => $ours,
		plain => [ map { my $text = $plain; $text =~ s/%/$_/; $text } @{ $value->{plain} } ] };
}

# Two values of one kind combined in one expression.
sub combined
{
	my ($form, $x, $y) = @_;
	return {
		kind => $x->{kind},
		ours => sprintf($form, $x->{ours}, $y->{ours}),
		plain => [ map { sprintf $form, $x->{plain}[$_], $y->{plain}[$_] } 0 .. $#{ $x->{plain} } ]
	};
}

# A table, with the schema of each side.
sub from_table { my ($name) = @_; return [ "eq.$name", "plain.$name" ] }

sub null_value
{
	my ($kind) = @_;
	my $plain = $kind eq 'lex' ? 'NULL::bigint[]' : 'NULL::bigint';
	return {
		kind => $kind,
		ours => "NULL::$types{$kind}",
		plain => [ ($plain) x ($kind eq 'w' ? 2 : 1) ] };
}

# The value that a distance is measured to. Only these aliases are visible here; the last one
# belongs to the column on the other side.
sub centre
{
	my ($kind, @aliases) = @_;
	my $other = @aliases > 1 ? $aliases[ int rand $#aliases ] : undef;
	return column($kind, $other) if defined $other && chance(0.6);
	if ($case->{allowed} && chance(0.5))
	{
		my ($ours, $plain) = parameter(
			[ $types{$kind} ],
			[ $kind eq 'w' ? ('bigint', 'bigint') : $kind eq 'lex' ? 'bigint[]' : 'bigint' ],
			sub {
				my $v = chance(0.06) ? null_value($kind) : literal($kind);
				return [ $v->{ours}, join(', ', @{ $v->{plain} }) ];
			});
		return { kind => $kind, ours => $ours->[0], plain => $plain };
	}
	my $dice = int rand 100;
	return chance(0.5) ? literal($kind) : constant($kind) if $dice < 58;
	my $row = roll_between(1, 30);
	return around(
		column($kind, 'z'),
		pair('(SELECT ', ''),
		pair(' FROM ', from_table(pick('n', 'u', 't')), " z WHERE z.id = $row)")) if $dice < 72;
	my $id = pick(@aliases) . '.grp';
	return around(column($kind, 'z'),
		'(SELECT ', pair(' FROM ', from_table(pick('n', 'u')), " z WHERE z.id = $id)"))
	  if $dice < 77;
	return null_value($kind) if $dice < 80;
	return combined('coalesce(%s, %s)', column($kind, pick(@aliases)), literal($kind))
	  if $dice < 84;
	return combined(
		'CASE WHEN ' . pick(@aliases) . ".id & 1 = 0 THEN %s ELSE %s END",
		column($kind, pick(@aliases)),
		literal($kind)) if $dice < 88;
	return around(literal($kind), 'plain.' . pick('unsteady', 'steady', 'parallel') . '(', ')')
	  if $dice < 93;

	if ($dice < 97 && $kind =~ /^(fp|h)$/)
	{
		my $value = column($kind eq 'fp' ? 'h' : 'fp', pick(@aliases));
		return { kind => $kind, ours => "$value->{ours}::$types{$kind}", plain => $value->{plain} };
	}
	return column($kind, pick(@aliases));
}

# --- Limits

sub limit
{
	my ($kind, @aliases) = @_;
	my $width = width($kind);
	my @near = (0 .. 12, 16, 20, 24);
	my $number =
		chance(0.85)
	  ? pick(@near)
	  : pick(-1, -5, -2147483648, $width - 1, $width, $width + 1, 100, 1000, 2147483647);
	my $alias = pick(@aliases);
	my $type = pick(qw(smallint integer bigint numeric));
	if ($case->{allowed} && chance(0.6))
	{
		my @names = parameter(
			[$type],
			[$type],
			sub {
				my $value =
					chance(0.08) ? 'NULL'
				  : chance(0.15) ? pick(-1, 63, 64, 65, 128, 30000)
				  : pick(@near);
				return $value eq 'NULL' ? $value : "'$value'::$type";
			});
		return [ map { $_->[0] } @names ];
	}
	my $dice = int rand 100;
	return "$number" if $dice < 30;
	if ($dice < 40)
	{
		$number = pick(@near, -1, 64, 32767) if $type eq 'smallint';
		return "'$number'::$type";
	}
	return pick(
		"'3.5'::numeric", "'-0.5'::numeric",
		'4.0::real', '5.25::float8',
		"'NaN'::float8", "'1e20'::float8",
		"'9223372036854775807'::bigint", "'-9223372036854775808'::bigint") if $dice < 44;
	return 'NULL::' . $type if $dice < 46;
	return "$alias." . pick('k', 'k', 'k2', 'k8', 'kn') if $dice < 62;
	return "(SELECT $number)" if $dice < 67;
	return pair('(SELECT max(z.grp) FROM ', from_table('n'), ' z)') if $dice < 70;
	return pair(
		"(SELECT z.", pick('k', 'k2', 'k8'),
		' FROM ',
		from_table(pick('n', 'u')),
		' z WHERE z.id = ' . roll_between(1, 30) . ')') if $dice < 74;
	return pair(
		"(SELECT z.", pick('k', 'k2', 'k8'),
		' FROM ',
		from_table(pick('n', 'u')),
		" z WHERE z.id = $alias.grp)") if $dice < 77;
	return "plain.unsteady($number)" if $dice < 80;
	return 'plain.' . pick('steady', 'parallel') . '(' . pick(@near) . "::$type)" if $dice < 84;
	return "$alias.grp " . pick('+', '-', '*') . ' ' . pick(0 .. 5) if $dice < 89;
	return pick('abs', '-', '+') . "($alias.grp)" if $dice < 91;
	return "coalesce($alias.k, $number)" if $dice < 94;
	return 'least(' . "$alias.k, " . pick(@near) . ')' if $dice < 97;
	return "CASE WHEN $alias.ok THEN $alias.k ELSE " . pick(@near) . ' END';
}

# The radius of a ball in a query, kept in range because others are errors.
sub ball_radius
{
	my ($kind, @aliases) = @_;
	return chance(0.8) ? pick(0 .. 12, 16, 24, width($kind)) : pick(@aliases) . '.rad';
}

# --- Distances

# plain.d over the parts of two values.
sub plain_distance
{
	my ($x, $y) = @_;
	return "plain.least($x->{plain}[0], $y->{plain}[0])" if $x->{kind} eq 'lex';
	return
		'('
	  . join(' + ', map { "plain.d($x->{plain}[$_], $y->{plain}[$_])" } 0 .. $#{ $x->{plain} })
	  . ')';
}

sub distance
{
	my ($x, $y) = @_;
	($x, $y) = ($y, $x) if chance(0.4);
	my ($a, $b) = ($x->{ours}, $y->{ours});

	# Two untyped literals would be compared as text, or their type would be unknown.
	my $typed = $a =~ /^'[^:]*'$/ && $b =~ /^'[^:]*'$/;
	$a .= "::$types{$x->{kind}}" if $typed;
	my $ours = chance(0.7) ? "hamming($a, $b)" : "($a <~> $b)";
	if (chance(0.05) && $x->{kind} =~ /^(fp|h)$/)
	{
		my $type = pick($x->{kind} eq 'fp' ? 'bigint' : 'fingerprint64', 'bit(64)');
		$ours =
		  "hamming(($x->{ours})::$types{$x->{kind}}::$type, ($y->{ours})::$types{$x->{kind}}::$type)";
	}
	return [ $ours, plain_distance($x, $y) ];
}

1;
