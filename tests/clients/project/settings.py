"""An ordinary project with an application shop, in the database that PGDATABASE names."""

import os

DATABASES = {
    "default": {"ENGINE": "django.db.backends.postgresql", "NAME": os.environ["PGDATABASE"]},
}
SECRET_KEY = "of the tests"
ALLOWED_HOSTS = ["localhost", "testserver"]
ROOT_URLCONF = "shop.urls"
TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}]
INSTALLED_APPS = ["django.contrib.postgres", "shop"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
