# SPDX-License-Identifier: Apache-2.0
"""Draws a measurement of benchmarks/results/ as an SVG file beside it."""
import matplotlib

matplotlib.use("svg")
matplotlib.rcParams.update({
    "svg.hashsalt": "martlet", "svg.fonttype": "none", "font.size": 9, "axes.spines.top": False,
    "axes.spines.right": False})

from matplotlib import pyplot  # noqa: E402


def draw(name, lines, folder):
    """Returns the file's path, or None if there is nothing to draw."""
    drawing = next((function for names, function in KINDS if name in names), None) or usual(lines)
    if not drawing:
        return None
    figure, axes = pyplot.subplots(figsize=(7, 0.8 + drawing.height(lines)))
    drawing(axes, lines)
    figure.text(
        0.01, 0.01, f"{lines[0]['command']}, {lines[0]['at'][:10]}, commit {lines[0]['commit']}, {lines[0]['machine']}",
        fontsize=6, color="gray")
    figure.tight_layout(rect=(0, 0.03, 1, 1))
    path = folder / f"{name}.svg"
    figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
    pyplot.close(figure)
    # One text, whatever the platform: no blank at a line's end.
    path.write_text("\n".join(line.rstrip() for line in path.read_text().splitlines()) + "\n")
    return path


def usual(lines):
    for drawing in (ratios, costs, latencies, shares, rates):
        if drawing.has(lines):
            return drawing
    return None


def bars(axes, names, values, label, form):
    places = range(len(names))
    drawn = axes.barh(places, values, color="#3b6ea5", height=0.6)
    axes.set_yticks(places, names)
    axes.invert_yaxis()
    axes.bar_label(drawn, [form.format(value) for value in values], padding=3, fontsize=8)
    axes.set_xlabel(label)
    axes.margins(x=0.12)


def ratios(axes, lines):
    shown = [line for line in lines if line.get("ratio_to_h2load")]
    bars(
        axes, [line["name"] for line in shown], [line["ratio_to_h2load"] for line in shown],
        f"CPU per notification, relative to {yardstick(lines)} in the same run", "{:.2f} ×")
    axes.axvline(1, color="gray", linewidth=0.8, linestyle="--")
    if max(line["ratio_to_h2load"] for line in shown) > 20:
        axes.set_xscale("log")


def yardstick(lines):
    return "nghttpd" if any(line["name"] == "nghttpd" for line in lines) else "h2load"


def field(key, label, form, only=""):
    """Draws one field of the lines that have it and whose name begins so."""
    def drawing(axes, lines):
        shown = [line for line in lines if line["name"].startswith(only) and line.get(key)]
        bars(axes, [line["name"] for line in shown], [line[key] for line in shown], label, form)
    drawing.has = has(key)
    drawing.height = lambda lines: 0.32 * len(lines) + 0.4
    return drawing


def latencies(axes, lines):
    shown = [line for line in lines if "latency_ms" in line]
    for mark in [key for key in ("p50", "p99", "p99.9") if key in shown[0]["latency_ms"]]:
        axes.plot(
            [line["name"] for line in shown], [line["latency_ms"][mark] for line in shown], marker="o", label=mark)
    axes.set_yscale("log")
    axes.set_ylabel("milliseconds")
    axes.legend(frameon=False)


def memory(axes, lines):
    for line in lines:
        values = line["samples"]
        axes.plot([100 * place / max(1, len(values) - 1) for place in range(len(values))], values, label=line["name"])
    axes.set_xlabel("percent of the notifications")
    axes.set_ylabel("resident MiB")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, fontsize=7)


def scale(axes, lines):
    groups = sorted({(line["senders"], line["loops"], line["partitions"]) for line in lines})
    for senders, loops, partitions in groups:
        mine = [
            line for line in lines
            if (line["senders"], line["loops"], line["partitions"]) == (senders, loops, partitions)]
        axes.plot(
            [line["credentials"] for line in mine], [line["cpu_us_per_notification"] for line in mine], marker=".",
            label=f"{senders} × {loops} loops, {partitions} partitions")
    axes.set_xscale("log")
    axes.set_xlabel("credentials")
    axes.set_ylabel("CPU per notification, µs")
    axes.legend(frameon=False, fontsize=7)


def has(*keys):
    return lambda lines: any(all(line.get(key) for key in keys) for line in lines)


ratios.has, latencies.has = has("ratio_to_h2load"), has("latency_ms")
ratios.height = lambda lines: 0.32 * len(lines) + 0.4
latencies.height = memory.height = scale.height = lambda lines: 3
costs = field("cpu_us_per_notification", "CPU per notification, µs", "{:.1f}")
shares = field("percent_of_a_core", "percent of a core", "{:.2f}")
rates = field("notifications_per_second", "per second", "{:,.0f}")
KINDS = [
    ({"memory"}, memory), ({"scale"}, scale), ({"latency", "lanes"}, latencies),
    ({"guard"}, field("each", "instructions per notification on the loop's thread", "{:,.0f}", only="instructions")),
    ({"start"}, field("cold_ms", "milliseconds of --version, its files not in memory before", "{:.0f}"))]
