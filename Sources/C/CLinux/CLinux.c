#include "CLinux.h"

#include <pthread.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

int martlet_accept(int listener) {
  return accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

int martlet_pipe(int ends[2], int flags) { return pipe2(ends, flags | O_CLOEXEC); }

void martlet_name_thread(const char *name) { pthread_setname_np(pthread_self(), name); }

const void *martlet_find(
    const void *bytes, size_t count, const void *wanted, size_t wanted_count) {
  return memmem(bytes, count, wanted, wanted_count);
}

/* Only async-signal-safe calls between fork and exec: other threads may hold any lock. */
static void become(
    const char *path, char *const *arguments, char *const *environment, int output, int holds_stop,
    int complaint, pid_t parent) {
  sigset_t held;
  sigemptyset(&held);
  if (holds_stop) {
    sigaddset(&held, SIGTERM);
    sigaddset(&held, SIGINT);
    sigaddset(&held, SIGHUP);
  }
  sigprocmask(SIG_SETMASK, &held, NULL);
  signal(SIGPIPE, SIG_DFL);
  /* A group of its own: Ctrl-C in a terminal reaches the parent alone, which ends its children in order. */
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  int input = open("/dev/null", O_RDONLY);
  if (input >= 0) dup2(input, STDIN_FILENO);
  if (output >= 0) {
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
  }
  /* The parent may have died before prctl. */
  if (getppid() == parent) execve(path, arguments, environment);
  int code = errno;
  ssize_t ignored = write(complaint, &code, sizeof(code));
  (void)ignored;
  _exit(127);
}

int martlet_spawn(
    const char *path, char *const *arguments, char *const *environment, int output, int holds_stop) {
  int ends[2];
  int code = 0;
  pid_t parent = getpid();
  /* Closed by a successful exec, so reading tells whether the program began. */
  if (pipe2(ends, O_CLOEXEC) != 0) return -1;
  pid_t child = fork();
  if (child == 0) {
    become(path, arguments, environment, output, holds_stop, ends[1], parent);
  }
  close(ends[1]);
  if (child > 0 && read(ends[0], &code, sizeof(code)) == sizeof(code)) {
    errno = code;
    child = -1;
  }
  code = errno;
  close(ends[0]);
  errno = code;
  return child;
}

void martlet_hide_memory(void) { prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }
