// SPDX-License-Identifier: Apache-2.0
//
// Counts heap allocations by thread and by the module (executable or shared library) whose code asked
// for them. benchmarks/guard builds it as a shared library and puts it in front of a program with
// LD_PRELOAD; the counts are in the file that ALLOCATION_COUNTS names, which both sides map, so the
// guard reads them while the program runs and what start-up allocates does not count.
//
// malloc, calloc, aligned_alloc, memalign and posix_memalign count as one allocation each, and so does
// realloc, of a null pointer or not: it may move the block. free does not count.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

// The layout of the file; benchmarks/guard knows it too.
enum { maximumModules = 64, maximumThreads = 128, nameBytes = 64 };

struct Counts {
  // Module 0 is "other": code that belongs to no module of start-up.
  char modules[maximumModules][nameBytes];
  // Thread ids; the last row is for all threads that found no row of their own.
  _Atomic int64_t threads[maximumThreads];
  _Atomic int64_t allocations[maximumThreads][maximumModules];
  _Atomic int64_t bytes[maximumThreads][maximumModules];
};

struct Range {
  uintptr_t start, end;
  int module;
};

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

static struct Counts *counts;
static struct Range ranges[maximumModules];
static int rangeCount;
static int moduleCount = 1;
static _Atomic int threadCount;
// One past the thread's row; 0 before it has one.
static _Thread_local int row __attribute__((tls_model("initial-exec")));

// Notes the executable code of one module.
static int addModule(struct dl_phdr_info *module, size_t size, void *context) {
  (void)size;
  (void)context;
  if (moduleCount == maximumModules) return 1;
  int isNamed = 0;
  for (int i = 0; i < module->dlpi_phnum; i++) {
    const ElfW(Phdr) *part = &module->dlpi_phdr[i];
    if (part->p_type != PT_LOAD || !(part->p_flags & PF_X) || rangeCount == maximumModules) continue;
    uintptr_t start = module->dlpi_addr + part->p_vaddr;
    ranges[rangeCount++] = (struct Range){start, start + part->p_memsz, moduleCount};
    isNamed = 1;
  }
  if (!isNamed) return 0;
  const char *slash = strrchr(module->dlpi_name, '/');
  const char *name = slash ? slash + 1 : module->dlpi_name;
  // The executable has an empty name.
  strncpy(counts->modules[moduleCount++], *name ? name : "executable", nameBytes - 1);
  return 0;
}

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("ALLOCATION_COUNTS");
  if (!path) return;
  int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || ftruncate(file, sizeof(struct Counts)) != 0) abort();
  void *memory = mmap(NULL, sizeof(struct Counts), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) abort();
  struct Counts *mapped = memory;
  strcpy(mapped->modules[0], "other");
  counts = mapped;
  dl_iterate_phdr(addModule, NULL);
}

static int moduleOf(uintptr_t code) {
  for (int i = 0; i < rangeCount; i++) {
    if (code >= ranges[i].start && code < ranges[i].end) return ranges[i].module;
  }
  return 0;
}

static void count(size_t bytes, void *caller) {
  if (!counts) return;
  if (row == 0) {
    row = 1 + atomic_fetch_add(&threadCount, 1);
    if (row > maximumThreads) row = maximumThreads;
    atomic_store(&counts->threads[row - 1], syscall(SYS_gettid));
  }
  int module = moduleOf((uintptr_t)caller);
  atomic_fetch_add_explicit(&counts->allocations[row - 1][module], 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&counts->bytes[row - 1][module], (int64_t)bytes, memory_order_relaxed);
}

void *malloc(size_t size) {
  count(size, __builtin_return_address(0));
  return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
  count(number * size, __builtin_return_address(0));
  return __libc_calloc(number, size);
}

void *realloc(void *block, size_t size) {
  count(size, __builtin_return_address(0));
  return __libc_realloc(block, size);
}

void *memalign(size_t alignment, size_t size) {
  count(size, __builtin_return_address(0));
  return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  count(size, __builtin_return_address(0));
  return __libc_memalign(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size) {
  if (alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0 || alignment == 0) {
    return EINVAL;
  }
  count(size, __builtin_return_address(0));
  *block = __libc_memalign(alignment, size);
  return *block ? 0 : ENOMEM;
}
