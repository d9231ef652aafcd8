#ifndef MARTLET_CMicrohttpd_H
#define MARTLET_CMicrohttpd_H
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>

/* MHD_start_daemon is variadic, which Swift cannot call. Listens on one IPv4 address (network byte
   order) with one thread of its own; port 0 takes a free one. */
static inline struct MHD_Daemon *martlet_http_start(uint32_t address, uint16_t port,
                                                    MHD_AccessHandlerCallback handler,
                                                    MHD_RequestCompletedCallback completed,
                                                    MHD_NotifyConnectionCallback connected,
                                                    void *context, unsigned int connections,
                                                    unsigned int idle_seconds) {
  struct sockaddr_in place;
  memset(&place, 0, sizeof place);
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = address;
  place.sin_port = htons(port);
  return MHD_start_daemon(MHD_USE_AUTO_INTERNAL_THREAD, port, NULL, NULL, handler, context,
                          MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&place,
                          MHD_OPTION_NOTIFY_COMPLETED, completed, context,
                          MHD_OPTION_NOTIFY_CONNECTION, connected, context,
                          MHD_OPTION_CONNECTION_LIMIT, connections,
                          MHD_OPTION_CONNECTION_TIMEOUT, idle_seconds, MHD_OPTION_END);
}

/* An escaped NUL would end the text early: what stands behind it would be overlooked. Such a text stays as it came. */
static inline size_t martlet_http_unescape(void *context, struct MHD_Connection *connection, char *text) {
  (void)context;
  (void)connection;
  return strstr(text, "%00") ? strlen(text) : MHD_http_unescape(text);
}

/* The same without a thread: the owner polls the descriptor of martlet_http_poll_fd and calls MHD_run. With a certificate
   and its key (PEM) it speaks TLS. `memory` is what a connection may buffer. */
static inline struct MHD_Daemon *martlet_http_start_polled(
    uint32_t address, uint16_t port, MHD_AccessHandlerCallback handler,
    MHD_RequestCompletedCallback completed, MHD_NotifyConnectionCallback connected, void *context,
    unsigned int connections, unsigned int idle_seconds, size_t memory, const char *certificate,
    const char *key) {
  struct sockaddr_in place;
  memset(&place, 0, sizeof place);
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = address;
  place.sin_port = htons(port);
  struct MHD_OptionItem secret[] = {
      {certificate ? MHD_OPTION_HTTPS_MEM_CERT : MHD_OPTION_END, 0, (void *)certificate},
      {certificate ? MHD_OPTION_HTTPS_MEM_KEY : MHD_OPTION_END, 0, (void *)key},
      {MHD_OPTION_END, 0, NULL}};
  unsigned int flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | (certificate ? MHD_USE_TLS : 0);
  return MHD_start_daemon(flags, port, NULL, NULL, handler, context, MHD_OPTION_SOCK_ADDR,
                          (struct sockaddr *)&place, MHD_OPTION_NOTIFY_COMPLETED, completed, context,
                          MHD_OPTION_NOTIFY_CONNECTION, connected, context,
                          MHD_OPTION_CONNECTION_LIMIT, connections,
                          MHD_OPTION_CONNECTION_TIMEOUT, idle_seconds,
                          MHD_OPTION_CONNECTION_MEMORY_LIMIT, memory,
                          MHD_OPTION_UNESCAPE_CALLBACK, martlet_http_unescape, NULL,
                          MHD_OPTION_ARRAY, secret,
                          MHD_OPTION_END);
}

/* Variadic as well: the descriptor that is readable when MHD_run has something to do. */
static inline int martlet_http_poll_fd(struct MHD_Daemon *daemon) {
  const union MHD_DaemonInfo *found = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
  return found ? found->epoll_fd : -1;
}

/* Variadic as well: the port that the server got, or 0. */
static inline uint16_t martlet_http_port(struct MHD_Daemon *daemon) {
  const union MHD_DaemonInfo *found = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
  return found ? found->port : 0;
}

/* Variadic as well: the connection's socket, or -1. */
static inline int martlet_http_socket(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *found =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return found ? found->connect_fd : -1;
}

/* A macro with a cast that Swift does not import. */
static inline uint64_t martlet_http_size_unknown(void) { return MHD_SIZE_UNKNOWN; }
#endif
