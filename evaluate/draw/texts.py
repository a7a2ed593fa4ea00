"""Extracts texts from the formats of Debian's packages."""

import ast
import io
import lzma
import re
import subprocess
import tarfile
import zlib

# The greatest length. Longer texts are left out.
LONGEST = 100_000


def description(field):
    """The text of a Description field: its title, then its paragraphs.

    >>> description("a title\\n First line,\\n second.\\n .\\n  * verbatim")
    'a title\\nFirst line,\\nsecond.\\n\\n * verbatim'
    """
    title, *lines = field.split("\n")
    return "\n".join([title, *("" if line == " ." else line[1:] for line in lines)])


def entries(changelog):
    """The text of each entry of a changelog of Debian's form.

    >>> text = "a (1-2) sid; urgency=low\\n\\n  * New.\\n    Very.\\n\\n -- Me <m@e>  Mon, 1\\n"
    >>> list(entries(text + "\\n" + text.replace("1-2", "1-1")))
    ['* New.\\n  Very.', '* New.\\n  Very.']
    """
    lines = None
    for line in changelog.splitlines():
        if re.match(r"\w[-+0-9a-z.]* \([^()\s]+\)", line, re.IGNORECASE):
            lines = []
        elif line.startswith(" --") and lines is not None:
            yield "\n".join(re.sub("^  ", "", line) for line in lines).strip()
            lines = None
        elif lines is not None:
            lines.append(line.rstrip())


def parts(changelog):
    """The paragraphs of a changelog of any other form."""
    return (part.strip() for part in re.split(r"\n\s*\n", changelog))


def members(package):
    """The paths of a package's regular files, and a function that reads each."""
    command = ["dpkg-deb", "--fsys-tarfile", str(package)]
    content = subprocess.run(command, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(content)) as files:
        for member in files:
            if member.isreg():
                yield member.name.removeprefix("./"), files.extractfile(member).read


# Requests of roff and man that are not text and have none as arguments.
SILENT = set(
    "ad br ce cf ch ds DE DS el EE EX fc fi fp ft HP hy ie if IX in ll ME mk na ne nf nh nr P pl Pp"
    " PP PD ps RE rm rn RS rr so sp ss ta TE ti TP tr TS UE Vb Ve vs".split())
ESCAPES = {"-": "-", "e": "\\", "&": "", "|": "", "^": "", "%": "", ":": "", "/": "", ",": "",
           "~": " ", " ": " ", "0": " ", "c": "", "'": "'", "`": "`", "t": " ", ".": ".", ")": ""}
CHARACTERS = {"aq": "'", "dq": '"', "oq": "‘", "cq": "’", "lq": "“", "rq": "”", "em": "—",
              "en": "–", "bu": "•", "co": "©", "rg": "®", "ga": "`", "ha": "^", "ti": "~",
              "rs": "\\", "mi": "−", "hy": "-", "sq": "□", "->": "→", "<-": "←", "mu": "×"}
ESCAPE = re.compile(
    r"\\(?:f(?:\([^\n]{2}|\[[^]\n]*\]|.)|s(?:[-+]?\d+|\[[^]\n]*\])|\*(?:\([^\n]{2}|\[[^]\n]*\]|.)"
    r"|[mMFYVgnk](?:\([^\n]{2}|\[[^]\n]*\]|.)|[hvwlLDZNXoAbBRSHx]'[^'\n]*'"
    r"|\((?P<two>[^\n]{2})|\[(?P<name>[^]\n]*)\]|\".*|(?P<one>[^\n]?))")


def unescaped(line):
    def character(match):
        if match["one"] is not None:
            return ESCAPES.get(match["one"], match["one"])
        name = match["two"] or match["name"]
        if name is None:
            return ""
        code = re.fullmatch("u([0-9A-F]{4,6})", name)
        return chr(int(code[1], 16)) if code else CHARACTERS.get(name, "")

    return ESCAPE.sub(character, line)


def manual(page):
    """The words of a man page. Empty for one that only names another.

    >>> manual('.TH LS 1\\n.\\\\" a comment\\n.SH NAME\\nls \\\\- list\\n.TP\\n\\\\fB\\\\-a\\\\fR')
    'LS 1\\n\\nNAME\\nls - list\\n-a'
    """
    lines, skipped = [], None
    for line in page.splitlines():
        if skipped:
            skipped = None if re.match(rf"\.\s*{re.escape(skipped)}\s*$", line) else skipped
            continue
        if line[:1] not in (".", "'"):
            lines.append(unescaped(line))
            continue
        request, rest = re.match(r"\s*([A-Za-z0-9]*)\s*(.*)", line[1:]).groups()
        if request in ("de", "de1", "am", "ig"):
            skipped = (rest.split() + [".", "."])[1] if request != "ig" else (rest.strip() or ".")
        elif request and request not in SILENT and rest:
            words = [word.strip('"') for word in re.findall(r'"[^"]*"|\S+', unescaped(rest))]
            # Further arguments are measures.
            words = words[:1] if request == "IP" else words
            # Letters in alternating fonts form one word.
            glue = "" if request in ("BR", "RB", "BI", "IB", "IR", "RI") else " "
            heading = "\n" if request in ("SH", "SS", "Sh", "Ss") else ""
            lines.append(heading + glue.join(words))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def manual_name(path):
    """The language, section and name of a man page's path, if it is one.

    >>> manual_name("usr/share/man/pt_BR/man1/ls.1.gz"), manual_name("usr/share/doc/x.gz")
    ('pt_BR/man1/ls.1', None)
    """
    match = re.fullmatch(r"usr/share/man/((?:[^/]+/)?man\w+/[^/]+)\.gz", path)
    return match and match[1]


def unzipped(content):
    return zlib.decompress(content, wbits=31).decode("utf-8", "replace")


def without_versions(path):
    """The path that a file has in all versions of its package.

    >>> without_versions("usr/lib/python3.11/json.py"), without_versions("usr/include/gtk-3.0/a.h")
    ('usr/lib/python/json.py', 'usr/include/gtk/a.h')
    """
    return re.sub(r"-?[0-9]+(?:\.[0-9]+)*(?=/)", "", path)


def documentation(source):
    """The names and the documentation of the parts of a Python module."""
    try:
        module = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return

    def walk(node, name):
        for child in getattr(node, "body", []):
            if isinstance(child, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                inner = f"{name}.{child.name}"
                yield inner, ast.get_docstring(child)
                yield from walk(child, inner)

    yield "", ast.get_docstring(module)
    yield from walk(module, "")


COMMENT = re.compile(r'/\*(.*?)\*/|((?:^[ \t]*//[^\n]*\n)+)|"(?:\\.|[^"\\\n])*"',
                     re.DOTALL | re.MULTILINE)


def comments(source):
    """The comments of a C header, and the line that follows each.

    >>> list(comments("/* One\\n * two. */\\nint f();\\n// three\\n// four\\nint x;"))
    [('int f();', 'One\\ntwo.'), ('int x;', 'three\\nfour')]
    """
    for match in COMMENT.finditer(source):
        text = match[1] if match[1] is not None else match[2]
        if text:
            lines = (re.sub(r"^\s*(?://[/!]*<?|\*+)?[*!<]*\s?", "", line).rstrip("*/ \t")
                     for line in text.strip().splitlines())
            following = source[match.end():match.end() + 200].lstrip().partition("\n")[0]
            yield following, "\n".join(lines).strip()


def of_project(path):
    """The lines of a compressed corpus."""
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        yield from lines
