# SPDX-License-Identifier: Apache-2.0
"""Looks at the console's page in Chromium while its server answers with the status of one trouble after the other.

usage: console_states.py CHROMIUM URL [SCREENSHOTS]

URL is that of a running martlet console. Its answers to status.json are replaced; everything else is its own. Prints one
line for each state that the page shows, and ends with the first that it does not. Pictures go to the folder SCREENSHOTS.
"""

import copy
import json
import math
import os
import sys

from playwright.sync_api import expect, sync_playwright

HEALTHY = {
    "state": "ready", "ready": True, "time": 1764093207.5,
    "processes": [
        {"name": name, "state": "ready", "causes": [], "cores": 0.12, "resident_bytes": 48_000_000}
        for name in ["ingest", "sender-1", "signer", "feedback", "api", "webhooks"]
    ],
    "requests_per_second": 812, "ingest_per_second": {"accepted": 790, "suppressed": 21, "rejected": 1},
    "ingest_total": {"accepted": 90_000, "suppressed": 2_411, "rejected": 17}, "requests_oldest_seconds": 0.004,
    "outcomes_per_second": {"delivered": 780, "rejected": 9, "expired": 0},
    "outcomes_total": {"delivered": 88_123, "rejected": 1_204, "expired": 3, "cancelled": 41, "dead_lettered": 2},
    "reasons_total": {"Unregistered": 1_100, "BadDeviceToken": 104}, "retries_per_second": {"retry_topic": 0},
    "in_flight": 31, "waiting": 0, "backlog_seconds": {"transactional": 0.02, "bulk": 0.3, "retries": 0},
    "unread_records": {}, "connections": {"ready": 4}, "destinations": {"working": 2}, "blocked": [],
    "delivery_seconds": {"p50": 0.004, "p99": 0.031}, "credentials_without_token": 0, "oldest_token_seconds": 611,
    "next_certificate_expiry_seconds": None, "records_lost": 0, "paused": {},
    "canaries": [{"name": "com.example.app production 00fc13ad", "success": True, "seconds_since_success": 3}],
    "campaigns": [], "campaigns_unlisted": 0, "warnings": [],
}
CAMPAIGN = {"name": "spring-sale", "state": "running", "reason": "", "addressed": 120_000, "total": 500_000,
            "ended": 60_000, "outcomes": {"delivered": 59_700, "rejected": 300}, "rejected_percent": 0.5,
            "per_second": 912.5, "seconds_left": 482}
STOPPED = {**CAMPAIGN, "name": "wrong-app", "state": "stopped", "reason": "12 of 50 pushes were rejected",
           "addressed": 50, "total": 5_000, "ended": 50, "outcomes": {"delivered": 38, "rejected": 12},
           "rejected_percent": 24, "per_second": 0, "seconds_left": 0}


def status(**changes):
    return {**copy.deepcopy(HEALTHY), **changes}


def processes(changes):
    """The processes, with the states that differ."""
    return [{**one, **changes.get(one["name"], {})} for one in HEALTHY["processes"]]


UNREACHABLE = {"state": "unreachable", "causes": ["Could not connect to server"], "cores": None, "resident_bytes": 0}
REFUSED = {"app": "com.example.chat", "credential": "TEAM/KEY/any", "environment": "production", "state": "app",
           "reason": "InvalidProviderToken", "seconds": 184.2, "waiting": 12}
LONG = "com.example." + "a-name-without-a-blank-" * 8

# Name: the document, the headline, and texts that the page must show.
STATES = {
    "well": (status(), "Ready", ["delivered 780/s", "failed 9/s", "2,411", "suppressed by ingest", "17",
                                 "cancelled with a campaign"]),
    "waiting pushes": (status(waiting=1, in_flight=4711), "Ready", ["1 waiting", "4,711 in flight"]),
    "many waiting pushes": (
        status(state="degraded", waiting=8412, warnings=["the oldest unfinished notification is 3 min old"]),
        "Degraded", ["8,412 waiting", "3 min old"]),
    "refused app": (
        status(state="degraded", waiting=12, destinations={"working": 1, "app": 1}, blocked=[REFUSED],
               unread_records={"push.retries.1m": 3241}, backlog_seconds={"transactional": 0, "bulk": 0, "retries": 182},
               warnings=["APNs refuses app com.example.chat with credential TEAM/KEY/any in production"]),
        "Degraded", ["com.example.chat", "TEAM/KEY/any", "InvalidProviderToken", "3 min", "3,241", "APNs (blocked)"]),
    "gateway down": (
        status(state="blocked", waiting=800, destinations={"gateway": 2},
               outcomes_per_second={}, connections={},
               blocked=[{**REFUSED, "app": None, "state": "gateway", "reason": "", "seconds": 65}],
               warnings=["the production gateway fails for credential TEAM/KEY/any, for 65 s"]),
        "Blocked", ["all apps", "gateway fails", "65 s", "0 connections", "delivered 0/s"]),
    "no connection": (
        status(state="blocked", destinations={"connects": 1},
               blocked=[{**REFUSED, "app": None, "state": "connects", "reason": "", "seconds": 21}]),
        "Blocked", ["no connection"]),
    "no provider token": (
        status(state="blocked", destinations={"no_token": 1}, credentials_without_token=1, oldest_token_seconds=None,
               blocked=[{**REFUSED, "app": None, "state": "no_token", "reason": "", "seconds": 21}]),
        "Blocked", ["no provider token"]),
    "refused credential": (
        status(state="blocked", destinations={"credential": 1},
               blocked=[{**REFUSED, "app": None, "state": "credential", "reason": "ExpiredProviderToken"}]),
        "Blocked", ["ExpiredProviderToken"]),
    "paused lane": (
        status(state="degraded", paused={"lane": 1}, backlog_seconds={"transactional": 0, "bulk": 5400, "retries": 0},
               unread_records={"push.notifications.bulk": 12_345},
               warnings=["paused: 1 lane; martlet pause lists them"]),
        "Degraded", ["bulk (a lane is paused)", "90 min", "12,345", "1 lane"]),
    "slow gateway": (
        status(state="degraded", delivery_seconds={"p50": 8.1, "p99": 9.9},
               warnings=["APNs answers slowly: every tenth answer takes more than 8.2 s"]),
        "Degraded", ["p50 8.1 s, p99 9.9 s", "answers slowly"]),
    "certificate near its end": (
        status(state="degraded", next_certificate_expiry_seconds=-3600, warnings=["a client certificate expires"]),
        "Degraded", ["a client certificate expires"]),
    "signer dead": (
        status(state="degraded", processes=processes({"signer": UNREACHABLE}),
               warnings=["signer: Could not connect to server"]),
        "Degraded", ["UNREACHABLE", "signer: Could not connect"]),
    "Kafka away": (
        status(state="blocked", ready=False, requests_per_second=0, outcomes_per_second={}, ingest_per_second={},
               processes=processes({name: {"state": "not_ready", "causes": ["Kafka is unreachable"]}
                                    for name in ["ingest", "sender-1", "signer", "feedback", "api"]}),
               warnings=[f"{name}: Kafka is unreachable" for name in ["ingest", "sender-1", "signer"]]),
        "Blocked", ["NOT READY", "ingest: Kafka is unreachable", "Ingest (blocked)", "Senders (blocked)"]),
    "database refuses": (
        status(state="degraded", warnings=["the database of device tokens takes no transaction"]),
        "Degraded", ["takes no transaction"]),
    "records lost": (
        status(state="degraded", records_lost=30, warnings=["30 records were removed by retention"]),
        "Degraded", ["30 records were removed"]),
    "failing canary": (
        status(state="degraded", canaries=[{"name": "a", "success": False, "seconds_since_success": None}],
               warnings=["canary a fails; none was delivered yet"]),
        "Degraded", ["a FAILS"]),
    "campaigns": (
        status(campaigns=[CAMPAIGN, {**CAMPAIGN, "name": "tomorrow", "state": "scheduled", "addressed": 0, "total": None,
                                     "ended": 0, "rejected_percent": None, "per_second": 0, "seconds_left": None}],
               campaigns_unlisted=7),
        "Ready", ["spring-sale", "120,000 of 500,000 (24 %)", "913/s", "8 min", "0.5 %", "tomorrow", "0 addressed",
                  "7 more; martlet campaign list has all"]),
    "a campaign that has stopped itself": (
        status(state="degraded", campaigns=[STOPPED],
               warnings=["campaign wrong-app has stopped itself: 12 of 50 pushes were rejected"]),
        "Degraded", ["stopped: 12 of 50 pushes were rejected", "50 of 5,000 (1 %)", "24 %"]),
    "no process answers": (
        status(state="blocked", ready=False, processes=[{**one, **UNREACHABLE} for one in HEALTHY["processes"]],
               requests_per_second=0, ingest_per_second={}, ingest_total={}, outcomes_per_second={}, outcomes_total={},
               reasons_total={}, retries_per_second={}, in_flight=0, backlog_seconds={}, connections={}, destinations={},
               delivery_seconds=None, oldest_token_seconds=None, canaries=[],
               warnings=[f"{one['name']}: Could not connect to server" for one in HEALTHY["processes"]]),
        "Blocked", ["UNREACHABLE", "none yet", "0 connections"]),
    "no process is named": (
        status(state="blocked", processes=[], canaries=[]), "Blocked", ["Pipeline"]),
    "every field null": (
        {**{name: None for name in HEALTHY}, "state": "blocked"}, "Blocked", ["– in flight", "– waiting"]),
    "no field but the state": ({"state": "degraded"}, "Degraded", ["– in flight"]),
    "an unknown state": (status(state="odd"), "Unknown", ["delivered 780/s"]),
    "huge numbers": (
        status(waiting=9e14, in_flight=2**53, requests_per_second=1e14, outcomes_total={"delivered": 9e14},
               outcomes_per_second={"delivered": 9e14}, oldest_token_seconds=9e14, time=9e14,
               backlog_seconds={"transactional": 9e14, "bulk": -5, "retries": 1e-9},
               unread_records={"push.notifications": 2**62}),
        "Ready", ["900T waiting", "delivered 900T/s"]),
    "zero everywhere": (
        status(**{name: 0 for name, value in HEALTHY.items() if isinstance(value, (int, float)) and name != "time"},
               outcomes_per_second={"delivered": 0}, outcomes_total={"delivered": 0},
               delivery_seconds={"p50": 0, "p99": 0}), "Ready", ["0 in flight", "delivered 0/s", "p50 0 s"]),
    # What JSON calls a number, and JavaScript infinite.
    "infinite": (
        status(**{name: math.inf for name, value in HEALTHY.items() if isinstance(value, (int, float))},
               outcomes_per_second={"delivered": math.inf, "rejected": -math.inf},
               backlog_seconds={"bulk": math.inf}, unread_records={"push.requests": math.inf},
               delivery_seconds={"p50": math.inf, "p99": None}), "Ready", ["– in flight", "p50 –"]),
    "texts for numbers": (
        status(waiting="12", in_flight="x", time="now", outcomes_per_second={"delivered": "780", "rejected": "9"},
               outcomes_total={"delivered": "88"}, unread_records={"push.requests": "7"}, delivery_seconds="soon",
               next_certificate_expiry_seconds=True), "Ready", ["– in flight", "– waiting"]),
    "long and hostile names": (
        status(state="degraded", blocked=[{**REFUSED, "app": LONG, "credential": "<img src=x onerror=alert(1)>"}],
               warnings=["<script>document.title = 'x'</script>" + LONG],
               processes=processes({"signer": {**UNREACHABLE, "name": LONG}}),
               campaigns=[{**STOPPED, "name": LONG[:64], "reason": "cancelled by <b>" + LONG}],
               reasons_total={"<b>" + LONG: 3}),
        "Degraded", ["<img src=x onerror=alert(1)>", "<script>document.title = 'x'</script>"]),
}


def check(condition, text):
    if not condition:
        sys.exit(f"does not hold: {text}")


class Server:
    """What the page is told in place of the real status."""

    def __init__(self, page):
        self.answer = json.dumps(HEALTHY)
        self.count = 0
        page.route("**/status.json", self.fulfil)

    def fulfil(self, route):
        self.count += 1
        if self.answer is None:
            return route.abort()
        route.fulfill(body=self.answer, content_type="application/json")

    def say(self, page, answer):
        """Answers so from now on, and waits until the page has had two such answers."""
        self.answer = answer
        last = self.count + 3
        while self.count < last:
            page.wait_for_timeout(50)


def text_of(document):
    """As JSON, which has no word for what is infinite."""
    return json.dumps(document).replace("Infinity", "1e999")


def shows(page, server, name, folder):
    document, headline, texts = STATES[name]
    server.say(page, text_of({"time": HEALTHY["time"] + server.count, **document}))
    expect(page.locator("#state")).to_have_text(headline)
    shown = page.locator("main").inner_text()
    for text in texts:
        check(text in shown, f"{name}: the page shows {text!r}, but: {shown}")
    is_called = document.get("warnings") or []
    check(page.locator("#problems").is_visible() == bool(is_called), f"{name}: the list of problems")
    check(page.locator("#blocked-part").is_visible() == bool(document.get("blocked")), f"{name}: what is blocked")
    check(not page.locator("#stale").is_visible(), f"{name}: the figures are of now")
    check(page.title() == "Martlet", f"{name}: no text becomes markup")
    for scheme, width in [("light", 1280), ("dark", 320), ("light", 375)]:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        wide = page.evaluate("document.documentElement.scrollWidth")
        check(wide <= width, f"{name}: a window of {width} pixels needs no scrolling sideways, it has {wide}")
        if folder:
            file = f"{name.replace(' ', '-')}-{scheme}-{width}.png"
            page.screenshot(path=os.path.join(folder, file), full_page=True)
    print(f"shows: {name}", flush=True)


def says_that_it_is_old(page, server, folder):
    """The server is gone, or has nothing: the last figures stay, and are said to be old."""
    server.say(page, json.dumps(status()))
    expect(page.locator("#state")).to_have_text("Ready")
    for answer, text in [(None, "No answer from martlet console"),
                         (json.dumps({"unavailable": "addresses.json: no such file"}), "addresses.json: no such file"),
                         ("<html>", "No answer from martlet console")]:
        server.say(page, answer)
        expect(page.locator("#stale")).to_have_text(text)
        expect(page.locator("#state")).to_contain_text("No reading since 17:53:27 UTC")
        check("delivered 780/s" in page.locator("main").inner_text(), "the last figures stay")
    if folder:
        page.screenshot(path=os.path.join(folder, "old.png"), full_page=True)
    server.say(page, json.dumps(status(time=HEALTHY["time"] + 60)))
    expect(page.locator("#state")).to_have_text("Ready")
    check(not page.locator("#stale").is_visible(), "it is of now again")
    print("shows: that its figures are old", flush=True)


def hurried(browser):
    """A page that asks for the status twenty times a second."""
    page = browser.new_page()
    page.add_init_script("const wait = setTimeout; window.setTimeout = (call, time) => wait(call, time / 20);")
    return page


def main():
    chromium, url = sys.argv[1:3]
    folder = sys.argv[3] if len(sys.argv) > 3 else None
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-dev-shm-usage"])
        complaints = []
        page = hurried(browser)
        page.on("console", lambda line: complaints.append(line.text) if line.type in ["error", "warning"] else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        server = Server(page)
        for name in STATES:
            # Opened in the middle of the trouble: nothing is left of a better time.
            server.answer = text_of(STATES[name][0])
            response = page.goto(url)
            policy = response.headers.get("content-security-policy", "")
            check("script-src 'self'" in policy and "unsafe" not in policy, f"the policy is a header: {policy!r}")
            shows(page, server, name, folder)
            check(complaints == [], f"{name}: the browser complains of nothing: {complaints}")
        server.answer = json.dumps(HEALTHY)
        page.goto(url)
        says_that_it_is_old(page, server, folder)
        browser.close()


main()
