# SPDX-License-Identifier: Apache-2.0
"""Says of each line of --records whether it is valid against --schema: prints {"valid": "0110..."}.

Fails if the schema itself is not one of JSON Schema 2020-12.
"""

import argparse
import json

import jsonschema_rs

PARSER = argparse.ArgumentParser()
PARSER.add_argument("--schema", required=True)
PARSER.add_argument("--records", required=True)
ARGUMENTS = PARSER.parse_args()

with open(ARGUMENTS.schema, encoding="utf-8") as file:
    SCHEMA = json.load(file)
if SCHEMA["$schema"] != "https://json-schema.org/draft/2020-12/schema":
    raise SystemExit("not a schema of 2020-12")
jsonschema_rs.meta.validate(SCHEMA)
VALIDATOR = jsonschema_rs.Draft202012Validator(SCHEMA)
with open(ARGUMENTS.records, encoding="utf-8") as file:
    VERDICTS = ["1" if VALIDATOR.is_valid(json.loads(line)) else "0" for line in file]
print(json.dumps({"valid": "".join(VERDICTS)}))
