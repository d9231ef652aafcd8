/* SPDX-License-Identifier: Apache-2.0
 *
 * A library for LD_PRELOAD that lets one process see another time of day, or a full disk. The chaos suite
 * builds it; nothing of the product does.
 *
 * CHAOS_CONTROL names a file with one line: milliseconds to add to the time of day, a blank, and the path
 * whose files cannot be written (or nothing). It is looked at again every 20 ms; without the file nothing
 * changes.
 *
 * Only the calls that our processes and their libraries make are here. Monotonic time is never touched, and
 * neither is timespec_get, which librdkafka computes deadlines with that the kernel then waits for by its
 * own clock. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static _Atomic long long offset_ms;
static _Atomic int is_full;
static char full_path[1024];
static _Atomic long long next_look_ms;

static void real_clock(clockid_t clock, struct timespec *out) { syscall(SYS_clock_gettime, clock, out); }

/* The file is replaced as a whole, so one read sees one state. */
static void look(void) {
  struct timespec now;
  real_clock(CLOCK_MONOTONIC, &now);
  long long ms = (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
  long long due = atomic_load(&next_look_ms);
  if (ms < due || !atomic_compare_exchange_strong(&next_look_ms, &due, ms + 20)) return;
  const char *control = getenv("CHAOS_CONTROL");
  char text[1100] = "0 ";
  if (control) {
    int fd = (int)syscall(SYS_openat, AT_FDCWD, control, O_RDONLY | O_CLOEXEC, 0);
    if (fd >= 0) {
      long got = syscall(SYS_read, fd, text, sizeof text - 1);
      text[got > 0 ? got : 0] = 0;
      syscall(SYS_close, fd);
    }
  }
  char *rest = text;
  atomic_store(&offset_ms, strtoll(text, &rest, 10));
  while (*rest == ' ') rest++;
  rest[strcspn(rest, "\n")] = 0;
  if (*rest && !atomic_load(&is_full)) snprintf(full_path, sizeof full_path, "%s", rest);
  atomic_store(&is_full, *rest != 0);
}

int clock_gettime(clockid_t clock, struct timespec *out) {
  real_clock(clock, out);
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) {
    int saved = errno;
    look();
    errno = saved;
    long long ms = atomic_load(&offset_ms);
    out->tv_sec += ms / 1000;
    out->tv_nsec += ms % 1000 * 1000000;
    if (out->tv_nsec >= 1000000000) { out->tv_nsec -= 1000000000; out->tv_sec += 1; }
    if (out->tv_nsec < 0) { out->tv_nsec += 1000000000; out->tv_sec -= 1; }
  }
  return 0;
}

int gettimeofday(struct timeval *out, void *zone) {
  (void)zone;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  out->tv_sec = now.tv_sec;
  out->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}

/* Whether writing to the descriptor would need space on the full disk. */
static int refuses(int fd) {
  look();
  if (!atomic_load(&is_full)) return 0;
  char link[64], path[1024];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t count = readlink(link, path, sizeof path - 1);
  if (count <= 0) return 0;
  path[count] = 0;
  return strncmp(path, full_path, strlen(full_path)) == 0;
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset) {
  if (refuses(fd)) { errno = ENOSPC; return -1; }
  return syscall(SYS_pwrite64, fd, bytes, count, offset);
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) {
  return pwrite64(fd, bytes, count, offset);
}

ssize_t write(int fd, const void *bytes, size_t count) {
  if (refuses(fd)) { errno = ENOSPC; return -1; }
  return syscall(SYS_write, fd, bytes, count);
}

int posix_fallocate64(int fd, off64_t offset, off64_t count) {
  if (refuses(fd)) return ENOSPC;
  return syscall(SYS_fallocate, fd, 0, offset, count) == 0 ? 0 : errno;
}

int posix_fallocate(int fd, off_t offset, off_t count) { return posix_fallocate64(fd, offset, count); }
