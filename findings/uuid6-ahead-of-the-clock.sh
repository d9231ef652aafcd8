#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A program makes 100,000 identifiers at once, a campaign's, with `uuid7()` of uuid6 2025.0.1. It takes about a second,
# and the time in the last is 99 seconds ahead of the clock, as each has a millisecond of its own. One that another
# process makes later comes before nearly all of them in order. With uuid-utils 1.2.0 and fastuuid 0.14.0 the last has
# the time of now, and what another makes later comes after it.
#
# If its millisecond is not greater than that of the last one, it takes the next millisecond.
#
# Guessed before it was run: the times are those at which they were made, to within some milliseconds.
#
# Whoever reads the age of a push, or the order of two, out of its `apns-id` has pushes of the future, and a cursor that
# is at the largest of them passes over all that others make until the clock is there.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: uuid6==2025.0.1 uuid-utils==1.2.0 \
  fastuuid==0.14.0
"$folder/python/bin/python" - <<'PYTHON'
import importlib.metadata
import subprocess
import sys
import time

import fastuuid
import uuid6
import uuid_utils

NUMBER = 100_000
print(*(f"{name} {importlib.metadata.version(name)};" for name in ("uuid6", "uuid-utils", "fastuuid")))
for module, ahead in ((uuid6, True), (uuid_utils, False), (fastuuid, False)):
    begin = time.time()
    made = [module.uuid7() for _ in range(NUMBER)]
    end = time.time()
    last = (made[-1].int >> 80) / 1000
    line = f"import {module.__name__} as module; print(module.uuid7())"
    later = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, check=True).stdout.strip()
    after = sum(str(one) > later for one in made)
    print(
        f"  {module.__name__}: {NUMBER} in {end - begin:.1f} s, the last is {last - end:+.1f} s from the clock,"
        f" and {after} are greater than one that another process made later"
    )
    assert len(set(made)) == NUMBER
    if ahead:
        assert abs(last - begin - NUMBER / 1000) < 1 and after > NUMBER / 2, (last - begin, after)
    else:
        assert begin - 1 < last < end + 1 and after == 0, (last - end, after)
PYTHON
