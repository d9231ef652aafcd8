// SPDX-License-Identifier: Apache-2.0

#ifndef MARTLET_READER_HPP
#define MARTLET_READER_HPP

#include "CSimdjson.h"

#include <simdjson.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace martlet {

namespace ondemand = simdjson::ondemand;

// Containers inside one another, at most: bounds the recursion.
constexpr int maximum_depth = 128;

inline martlet_slice slice(std::string_view text) {
  return {reinterpret_cast<const uint8_t *>(text.data()), text.size()};
}

// The text without JSON's white space at its end.
inline std::string_view trimmed(std::string_view text) {
  while (!text.empty()) {
    const char last = text.back();
    if (last != ' ' && last != '\n' && last != '\t' && last != '\r') break;
    text.remove_suffix(1);
  }
  return text;
}

// Whether the text is a number by RFC 8259 §6; `integer` says whether it has neither fraction nor exponent.
bool is_number(std::string_view text, bool &integer);

// Where input that simdjson's first pass refused goes wrong: broken UTF-8, a control character in a
// string, a string without end.
size_t first_pass_offset(const char *bytes, size_t count);

}  // namespace martlet

// The padded copy of the input, the parser, and what it hands out.
struct martlet_json {
  simdjson::ondemand::parser parser;
  std::unique_ptr<char[]> copy;
  size_t capacity = 0;
  size_t count = 0;
  // The scalar that `walk` refused, if that is what went wrong.
  const char *refused = nullptr;
  // Names of a request's fields whose text is only carried.
  std::vector<std::string> carried;
  std::vector<martlet_token> tokens;
  std::vector<martlet_member> headers;
  std::vector<martlet_member> data;
  std::vector<martlet_slice> users;
  std::vector<martlet_node> nodes;
  // Keys of an `aps` that no rule names: only to see whether one stands twice.
  std::vector<std::string_view> keys;

  // Takes a copy of the input between two further pieces of text.
  simdjson::padded_string_view take(std::string_view before, const uint8_t *bytes, size_t size,
                                    std::string_view after);

  size_t offset_of(const char *place) const {
    return place >= copy.get() && place <= copy.get() + count ? size_t(place - copy.get()) : count;
  }

  int32_t refuse(martlet_json_error *error, int32_t code, int32_t field, const char *place,
                 const char *words);

  // The parser's own error, at the token it stopped at.
  int32_t refuse(martlet_json_error *error, simdjson::error_code problem, int32_t field,
                 simdjson::ondemand::document &document, const char *fallback);

  // Checks a value to its depth; appends its nodes if `keep`. The value's key, if it has one, is given.
  simdjson::error_code walk(simdjson::ondemand::value value, int depth, bool keep, martlet_slice key);

  // Checks a payload's JSON like `walk` and notes what rules ask about. Returns 0, or the error's code.
  int32_t walk_payload(simdjson::ondemand::document &document, simdjson::ondemand::value value,
                       martlet_payload &facts, martlet_json_error *error);

 private:
  friend struct PayloadWalk;
  simdjson::error_code walk_scalar(simdjson::ondemand::value &value, bool keep, size_t node);
};

#endif
