#define _GNU_SOURCE
#include "CBrokerIntake.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Kafka's protocol: every request begins with its length, its kind, its version and a number that comes back. */
enum { header_size = 12, size_of_length = 4, last_kind_asked_for = 3, descriptors = 65536 };

/* How far a connection's request has been read. */
struct frame {
  unsigned char header[header_size];
  unsigned char header_read;
  /* The peer waits with a request that was not admitted. */
  bool is_held;
  /* It has closed the connection meanwhile. */
  bool is_gone;
  /* Where the body lies, its length, and how much of it has been read. */
  unsigned char *body;
  uint32_t size;
  uint32_t read;
};

static struct frame frames[descriptors];

static _Thread_local struct {
  martlet_admits admits;
  void *context;
  /* Connections that were held when they were last looked at. */
  int held;
} watch;

void martlet_watch_requests(martlet_admits admits, void *context) {
  char name[16];
  if (watch.admits != NULL || prctl(PR_GET_NAME, name) != 0 || strcmp(name, "rdk:mock") != 0) return;
  watch.admits = admits;
  watch.context = context;
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

static bool is_admitted(const struct frame *frame) {
  int16_t version = (int16_t)big_endian(frame->header + 6, 2);
  return watch.admits(watch.context, kind(frame), version, frame->body, frame->size) != 0;
}

static ssize_t receive(int descriptor, struct msghdr *message, int flags) {
  return syscall(SYS_recvmsg, descriptor, message, flags);
}

static ssize_t receive_header(int descriptor, struct msghdr *message, int flags, struct frame *frame) {
  struct iovec *part = &message->msg_iov[0];
  size_t missing = header_size - frame->header_read;
  if (part->iov_len > missing) part->iov_len = missing;
  ssize_t count = receive(descriptor, message, flags);
  if (count <= 0) return count;
  memcpy(frame->header + frame->header_read, part->iov_base, (size_t)count);
  frame->header_read += (unsigned char)count;
  if (frame->header_read == header_size) {
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
    if (!frame->is_held) watch.held++;
    frame->is_held = true;
    errno = EAGAIN;
    return -1;
  }
  frame->is_held = false;
  /* Not to its place: the request may have been changed there. */
  unsigned char taken;
  ssize_t count = syscall(SYS_recvfrom, descriptor, &taken, 1, MSG_DONTWAIT, NULL, NULL);
  if (count == 1) frame->header_read = 0;
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
  return accepted;
}

/* A connection that is held is not ready to be read, unless its peer has closed it. */
int poll(struct pollfd *entries, nfds_t count, int timeout) {
  if (watch.held == 0) return (int)syscall(SYS_poll, entries, count, timeout);
  watch.held = 0;
  for (nfds_t i = 0; i < count; i++) {
    struct frame *frame = frame_of(entries[i].fd);
    if (frame == NULL || !frame->is_held) continue;
    frame->is_held = !is_admitted(frame);
    if (!frame->is_held) continue;
    watch.held++;
    entries[i].events = (short)((entries[i].events & ~POLLIN) | POLLRDHUP);
  }
  int ready = (int)syscall(SYS_poll, entries, count, timeout);
  for (nfds_t i = 0; i < count; i++) {
    struct frame *frame = frame_of(entries[i].fd);
    if (frame == NULL || !frame->is_held) continue;
    entries[i].events = (short)((entries[i].events & ~POLLRDHUP) | POLLIN);
    if ((entries[i].revents & POLLRDHUP) == 0) continue;
    entries[i].revents = (short)((entries[i].revents & ~POLLRDHUP) | POLLIN);
    frame->is_gone = true;
    frame->is_held = false;
  }
  return ready;
}
