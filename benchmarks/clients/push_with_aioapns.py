# SPDX-License-Identifier: Apache-2.0
"""Sends --count notifications with aioapns, --streams at a time, and fails unless all are answered 200."""
import argparse
import asyncio
import json
import ssl

import aioapns
from aioapns.connection import APNsTLSClientProtocol


def arguments():
    parser = argparse.ArgumentParser()
    for name in ("port", "count", "streams"):
        parser.add_argument(f"--{name}", required=True, type=int)
    for name in ("roots", "key", "key-id", "team-id", "topic", "token", "body"):
        parser.add_argument(f"--{name}", required=True)
    return parser.parse_args()


def client(options):
    context = ssl.create_default_context(cafile=options.roots)
    context.set_alpn_protocols(["h2"])
    with open(options.key, encoding="ascii") as file:
        apns = aioapns.APNs(
            key=file.read(), key_id=options.key_id, team_id=options.team_id, topic=options.topic,
            ssl_context=context, max_connections=1)

    class ToGateway(APNsTLSClientProtocol):
        APNS_SERVER = "localhost"
        APNS_PORT = options.port

    # The library has no setting for the gateway's address.
    apns.pool.protocol_class = ToGateway
    return apns


async def main(options):
    apns = client(options)
    with open(options.body, encoding="utf-8") as file:
        message = json.load(file)
    left = iter(range(1, options.count))

    async def push():
        answer = await apns.send_notification(aioapns.NotificationRequest(
            device_token=options.token, message=message, priority=10,
            push_type=aioapns.PushType.ALERT))
        if not answer.is_successful:
            raise SystemExit(f"{answer.status} {answer.description}")

    async def stream():
        for _ in left:
            await push()

    # One alone: the library does not know the limit of streams before the connection is there.
    await push()
    await asyncio.gather(*(stream() for _ in range(options.streams)))


asyncio.run(main(arguments()))
