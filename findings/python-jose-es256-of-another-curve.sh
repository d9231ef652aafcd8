#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A key for provider tokens was made with the wrong curve, as `openssl ecparam -name secp384r1` or `secp256k1` does.
# ES256 is ECDSA with P-256 alone (RFC 7518, 3.4). python-jose 3.5.0 signs with it as "ES256", in 128 or 86 characters,
# and takes its own token as good: a test of both sides passes. PyJWT 2.15.1, joserfc 1.8.0, Authlib 1.9.10, jwcrypto
# 1.6.1 and cryptojwt 1.11.0 refuse to sign with it, and PyJWT refuses to read that token.
#
# With a key of P-256 the signature has 86 characters, too, as it has with secp256k1: by its look the token is right.
#
# Guessed before it was run: a library that has ES256, ES384 and ES512 refuses a key of another curve.
#
# Whoever makes the key of a test, or of a gateway of their own, with the wrong name has tokens that all others refuse,
# with an error about the signature.
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
import warnings

import cryptojwt.jwk.ec
import cryptojwt.jws.jws
import joserfc.errors
import joserfc.jwk
import joserfc.jwt
import jose.jwt
import jwcrypto.jwk
import jwcrypto.jwt
import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

warnings.simplefilter("ignore")
with warnings.catch_warnings():
    import authlib.jose

claims = {"iss": "TEAM123456", "iat": 1795000000}


def by_jwcrypto(key, pem):
    token = jwcrypto.jwt.JWT({"alg": "ES256"}, claims)
    token.make_signed_token(jwcrypto.jwk.JWK.from_pem(pem.encode()))
    return token.serialize()


signers = {
    "python-jose": lambda key, pem: jose.jwt.encode(claims, pem, "ES256"),
    "PyJWT": lambda key, pem: jwt.encode(claims, pem, "ES256"),
    "joserfc": lambda key, pem: joserfc.jwt.encode({"alg": "ES256"}, claims, joserfc.jwk.ECKey.import_key(pem)),
    "Authlib": lambda key, pem: authlib.jose.jwt.encode({"alg": "ES256"}, claims, pem).decode(),
    "jwcrypto": by_jwcrypto,
    "cryptojwt": lambda key, pem: cryptojwt.jws.jws.JWS(json.dumps(claims), alg="ES256").sign_compact(
        [cryptojwt.jwk.ec.ECKey().load_key(key)]
    ),
}
refusals = (ValueError, jwt.InvalidKeyError, jwcrypto.jwk.InvalidJWKValue, joserfc.errors.InvalidKeyCurveError)
for curve, length in ((ec.SECP256R1(), 86), (ec.SECP384R1(), 128), (ec.SECP256K1(), 86)):
    key = ec.generate_private_key(curve)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    signed = {}
    for name, sign in signers.items():
        try:
            signed[name] = sign(key, pem)
        except refusals:
            pass
    print(f"{curve.name}: signed by {', '.join(signed)}")
    right = curve.name == "secp256r1"
    assert list(signed) == (list(signers) if right else ["python-jose"]), signed
    token = signed["python-jose"]
    assert len(token.split(".")[2]) == length, token
    assert jose.jwt.decode(token, public, "ES256") == claims
    try:
        assert jwt.decode(token, public, ["ES256"], options={"verify_iat": False}) == claims and right
    except jwt.InvalidKeyError as error:
        print(f"  PyJWT: {error}")
        assert not right
PYTHON
