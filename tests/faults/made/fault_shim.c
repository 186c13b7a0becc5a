/* Lets the n-th file operation below a folder fail, or be the last of its process group.

Loaded by LD_PRELOAD, it wraps the C library's functions that change files, so that it sees what Python, Arrow,
polars and zstd write alike. Settings come from the environment and from faults_set():

    FAULTS_FOLDER   operations on paths below it are counted
    FAULTS_COUNT    a file of eight bytes, shared by all processes: how many operations there were
    FAULTS_AT       the number of the operation at which something happens, from 1; 0: none
    FAULTS_THEN     an errno; or -1: the process group is killed by SIGKILL
    FAULTS_ALWAYS   1: every later operation of the kind that needs room (`full`) or that changes anything (`dead`)
                    fails as well; 2: as 1, and only operations that need room are hit
    FAULTS_LOG      a file that a line is appended to for every operation: its name and its path

A write that is hit writes half of its bytes first: disks fill up in the middle of a write.
*/
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static char folder[PATH_MAX];
static long at, then_errno, always;
static volatile long *count;
static int log_fd = -1;

#define REAL(type, name, ...) \
    static type (*real)(__VA_ARGS__); \
    if (!real) real = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

void faults_set(const char *below, const char *counter, long n, long then, long all, const char *log) {
    at = 0;
    folder[0] = 0;
    if (log_fd >= 0) syscall(SYS_close, log_fd);
    log_fd = -1;
    if (!below || !counter) return;
    int fd = syscall(SYS_openat, AT_FDCWD, counter, O_RDWR | O_CLOEXEC, 0);
    if (fd < 0) return;
    count = mmap(NULL, sizeof(long), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    syscall(SYS_close, fd);
    if (log && *log) {
        int made = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
        if (made >= 0) {
            /* Out of the way of programs that close low numbers. */
            log_fd = fcntl(made, F_DUPFD_CLOEXEC, 900);
            syscall(SYS_close, made);
        }
    }
    strncpy(folder, below, sizeof folder - 1);
    then_errno = then;
    always = all;
    at = n;
}

__attribute__((constructor)) static void begin(void) {
    const char *n = getenv("FAULTS_AT"), *then = getenv("FAULTS_THEN"), *all = getenv("FAULTS_ALWAYS");
    faults_set(getenv("FAULTS_FOLDER"), getenv("FAULTS_COUNT"), n ? atol(n) : 0, then ? atol(then) : 0,
               all ? atol(all) : 0, getenv("FAULTS_LOG"));
}

/* Whether a path is below the folder; `whole` gets it, absolute. */
static int below(int dir, const char *path, char *whole) {
    if (!folder[0] || !path) return 0;
    if (path[0] == '/') {
        snprintf(whole, PATH_MAX, "%s", path);
    } else {
        char base[PATH_MAX];
        if (dir == AT_FDCWD) {
            if (syscall(SYS_getcwd, base, sizeof base) < 0) return 0;
        } else {
            char link[64];
            snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
            ssize_t size = syscall(SYS_readlinkat, AT_FDCWD, link, base, sizeof base - 1);
            if (size < 0) return 0;
            base[size] = 0;
        }
        if (snprintf(whole, PATH_MAX, "%s/%s", base, path) >= PATH_MAX) return 0;
    }
    size_t size = strlen(folder);
    return !strncmp(whole, folder, size) && (whole[size] == '/' || !whole[size]);
}

static int below_fd(int fd, char *whole) {
    if (!folder[0] || fd < 0) return 0;
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = syscall(SYS_readlinkat, AT_FDCWD, link, whole, PATH_MAX - 1);
    if (size < 0) return 0;
    whole[size] = 0;
    size_t length = strlen(folder);
    return !strncmp(whole, folder, length) && (whole[length] == '/' || !whole[length]);
}

/* Counts an operation. 0: let it be done; 1: it fails, errno is set. `half` is done first where something happens. */
static int hit(const char *name, const char *path, int room, void (*half)(void *), void *what) {
    if (always == 2 && !room) return 0;
    long number = __sync_add_and_fetch(count, 1);
    if (log_fd >= 0) {
        char line[PATH_MAX + 64];
        int size = snprintf(line, sizeof line, "%s %s\n", name, path);
        if (size > 0) syscall(SYS_write, log_fd, line, (size_t)size);
    }
    if (!at || number < at || (number > at && !always)) return 0;
    if (half) half(what);
    if (then_errno < 0) {
        kill(0, SIGKILL);
        for (;;) pause();
    }
    errno = (int)then_errno;
    return 1;
}

#define HIT(name, path, room) hit(name, path, room, NULL, NULL)

struct bytes { int fd; const void *data; size_t size; off_t offset; };

static void write_half(void *what) {
    struct bytes *some = what;
    if (some->size < 2) return;
    if (some->offset < 0) syscall(SYS_write, some->fd, some->data, some->size / 2);
    else syscall(SYS_pwrite64, some->fd, some->data, some->size / 2, some->offset);
}

static int writes(int flags) { return (flags & O_ACCMODE) != O_RDONLY || (flags & O_CREAT); }

#define OPEN(name, label) \
    int name(const char *path, int flags, ...) { \
        REAL(int, #name, const char *, int, ...); \
        mode_t mode = 0; \
        if (flags & (O_CREAT | __O_TMPFILE)) { va_list more; va_start(more, flags); mode = va_arg(more, mode_t); va_end(more); } \
        char whole[PATH_MAX]; \
        if (writes(flags) && below(AT_FDCWD, path, whole) && HIT("open", whole, flags & O_CREAT)) return -1; \
        return real(path, flags, mode); \
    }
OPEN(open, "open")
OPEN(open64, "open")

#define OPENAT(name) \
    int name(int dir, const char *path, int flags, ...) { \
        REAL(int, #name, int, const char *, int, ...); \
        mode_t mode = 0; \
        if (flags & (O_CREAT | __O_TMPFILE)) { va_list more; va_start(more, flags); mode = va_arg(more, mode_t); va_end(more); } \
        char whole[PATH_MAX]; \
        if (writes(flags) && below(dir, path, whole) && HIT("open", whole, flags & O_CREAT)) return -1; \
        return real(dir, path, flags, mode); \
    }
OPENAT(openat)
OPENAT(openat64)

#define FOPEN(name) \
    FILE *name(const char *path, const char *mode) { \
        REAL(FILE *, #name, const char *, const char *); \
        char whole[PATH_MAX]; \
        if (strpbrk(mode, "wa+") && below(AT_FDCWD, path, whole) && HIT("open", whole, 1)) return NULL; \
        return real(path, mode); \
    }
FOPEN(fopen)
FOPEN(fopen64)

ssize_t write(int fd, const void *data, size_t size) {
    REAL(ssize_t, "write", int, const void *, size_t);
    char whole[PATH_MAX];
    struct bytes some = {fd, data, size, -1};
    if (below_fd(fd, whole) && hit("write", whole, 1, write_half, &some)) return -1;
    return real(fd, data, size);
}

#define PWRITE(name) \
    ssize_t name(int fd, const void *data, size_t size, off_t offset) { \
        REAL(ssize_t, #name, int, const void *, size_t, off_t); \
        char whole[PATH_MAX]; \
        struct bytes some = {fd, data, size, offset}; \
        if (below_fd(fd, whole) && hit("write", whole, 1, write_half, &some)) return -1; \
        return real(fd, data, size, offset); \
    }
PWRITE(pwrite)
PWRITE(pwrite64)

ssize_t writev(int fd, const struct iovec *parts, int number) {
    REAL(ssize_t, "writev", int, const struct iovec *, int);
    char whole[PATH_MAX];
    if (below_fd(fd, whole) && HIT("write", whole, 1)) return -1;
    return real(fd, parts, number);
}

ssize_t sendfile(int out, int in, off_t *offset, size_t size) {
    REAL(ssize_t, "sendfile", int, int, off_t *, size_t);
    char whole[PATH_MAX];
    if (below_fd(out, whole) && HIT("write", whole, 1)) return -1;
    return real(out, in, offset, size);
}

ssize_t copy_file_range(int in, off64_t *from, int out, off64_t *to, size_t size, unsigned int flags) {
    REAL(ssize_t, "copy_file_range", int, off64_t *, int, off64_t *, size_t, unsigned int);
    char whole[PATH_MAX];
    if (below_fd(out, whole) && HIT("write", whole, 1)) return -1;
    return real(in, from, out, to, size, flags);
}

#define ON_FD(name, label, room) \
    int name(int fd) { \
        REAL(int, #name, int); \
        char whole[PATH_MAX]; \
        if (below_fd(fd, whole) && HIT(label, whole, room)) return -1; \
        return real(fd); \
    }
ON_FD(fsync, "fsync", 1)
ON_FD(fdatasync, "fsync", 1)

int close(int fd) {
    REAL(int, "close", int);
    char whole[PATH_MAX];
    if (folder[0] && fd >= 0) {
        int flags = fcntl(fd, F_GETFL);
        if (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY && below_fd(fd, whole) && HIT("close", whole, 1)) {
            int kept = errno;
            real(fd); /* Linux gives the number back whatever close says. */
            errno = kept;
            return -1;
        }
    }
    return real(fd);
}

#define TRUNCATE(name) \
    int name(int fd, off_t size) { \
        REAL(int, #name, int, off_t); \
        char whole[PATH_MAX]; \
        if (below_fd(fd, whole) && HIT("truncate", whole, 1)) return -1; \
        return real(fd, size); \
    }
TRUNCATE(ftruncate)
TRUNCATE(ftruncate64)

int posix_fallocate(int fd, off_t offset, off_t size) {
    REAL(int, "posix_fallocate", int, off_t, off_t);
    char whole[PATH_MAX];
    if (below_fd(fd, whole) && HIT("truncate", whole, 1)) return errno;
    return real(fd, offset, size);
}

int truncate(const char *path, off_t size) {
    REAL(int, "truncate", const char *, off_t);
    char whole[PATH_MAX];
    if (below(AT_FDCWD, path, whole) && HIT("truncate", whole, 1)) return -1;
    return real(path, size);
}

int rename(const char *from, const char *to) {
    REAL(int, "rename", const char *, const char *);
    char whole[PATH_MAX];
    if (below(AT_FDCWD, to, whole) && HIT("rename", whole, 0)) return -1;
    return real(from, to);
}

int renameat(int from_dir, const char *from, int to_dir, const char *to) {
    REAL(int, "renameat", int, const char *, int, const char *);
    char whole[PATH_MAX];
    if (below(to_dir, to, whole) && HIT("rename", whole, 0)) return -1;
    return real(from_dir, from, to_dir, to);
}

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned int flags) {
    REAL(int, "renameat2", int, const char *, int, const char *, unsigned int);
    char whole[PATH_MAX];
    if (below(to_dir, to, whole) && HIT("rename", whole, 0)) return -1;
    return real(from_dir, from, to_dir, to, flags);
}

int link(const char *from, const char *to) {
    REAL(int, "link", const char *, const char *);
    char whole[PATH_MAX];
    if (below(AT_FDCWD, to, whole) && HIT("link", whole, 1)) return -1;
    return real(from, to);
}

int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags) {
    REAL(int, "linkat", int, const char *, int, const char *, int);
    char whole[PATH_MAX];
    if (below(to_dir, to, whole) && HIT("link", whole, 1)) return -1;
    return real(from_dir, from, to_dir, to, flags);
}

int symlink(const char *target, const char *path) {
    REAL(int, "symlink", const char *, const char *);
    char whole[PATH_MAX];
    if (below(AT_FDCWD, path, whole) && HIT("link", whole, 1)) return -1;
    return real(target, path);
}

int unlink(const char *path) {
    REAL(int, "unlink", const char *);
    char whole[PATH_MAX];
    if (below(AT_FDCWD, path, whole) && HIT("unlink", whole, 0)) return -1;
    return real(path);
}

int unlinkat(int dir, const char *path, int flags) {
    REAL(int, "unlinkat", int, const char *, int);
    char whole[PATH_MAX];
    if (below(dir, path, whole) && HIT(flags & AT_REMOVEDIR ? "rmdir" : "unlink", whole, 0)) return -1;
    return real(dir, path, flags);
}

int rmdir(const char *path) {
    REAL(int, "rmdir", const char *);
    char whole[PATH_MAX];
    if (below(AT_FDCWD, path, whole) && HIT("rmdir", whole, 0)) return -1;
    return real(path);
}

int mkdir(const char *path, mode_t mode) {
    REAL(int, "mkdir", const char *, mode_t);
    char whole[PATH_MAX];
    if (below(AT_FDCWD, path, whole) && HIT("mkdir", whole, 1)) return -1;
    return real(path, mode);
}

int mkdirat(int dir, const char *path, mode_t mode) {
    REAL(int, "mkdirat", int, const char *, mode_t);
    char whole[PATH_MAX];
    if (below(dir, path, whole) && HIT("mkdir", whole, 1)) return -1;
    return real(dir, path, mode);
}
