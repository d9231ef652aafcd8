# SPDX-License-Identifier: Apache-2.0
"""Generates a client of --document with openapi-python-client, and sends a push, a batch and a campaign with it.

Prints {"push": …, "batch": [...], "campaign": …}: what the API answered, as the client's classes read it.
"""

import argparse
import json
import os
import subprocess
import sys

PARSER = argparse.ArgumentParser()
PARSER.add_argument("--document", required=True)
PARSER.add_argument("--url", required=True)
PARSER.add_argument("--key", required=True)
PARSER.add_argument("--folder", required=True)
ARGUMENTS = PARSER.parse_args()

# The generator formats what it writes with ruff, which stands beside this Python.
TOOLS = os.path.dirname(sys.executable)
subprocess.run(
    [f"{TOOLS}/openapi-python-client", "generate", "--path", ARGUMENTS.document, "--output-path"]
    + [f"{ARGUMENTS.folder}/client", "--overwrite"],
    check=True,
    stdout=subprocess.DEVNULL,
    env={**os.environ, "PATH": f"{TOOLS}:{os.environ['PATH']}"},
)
sys.path.insert(0, f"{ARGUMENTS.folder}/client")

from martlet_api_client import AuthenticatedClient  # noqa: E402
from martlet_api_client.api.default import send_notifications, start_campaign  # noqa: E402
from martlet_api_client.models import (  # noqa: E402
    CampaignRequest,
    CampaignRequestPayload,
    CampaignStart,
    CampaignStartAudience,
    Request,
    RequestPayload,
)

TOKEN = "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0"


def request(identifier, aps):
    """A request to one device."""
    return Request(
        id=identifier, app="com.example.app", token=TOKEN, payload=RequestPayload.from_dict({"aps": aps})
    )


CLIENT = AuthenticatedClient(base_url=ARGUMENTS.url, token=ARGUMENTS.key)
PUSH = send_notifications.sync(client=CLIENT, body=request("client-1", {"alert": "Hello", "thread_id": "a"}))
BATCH = send_notifications.sync(
    client=CLIENT, body=[request("client-2", {"badge": 1}), request("client-3", {"badge": "one"})]
)
CAMPAIGN = start_campaign.sync(
    client=CLIENT,
    body=CampaignStart(
        campaign="spring",
        request=CampaignRequest(
            app="com.example.app", payload=CampaignRequestPayload.from_dict({"aps": {"alert": "Spring"}})
        ),
        audience=CampaignStartAudience(locale="de"),
    ),
)
print(
    json.dumps(
        {"push": PUSH.to_dict(), "batch": [item.to_dict() for item in BATCH], "campaign": CAMPAIGN.to_dict()}
    )
)
