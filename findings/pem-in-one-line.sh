#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A key for provider tokens (.p8) whose line ends have become spaces, as YAML's `key: >` and a secret that was pasted
# into one line do, and one with an empty line between each two, as a text that went through CRLF twice has:
#
#                                                                           spaces    indented    empty lines
# - cryptography 50.0.2, and so PyJWT 2.15.1, joserfc 1.8.0, jwcrypto 1.6.1  reads     reads       refuses
# - GnuTLS 3.7.9, `certtool`                                                 reads     reads       reads
# - OpenSSL 3.0 (that of Debian 12)                                          refuses   refuses     refuses
# - ecdsa 0.19.2                                                             refuses   refuses     reads
# - pycryptodome 4.4.0                                                       refuses   refuses     reads
#
# "Indented" is two spaces before each line. Each reads the key as Apple gives it, and the same key of what it reads.
# RFC 7468 asks a parser for none of these.
#
# Guessed before it was run: the ends of the lines are part of the form, and all refuse the first two; an empty line
# does no harm.
#
# Whoever tries a secret with a script in Python, and then gives it to a program over OpenSSL, as curl, nginx and Node.js
# are, is told by the one that the key is good, and by the other that there is none.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
openssl version | grep '^OpenSSL 3\.0\.'
(cd "$folder" && apt-get -qq download gnutls-bin=3.7.9* 2> /dev/null && dpkg -x gnutls-bin_*.deb gnutls)
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: cryptography==50.0.2 \
  pyjwt==2.15.1 joserfc==1.8.0 jwcrypto==1.6.1 ecdsa==0.19.2 pycryptodome==4.4.0
"$folder/python/bin/python" - "$folder/gnutls/usr/bin/certtool" <<'PYTHON'
import subprocess
import sys

import Crypto.PublicKey.ECC
import ecdsa
import joserfc.jwk
import jwcrypto.jwk
import jwt.algorithms
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
    load_pem_public_key,
)

made = ec.generate_private_key(ec.SECP256R1())
number = made.private_numbers().private_value
apple = made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
lines = apple.splitlines()
forms = {
    "as it is": apple,
    "spaces": " ".join(lines),
    "indented": "".join(f"  {line}\n" for line in lines),
    "empty lines": "".join(f"{line}\n\n" for line in lines),
}


def by_openssl(text):
    done = subprocess.run(["openssl", "pkey"], input=text, capture_output=True, text=True, check=True)
    return load_pem_private_key(done.stdout.encode(), None).private_numbers().private_value


def by_gnutls(text):
    """The number, if GnuTLS has the public half of the key: it writes the private one as SEC 1 without its curve."""
    line = [sys.argv[1], "--pubkey-info", "--load-privkey", "/dev/stdin"]
    done = subprocess.run(line, input=text, capture_output=True, text=True, check=True)
    half = load_pem_public_key(done.stdout[done.stdout.index("-----BEGIN") :].encode())
    return number if half == made.public_key() else None


def by_jwcrypto(text):
    key = jwcrypto.jwk.JWK.from_pem(text.encode())
    return load_pem_private_key(key.export_to_pem(True, None), None).private_numbers().private_value


readers = {
    "cryptography": lambda text: load_pem_private_key(text.encode(), None).private_numbers().private_value,
    "PyJWT": lambda text: jwt.algorithms.get_default_algorithms()["ES256"]
    .prepare_key(text)
    .private_numbers()
    .private_value,
    "joserfc": lambda text: joserfc.jwk.ECKey.import_key(text).private_key.private_numbers().private_value,
    "jwcrypto": by_jwcrypto,
    "GnuTLS": by_gnutls,
    "OpenSSL": by_openssl,
    "ecdsa": lambda text: ecdsa.SigningKey.from_pem(text).privkey.secret_multiplier,
    "pycryptodome": lambda text: int(Crypto.PublicKey.ECC.import_key(text).d),
}
pythons = {name: ["spaces", "indented"] for name in ("cryptography", "PyJWT", "joserfc", "jwcrypto")}
expected = pythons | {
    "GnuTLS": ["spaces", "indented", "empty lines"],
    "OpenSSL": [],
    "ecdsa": ["empty lines"],
    "pycryptodome": ["empty lines"],
}
for name, read in readers.items():
    good = []
    for form, text in forms.items():
        try:
            assert read(text) == number, (name, form)
            good.append(form)
        except (ValueError, jwt.InvalidKeyError, subprocess.CalledProcessError, ecdsa.der.UnexpectedDER):
            pass  # it refuses
    print(f"{name} reads: {', '.join(good)}")
    assert good == ["as it is", *expected[name]], (name, good)
PYTHON
