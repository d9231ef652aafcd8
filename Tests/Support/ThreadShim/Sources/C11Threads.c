// SPDX-License-Identifier: Apache-2.0
//
// C11 threads (threads.h) on top of POSIX threads, to be loaded before everything else under ThreadSanitizer.
//
// ThreadSanitizer sees pthread_create, pthread_mutex_lock and their like, but not thrd_create and mtx_lock,
// with which Debian's librdkafka is built: its threads would be unknown to it, and it crashes. glibc's types have
// the sizes of the POSIX ones, so each function hands its arguments over.
//
// The same for the part of Swift's Mutex that is not compiled into its users: the slow paths of taking and giving
// back a contended one, whose atomic operations ThreadSanitizer does not see, are announced to it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <threads.h>
#include <time.h>

_Static_assert(sizeof(mtx_t) >= sizeof(pthread_mutex_t), "a mutex does not fit");
_Static_assert(sizeof(cnd_t) >= sizeof(pthread_cond_t), "a condition does not fit");
_Static_assert(sizeof(thrd_t) == sizeof(pthread_t), "a thread does not fit");
_Static_assert(sizeof(tss_t) >= sizeof(pthread_key_t), "a key does not fit");
_Static_assert(sizeof(once_flag) >= sizeof(pthread_once_t), "a flag does not fit");

static int result(int error) {
  switch (error) {
    case 0: return thrd_success;
    case EBUSY: return thrd_busy;
    case ENOMEM: return thrd_nomem;
    case ETIMEDOUT: return thrd_timedout;
    default: return thrd_error;
  }
}

struct start {
  thrd_start_t function;
  void *argument;
};

static void *run(void *context) {
  struct start start = *(struct start *)context;
  free(context);
  return (void *)(intptr_t)start.function(start.argument);
}

int thrd_create(thrd_t *thread, thrd_start_t function, void *argument) {
  struct start *start = malloc(sizeof *start);
  if (start == NULL) return thrd_nomem;
  *start = (struct start){function, argument};
  int error = pthread_create((pthread_t *)thread, NULL, run, start);
  if (error != 0) free(start);
  return error == EAGAIN ? thrd_nomem : result(error);
}

int thrd_join(thrd_t thread, int *status) {
  void *value = NULL;
  int error = pthread_join((pthread_t)thread, &value);
  if (error == 0 && status != NULL) *status = (int)(intptr_t)value;
  return result(error);
}

int thrd_detach(thrd_t thread) { return result(pthread_detach((pthread_t)thread)); }
thrd_t thrd_current(void) { return (thrd_t)pthread_self(); }
int thrd_equal(thrd_t one, thrd_t other) { return pthread_equal((pthread_t)one, (pthread_t)other); }
void thrd_exit(int status) { pthread_exit((void *)(intptr_t)status); }
void thrd_yield(void) { sched_yield(); }

int mtx_init(mtx_t *mutex, int kind) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  if (kind & mtx_recursive) pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  int error = pthread_mutex_init((pthread_mutex_t *)mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
  return result(error);
}

void mtx_destroy(mtx_t *mutex) { pthread_mutex_destroy((pthread_mutex_t *)mutex); }
int mtx_lock(mtx_t *mutex) { return result(pthread_mutex_lock((pthread_mutex_t *)mutex)); }
int mtx_unlock(mtx_t *mutex) { return result(pthread_mutex_unlock((pthread_mutex_t *)mutex)); }
int mtx_trylock(mtx_t *mutex) { return result(pthread_mutex_trylock((pthread_mutex_t *)mutex)); }
int mtx_timedlock(mtx_t *restrict mutex, const struct timespec *restrict until) {
  return result(pthread_mutex_timedlock((pthread_mutex_t *)mutex, until));
}

int cnd_init(cnd_t *condition) { return result(pthread_cond_init((pthread_cond_t *)condition, NULL)); }
void cnd_destroy(cnd_t *condition) { pthread_cond_destroy((pthread_cond_t *)condition); }
int cnd_signal(cnd_t *condition) { return result(pthread_cond_signal((pthread_cond_t *)condition)); }
int cnd_broadcast(cnd_t *condition) {
  return result(pthread_cond_broadcast((pthread_cond_t *)condition));
}
int cnd_wait(cnd_t *condition, mtx_t *mutex) {
  return result(pthread_cond_wait((pthread_cond_t *)condition, (pthread_mutex_t *)mutex));
}
int cnd_timedwait(cnd_t *restrict condition, mtx_t *restrict mutex, const struct timespec *restrict until) {
  return result(
    pthread_cond_timedwait((pthread_cond_t *)condition, (pthread_mutex_t *)mutex, until));
}

int tss_create(tss_t *key, tss_dtor_t destructor) {
  return result(pthread_key_create((pthread_key_t *)key, destructor));
}
void tss_delete(tss_t key) { pthread_key_delete((pthread_key_t)key); }
void *tss_get(tss_t key) { return pthread_getspecific((pthread_key_t)key); }
int tss_set(tss_t key, void *value) { return result(pthread_setspecific((pthread_key_t)key, value)); }

void call_once(once_flag *flag, void (*function)(void)) {
  pthread_once((pthread_once_t *)flag, function);
}

#define SWIFT_SELF __attribute__((swift_context))
#define LOCK_SLOW "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK_SLOW "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

// ThreadSanitizer's, in the test program.
void __tsan_acquire(void *address) __attribute__((weak));
void __tsan_release(void *address) __attribute__((weak));

__attribute__((swiftcall)) void lock_slow(uint32_t thread, SWIFT_SELF void *mutex) __asm__(LOCK_SLOW);
__attribute__((swiftcall)) void unlock_slow(SWIFT_SELF void *mutex) __asm__(UNLOCK_SLOW);

__attribute__((swiftcall)) void lock_slow(uint32_t thread, SWIFT_SELF void *mutex) {
  typedef __attribute__((swiftcall)) void (*function)(uint32_t, SWIFT_SELF void *);
  function original = (function)dlsym(RTLD_NEXT, LOCK_SLOW);
  original(thread, mutex);
  if (__tsan_acquire) __tsan_acquire(mutex);
}

__attribute__((swiftcall)) void unlock_slow(SWIFT_SELF void *mutex) {
  typedef __attribute__((swiftcall)) void (*function)(SWIFT_SELF void *);
  function original = (function)dlsym(RTLD_NEXT, UNLOCK_SLOW);
  if (__tsan_release) __tsan_release(mutex);
  original(mutex);
}
