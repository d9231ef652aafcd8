#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A shell script makes the JSON of a request with jo 1.9 (that of Debian 12), `jo token="$token" title="$title"`. What
# reads as a number is one, without its leading zeros, its base and its last digits:
#
# - 00123456 is 123456, 0x1f4e is 8014, and 12e34 is 1.2e+35.
# - 1795000000123456789, an identifier of 19 digits, is 1.795000000123457e+18. 9007199254740993 is ...992.
# - A title of "true" is a boolean, an empty one is null, and one of "1.10" is 1.1. "1e400" and "12 " stay texts.
#
# It has a double of each, and writes that. `jo -- -s token=… -s id=…` writes texts.
#
# What one would guess: a word that JSON would not take for a number, as 00123456, is a text, and numbers keep their
# digits.
#
# Whoever has identifiers of digits finds pushes under others, which no device has; most of them work.
#
# Fails if it does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -q -o APT::Sandbox::User=root download jo > /dev/null # it needs the C library alone
dpkg-deb -x jo_*.deb .
./usr/bin/jo -v | grep -x 'jo 1\.9'
look() {
  local expected=$1
  shift
  local seen
  seen=$(./usr/bin/jo "$@")
  echo "  jo $*: $seen"
  [ "$seen" = "$expected" ]
}
look '{"token":123456,"other":8014,"third":1.2e+35}' token=00123456 other=0x1f4e third=12e34
look '{"id":1.795000000123457e+18,"other":9007199254740992}' id=1795000000123456789 other=9007199254740993
look '{"title":true,"body":null,"price":1.1}' title=true body= price=1.10
look '{"token":"1e400","other":"12 ","third":"1f4e0a"}' token=1e400 other='12 ' third=1f4e0a
look '{"token":"00123456","id":"1795000000123456789"}' -- -s token=00123456 -s id=1795000000123456789
