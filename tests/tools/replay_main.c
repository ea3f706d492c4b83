/* Runs a fuzz target over files and over the files of folders, with any compiler:
 * the seeds and every past crash are tests of `make check`. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fail(const char *path)
{
    perror(path);
    exit(1);
}

static void run_file(const char *path, size_t size)
{
    FILE *f = fopen(path, "rb");
    /* exactly as large as the input, so that a sanitizer sees every read beyond it */
    uint8_t *data = malloc(size ? size : 1);
    if (!f || !data || fread(data, 1, size, f) != size)
        fail(path);
    fclose(f);
    fprintf(stderr, "%s\n", path);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
}

static unsigned run(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0)
        fail(path);
    if (!S_ISDIR(st.st_mode)) {
        run_file(path, (size_t)st.st_size);
        return 1;
    }
    struct dirent **names;
    int n = scandir(path, &names, NULL, alphasort);
    if (n < 0)
        fail(path);
    unsigned count = 0;
    for (int i = 0; i < n; i++) {
        char *full = malloc(strlen(path) + strlen(names[i]->d_name) + 2);
        if (!full)
            fail(path);
        sprintf(full, "%s/%s", path, names[i]->d_name);
        if (names[i]->d_name[0] != '.')
            count += run(full);
        free(full);
        free(names[i]);
    }
    free(names);
    return count;
}

int main(int argc, char **argv)
{
    unsigned count = 0;
    for (int i = 1; i < argc; i++)
        count += run(argv[i]);
    printf("%u inputs\n", count);
    return count > 0 ? 0 : 1; /* a target without seeds tests nothing */
}
