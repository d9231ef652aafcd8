#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A template of `certtool` (GnuTLS 3.7.9, that of Debian 12) has `activation_date = "2026-12-01 09:00:00"`. The
# certificate begins at 09:00 in UTC on a machine that is in UTC, at 08:00 in Berlin and at 17:00 in Los Angeles: it is
# the local time, though all times in a certificate are in UTC, and `certtool --certificate-info` shows them in UTC.
# `2026-12-01 09:00:00 UTC` is taken, too, and is 09:00 in UTC everywhere.
#
# Guessed before it was run: it is in UTC, as what it is written into.
#
# Whoever makes certificates for test gateways on a laptop west of Greenwich has some that are not valid yet for hours,
# and those for an exact day end on another.
#
# Fails if it reads the time otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq download gnutls-bin=3.7.9* 2> /dev/null
dpkg -x gnutls-bin_*.deb gnutls
gnutls/usr/bin/certtool --version | head -1
openssl ecparam -name prime256v1 -genkey -noout -out key.pem
cat > template << 'TEMPLATE'
cn = "push.example.com"
activation_date = "2026-12-01 09:00:00"
expiration_date = "2026-12-31 09:00:00 UTC"
TEMPLATE

look() { # a time zone, and the hour in UTC at which the certificate begins
  export TZ=$1
  gnutls/usr/bin/certtool --generate-self-signed --load-privkey key.pem --template template > certificate.pem 2> errors
  openssl x509 -noout -dates -in certificate.pem > dates
  echo "$1: $(tr '\n' ' ' < dates)"
  grep -qx "notBefore=Dec  1 $2:00:00 2026 GMT" dates
  grep -qx 'notAfter=Dec 31 09:00:00 2026 GMT' dates
  gnutls/usr/bin/certtool --certificate-info < certificate.pem > shown
  grep -q "Not Before: Tue Dec 01 $2:00:00 UTC 2026" shown
}

look UTC 09
look Europe/Berlin 08
look America/Los_Angeles 17
