# SPDX-License-Identifier: Apache-2.0
"""Pushes with httpx over HTTP/2, as an application without an APNs library would.

Each --push is "TOKEN TOPIC"; all go out on one connection, one after the other. Shows a provider token
(--bearer) or a client certificate (--certificate, a PEM file with its key). Prints one JSON object for each
answer.
"""

import argparse
import json
import ssl

import httpx


def arguments():
    parser = argparse.ArgumentParser()
    for name in ("port", "roots"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("bearer", "certificate"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--push", action="append", required=True)
    return parser.parse_args()


def main(args):
    context = ssl.create_default_context(cafile=args.roots)
    if args.certificate:
        context.load_cert_chain(args.certificate)
    headers = {"apns-push-type": "alert"}
    if args.bearer:
        headers["authorization"] = f"bearer {args.bearer}"
    with httpx.Client(
        http1=False,
        http2=True,
        verify=context,
        trust_env=False,
        timeout=60,
        base_url=f"https://localhost:{args.port}",
    ) as client:
        for push in args.push:
            token, topic = push.split()
            answer = client.post(
                f"/3/device/{token}",
                headers={**headers, "apns-topic": topic},
                content=b'{"aps":{"alert":"Hello"}}',
            )
            print(
                json.dumps(
                    {
                        "version": answer.http_version,
                        "status": answer.status_code,
                        "id": answer.headers.get("apns-id"),
                        "reason": answer.json()["reason"] if answer.content else None,
                    }
                )
            )


main(arguments())
