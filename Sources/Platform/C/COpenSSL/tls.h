#ifndef MARTLET_COPENSSL_TLS_H
#define MARTLET_COPENSSL_TLS_H
#include <openssl/ssl.h>

/* Function-like macros of OpenSSL are invisible to Swift: each has its function here. */

static inline int martlet_ssl_ctx_require_tls12(SSL_CTX *context) {
  return (int)SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
}

static inline int martlet_ssl_ctx_limit_to_tls11(SSL_CTX *context) {
  SSL_CTX_set_security_level(context, 0);
  return SSL_CTX_set_min_proto_version(context, TLS1_VERSION) == 1 &&
         SSL_CTX_set_max_proto_version(context, TLS1_1_VERSION) == 1;
}

static inline void martlet_ssl_ctx_set_modes(SSL_CTX *context) {
  /* A write may be repeated from another buffer; all of a record's bytes are read ahead; an idle connection holds no
     record buffers (33 KiB). */
  SSL_CTX_set_mode(context, SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_AUTO_RETRY |
                                SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_read_ahead(context, 1);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                   SSL_OP_IGNORE_UNEXPECTED_EOF);
}

static inline void martlet_ssl_ctx_cache_client_sessions(SSL_CTX *context) {
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
}

static inline int martlet_ssl_ctx_set_groups(SSL_CTX *context, const char *list) {
  return (int)SSL_CTX_set1_groups_list(context, list);
}

static inline int martlet_ssl_set_server_name(SSL *ssl, const char *name) {
  return (int)SSL_set_tlsext_host_name(ssl, name);
}

static inline int martlet_ssl_ctx_add_chain_certificate(SSL_CTX *context, X509 *certificate) {
  return (int)SSL_CTX_add1_chain_cert(context, certificate);
}

/* Server side of ALPN: takes h2 if the client offers it; otherwise chooses nothing and remembers that in ex data 0, so
   that the connection ends when the handshake is complete, as APNs does. `argument`
   may point to another protocol in wire form (length byte first) that is then chosen without asking:
   a server that breaks the rule, for tests. */
static inline int martlet_ssl_select_protocol(
    SSL *ssl, const unsigned char **out, unsigned char *out_length, const unsigned char *offered,
    unsigned int offered_length, void *argument) {
  if (argument) {
    const unsigned char *forced = (const unsigned char *)argument;
    *out = forced + 1;
    *out_length = forced[0];
    return SSL_TLSEXT_ERR_OK;
  }
  for (unsigned int at = 0; at < offered_length; at += 1u + offered[at]) {
    if (offered[at] == 2 && at + 2 < offered_length && offered[at + 1] == 'h' &&
        offered[at + 2] == '2') {
      *out = offered + at + 1;
      *out_length = 2;
      return SSL_TLSEXT_ERR_OK;
    }
  }
  SSL_set_ex_data(ssl, 0, ssl);
  return SSL_TLSEXT_ERR_NOACK;
}
#endif
