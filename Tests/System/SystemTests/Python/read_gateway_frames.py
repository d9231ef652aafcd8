# SPDX-License-Identifier: Apache-2.0
"""Sends requests to a gateway with hyperframe and hpack, and prints each frame of the answer as a JSON object.

--request is "METHOD PATH", or with fields "METHOD PATH NAME=VALUE NAME=VALUE"; each is written when the one before it was
answered, or all at once with --together. --late writes DATA on each stream that was reset. --alpn names the protocols
that the handshake offers.
"""

import argparse
import json
import socket
import ssl

import hpack
import hyperframe.frame as frames

BODY = b'{"aps":{"alert":"Hello"}}'
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def arguments():
    parser = argparse.ArgumentParser()
    for name in ("port", "roots"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--request", action="append", default=[])
    parser.add_argument("--alpn", default="h2")
    parser.add_argument("--together", action="store_true")
    parser.add_argument("--late", action="store_true")
    return parser.parse_args()


class Session:
    def __init__(self, args):
        context = ssl.create_default_context(cafile=args.roots)
        context.set_alpn_protocols(args.alpn.split(","))
        plain = socket.create_connection(("127.0.0.1", int(args.port)), timeout=60)
        self.socket = context.wrap_socket(plain, server_hostname="localhost")
        self.encoder, self.decoder = hpack.Encoder(), hpack.Decoder()
        self.received, self.late = b"", args.late
        self.send(PREFACE + frames.SettingsFrame(0).serialize())

    def send(self, data):
        self.socket.sendall(data)

    def request(self, stream, words):
        method, path, *fields = words.split(" ")
        block = [(":method", method), (":scheme", "https"), (":authority", "localhost"), (":path", path)]
        block += [tuple(field.replace("+", " ").split("=", 1)) for field in fields]
        headers = frames.HeadersFrame(stream, self.encoder.encode(block))
        headers.flags.add("END_HEADERS")
        if method == "GET":
            headers.flags.add("END_STREAM")
            return headers.serialize()
        body = frames.DataFrame(stream, BODY)
        body.flags.add("END_STREAM")
        return headers.serialize() + body.serialize()

    def frame(self):
        """The next frame; None at the end of the connection."""
        while True:
            if len(self.received) >= 9:
                frame, length = frames.Frame.parse_frame_header(memoryview(self.received[:9]))
                if len(self.received) >= 9 + length:
                    frame.parse_body(memoryview(self.received[9 : 9 + length]))
                    self.received = self.received[9 + length :]
                    return frame, length
            try:
                piece = self.socket.recv(65536)
            except (ConnectionResetError, ssl.SSLError):
                piece = b""
            if not piece:
                return None, 0
            self.received += piece

    def read(self, streams):
        """Prints frames until these streams have ended."""
        while streams:
            frame, length = self.frame()
            if frame is None:
                return print(json.dumps({"frame": "END"}), flush=True)
            shown = {"frame": type(frame).__name__.removesuffix("Frame"), "stream": frame.stream_id, "bytes": length}
            if isinstance(frame, frames.HeadersFrame):
                shown["fields"] = [list(field) for field in self.decoder.decode(frame.data)]
            elif isinstance(frame, frames.DataFrame):
                shown["text"] = bytes(frame.data).decode()
            elif isinstance(frame, frames.RstStreamFrame):
                shown["code"] = frame.error_code
            elif isinstance(frame, frames.GoAwayFrame):
                shown["code"], shown["text"] = frame.error_code, bytes(frame.additional_data).decode()
            elif isinstance(frame, frames.SettingsFrame) and "ACK" not in frame.flags:
                acknowledged = frames.SettingsFrame(0)
                acknowledged.flags.add("ACK")
                self.send(acknowledged.serialize())
            if shown["frame"] in ("Headers", "Data", "RstStream", "GoAway"):
                print(json.dumps(shown), flush=True)
            if isinstance(frame, frames.RstStreamFrame) and self.late:
                self.late = False
                self.send(frames.DataFrame(frame.stream_id, BODY).serialize())
            elif isinstance(frame, frames.RstStreamFrame) or "END_STREAM" in frame.flags:
                streams.discard(frame.stream_id)


def main(args):
    try:
        session = Session(args)
        numbered = [(1 + 2 * number, words) for number, words in enumerate(args.request)]
        if args.together:
            session.send(b"".join(session.request(*one) for one in numbered))
            return session.read({stream for stream, _ in numbered})
        for one in numbered:
            session.send(session.request(*one))
            session.read({one[0]})
        if not numbered:
            session.read({1})
    except (ConnectionError, ssl.SSLError):
        print(json.dumps({"frame": "END"}), flush=True)


main(arguments())
