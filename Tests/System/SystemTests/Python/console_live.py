# SPDX-License-Identifier: Apache-2.0
"""Waits until the console of a running pipeline shows a headline and some texts, in Chromium.

usage: console_live.py CHROMIUM URL HEADLINE TEXT...
"""

import sys

from playwright.sync_api import expect, sync_playwright


def main():
    chromium, url, headline, *texts = sys.argv[1:]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-dev-shm-usage"])
        page = browser.new_page()
        complaints = []
        page.on("console", lambda line: complaints.append(line.text) if line.type in ["error", "warning"] else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(url)
        try:
            expect(page.locator("#state")).to_have_text(headline, timeout=60_000)
            for text in texts:
                expect(page.locator("#blocked")).to_contain_text(text, timeout=60_000)
        except AssertionError:
            print(page.locator("body").inner_text(), complaints)
            raise
        # It lives: the time goes on.
        time = page.locator("#time").inner_text()
        expect(page.locator("#time")).not_to_have_text(time, timeout=10_000)
        browser.close()
    if complaints:
        sys.exit(f"the browser complains: {complaints}")


main()
