#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# `openssl x509` of OpenSSL 3.0 (that of Debian 12) can say whether a certificate is for a host, an address or an e-mail
# address: `-checkhost`, `-checkip`, `-checkemail`. If it is not, it says so on standard output, and ends with 0, as if
# it were. The option next to them in the manual, `-checkend`, ends with 1 if the certificate will have expired. Where both
# are in one call, the host is not looked at, and nothing is said of it.
#
# `openssl verify -verify_hostname` ends with 2 for the same certificate and host. `certtool --verify
# --verify-hostname` of GnuTLS 3.7.9 ends with 1.
#
# Guessed before it was run: the check of a host ends with something else than 0 when it fails, as the check of the time
# does.
#
# Whoever has `openssl x509 -checkhost … && deploy` in a script, before a gateway's or a test server's certificate goes
# out, deploys each certificate, and hears of the wrong one from clients.
#
# Fails if it ends otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
openssl version | grep '^OpenSSL 3\.0\.'
(cd "$folder" && apt-get -qq download gnutls-bin=3.7.9* 2> /dev/null && dpkg -x gnutls-bin_*.deb gnutls)
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=push.example.com \
  -addext subjectAltName=DNS:push.example.com,IP:127.0.0.1,email:push@example.com \
  -keyout "$folder/key.pem" -out "$folder/certificate.pem" 2> /dev/null

look() { # the code, and the command
  local expected=$1 code=0
  shift
  said=$("$@" 2>&1) || code=$?
  echo "$1 $2, ${*: -2}: ends with $code"
  [ "$code" = "$expected" ]
}

check=(openssl x509 -noout -in "$folder/certificate.pem")
look 0 "${check[@]}" -checkhost push.example.com
grep -qx 'Hostname push.example.com does match certificate' <<< "$said"
look 0 "${check[@]}" -checkhost api.example.com
grep -qx 'Hostname api.example.com does NOT match certificate' <<< "$said"
look 0 "${check[@]}" -checkip 127.0.0.2
grep -qx 'IP 127.0.0.2 does NOT match certificate' <<< "$said"
look 0 "${check[@]}" -checkemail api@example.com
grep -qx 'Email api@example.com does NOT match certificate' <<< "$said"
look 0 "${check[@]}" -checkend 86400
look 1 "${check[@]}" -checkend 8640000
look 0 "${check[@]}" -checkend 86400 -checkhost api.example.com
[ "$said" = "Certificate will not expire" ]
cd "$folder"
verify=(openssl verify -CAfile certificate.pem -verify_hostname)
look 0 "${verify[@]}" push.example.com certificate.pem
look 2 "${verify[@]}" api.example.com certificate.pem
certtool=(gnutls/usr/bin/certtool --verify --load-ca-certificate certificate.pem --infile certificate.pem)
look 0 "${certtool[@]}" --verify-hostname push.example.com
look 1 "${certtool[@]}" --verify-hostname api.example.com
