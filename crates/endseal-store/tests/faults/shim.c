/*
 * A medium that fails, or that remembers: preloaded below a program under test, it stands between the
 * program and the system for all files below one directory.
 *
 *   FAULT_DIR     the directory, absolute; the name "ack" in it is never touched, see below
 *   FAULT_AT      fail the operation of that number, counted from 1
 *   FAULT_KIND    what is counted: "write" (write, truncate, rename, unlink), "sync", "any" (both),
 *                 "read", "open" (open, mkdir), "close", "all" (everything before), or "memory":
 *                 allocations of SQLite, wherever its files are
 *   FAULT_ERRNO   with which error
 *   FAULT_STICKY  "1": and all that come after it
 *   FAULT_COUNT   a file that gets the number of operations that were counted
 *   FAULT_LOG     a file that gets a record of everything that changes the directory
 *
 * A write of several bytes that fails has written half of them. A record is, little-endian,
 *
 *   kind (1) || inode (8) || offset (8) || length (8) || length bytes
 *
 *   W write    bytes            at an offset
 *   T truncate                  to an offset
 *   S sync
 *   F sync     that failed
 *   C create   path             what the path names from now on; also of a directory
 *   R rename   old \0 new
 *   U unlink   path
 *   A ack      bytes            what the program wrote to the file "ack": what it knows to be done
 *
 * One thread may use the files and another the file "ack": a record is appended by one call.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define FDS 4096
enum { OUTSIDE = 0, INSIDE = 1, ACK = 2 };

static char watched[FDS];
static char dir[4096];
static size_t dir_len;
static long at, counted;
static int kind_write = 1, kind_sync = 1, kind_read, kind_open, kind_close, kind_memory;
static int error_number = EIO, sticky, ready;
static int log_fd = -1, count_fd = -1;

static ssize_t (*real_read)(int, void *, size_t);
static ssize_t (*real_pread)(int, void *, size_t, off_t);
static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static int (*real_open)(const char *, int, ...);
static int (*real_openat)(int, const char *, int, ...);
static int (*real_close)(int);
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);
static int (*real_ftruncate)(int, off_t);
static int (*real_rename)(const char *, const char *);
static int (*real_unlink)(const char *);
static int (*real_mkdir)(const char *, mode_t);

static void find_allocations(void);

__attribute__((constructor)) static void start(void) {
    const char *text;
    if (ready) return;
    ready = 1;
    real_read = dlsym(RTLD_NEXT, "read");
    real_pread = dlsym(RTLD_NEXT, "pread64");
    real_write = dlsym(RTLD_NEXT, "write");
    real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
    real_open = dlsym(RTLD_NEXT, "open64");
    real_openat = dlsym(RTLD_NEXT, "openat64");
    real_close = dlsym(RTLD_NEXT, "close");
    real_fsync = dlsym(RTLD_NEXT, "fsync");
    real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
    real_ftruncate = dlsym(RTLD_NEXT, "ftruncate64");
    real_rename = dlsym(RTLD_NEXT, "rename");
    real_unlink = dlsym(RTLD_NEXT, "unlink");
    real_mkdir = dlsym(RTLD_NEXT, "mkdir");
    if ((text = getenv("FAULT_DIR")) && strlen(text) < sizeof dir) {
        strcpy(dir, text);
        dir_len = strlen(dir);
    }
    if ((text = getenv("FAULT_AT"))) at = atol(text);
    if ((text = getenv("FAULT_KIND"))) {
        int all = strcmp(text, "all") == 0, any = strcmp(text, "any") == 0;
        kind_write = all || any || strcmp(text, "write") == 0;
        kind_sync = all || any || strcmp(text, "sync") == 0;
        kind_read = all || strcmp(text, "read") == 0;
        kind_open = all || strcmp(text, "open") == 0;
        kind_close = all || strcmp(text, "close") == 0;
    }
    if ((text = getenv("FAULT_ERRNO"))) error_number = atoi(text);
    if ((text = getenv("FAULT_STICKY"))) sticky = text[0] == '1';
    if ((text = getenv("FAULT_LOG")))
        log_fd = real_open(text, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if ((text = getenv("FAULT_COUNT")))
        count_fd = real_open(text, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if ((text = getenv("FAULT_KIND")) && strcmp(text, "memory") == 0) {
        find_allocations();
        kind_memory = 1;
    }
}

/* Returns true if this operation must fail. */
static int fails(int is_counted) {
    char text[24];
    if (!is_counted) return 0;
    counted++;
    if (count_fd >= 0) real_pwrite(count_fd, text, snprintf(text, sizeof text, "%ld", counted), 0);
    if (at == 0) return 0;
    return counted == at || (sticky && counted > at);
}

/* Address ranges from which SQLite calls malloc and realloc. Only its allocations fail, because Rust
 * ends the process when one of its own fails. */
static struct { uintptr_t begin, end; } callers[2];

static int program(struct dl_phdr_info *info, size_t size, void *base) {
    (void)size;
    *(uintptr_t *)base = info->dlpi_addr;
    return 1;
}

static void find_allocations(void) {
    static const char *const names[] = {"sqlite3MemMalloc", "sqlite3MemRealloc"};
    struct stat status;
    uintptr_t base = 0;
    int found = 0, fd = real_open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0) abort();
    char *file = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (file == MAP_FAILED) abort();
    real_close(fd);
    dl_iterate_phdr(program, &base);
    const ElfW(Ehdr) *head = (const void *)file;
    const ElfW(Shdr) *sections = (const void *)(file + head->e_shoff);
    for (int i = 0; i < head->e_shnum; i++) {
        if (sections[i].sh_type != SHT_SYMTAB) continue;
        const ElfW(Sym) *symbols = (const void *)(file + sections[i].sh_offset);
        const char *text = file + sections[sections[i].sh_link].sh_offset;
        for (size_t n = 0; n < sections[i].sh_size / sizeof *symbols; n++)
            for (int name = 0; name < 2; name++)
                if (strcmp(text + symbols[n].st_name, names[name]) == 0) {
                    callers[name].begin = base + symbols[n].st_value;
                    callers[name].end = callers[name].begin + symbols[n].st_size;
                    found |= 1 << name;
                }
    }
    munmap(file, (size_t)status.st_size);
    if (found != 3) abort();
}

static int is_refused(const void *caller) {
    uintptr_t at_code = (uintptr_t)caller;
    if (!kind_memory) return 0;
    for (int i = 0; i < 2; i++)
        if (at_code > callers[i].begin && at_code <= callers[i].end) return fails(1);
    return 0;
}

extern void *__libc_malloc(size_t);
extern void *__libc_realloc(void *, size_t);

void *malloc(size_t len) {
    if (!is_refused(__builtin_return_address(0))) return __libc_malloc(len);
    errno = ENOMEM;
    return NULL;
}

void *realloc(void *old, size_t len) {
    if (!is_refused(__builtin_return_address(0))) return __libc_realloc(old, len);
    errno = ENOMEM;
    return NULL;
}

static int place(const char *path) {
    if (dir_len == 0 || strncmp(path, dir, dir_len) != 0) return OUTSIDE;
    if (path[dir_len] != '/' && path[dir_len] != 0) return OUTSIDE;
    return strcmp(path + dir_len, "/ack") == 0 ? ACK : INSIDE;
}

static int place_of(int fd) { return fd >= 0 && fd < FDS ? watched[fd] : OUTSIDE; }

static void put(uint64_t value, unsigned char *out) {
    for (int i = 0; i < 8; i++) out[i] = (unsigned char)(value >> (8 * i));
}

static void record(char kind, uint64_t inode, uint64_t offset, const void *bytes, uint64_t len) {
    unsigned char head[25];
    if (log_fd < 0) return;
    head[0] = (unsigned char)kind;
    put(inode, head + 1);
    put(offset, head + 9);
    put(len, head + 17);
    struct iovec parts[] = {{head, sizeof head}, {(void *)bytes, len}};
    if (writev(log_fd, parts, 2) != (ssize_t)(sizeof head + len)) abort();
}

static uint64_t inode(int fd) {
    struct stat status;
    return fstat(fd, &status) == 0 ? (uint64_t)status.st_ino : 0;
}

static int opened(int fd, const char *path, int flags) {
    if (fd < 0 || fd >= FDS) return fd;
    watched[fd] = (char)place(path);
    if (watched[fd] != INSIDE) return fd;
    /* Said of old files as well: who reads the log learns their inodes so. */
    record('C', inode(fd), 0, path, strlen(path));
    if (flags & O_TRUNC) record('T', inode(fd), 0, "", 0);
    return fd;
}

static int open_any(const char *path, int flags, mode_t mode) {
    start();
    if (place(path) == INSIDE && fails(kind_open)) {
        errno = error_number;
        return -1;
    }
    return opened(real_open(path, flags, mode), path, flags);
}

#define MODE(flags, mode)                      \
    mode_t mode = 0;                           \
    if ((flags) & (O_CREAT | O_TMPFILE)) {     \
        va_list list;                          \
        va_start(list, flags);                 \
        mode = (mode_t)va_arg(list, int);      \
        va_end(list);                          \
    }

int open(const char *path, int flags, ...) { MODE(flags, mode) return open_any(path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags, mode) return open_any(path, flags, mode); }

int openat(int at_fd, const char *path, int flags, ...) {
    MODE(flags, mode)
    start();
    if (place(path) == INSIDE && fails(kind_open)) {
        errno = error_number;
        return -1;
    }
    return opened(real_openat(at_fd, path, flags, mode), path, flags);
}
int openat64(int at_fd, const char *path, int flags, ...) {
    MODE(flags, mode)
    start();
    if (place(path) == INSIDE && fails(kind_open)) {
        errno = error_number;
        return -1;
    }
    return opened(real_openat(at_fd, path, flags, mode), path, flags);
}

int close(int fd) {
    start();
    int failed = place_of(fd) == INSIDE && fails(kind_close);
    if (fd >= 0 && fd < FDS) watched[fd] = OUTSIDE;
    /* It is closed in any case, as Linux does it. */
    int done = real_close(fd);
    if (!failed) return done;
    errno = error_number;
    return -1;
}

ssize_t read(int fd, void *bytes, size_t len) {
    start();
    if (place_of(fd) == INSIDE && fails(kind_read)) {
        errno = error_number;
        return -1;
    }
    return real_read(fd, bytes, len);
}

ssize_t pread64(int fd, void *bytes, size_t len, off_t offset) {
    start();
    if (place_of(fd) == INSIDE && fails(kind_read)) {
        errno = error_number;
        return -1;
    }
    return real_pread(fd, bytes, len, offset);
}
ssize_t pread(int fd, void *bytes, size_t len, off_t offset) {
    return pread64(fd, bytes, len, offset);
}

static ssize_t write_at(int fd, const void *bytes, size_t len, off_t offset) {
    ssize_t done;
    if (fails(kind_write)) {
        /* Half of it, as when a disk runs full in the middle. */
        if (len > 1 && real_pwrite(fd, bytes, len / 2, offset) > 0)
            record('W', inode(fd), (uint64_t)offset, bytes, len / 2);
        errno = error_number;
        return -1;
    }
    done = real_pwrite(fd, bytes, len, offset);
    if (done > 0) record('W', inode(fd), (uint64_t)offset, bytes, (uint64_t)done);
    return done;
}

ssize_t pwrite64(int fd, const void *bytes, size_t len, off_t offset) {
    start();
    if (place_of(fd) != INSIDE) return real_pwrite(fd, bytes, len, offset);
    return write_at(fd, bytes, len, offset);
}
ssize_t pwrite(int fd, const void *bytes, size_t len, off_t offset) {
    return pwrite64(fd, bytes, len, offset);
}

ssize_t write(int fd, const void *bytes, size_t len) {
    off_t offset;
    ssize_t done;
    start();
    if (place_of(fd) == ACK) record('A', 0, 0, bytes, len);
    if (place_of(fd) != INSIDE) return real_write(fd, bytes, len);
    offset = lseek(fd, 0, SEEK_CUR);
    done = write_at(fd, bytes, len, offset);
    if (done > 0) lseek(fd, offset + done, SEEK_SET);
    return done;
}

static int truncate_to(int fd, off_t len) {
    start();
    if (place_of(fd) != INSIDE) return real_ftruncate(fd, len);
    if (fails(kind_write)) {
        errno = error_number;
        return -1;
    }
    int done = real_ftruncate(fd, len);
    if (done == 0) record('T', inode(fd), (uint64_t)len, "", 0);
    return done;
}
int ftruncate64(int fd, off_t len) { return truncate_to(fd, len); }
int ftruncate(int fd, off_t len) { return truncate_to(fd, len); }

static int sync_with(int (*real)(int), int fd) {
    if (place_of(fd) != INSIDE) return real(fd);
    if (fails(kind_sync)) {
        record('F', inode(fd), 0, "", 0);
        errno = error_number;
        return -1;
    }
    int done = real(fd);
    if (done == 0) record('S', inode(fd), 0, "", 0);
    return done;
}
int fsync(int fd) {
    start();
    return sync_with(real_fsync, fd);
}
int fdatasync(int fd) {
    start();
    return sync_with(real_fdatasync, fd);
}

int rename(const char *from, const char *to) {
    char both[8200];
    size_t from_len = strlen(from), to_len = strlen(to);
    start();
    if (place(to) == OUTSIDE || from_len + to_len + 1 > sizeof both) return real_rename(from, to);
    if (fails(kind_write)) {
        errno = error_number;
        return -1;
    }
    int done = real_rename(from, to);
    memcpy(both, from, from_len + 1);
    memcpy(both + from_len + 1, to, to_len);
    if (done == 0) record('R', 0, 0, both, from_len + 1 + to_len);
    return done;
}

int unlink(const char *path) {
    start();
    if (place(path) != INSIDE) return real_unlink(path);
    if (fails(kind_write)) {
        errno = error_number;
        return -1;
    }
    int done = real_unlink(path);
    if (done == 0) record('U', 0, 0, path, strlen(path));
    return done;
}

int mkdir(const char *path, mode_t mode) {
    struct stat status;
    start();
    if (place(path) == INSIDE && fails(kind_open)) {
        errno = error_number;
        return -1;
    }
    int done = real_mkdir(path, mode);
    if (done == 0 && place(path) == INSIDE && stat(path, &status) == 0)
        record('C', (uint64_t)status.st_ino, 1, path, strlen(path));
    return done;
}
