#ifndef MARTLET_CBROKERPORT_H
#define MARTLET_CBROKERPORT_H
#include <stdint.h>

#include "CBrokerIntake.h"

/* librdkafka's mock cluster listens on any free port and cannot be told which. After this call, the next bind(2) of
 * this thread to "any port" of an IPv4 address binds to `port` instead, or to any when that cannot be had; 0 takes a
 * call back. */
void martlet_bind_next_to(uint16_t port);

/* Why that port could not be had: an errno; 0 when it was, or when nothing has been bound since the call. */
int martlet_bind_failure(void);
#endif
