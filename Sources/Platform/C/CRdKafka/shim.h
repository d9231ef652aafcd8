/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MARTLET_CRdKafka_H
#define MARTLET_CRdKafka_H
#include <librdkafka/rdkafka.h>

/* Produces one record from the caller's bytes (copied) and returns the outcome as a value.
 *
 * rd_kafka_producev is variadic and so invisible to Swift; rd_kafka_produce takes no headers and reports
 * through a thread-local; rd_kafka_produceva wants an array of tagged unions that is cheap to fill in C only.
 * `partition` < 0 lets the topic's partitioner choose. `headers` passes to librdkafka on success. */
static inline rd_kafka_resp_err_t martlet_produce(
    rd_kafka_t *client, rd_kafka_topic_t *topic, int32_t partition, const void *key,
    size_t key_count, const void *value, size_t value_count, void *opaque,
    rd_kafka_headers_t *headers) {
  rd_kafka_vu_t arguments[7];
  rd_kafka_error_t *error;
  rd_kafka_resp_err_t code;
  if (!headers) {
    /* The same without a list of arguments to be read. */
    int result = rd_kafka_produce(
        topic, partition, RD_KAFKA_MSG_F_COPY, (void *)value, value_count, key, key_count, opaque);
    return result == 0 ? RD_KAFKA_RESP_ERR_NO_ERROR : rd_kafka_last_error();
  }
  arguments[0].vtype = RD_KAFKA_VTYPE_RKT;
  arguments[0].u.rkt = topic;
  arguments[1].vtype = RD_KAFKA_VTYPE_PARTITION;
  arguments[1].u.i32 = partition;
  arguments[2].vtype = RD_KAFKA_VTYPE_VALUE;
  arguments[2].u.mem.ptr = (void *)value;
  arguments[2].u.mem.size = value_count;
  arguments[3].vtype = RD_KAFKA_VTYPE_KEY;
  arguments[3].u.mem.ptr = (void *)key;
  arguments[3].u.mem.size = key_count;
  arguments[4].vtype = RD_KAFKA_VTYPE_OPAQUE;
  arguments[4].u.ptr = opaque;
  arguments[5].vtype = RD_KAFKA_VTYPE_MSGFLAGS;
  arguments[5].u.i = RD_KAFKA_MSG_F_COPY;
  arguments[6].vtype = RD_KAFKA_VTYPE_HEADERS;
  arguments[6].u.headers = headers;
  error = rd_kafka_produceva(client, arguments, 7);
  if (!error) return RD_KAFKA_RESP_ERR_NO_ERROR;
  code = rd_kafka_error_code(error);
  rd_kafka_error_destroy(error);
  return code;
}
#endif
