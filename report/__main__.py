"""Writes the pages of benchmarks and of the evaluation, and the README's table, from committed
results.

usage: python3 -m report          writes the pages, and their plots where matplotlib is there
       python3 -m report check    fails if a page is not what it would write

Each file of report/pages is the prose of the page of that name in docs. There $name is a table,
made by the method of that name.
"""

import sys
from pathlib import Path
from string import Template

from .benchmarks import Benchmarks
from .evaluation import Evaluation

TOP = Path(__file__).resolve().parent.parent
DOCS, PAGES = TOP / "docs", TOP / "report" / "pages"
MARKS = ("<!-- table: queries; written by make bench -->\n", "<!-- end of table -->\n")


def filled(subject, tables):
    """The page of a subject, and those in the directory of its name."""
    for path in [PAGES / f"{subject}.md", *(PAGES / subject).glob("*.md")]:
        text = Template(path.read_text(encoding="utf-8")).substitute(tables)
        yield DOCS / path.relative_to(PAGES), text


def with_table(text, table):
    """The README with its table, or unchanged if it has no place for one."""
    before, start, rest = text.partition(MARKS[0])
    _, end, after = rest.partition(MARKS[1])
    if not end:
        print("README.md has no lines for the table of queries, so none is inserted")
        return text
    return "".join((before, start, table, "\n", end, after))


def main(arguments):
    benchmarks, evaluation = Benchmarks(DOCS / "benchmarks"), Evaluation(DOCS / "evaluation")
    readme = TOP / "README.md"
    pages = {
        **dict(filled("benchmarks", benchmarks)),
        **dict(filled("evaluation", evaluation)),
        readme: with_table(readme.read_text(encoding="utf-8"), benchmarks.queries()),
    }
    if arguments == ["check"]:
        wrong = [path.relative_to(TOP) for path, text in pages.items()
                 if not path.exists() or path.read_text(encoding="utf-8") != text]
        if wrong:
            sys.exit(f"{', '.join(map(str, wrong))}: not what the committed results give;"
                     " `python3 -m report` writes it")
        return
    for path, text in pages.items():
        path.write_text(text, encoding="utf-8")
    try:
        from . import plots
    except ImportError as why:
        print(f"The plots stay as they were: {why}")
    else:
        plots.draw(benchmarks, evaluation, DOCS)


if __name__ == "__main__":
    main(sys.argv[1:])
