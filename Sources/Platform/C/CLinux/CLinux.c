#include "CLinux.h"

#include <pthread.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
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

void martlet_share_arena(void) { mallopt(M_ARENA_MAX, 1); }

_Thread_local struct martlet_hand martlet_hand;

static const int crashes[] = {SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGFPE, SIGABRT};
enum { crash_count = sizeof(crashes) / sizeof(crashes[0]) };
static struct sigaction before[crash_count];
static int note_file = -1;
static struct martlet_record (*describe_message)(const void *message);

/* Appends a number and a blank. */
static size_t append_number(char *line, size_t at, int64_t number) {
  char digits[20];
  size_t count = 0;
  uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
  if (number < 0) line[at++] = '-';
  do {
    digits[count++] = (char)('0' + rest % 10);
    rest /= 10;
  } while (rest > 0);
  while (count > 0) line[at++] = digits[--count];
  line[at++] = ' ';
  return at;
}

/* Only async-signal-safe calls: the thread may hold any lock, and its memory may be broken. */
static void note_crash(int signal) {
  int code = errno;
  struct martlet_hand hand = martlet_hand;
  /* A crash in here is not noted. */
  martlet_hand.message = NULL;
  martlet_hand.record.topic = NULL;
  for (int index = 0; index < crash_count; index++) sigaction(crashes[index], &before[index], NULL);
  struct martlet_record record = hand.message ? describe_message(hand.message) : hand.record;
  if (record.topic) {
    char line[384];
    size_t at = append_number(line, 0, signal);
    at = append_number(line, at, record.partition);
    at = append_number(line, at, record.offset);
    at = append_number(line, at, record.timestamp);
    /* A topic's name has 249 characters at most. */
    for (size_t index = 0; index < 249 && record.topic[index]; index++) line[at++] = record.topic[index];
    line[at++] = '\n';
    ssize_t ignored = write(note_file, line, at);
    (void)ignored;
  }
  errno = code;
  /* Waits until this returns, and then takes its course; a fault would also happen again. */
  raise(signal);
}

void martlet_note_crashes(int file, struct martlet_record (*describe)(const void *message)) {
  note_file = file;
  describe_message = describe;
  struct sigaction action;
  memset(&action, 0, sizeof(action));
  action.sa_handler = note_crash;
  /* An overflow of the stack leaves no room on it, where the thread has another one. */
  action.sa_flags = SA_ONSTACK;
  for (int index = 0; index < crash_count; index++) sigaction(crashes[index], &action, &before[index]);
}

#if defined(__x86_64__)
int martlet_has_crc32c(void) { return __builtin_cpu_supports("sse4.2") != 0; }

__attribute__((target("sse4.2"))) uint32_t martlet_crc32c(const void *bytes, size_t count) {
  const unsigned char *next = bytes;
  uint64_t sum = 0xFFFFFFFF;
  for (; count >= 8; count -= 8, next += 8) {
    uint64_t word;
    memcpy(&word, next, 8);
    sum = __builtin_ia32_crc32di(sum, word);
  }
  for (; count > 0; count--, next++) sum = __builtin_ia32_crc32qi((uint32_t)sum, *next);
  return ~(uint32_t)sum;
}
#else
int martlet_has_crc32c(void) { return 0; }

uint32_t martlet_crc32c(const void *bytes, size_t count) {
  (void)bytes;
  (void)count;
  return 0;
}
#endif
