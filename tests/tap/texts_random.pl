# Random statements on tables with an index of texts and with a constraint on texts, for random
# similarities and three configs. Brute force predicts what the constraint does with each statement.
# After each game the answers of the indexes are those of sequential scans.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use SimhashTest;
use TextsTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_text_node('main', "shared_buffers = 32MB\nautovacuum = off");
seed();
$node->safe_psql('postgres', <<'SQL');
-- Plays turns on the table `kept`, whose constraint is by this similarity and config; with tenants
-- if it has them. What is done to `kept` is done to `free`, which has an index and no constraint,
-- too, if it was allowed. Returns what went wrong.
CREATE FUNCTION test.play(turns integer, salt text, similarity float8, config simhash_config,
  has_tenants boolean, OUT wrong text, OUT allowed integer, OUT refused integer)
LANGUAGE plpgsql AS $$
DECLARE
  dice bigint; act text; given text; new_tenant integer; victim bigint; is_near boolean;
  happened boolean; touched integer;
BEGIN
  wrong := ''; allowed := 0; refused := 0;
  FOR turn IN 1 .. turns LOOP
    dice := abs(test.number(salt || turn));
    given := test.any_text(salt || 'text' || turn);
    new_tenant := CASE WHEN dice % 17 > 0 THEN dice % 3 END;
    act := (ARRAY['insert', 'insert', 'nothing', 'nothing', 'nothing', 'update', 'delete', 'tenant',
      'undone', 'many'])[1 + dice / 64 % 10];
    SELECT id INTO victim FROM kept ORDER BY md5(id || salt || turn) LIMIT 1;
    -- No index serves an expression.
    SELECT count(*) > 0 INTO is_near FROM kept k
      WHERE near_duplicate(k.body || '', CASE act WHEN 'tenant' THEN
          (SELECT body FROM kept WHERE id = victim) ELSE given END, similarity, config)
        AND (NOT has_tenants OR k.tenant = new_tenant)
        AND (act NOT IN ('update', 'tenant') OR k.id <> victim);
    BEGIN
      CASE act
        WHEN 'nothing' THEN
          INSERT INTO kept (tenant, body) VALUES (new_tenant, given) ON CONFLICT DO NOTHING;
        WHEN 'update' THEN
          UPDATE kept SET (tenant, body) = (new_tenant, given) WHERE id = victim;
        WHEN 'tenant' THEN UPDATE kept SET tenant = new_tenant WHERE id = victim;
        WHEN 'delete' THEN DELETE FROM kept WHERE id = victim;
        WHEN 'many' THEN
          -- Two are near each other, if they have tokens: one is left at most.
          INSERT INTO kept (tenant, body) SELECT new_tenant, given || repeat(' ', i)
            FROM generate_series(1, 3) i ON CONFLICT DO NOTHING;
        ELSE INSERT INTO kept (tenant, body) VALUES (new_tenant, given);
      END CASE;
      GET DIAGNOSTICS touched = ROW_COUNT;
      IF act = 'undone' THEN RAISE 'undone' USING ERRCODE = 'UT000'; END IF;
      happened := touched > 0;
    EXCEPTION
      WHEN exclusion_violation THEN happened := false;
      WHEN SQLSTATE 'UT000' THEN CONTINUE WHEN NOT is_near; happened := true;
    END;
    IF act = 'delete' OR victim IS NULL AND act IN ('update', 'tenant') THEN
      happened := false;
      is_near := true;
    END IF;
    IF happened = is_near THEN
      wrong := wrong || format(E'turn %s: %s of %s for tenant %s, at %s: %s\n', turn, act,
        left(given, 80), new_tenant, victim, CASE WHEN is_near THEN 'let in' ELSE 'refused' END);
    END IF;
    IF happened THEN allowed := allowed + 1; ELSE refused := refused + 1; END IF;
    INSERT INTO free (tenant, body) VALUES (new_tenant, given);
    IF dice % 5 = 0 THEN
      DELETE FROM free WHERE id = (SELECT id FROM free ORDER BY md5(id || salt || turn) LIMIT 1);
    ELSIF dice % 5 = 1 THEN
      UPDATE free SET body = body || ' ' || dice % 7, tenant = new_tenant
        WHERE id = (SELECT id FROM free ORDER BY md5(id || salt || turn) LIMIT 1);
    END IF;
  END LOOP;
END $$;
SQL

my @configs = ('{}', '{"shingle": 2}', '{"tokenizer": "char", "shingle": 4}');

sub game
{
	my ($number) = @_;
	my $config = $configs[ $number % 3 ];
	my $similarity = (30 + roll(71)) / 100;
	my $served = (30 + roll(71)) / 100;
	my ($recent, $tenants, $salt) = ((0, 8, 16, 64, -1)[ roll(5) ], roll(2), roll(1_000_000_000));
	my $name = "game $number, constraint at $similarity"
		. ($tenants ? ' by tenant' : '') . ", index for $served, $config, recent = $recent";
	my $tenant = $tenants ? 'tenant WITH =,' : '';
	my $scope = roll(2) ? 'tenant, ' : '';
	$node->safe_psql('postgres', <<"SQL");
DROP TABLE IF EXISTS kept, free;
CREATE TABLE kept (id bigint GENERATED ALWAYS AS IDENTITY, tenant integer, body text,
  CONSTRAINT no_near EXCLUDE USING simhash
    ($tenant near_text(body, $similarity, '$config') WITH ~=) WITH (recent = $recent));
CREATE TABLE free (id bigint GENERATED ALWAYS AS IDENTITY, tenant integer, body text);
CREATE INDEX free_b ON free USING simhash (${scope}body)
  WITH (similarity = $served, config = '$config', recent = $recent);
SQL
	my $turns = soak() ? 400 : 80;
	for my $round (1 .. (soak() ? 3 : 2))
	{
		my $transaction = roll(2) ? 'BEGIN ISOLATION LEVEL REPEATABLE READ' : 'BEGIN';
		my $answer = $node->safe_psql('postgres', <<"SQL");
$transaction;
SELECT wrong || CASE WHEN allowed = 0 THEN 'nothing was let in'
    WHEN refused = 0 THEN 'nothing was refused' ELSE '' END
FROM test.play($turns, '$salt $round', $similarity, '$config', @{[$tenants ? "true" : "false"]});
COMMIT;
SQL
		is($answer, '', "$name, round $round: the constraint does what brute force says") or last;
		index_is_clean($node, $_, "$name, round $round: $_ is sound") for 'no_near', 'free_b';
		# Sometimes with a question of another config, which examines all rows.
		my $asked = roll(4) ? $config : $configs[ roll(3) ];
		text_answers_agree($node, 'free', 'free_b', "$name, round $round: all scans agree",
			config => $asked, questions => 8);
		text_answers_agree($node, 'free', 'free_b', "$name, round $round: all scans of scopes agree",
			config => $asked, questions => 4,
			indexed => ('tenant = 1', 'tenant IS NULL', 'tenant IN (0, 2)')[ roll(3) ] . ' AND body')
			if $scope;
		text_answers_agree($node, 'kept', 'no_near',
			"$name, round $round: the constraint's index answers too", config => $config,
			questions => 4, indexed => "near_text(body, $similarity, '$config')");
		my $between = ('VACUUM kept; VACUUM free', 'REINDEX TABLE free; REINDEX TABLE kept',
			'REINDEX TABLE CONCURRENTLY free', 'DELETE FROM free WHERE id % 2 = 0; VACUUM free',
			'VACUUM FULL free', 'ALTER INDEX free_b SET (recent = 8)')[ roll(6) ];
		$node->safe_psql('postgres', $_) for split /; /, $between;
	}
}

my ($number, $end) = (0, time + soak_seconds());
while (soak() ? time < $end : $number < 4) { game(++$number) }
$node->stop;
done_testing();
