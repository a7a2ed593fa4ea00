"""Debian's registry through apt, with separate lists and downloads in a directory.

The system's own package lists stay unchanged, and root is not needed. A downloaded file is not
requested again, so a second run needs no network, and an interrupted run continues.
"""

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

RELEASES = ("bookworm", "trixie", "sid")
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
# The languages of translated descriptions.
LANGUAGES = (
    "bg ca cs da de de_DE el eo es eu fi fr hr hu id it ja km km_KH ko ml nb nl pl pt pt_BR ro ru"
    " sk sr sv tr uk vi zh zh_CN zh_TW").split()
# Sid's signature expires within days. A mirror that is behind suffices here.
CONFIGURATION = """
Dir "{directory}";
Dir::Etc "{directory}";
Dir::Etc::sourcelist "{directory}/sources.list";
Dir::Etc::sourceparts "-";
Dir::Etc::parts "{directory}/none";
Dir::Etc::preferencesparts "{directory}/none";
Dir::State "{directory}";
Dir::State::lists "{directory}/lists";
Dir::State::status "{directory}/status";
Dir::Cache "{directory}";
Acquire::Check-Valid-Until "false";
Acquire::Languages {{ "en"; {languages} }};
Acquire::PDiffs "false";
Acquire::Queue-Mode "access";
Acquire::Retries "3";
APT::Architecture "amd64";
APT::Architectures {{ "amd64"; }};
APT::Sandbox::User "root";
APT::Update::Error-Mode "any";
"""


class Registry:
    def __init__(self, directory):
        self.directory = directory.resolve()
        self.downloads = self.directory / "downloads"
        for part in ("lists/partial", "archives/partial", "downloads", "none"):
            (self.directory / part).mkdir(parents=True, exist_ok=True)
        self.mirror = os.environ.get("MIRROR") or configured_mirror()
        if not self.mirror:
            sys.exit("No mirror of Debian is configured here: MIRROR=URL names one")
        if not Path(KEYRING).exists():
            sys.exit(f"{KEYRING} is missing: install debian-archive-keyring")
        # Package lists may name files that are gone, since sid moves on.
        gone = self.directory / "gone"
        self.gone = gone.read_text(encoding="utf-8").split() if gone.exists() else []
        self.configuration = self.directory / "apt.conf"
        self.write("status", "")
        self.write("apt.conf", CONFIGURATION.format(
            directory=self.directory, languages=" ".join(f'"{code}";' for code in LANGUAGES)))
        self.write("sources.list", "".join(
            f"deb [signed-by={KEYRING}] {self.mirror} {release} main\n" for release in RELEASES))

    def write(self, name, text):
        (self.directory / name).write_text(text, encoding="utf-8")

    def apt_get(self, *arguments):
        """Stops on failure, except for files that the registry does not have."""
        environment = {**os.environ, "APT_CONFIG": str(self.configuration), "LC_ALL": "C.UTF-8"}
        try:
            done = subprocess.run(["apt-get", "-q", *arguments], env=environment, text=True,
                                  cwd=self.downloads, capture_output=True, check=False)
        except FileNotFoundError:
            sys.exit("There is no apt-get here; the texts are drawn with it")
        failed = re.findall(r"^E: Failed to fetch .*", done.stderr, re.MULTILINE)
        if failed and all(" 404 " in line for line in failed):
            return
        if done.returncode:
            last = "\n".join((done.stderr or done.stdout).strip().splitlines()[-5:])
            sys.exit(f"apt-get {arguments[0]} failed. Is there a network, and is {self.mirror} a"
                     f" mirror of Debian? Run it again, and it goes on.\n{last}")

    def update(self):
        """Fetches the lists, unless they are present."""
        mark = self.directory / "lists/.complete"
        if not mark.exists():
            print("Reading the package lists of", ", ".join(RELEASES), flush=True)
            self.apt_get("update")
            mark.touch()

    def list_of(self, release, name):
        """The paragraphs of a list, as fields. Empty if the list does not exist."""
        found = sorted((self.directory / "lists").glob(f"*_dists_{release}_main_*{name}"))
        found = [path for path in found if unquote(path.name).endswith(f"_{name}")]
        return (fields for path in found for fields in paragraphs(path))

    def packages(self, release):
        """The packages by name, the newest last."""
        return {fields["Package"]: fields
                for fields in self.list_of(release, "binary-amd64_Packages")}

    def download(self, packages):
        """The files of packages, given by their fields, in the order of their names."""
        files = {file_name(fields): fields for fields in packages}

        def missing():
            return [file for file in sorted(files) if file not in self.gone
                    and not self.has(file, int(files[file]["Size"]))]

        asked = missing()
        for at in range(0, len(asked), 200):
            print(f"  downloading {len(asked) - at:,} packages", flush=True)
            self.apt_get("download", *("{Package}={Version}".format(**files[file])
                                       for file in asked[at:at + 200]))
        lost = missing()
        if lost:
            print(f"  no longer in the registry: {', '.join(lost)}", flush=True)
            self.gone += lost
            self.write("gone", "\n".join(self.gone))
        return [self.downloads / file for file in sorted(files) if file not in self.gone]

    def has(self, file, size):
        """Whether the file was downloaded completely."""
        path = self.downloads / file
        return path.exists() and path.stat().st_size == size


def file_name(fields):
    """The name that apt-get gives to the file of a package.

    >>> file_name({"Package": "a", "Version": "1:2.0-1", "Architecture": "all"})
    'a_1%3a2.0-1_all.deb'
    """
    return "{Package}_{Version}_{Architecture}.deb".format(**fields).replace(":", "%3a")


def configured_mirror():
    """The system's mirror, if the system is a Debian."""
    command = ["apt-get", "indextargets", "--format", "$(ORIGIN) $(REPO_URI)"]
    try:
        printed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except FileNotFoundError:
        return None
    for line in printed.splitlines():
        origin, _, address = line.partition(" ")
        if origin == "Debian" and address.rstrip("/").endswith("/debian"):
            return address
    return None


def paragraphs(path):
    """The fields of each paragraph. Continued lines are joined by newlines."""
    fields, name = {}, None
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            line = line.rstrip("\n")
            if not line:
                if fields:
                    yield fields
                fields = {}
            elif line[0] in " \t":
                fields[name] += "\n" + line
            else:
                name, _, value = line.partition(":")
                fields[name] = value.strip()
    if fields:
        yield fields


def in_random_order(names):
    """The same random order on every machine, and for the rest if some names are gone."""
    return sorted(names, key=lambda name: hashlib.md5(name.encode()).hexdigest())
