"""An ordinary project with an application shop, in the database that PGDATABASE names."""

import os

DATABASES = {
    "default": {"ENGINE": "django.db.backends.postgresql", "NAME": os.environ["PGDATABASE"]},
}
INSTALLED_APPS = ["django.contrib.postgres", "shop"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
