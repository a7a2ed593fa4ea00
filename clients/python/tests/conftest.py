"""A database with the extension for the whole run, which PGDATABASE then names."""

import os
import shutil

import pytest

EDGES = {
    bits: [0, 1, (1 << bits - 1) - 1, 1 << bits - 1, (1 << bits) - 1, (1 << bits) // 3]
    for bits in (64, 128, 256)
}


@pytest.fixture(scope="session")
def database():
    psycopg = pytest.importorskip("psycopg")
    name = "clients_python"
    with psycopg.connect(dbname="postgres", autocommit=True) as admin:
        admin.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        admin.execute(f"CREATE DATABASE {name}")
    os.environ["PGDATABASE"] = name
    with psycopg.connect(autocommit=True) as connection:
        connection.execute("CREATE EXTENSION pg_simhash")
    yield name
    with psycopg.connect(dbname="postgres", autocommit=True) as admin:
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def plain(database):
    """A connection that knows nothing of fingerprints."""
    import psycopg

    with psycopg.connect(autocommit=True) as connection:
        yield connection


@pytest.fixture
def wide(plain):
    """A table with a column for each width."""
    columns = "id int, f64 fingerprint64, f128 fingerprint128, f256 fingerprint256"
    plain.execute(f"CREATE TABLE wide ({columns})")
    yield "wide"
    plain.execute("DROP TABLE wide")


@pytest.fixture
def browser():
    """A browser without a screen, which keeps a log of what it asks for."""
    webdriver = pytest.importorskip("selenium.webdriver")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("no chromium, or no chromedriver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    service = webdriver.ChromeService(executable_path=driver)
    browser = webdriver.Chrome(options=options, service=service)
    yield browser
    browser.quit()
