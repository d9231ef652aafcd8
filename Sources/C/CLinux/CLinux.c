#include "CLinux.h"

#include <pthread.h>
#include <stddef.h>

int martlet_accept(int listener) {
  return accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

void martlet_name_thread(const char *name) { pthread_setname_np(pthread_self(), name); }
