# SPDX-License-Identifier: Apache-2.0
"""Looks at the console of a running pipeline in Chromium, in one incident after the other.

usage: console_incidents.py CHROMIUM URL STEPS

One page stays open from before the first incident to the end; another one is opened in the middle of each. STEPS is a
folder in which 1.json, 2.json, … appear while this runs, each with a headline and texts that the page has to show, and
whether another one is opened.
Prints "shows: NUMBER" for each, and ends after one that is empty.
"""

import json
import os
import sys
import time

from playwright.sync_api import expect, sync_playwright

LONG = 90_000


def opened(browser, url, complaints):
    page = browser.new_page()
    page.on("console", lambda line: complaints.append(line.text) if line.type in ["error", "warning"] else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(url)
    return page


def step(folder, number):
    """The file is whole when it has its name."""
    place = os.path.join(folder, f"{number}.json")
    end = time.monotonic() + 300
    while not os.path.exists(place):
        if time.monotonic() > end:
            sys.exit(f"no step {number}")
        time.sleep(0.05)
    with open(place) as text:
        return json.load(text)


def shows(page, headline, texts, name):
    try:
        expect(page.locator("#state")).to_have_text(headline)
        for text in texts:
            expect(page.locator("#main")).to_contain_text(text, use_inner_text=True)
        # It lives: the time goes on, and what is shown is of now.
        moment = page.locator("#time").inner_text()
        expect(page.locator("#time")).not_to_have_text(moment)
        expect(page.locator("#stale")).to_be_hidden()
    except AssertionError:
        print(f"{name}: wanted {headline} and {texts}, but:", page.locator("body").inner_text(), flush=True)
        raise


def main():
    chromium, url, folder = sys.argv[1:]
    complaints = []
    expect.set_options(timeout=LONG)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-dev-shm-usage"])
        before = opened(browser, url, complaints)
        number = 1
        while wanted := step(folder, number):
            shows(before, wanted["headline"], wanted["texts"], "the page from before")
            if wanted["opens"]:
                during = opened(browser, url, complaints)
                shows(during, wanted["headline"], wanted["texts"], "the page opened during it")
                during.close()
            if complaints:
                sys.exit(f"step {number}: the browser complains: {complaints}")
            print(f"shows: {number}", flush=True)
            number += 1
        browser.close()


main()
