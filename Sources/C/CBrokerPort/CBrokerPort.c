#include "CBrokerPort.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Thread_local uint16_t wanted;

void martlet_bind_next_to(uint16_t port) { wanted = port; }

/* Takes the place of the C library's bind for every library of the process, and is the same system call. */
int bind(int descriptor, const struct sockaddr *address, socklen_t length) {
  struct sockaddr_in chosen;
  if (wanted != 0 && length == sizeof(chosen) && address->sa_family == AF_INET) {
    memcpy(&chosen, address, sizeof(chosen));
    if (chosen.sin_port == 0) {
      /* What an earlier broker's connections left in TIME_WAIT holds a chosen port, as it never does a free one. */
      int yes = 1;
      setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
      chosen.sin_port = htons(wanted);
      wanted = 0;
      address = (const struct sockaddr *)&chosen;
    }
  }
  return (int)syscall(SYS_bind, descriptor, address, length);
}
