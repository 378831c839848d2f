/* replay_main.c: runs a fuzzer's entry point over the files it is given, without libFuzzer.
 *
 * Each argument is a file or a folder of files (its own, not those of folders inside). Every input lies in a block of
 * its own, of exactly its size, so that AddressSanitizer sees a read past its end. Fails if there was no input: a replay
 * of nothing guards nothing. */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t replayed;

static void stop(const char *path, const char *why) {
    fprintf(stderr, "replay: %s: %s\n", path, why);
    exit(1);
}

static void replay_file(const char *path, size_t size) {
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(size ? size : 1);
    if (!file || !data) stop(path, strerror(errno));
    if (fread(data, 1, size, file) != size) stop(path, "could not be read");
    fclose(file);
    /* Told before it runs: after a crash this line says which one it was. */
    printf("%s: %zu bytes\n", path, size);
    fflush(stdout);
    LLVMFuzzerTestOneInput(data, size);
    replayed++;
    free(data);
}

static void replay(const char *path, int deep) {
    struct stat about;
    if (stat(path, &about)) stop(path, strerror(errno));
    if (S_ISREG(about.st_mode)) replay_file(path, (size_t)about.st_size);
    if (!S_ISDIR(about.st_mode) || !deep) return;

    struct dirent **entries;
    int n = scandir(path, &entries, NULL, alphasort);
    if (n < 0) stop(path, strerror(errno));
    for (int i = 0; i < n; i++) {
        size_t size = strlen(path) + strlen(entries[i]->d_name) + 2;
        char *inner = malloc(size);
        if (!inner) stop(path, strerror(errno));
        snprintf(inner, size, "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.') replay(inner, 0);
        free(inner);
        free(entries[i]);
    }
    free(entries);
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) replay(argv[i], 1);
    printf("%zu inputs\n", replayed);
    return replayed ? 0 : 1;
}
