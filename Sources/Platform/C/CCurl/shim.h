#ifndef MARTLET_CCurl_H
#define MARTLET_CCurl_H
#include <curl/curl.h>

/* curl_easy_setopt and curl_easy_getinfo are variadic, which Swift cannot call: one function for
   each type of value. */
static inline CURLcode martlet_curl_set_number(CURL *easy, CURLoption option, long value) {
  return curl_easy_setopt(easy, option, value);
}
static inline CURLcode martlet_curl_set_text(CURL *easy, CURLoption option, const char *value) {
  return curl_easy_setopt(easy, option, value);
}
/* libcurl copies the bytes. */
static inline CURLcode martlet_curl_set_blob(CURL *easy, CURLoption option, const void *bytes,
                                             size_t count) {
  struct curl_blob blob = {(void *)bytes, count, CURL_BLOB_COPY};
  return curl_easy_setopt(easy, option, &blob);
}
/* CURL_ERROR_SIZE bytes, which must live as long as the handle may be used. */
static inline CURLcode martlet_curl_set_error_buffer(CURL *easy, char *buffer) {
  buffer[0] = 0;
  return curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, buffer);
}
static inline CURLcode martlet_curl_set_body(CURL *easy, const void *bytes, curl_off_t count) {
  CURLcode code = curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, count);
  return code != CURLE_OK ? code : curl_easy_setopt(easy, CURLOPT_POSTFIELDS, bytes);
}
static inline CURLcode martlet_curl_set_headers(CURL *easy, struct curl_slist *list) {
  return curl_easy_setopt(easy, CURLOPT_HTTPHEADER, list);
}
static inline CURLcode martlet_curl_set_sink(CURL *easy,
                                             size_t (*sink)(char *, size_t, size_t, void *),
                                             void *context) {
  CURLcode code = curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, sink);
  return code != CURLE_OK ? code : curl_easy_setopt(easy, CURLOPT_WRITEDATA, context);
}
static inline CURLcode martlet_curl_set_list(CURL *easy, CURLoption option,
                                             struct curl_slist *list) {
  return curl_easy_setopt(easy, option, list);
}
static inline CURLcode martlet_curl_set_header_sink(CURL *easy,
                                                    size_t (*sink)(char *, size_t, size_t, void *),
                                                    void *context) {
  CURLcode code = curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, sink);
  return code != CURLE_OK ? code : curl_easy_setopt(easy, CURLOPT_HEADERDATA, context);
}
static inline long martlet_curl_number(CURL *easy, CURLINFO info) {
  long number = 0;
  curl_easy_getinfo(easy, info, &number);
  return number;
}
/* Bytes of the request that went out: 0 if the connection never stood. */
static inline long martlet_curl_request_bytes(CURL *easy) {
  return martlet_curl_number(easy, CURLINFO_REQUEST_SIZE);
}
/* The status of a proxy's answer to CONNECT; 0 without one. */
static inline long martlet_curl_connect_status(CURL *easy) {
  return martlet_curl_number(easy, CURLINFO_HTTP_CONNECTCODE);
}
/* Whether TLS with the server was up: nothing of a request leaves before. */
static inline int martlet_curl_was_secured(CURL *easy) {
  double seconds = 0;
  curl_easy_getinfo(easy, CURLINFO_APPCONNECT_TIME, &seconds);
  return seconds > 0;
}
static inline CURLMcode martlet_curl_multi_set_number(CURLM *multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}
static inline long martlet_curl_status(CURL *easy) {
  return martlet_curl_number(easy, CURLINFO_RESPONSE_CODE);
}
#endif
