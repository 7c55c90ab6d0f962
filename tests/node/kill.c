/*
 * Ends a process at an fsync, or when it writes to a stream socket, before it is done: preloaded
 * below the program under test.
 *
 *   KILL_COUNT   a file with the number of calls so far, of all processes that name it
 *   KILL_AT      the call at which the process is killed, counted from 1; 0 for none
 *   KILL_CALL    "write" counts writes to stream sockets, which are those to PostgreSQL, and
 *                everything else fsyncs
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

static void count(const char *call) {
    const char *path = getenv("KILL_COUNT"), *at = getenv("KILL_AT"), *of = getenv("KILL_CALL");
    if (strcmp(of ? of : "fsync", call) != 0) return;
    char text[24] = {0};
    if (!path) return;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || flock(fd, LOCK_EX) != 0) abort();
    if (read(fd, text, sizeof text - 1) < 0) abort();
    long number = atol(text) + 1;
    int len = snprintf(text, sizeof text, "%ld", number);
    if (pwrite(fd, text, (size_t)len, 0) != len) abort();
    close(fd);
    if (at && number == atol(at)) kill(getpid(), SIGKILL);
}

int fsync(int fd) {
    static int (*real)(int);
    if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    count("fsync");
    return real(fd);
}

int fdatasync(int fd) {
    static int (*real)(int);
    if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    count("fsync");
    return real(fd);
}

static void count_stream(int fd) {
    int kind = 0;
    socklen_t len = sizeof kind;
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &kind, &len) == 0 && kind == SOCK_STREAM) count("write");
}

ssize_t write(int fd, const void *data, size_t len) {
    static ssize_t (*real)(int, const void *, size_t);
    if (!real) real = (ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    count_stream(fd);
    return real(fd, data, len);
}

ssize_t writev(int fd, const struct iovec *parts, int number) {
    static ssize_t (*real)(int, const struct iovec *, int);
    if (!real) real = (ssize_t (*)(int, const struct iovec *, int))dlsym(RTLD_NEXT, "writev");
    count_stream(fd);
    return real(fd, parts, number);
}

ssize_t send(int fd, const void *data, size_t len, int flags) {
    static ssize_t (*real)(int, const void *, size_t, int);
    if (!real) real = (ssize_t (*)(int, const void *, size_t, int))dlsym(RTLD_NEXT, "send");
    count_stream(fd);
    return real(fd, data, len, flags);
}
