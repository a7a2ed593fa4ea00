"""Django: fields, lookups, index, constraint and migrations, with both kinds of parameters."""

import os

import pytest
from conftest import EDGES

from pg_simhash import FINGERPRINTS, Fingerprint64, Fingerprint128

django = pytest.importorskip("django")

CHOICES = [(None, "none"), ("few", [(1, "one"), ("0" * 15 + "2", "two")]), (255, "many")]


@pytest.fixture(scope="module", params=[False, True], ids=["client-side", "server-side"])
def shop(request, database):
    """A model, made by a migration of its own state."""
    from django.conf import settings
    from django.db import connection, connections
    from django.db.backends.signals import connection_created

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

    from pg_simhash.django import register

    connection_created.connect(register)
    operation, extension = operations()
    before, after = ProjectState(), ProjectState()
    operation.state_forwards("shop", after)
    with connection.schema_editor() as editor:
        extension.database_forwards("shop", editor, before, before)
        operation.database_forwards("shop", editor, before, after)
    yield after.apps.get_model("shop", "Article")
    with connection.schema_editor() as editor:
        operation.database_backwards("shop", editor, after, before)
    connection_created.disconnect(register)
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
            simhash.SimhashExclusionConstraint(name="near", expressions=[("f128", "~=")]),
            models.CheckConstraint(
                **{
                    "check" if django.VERSION < (5, 1) else "condition": ~models.Q(
                        known__within=(Fingerprint64(2**63), 1)
                    )
                },
                name="far",
            ),
        ],
    }
    named = [("id", models.BigAutoField(primary_key=True)), ("body", models.TextField(default=""))]
    named += [*fields.items(), ("made", made)]
    named += [
        ("several", ArrayField(simhash.Fingerprint128Field(), null=True)),
        ("known", simhash.Fingerprint64Field(default=Fingerprint64(7), blank=True, null=True)),
        ("kept", simhash.Fingerprint64Field(db_default=models.Value(Fingerprint64(9)))),
        ("chosen", simhash.Fingerprint64Field(choices=CHOICES, null=True, blank=True)),
    ]
    return migrations.CreateModel("Article", named, options), simhash.SimhashExtension()


@pytest.fixture(scope="module")
def posts(shop):
    """Models of texts, made by a migration: one whose near-duplicates are refused, within a board,
    and one where a generated fingerprint decides."""
    from django.db import connection, migrations, models
    from django.db.migrations.state import ProjectState

    from pg_simhash import django as simhash

    body = ("body", models.TextField())
    key = ("id", models.BigAutoField(primary_key=True))
    near = simhash.NearDuplicateConstraint(
        "body",
        similarity=0.6,
        scope=["board"],
        config={"numbers": "same"},
        name="post_near",
        condition=models.Q(draft=False),
        violation_error_message="It is there already: %(original)s (%(name)s)",
    )
    made = models.GeneratedField(
        expression=simhash.MinHash64("body"),
        output_field=simhash.Fingerprint64Field(null=True),
        db_persist=True,
    )
    same = simhash.SimhashExclusionConstraint(name="same", expressions=[("fp", "~=")])
    board = ("board", models.IntegerField(null=True))
    draft = ("draft", models.BooleanField(default=False))
    index = simhash.SimhashIndex(
        fields=["body"], name="post_body", similarity=0.5, config={"numbers": "same"}
    )
    parent = models.ForeignKey("forum.Post", models.CASCADE)
    within = simhash.NearDuplicateConstraint(
        "body", similarity=0.6, scope=["post_id"], name="chunk_near"
    )
    create = [
        migrations.CreateModel("Post", [key, body, board, draft], {"constraints": [near]}),
        migrations.CreateModel("Made", [key, body, ("fp", made)], {"constraints": [same]}),
        migrations.AddIndex("Post", index),
        migrations.CreateModel("Chunk", [key, body, ("post", parent)], {"constraints": [within]}),
        migrations.CreateModel("Shown", [], {"proxy": True}, bases=("forum.Post",)),
    ]
    before = ProjectState()
    states = [before]
    for operation in create:
        states.append(states[-1].clone())
        operation.state_forwards("forum", states[-1])
    with connection.schema_editor() as editor:
        for operation, old, new in zip(create, states, states[1:]):
            operation.database_forwards("forum", editor, old, new)
    apps = states[-1].apps
    yield apps.get_model("forum", "Post"), apps.get_model("forum", "Made")
    with connection.schema_editor() as editor:
        for operation, old, new in reversed(list(zip(create, states, states[1:]))):
            operation.database_backwards("forum", editor, new, old)


FOX = "The quick brown fox jumps over the lazy dog while the farmer watches from the old fence"
NEAR = FOX.replace("farmer watches", "farmers watch")


def form_of(model, **values):
    from django import forms

    named = [name for name in values if name != "instance"]
    form_class = forms.modelform_factory(model, fields=named)
    return form_class(values, instance=values.get("instance"))


def test_a_form_names_the_original(posts):
    from django.core.exceptions import ValidationError

    post, _ = posts
    post.objects.all().delete()
    first = post.objects.create(body=FOX, board=1)
    form = form_of(post, body=NEAR, board=1)
    assert not form.is_valid()
    [error] = form.non_field_errors().as_data()
    assert error.params == {"name": "post_near", "original": first.pk}
    assert form.non_field_errors() == [f"It is there already: {first.pk} (post_near)"]
    for values in (
        {"body": NEAR, "board": 2},
        {"body": NEAR},
        {"body": FOX + " 7", "board": 1},
        {"body": NEAR, "board": 1, "draft": True},
    ):
        assert form_of(post, **values).is_valid(), values
    # A row is not near itself.
    assert form_of(post, body=NEAR, board=1, instance=first).is_valid()
    with pytest.raises(ValidationError, match="It is there already"):
        post(body=NEAR, board=1).full_clean()
    with pytest.raises(ValidationError):
        post(body=NEAR, board=1).validate_constraints()


def test_a_generated_field_is_asked_for(posts):
    _, made = posts
    made.objects.all().delete()
    first = made.objects.create(body=FOX)
    form = form_of(made, body=FOX.upper())
    assert not form.is_valid()
    [error] = form.non_field_errors().as_data()
    assert error.params["original"] == first.pk
    assert form_of(made, body="of something else altogether, and long enough").is_valid()


def test_what_decides_is_known_or_nothing_is_said(posts):
    post, made = posts
    chunk = post.chunk_set.rel.related_model
    made.objects.all().delete()
    made.objects.create(body="of something else altogether, and long enough")
    [same] = made._meta.constraints
    # Without its source a generated field is not known.
    assert same.original(made, made(body=FOX), exclude={"body"}) is None
    post.objects.all().delete()
    one, two = (post.objects.create(body=body, board=1) for body in (FOX, "of something else"))
    first = chunk.objects.create(body=FOX, post=one)
    [near] = chunk._meta.constraints
    assert near.original(chunk, chunk(body=NEAR, post=one)) == first.pk
    assert near.original(chunk, chunk(body=NEAR, post=two)) is None
    for name in "post", "post_id":
        assert near.original(chunk, chunk(body=NEAR), exclude={name}) is None
        # A foreign key that is set is known.
        assert near.original(chunk, chunk(body=NEAR, post=one), exclude={name}) == first.pk
        assert near.original(chunk, chunk(body=NEAR, post=two), exclude={name}) is None
        assert near.original(chunk, chunk(body=NEAR, post=one), exclude={name, "body"}) is None


def test_an_inline_refuses_copies_within_its_parent(posts):
    from django.forms import inlineformset_factory

    post, _ = posts
    chunk = post.chunk_set.rel.related_model
    post.objects.all().delete()
    one, two = (post.objects.create(body=body, board=1) for body in (FOX, "of something else"))
    first = chunk.objects.create(body=FOX, post=one)
    formset = inlineformset_factory(post, chunk, fields=["body"])

    def sent(parent, *bodies, there=0):
        forms = {f"chunk_set-{i}-body": body for i, body in enumerate(bodies)}
        keys = {"chunk_set-0-id": first.pk} if there else {}
        counts = {"chunk_set-TOTAL_FORMS": len(bodies), "chunk_set-INITIAL_FORMS": there}
        return formset({**forms, **keys, **counts}, instance=parent)

    refused = sent(one, NEAR)
    assert not refused.is_valid()
    [error] = refused.forms[0].non_field_errors().as_data()
    assert error.params["original"] == first.pk
    assert sent(two, NEAR).is_valid() and sent(post(body="new", board=2), NEAR).is_valid()
    assert sent(one, NEAR, there=1).is_valid()


def test_a_message_may_be_a_link():
    from django.core.exceptions import ValidationError
    from django.db.migrations.writer import MigrationWriter
    from django.forms.utils import ErrorList
    from django.utils.safestring import mark_safe

    from pg_simhash import django as simhash

    def shown(message, original):
        constraint = simhash.NearDuplicateConstraint(
            "body", similarity=0.8, name="near", violation_error_message=message
        )
        written, _ = MigrationWriter.serialize(constraint)
        assert eval(written, {"pg_simhash": __import__("pg_simhash.django")}) == constraint
        return str(ErrorList(ValidationError([constraint.refusal(original)]).error_list))

    link = '<a href="/%(original)s">here</a>, 100 %%'
    assert '<a href="/7">here</a>, 100 %' in shown(mark_safe(link), 7)
    assert '<a href="/&lt;b&gt;">' in shown(mark_safe(link), "<b>")
    assert "&lt;a href" in shown(link, 7)


def test_what_a_form_leaves_out_of_a_row_that_is_there_is_known(posts):
    post, _ = posts
    post.objects.all().delete()
    first = post.objects.create(body=FOX, board=1)
    draft = post.objects.create(body=NEAR, board=1, draft=True)
    moved = post.objects.create(body=NEAR, board=2)
    for form in (
        form_of(post, draft=False, instance=draft),
        form_of(post, board=1, instance=moved),
    ):
        assert form.non_field_errors().as_data()[0].params["original"] == first.pk
    assert form_of(post, board=3, instance=moved).is_valid()


def test_the_order_of_a_configuration_is_no_change():
    from django.db.migrations.writer import MigrationWriter

    from pg_simhash import django as simhash

    def made(config):
        return simhash.NearDuplicateConstraint("body", similarity=0.8, name="near", config=config)

    given = made({"shingle": 3, "numbers": "same"})
    written, _ = MigrationWriter.serialize(given)
    assert eval(written, {"pg_simhash": __import__("pg_simhash.django")}) == given
    assert given == made({"numbers": "same", "shingle": 3}) != made({"shingle": 3})


def test_rows_that_a_manager_hides_are_no_server_error(posts):
    from django.core.exceptions import ValidationError
    from django.db.models import Manager

    from pg_simhash.django import save_or_refuse

    class Nothing(Manager):
        def get_queryset(self):
            return super().get_queryset().none()

    post, _ = posts
    post.objects.all().delete()
    post.objects.create(body=FOX, board=1)
    hiding = Nothing()
    hiding.model = post
    shown = post._meta.default_manager
    post._meta.__dict__["default_manager"] = hiding
    try:
        for act in (lambda copy: copy.full_clean(), save_or_refuse):
            with pytest.raises(ValidationError) as refused:
                act(post(body=NEAR, board=1))
            errors = (
                refused.value.error_dict["__all__"]
                if act is not save_or_refuse
                else [refused.value]
            )
            assert errors[0].params == {"name": "post_near", "original": None}
    finally:
        post._meta.__dict__["default_manager"] = shown


def test_who_comes_second_is_refused_with_the_original(posts):
    from django.core.exceptions import ValidationError
    from django.db import IntegrityError

    from pg_simhash.django import save_or_refuse

    post, _ = posts
    post.objects.all().delete()
    first = post(body=FOX, board=1)
    save_or_refuse(first)
    with pytest.raises(ValidationError) as refused:
        save_or_refuse(post(body=NEAR, board=1))
    assert refused.value.params["original"] == first.pk
    with pytest.raises(IntegrityError):  # by something else, though it is near as well
        save_or_refuse(post(id=first.pk, body=NEAR, board=1), force_insert=True)
    proxy = next(model for model in post.__subclasses__() if model._meta.proxy)
    with pytest.raises(ValidationError) as refused:
        save_or_refuse(proxy(body=NEAR, board=1))
    assert refused.value.params["original"] == first.pk
    assert post.objects.count() == 1


def test_texts_are_looked_up_by_the_index(posts):
    from django.db import connection, transaction
    from django.db.models import F

    from pg_simhash.django import MinHash128, NearDuplicate, TextSimilarity

    post, _ = posts
    post.objects.all().delete()
    texts = [FOX, NEAR, "100 % of it, it's said: something else altogether"]
    for i, text in enumerate(texts):
        post.objects.create(body=text, board=i)
    numbers = {"numbers": "same"}
    assert post.objects.filter(body__near=FOX).get().body == FOX
    assert post.objects.filter(body__near=(FOX, 0.6)).count() == 2
    assert post.objects.filter(body__near=(NEAR, 0.9)).get().body == NEAR
    assert post.objects.filter(body__near=(texts[2], 0.9, numbers)).get().body == texts[2]
    assert post.objects.exclude(body__near=(FOX, 0.6)).get().body == texts[2]
    assert post.objects.filter(NearDuplicate("body", F("body"), 1)).count() == 3
    near = post.objects.annotate(similarity=TextSimilarity("body", FOX)).order_by("-similarity")
    found = [(row.body, round(row.similarity, 2)) for row in near]
    with connection.cursor() as cursor:
        cursor.execute("SELECT round(text_similarity(%s, %s)::numeric, 2)", [FOX, NEAR])
        assert found == [(FOX, 1.0), (NEAR, float(cursor.fetchone()[0])), (texts[2], 0.0)]
        cursor.execute("SELECT minhash128(%s)::text", [FOX])
        by_sql = cursor.fetchone()[0]
        assert str(post.objects.annotate(m=MinHash128("body")).get(body=FOX).m) == by_sql
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        for given in (FOX, 0.7, numbers), (FOX, 0.5, numbers):
            assert "post_body" in post.objects.filter(body__near=given).explain()
        cursor.execute("SELECT pg_get_indexdef('post_body'::regclass)")
        definition = cursor.fetchone()[0]
        assert "similarity='0.5'" in definition and "numbers" in definition


def test_wrong_declarations_are_told():
    from pg_simhash import django as simhash

    for similarity in 0, 1.01, float("nan"):
        with pytest.raises(ValueError, match="more than 0, and at most 1"):
            simhash.NearDuplicateConstraint("body", similarity=similarity, name="near")
    with pytest.raises(TypeError, match=r"scope is a list of fields: \['board'\]"):
        simhash.NearDuplicateConstraint("body", similarity=0.8, name="near", scope="board")
    written = simhash.SimhashIndex(fields=["body"], name="i", similarity=0.7654321234)
    assert written.get_with_params() == ["similarity = 0.7654321234"]


def test_migrations_write_what_was_declared():
    from django.db.migrations.writer import MigrationWriter

    from pg_simhash import django as simhash

    constraint = simhash.NearDuplicateConstraint(
        "body", similarity=0.8, name="near", scope=["board"], config={"shingle": 3}
    )
    index = simhash.SimhashIndex(fields=["body"], name="i", similarity=0.5, config='{"shingle": 3}')
    for declared in constraint, index:
        written, imports = MigrationWriter.serialize(declared)
        names = {}
        exec("\n".join([*imports, f"again = {written}"]), names)
        assert names["again"].deconstruct() == declared.deconstruct()
        if declared is constraint:
            assert names["again"] == declared
    assert constraint != simhash.NearDuplicateConstraint("body", similarity=0.7, name="near")


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
        with pytest.raises(ValidationError, match="Enter 16 hexadecimal digits"):
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


def test_choices_are_fingerprints(shop):
    from django.forms import modelform_factory

    Form = modelform_factory(shop, fields=["chosen"])
    many = shop.objects.create(chosen=255)
    many.refresh_from_db()
    assert many.get_chosen_display() == "many"
    shown = str(Form(instance=many)["chosen"])
    assert f'<option value="{255:016x}" selected>many</option>' in shown
    assert f'<option value="{2:016x}">two</option>' in shown
    form = Form({"chosen": f"{255:016x}"}, instance=many)
    assert form.is_valid() and not form.has_changed()
    form = Form({"chosen": f"{1:016x}"}, instance=many)
    assert form.is_valid() and form.save().chosen == Fingerprint64(1)
    assert not Form({"chosen": f"{3:016x}"}).is_valid()
    many.delete()


def test_forms_of_what_is_not_saved(shop):
    """Whose default the database will make."""
    from django.forms import modelform_factory

    Form = modelform_factory(shop, fields=["kept"])
    str(Form(instance=shop())["kept"])
    form = Form({"kept": "f" * 16}, instance=shop())
    assert form.is_valid() and form.changed_data == ["kept"]


def test_constraints_are_checked_before_they_are_broken(shop):
    from django.core.exceptions import ValidationError

    made = shop(body="x", known=2**63 + 1, kept=0)
    with pytest.raises(ValidationError, match="far"):
        made.validate_constraints()
    made.known = 7
    made.validate_constraints()


def test_values_have_types_of_their_own(shop):
    from django.db import models
    from django.db.models import Case, Value, When

    from pg_simhash.django import Fingerprint64Field, HammingDistance

    rows(shop)
    one, two = (Value(Fingerprint64(i), output_field=Fingerprint64Field()) for i in (1, 2))
    choice = Case(When(body="3", then=one), default=two)
    found = shop.objects.annotate(d=HammingDistance(choice, 3), n=HammingDistance(choice, 1))
    assert list(found.order_by("body").values_list("d", "n")) == [(1, 0), (1, 2), (1, 2)]
    shop.objects.update(known=choice)
    assert list(shop.objects.order_by("body").values_list("known", flat=True)) == [1, 2, 2]
    assert shop.objects.filter(f64__near=Value(2**63)).count() == 1
    shop.objects.create(body="none", known=None)
    huge = (2**31 - 1, 2**40, str(2**40), 2.0**40)
    for distance, count in [*((d, 3) for d in huge), (-1, 0), (-(2**40), 0)]:
        found = shop.objects.filter(f64__within=(0, distance))
        assert found.count() == count
        assert shop.objects.exclude(f64__within=(0, distance)).count() == 4 - count
    assert shop.objects.filter(f64__within=(0, models.Value(64))).count() == 3
    within = shop._meta.get_field("f64").get_lookup("within")
    assert shop.objects.filter(within(models.F("f64"), (2**63, 0))).count() == 1
    with pytest.raises(ValueError, match="a fingerprint and a distance"):
        shop.objects.filter(f64__within=5)


@pytest.mark.parametrize("form", ["json", "jsonl", "xml", "yaml", "python"])
def test_dumps_are_loaded(shop, form):
    from django.apps import apps
    from django.core import serializers

    if form == "yaml":
        pytest.importorskip("yaml")
    shop.objects.all().delete()
    made = shop.objects.create(f64=2**64 - 1, f128=None, chosen=255, kept=3)
    made.refresh_from_db()
    text = serializers.serialize(form, [made])
    apps.all_models["shop"]["article"] = shop
    apps.app_configs["shop"] = shop._meta.apps.app_configs["shop"]
    apps.clear_cache()
    try:
        (loaded,) = serializers.deserialize(form, text)
    finally:
        del apps.all_models["shop"]["article"], apps.app_configs["shop"]
        apps.clear_cache()
    found = loaded.object
    assert (found.f64, found.f128, found.chosen, found.kept) == (2**64 - 1, None, 255, 3)
    assert type(found.f64) is Fingerprint64


def test_other_databases_are_refused(shop):
    """They would change digits."""
    from django.db import NotSupportedError
    from django.db.backends.sqlite3.base import DatabaseWrapper

    with pytest.raises(NotSupportedError, match="sqlite has no type fingerprint64"):
        shop._meta.get_field("f64").db_type(DatabaseWrapper({}))


def test_psycopg2_is_refused():
    from types import SimpleNamespace

    from django.core.exceptions import ImproperlyConfigured

    from pg_simhash.django import register

    with pytest.raises(ImproperlyConfigured, match="psycopg 3"):
        register(SimpleNamespace(vendor="postgresql", connection=object()))
    register(SimpleNamespace(vendor="postgresql", connection=None))


def test_arrays_are_read_where_the_types_are_known(shop):
    from django.contrib.postgres.aggregates import ArrayAgg
    from django.db import connection
    from django.db import NotSupportedError
    from django.db.backends.signals import connection_created

    from pg_simhash.django import register

    several = [Fingerprint128(2**128 - 1), Fingerprint128(0)]
    made = shop.objects.create(several=several, f64=5)
    connection_created.disconnect(register)
    connection.close()
    with pytest.raises(NotSupportedError, match="connect.pg_simhash.django.register"):
        made.refresh_from_db()
    connection_created.connect(register)
    connection.close()
    try:
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
        connection.close()
        connection.settings_dict["NAME"] = os.environ["PGDATABASE"]
