#ifndef MARTLET_CLINUX_H
#define MARTLET_CLINUX_H
#include "Build.h"
#include <sys/xattr.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timex.h>
#include <sys/resource.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netdb.h>
#include <stddef.h>
#include <stdint.h>

/* accept4(2) is GNU-only and so invisible to Swift. Accepts one connection, non-blocking and close-on-exec. */
int martlet_accept(int listener);

/* pipe2(2), GNU-only as well. Opens a pipe, close-on-exec: `ends` are its output and input. */
int martlet_pipe(int ends[2], int flags);

/* Names the calling thread (15 bytes at most), as `top -H` and a debugger show it. */
void martlet_name_thread(const char *name);

/* memmem(3), GNU-only. Finds bytes within bytes; NULL where they are not. */
const void *martlet_find(const void *bytes, size_t count, const void *wanted, size_t wanted_count);

/* Starts a program as posix_spawn does, which cannot do what is needed here: no signal is blocked in
 * the child (with `holds_stop` SIGTERM, SIGINT and SIGHUP alone are), standard input is /dev/null, both
 * outputs go to `output` (kept as they are when it is negative), and the child gets SIGTERM when the
 * *thread* that called this ends. Returns the process id, or -1 with errno. */
int martlet_spawn(
    const char *path, char *const *arguments, char *const *environment, int output, int holds_stop);

/* Keeps this process's memory out of core files and from other processes of its user (prctl(2), PR_SET_DUMPABLE);
 * from then on /proc/self/environ is root's. */
void martlet_hide_memory(void);

/* All threads of this process take memory from one arena of malloc (mallopt(3), M_ARENA_MAX). To be called before there
 * are others. */
void martlet_share_arena(void);

/* Which record a crash note names. `topic` has to stay valid for as long as it may be in hand. */
struct martlet_record {
  const char *topic;
  int64_t offset;
  int64_t timestamp;
  int32_t partition;
};

/* What the calling thread works on: a message of librdkafka, or else the record; NULL for nothing. */
struct martlet_hand {
  const void *message;
  struct martlet_record record;
};
extern _Thread_local struct martlet_hand martlet_hand __attribute__((tls_model("initial-exec")));

/* The calling thread begins to work on a message, or with NULL ends: a store. */
static inline void martlet_take_in_hand(const void *message) { martlet_hand.message = message; }

/* The same for a record that was copied out of its message. */
static inline void martlet_take_record_in_hand(
    const char *topic, int32_t partition, int64_t offset, int64_t timestamp) {
  martlet_hand.record.topic = topic;
  martlet_hand.record.partition = partition;
  martlet_hand.record.offset = offset;
  martlet_hand.record.timestamp = timestamp;
}

/* From now on a signal that ends this process because of an error in it (SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGFPE,
 * SIGABRT) appends a line to `file` if the thread that gets it has a record in hand, and then takes its course:
 *
 *     <signal> <partition> <offset> <timestamp> <topic>
 *
 * `describe` tells a message's record, with nothing that a signal handler may not do. */
void martlet_note_crashes(int file, struct martlet_record (*describe)(const void *message));

/* Asks the processor for the cache line at an address, which need not be valid. Never waits. */
static inline void martlet_prefetch(const void *address) { __builtin_prefetch(address); }

/* True if the processor has an instruction for CRC-32C (Castagnoli). */
int martlet_has_crc32c(void);

/* The CRC-32C of some bytes by that instruction; only where there is one. */
uint32_t martlet_crc32c(const void *bytes, size_t count);
#endif
