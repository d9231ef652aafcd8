# SPDX-License-Identifier: Apache-2.0
"""An endpoint for webhooks: verifies every request with the package standardwebhooks, writes a line of JSON for it, and
answers 204, or 401 if the signature does not hold."""

import argparse
import http.server
import json
import os
import ssl

from standardwebhooks import Webhook, WebhookVerificationError

parser = argparse.ArgumentParser()
parser.add_argument("--secret", required=True)
parser.add_argument("--log", required=True)
parser.add_argument("--address", required=True, help="file that gets the port")
parser.add_argument("--port", type=int, default=0)
parser.add_argument("--certificate")
parser.add_argument("--key")
arguments = parser.parse_args()
webhook = Webhook(arguments.secret)
log = open(arguments.log, "a", buffering=1)


class Endpoint(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        try:
            batch = webhook.verify(body, dict(self.headers))
        except WebhookVerificationError as error:
            line, status = {"invalid": str(error)}, 401
        else:
            line, status = {"webhook_id": self.headers["webhook-id"], "batch": batch}, 204
        log.write(json.dumps(line) + "\n")
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", arguments.port), Endpoint)
if arguments.certificate:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(arguments.certificate, arguments.key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
with open(arguments.address + ".new", "w") as file:
    file.write(f"{server.server_port}\n")
os.rename(arguments.address + ".new", arguments.address)
server.serve_forever()
