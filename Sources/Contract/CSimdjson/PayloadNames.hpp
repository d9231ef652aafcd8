// SPDX-License-Identifier: Apache-2.0
// The names in a payload: the keys that rules name, and the members that devices read. For Payload.cpp alone.

#ifndef MARTLET_PAYLOAD_NAMES_HPP
#define MARTLET_PAYLOAD_NAMES_HPP

#include "Reader.hpp"

#include <cstdint>
#include <string_view>

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

}  // namespace

#endif
