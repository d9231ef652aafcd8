# SPDX-License-Identifier: Apache-2.0
"""Reads what a client has written with the server side of h2, answers each request, and writes the answers to a file.

Prints one JSON object for each request: its stream, its fields in order and the length of its body.
"""
import argparse
import json

import h2.config
import h2.connection
import h2.events


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--written", required=True, help="file with the client's bytes")
    parser.add_argument("--answers", required=True, help="file for the server's bytes")
    options = parser.parse_args()
    # Names and values as they are: h2 checks them.
    config = h2.config.H2Configuration(client_side=False, header_encoding="utf-8")
    server = h2.connection.H2Connection(config)
    server.initiate_connection()
    server.increment_flow_control_window(1 << 24)
    requests = {}
    with open(options.written, "rb") as file:
        events = server.receive_data(file.read())
    for event in events:
        if isinstance(event, h2.events.RequestReceived):
            requests[event.stream_id] = {
                "stream": event.stream_id, "fields": [list(field) for field in event.headers],
                "body": 0}
        elif isinstance(event, h2.events.DataReceived):
            requests[event.stream_id]["body"] += len(event.data)
        elif isinstance(event, h2.events.StreamEnded):
            print(json.dumps(requests[event.stream_id]))
            answer(server, event.stream_id, dict(requests[event.stream_id]["fields"]))
    with open(options.answers, "wb") as file:
        file.write(server.data_to_send())


def answer(server, stream, fields):
    """Every third request is refused, with a body."""
    identifier = ("apns-id", fields["apns-id"])
    if stream % 3:
        server.send_headers(stream, [(":status", "200"), identifier], end_stream=True)
        return
    server.send_headers(stream, [
        (":status", "410"), identifier, ("content-type", "application/json"), ("retry-after", "9")])
    server.send_data(stream, b'{"reason":"Unregistered"}', end_stream=True)


if __name__ == "__main__":
    main()
