# SPDX-License-Identifier: Apache-2.0
"""Looks at the console of a running pipeline in Chromium, with the keyboard alone, while pushes flow.

usage: console.py CHROMIUM ADDRESSES SENDER_PID CONSOLE_PID

ADDRESSES is the addresses.json of martlet up. Prints one line for each part that holds, and ends with the first that
does not. Kills both processes, which martlet up starts again.
"""

import json
import os
import re
import signal
import sys
import threading
import time
import urllib.request
import uuid

from playwright.sync_api import expect, sync_playwright

# For a machine that does much else: what is waited for comes at last, or never.
LONG = 120_000
# What a keyboard can be meant to reach.
INTERACTIVE = "a[href], button, input, select, textarea, summary, [tabindex], [onclick], [role=button]"


class Pushes(threading.Thread):
    """Asks for a push every 30 ms over the HTTP API, until it is stopped."""

    def __init__(self, addresses):
        super().__init__(daemon=True)
        self.addresses = addresses
        self.stopped = threading.Event()

    def run(self):
        while not self.stopped.wait(0.03):
            body = {
                "id": str(uuid.uuid4()), "app": "com.example.app", "token": os.urandom(32).hex(),
                "payload": {"aps": {"badge": 1}},
            }
            request = urllib.request.Request(
                self.addresses["api"] + "/v1/notifications", json.dumps(body).encode(),
                {"Authorization": "Bearer " + self.addresses["api_key"],
                 "Content-Type": "application/json"})
            try:
                urllib.request.urlopen(request, timeout=20).close()
            except OSError as error:
                print(f"a push was not taken: {error}", file=sys.stderr)


class Deaths(threading.Thread):
    """Kills a process as often as its parent starts it again, until it is stopped."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.program = self.command(pid)
        with open(f"/proc/{pid}/stat") as text:
            self.parent = text.read().rsplit(")", 1)[1].split()[1]
        self.stopped = threading.Event()

    @staticmethod
    def command(pid):
        with open(f"/proc/{pid}/cmdline", "rb") as text:
            return text.read().split(b"\0")[0]

    def children(self):
        for task in os.listdir(f"/proc/{self.parent}/task"):
            with open(f"/proc/{self.parent}/task/{task}/children") as text:
                yield from map(int, text.read().split())

    def run(self):
        while not self.stopped.wait(0.1):
            try:
                for pid in self.children():
                    if self.command(pid) == self.program:
                        os.kill(pid, signal.SIGKILL)
            except OSError:
                pass  # It has just ended.


def passed(text):
    print(f"holds: {text}", flush=True)


def check(condition, text):
    if not condition:
        sys.exit(f"does not hold: {text}")


def wait_until(condition, text, seconds=LONG / 1000):
    end = time.monotonic() + seconds
    while not condition():
        check(time.monotonic() < end, text)
        time.sleep(0.1)


def figure(page, name):
    """The text beside the name, of the list of figures."""
    return page.locator(f"dt:text-is('{name}') + dd").inner_text()


def box(page, name):
    """A station of the pipeline's picture."""
    return page.locator("#flow .box", has=page.locator(f"b:text-matches('^{name}( \\\\(blocked\\\\))?$')"))


def state(page, process):
    return page.locator(f"#processes tr:has(th:text-is('{process}')) td").first


def shows_the_pipeline(page, addresses):
    expect(page.locator("#state")).to_have_text("Ready", timeout=LONG)
    for name in ["Requests", "Ingest", "Senders", "APNs", "Receipts", "Feedback"]:
        expect(box(page, name).locator("b")).to_have_text(name)
    expect(page.get_by_role("table", name="Processes")).to_be_visible()
    for process in addresses["metrics"]:
        expect(state(page, process)).to_have_text("ready", timeout=LONG)
    expect(page.locator("#warnings li"), "nothing needs a look").to_have_count(0)
    passed("the picture, and every process ready")


def numbers_are_live(page):
    """Each changes while pushes flow, without anybody doing anything."""
    def delivered():
        cells = page.locator("#ended tr", has=page.locator("th:text-is('delivered')")).locator("td")
        return int(cells.nth(1).inner_text().replace(",", "")) if cells.count() == 2 else 0

    for _ in range(3):
        before = delivered()
        wait_until(lambda: delivered() > before, "the total of delivered pushes grows")
    line = page.locator("#line").get_attribute("points")
    wait_until(lambda: page.locator("#line").get_attribute("points") != line, "the chart moves on")
    wait_until(lambda: re.search(r"[1-9].*/s", box(page, "Requests").inner_text()),
               "the picture shows requests per second")
    wait_until(lambda: re.search(r"Delivered now .*[1-9].*/s", page.get_by_role("img").get_attribute("aria-label")),
               "the chart says in words what it shows")
    wait_until(lambda: re.search(r"p50 [0-9.]+ m?s, p99", figure(page, "Delivery")), "the latency is shown")
    passed("figures, picture and chart change while pushes flow")


def works_with_the_keyboard(page):
    stops = page.locator(INTERACTIVE).locator("visible=true").count()
    check(stops > 0, "there is something to press")
    page.evaluate("document.activeElement.blur()")
    reached = []
    for _ in range(stops):
        page.keyboard.press("Tab")
        focus = page.evaluate("""() => {
          const it = document.activeElement, style = getComputedStyle(it);
          return { id: it.id || it.className, seen: it.matches(':focus-visible') && style.outlineStyle !== 'none'
            && parseFloat(style.outlineWidth) >= 2, box: it.getBoundingClientRect().width };
        }""")
        check(focus["seen"] and focus["box"] > 0, f"the focus is seen on {focus['id']}")
        reached.append(focus["id"])
    check(len(set(reached)) == stops, f"Tab reaches each of {stops}: {reached}")
    order = page.evaluate(
        "selector => [...document.querySelectorAll(selector)].filter(it => it.checkVisibility())"
        ".map(it => it.id || it.className)", INTERACTIVE)
    check(reached == order, f"Tab goes in the order of reading: {reached}")
    for _ in range(stops - 1):
        page.keyboard.press("Shift+Tab")
    pauses_with_the_keyboard(page)
    passed("Tab, Shift+Tab, Space and Enter reach and work everything")


def pauses_with_the_keyboard(page):
    """What moves by itself can be stopped: WCAG 2.2.2."""
    pause = page.get_by_role("button", name="Freeze display")
    expect(pause).to_be_focused()
    page.keyboard.press("Space")
    expect(pause).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#time")).to_contain_text("frozen")
    def is_still():
        """For three readings."""
        before = page.locator("main").inner_text()
        page.wait_for_timeout(3_000)
        return page.locator("main").inner_text() == before

    # One reading may have been on its way.
    wait_until(is_still, "nothing moves while the page is paused")
    still = page.locator("main").inner_text()
    page.keyboard.press("Enter")
    expect(pause).to_have_attribute("aria-pressed", "false")
    wait_until(lambda: page.locator("main").inner_text() != still, "the page goes on after a pause")


def luminance(colour):
    def linear(value):
        value /= 255
        return value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4

    red, green, blue = (linear(float(part)) for part in re.findall(r"[0-9.]+", colour)[:3])
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def is_read_light_dark_and_narrow(page):
    grounds = []
    for scheme in ["light", "dark"]:
        page.emulate_media(color_scheme=scheme)
        colours = page.evaluate("""() => {
          const of = (place, name) => getComputedStyle(document.querySelector(place))[name];
          const probe = document.createElement('p');
          probe.className = 'bad'; document.body.append(probe);
          const bad = getComputedStyle(probe).color; probe.remove();
          return { ground: of('body', 'backgroundColor'),
                   texts: [of('body', 'color'), of('#state', 'color'), bad] };
        }""")
        grounds.append(luminance(colours["ground"]))
        for text in colours["texts"]:
            high, low = sorted([luminance(text), grounds[-1]], reverse=True)
            check((high + 0.05) / (low + 0.05) >= 4.5, f"{text} is read on {colours['ground']} ({scheme})")
    check(grounds[0] > 0.5 > grounds[1], "the page is light where the system is, and dark where it is")
    for width in [320, 1280]:
        page.set_viewport_size({"width": width, "height": 700})
        wide = page.evaluate("document.documentElement.scrollWidth")
        check(wide <= width, f"a window of {width} pixels needs no scrolling sideways, it has {wide}")
    passed("light, dark and narrow")


def a_death_is_shown(page, pid):
    # One death may be over before the page has read of it.
    deaths = Deaths(pid)
    deaths.start()
    expect(state(page, "sender-1")).to_have_text(re.compile("NOT READY|UNREACHABLE"), timeout=LONG)
    expect(box(page, "Senders").locator("b")).to_have_text("Senders (blocked)", timeout=LONG)
    expect(page.locator("#state")).to_have_text("Blocked")
    deaths.stopped.set()
    expect(state(page, "sender-1")).to_have_text("ready", timeout=LONG)
    expect(box(page, "Senders").locator("b")).to_have_text("Senders", timeout=LONG)
    passed("a process that dies is shown, and that it is back")


def recovers(page, pid):
    """The page stays open while its own server hangs, dies and comes back."""
    page.evaluate("window.sinceBefore = true")
    # First it hangs, with its connections open.
    os.kill(pid, signal.SIGSTOP)
    expect(page.locator("#stale")).to_have_text("No answer from martlet console", timeout=LONG)
    expect(page.locator("#state")).to_contain_text("No reading since")
    os.kill(pid, signal.SIGKILL)
    expect(page.locator("#state")).to_have_text("Ready", timeout=LONG)
    numbers_are_live(page)
    check(page.evaluate("window.sinceBefore"), "nobody loaded the page again")
    passed("a page left open goes on when the console is back")


def main():
    chromium, file, sender, console = sys.argv[1:]
    with open(file) as text:
        addresses = json.load(text)
    url = addresses["console"]
    pushes = Pushes(addresses)
    expect.set_options(timeout=LONG)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-dev-shm-usage"])
        page = browser.new_page()
        asked, complaints = [], []
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda line: complaints.append(line.text) if line.type in ["error", "warning"] else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(url)
        shows_the_pipeline(page, addresses)
        pushes.start()
        numbers_are_live(page)
        works_with_the_keyboard(page)
        is_read_light_dark_and_narrow(page)
        a_death_is_shown(page, int(sender))
        check(complaints == [], f"the browser complains of nothing: {complaints}")
        recovers(page, int(console))
        outside = [one for one in asked if not one.startswith((url + "/", "data:"))]
        check(len(asked) > 5 and outside == [], f"nothing is asked of another host: {outside}")
        passed("the browser complains of nothing, and asks nobody else")
        pushes.stopped.set()
        browser.close()


main()
