// SPDX-License-Identifier: Apache-2.0

#include "CSimdjson.h"

#include "Reader.hpp"

#include <algorithm>
#include <string>
#include <utility>

using namespace simdjson;

extern "C" martlet_json *martlet_json_create(const char *carried) {
  auto *json = new martlet_json;
  std::string_view names = carried;
  while (!names.empty() && json->carried.size() < MARTLET_CARRIED_TEXTS) {
    const size_t end = std::min(names.find(','), names.size());
    json->carried.emplace_back(names.substr(0, end));
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return json;
}

extern "C" void martlet_json_destroy(martlet_json *parser) { delete parser; }

extern "C" const char *martlet_json_library_version(void) {
  static const std::string version = std::to_string(SIMDJSON_VERSION_MAJOR) + "." +
                                     std::to_string(SIMDJSON_VERSION_MINOR) + "." +
                                     std::to_string(SIMDJSON_VERSION_REVISION);
  return version.c_str();
}

extern "C" int32_t martlet_json_read_document(martlet_json *json, const uint8_t *bytes,
                                              size_t count, const martlet_node **nodes,
                                              size_t *node_count, martlet_json_error *error) {
  json->nodes.clear();
  if (count == 0) return json->refuse(error, MARTLET_JSON_EMPTY, -1, json->copy.get(), "empty");
  // Inside an array any value may stand, also a scalar. The input cannot break out: what follows the
  // array's end is refused below.
  const padded_string_view input = json->take("[", bytes, count, "]");
  // Offsets are told without the bracket.
  auto fail = [&](int32_t code) {
    error->offset = error->offset > 0 ? std::min(error->offset - 1, count) : 0;
    return code;
  };
  ondemand::document document;
  error_code problem = json->parser.iterate(input).get(document);
  if (problem) {
    const char *place = json->copy.get() + martlet::first_pass_offset(input.data(), json->count);
    return fail(json->refuse(error, MARTLET_JSON_MALFORMED, -1, place, error_message(problem)));
  }
  ondemand::array array;
  problem = document.get_array().get(array);
  size_t values = 0;
  const char *start = input.data();
  if (!problem) {
    for (auto result : array) {
      ondemand::value value;
      if ((problem = std::move(result).get(value))) break;
      if (values > 0) {
        const char *place = value.raw_json_token().data();
        return fail(json->refuse(error, MARTLET_JSON_MALFORMED, -1, place, "a second value"));
      }
      start = value.raw_json_token().data();
      values += 1;
      if ((problem = json->walk(value, 0, true, {nullptr, 0}))) break;
    }
  }
  if (problem) return fail(json->refuse(error, problem, -1, document, start));
  const char *rest = nullptr;
  if (document.current_location().get(rest) == SUCCESS) {
    return fail(json->refuse(error, MARTLET_JSON_MALFORMED, -1, rest, "more after the value"));
  }
  if (values == 0) return fail(json->refuse(error, MARTLET_JSON_EMPTY, -1, start, "empty"));
  *nodes = json->nodes.data();
  *node_count = json->nodes.size();
  return MARTLET_JSON_OK;
}
