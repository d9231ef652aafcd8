// SPDX-License-Identifier: Apache-2.0

#include "PayloadNames.hpp"
#include "Reader.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

using namespace simdjson;

namespace {

unsigned number_kind(std::string_view text) {
  double number = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  if (result.ec != std::errc()) {
    return text.front() == '-' ? MARTLET_VALUE_NEGATIVE : MARTLET_VALUE_DECIMAL;
  }
  if (number < 0) return MARTLET_VALUE_NEGATIVE;
  if (number == 0) return MARTLET_VALUE_ZERO;
  if (number == 1) return MARTLET_VALUE_ONE;
  if (number < 1) return MARTLET_VALUE_FRACTION;
  return number == std::floor(number) ? MARTLET_VALUE_COUNT : MARTLET_VALUE_DECIMAL;
}

// What a value is, by its first token. The token itself is checked elsewhere.
unsigned value_kind(std::string_view token) {
  if (token.empty()) return MARTLET_VALUE_NULL;
  switch (token.front()) {
    case '{': return MARTLET_VALUE_OBJECT;
    case '[': return MARTLET_VALUE_ARRAY;
    case '"': return MARTLET_VALUE_TEXT;
    case 't': return MARTLET_VALUE_YES;
    case 'f': return MARTLET_VALUE_NO;
    case 'n': return MARTLET_VALUE_NULL;
    default: return number_kind(martlet::trimmed(token));
  }
}

// Whether this is a number beyond every time in epoch seconds.
bool is_late(std::string_view token) {
  const std::string_view text = martlet::trimmed(token);
  double number = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  if (result.ec == std::errc::result_out_of_range) {
    // Above all doubles. One below all of them has a negative exponent, or begins with 0.
    return text.front() != '0' && text.find('-') == std::string_view::npos;
  }
  return number >= MARTLET_TIME_LIMIT;
}

// Whether this token is a text without a character.
bool is_empty_text(std::string_view token) { return token.size() > 1 && token[1] == '"'; }

bool is_level(std::string_view text) {
  return text == "passive" || text == "active" || text == "time-sensitive" || text == "critical";
}

unsigned event_kind(std::string_view text) {
  return text == "start" ? MARTLET_VALUE_START : text == "update" ? MARTLET_VALUE_UPDATE
         : text == "end" ? MARTLET_VALUE_END : MARTLET_VALUE_TEXT;
}

}  // namespace

// Goes through a payload once: its JSON, and what stands at the keys that rules name.
struct PayloadWalk {
  martlet_json &json;
  ondemand::document &document;
  martlet_payload &facts;
  martlet_json_error *error;
  const char *start;

  int32_t refuse(error_code problem) {
    return json.refuse(error, problem, MARTLET_FIELD_PAYLOAD, document, start);
  }

  // A key that stands twice behind this path.
  int32_t twice(const char *path, std::string_view key, const char *place) {
    json.refuse(error, MARTLET_JSON_DUPLICATE_FIELD, MARTLET_FIELD_PAYLOAD, place, path);
    error->name = martlet::slice(key);
    return error->code;
  }

  void note(int key, unsigned value) {
    facts.values[key >> 4] |= uint64_t(value) << ((key & 15) * 4);
  }

  bool has(int key) const { return (facts.values[key >> 4] >> ((key & 15) * 4) & 15) != 0; }

  // Calls `visit(name, place of the key, value)` for each member.
  template <typename Visit>
  int32_t each_member(ondemand::value value, Visit visit) {
    ondemand::object object;
    if (const error_code problem = value.get_object().get(object)) return refuse(problem);
    for (auto result : object) {
      ondemand::field field;
      error_code problem = std::move(result).get(field);
      if (problem) return refuse(problem);
      const char *place = field.key().raw() - 1;
      std::string_view name;
      if ((problem = field.unescaped_key().get(name))) return refuse(problem);
      if (const int32_t code = visit(name, place, field.value())) return code;
    }
    return MARTLET_JSON_OK;
  }

  int32_t check(ondemand::value value, int depth) {
    const error_code problem = json.walk(value, depth, false, {nullptr, 0});
    return problem ? refuse(problem) : int32_t(MARTLET_JSON_OK);
  }

  int32_t top(ondemand::value value) {
    return each_member(value, [&](std::string_view name, const char *place, ondemand::value member) {
      facts.members += 1;
      const int key = name == "aps" ? MARTLET_KEY_APS : name == "mdm" ? MARTLET_KEY_MDM : -1;
      if (key < 0) {
        if (may_be_beside_aps(name)) look_beside_aps(name, member);
        return check(member, 2);
      }
      if (has(key)) return twice("payload.", name, place);
      const unsigned kind = value_kind(member.raw_json_token());
      note(key, kind);
      if (key != MARTLET_KEY_APS || kind != MARTLET_VALUE_OBJECT) return check(member, 2);
      return aps(member);
    });
  }

  void look_beside_aps(std::string_view name, ondemand::value member) {
    const int found = member_like(name, aps_members, members_beside_aps_end);
    if (found >= 0 && is_given(member)) facts.outside |= bit(found);
  }

  static bool is_given(ondemand::value value) {
    const std::string_view token = value.raw_json_token();
    return !token.empty() && token.front() != 'n';
  }

  int32_t aps(ondemand::value value) {
    json.keys.clear();
    const int32_t code =
        each_member(value, [&](std::string_view name, const char *place, ondemand::value member) {
          const int key = key_named(name);
          if (key < 0) {
            json.keys.push_back(name);
            return unruled(name, member);
          }
          if (has(key)) return twice("payload.aps.", name, place);
          return known(key, member);
        });
    return code ? code : unknown_keys();
  }

  // A member of `aps` that no rule names: perhaps one that devices read, or nearly one.
  int32_t unruled(std::string_view name, ondemand::value member) {
    if (name == "interruption-level") return level(member);
    if (!is_given(member)) return check(member, 3);
    int found = member_like(name, aps_members, alert_members);
    if (found >= 0) {
      if (members[found].name == name) return wanted(found, member, 3);
      facts.misspelled |= bit(found);
    } else if ((found = member_like(name, alert_members, sound_members)) >= 0) {
      facts.misplaced |= bit(found);
    }
    return check(member, 3);
  }

  // A member that no key stands for: notes whether its value is of a kind that it has.
  int32_t wanted(int which, ondemand::value member, int depth) {
    const Wanted want = members[which].wanted;
    if (want == Wanted::texts) return texts(which, member, depth);
    const unsigned kind = value_kind(member.raw_json_token());
    if (want == Wanted::words && kind == MARTLET_VALUE_OBJECT) {
      facts.structured |= bit(which);
    } else if (want != Wanted::any && kind != MARTLET_VALUE_TEXT) {
      facts.mistyped |= bit(which);
    }
    return check(member, depth);
  }

  // A member that must be an array of texts.
  int32_t texts(int which, ondemand::value value, int depth) {
    if (value_kind(value.raw_json_token()) != MARTLET_VALUE_ARRAY) {
      facts.mistyped |= bit(which);
      return check(value, depth);
    }
    ondemand::array array;
    if (const error_code problem = value.get_array().get(array)) return refuse(problem);
    for (auto result : array) {
      ondemand::value element;
      if (const error_code problem = std::move(result).get(element)) return refuse(problem);
      if (value_kind(element.raw_json_token()) != MARTLET_VALUE_TEXT) facts.mistyped |= bit(which);
      if (const int32_t code = check(element, depth + 1)) return code;
    }
    return MARTLET_JSON_OK;
  }

  int32_t read(ondemand::value &member, std::string_view &text) {
    const char *place = member.raw_json_token().data();
    const error_code problem = member.get_string().get(text);
    if (!problem) return MARTLET_JSON_OK;
    json.refused = place;
    return refuse(problem);
  }

  int32_t level(ondemand::value member) {
    const unsigned kind = value_kind(member.raw_json_token());
    facts.odd_level = kind != MARTLET_VALUE_NULL;
    if (kind != MARTLET_VALUE_TEXT) return check(member, 3);
    std::string_view text;
    if (const int32_t code = read(member, text)) return code;
    facts.odd_level = !is_level(text);
    facts.critical_level = text == "critical";
    return MARTLET_JSON_OK;
  }

  int32_t known(int key, ondemand::value member) {
    const unsigned kind = value_kind(member.raw_json_token());
    const bool is_object = kind == MARTLET_VALUE_OBJECT;
    if (key == MARTLET_KEY_EVENT && kind == MARTLET_VALUE_TEXT) {
      std::string_view text;
      if (const int32_t code = read(member, text)) return code;
      note(key, event_kind(text));
      return MARTLET_JSON_OK;
    }
    note(key, kind);
    const bool is_count = kind == MARTLET_VALUE_COUNT || kind == MARTLET_VALUE_DECIMAL;
    if (is_count && is_late(member.raw_json_token())) facts.late |= 1u << key;
    if (key == MARTLET_KEY_ALERT && is_object) return alert(member);
    if (key == MARTLET_KEY_ALERT && kind == MARTLET_VALUE_TEXT) {
      facts.alert_text = !is_empty_text(member.raw_json_token());
    }
    if (key == MARTLET_KEY_SOUND && is_object) return sound(member);
    if (key == MARTLET_KEY_ATTRIBUTES && is_object) return attributes(member);
    return check(member, 3);
  }

  int32_t alert(ondemand::value value) {
    return each_member(value, [&](std::string_view name, const char *, ondemand::value member) {
      if (!is_given(member)) return check(member, 4);
      int found = common_alert_member(name);
      if (found < 0) found = member_like(name, alert_members, sound_members);
      if (found < 0) {
        found = member_like(name, aps_members, alert_members);
        if (found >= 0) facts.misplaced |= bit(found);
        return check(member, 4);
      }
      if (members[found].name != name) {
        facts.misspelled |= bit(found);
        return check(member, 4);
      }
      facts.given |= bit(found);
      const std::string_view token = member.raw_json_token();
      const bool is_text = token.front() == '{' || (token.front() == '"' && !is_empty_text(token));
      if (is_text && (alert_texts & bit(found)) != 0) facts.alert_text = 1;
      return wanted(found, member, 4);
    });
  }

  int32_t sound(ondemand::value value) {
    return each_member(value, [&](std::string_view name, const char *place, ondemand::value member) {
      const int key = sound_key_named(name);
      if (key >= 0) {
        if (has(key)) return twice("payload.aps.sound.", name, place);
        note(key, value_kind(member.raw_json_token()));
      } else if (const int found = member_like(name, sound_members, members_end);
                 found >= 0 && is_given(member)) {
        facts.misspelled |= bit(found);
      }
      return check(member, 4);
    });
  }

  int32_t attributes(ondemand::value value) {
    return each_member(value, [&](std::string_view name, const char *place, ondemand::value member) {
      if (name != "id") return check(member, 4);
      if (has(MARTLET_KEY_ATTRIBUTES_ID)) return twice("payload.aps.attributes.", name, place);
      const unsigned kind = value_kind(member.raw_json_token());
      if (kind != MARTLET_VALUE_TEXT) {
        note(MARTLET_KEY_ATTRIBUTES_ID, kind);
        return check(member, 4);
      }
      std::string_view text;
      if (const int32_t code = read(member, text)) return code;
      note(MARTLET_KEY_ATTRIBUTES_ID, text.empty() ? MARTLET_VALUE_NULL : MARTLET_VALUE_TEXT);
      return int32_t(MARTLET_JSON_OK);
    });
  }

  // A key of `aps` that no rule names must not stand twice either: what that means is not defined.
  int32_t unknown_keys() {
    auto &keys = json.keys;
    if (keys.size() < 2) return MARTLET_JSON_OK;
    std::sort(keys.begin(), keys.end());
    const auto found = std::adjacent_find(keys.begin(), keys.end());
    return found == keys.end() ? int32_t(MARTLET_JSON_OK) : twice("payload.aps.", *found, start);
  }
};

int32_t martlet_json::walk_payload(ondemand::document &document, ondemand::value value,
                                   martlet_payload &facts, martlet_json_error *error) {
  facts = {};
  return PayloadWalk{*this, document, facts, error, value.raw_json_token().data()}.top(value);
}
