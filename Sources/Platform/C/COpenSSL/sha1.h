#ifndef MARTLET_COPENSSL_SHA1_H
#define MARTLET_COPENSSL_SHA1_H
#include <openssl/sha.h>

/* SHA-1 of one text. EVP, which OpenSSL prefers, takes and gives memory back for every digest, and goes through its
   provider twice: for a text of two blocks that is more than half of the cost. */
static inline int martlet_sha1(const void *bytes, size_t count, unsigned char *digest) {
  SHA_CTX context;
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
  return SHA1_Init(&context) == 1 && SHA1_Update(&context, bytes, count) == 1 &&
         SHA1_Final(digest, &context) == 1;
#pragma clang diagnostic pop
}
#endif
