"""Django: fields, lookups, index, constraint and migrations, with both kinds of parameters."""

import os

import pytest
from conftest import EDGES

from pg_simhash import FINGERPRINTS, Fingerprint64, Fingerprint128

django = pytest.importorskip("django")


@pytest.fixture(scope="module", params=[False, True], ids=["client-side", "server-side"])
def shop(request, database):
    """A model, made by a migration of its own state."""
    from django.conf import settings
    from django.db import connection, connections

    if not settings.configured:
        settings.configure(
            DATABASES={
                "default": {
                    "ENGINE": "django.db.backends.postgresql",
                    "NAME": os.environ["PGDATABASE"],
                    "OPTIONS": {},
                }
            },
            INSTALLED_APPS=["django.contrib.postgres"],
            USE_TZ=True,
        )
        django.setup()
    connections["default"].close()
    connections["default"].settings_dict["OPTIONS"]["server_side_binding"] = request.param
    from django.db.migrations.state import ProjectState

    operation, extension = operations()
    before, after = ProjectState(), ProjectState()
    operation.state_forwards("shop", after)
    with connection.schema_editor() as editor:
        extension.database_forwards("shop", editor, before, before)
        operation.database_forwards("shop", editor, before, after)
    yield after.apps.get_model("shop", "Article")
    with connection.schema_editor() as editor:
        operation.database_backwards("shop", editor, after, before)
    connection.close()


def operations():
    from django.contrib.postgres.fields import ArrayField
    from django.db import migrations, models

    from pg_simhash import django as simhash

    fields = {
        f"f{kind.bits}": getattr(simhash, f"{kind.__name__}Field")(null=True)
        for kind in FINGERPRINTS
    }
    made = models.GeneratedField(
        expression=models.Func("body", function="simhash"),
        output_field=simhash.Fingerprint64Field(null=True),
        db_persist=True,
    )
    options = {
        "indexes": [simhash.SimhashIndex(fields=["f64"], name="by_f64", blocks=5, fillfactor=80)],
        "constraints": [
            simhash.SimhashExclusionConstraint(name="near", expressions=[("f128", "~=")])
        ],
    }
    named = [("id", models.BigAutoField(primary_key=True)), ("body", models.TextField(default=""))]
    named += [*fields.items(), ("made", made)]
    named += [
        ("several", ArrayField(simhash.Fingerprint128Field(), null=True)),
        ("known", simhash.Fingerprint64Field(default=Fingerprint64(7), blank=True, null=True)),
        ("kept", simhash.Fingerprint64Field(db_default=models.Value(Fingerprint64(9)))),
    ]
    return migrations.CreateModel("Article", named, options), simhash.SimhashExtension()


def rows(Article):
    Article.objects.all().delete()
    for i in (5, 3, 4):
        values = {f"f{kind.bits}": EDGES[kind.bits][i] for kind in FINGERPRINTS}
        Article.objects.create(body=f"{i}", **values)


def test_values_and_lookups(shop):
    from django.db.models import F, OuterRef, Subquery

    from pg_simhash.django import HammingDistance

    rows(shop)
    for kind in FINGERPRINTS:
        name, top = f"f{kind.bits}", kind(1 << kind.bits - 1)
        assert [type(v) for v in shop.objects.values_list(name, flat=True)] == [kind] * 3
        for value in (top, int(top), str(top), top.packed):
            for condition in (
                {name: value},
                {f"{name}__within": (value, 0)},
                {f"{name}__near": value},
                {f"{name}__in": [value]},
            ):
                assert [a.body for a in shop.objects.filter(**condition)] == ["3"]
            near = shop.objects.annotate(d=HammingDistance(name, value)).order_by("d")
            found = [(a.body, a.d) for a in near]
            assert found == [("3", 0), ("5", kind.bits // 2 + 1), ("4", kind.bits - 1)]
            assert shop.objects.exclude(**{f"{name}__within": (value, 0)}).count() == 2
        assert shop.objects.filter(**{f"{name}__within": (F(name), 0)}).count() == 3
        inner = shop.objects.filter(**{f"{name}__within": (OuterRef(name), kind.bits // 2)})
        last = Subquery(inner.order_by("-id").values("body")[:1])
        assert [a.last for a in shop.objects.annotate(last=last).order_by("id")] == ["4", "3", "4"]
    assert shop.objects.filter(f64__isnull=True).count() == 0


def test_the_index_is_used(shop):
    from django.db import connection, transaction

    from pg_simhash.django import HammingDistance

    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        within = shop.objects.filter(f64__within=(5, 3))
        assert "by_f64" in within.explain()
        ordered = within.order_by(HammingDistance("f64", 5)).explain()
        assert "by_f64" in ordered and "Order By" in ordered
        cursor.execute("SELECT pg_get_indexdef('by_f64'::regclass)")
        assert "USING simhash (f64) WITH (blocks='5', fillfactor='80')" in cursor.fetchone()[0]


def test_the_constraint_refuses(shop):
    from django.db import IntegrityError, transaction

    rows(shop)
    with pytest.raises(IntegrityError, match='"near"'), transaction.atomic():
        shop.objects.create(f128=2**127 + 0b111)
    shop.objects.create(f128=2**127 + 2**11 - 1)


def test_forms_and_serializers(shop):
    from django.core.exceptions import ValidationError

    field = shop._meta.get_field("f64")
    assert field.to_python("0x" + "f" * 16) == Fingerprint64(2**64 - 1)
    assert field.to_python(None) is None
    for value in ("", "xyz", -1, 2**64, 1.5):
        with pytest.raises(ValidationError):
            field.to_python(value)
    assert field.value_to_string(shop(f64=255)) == "00000000000000ff"
    assert field.value_to_string(shop()) == ""


def test_migrations_can_be_written(shop):
    from django.db.migrations.writer import OperationWriter

    for operation in operations():
        text, imports = OperationWriter(operation, indentation=0).serialize()
        names = {}
        exec("\n".join(["from django.db import migrations, models", *sorted(imports)]), names)
        again = eval(text.rstrip().rstrip(","), names)
        assert OperationWriter(again, indentation=0).serialize() == (text, imports)
        assert "pg_simhash.django" in text


def test_defaults(shop):
    made = shop.objects.create()
    made.refresh_from_db()
    assert (type(made.known), made.known, made.kept) == (Fingerprint64, 7, 9)
    made.delete()


def test_forms_show_digits_and_read_them(shop):
    from django.forms import modelform_factory

    Form = modelform_factory(shop, fields=["known", "several"])
    digits = f"{7:016x}"
    assert f'value="{digits}"' in str(Form()["known"])
    assert f'value="{255:016x}"' in str(Form(instance=shop(known=255))["known"])
    several = [0, 2**128 - 1]
    shown = ",".join(f"{value:032x}" for value in several)
    assert f'value="{shown}"' in str(Form(instance=shop(several=several))["several"])

    read = {"": None, "  ": None, f" 0x{digits}\n": 7, "f" * 16: 2**64 - 1}
    for known, expected in read.items():
        form = Form({"known": known, "several": shown})
        assert form.is_valid(), form.errors
        saved = form.save()
        saved.refresh_from_db()
        assert (saved.known, saved.several) == (expected, several)
        again = Form({"known": known, "several": shown}, instance=saved)
        assert not again.has_changed()
        other = Form({"known": "e" * 16, "several": shown}, instance=saved)
        assert other.changed_data == ["known"]
        saved.delete()
    for known in ("7", "xyz", "f" * 17):
        form = Form({"known": known, "several": shown})
        assert not form.is_valid() and list(form.errors) == ["known"]


def test_arrays_are_read_where_the_types_are_known(shop):
    from django.contrib.postgres.aggregates import ArrayAgg
    from django.db import connection
    from django.db.backends.signals import connection_created

    from pg_simhash.django import register

    several = [Fingerprint128(2**128 - 1), Fingerprint128(0)]
    connection_created.connect(register)
    try:
        connection.close()
        made = shop.objects.create(several=several, f64=5)
        made.refresh_from_db()
        assert made.several == several
        assert [type(value) for value in made.several] == [Fingerprint128] * 2
        mine = shop.objects.filter(pk=made.pk)
        assert mine.aggregate(all=ArrayAgg("f64")) == {"all": [Fingerprint64(5)]}
        made.delete()
        # Where the extension is not, connections work as without it.
        connection.close()
        connection.settings_dict["NAME"] = "postgres"
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            assert cursor.fetchone() == (1,)
    finally:
        connection_created.disconnect(register)
        connection.close()
        connection.settings_dict["NAME"] = os.environ["PGDATABASE"]
