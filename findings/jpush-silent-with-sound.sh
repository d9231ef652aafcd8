#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# jpush 3.4.1, the library for the pushes of JPush, which sends them on to APNs: `ios(content_available=True)`, a silent
# push, has a badge of "+1" and the sound "default". So has each alert that says nothing of badge and sound, and one
# with `sound=None`. What takes them away differs: `badge=None`, and `sound_disable=True`.
#
# The example in its documentation has a result without a badge.
#
# What others make of a content-available that is all they are told: urbanairship 7.4.1 says no more; async-firebase
# 6.4.0 adds mutable-content, and no sound and no badge.
#
# Guessed before it was run: the object has what was given, and no sound or badge otherwise.
#
# Whoever wakes apps with it counts up the badge and beeps; APNs lets a background push have neither.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: jpush==3.4.1 \
  urbanairship==7.4.1 async-firebase==6.4.0
"$folder/python/bin/python" - <<'PYTHON'
import importlib.metadata

import async_firebase
import jpush
import urbanairship

print(*(f"{name} {importlib.metadata.version(name)};" for name in ("jpush", "urbanairship", "async-firebase")))
for arguments, expected in (
    ({"content_available": True}, {"badge": "+1", "sound": "default", "content-available": 1}),
    ({"alert": "Hello"}, {"alert": "Hello", "badge": "+1", "sound": "default"}),
    ({"alert": "Hello", "sound": None}, {"alert": "Hello", "badge": "+1", "sound": "default"}),
    ({"alert": "Hello", "badge": None}, {"alert": "Hello", "sound": "default"}),
    ({"content_available": True, "badge": None, "sound_disable": True}, {"content-available": 1}),
):
    seen = jpush.ios(**arguments)
    print(f"  jpush.ios of {arguments}: {seen}")
    assert seen == expected, seen
seen = urbanairship.ios(content_available=True)
print("  urbanairship:", seen)
assert seen == {"content-available": 1}, seen
aps = async_firebase.AsyncFirebaseClient.build_apns_config(priority="normal", content_available=True).payload.aps
print(f"  async-firebase: {aps}")
assert (aps.content_available, aps.badge, aps.sound) == (True, None, None), aps
PYTHON
