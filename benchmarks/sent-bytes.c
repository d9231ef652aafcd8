// SPDX-License-Identifier: Apache-2.0
//
// Counts the bytes that a program hands to send(2): what its connections to the gateway send, TLS included. librdkafka
// uses sendmsg(2) and does not count. benchmarks/guard builds it as a shared library and puts it in front of the sender
// with LD_PRELOAD; the count is the one number in the file that SENT_BYTES names, which both sides map.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic int64_t *sent;

__attribute__((constructor)) static void map(void) {
  const char *path = getenv("SENT_BYTES");
  int file = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
  if (file < 0 || ftruncate(file, sizeof *sent) != 0) _exit(70);
  void *place = mmap(NULL, sizeof *sent, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (place == MAP_FAILED) _exit(70);
  sent = place;
}

ssize_t send(int socket, const void *bytes, size_t count, int flags) {
  ssize_t done = syscall(SYS_sendto, socket, bytes, count, flags, NULL, 0);
  if (done > 0) atomic_fetch_add_explicit(sent, done, memory_order_relaxed);
  return done;
}
