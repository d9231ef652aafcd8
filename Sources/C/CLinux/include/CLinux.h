#ifndef MARTLET_CLINUX_H
#define MARTLET_CLINUX_H
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/resource.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netdb.h>
#include <stdint.h>

/* accept4(2) is GNU-only and so invisible to Swift. Accepts one connection, non-blocking and close-on-exec. */
int martlet_accept(int listener);

/* Names the calling thread (15 bytes at most), as `top -H` and a debugger show it. */
void martlet_name_thread(const char *name);
#endif
