#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A new sound is for one in a hundred, with a flag of launchdarkly-server-sdk 9.20.0 (read from a file), whose rollout
# goes by users, or by something else that the application says of a user. How many of 2,000 have it:
#
# - by the user's key: 19. By a number `team`, with `"bucketBy": "team"`: 13.
# - by a `team` of which the application says nothing, or which it gives as 0.5, 1.5, and so on: 2,000.
# - by the key of another kind, `"contextKind": "device"`, where the application gives only users: 2,000.
#
# Who has no bucket is in the first one, and the first of a rollout is the new. With the new behind the old in the flag,
# nobody of those has it.
#
# Guessed before it was run: who cannot be put into a bucket is not in the rollout, and has what was before.
#
# Whoever tries a risk on one in a hundred devices, and has a name wrong or the attribute in one of two services, tries
# it on all.
#
# Fails if it does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: launchdarkly-server-sdk==9.20.0
"$folder/python/bin/python" - <<'PYTHON'
import importlib.metadata
import json
import logging
import tempfile

import ldclient
from ldclient import Context
from ldclient.config import Config
from ldclient.integrations import Files

logging.disable(logging.CRITICAL)
USERS = range(2000)
NEW, OLD = {"variation": 0, "weight": 1000}, {"variation": 1, "weight": 99_000}


def share(context, parts=(NEW, OLD), **by):
    flag = {"key": "sound", "version": 1, "on": True, "salt": "s", "variations": ["new", "old"], "offVariation": 1}
    flag["fallthrough"] = {"rollout": {"variations": list(parts), **by}}
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({"flags": {"sound": flag}}, file)
        file.flush()
        source = Files.new_data_source(paths=[file.name])
        client = ldclient.LDClient(Config("none", update_processor_class=source, send_events=False), 10)
        assert client.is_initialized()
        found = [client.variation("sound", context(user), "old") for user in USERS]
        client.close()
    return found.count("new")


def plain(user):
    return Context.builder(f"user-{user}").build()


def of_team(part):
    return lambda user: Context.builder(f"user-{user}").set("team", user + part).build()


seen = {
    "key": share(plain),
    "team": share(of_team(0), bucketBy="team"),
    "team not given": share(plain, bucketBy="team"),
    "team of a fraction": share(of_team(0.5), bucketBy="team"),
    "key of a device": share(plain, contextKind="device"),
    "team not given, old first": share(plain, (OLD, NEW), bucketBy="team"),
}
print(f"launchdarkly-server-sdk {importlib.metadata.version('launchdarkly-server-sdk')}, of {len(USERS)}: {seen}")
few = [seen.pop("key"), seen.pop("team")]
assert all(5 <= count <= 40 for count in few), few
assert list(seen.values()) == [2000, 2000, 2000, 0], seen
PYTHON
