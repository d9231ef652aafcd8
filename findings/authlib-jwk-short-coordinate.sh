#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A key for ES256 whose x begins with a zero byte, as that of one in 256 does. A JWK of it has 32 bytes for each of x, y
# and d (RFC 7518, 6.2), which are 43 characters. Authlib 1.9.10 (`authlib.jose`, which is to go with Authlib 2.0)
# leaves the zero out and writes 42.
#
# - PyJWT 2.15.1 refuses to read that. joserfc 1.8.0, jwcrypto 1.6.1, python-jose 3.5.0 and cryptojwt 1.11.0 read it.
# - The thumbprint (RFC 7638), which is made of that text and often taken as the key's id, is another than that of
#   joserfc and jwcrypto, which write 43 characters, as PyJWT, python-jose and cryptojwt do.
#
# Of a key without such a zero all write the same, and have the same thumbprint.
#
# Guessed before it was run: all write 43 characters, and read what the others write.
#
# Whoever publishes keys with it, or tests so, sees it work, until one key in 86, in which x, y or d is so, is made.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: authlib==1.9.10 pyjwt==2.15.1 \
  joserfc==1.8.0 jwcrypto==1.6.1 python-jose==3.5.0 cryptojwt==1.11.0 cryptography==50.0.2
"$folder/python/bin/python" -W ignore - <<'PYTHON'
import json

import authlib.jose
import cryptojwt.jwk.ec
import jose.jwk
import joserfc.jwk
import jwcrypto.jwk
import jwt
import jwt.algorithms
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat


def key(first, least):
    """A key whose number is `least` or a little more, and whose x begins with the byte `first`."""
    while True:
        made = ec.derive_private_key(least, ec.SECP256R1())
        numbers = made.public_key().public_numbers()
        if numbers.x >> 248 == first and numbers.y >> 248:
            return made
        least += 1


def with_cryptojwt(made):
    writer = cryptojwt.jwk.ec.ECKey()
    writer.load_key(made)
    return writer.serialize()


def with_jose(pem):
    public = jose.jwk.construct(pem.decode(), "ES256").public_key()
    return {name: value.decode() if isinstance(value, bytes) else value for name, value in public.to_dict().items()}


readers = {
    "PyJWT": jwt.algorithms.ECAlgorithm.from_jwk,
    "joserfc": joserfc.jwk.ECKey.import_key,
    "jwcrypto": lambda jwk: jwcrypto.jwk.JWK(**jwk),
    "python-jose": lambda jwk: jose.jwk.construct(jwk, "ES256"),
    "cryptojwt": lambda jwk: cryptojwt.jwk.ec.ECKey(**jwk).public_key(),
}
ordinary = key(0xA5, 1 << 255)
short = key(0, 1 << 255)
for made, x, refuse in ((ordinary, 43, []), (short, 42, ["PyJWT"])):
    pem = made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    by_authlib = authlib.jose.JsonWebKey.import_key(pem, {"kty": "EC"})
    by_joserfc = joserfc.jwk.ECKey.import_key(pem)
    by_jwcrypto = jwcrypto.jwk.JWK.from_pem(pem)
    written = {
        "Authlib": by_authlib.as_dict(is_private=False),
        "PyJWT": json.loads(jwt.algorithms.ECAlgorithm.to_jwk(made.public_key())),
        "joserfc": by_joserfc.as_dict(private=False),
        "jwcrypto": json.loads(by_jwcrypto.export_public()),
        "python-jose": with_jose(pem),
        "cryptojwt": with_cryptojwt(made),
    }
    lengths = {name: len(jwk["x"]) for name, jwk in written.items()}
    print("characters of x:", lengths)
    assert lengths == {name: x if name == "Authlib" else 43 for name in written}, lengths
    assert all(len(jwk["y"]) == 43 for jwk in written.values())
    jwk = {name: written["Authlib"][name] for name in ("kty", "crv", "x", "y")}
    refused = []
    for name, read in readers.items():
        try:
            read(jwk)
        except jwt.InvalidKeyError as error:
            refused.append(name)
            print(f"  {name} refuses what Authlib writes: {error}")
    assert refused == refuse, refused
    thumbprints = by_authlib.thumbprint(), by_joserfc.thumbprint(), by_jwcrypto.thumbprint()
    print(f"  thumbprints of Authlib, joserfc and jwcrypto: {', '.join(thumbprints)}")
    assert thumbprints[1] == thumbprints[2], thumbprints
    assert (thumbprints[0] == thumbprints[1]) == (x == 43), thumbprints
PYTHON
