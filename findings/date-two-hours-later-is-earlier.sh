#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A script works out until when a push is worth something, with `date` of GNU coreutils 9.1 (that of Debian 12), in UTC,
# from 12:00 on 29 November 2026. There is no error:
#
# - `date -d '2026-11-29 12:00 +2 hours'`: 11:00, an hour earlier. `+24 hours` is 13:00 of the day before.
# - `date -d '2026-11-29 12:00 +1 day'`: 11:00 of the next day, 23 hours later.
# - `date -d '2026-11-29 12:00 -1 hour'`: 14:00, two hours later. `-7 days` is 19:00 of the next day.
# - `date -d '2026-11-29 12:00 2 hours'` and `'2026-11-29T12:00:00Z +2 hours'`: 14:00. So is `'2026-11-29 +14 hours'`.
#
# A number with a sign behind a time of day is the time's offset from UTC, and "hours" alone is one hour. `+30 minutes`
# is an error, as there is no such offset.
#
# Guessed before it was run: 14:00, and noon of the next day, as for a day without a time.
#
# Whoever tries it with a day, as most examples have it, has it right, and then gives it a time: a push that is to live
# for two hours has expired an hour before it was sent.
#
# Fails if it does otherwise than it did.
set -euo pipefail
export LC_ALL=C TZ=UTC
date --version | grep -F 'coreutils) 9.1'

look() { # what it is, and what it is asked
  local said
  said=$(date -d "$2" '+%F %R')
  echo "$2: $said"
  [ "$said" = "$1" ]
}

look '2026-11-29 11:00' '2026-11-29 12:00 +2 hours'
look '2026-11-28 13:00' '2026-11-29 12:00 +24 hours'
look '2026-11-30 11:00' '2026-11-29 12:00 +1 day'
look '2026-11-29 14:00' '2026-11-29 12:00 -1 hour'
look '2026-11-30 19:00' '2026-11-29 12:00 -7 days'
look '2026-11-29 14:00' '2026-11-29 12:00 2 hours'
look '2026-11-29 14:00' '2026-11-29T12:00:00Z +2 hours'
look '2026-11-29 14:00' '2026-11-29 +14 hours'
if date -d '2026-11-29 12:00 +30 minutes' 2> /dev/null; then
  exit 1
fi
echo '2026-11-29 12:00 +30 minutes: an error'
