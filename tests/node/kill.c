/*
 * Ends a process at an fsync, before it is done: preloaded below the program under test.
 *
 *   KILL_COUNT   a file with the number of fsyncs so far, of all processes that name it
 *   KILL_AT      the fsync at which the process is killed, counted from 1; 0 for none
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

static void count(void) {
    const char *path = getenv("KILL_COUNT"), *at = getenv("KILL_AT");
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
    count();
    return real(fd);
}

int fdatasync(int fd) {
    static int (*real)(int);
    if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    count();
    return real(fd);
}
