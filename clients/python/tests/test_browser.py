"""The form of docs/django-forms.md, as somebody sees it: a browser without a screen
posts a text and a near copy, reads why it is refused, and follows the link to the original."""

import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

pytest.importorskip("django")
pytest.importorskip("selenium.webdriver")
TOP = pathlib.Path(__file__).resolve().parents[3]
FILE = re.compile(
    r"^```\w+\n(?:# |<!-- )(shop/[\w/]+\.(?:py|html))(?: -->)?\n(.*?)^```\n", re.M | re.S
)
FOX = "The quick brown fox jumps over the lazy dog while the farmer watches from the old fence"


@pytest.fixture
def address(tmp_path, browser):
    """A server of the page's project, as Django's own command starts it, in a database of its
    own."""
    psycopg = pytest.importorskip("psycopg")
    environment = {**os.environ, "PGDATABASE": "clients_browser"}
    with psycopg.connect(dbname="postgres", autocommit=True) as admin:
        admin.execute("DROP DATABASE IF EXISTS clients_browser WITH (FORCE)")
        admin.execute("CREATE DATABASE clients_browser")
    project = tmp_path / "project"
    shutil.copytree(TOP / "tests/clients/project", project)
    pages = (TOP / "docs" / name for name in ("django.md", "django-forms.md"))
    text_of_all = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    for name, text in FILE.findall(text_of_all):
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    manage = [sys.executable, "manage.py"]
    for command in (["makemigrations", "shop"], ["migrate"]):
        command = [*manage, *command, "--verbosity", "0"]
        subprocess.run(command, cwd=project, env=environment, check=True)
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [*manage, "runserver", "--noreload", f"localhost:{port}"],
        cwd=project,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    for _ in range(200):
        try:
            urllib.request.urlopen(f"http://localhost:{port}/", timeout=5).close()
            break
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)
    yield f"http://localhost:{port}"
    server.terminate()
    server.wait()
    with psycopg.connect(dbname="postgres", autocommit=True) as admin:
        admin.execute("DROP DATABASE clients_browser WITH (FORCE)")


def test_a_copy_is_refused_with_a_link(address, browser):
    from selenium.webdriver.support.expected_conditions import staleness_of
    from selenium.webdriver.support.wait import WebDriverWait

    def post(text):
        browser.get(address)
        browser.find_element("name", "body").send_keys(text)
        follow(browser.find_element("tag name", "button"))

    def follow(element):
        """Clicks, and waits for the page to be another one."""
        page = browser.find_element("tag name", "html")
        element.click()
        WebDriverWait(browser, 30).until(staleness_of(page))

    post(FOX)
    original = browser.current_url
    assert original != f"{address}/"
    assert browser.find_element("tag name", "article").text == FOX
    post(FOX.replace("quick", "swift").upper())
    assert browser.current_url == f"{address}/"
    error = browser.find_element("class name", "error")
    assert error.text == "This is here already."
    # What was written is still there.
    assert "SWIFT" in browser.find_element("name", "body").get_attribute("value")
    if shown := os.environ.get("SCREENSHOT"):
        browser.save_screenshot(shown)
    follow(error.find_element("tag name", "a"))
    assert browser.current_url == original
    assert browser.find_element("tag name", "article").text == FOX
    post("Something else altogether, about boiling water")
    assert browser.current_url not in (original, f"{address}/")
