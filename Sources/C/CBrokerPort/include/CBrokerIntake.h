#ifndef MARTLET_CBROKERINTAKE_H
#define MARTLET_CBROKERINTAKE_H
#include <stddef.h>
#include <stdint.h>

/* Whether a mock cluster may take a request now. It is asked for Produce, Fetch, ListOffsets and Metadata requests
 * before their last byte is taken, and again for one that waits; it may change the bytes of the body. Until it answers other than 0, the
 * connection's peer waits.
 *
 * `body` begins behind the fixed part of the header, with the client's name, and has `length` bytes. */
typedef int (*martlet_admits)(void *context, int16_t kind, int16_t version, uint8_t *body, size_t length);

/* Has the requests that the calling thread reads admitted. Does nothing on a thread that is no mock cluster's, or that
 * is watched already. */
void martlet_watch_requests(martlet_admits admits, void *context);
#endif
