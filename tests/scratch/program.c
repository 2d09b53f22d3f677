/* program.c - functions of the C library that Python does not call. Run in a user's folder, under
 * the view, by run.py: scratch_program FOLDER. Each line that it prints is a failure.
 */
#define _GNU_SOURCE /* scandirat, nftw, get_current_dir_name, renameat2 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int n_failures;

static void need(bool condition, const char *what) {
    if (!condition) {
        printf("%s\n", what);
        n_failures++;
    }
}

static bool has_text(const char *path, const char *expected) {
    char text[256] = "";
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    return strcmp(text, expected) == 0;
}

static void put(const char *path, const char *mode, const char *text) {
    FILE *file = fopen64(path, mode);
    need(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0, path);
}

static void streams(void) {
    put("kept/file", "a", "+a");
    need(has_text("kept/file", "kept+a"), "fopen a");
    put("kept/file", "w", "w");
    need(has_text("kept/file", "w"), "fopen w");
    put("fresh", "wx", "x");
    need(fopen("fresh", "wx") == NULL, "fopen wx of a file that is there");
    FILE *file = fopen("fresh", "r+");
    need(file != NULL && fputs("y", file) >= 0, "fopen r+");
    file = freopen("reopened", "w", file);
    need(file != NULL && fputs("reopened", file) >= 0 && fclose(file) == 0, "freopen");
    need(has_text("fresh", "y") && has_text("reopened", "reopened"), "freopen's files");
    char name[] = "made_XXXXXX.tmp";
    int fd = mkostemps(name, 4, O_CLOEXEC);
    need(fd >= 0 && write(fd, "t", 1) == 1 && close(fd) == 0 && has_text(name, "t"), "mkostemps");
    need(remove(name) == 0 && access(name, F_OK) != 0, "remove");
}

static int named(const struct dirent *row) {
    return row->d_name[0] != '.';
}

static int n_visited;
static int visit(const char *path, const struct stat *status, int kind, struct FTW *at) {
    (void)status;
    n_visited += strcmp(path + at->base, "added") == 0 && kind == FTW_F ? 100 : 1;
    return 0;
}

static void folders(void) {
    struct dirent **rows = NULL;
    glob_t found;
    put("data/added", "w", "1");
    need(unlink("data/one") == 0, "unlink");
    int n = scandir("data", &rows, named, alphasort);
    need(n == 2 && strcmp(rows[0]->d_name, "added") == 0 && strcmp(rows[1]->d_name, "sub") == 0,
         "scandir");
    need(glob("data/*", 0, NULL, &found) == 0 && found.gl_pathc == 2 &&
             strcmp(found.gl_pathv[0], "data/added") == 0,
         "glob");
    globfree(&found);
    need(nftw("data", visit, 10, FTW_PHYS) == 0 && n_visited == 103, "nftw");
    DIR *folder = opendir("data");
    need(folder != NULL && readdir(folder) != NULL, "opendir");
    put("data/later", "w", "2");
    rewinddir(folder);
    int n_rows = 0;
    long at = 0;
    while (readdir(folder) != NULL) {
        at = ++n_rows == 2 ? telldir(folder) : at;
    }
    need(n_rows == 5, "rewinddir sees what came later");
    seekdir(folder, at);
    need(readdir(folder) != NULL, "seekdir");
    need(faccessat(dirfd(folder), "added", F_OK, 0) == 0, "dirfd");
    closedir(folder);
    char *whole = realpath("data/../data/later", NULL);
    char *here = get_current_dir_name();
    need(whole != NULL && strncmp(whole, here, strlen(here)) == 0 &&
             strcmp(whole + strlen(here), "/data/later") == 0,
         "realpath");
    need(renameat2(AT_FDCWD, "data/later", AT_FDCWD, "data/added", 1) == -1, "RENAME_NOREPLACE");
}

/* The same by syscall(), as GNU patch renames. */
static void calls(void) {
    put("called", "w", "called");
    need(syscall(SYS_renameat2, AT_FDCWD, "called", AT_FDCWD, "kept/file", 0) == 0,
         "SYS_renameat2");
    need(has_text("kept/file", "called") && access("called", F_OK) != 0, "SYS_renameat2's file");
    need(syscall(SYS_rename, "kept/file", "kept/renamed") == 0, "SYS_rename");
    need(syscall(SYS_renameat, AT_FDCWD, "kept/renamed", AT_FDCWD, "kept/file") == 0,
         "SYS_renameat");
    long fd = syscall(SYS_openat, AT_FDCWD, "kept/file", O_WRONLY | O_TRUNC, 0);
    need(fd >= 0 && write((int)fd, "opened", 6) == 6 && close((int)fd) == 0, "SYS_openat");
    need(has_text("kept/file", "opened"), "SYS_openat's file");
    need(syscall(SYS_mkdirat, AT_FDCWD, "called", 0700) == 0, "SYS_mkdirat");
    need(syscall(SYS_rmdir, "called") == 0 && access("called", F_OK) != 0, "SYS_rmdir");
    need(syscall(SYS_unlinkat, AT_FDCWD, "nothing", 0) == -1 && errno == ENOENT, "SYS_unlinkat");
    need(syscall(SYS_getpid) == getpid(), "another call");
}

/* The status of a child that runs one of the exec functions. */
static int child(int which) {
    pid_t pid = fork();
    if (pid == 0) {
        char *const arguments[] = {"sh", "-c", "test -e data/added && test ! -e data/one", NULL};
        char *const nothing[] = {NULL};
        switch (which) {
        case 0:
            execl("/bin/sh", "sh", "-c", arguments[2], (char *)NULL);
            break;
        case 1:
            execlp("sh", "sh", "-c", arguments[2], (char *)NULL);
            break;
        case 2:
            execle("/bin/sh", "sh", "-c", arguments[2], (char *)NULL, nothing);
            break;
        case 3:
            execvp("sh", arguments);
            break;
        case 4:
            execvpe("sh", arguments, nothing);
            break;
        case 5:
            execvp("./no_magic", (char *const[]){"no_magic", "data/added", NULL});
            break;
        default:
            fexecve(open("/bin/sh", O_RDONLY), arguments, nothing);
        }
        _exit(99);
    }
    int status = -1;
    return waitpid(pid, &status, 0) == pid ? status : -1;
}

static void programs(void) {
    put("no_magic", "w", "test -e \"$1\"\n");
    need(chmod("no_magic", 0755) == 0, "chmod");
    for (int which = 0; which < 7; which++) {
        char what[32];
        snprintf(what, sizeof(what), "exec function %d", which);
        need(child(which) == 0, what);
    }
}

int main(int argc, char **argv) {
    if (argc != 2 || chdir(argv[1]) != 0) {
        return 2;
    }
    streams();
    folders();
    calls();
    programs();
    return n_failures == 0 ? 0 : 1;
}
