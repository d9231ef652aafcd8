#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# `curl -f` of curl 7.88.1 (that of Debian 12) with several URLs, as `.../[1-3]` makes them, of which one is answered
# with 500. It ends with 22 if that is the last one, and with 0, which is success, if it is the first or the second. On
# stderr it says that a URL returned an error. So it is with `{1,2,3}`, and with three URLs that are written out. `-Z`,
# which sends them in parallel, ends with 22 in each case; so does `--fail-early`, which leaves out what comes after.
#
# Guessed before it was run: the status is an error if any of them failed, since `-f` is there for scripts.
#
# Whoever registers many devices with one line, and has `set -e`, a CI job or `&&` look for what went wrong, learns of
# it only if it was the last.
#
# Fails if it ends otherwise than it did.
set -euo pipefail
curl --version | grep -q '^curl 7\.88\.1 '
python3 - <<'PYTHON'
import http.server
import subprocess
import threading

asked, wrong = [], None


class Gateway(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_PUT(self):
        self.rfile.read(int(self.headers["content-length"]))
        asked.append(self.path)
        self.send_response(500 if self.path == f"/{wrong}" else 202)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Gateway)
threading.Thread(target=server.serve_forever, daemon=True).start()
base = f"http://127.0.0.1:{server.server_port}"
ways = {
    "[1-3]": ([f"{base}/[1-3]"], (0, 0, 22)),
    "{1,2,3}": ([base + "/{1,2,3}"], (0, 0, 22)),
    "three URLs": ([f"{base}/{number}" for number in (1, 2, 3)], (0, 0, 22)),
    "-Z [1-3]": (["-Z", f"{base}/[1-3]"], (22, 22, 22)),
    "--fail-early [1-3]": (["--fail-early", f"{base}/[1-3]"], (22, 22, 22)),
}
for name, (arguments, expected) in ways.items():
    seen = []
    for wrong in (1, 2, 3):
        asked.clear()
        line = ["curl", "-q", "-fsS", "-X", "PUT", "-d", "{}", "--noproxy", "*", *arguments]
        done = subprocess.run(line, capture_output=True, text=True)
        assert "returned error: 500" in done.stderr, done.stderr
        assert len(asked) == (wrong if "early" in name else 3), asked
        seen.append(done.returncode)
    print(f"{name}: {seen} if the first, the second or the third of three is answered with 500")
    assert tuple(seen) == expected, seen
PYTHON
