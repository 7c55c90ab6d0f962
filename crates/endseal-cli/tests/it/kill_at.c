/*
 * Kills its process at a chosen moment, as a power failure or the system would: preloaded (LD_PRELOAD)
 * by killed_at_the_end.rs and sessions_killed.rs, so that the program itself needs no hook for it.
 *
 * KILL_AT=CALL:N:before or CALL:N:after, beside the process's Nth call of one of the functions below.
 * FAIL=fsync:N makes the Nth fsync fail.
 * WITHOUT=unnamed hides what files without a name need; WITHOUT=unnamed,links refuses hard links, too.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int without(const char *what) {
    const char *value = getenv("WITHOUT");
    return value != NULL && strstr(value, what) != NULL;
}

static void at(const char *call, int number, const char *when) {
    const char *moment = getenv("KILL_AT");
    char own[64];
    snprintf(own, sizeof own, "%s:%d:%s", call, number, when);
    if (moment != NULL && strcmp(moment, own) == 0) {
        kill(getpid(), SIGKILL);
        for (;;) pause();
    }
}

static int fails(const char *call, int number) {
    const char *failing = getenv("FAIL");
    char own[64];
    snprintf(own, sizeof own, "%s:%d", call, number);
    return failing != NULL && strcmp(failing, own) == 0;
}

#define WATCH(type, name, parameters, arguments, instead)                        \
    type name parameters {                                                       \
        static int count;                                                        \
        int number = __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);            \
        type(*real) parameters = (type(*) parameters)dlsym(RTLD_NEXT, #name);    \
        at(#name, number, "before");                                             \
        instead;                                                                 \
        type result = real arguments;                                            \
        int error = errno;                                                       \
        at(#name, number, "after");                                              \
        errno = error;                                                           \
        return result;                                                           \
    }

WATCH(int, fsync, (int file), (file),
      if (fails("fsync", number)) {
          errno = EIO;
          return -1;
      })
WATCH(int, fdatasync, (int file), (file), )
WATCH(int, unlink, (const char *path), (path), )
WATCH(int, linkat, (int from, const char *old, int to, const char *new, int flags),
      (from, old, to, new, flags),
      if (without("links")) {
          errno = EPERM;
          return -1;
      })
WATCH(ssize_t, sendmsg, (int socket, const struct msghdr *message, int flags),
      (socket, message, flags), )
WATCH(int, statx, (int folder, const char *path, int flags, unsigned mask, void *out),
      (folder, path, flags, mask, out),
      if (path != NULL && without("unnamed") && strcmp(path, "/proc/self/fd") == 0) {
          errno = ENOENT;
          return -1;
      })
