#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A JWT whose `iat` or `nbf` is now, with a fraction of a second (1795000000.4, which RFC 7519 allows), is valid for
# PyJWT 2.15.1, python-jose 3.5.0 and jwcrypto 1.6.1. joserfc 1.8.0 and Authlib 1.9.10 refuse it, as issued in the future or
# not yet valid, until the next full second: they compare it with the time cut to seconds. Then they take the same token.
#
# Guessed before it was run: a token that was issued a moment ago is valid for every library, with its defaults.
#
# Whoever signs with time.time() and is checked by one of these fails at once, more often the faster the network is, and
# passes when the request is made again.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: pyjwt==2.15.1 python-jose==3.5.0 \
  jwcrypto==1.6.1 joserfc==1.8.0 authlib==1.9.10
"$folder/python/bin/python" - <<'PYTHON'
import time
import warnings

import jose.jwt
import joserfc.jwk
import joserfc.jwt
import jwcrypto.jwk
import jwcrypto.jwt
import jwt

with warnings.catch_warnings(record=True):  # it is deprecated, for joserfc
    import authlib.jose

key = "0123456789abcdef0123456789abcdef"
checks = {
    "PyJWT": lambda token: jwt.decode(token, key, ["HS256"]),
    "python-jose": lambda token: jose.jwt.decode(token, key, ["HS256"]),
    "jwcrypto": lambda token: jwcrypto.jwt.JWT(jwt=token, key=jwcrypto.jwk.JWK.from_password(key), algs=["HS256"]).claims,
    "joserfc": lambda token: joserfc.jwt.JWTClaimsRegistry().validate(
        joserfc.jwt.decode(token, joserfc.jwk.OctKey.import_key(key), algorithms=["HS256"]).claims
    ),
    "Authlib": lambda token: authlib.jose.jwt.decode(token, key).validate(),
}


def check(token):
    seen = {}
    for library, function in checks.items():
        try:
            function(token)
            seen[library] = "valid"
        except Exception as error:
            seen[library] = f"{type(error).__name__}: {error}"
    return seen


for claim in ("iat", "nbf"):
    while not 0.2 < time.time() % 1 < 0.3:
        time.sleep(0.01)
    issued = time.time()
    token = jwt.encode({claim: issued, "exp": int(issued) + 60}, key, "HS256")
    at_once = check(token)
    assert time.time() < int(issued) + 1, "too slow to tell"
    time.sleep(1)
    later = check(token)
    print(f"{claim} {issued}")
    for library in checks:
        print(f"  {library}: {at_once[library]}; a second later: {later[library]}")
        assert later[library] == "valid", later
        assert (at_once[library] == "valid") == (library not in ("joserfc", "Authlib")), at_once
PYTHON
