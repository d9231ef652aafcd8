# SPDX-License-Identifier: Apache-2.0
"""Fills the figures of benchmarks/results/ into docs/cost.md and README.md.

The templates have these places between double braces:

    FILE | ROW | FIELD | FORMAT      a figure: of the row with this name, or that begins so; FIELD as in latency_ms.p50
    more | FILE | ROW | ROW | FIELD  by how many percent the second row's figure exceeds the first one's
    seconds | FILE | ROW | COUNT     how long so many take at the row's rate
    times | FILE | ROW | FIELD | COUNT | FORMAT    the figure, that many times
    rows | FILE | FIELD, FIELD …     a table of all rows
    command | FILE                   what was run, with "under load" if the machine was busy
"""
import re
import textwrap

import results

NONE = "not measured"
TITLES = {
    "cpu_us_per_notification": "CPU µs each", "ratio_to_h2load": "× h2load", "notifications_per_second": "per second",
    "resident_mib": "resident MiB"}
BEGIN, END = "<!-- figures: benchmarks/run pages -->", "<!-- end of the figures -->"


def texts(root, folder, figures):
    """The pages with their text as it has to be."""
    yield root / "docs" / "cost.md", filled((root / "benchmarks" / "cost.template").read_text(), figures)
    readme = root / "README.md"
    text = readme.read_text()
    before, found, rest = text.partition(BEGIN)
    section, ended, after = rest.partition(END)
    if not (found and ended):
        raise SystemExit(f"benchmarks/pages: README.md has no place for the figures: {BEGIN} … {END}")
    place = (root / "benchmarks" / "readme.template").read_text()
    shown = filled(place, figures) + readme_plot(folder, figures)
    yield readme, before + BEGIN + "\n" + shown + END + after


def filled(template, figures):
    blocks = [block(text, figures) for text in re.split(r"\n\n", template)]
    return "\n\n".join(blocks)


def block(text, figures):
    """One paragraph or table: a cell says once that something was not measured, prose is wrapped anew."""
    full = re.sub(r"\{\{(.*?)\}\}", lambda match: figure(match.group(1), figures), text)
    if full == text:
        return text
    if text.startswith("|"):
        return "\n".join(
            "|".join(f" {NONE} " if NONE in cell else cell for cell in line.split("|")) for line in full.split("\n"))
    end = "\n" if text.endswith("\n") else ""
    if NONE in full:
        return "Not measured yet." + end
    if "\n|" in full or full.startswith("|"):
        return full
    return textwrap.fill(full, 120, break_long_words=False, break_on_hyphens=False) + end


def figure(place, figures):
    words = [word.strip() for word in place.split("|")]
    match words:
        case ["command", name]:
            return command(figures.get(name))
        case ["rows", name, *fields]:
            return rows(figures.get(name), fields[0].split(", ") if fields else list(TITLES))
        case ["more", name, first, second, field]:
            return more(value(figures, name, first, field), value(figures, name, second, field))
        case ["seconds", name, row, count]:
            rate = value(figures, name, row, "notifications_per_second")
            return f"{int(count) / rate:.1f}" if rate else NONE
        case ["times", name, row, field, factor, form]:
            found = value(figures, name, row, field)
            return NONE if found is None else format(found * float(factor), form)
        case [name, row, field, *form]:
            found = value(figures, name, row, field)
            return NONE if found is None else format(found, form[0] if form else "")
    raise SystemExit(f"benchmarks/pages: {{{{{place}}}}} is no place for a figure")


def value(figures, name, row, field):
    """A figure, or None if it was not measured."""
    lines = figures.get(name, [])
    line = next((line for line in lines if line["name"] == row), None)
    line = line or next((line for line in lines if line["name"].startswith(row)), None)
    for part in re.split(r"\.(?!9)", field):
        line = line.get(part) if line else None
    return line


def more(first, second):
    if not first or second is None:
        return NONE
    percent = round(100 * second / first - 100)
    return f"{abs(percent)} % {'more' if percent >= 0 else 'less'}"


def command(lines):
    if not lines:
        return NONE
    busy = ", under load" if results.was_busy(lines[0]) else ""
    return f"`{lines[0]['command']}`{busy}"


def rows(lines, fields):
    if not lines:
        return NONE
    titles = [TITLES.get(field, re.sub(r"\.(?!\d)", " ", field.replace("_", " "))) for field in fields]
    table = [f"Under other load ({load(lines[0])}):", ""] if results.was_busy(lines[0]) else []
    table += ["| | " + " | ".join(titles) + " |", "| --- |" + " --- |" * len(fields)]
    for line in lines:
        cells = [shown(value({"": [line]}, "", line["name"], field)) for field in fields]
        table.append(f"| {line['name']} | " + " | ".join(cells) + " |")
    return "\n".join(table)


def shown(found):
    """A cell's text: empty for what was not measured, which rows hold as 0."""
    match found:
        case bool():
            return "yes" if found else "no"
        case str():
            return found
        case int(0) | None:
            return ""
    return f"{found:,}"


def load(line):
    """What else the machine did meanwhile."""
    if "others_percent" in line:
        return f"{line['others_percent']} %"
    return f"load average {line['load_average']}"


def readme_plot(folder, figures):
    """The plot of the README, as Markdown; nothing where it was not drawn."""
    if "scale" not in figures or not (folder / "scale.svg").exists():
        return ""
    title = figures["scale"][0]["command"].split(" --")[0]
    return f"\n![{title}](benchmarks/results/scale.svg)\n"


def old_plots(folder, figures):
    """Plots whose results are others by now, or are gone."""
    problems = []
    for plot in sorted(folder.glob("*.svg")):
        lines = figures.get(plot.stem)
        about = lines and f"{lines[0]['at'][:10]}, commit {lines[0]['commit']}"
        if not lines or about not in plot.read_text():
            problems.append(f"{plot.name} is older than its results: benchmarks/run pages")
    return problems
