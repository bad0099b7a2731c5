/*
 * Records, in order, what a process does with files of sealed runs: writes and syncs of an unfinished one, its rename,
 * and syncs of folders. One line each, to $RUN_TRACE. Loaded with LD_PRELOAD.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { FDS = 4096 };
static char names[FDS][256];
#define REAL(name) static __typeof__(name) *real; if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

static void note(const char *what, const char *name) {
  static int trace = -1;
  static int (*real)(const char *, int, ...);
  static ssize_t (*plain)(int, const void *, size_t);
  if (!real) real = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
  if (!plain) plain = (ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
  if (trace < 0 && getenv("RUN_TRACE")) trace = real(getenv("RUN_TRACE"), O_WRONLY | O_CREAT | O_APPEND, 0600);
  char line[400];
  int length = snprintf(line, sizeof line, "%s %s\n", what, name);
  if (trace >= 0) plain(trace, line, length);
}
static void opened(int fd, const char *path) {
  if (fd < 0 || fd >= FDS) return;
  const char *name = strrchr(path, '/'); name = name ? name + 1 : path;
  snprintf(names[fd], sizeof names[fd], "%s", name);
}
static int isRun(int fd) { return fd >= 0 && fd < FDS && strstr(names[fd], ".run.new") != 0; }

#define OPEN(name) int name(const char *path, int flags, ...) { \
  va_list rest; va_start(rest, flags); mode_t mode = va_arg(rest, mode_t); va_end(rest); \
  static int (*real)(const char *, int, ...); if (!real) real = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, #name); \
  int fd = real(path, flags, mode); opened(fd, path); return fd; }
OPEN(open)
OPEN(open64)
#define OPENAT(name) int name(int at, const char *path, int flags, ...) { \
  va_list rest; va_start(rest, flags); mode_t mode = va_arg(rest, mode_t); va_end(rest); \
  static int (*real)(int, const char *, int, ...); if (!real) real = (int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, #name); \
  int fd = real(at, path, flags, mode); opened(fd, path); return fd; }
OPENAT(openat)
OPENAT(openat64)
int close(int fd) { REAL(close); if (fd >= 0 && fd < FDS) names[fd][0] = 0; return real(fd); }
ssize_t write(int fd, const void *bytes, size_t length) { REAL(write); if (isRun(fd)) note("write", names[fd]); return real(fd, bytes, length); }
ssize_t writev(int fd, const struct iovec *parts, int count) { REAL(writev); if (isRun(fd)) note("write", names[fd]); return real(fd, parts, count); }
#define PWRITE(name, type) ssize_t name(int fd, const void *bytes, size_t length, type at) { \
  REAL(name); if (isRun(fd)) note("write", names[fd]); return real(fd, bytes, length, at); }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)
static void synced(int fd) {
  struct stat about;
  if (isRun(fd)) note("sync", names[fd]);
  else if (fd >= 0 && fd < FDS && fstat(fd, &about) == 0 && S_ISDIR(about.st_mode)) note("folder", names[fd]);
}
#define SYNC(name) int name(int fd) { REAL(name); int failed = real(fd); if (!failed) synced(fd); return failed; }
SYNC(fdatasync)
SYNC(fsync)
static void renamed(const char *from) { const char *name = strrchr(from, '/'); name = name ? name + 1 : from; if (strstr(name, ".run.new")) note("rename", name); }
int rename(const char *from, const char *to) { REAL(rename); renamed(from); return real(from, to); }
int renameat(int a, const char *from, int b, const char *to) { REAL(renameat); renamed(from); return real(a, from, b, to); }
static void removed(const char *path) { const char *name = strrchr(path, '/'); name = name ? name + 1 : path; size_t n = strlen(name); if (n > 4 && strcmp(name + n - 4, ".run") == 0) note("remove", name); }
int unlink(const char *path) { REAL(unlink); removed(path); return real(path); }
int unlinkat(int at, const char *path, int flags) { REAL(unlinkat); removed(path); return real(at, path, flags); }
