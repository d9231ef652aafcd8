# SPDX-License-Identifier: Apache-2.0
"""Rows of figures: how they are made, shown, kept in benchmarks/results/ and read again."""
import datetime
import json
import os
import pathlib
import platform
import re
import resource
import statistics
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "benchmarks" / "results"
# Above this share of all cores, used by others during a run, the machine was busy with something else.
BUSY_PERCENT = 10
# The same of files from before that was measured: the load average before the run, per core.
BUSY = 0.35


def median(values):
    return statistics.median(values)


def quantiles(times):
    """Of sorted times in milliseconds: the middle, one in a hundred and one in a thousand above, and the longest."""
    def at(share):
        return times[min(len(times) - 1, int(len(times) * share))]

    return {"p50": at(0.5), "p99": at(0.99), "p99.9": at(0.999), "max": times[-1]}


def row(name, cpu, ratio, rate, resident):
    return {
        "name": name, "cpu_us_per_notification": round(cpu, 2),
        "ratio_to_h2load": round(ratio, 2), "notifications_per_second": round(rate),
        "resident_mib": round(resident, 1),
    }


def machine():
    model = platform.processor() or platform.machine()
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    return f"{model}, {os.cpu_count()} cores, Linux {platform.release()}"


def commit():
    """The commit that was built, with a + if the sources differ from it."""
    def git(*words):
        return subprocess.run(
            ["git", "-C", str(ROOT), *words], capture_output=True, text=True).stdout.strip()

    changed = git("status", "--porcelain", "--", "Sources", "Package.swift")
    return (git("rev-parse", "--short", "HEAD") or "unknown") + ("+" if changed else "")


def context(command, options):
    """What every line of a run says about it."""
    return {
        "command": re.sub(r"--kafka[ =]\S+", "--kafka host:port", command),
        "at": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%MZ"),
        "machine": machine(), "commit": commit(), "load_average": round(os.getloadavg()[0], 1),
        "kafka": "cluster" if options.kafka else "embedded",
    }


class Others:
    """What the rest of the machine uses from now on, while this program and what it starts run."""

    def __init__(self):
        self.start = self.now()

    def percent(self):
        """Of all cores. Every process that was started must have ended."""
        (began, busy_before, own_before), (ended, busy, own) = self.start, self.now()
        others = (busy - busy_before) - (own - own_before)
        return round(max(0, 100 * others / max(0.001, ended - began) / os.cpu_count()), 1)

    @staticmethod
    def now():
        """The time, and the seconds of CPU that everything and that this program's processes have used."""
        user, nice, system, _, _, interrupts, soft, stolen = map(
            int, pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:9])
        own = sum(
            usage.ru_utime + usage.ru_stime
            for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))
        ticks = user + nice + system + interrupts + soft + stolen
        return time.monotonic(), ticks / os.sysconf("SC_CLK_TCK"), own


def was_busy(line):
    if "others_percent" in line:
        return line["others_percent"] > BUSY_PERCENT
    cores = re.search(r"(\d+) cores", line["machine"])
    return line["load_average"] > BUSY * int(cores.group(1) if cores else 1)


def save(name, rows, run):
    """Replaces the figures of one measurement; git keeps the older ones."""
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{name}.jsonl"
    path.write_text("".join(json.dumps({"measurement": name, **run, **entry}) + "\n" for entry in rows))
    return path


def load(folder=FOLDER):
    """Every measurement that there is, by its name: its lines in their order."""
    return {
        path.stem: [json.loads(line) for line in path.read_text().splitlines() if line]
        for path in sorted(pathlib.Path(folder).glob("*.jsonl"))}


def show(rows, run, as_json):
    if as_json:
        for entry in rows:
            print(json.dumps({**run, **entry}))
        return
    busy = f", others used {run['others_percent']} % of the cores" if was_busy(run) else ""
    print(f"{run['machine']}, commit {run['commit']}{busy}")
    columns = [
        ("cpu_us_per_notification", "CPU µs each", "{:.2f}"), ("ratio_to_h2load", "× h2load", "{:.2f}"),
        ("notifications_per_second", "per second", "{:,}"), ("resident_mib", "resident MiB", "{:.1f}")]
    columns = [column for column in columns if any(entry.get(column[0]) for entry in rows)]
    width = max(len(entry["name"]) for entry in rows)
    print(" " * width + "".join(f" {title:>12}" for _, title, _ in columns))
    for entry in rows:
        figures = "".join(
            f" {form.format(entry[key]) if entry.get(key) else '':>12}" for key, _, form in columns)
        print(f"{entry['name']:{width}}{figures}{further(entry)}")


def further(entry):
    """What a row says beside the usual columns."""
    usual = {"name", "cpu_us_per_notification", "ratio_to_h2load", "notifications_per_second", "resident_mib"}
    words = []
    for key, value in entry.items():
        if key in usual:
            continue
        if isinstance(value, dict):
            value = ", ".join(f"{name} {figure}" for name, figure in value.items())
        words.append(f"{key.replace('_', ' ')} {value}")
    return "".join(f"  {text}" for text in words)
