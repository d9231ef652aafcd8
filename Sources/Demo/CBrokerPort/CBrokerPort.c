#include "CBrokerPort.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* A process that is being started has copies of every descriptor until it runs its own program, so a listener that was
 * closed here may listen a little longer. */
enum { attempts = 2000 };
static const struct timespec millisecond = {.tv_nsec = 1000000};

static _Thread_local uint16_t wanted;
static _Thread_local int failure;

void martlet_bind_next_to(uint16_t port) {
  wanted = port;
  failure = 0;
}

int martlet_bind_failure(void) { return failure; }

static int bind_now(int descriptor, const struct sockaddr *address, socklen_t length) {
  return (int)syscall(SYS_bind, descriptor, address, length);
}

static int bind_patiently(int descriptor, const struct sockaddr *address, socklen_t length) {
  int code = bind_now(descriptor, address, length);
  for (int i = 0; i < attempts && code != 0 && errno == EADDRINUSE; i++) {
    nanosleep(&millisecond, NULL);
    code = bind_now(descriptor, address, length);
  }
  return code;
}

static int bind_to_wanted(int descriptor, struct sockaddr_in address) {
  /* What an earlier broker's connections left in TIME_WAIT holds a chosen port, as it never does a free one. */
  int yes = 1;
  setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  address.sin_port = htons(wanted);
  wanted = 0;
  int code = bind_patiently(descriptor, (const struct sockaddr *)&address, sizeof(address));
  failure = code == 0 ? 0 : errno;
  return code;
}

/* The thread of a mock cluster binds only when a broker is set down: to the port of the listener that it just closed. */
static int is_mock_cluster(void) {
  char name[16];
  return prctl(PR_GET_NAME, name) == 0 && strcmp(name, "rdk:mock") == 0;
}

/* Takes the place of the C library's bind for every library of the process, and is the same system call. */
int bind(int descriptor, const struct sockaddr *address, socklen_t length) {
  struct sockaddr_in any;
  if (wanted != 0 && length == sizeof(any) && address->sa_family == AF_INET) {
    memcpy(&any, address, sizeof(any));
    if (any.sin_port == 0 && bind_to_wanted(descriptor, any) == 0) return 0;
  }
  return is_mock_cluster() ? bind_patiently(descriptor, address, length) : bind_now(descriptor, address, length);
}
