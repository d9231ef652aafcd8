# SPDX-License-Identifier: Apache-2.0
"""Prints each YAML document of the files as a line of JSON: {"path": …, "document": …}."""
import json
import sys

import yaml


class StrictLoader(yaml.SafeLoader):
    """Refuses a key that stands twice in a mapping, which YAML forbids and PyYAML takes."""

    def construct_mapping(self, node, deep=False):
        # Before merges (<<) are resolved: what they bring may be overridden.
        seen = set()
        for key, _ in node.value:
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"{key.value} stands twice", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        for document in yaml.load_all(file, StrictLoader):
            print(json.dumps({"path": path, "document": document}))
