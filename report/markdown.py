"""Tables in Markdown and the numbers in them."""


def table(header, lines):
    def line(cells):
        return "| " + " | ".join(cells) + " |"

    return "\n".join([line(header), "|" + "---|" * len(header), *map(line, lines)])


def headed(tables):
    """Tables by their headings."""
    return "\n\n".join(f"### {heading}\n\n{text}" for heading, text in tables)


def shown(value):
    """Three digits, or all digits before the decimal point."""
    if value is None:
        return ""
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def times(theirs, ours):
    """A ratio, as a number of times."""
    return f"{shown(float(f'{theirs / ours:.3g}'))} ×" if theirs and ours else ""


def size(rows):
    return f"{rows / 1e6:g} M" if rows >= 1_000_000 else f"{rows:,}"


def share(value):
    return "–" if value is None else f"{value:.3f}"


def span(values):
    """From the least to the greatest."""
    least, most = min(values), max(values)
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def count(value):
    """A number with only its significant digits."""
    return f"{value:.1f}" if 0 < value < 9.95 else f"{value:,.0f}"


def plus_minus(value, half):
    return f"{share(value)} ± {share(half)}"


def ahead_by(value, half):
    return f"{value:+.3f} ± {half:.3f}"
