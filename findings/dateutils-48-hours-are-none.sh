#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A push that could not be delivered is kept for 48 hours from a day, and `dadd` of dateutils 0.4.10 (that of Debian 12)
# says until when, with no error, and ends with 0:
#
# - `dadd 2026-11-29 +48h`: 2026-11-29. So it is with +2880m and +172800s, with -48h, and with an output format that
#   has the time, which is 00:00:00.
# - `dadd 2026-11-29 +2d`: 2026-12-01. `+1d24h` is 2026-11-30: the day is counted, and the hours are not.
# - `dadd 2026-11-29T00:00:00 +48h`: 2026-12-01T00:00:00.
#
# `dseq 2026-11-29 12h 2026-11-30`, of the same package, says that the increment must not be naught. GNU's `date -d
# '2026-11-29 48 hours'` is on 1 December.
#
# What one would guess: it is 1 December, or an error, as a date alone has no hours.
#
# Whoever has a duration in hours in a setting, as 48h, and takes away from today what is older, takes away all but
# today's.
#
# Fails if it does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -q -o APT::Sandbox::User=root download dateutils > /dev/null # it needs the C library and the zones alone
dpkg-deb -x dateutils_*.deb .
usr/bin/dateutils.dadd --version | grep -F '0.4.10'

look() { # what it says, and its arguments
  local said
  said=$(usr/bin/dateutils.dadd "${@:2}" 2>&1)
  echo "dadd ${*:2}: $said"
  [ "$said" = "$1" ]
}

for hours in +48h +2880m +172800s; do
  look 2026-11-29 2026-11-29 "$hours"
done
look 2026-11-29 2026-11-29 -- -48h
look 2026-11-29T00:00:00 2026-11-29 +48h -f %FT%T
look 2026-12-01 2026-11-29 +2d
look 2026-11-30 2026-11-29 +1d24h
look 2026-12-01T00:00:00 2026-11-29T00:00:00 +48h
code=0
said=$(usr/bin/dateutils.dseq 2026-11-29 12h 2026-11-30 2>&1) || code=$?
echo "dseq ends with $code: $said"
[ "$code" = 1 ]
[[ $said = *"increment must not be naught"* ]]
[ "$(TZ=UTC date -d '2026-11-29 48 hours' +%F)" = 2026-12-01 ]
