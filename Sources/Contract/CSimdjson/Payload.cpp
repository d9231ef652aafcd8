// SPDX-License-Identifier: Apache-2.0

#include "Reader.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

using namespace simdjson;

namespace {

// The key of `aps` with this name, or -1.
int key_named(std::string_view name) {
  switch (name.size()) {
    case 5:
      return name == "alert" ? MARTLET_KEY_ALERT : name == "badge" ? MARTLET_KEY_BADGE
             : name == "sound" ? MARTLET_KEY_SOUND : name == "event" ? MARTLET_KEY_EVENT : -1;
    case 8: return name == "category" ? MARTLET_KEY_CATEGORY : -1;
    case 9: return name == "timestamp" ? MARTLET_KEY_TIMESTAMP : -1;
    case 10:
      return name == "attributes" ? MARTLET_KEY_ATTRIBUTES
             : name == "stale-date" ? MARTLET_KEY_STALE_DATE : -1;
    case 13: return name == "content-state" ? MARTLET_KEY_CONTENT_STATE : -1;
    case 14: return name == "dismissal-date" ? MARTLET_KEY_DISMISSAL_DATE : -1;
    case 15:
      return name == "mutable-content" ? MARTLET_KEY_MUTABLE_CONTENT
             : name == "content-changed" ? MARTLET_KEY_CONTENT_CHANGED
             : name == "attributes-type" ? MARTLET_KEY_ATTRIBUTES_TYPE
             : name == "relevance-score" ? MARTLET_KEY_RELEVANCE_SCORE : -1;
    case 16: return name == "input-push-token" ? MARTLET_KEY_INPUT_PUSH_TOKEN : -1;
    case 17: return name == "content-available" ? MARTLET_KEY_CONTENT_AVAILABLE : -1;
    case 18: return name == "input-push-channel" ? MARTLET_KEY_INPUT_PUSH_CHANNEL : -1;
    default: return -1;
  }
}

int sound_key_named(std::string_view name) {
  return name == "critical" ? MARTLET_KEY_SOUND_CRITICAL : name == "name" ? MARTLET_KEY_SOUND_NAME
         : name == "volume" ? MARTLET_KEY_SOUND_VOLUME : -1;
}

// What a member whose kind no key tells must be.
enum class Wanted : uint8_t { any, text, texts, words };

// A member that devices read, its name in lower case without hyphens, and what it must be. Texts that a Live Activity
// may look up are `words`: they may be objects.
struct Member {
  std::string_view name;
  std::string_view folded;
  Wanted wanted;
};

// In the order of Swift's PayloadMember.
constexpr Member members[] = {
    {"alert", "alert", Wanted::any},
    {"badge", "badge", Wanted::any},
    {"sound", "sound", Wanted::any},
    {"content-available", "contentavailable", Wanted::any},
    {"mutable-content", "mutablecontent", Wanted::any},
    {"thread-id", "threadid", Wanted::text},
    {"interruption-level", "interruptionlevel", Wanted::any},
    {"target-content-id", "targetcontentid", Wanted::text},
    {"relevance-score", "relevancescore", Wanted::any},
    {"category", "category", Wanted::any},
    {"filter-criteria", "filtercriteria", Wanted::text},
    {"url-args", "urlargs", Wanted::texts},
    {"stale-date", "staledate", Wanted::any},
    {"content-state", "contentstate", Wanted::any},
    {"timestamp", "timestamp", Wanted::any},
    {"event", "event", Wanted::any},
    {"dismissal-date", "dismissaldate", Wanted::any},
    {"attributes-type", "attributestype", Wanted::any},
    {"attributes", "attributes", Wanted::any},
    {"input-push-token", "inputpushtoken", Wanted::any},
    {"input-push-channel", "inputpushchannel", Wanted::any},
    {"content-changed", "contentchanged", Wanted::any},
    {"title", "title", Wanted::words},
    {"subtitle", "subtitle", Wanted::words},
    {"body", "body", Wanted::words},
    {"launch-image", "launchimage", Wanted::text},
    {"title-loc-key", "titlelockey", Wanted::text},
    {"title-loc-args", "titlelocargs", Wanted::texts},
    {"subtitle-loc-key", "subtitlelockey", Wanted::text},
    {"subtitle-loc-args", "subtitlelocargs", Wanted::texts},
    {"loc-key", "lockey", Wanted::text},
    {"loc-args", "locargs", Wanted::texts},
    {"critical", "critical", Wanted::any},
    {"name", "name", Wanted::any},
    {"volume", "volume", Wanted::any},
};

// Where the parts of the table begin.
constexpr int aps_members = 0;
constexpr int members_beside_aps_end = 9;
constexpr int alert_members = 22;
constexpr int sound_members = 32;
constexpr int members_end = 35;
static_assert(sizeof(members) / sizeof(members[0]) == members_end);

constexpr uint64_t bit(int member) { return uint64_t(1) << member; }

// The members by which an alert has a text: title, subtitle, body, and the keys for them.
constexpr uint64_t alert_texts = bit(22) | bit(23) | bit(24) | bit(26) | bit(28) | bit(30);

// The member of an alert with exactly this name, or -1: of those that most alerts have.
int common_alert_member(std::string_view name) {
  switch (name.size()) {
    case 4: return name == "body" ? 24 : -1;
    case 5: return name == "title" ? 22 : -1;
    case 7: return name == "loc-key" ? 30 : -1;
    case 8: return name == "subtitle" ? 23 : name == "loc-args" ? 31 : -1;
    default: return -1;
  }
}

// The member from `first` to before `end` that this name is meant to be: equal, or but for case, hyphens and
// underscores. -1 for none.
int member_like(std::string_view name, int first, int end) {
  char folded[24];
  size_t size = 0;
  for (const char byte : name) {
    if (byte == '-' || byte == '_') continue;
    if (size == sizeof(folded)) return -1;
    folded[size] = byte >= 'A' && byte <= 'Z' ? char(byte + 32) : byte;
    size += 1;
  }
  const std::string_view text(folded, size);
  for (int member = first; member < end; member += 1) {
    if (members[member].folded == text) return member;
  }
  return -1;
}

// Whether a name of the top level may be one of those that are looked for there.
bool may_be_beside_aps(std::string_view name) {
  if (name.size() < 5 || name.size() > 20) return false;
  switch (name.front() | 0x20) {
    case 'a': case 'b': case 's': case 'c': case 'm': case 't': case 'i': case 'r': return true;
    default: return false;
  }
}

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
