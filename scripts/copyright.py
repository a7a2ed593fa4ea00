#!/usr/bin/env python3
"""Prints a package's copyright file in Debian's format (DEP-5): for the extension or the Python
package, and for every crate and data file compiled into its library.

Usage: copyright.py FEATURE, such as pg15, or copyright.py python
"""
import json
import os
import re
import subprocess
import sys

# The licences under which crates are used, by their names in Cargo.toml, with their names in DEP-5.
# A crate with a choice is used under its first licence in this order.
LICENCES = {
    "MIT": "Expat",
    "Zlib": "Zlib",
    "BSL-1.0": "BSL-1.0",
    "Unicode-3.0": "Unicode-3.0",
    "PostgreSQL": "PostgreSQL",
    "BSD-2-Clause": "BSD-2-Clause",
    "Apache-2.0": "Apache-2.0",
}

# The holders of crates whose licence files and Cargo.toml do not name any.
HOLDERS = {
    "equivalent": ["the equivalent authors"],
    "hanconv": ["the hanconv authors"],
    "indexmap": ["the indexmap authors"],
    "jieba-rs": ["2018 messense"],
    "pgrx": [
        "2019-2021 ZomboDB, LLC.",
        "2021-2023 Technology Concepts & Design, Inc.",
        "2023 PgCentral Foundation, Inc. <contact@pgcentral.org>",
    ],
    "serde_json": ["Erick Tryzelaar <erick.tryzelaar@gmail.com>",
                   "David Tolnay <dtolnay@gmail.com>"],
}
HOLDERS["pgrx-pg-sys"] = HOLDERS["pgrx-sql-entity-graph"] = HOLDERS["pgrx"]

# Files of others in the library that belong to no crate: path, holders, licence, contents.
DATA = [
    ("crates/simhash-core/data/*", ["2013 Sun Junyi"], "Expat",
     "jieba's dictionary of Chinese words, and levels computed from it"),
    ("cargo/hanconv-*/data/*", ["2010-2026 Carbo Kuo (BYVoid) and the OpenCC contributors"],
     "Apache-2.0", "OpenCC's tables of traditional and simplified characters"),
    ("cargo/stop-words-*/src/iso/*", ["2016-2020 Gene Diaz"], "Expat",
     "the lists of Stopwords ISO"),
    ("cargo/caseless-*/src/case_folding_data.rs cargo/unicode-segmentation-*/src/tables.rs",
     ["1991-2026 Unicode, Inc."], "Unicode-3.0", "tables of the Unicode Character Database"),
    ("cargo/icu_segmenter_data-*/data/segmenter_dictionary_*",
     ["2006-2008, Google Inc.", "1999 TaBE Project", "1999 Pai-Hsiang Hsiao",
      "1999 Computer Systems and Communication Lab, Institute of Information Science,"
      " Academia Sinica", "1996 Chih-Hao Tsai @ Beckman Institute, University of Illinois",
      "2000-2003 Nara Institute of Science and Technology",
      "2013-2015 International Business Machines Corporation and others",
      "2013 Brian Eugene Wilson, Robert Martin Campbell", "2013, LeRoy Benjamin Sharon",
      "2016-2026 Unicode, Inc. and others"], "ICU-dictionaries",
     "ICU's dictionaries of Japanese, Thai, Lao, Khmer and Burmese words"),
    ("crates/simhash-core/src/sets/numbers/months.rs", ["2004-2026 Unicode, Inc."], "Unicode-3.0",
     "names of months, of the Unicode CLDR"),
    ("postgresql/src/include/*",
     ["1996-2026 PostgreSQL Global Development Group",
      "1994 The Regents of the University of California"], "PostgreSQL-server",
     "inline functions of the server's headers"),
    ("rust/library/*", ["the Rust Project Developers"], "Expat",
     "Rust's standard library, and crates that it contains"),
]

APACHE = """\
On Debian systems the text of the Apache License, Version 2.0, is in
/usr/share/common-licenses/Apache-2.0. Elsewhere it is at
https://www.apache.org/licenses/LICENSE-2.0."""

POSTGRESQL_SERVER = """\
Permission to use, copy, modify, and distribute this software and its
documentation for any purpose, without fee, and without a written agreement
is hereby granted, provided that the above copyright notice and this
paragraph and the following two paragraphs appear in all copies.

IN NO EVENT SHALL THE UNIVERSITY OF CALIFORNIA BE LIABLE TO ANY PARTY FOR
DIRECT, INDIRECT, SPECIAL, INCIDENTAL, OR CONSEQUENTIAL DAMAGES, INCLUDING
LOST PROFITS, ARISING OUT OF THE USE OF THIS SOFTWARE AND ITS
DOCUMENTATION, EVEN IF THE UNIVERSITY OF CALIFORNIA HAS BEEN ADVISED OF THE
POSSIBILITY OF SUCH DAMAGE.

THE UNIVERSITY OF CALIFORNIA SPECIFICALLY DISCLAIMS ANY WARRANTIES,
INCLUDING, BUT NOT LIMITED TO, THE IMPLIED WARRANTIES OF MERCHANTABILITY
AND FITNESS FOR A PARTICULAR PURPOSE.  THE SOFTWARE PROVIDED HEREUNDER IS
ON AN "AS IS" BASIS, AND THE UNIVERSITY OF CALIFORNIA HAS NO OBLIGATIONS TO
PROVIDE MAINTENANCE, SUPPORT, UPDATES, ENHANCEMENTS, OR MODIFICATIONS."""

# How a licence's text begins in a crate's file, after the lines of copyright.
BEGINNINGS = {
    "Expat": "Permission is hereby granted",
    "Zlib": "This software is provided 'as-is'",
    "BSL-1.0": "Permission is hereby granted",
    "Unicode-3.0": "NOTICE TO USER",
    "BSD-2-Clause": "Redistribution and use",
}


def linked_crates(feature):
    """The packages, as `cargo metadata` gives them, whose code is linked into the library."""
    options = ["--locked"]
    package = ["-p", "simhash-python"]
    if feature != "python":
        options += ["--no-default-features", "--features", feature]
        package = []
    tree = subprocess.run(
        ["cargo", "tree", *options, *package, "--edges", "normal,no-proc-macro", "--prefix", "none",
         "--format", "{p}"],
        check=True, capture_output=True, text=True).stdout
    names = {tuple(line.split()[:2]) for line in tree.splitlines() if line}
    metadata = json.loads(subprocess.run(
        ["cargo", "metadata", "--format-version", "1", *options],
        check=True, capture_output=True, text=True).stdout)
    crates = [package for package in metadata["packages"]
              if (package["name"], "v" + package["version"]) in names]
    if len(crates) != len(names):
        sys.exit("cargo tree and cargo metadata do not name the same crates")
    return sorted(crates, key=lambda crate: (crate["name"], crate["version"]))


def used_under(crate):
    """The names in DEP-5 of the licences under which a crate is used. All of them apply."""
    licences = []
    for part in re.split(r"\s+AND\s+", crate["license"]):
        choices = re.split(r"\s+OR\s+|/", part.strip("()"))
        chosen = next((licence for licence in LICENCES if licence in choices), None)
        if chosen is None:
            sys.exit(f"{crate['name']}: its licence, {crate['license']}, is not in LICENCES")
        licences.append(LICENCES[chosen])
    return licences


def licence_files(crate):
    """The texts of a crate's licence files, in the order of their names."""
    directory = os.path.dirname(crate["manifest_path"])
    texts = []
    for name in sorted(os.listdir(directory)):
        path = os.path.join(directory, name)
        if re.match("licen[cs]e|copying", name, re.IGNORECASE) and os.path.isfile(path):
            if "apache" not in name.lower():
                with open(path, encoding="utf-8", errors="replace") as file:
                    texts.append(file.read())
    return texts


def notice(crate):
    """The NOTICE of a crate that is used under the Apache License, which requires repeating it."""
    directory = os.path.dirname(crate["manifest_path"])
    for name in sorted(os.listdir(directory)):
        if "Apache-2.0" in used_under(crate) and name.upper().startswith("NOTICE"):
            with open(os.path.join(directory, name), encoding="utf-8") as file:
                return file.read().strip()
    return None


def holders(crate):
    """The copyright holders of a crate, with years."""
    if crate["name"] in HOLDERS:
        return HOLDERS[crate["name"]]
    found = []
    for text in licence_files(crate):
        for line in text.splitlines():
            match = re.match(r"\W*copyright\s*(?:\(c\)|©)?,?\s*(.*[A-Za-z].*)", line,
                             re.IGNORECASE)
            if match and re.match(r"\d{4}|The ", match[1]) and match[1] not in found:
                found.append(match[1].removesuffix(" or"))
    return found or crate["authors"] or [f"the {crate['name']} authors"]


def licence_text(name, crates):
    """The text of a licence, from the first crate that has it in a file."""
    beginning = BEGINNINGS[name]
    for crate in crates:
        if used_under(crate)[-1] == name:
            for text in licence_files(crate):
                # Not the text before or after the licence.
                if beginning in text and "----" not in text:
                    return text[text.index(beginning):].strip()
    sys.exit(f"no crate has the text of {name}")


def apache_licence(crates):
    """The Apache License, Version 2.0, as the first crate has it."""
    for crate in crates:
        path = os.path.join(os.path.dirname(crate["manifest_path"]), "LICENSE-APACHE")
        if os.path.isfile(path):
            with open(path, encoding="utf-8") as file:
                text = file.read()
            if "END OF TERMS AND CONDITIONS" in text:
                return text.strip("\n")
    sys.exit("no crate has the text of the Apache License")


def libm_notices(crates):
    """The notices that libm's files require repeating: the end of its licence file, and the notices
    of Sun and FreeBSD at the head of single files, each once."""
    libm = next(crate for crate in crates if crate["name"] == "libm")
    end = re.split(r"^-{70,}\n", licence_files(libm)[0], flags=re.MULTILINE)[-3:]
    notices = ["\n\n".join(part.strip() for part in end)]
    source = os.path.join(os.path.dirname(libm["manifest_path"]), "src", "math")
    for name in sorted(os.listdir(source)):
        if not name.endswith(".rs"):
            continue
        with open(os.path.join(source, name), encoding="utf-8") as file:
            text = re.sub(r"^[ \t]*(?:/\*|\*/|\*|///?) ?", "", file.read(), flags=re.MULTILINE)
        found = re.findall(r"^={40,}\n(.*?)^={40,}$", text, re.MULTILINE | re.DOTALL)
        found += re.findall(r"^Copyright \(c\)[^\n]*\nAll rights .*?SUCH DAMAGE\.", text,
                            re.MULTILINE | re.DOTALL)
        notices += [notice.strip() for notice in found if notice.strip() not in notices]
    if len(notices) < 3:
        sys.exit("libm's files do not have the notices that were looked for")
    return "\n\n".join(notices)


def indented(text):
    """A text as the continuation of a field."""
    return "\n".join(f" {line.rstrip()}" if line.strip() else " ." for line in text.splitlines())


def stanza(files, copyright_lines, licences, comment=None):
    """A paragraph about files."""
    lines = [f"Files: {files}", f"Copyright: {copyright_lines[0]}"]
    lines += [f"           {line}" for line in copyright_lines[1:]]
    lines.append(f"License: {' and '.join(licences)}")
    if comment:
        lines += ["Comment:", indented(comment)]
    return "\n".join(lines)


def main():
    feature = sys.argv[1]
    crates = linked_crates(feature)
    # The Python package contains no code of PostgreSQL's, and is used where Debian's licences are
    # not.
    data = [entry for entry in DATA if feature != "python" or entry[2] != "PostgreSQL-server"]
    with open("LICENSE", encoding="utf-8") as file:
        own_copyright, own_text = file.read().split("\n", 1)
    own = [re.sub(r"Copyright \(c\) (\d+), ", r"\1 ", own_copyright)]
    paragraphs = ["""\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: pg_simhash
Comment:
 The library contains code of the crates below. cargo/NAME-VERSION/ stands for
 a crate's directory, which `cargo vendor` makes.""",
                  stanza("*", own, ["PostgreSQL"])]
    for crate in crates:
        if crate["source"] is None:
            continue  # the project's own
        licences = used_under(crate)
        if crate["name"] == "libm":
            licences.append("libm-notices")
        paragraphs.append(stanza(f"cargo/{crate['name']}-{crate['version']}/*", holders(crate),
                                 licences, notice(crate)))
    paragraphs += [stanza(files, lines, [licence], comment)
                   for files, lines, licence, comment in data]
    used = {licence for crate in crates if crate["source"] for licence in used_under(crate)}
    texts = {name: licence_text(name, crates) for name in BEGINNINGS if name in used}
    texts["Apache-2.0"] = apache_licence(crates) if feature == "python" else APACHE
    if feature != "python":
        texts["PostgreSQL-server"] = POSTGRESQL_SERVER
    texts["PostgreSQL"] = own_text.strip()
    texts["libm-notices"] = libm_notices(crates)
    with open("packaging/icu_dictionaries.txt", encoding="utf-8") as file:
        texts["ICU-dictionaries"] = file.read().strip()
    paragraphs += [f"License: {name}\n{indented(text)}" for name, text in texts.items()]
    print("\n\n".join(paragraphs))


main()
