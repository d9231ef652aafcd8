#ifndef MARTLET_CBROKERINTAKE_H
#define MARTLET_CBROKERINTAKE_H
#include <stddef.h>
#include <stdint.h>

/* A request that is asked for, and its connection; in milliseconds of the monotonic clock. */
struct martlet_visit {
  int64_t now;
  /* When it was asked for first. */
  int64_t since;
  /* What the one who is asked last noted of the connection; 0 at first. */
  int64_t note;
};

/* How long a request of a mock cluster still has to wait, in milliseconds; 0: the cluster may take it now. It is asked for
 * Produce, Fetch, ListOffsets and Metadata requests before their last byte is taken. For one that waits it is asked
 * again when `martlet_requests_changed` was called and when its time is over. It may change the bytes of the body, and
 * the note. Until it answers 0, the connection's peer waits.
 *
 * `body` begins behind the fixed part of the header, with the client's name, and has `length` bytes. */
typedef int32_t (*martlet_admits)(
    void *context, int16_t kind, int16_t version, uint8_t *body, size_t length, struct martlet_visit *visit);

/* Has the requests that the calling thread reads admitted. Does nothing on a thread that is no mock cluster's, or that
 * is watched already. */
void martlet_watch_requests(martlet_admits admits, void *context);

/* Says that a request may be admitted now that was not before. On the thread of the mock cluster. */
void martlet_requests_changed(void);
#endif
