# SPDX-License-Identifier: Apache-2.0
"""Draws the measurement of benchmarks/results/ that the README shows, as an SVG file beside it."""
import matplotlib

matplotlib.use("svg")
matplotlib.rcParams.update({
    "svg.hashsalt": "martlet", "svg.fonttype": "none", "font.size": 9, "axes.spines.top": False,
    "axes.spines.right": False})

from matplotlib import pyplot  # noqa: E402


def scale(lines, path):
    figure, axes = pyplot.subplots(figsize=(7, 3.8))
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
    figure.text(
        0.01, 0.01, f"{lines[0]['command']}, {lines[0]['at'][:10]}, commit {lines[0]['commit']}, {lines[0]['machine']}",
        fontsize=6, color="gray")
    figure.tight_layout(rect=(0, 0.03, 1, 1))
    figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
    pyplot.close(figure)
    # One text, whatever the platform: no blank at a line's end.
    path.write_text("\n".join(line.rstrip() for line in path.read_text().splitlines()) + "\n")
