/*
 * Records, in order, what a process asks of its disk: every write to an LMDB file (`data.mdb`, `documents.mdb`), every sync of one with its begin
 * and end, and every line written to a file named `acknowledged`. The test replays a prefix of this trace to build the
 * file that a power cut at that moment could have left. Loaded with LD_PRELOAD; the trace goes to $DISK_TRACE.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

enum { FDS = 4096, DATA = 1, DATA_SYNCHRONOUS = 2, ACKNOWLEDGED = 3 };
static unsigned char role[FDS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int trace = -1;
static uint32_t syncs = 0;

#define REAL(name) static __typeof__(name) *real; if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

static ssize_t plain_write(int fd, const void *at, size_t length) {
  static ssize_t (*real)(int, const void *, size_t);
  if (!real) real = (ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
  return real(fd, at, length);
}
/* [kind u8][offset u64][length u32][bytes] */
static void note(char kind, uint64_t offset, const void *bytes, uint32_t length) {
  pthread_mutex_lock(&lock);
  if (trace < 0) {
    const char *path = getenv("DISK_TRACE");
    static int (*real)(const char *, int, ...);
    if (!real) real = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
    if (path) trace = real(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
  }
  if (trace >= 0) {
    char head[13];
    head[0] = kind; memcpy(head + 1, &offset, 8); memcpy(head + 9, &length, 4);
    plain_write(trace, head, 13);
    if (length && bytes) plain_write(trace, bytes, length);
  }
  pthread_mutex_unlock(&lock);
}
static void opened(int fd, const char *path, int flags) {
  if (fd < 0 || fd >= FDS) return;
  const char *name = strrchr(path, '/'); name = name ? name + 1 : path;
  role[fd] = strcmp(name, "acknowledged") == 0 ? ACKNOWLEDGED : strcmp(name, "data.mdb") != 0 && strcmp(name, "documents.mdb") != 0 ? 0
    : flags & O_DSYNC ? DATA_SYNCHRONOUS : DATA;
}
static char kind_of(int fd) { return fd < 0 || fd >= FDS ? 0 : role[fd] == DATA ? 'W' : role[fd] == DATA_SYNCHRONOUS ? 'D' : role[fd] == ACKNOWLEDGED ? 'A' : 0; }

#define OPEN(name) int name(const char *path, int flags, ...) { \
  va_list rest; va_start(rest, flags); mode_t mode = va_arg(rest, mode_t); va_end(rest); \
  static int (*real)(const char *, int, ...); if (!real) real = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, #name); \
  int fd = real(path, flags, mode); opened(fd, path, flags); return fd; }
OPEN(open)
OPEN(open64)
#define OPENAT(name) int name(int at, const char *path, int flags, ...) { \
  va_list rest; va_start(rest, flags); mode_t mode = va_arg(rest, mode_t); va_end(rest); \
  static int (*real)(int, const char *, int, ...); if (!real) real = (int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, #name); \
  int fd = real(at, path, flags, mode); opened(fd, path, flags); return fd; }
OPENAT(openat)
OPENAT(openat64)
int close(int fd) { REAL(close); if (fd >= 0 && fd < FDS) role[fd] = 0; return real(fd); }

ssize_t write(int fd, const void *bytes, size_t length) {
  char kind = kind_of(fd);
  if (kind == 'A') note('A', 0, bytes, length);
  off_t at = kind && kind != 'A' ? lseek(fd, 0, SEEK_CUR) : 0;
  ssize_t done = plain_write(fd, bytes, length);
  if (kind && kind != 'A' && done > 0) note(kind, at, bytes, done);
  return done;
}
#define PWRITE(name, type) ssize_t name(int fd, const void *bytes, size_t length, type at) { \
  REAL(name); ssize_t done = real(fd, bytes, length, at); char kind = kind_of(fd); \
  if (kind && done > 0) note(kind, at, bytes, done); return done; }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)
static void vector(char kind, const struct iovec *parts, int count, uint64_t at, ssize_t done) {
  for (int i = 0; i < count && done > 0; i++) {
    size_t length = parts[i].iov_len < (size_t)done ? parts[i].iov_len : (size_t)done;
    note(kind, at, parts[i].iov_base, length); at += length; done -= length;
  }
}
ssize_t writev(int fd, const struct iovec *parts, int count) {
  REAL(writev); char kind = kind_of(fd); off_t at = kind ? lseek(fd, 0, SEEK_CUR) : 0;
  ssize_t done = real(fd, parts, count); if (kind) vector(kind, parts, count, at, done); return done;
}
#define PWRITEV(name, type) ssize_t name(int fd, const struct iovec *parts, int count, type at) { \
  REAL(name); ssize_t done = real(fd, parts, count, at); char kind = kind_of(fd); \
  if (kind) vector(kind, parts, count, at, done); return done; }
PWRITEV(pwritev, off_t)
PWRITEV(pwritev64, off64_t)
#define SYNC(name) int name(int fd) { REAL(name); char kind = kind_of(fd); if (!kind || kind == 'A') return real(fd); \
  uint32_t id = __atomic_add_fetch(&syncs, 1, __ATOMIC_SEQ_CST); note('B', id, 0, 0); \
  int failed = real(fd); if (!failed) note('E', id, 0, 0); return failed; }
SYNC(fdatasync)
SYNC(fsync)
int msync(void *at, size_t length, int flags) { REAL(msync); int failed = real(at, length, flags); note('M', 0, 0, 0); return failed; }
