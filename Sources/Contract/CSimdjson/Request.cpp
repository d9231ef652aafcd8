// SPDX-License-Identifier: Apache-2.0

#include "Reader.hpp"

#include <cmath>
#include <utility>

using namespace simdjson;

namespace {

// The field with this key, of those that are known here, or -1.
int32_t field_named(std::string_view key) {
  switch (key.size()) {
    case 2: return key == "id" ? MARTLET_FIELD_ID : -1;
    case 3: return key == "app" ? MARTLET_FIELD_APP : -1;
    case 4:
      return key == "type" ? MARTLET_FIELD_TYPE : key == "lane" ? MARTLET_FIELD_LANE
             : key == "data" ? MARTLET_FIELD_DATA : key == "user" ? MARTLET_FIELD_USER : -1;
    case 5:
      return key == "token" ? MARTLET_FIELD_TOKEN : key == "topic" ? MARTLET_FIELD_TOPIC
             : key == "users" ? MARTLET_FIELD_USERS : key == "event" ? MARTLET_FIELD_EVENT : -1;
    case 6: return key == "tokens" ? MARTLET_FIELD_TOKENS : -1;
    case 7:
      return key == "payload" ? MARTLET_FIELD_PAYLOAD
             : key == "apns_id" ? MARTLET_FIELD_APNS_ID
             : key == "channel" ? MARTLET_FIELD_CHANNEL
             : key == "headers" ? MARTLET_FIELD_HEADERS
             : key == "send_at" ? MARTLET_FIELD_SEND_AT
                                : -1;
    case 8:
      return key == "priority" ? MARTLET_FIELD_PRIORITY
             : key == "activity" ? MARTLET_FIELD_ACTIVITY : -1;
    case 10:
      return key == "expiration"   ? MARTLET_FIELD_EXPIRATION
             : key == "expires_in" ? MARTLET_FIELD_EXPIRES_IN
                                   : -1;
    case 11: return key == "environment" ? MARTLET_FIELD_ENVIRONMENT : -1;
    default: return -1;
  }
}

// A request names one kind of target.
constexpr uint32_t target_fields =
    1u << MARTLET_FIELD_TOKEN | 1u << MARTLET_FIELD_TOKENS | 1u << MARTLET_FIELD_CHANNEL;

// Reads one request, field by field.
struct RequestReader {
  martlet_json &json;
  ondemand::document &document;
  martlet_request &request;
  martlet_json_error *error;
  uint32_t maximum_tokens;
  uint32_t maximum_members;

  // The field with this key, or -1.
  int32_t field_of(std::string_view key) {
    if (const int32_t field = field_named(key); field >= 0) return field;
    for (size_t i = 0; i < json.carried.size(); i += 1) {
      if (key == json.carried[i]) return MARTLET_FIELD_COUNT + int32_t(i);
    }
    return -1;
  }

  int32_t wrong_type(int32_t field, ondemand::value &value, const char *wanted) {
    const char *place = value.raw_json_token().data();
    return json.refuse(error, MARTLET_JSON_WRONG_TYPE, field, place, wanted);
  }

  bool starts_with(ondemand::value &value, char first) {
    const std::string_view token = value.raw_json_token();
    return !token.empty() && token.front() == first;
  }

  // Goes over a value that is null; anything else that begins like it is an error.
  error_code read_null(ondemand::value &value, bool &is_null) {
    if (!starts_with(value, 'n')) return SUCCESS;
    if (martlet::trimmed(value.raw_json_token()) != "null") return N_ATOM_ERROR;
    return value.is_null().get(is_null);
  }

  int32_t read(int32_t field, ondemand::value value) {
    switch (field) {
      case MARTLET_FIELD_PAYLOAD: return read_payload(value);
      case MARTLET_FIELD_TOKENS: return read_tokens(value);
      case MARTLET_FIELD_PRIORITY: return read_integer(field, value, request.priority);
      case MARTLET_FIELD_EXPIRATION: return read_integer(field, value, request.expiration);
      case MARTLET_FIELD_EXPIRES_IN: return read_integer(field, value, request.expires_in);
      case MARTLET_FIELD_SEND_AT: return read_time(field, value, request.send_at);
      case MARTLET_FIELD_HEADERS: return read_strings(field, value, json.headers);
      case MARTLET_FIELD_DATA: return read_strings(field, value, json.data);
      case MARTLET_FIELD_USERS: return read_users(value);
      default: return read_text(field, value);
    }
  }

  int32_t read_text(int32_t field, ondemand::value &value) {
    if (!starts_with(value, '"')) return wrong_type(field, value, "a string");
    const std::string_view raw = martlet::trimmed(value.raw_json_token());
    std::string_view text;
    const error_code problem = value.get_string().get(text);
    if (problem) {
      json.refused = raw.data();
      return json.refuse(error, problem, field, document, raw.data());
    }
    request.text[field] = martlet::slice(text);
    if (field == MARTLET_FIELD_ID) request.raw_id = martlet::slice(raw.substr(1, raw.size() - 2));
    if (field == MARTLET_FIELD_TOKEN) {
      json.tokens.push_back({request.text[field].bytes, uint32_t(text.size()), 1});
    }
    return MARTLET_JSON_OK;
  }

  // The content of a string as it stands in the input, from the byte behind its opening quote on.
  static std::string_view raw_content(const char *start) {
    const char *end = start;
    while (*end != '"') end += *end == '\\' ? 2 : 1;
    return std::string_view(start, size_t(end - start));
  }

  // Reads an object whose members are strings.
  int32_t read_strings(int32_t field, ondemand::value &value, std::vector<martlet_member> &members) {
    if (!starts_with(value, '{')) return wrong_type(field, value, "an object");
    const char *start = value.raw_json_token().data();
    ondemand::object object;
    error_code problem = value.get_object().get(object);
    if (problem) return json.refuse(error, problem, field, document, start);
    for (auto result : object) {
      ondemand::field member;
      if ((problem = std::move(result).get(member))) {
        return json.refuse(error, problem, field, document, start);
      }
      const char *key_start = member.key().raw();
      std::string_view name;
      if ((problem = member.unescaped_key().get(name))) {
        return json.refuse(error, problem, field, document, key_start - 1);
      }
      if (members.size() == maximum_members) {
        return json.refuse(error, MARTLET_JSON_TOO_MANY, field, key_start - 1, "");
      }
      ondemand::value content = member.value();
      const char *content_start = content.raw_json_token().data();
      if (!starts_with(content, '"')) {
        wrong_type(field, content, "a string");
        error->name = martlet::slice(name);
        return error->code;
      }
      std::string_view text;
      if ((problem = content.get_string().get(text))) {
        json.refused = content_start;
        return json.refuse(error, problem, field, document, content_start);
      }
      members.push_back({martlet::slice(name), martlet::slice(text),
                         martlet::slice(raw_content(key_start)),
                         martlet::slice(raw_content(content_start + 1))});
    }
    return MARTLET_JSON_OK;
  }

  // A whole number, also one that is written with a fraction of zeros or an exponent: to JSON Schema, too, 1.0 is an
  // integer.
  static bool read_whole(ondemand::value &value, int64_t &number) {
    if (value.get_int64().get(number) == SUCCESS) return true;
    double real = 0;
    if (value.get_double().get(real) != SUCCESS) return false;
    if (std::abs(real) > 9007199254740992.0 || real != std::floor(real)) return false;
    number = int64_t(real);
    return true;
  }

  int32_t read_integer(int32_t field, ondemand::value &value, int64_t &number) {
    const char *place = value.raw_json_token().data();
    if (read_whole(value, number)) return MARTLET_JSON_OK;
    return json.refuse(error, MARTLET_JSON_WRONG_TYPE, field, place, "an integer");
  }

  // A time as epoch seconds, or as a text, which is left to the caller.
  int32_t read_time(int32_t field, ondemand::value &value, int64_t &number) {
    if (starts_with(value, '"')) return read_text(field, value);
    request.text[field] = {nullptr, 0};
    const char *place = value.raw_json_token().data();
    if (read_whole(value, number)) return MARTLET_JSON_OK;
    return json.refuse(error, MARTLET_JSON_WRONG_TYPE, field, place, "an integer or a string");
  }

  int32_t read_payload(ondemand::value &value) {
    if (!starts_with(value, '{')) return wrong_type(MARTLET_FIELD_PAYLOAD, value, "an object");
    const std::string_view first = value.raw_json_token();
    if (const int32_t code = json.walk_payload(document, value, request.facts, error)) return code;
    return take_raw(MARTLET_FIELD_PAYLOAD, first, request.payload);
  }

  // Checks a value to its depth and gives its bytes as they stand in the input.
  int32_t read_raw(int32_t field, ondemand::value &value, martlet_slice &raw) {
    const std::string_view first = value.raw_json_token();
    const error_code problem = json.walk(value, 1, false, {nullptr, 0});
    if (problem) return json.refuse(error, problem, field, document, first.data());
    return take_raw(field, first, raw);
  }

  // The bytes from a value's first token to the token that follows the value.
  int32_t take_raw(int32_t field, std::string_view first, martlet_slice &raw) {
    const char *start = first.data();
    const char *next = nullptr;
    const error_code ended = document.current_location().get(next);
    if (ended) return json.refuse(error, ended, field, document, start);
    // A scalar that was only looked at is still the current token.
    if (next == start) next += first.size();
    raw = martlet::slice(martlet::trimmed(std::string_view(start, size_t(next - start))));
    return MARTLET_JSON_OK;
  }

  int32_t read_tokens(ondemand::value &value) {
    if (!starts_with(value, '[')) return wrong_type(MARTLET_FIELD_TOKENS, value, "an array");
    const char *start = value.raw_json_token().data();
    ondemand::array array;
    error_code problem = value.get_array().get(array);
    if (problem) return json.refuse(error, problem, MARTLET_FIELD_TOKENS, document, start);
    for (auto result : array) {
      ondemand::value element;
      if ((problem = std::move(result).get(element))) {
        return json.refuse(error, problem, MARTLET_FIELD_TOKENS, document, start);
      }
      if (json.tokens.size() == maximum_tokens) {
        const char *place = element.raw_json_token().data();
        return json.refuse(error, MARTLET_JSON_TOO_MANY, MARTLET_FIELD_TOKENS, place, "");
      }
      if (const int32_t code = read_token(element)) return code;
    }
    return MARTLET_JSON_OK;
  }

  int32_t read_users(ondemand::value &value) {
    const auto refuse = [&](ondemand::value &refused) {
      return wrong_type(MARTLET_FIELD_USERS, refused, "an array of strings");
    };
    if (!starts_with(value, '[')) return refuse(value);
    const char *start = value.raw_json_token().data();
    json.users.clear();
    ondemand::array array;
    error_code problem = value.get_array().get(array);
    if (problem) return json.refuse(error, problem, MARTLET_FIELD_USERS, document, start);
    for (auto result : array) {
      ondemand::value element;
      if ((problem = std::move(result).get(element))) {
        return json.refuse(error, problem, MARTLET_FIELD_USERS, document, start);
      }
      if (!starts_with(element, '"')) return refuse(element);
      const char *place = element.raw_json_token().data();
      std::string_view text;
      if ((problem = element.get_string().get(text))) {
        json.refused = place;
        return json.refuse(error, problem, MARTLET_FIELD_USERS, document, place);
      }
      json.users.push_back(martlet::slice(text));
    }
    request.users = {json.users.data(), json.users.size()};
    return MARTLET_JSON_OK;
  }

  int32_t read_token(ondemand::value &element) {
    if (!starts_with(element, '"')) {
      martlet_slice raw = {nullptr, 0};
      if (const int32_t code = read_raw(MARTLET_FIELD_TOKENS, element, raw)) return code;
      json.tokens.push_back({raw.bytes, uint32_t(raw.count), 0});
      return MARTLET_JSON_OK;
    }
    const char *start = element.raw_json_token().data();
    std::string_view text;
    const error_code problem = element.get_string().get(text);
    if (problem) {
      json.refused = start;
      return json.refuse(error, problem, MARTLET_FIELD_TOKENS, document, start);
    }
    json.tokens.push_back({martlet::slice(text).bytes, uint32_t(text.size()), 1});
    return MARTLET_JSON_OK;
  }

  // Reads the id and the app of a request that is refused: its receipt and its verdict name them, also where they stand
  // behind what is wrong. Returns the code.
  template <typename Iterator>
  [[gnu::noinline, gnu::cold]] int32_t refuse(int32_t code, Iterator place, const Iterator &end) {
    ++place;
    for (; place != end; ++place) {
      ondemand::field member;
      std::string_view key, text;
      if ((*place).get(member) || member.unescaped_key().get(key)) break;
      const int32_t field = field_named(key);
      const bool is_wanted = field == MARTLET_FIELD_ID    ? request.raw_id.bytes == nullptr
                             : field == MARTLET_FIELD_APP ? (request.present & 1u << field) == 0
                                                          : false;
      ondemand::value value = member.value();
      if (!is_wanted || !starts_with(value, '"')) continue;
      const std::string_view raw = martlet::trimmed(value.raw_json_token());
      if (value.get_string().get(text)) break;
      request.text[field] = martlet::slice(text);
      request.present |= 1u << field;
      if (field == MARTLET_FIELD_ID) request.raw_id = martlet::slice(raw.substr(1, raw.size() - 2));
    }
    return code;
  }

  int32_t read_members(ondemand::object &object) {
    const char *last = json.copy.get();
    int32_t field = -1;
    auto place = object.begin();
    const auto end = object.end();
    for (; place != end; ++place) {
      ondemand::field member;
      error_code problem = (*place).get(member);
      // The comma or brace that is missing is missed after the field that came last.
      if (problem) return json.refuse(error, problem, field, document, last);
      const char *key_start = member.key().raw() - 1;
      last = key_start;
      std::string_view key;
      if ((problem = member.unescaped_key().get(key))) {
        return json.refuse(error, problem, -1, document, key_start);
      }
      field = field_of(key);
      if (field < 0) {
        json.refuse(error, MARTLET_JSON_UNKNOWN_FIELD, -1, key_start, "");
        error->name = martlet::slice(key);
        return refuse(error->code, place, end);
      }
      ondemand::value value = member.value();
      bool is_null = false;
      // A field that is null is a field that was left out.
      if ((problem = read_null(value, is_null))) {
        json.refused = value.raw_json_token().data();
        return json.refuse(error, problem, field, document, key_start);
      }
      if (is_null) continue;
      if (request.present & 1u << field) {
        json.refuse(error, MARTLET_JSON_DUPLICATE_FIELD, field, key_start, "");
        return refuse(error->code, place, end);
      }
      const uint32_t targets = (request.present | 1u << field) & target_fields;
      if ((targets & (targets - 1)) != 0) {
        const bool has_channel = (targets & 1u << MARTLET_FIELD_CHANNEL) != 0;
        const int32_t target = has_channel ? MARTLET_FIELD_CHANNEL : MARTLET_FIELD_TOKENS;
        json.refuse(error, MARTLET_JSON_DUPLICATE_FIELD, target, key_start, "both");
        return refuse(error->code, place, end);
      }
      if (const int32_t code = read(field, value)) {
        // Where a record is not JSON, nothing behind that is looked at.
        const bool goes_on = code != MARTLET_JSON_MALFORMED && field != MARTLET_FIELD_ID;
        return goes_on ? refuse(code, place, end) : code;
      }
      // Only now may its text be looked at: one that was refused has none.
      request.present |= 1u << field;
    }
    return MARTLET_JSON_OK;
  }
};

}  // namespace

extern "C" int32_t martlet_json_read_request(martlet_json *json, const uint8_t *bytes,
                                             size_t count, uint32_t maximum_tokens,
                                             uint32_t maximum_members, martlet_request *request,
                                             martlet_json_error *error) {
  json->tokens.clear();
  json->headers.clear();
  json->data.clear();
  request->present = 0;
  request->raw_id = {nullptr, 0};
  request->payload = {nullptr, 0};
  if (count == 0) return json->refuse(error, MARTLET_JSON_EMPTY, -1, json->copy.get(), "empty");
  const padded_string_view input = json->take("", bytes, count, "");
  // RFC 8259 §8.1 forbids one. simdjson 3.12 skips it, 3.0 refuses it.
  if (std::string_view(input).substr(0, 3) == "\xEF\xBB\xBF") {
    return json->refuse(error, MARTLET_JSON_MALFORMED, -1, json->copy.get(), "a byte order mark");
  }
  ondemand::document document;
  error_code problem = json->parser.iterate(input).get(document);
  if (problem) {
    const int32_t code = problem == EMPTY ? MARTLET_JSON_EMPTY : MARTLET_JSON_MALFORMED;
    const char *place = json->copy.get() + martlet::first_pass_offset(input.data(), json->count);
    return json->refuse(error, code, -1, place, error_message(problem));
  }
  ondemand::object object;
  if ((problem = document.get_object().get(object))) {
    const bool is_value = document.type().error() == SUCCESS;
    const int32_t code =
        problem == INCORRECT_TYPE && is_value ? MARTLET_JSON_NOT_AN_OBJECT : MARTLET_JSON_MALFORMED;
    const size_t place = problem == INCOMPLETE_ARRAY_OR_OBJECT ? json->count : 0;
    return json->refuse(error, code, -1, json->copy.get() + place, error_message(problem));
  }
  RequestReader reader{*json, document, *request, error, maximum_tokens, maximum_members};
  if (const int32_t code = reader.read_members(object)) return code;
  const char *rest = nullptr;
  if (document.current_location().get(rest) == SUCCESS) {
    return json->refuse(error, MARTLET_JSON_MALFORMED, -1, rest, "more after the object");
  }
  request->tokens = json->tokens.data();
  request->token_count = uint32_t(json->tokens.size());
  request->headers = {json->headers.data(), json->headers.size()};
  request->data = {json->data.data(), json->data.size()};
  return MARTLET_JSON_OK;
}
