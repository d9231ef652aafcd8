# SPDX-License-Identifier: Apache-2.0
"""Pushes with aioapns, as an application would, to a gateway other than Apple's.

Reads one push a line from --pushes: a JSON object with "token" and optionally "id", "collapse_id",
"priority" and "time_to_live". Sends the first one, then all others at once. Prints one JSON object for
each answer. Shows a provider token (--key, --key-id, --team-id) or a client certificate (--certificate, a
PEM file with its key).
"""

import argparse
import asyncio
import json
import ssl

import aioapns
from aioapns.connection import APNsTLSClientProtocol


def arguments():
    parser = argparse.ArgumentParser()
    for name in ("port", "roots", "topic", "pushes"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("key", "key-id", "team-id", "certificate"):
        parser.add_argument(f"--{name}")
    return parser.parse_args()


def client(args):
    if args.certificate:
        identity = {"client_cert": args.certificate}
    else:
        with open(args.key, encoding="ascii") as file:
            identity = {"key": file.read(), "key_id": args.key_id, "team_id": args.team_id}
    context = ssl.create_default_context(cafile=args.roots)
    context.set_alpn_protocols(["h2"])
    # One connection: on a further one the library sends a burst before it knows the stream limit, and
    # forgets what the gateway refuses then.
    apns = aioapns.APNs(
        **identity,
        topic=args.topic,
        ssl_context=context,
        max_connections=1,
    )

    # The library has no setting for the gateway's address.
    class Protocol(APNsTLSClientProtocol):
        APNS_SERVER = "localhost"
        APNS_PORT = int(args.port)

    apns.pool.protocol_class = Protocol
    return apns


async def push(apns, entry):
    answer = await apns.send_notification(
        aioapns.NotificationRequest(
            device_token=entry["token"],
            message={"aps": {"alert": "Grüße"}},
            notification_id=entry.get("id"),
            collapse_key=entry.get("collapse_id"),
            priority=entry.get("priority"),
            time_to_live=entry.get("time_to_live"),
            push_type=aioapns.PushType.ALERT,
        )
    )
    return {
        "token": entry["token"],
        "id": answer.notification_id,
        "status": int(answer.status),
        "reason": answer.description,
        "timestamp": answer.timestamp,
    }


async def main(args):
    with open(args.pushes, encoding="utf-8") as file:
        first, *others = [json.loads(line) for line in file]
    apns = client(args)
    answers = [await push(apns, first)]
    answers += await asyncio.gather(*(push(apns, entry) for entry in others))
    apns.pool.close()
    # The connection says goodbye on the event loop's next turns.
    await asyncio.sleep(0.1)
    for answer in answers:
        print(json.dumps(answer))


asyncio.run(asyncio.wait_for(main(arguments()), timeout=100))
