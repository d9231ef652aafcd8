// SPDX-License-Identifier: Apache-2.0
//
// JSON for Swift: simdjson's on-demand parser behind C functions.
//
// A parser handle belongs to one thread. Every slice that it hands out points into memory of the
// handle and is valid until the handle's next call. Input is copied into a padded buffer of the handle,
// so callers need no padding of their own.

#ifndef MARTLET_CSIMDJSON_H
#define MARTLET_CSIMDJSON_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct martlet_json martlet_json;

// Bytes that are not owned. `bytes` is NULL if there are none to speak of.
typedef struct {
  const uint8_t *bytes;
  size_t count;
} martlet_slice;

// Why input was refused.
enum {
  MARTLET_JSON_OK = 0,
  MARTLET_JSON_EMPTY,
  MARTLET_JSON_MALFORMED,
  MARTLET_JSON_NOT_AN_OBJECT,
  MARTLET_JSON_UNKNOWN_FIELD,
  MARTLET_JSON_DUPLICATE_FIELD,
  MARTLET_JSON_WRONG_TYPE,
  MARTLET_JSON_TOO_MANY,
};

typedef struct {
  int32_t code;         // one of the above
  int32_t field;        // the request field (see below) it was found in, or -1
  size_t offset;        // the byte of the input where it was noticed
  const char *words;    // static text: what the parser says, for MALFORMED; the wanted type
  martlet_slice name;   // the key, for UNKNOWN_FIELD; the one inside the payload or the field for others
} martlet_json_error;

// The fields of a notification request, in the order of Swift's RequestField. Behind them come those whose text is
// only carried: their names are given to `martlet_json_create`.
enum {
  MARTLET_FIELD_APP,
  MARTLET_FIELD_TOKEN,
  MARTLET_FIELD_TOKENS,
  MARTLET_FIELD_PAYLOAD,
  MARTLET_FIELD_ID,
  MARTLET_FIELD_ENVIRONMENT,
  MARTLET_FIELD_TYPE,
  MARTLET_FIELD_TOPIC,
  MARTLET_FIELD_PRIORITY,
  MARTLET_FIELD_EXPIRATION,
  MARTLET_FIELD_LANE,
  MARTLET_FIELD_APNS_ID,
  MARTLET_FIELD_CHANNEL,
  MARTLET_FIELD_EXPIRES_IN,
  MARTLET_FIELD_HEADERS,
  MARTLET_FIELD_DATA,
  MARTLET_FIELD_SEND_AT,
  MARTLET_FIELD_USER,
  MARTLET_FIELD_USERS,
  MARTLET_FIELD_ACTIVITY,
  MARTLET_FIELD_EVENT,
  MARTLET_FIELD_COUNT,
};

// Carried texts, at most: one bit of `present` is left for each.
#define MARTLET_CARRIED_TEXTS (32 - MARTLET_FIELD_COUNT)

// The members of a payload that rules look at, in the order of Swift's PayloadKey.
enum {
  MARTLET_KEY_ALERT,
  MARTLET_KEY_BADGE,
  MARTLET_KEY_SOUND,
  MARTLET_KEY_CONTENT_AVAILABLE,
  MARTLET_KEY_MUTABLE_CONTENT,
  MARTLET_KEY_CATEGORY,
  MARTLET_KEY_CONTENT_CHANGED,
  MARTLET_KEY_TIMESTAMP,
  MARTLET_KEY_EVENT,
  MARTLET_KEY_CONTENT_STATE,
  MARTLET_KEY_ATTRIBUTES_TYPE,
  MARTLET_KEY_ATTRIBUTES,
  MARTLET_KEY_INPUT_PUSH_TOKEN,
  MARTLET_KEY_INPUT_PUSH_CHANNEL,
  MARTLET_KEY_STALE_DATE,
  MARTLET_KEY_DISMISSAL_DATE,
  MARTLET_KEY_RELEVANCE_SCORE,
  MARTLET_KEY_SOUND_CRITICAL,
  MARTLET_KEY_SOUND_NAME,
  MARTLET_KEY_SOUND_VOLUME,
  MARTLET_KEY_APS,
  MARTLET_KEY_MDM,
  MARTLET_KEY_ATTRIBUTES_ID,
};

// Milliseconds given for epoch seconds are larger than this.
#define MARTLET_TIME_LIMIT 100000000000.0

// What stands at such a key, in the order of Swift's PayloadValue. Numbers are judged by their value.
enum {
  MARTLET_VALUE_ABSENT,
  MARTLET_VALUE_NULL,
  MARTLET_VALUE_NO,
  MARTLET_VALUE_YES,
  MARTLET_VALUE_ZERO,
  MARTLET_VALUE_ONE,
  MARTLET_VALUE_COUNT,     // a whole number above 1
  MARTLET_VALUE_NEGATIVE,
  MARTLET_VALUE_FRACTION,  // between 0 and 1
  MARTLET_VALUE_DECIMAL,   // any other number
  MARTLET_VALUE_TEXT,
  MARTLET_VALUE_ARRAY,
  MARTLET_VALUE_OBJECT,
  MARTLET_VALUE_START,     // the texts "start", "update", "end" of `event`
  MARTLET_VALUE_UPDATE,
  MARTLET_VALUE_END,
};

// What a payload holds, as far as rules ask: four bits a key. The sets have a bit for each member in the order of
// Swift's PayloadMember.
typedef struct {
  uint64_t values[2];      // keys 0 to 15, keys from 16 on
  uint64_t misspelled;     // members under a name that differs from theirs by case, hyphens and underscores
  uint64_t mistyped;       // members without a key above whose value is of a kind that they never have
  uint64_t structured;     // title, subtitle and body that are objects
  uint64_t misplaced;      // members of the alert in `aps`, and of `aps` in the alert
  uint64_t outside;        // members of `aps` beside it
  uint64_t given;          // members of the alert in their place
  uint32_t members;        // of the top level
  uint32_t late;           // a bit for each key whose number is too large for epoch seconds
  uint8_t alert_text;      // `alert` is a text that is not empty, or has such a title, subtitle or body, or a key for one
  uint8_t odd_level;       // `interruption-level` is there and none of the four that there are
  uint8_t critical_level;  // it is `critical`
} martlet_payload;

// One entry of `tokens`. What is not a JSON string keeps its text as it stands in the input.
typedef struct {
  const uint8_t *bytes;
  uint32_t count;
  uint32_t is_string;
} martlet_token;

// One member of `headers` or `data`: its name and value, and both as they stand in the input, still escaped.
typedef struct {
  martlet_slice name;
  martlet_slice value;
  martlet_slice raw_name;
  martlet_slice raw_value;
} martlet_member;

typedef struct {
  const martlet_member *members;
  size_t count;
} martlet_members;

typedef struct {
  const martlet_slice *slices;
  size_t count;
} martlet_slices;

typedef struct {
  uint32_t present;  // a bit for each field that was given and is not null
  uint32_t token_count;
  const martlet_token *tokens;  // of `token` (one) or `tokens`
  martlet_slice text[MARTLET_FIELD_COUNT + MARTLET_CARRIED_TEXTS];  // unescaped strings, by field
  martlet_members headers;
  martlet_members data;
  martlet_slice raw_id;   // the content of `id`'s string as it stands in the input, still escaped
  martlet_slice payload;  // from `{` to `}`, byte for byte
  martlet_payload facts;  // of the payload
  int64_t priority;
  int64_t expiration;
  int64_t expires_in;
  int64_t send_at;  // if it is a number; else its text
  martlet_slices users;  // if the field was given
} martlet_request;

// `carried` has the names of the fields of requests whose text is only carried, with commas between them: no more than
// MARTLET_CARRIED_TEXTS.
martlet_json *martlet_json_create(const char *carried);
void martlet_json_destroy(martlet_json *parser);

// The version of simdjson, whose shared library changes its name with it.
const char *martlet_json_library_version(void);

// Reads one request. The whole input is checked to be valid JSON, the payload included; values are not
// judged beyond their JSON types. Returns 0, or the error's code with `error` filled; then id and app are there, too,
// wherever they stand, unless it is not JSON before them.
int32_t martlet_json_read_request(martlet_json *parser, const uint8_t *bytes, size_t count,
                                  uint32_t maximum_tokens, uint32_t maximum_members,
                                  martlet_request *request, martlet_json_error *error);

// The kinds of a node.
enum {
  MARTLET_NODE_NULL,
  MARTLET_NODE_FALSE,
  MARTLET_NODE_TRUE,
  MARTLET_NODE_INTEGER,
  MARTLET_NODE_DOUBLE,
  MARTLET_NODE_STRING,
  MARTLET_NODE_ARRAY,
  MARTLET_NODE_OBJECT,
};

// One value of a document. Nodes stand in document order: a container, then its members.
typedef struct {
  uint32_t kind;
  uint32_t members;    // of an array or object: values directly inside
  martlet_slice key;   // unescaped; NULL if the node is no member of an object
  martlet_slice text;  // a string's content, unescaped; a number as it stands in the input
  int64_t integer;
  double number;
  size_t offset;       // where the value starts in the input
} martlet_node;

// Reads any JSON value into nodes. Returns 0, or the error's code with `error` filled.
int32_t martlet_json_read_document(martlet_json *parser, const uint8_t *bytes, size_t count,
                                   const martlet_node **nodes, size_t *node_count,
                                   martlet_json_error *error);

#ifdef __cplusplus
}
#endif
#endif
