#define _GNU_SOURCE
#include "CBrokerIntake.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Kafka's protocol: every request begins with its length, its kind, its version and a number that comes back. */
enum { header_size = 12, size_of_length = 4, last_kind_asked_for = 3, descriptors = 65536 };

/* The kind of an ApiVersions request, and the last version of it that a mock cluster knows. */
enum { api_versions = 18, last_api_versions = 2 };

/* While there are other requests, those that are held are looked at after this time, in milliseconds. */
enum { patience = 1 };

/* How far a connection's request has been read. */
struct frame {
  unsigned char header[header_size];
  unsigned char header_read;
  /* The peer waits with a request that was not admitted. */
  bool is_held;
  /* When it is asked for again whatever happens, in milliseconds. */
  int64_t due;
  struct martlet_visit visit;
  /* It has closed the connection meanwhile. */
  bool is_gone;
  /* Where the body lies (while the header is read: where that lies), its length, and how much of it has been read. */
  unsigned char *body;
  uint32_t size;
  uint32_t read;
};

static struct frame frames[descriptors];

static _Thread_local struct {
  martlet_admits admits;
  void *context;
  /* Connections that were held when they were last looked at, and the first time at which one of them is due. */
  int held;
  int64_t due;
  /* Something has happened since then that may admit one of them; when that was seen, 0: not yet. */
  bool has_changed;
  int64_t seen;
} watch;

void martlet_watch_requests(martlet_admits admits, void *context) {
  char name[16];
  if (watch.admits != NULL || prctl(PR_GET_NAME, name) != 0 || strcmp(name, "rdk:mock") != 0) return;
  watch.admits = admits;
  watch.context = context;
}

void martlet_requests_changed(void) { watch.has_changed = true; }

static int64_t milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static struct frame *frame_of(int descriptor) {
  return descriptor >= 0 && descriptor < descriptors ? &frames[descriptor] : NULL;
}

static uint32_t big_endian(const unsigned char *bytes, int count) {
  uint32_t value = 0;
  for (int i = 0; i < count; i++) value = value << 8 | bytes[i];
  return value;
}

static int16_t kind(const struct frame *frame) { return (int16_t)big_endian(frame->header + 4, 2); }

static int16_t version(const struct frame *frame) { return (int16_t)big_endian(frame->header + 6, 2); }

static bool is_admitted(struct frame *frame) {
  int64_t now = milliseconds();
  if (frame->visit.since == 0) frame->visit.since = now;
  frame->visit.now = now;
  int32_t wait = watch.admits(watch.context, kind(frame), version(frame), frame->body, frame->size, &frame->visit);
  frame->due = now + wait;
  return wait == 0;
}

/* Until it is admitted, its connection is held. */
static void hold(struct frame *frame) {
  if (watch.held == 0 || frame->due < watch.due) watch.due = frame->due;
  if (!frame->is_held) watch.held++;
  frame->is_held = true;
}

static ssize_t receive(int descriptor, struct msghdr *message, int flags) {
  return syscall(SYS_recvmsg, descriptor, message, flags);
}

/* Brokers answer an ApiVersions request of a version that they do not know with UNSUPPORTED_VERSION and all that they
 * know, in version 0. The mock cluster answers versions from 3 on in their own form, which clients cannot read; version
 * -1, which it knows as little, it answers as brokers do. */
static void refuse_unknown_version(struct frame *frame) {
  if (kind(frame) == api_versions && version(frame) > last_api_versions) memset(frame->body + 6, 0xff, 2);
}

static ssize_t receive_header(int descriptor, struct msghdr *message, int flags, struct frame *frame) {
  struct iovec *part = &message->msg_iov[0];
  unsigned char *place = part->iov_base;
  size_t missing = header_size - frame->header_read;
  if (frame->header_read == 0) frame->body = place;
  bool is_in_one_piece = place == frame->body + frame->header_read;
  if (part->iov_len > missing) part->iov_len = missing;
  ssize_t count = receive(descriptor, message, flags);
  if (count <= 0) return count;
  memcpy(frame->header + frame->header_read, place, (size_t)count);
  frame->header_read += (unsigned char)count;
  if (frame->header_read == header_size) {
    if (is_in_one_piece) refuse_unknown_version(frame);
    frame->size = big_endian(frame->header, size_of_length) + size_of_length - header_size;
    frame->read = 0;
    if (frame->size == 0) frame->header_read = 0;
  }
  return count;
}

/* The last byte of a request is only looked at until the request is admitted: without it, nobody acts on the others. */
static ssize_t receive_last(int descriptor, unsigned char *place, struct frame *frame) {
  bool is_in_one_piece = place == frame->body + frame->read;
  ssize_t seen = syscall(SYS_recvfrom, descriptor, place, 1, MSG_DONTWAIT | MSG_PEEK, NULL, NULL);
  if (seen != 1) return seen;
  if (is_in_one_piece && !is_admitted(frame)) {
    hold(frame);
    errno = EAGAIN;
    return -1;
  }
  /* Not to its place: the request may have been changed there. */
  unsigned char taken;
  ssize_t count = syscall(SYS_recvfrom, descriptor, &taken, 1, MSG_DONTWAIT, NULL, NULL);
  if (count != 1) return count;
  frame->header_read = 0;
  frame->visit.since = 0;
  return count;
}

static ssize_t receive_body(int descriptor, struct msghdr *message, int flags, struct frame *frame) {
  struct iovec *part = &message->msg_iov[0];
  unsigned char *place = part->iov_base;
  size_t room = part->iov_len;
  bool asks = kind(frame) >= 0 && kind(frame) <= last_kind_asked_for;
  if (frame->read == 0) frame->body = place;
  size_t wanted = frame->size - frame->read - (asks ? 1 : 0);
  if (wanted == 0) return receive_last(descriptor, place, frame);
  if (part->iov_len > wanted) part->iov_len = wanted;
  ssize_t count = receive(descriptor, message, flags);
  if (count <= 0) return count;
  frame->read += (uint32_t)count;
  if (!asks) {
    if (frame->read == frame->size) frame->header_read = 0;
    return count;
  }
  bool is_next = frame->read + 1 == frame->size && room > (size_t)count;
  return is_next && receive_last(descriptor, place + count, frame) == 1 ? count + 1 : count;
}

/* These three take the place of the C library's functions for every library of the process, and are the same system
 * calls but on the thread of a mock cluster that is watched. */

ssize_t recvmsg(int descriptor, struct msghdr *message, int flags) {
  struct frame *frame = watch.admits == NULL ? NULL : frame_of(descriptor);
  if (frame == NULL || message->msg_iovlen == 0) return receive(descriptor, message, flags);
  if (frame->is_gone) return 0;
  size_t parts = message->msg_iovlen, room = message->msg_iov[0].iov_len;
  message->msg_iovlen = 1;
  ssize_t count = frame->header_read < header_size ? receive_header(descriptor, message, flags, frame)
                                                   : receive_body(descriptor, message, flags, frame);
  message->msg_iovlen = parts;
  message->msg_iov[0].iov_len = room;
  return count;
}

int accept(int descriptor, struct sockaddr *restrict address, socklen_t *restrict length) {
  int accepted = (int)syscall(SYS_accept, descriptor, address, length);
  struct frame *frame = frame_of(accepted);
  if (frame != NULL) memset(frame, 0, sizeof(*frame));
  /* As brokers do. The second of two answers would wait for 40 ms, until the peer acknowledges the first one. */
  int promptly = 1;
  if (accepted >= 0) setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &promptly, sizeof(promptly));
  return accepted;
}

static struct frame *held_frame(const struct pollfd *entry) {
  struct frame *frame = frame_of(entry->fd);
  return frame != NULL && frame->is_held ? frame : NULL;
}

static void ask_again(const struct pollfd *entries, nfds_t count) {
  watch.held = 0;
  watch.has_changed = false;
  watch.seen = 0;
  for (nfds_t i = 0; i < count; i++) {
    struct frame *frame = held_frame(&entries[i]);
    if (frame == NULL) continue;
    frame->is_held = false;
    if (!is_admitted(frame)) hold(frame);
  }
}

/* A connection that is held is not ready to be read, unless its peer has closed it. */
static int poll_others(struct pollfd *entries, nfds_t count, int timeout) {
  for (nfds_t i = 0; i < count; i++) {
    if (held_frame(&entries[i]) != NULL) entries[i].events = (short)((entries[i].events & ~POLLIN) | POLLRDHUP);
  }
  int ready = (int)syscall(SYS_poll, entries, count, timeout);
  for (nfds_t i = 0; i < count; i++) {
    struct frame *frame = held_frame(&entries[i]);
    if (frame == NULL) continue;
    entries[i].events = (short)((entries[i].events & ~POLLRDHUP) | POLLIN);
    if ((entries[i].revents & POLLRDHUP) == 0) continue;
    entries[i].revents = (short)((entries[i].revents & ~POLLRDHUP) | POLLIN);
    frame->is_gone = true;
    frame->is_held = false;
    watch.held--;
  }
  return ready;
}

/* What came together is taken first, so that one answer to a Fetch request has all of it. */
int poll(struct pollfd *entries, nfds_t count, int timeout) {
  if (watch.held == 0) return (int)syscall(SYS_poll, entries, count, timeout);
  int64_t now = milliseconds();
  if (watch.has_changed && watch.seen == 0) watch.seen = now;
  bool is_due = now >= watch.due || (watch.has_changed && now >= watch.seen + patience);
  if (watch.has_changed && !is_due) {
    int ready = poll_others(entries, count, 0);
    if (ready != 0) return ready;
    is_due = true;
  }
  if (is_due) ask_again(entries, count);
  int64_t left = watch.held == 0 ? INT32_MAX : watch.due - milliseconds();
  if (left < 0) left = 0;
  return poll_others(entries, count, timeout < 0 || left < timeout ? (int)left : timeout);
}
