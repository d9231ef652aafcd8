// SPDX-License-Identifier: Apache-2.0

#include "Reader.hpp"

#include <charconv>
#include <cstring>
#include <string>
#include <utility>

using namespace simdjson;

namespace martlet {

bool is_number(std::string_view text, bool &integer) {
  size_t at = 0;
  auto digits = [&] {
    const size_t start = at;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') at += 1;
    return at - start;
  };
  integer = true;
  if (at < text.size() && text[at] == '-') at += 1;
  const size_t first = at;
  const size_t whole = digits();
  if (whole == 0 || (whole > 1 && text[first] == '0')) return false;
  if (at < text.size() && text[at] == '.') {
    integer = false;
    at += 1;
    if (digits() == 0) return false;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    integer = false;
    at += 1;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) at += 1;
    if (digits() == 0) return false;
  }
  return at == text.size();
}

// Bytes of the UTF-8 sequence at `at`, 0 if it is broken.
static size_t sequence_length(const unsigned char *bytes, size_t at, size_t count) {
  const unsigned char lead = bytes[at];
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xC2 && lead < 0xE0 ? 2 : lead >= 0xE0 && lead < 0xF0 ? 3
                        : lead >= 0xF0 && lead < 0xF5 ? 4 : 0;
  if (length == 0 || at + length > count) return 0;
  for (size_t i = 1; i < length; i += 1) {
    if ((bytes[at + i] & 0xC0) != 0x80) return 0;
  }
  const unsigned char second = bytes[at + 1];
  const bool shortest = !(lead == 0xE0 && second < 0xA0) && !(lead == 0xF0 && second < 0x90);
  const bool scalar = !(lead == 0xED && second >= 0xA0) && !(lead == 0xF4 && second >= 0x90);
  return shortest && scalar ? length : 0;
}

size_t first_pass_offset(const char *text, size_t count) {
  const auto bytes = reinterpret_cast<const unsigned char *>(text);
  bool inside = false;
  size_t start = 0;
  for (size_t at = 0; at < count;) {
    const size_t length = sequence_length(bytes, at, count);
    if (length == 0) return at;
    if (inside && bytes[at] < 0x20) return at;
    if (bytes[at] == '"') {
      inside = !inside;
      start = at;
    } else if (inside && bytes[at] == '\\') {
      at += 1;
      if (at == count) return start;
      continue;
    }
    at += length;
  }
  return inside ? start : count;
}

}  // namespace martlet

padded_string_view martlet_json::take(std::string_view before, const uint8_t *bytes, size_t size,
                                      std::string_view after) {
  count = before.size() + size + after.size();
  refused = nullptr;
  if (capacity < count + SIMDJSON_PADDING) {
    capacity = 2 * count + SIMDJSON_PADDING;
    copy.reset(new char[capacity]());
  }
  char *to = copy.get();
  std::memcpy(to, before.data(), before.size());
  if (size > 0) std::memcpy(to + before.size(), bytes, size);
  std::memcpy(to + before.size() + size, after.data(), after.size());
  // What an earlier, longer input left behind the end must not look like a part of this one.
  std::memset(to + count, 0, SIMDJSON_PADDING);
  return padded_string_view(to, count, capacity);
}

int32_t martlet_json::refuse(martlet_json_error *error, int32_t code, int32_t field,
                             const char *place, const char *words) {
  error->code = code;
  error->field = field;
  error->offset = offset_of(place);
  error->words = words;
  error->name = {nullptr, 0};
  return code;
}

int32_t martlet_json::refuse(martlet_json_error *error, error_code problem, int32_t field,
                             ondemand::document &document, const char *fallback) {
  const char *place = fallback;
  if (refused) {
    place = refused;
  } else if (document.current_location().get(place) != SUCCESS) {
    place = copy.get() + count;
  }
  if (place < fallback) place = fallback;
  return refuse(error, MARTLET_JSON_MALFORMED, field, place, error_message(problem));
}

error_code martlet_json::walk_scalar(ondemand::value &value, bool keep, size_t node) {
  const std::string_view text = martlet::trimmed(value.raw_json_token());
  if (text.empty()) return TAPE_ERROR;
  switch (text.front()) {
    case '"': {
      std::string_view content;
      const error_code error = value.get_string().get(content);
      if (error) return error;
      if (keep) {
        nodes[node].kind = MARTLET_NODE_STRING;
        nodes[node].text = martlet::slice(content);
      }
      return SUCCESS;
    }
    case 't':
      if (keep) nodes[node].kind = MARTLET_NODE_TRUE;
      return text == "true" ? SUCCESS : T_ATOM_ERROR;
    case 'f':
      if (keep) nodes[node].kind = MARTLET_NODE_FALSE;
      return text == "false" ? SUCCESS : F_ATOM_ERROR;
    case 'n':
      if (keep) nodes[node].kind = MARTLET_NODE_NULL;
      return text == "null" ? SUCCESS : N_ATOM_ERROR;
    default: {
      bool integer = false;
      if (!martlet::is_number(text, integer)) return NUMBER_ERROR;
      if (!keep) return SUCCESS;
      martlet_node &number = nodes[node];
      number.kind = MARTLET_NODE_DOUBLE;
      number.text = martlet::slice(text);
      const char *end = text.data() + text.size();
      // A value out of a double's range stays 0 or becomes infinite: its text is there for who cares.
      std::from_chars(text.data(), end, number.number);
      if (integer && std::from_chars(text.data(), end, number.integer).ec == std::errc()) {
        number.kind = MARTLET_NODE_INTEGER;
      }
      return SUCCESS;
    }
  }
}

error_code martlet_json::walk(ondemand::value value, int depth, bool keep, martlet_slice key) {
  if (depth > martlet::maximum_depth) return DEPTH_ERROR;
  const size_t node = nodes.size();
  if (keep) {
    martlet_node fresh = {};
    fresh.key = key;
    fresh.offset = offset_of(value.raw_json_token().data());
    nodes.push_back(fresh);
  }
  ondemand::json_type type;
  error_code error = value.type().get(type);
  if (error) {
    refused = value.raw_json_token().data();
    return error;
  }
  uint32_t members = 0;
  if (type == ondemand::json_type::object) {
    ondemand::object object;
    if ((error = value.get_object().get(object))) return error;
    for (auto result : object) {
      ondemand::field field;
      if ((error = std::move(result).get(field))) return error;
      std::string_view name;
      if ((error = field.unescaped_key().get(name))) return error;
      if ((error = walk(field.value(), depth + 1, keep, martlet::slice(name)))) return error;
      members += 1;
    }
    if (keep) nodes[node].kind = MARTLET_NODE_OBJECT;
  } else if (type == ondemand::json_type::array) {
    ondemand::array array;
    if ((error = value.get_array().get(array))) return error;
    for (auto result : array) {
      ondemand::value element;
      if ((error = std::move(result).get(element))) return error;
      if ((error = walk(element, depth + 1, keep, {nullptr, 0}))) return error;
      members += 1;
    }
    if (keep) nodes[node].kind = MARTLET_NODE_ARRAY;
  } else {
    const char *start = value.raw_json_token().data();
    error = walk_scalar(value, keep, node);
    if (error) refused = start;
    return error;
  }
  if (keep) nodes[node].members = members;
  return SUCCESS;
}
