/* test_gguf_writer.c: the GGUF writer: what it writes is read back, what it refuses, what a full disk leaves. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "format/gguf.h"
#include "support/gguf_bytes.h"

static void test_write_and_read(void **state) {
    (void)state;
    char folder[256], path[400];
    gb_folder_open(folder);
    snprintf(path, sizeof path, "%s/out.gguf", folder);
    for (uint32_t alignment = 8; alignment <= 128; alignment *= 2) {
        gguf_bytes source = {0};
        sh_gguf *from, *to;
        sh_gguf_writer *w;
        uint64_t n, n_keys;
        uint32_t n_parts;
        gb_every_type(&source, 3);
        assert_int_equal(sh_gguf_parse(source.data, source.n, &from), SH_OK);
        const sh_gguf_key *keys = sh_gguf_keys(from, &n_keys);

        static const int32_t integers[] = {-1, 0, INT32_MAX};
        static const float floats[] = {0.5f, -0.0f};
        static const sh_view strings[] = {{"one", 3}, {NULL, 0}, {"a\0b", 3}};
        assert_int_equal(sh_gguf_writer_open(path, alignment, &w), SH_OK);
        assert_int_equal(sh_gguf_put_u32(w, "u32", 4000000000u), SH_OK);
        assert_int_equal(sh_gguf_put_u64(w, "u64", UINT64_MAX), SH_OK);
        assert_int_equal(sh_gguf_put_f32(w, "f32", -1.25f), SH_OK);
        assert_int_equal(sh_gguf_put_bool(w, "bool", true), SH_OK);
        assert_int_equal(sh_gguf_put_string(w, "string", "text"), SH_OK);
        assert_int_equal(sh_gguf_put_strings(w, "strings", strings, 3), SH_OK);
        assert_int_equal(sh_gguf_put_i32s(w, "i32s", integers, 3), SH_OK);
        assert_int_equal(sh_gguf_put_f32s(w, "f32s", floats, 2), SH_OK);
        for (uint64_t i = 0; i < n_keys; i++) assert_int_equal(sh_gguf_put_key(w, &keys[i]), SH_OK);
        assert_int_equal(sh_gguf_put_tensor(w, "x", 0, (uint64_t[]){3}, 1, 12), SH_OK);
        assert_int_equal(sh_gguf_put_tensor(w, "y", 24, (uint64_t[]){5, 1, 2, 30000}, 4, 300000), SH_OK);
        assert_int_equal(sh_gguf_put_tensor(w, "z", 24, (uint64_t[]){1}, 1, 1), SH_OK);
        uint8_t *data = malloc(300013);
        assert_non_null(data);
        for (int i = 0; i < 300013; i++) data[i] = (uint8_t)(i * 7 + i / 256);
        assert_int_equal(sh_gguf_write_data(w, data, 5),
                         SH_OK); /* pieces that end inside, at and past a tensor's end */
        assert_int_equal(sh_gguf_write_data(w, data + 5, 7), SH_OK);
        assert_int_equal(sh_gguf_write_data(w, data + 12, 0), SH_OK);
        assert_int_equal(sh_gguf_write_data(w, data + 12, 300001), SH_OK);
        assert_int_equal(sh_gguf_writer_finish(w), SH_OK);
        sh_gguf_writer_close(w);

        assert_int_equal(sh_gguf_open(path, &to), SH_OK);
        assert_int_equal(sh_gguf_version(to), 3);
        assert_int_equal(sh_gguf_alignment(to), alignment);
        const sh_gguf_key *written = sh_gguf_keys(to, &n);
        assert_int_equal(n, 8 + n_keys + (alignment == 32 ? 0 : 1));
        gb_check_value(to, "u32", "4000000000");
        gb_check_value(to, "u64", "18446744073709551615");
        gb_check_value(to, "f32", "-1.25");
        gb_check_value(to, "bool", "true");
        gb_check_value(to, "string", "text");
        gb_check_value(to, "strings", "[\"one\", \"\", \"a?b\"]");
        gb_check_value(to, "i32s", "[-1, 0, 2147483647]");
        gb_check_value(to, "f32s", "[0.5, -0]");
        for (uint64_t i = 0; i < n_keys; i++) {
            const sh_gguf_key *k = &written[8 + i];
            assert_int_equal(k->type, keys[i].type);
            assert_int_equal(k->element, keys[i].element);
            assert_int_equal(k->n, keys[i].n);
            assert_int_equal(k->end - k->data, keys[i].end - keys[i].data);
            assert_memory_equal(k->data, keys[i].data, (size_t)(k->end - k->data));
        }
        const sh_gguf_tensor *t = sh_gguf_tensors(to, &n);
        const sh_gguf_part *part = sh_gguf_parts(to, &n_parts);
        assert_int_equal(n, 3);
        static const uint64_t offsets[] = {0, 12, 300012}, sizes[] = {12, 300000, 1};
        for (int i = 0; i < 3; i++) {
            assert_int_equal(t[i].offset % alignment, 0);
            assert_true(t[i].offset + sizes[i] <= part->size);
            assert_memory_equal(part->data + t[i].offset, data + offsets[i], sizes[i]);
        }
        assert_int_equal(t[1].dims[0], 5);
        assert_int_equal(t[1].dims[3], 30000);
        assert_int_equal(part->size, (t[2].offset + alignment)); /* the last tensor is padded, too */
        free(data);
        sh_gguf_close(to);
        sh_gguf_close(from);
        gb_free(&source);
    }
    gb_folder_close(folder);
}

/* A file without tensors, and the permissions of a new file. */
static void test_write_keys_alone(void **state) {
    (void)state;
    char folder[256], path[400];
    sh_gguf_writer *w;
    sh_gguf *gguf;
    struct stat about;
    gb_folder_open(folder);
    snprintf(path, sizeof path, "%s/out.gguf", folder);
    mode_t mask = umask(027);
    assert_int_equal(sh_gguf_writer_open(path, 64, &w), SH_OK);
    umask(mask);
    assert_int_equal(sh_gguf_put_u32(w, "general.alignment", 64), SH_OK);
    assert_int_equal(sh_gguf_writer_finish(w), SH_OK);
    assert_int_equal(sh_gguf_put_u32(w, "late", 1), SH_ERR_ARGUMENT);
    assert_non_null(strstr(sh_error_text(), "out.gguf: it is finished; nothing more can be added"));
    sh_gguf_writer_close(w);
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0640);
    assert_int_equal(sh_gguf_open(path, &gguf), SH_OK);
    assert_int_equal(sh_gguf_alignment(gguf), 64);
    sh_gguf_close(gguf);
    gb_folder_close(folder);
}

static int files_in(const char *folder) {
    char command[300];
    int n = -1;
    snprintf(command, sizeof command, "ls -A '%s' | wc -l", folder);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_int_equal(fscanf(pipe, "%d", &n), 1);
    pclose(pipe);
    return n;
}

typedef sh_status misuse_fn(sh_gguf_writer *w);

static sh_status misuse_twice(sh_gguf_writer *w) {
    sh_gguf_put_u32(w, "k", 1);
    sh_gguf_put_u32(w, "k", 2);
    return sh_gguf_writer_finish(w);
}

static sh_status misuse_tensor_twice(sh_gguf_writer *w) {
    sh_gguf_put_tensor(w, "t", 0, (uint64_t[]){1}, 1, 4);
    sh_gguf_put_tensor(w, "t", 0, (uint64_t[]){1}, 1, 4);
    return sh_gguf_write_data(w, "1234", 4);
}

static sh_status misuse_missing(sh_gguf_writer *w) {
    sh_gguf_put_tensor(w, "t", 0, (uint64_t[]){2}, 1, 8);
    sh_gguf_write_data(w, "1234", 4);
    return sh_gguf_writer_finish(w);
}

static sh_status misuse_left_over(sh_gguf_writer *w) {
    sh_gguf_put_tensor(w, "t", 0, (uint64_t[]){1}, 1, 4);
    return sh_gguf_write_data(w, "12345", 5);
}

static sh_status misuse_late(sh_gguf_writer *w) {
    sh_gguf_put_tensor(w, "t", 0, (uint64_t[]){1}, 1, 4);
    sh_gguf_write_data(w, "1", 1);
    return sh_gguf_put_u32(w, "k", 1);
}

static sh_status misuse_name(sh_gguf_writer *w) {
    return sh_gguf_put_u32(w, "", 1);
}

static sh_status misuse_dims(sh_gguf_writer *w) {
    return sh_gguf_put_tensor(w, "t", 0, (uint64_t[]){4, 0}, 2, 16);
}

static sh_status misuse_huge(sh_gguf_writer *w) {
    sh_gguf_put_tensor(w, "s", 0, (uint64_t[]){1}, 1, 4);
    return sh_gguf_put_tensor(w, "t", 0, (uint64_t[]){4}, 1, UINT64_MAX);
}

static sh_status misuse_alignment(sh_gguf_writer *w) {
    return sh_gguf_put_u32(w, "general.alignment", 64);
}

/* What the writer refuses leaves the old file, and nothing beside it; every later call fails too. */
static void test_writer_misuse(void **state) {
    (void)state;
    static const struct {
        misuse_fn *misuse;
        const char *text;
    } cases[] = {
        {misuse_twice, "DIR/out.gguf: key 'k' was put twice"},
        {misuse_tensor_twice, "DIR/out.gguf: tensor 't' was put twice"},
        {misuse_missing, "DIR/out.gguf: tensor 't' has 4 of its 8 bytes"},
        {misuse_left_over, "DIR/out.gguf: 1 bytes are left over after the data of all 1 tensors"},
        {misuse_late, "DIR/out.gguf: key 'k' comes after the first data"},
        {misuse_name, "DIR/out.gguf: key '' has a name of 0 bytes, but 1 to 65535 are allowed, none of them 0"},
        {misuse_dims,
         "DIR/out.gguf: tensor 't' has 2 dimensions, but 1 to 4 are allowed, each at least 1, of less than 2^63 "
         "elements in all"},
        {misuse_huge, "DIR/out.gguf: tensor 't' cannot have 18446744073709551615 bytes behind 32"},
        {misuse_alignment, "DIR/out.gguf: key 'general.alignment' is 64, but the file is written with 32"},
    };
    char folder[256], path[400];
    gb_folder_open(folder);
    snprintf(path, sizeof path, "%s/out.gguf", folder);
    gguf_bytes old = {0};
    gb_bytes(&old, "old", 3);
    gb_save(&old, path);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        sh_gguf_writer *w;
        char wanted[600];
        assert_int_equal(sh_gguf_writer_open(path, 32, &w), SH_OK);
        assert_int_equal(cases[i].misuse(w), SH_ERR_ARGUMENT);
        snprintf(wanted, sizeof wanted, "%s%s", folder, cases[i].text + 3);
        assert_string_equal(sh_error_text(), wanted);
        assert_int_equal(sh_gguf_put_u32(w, "more", 1), SH_ERR_ARGUMENT);
        snprintf(wanted, sizeof wanted, "%s: writing it failed before; nothing more can be added", path);
        assert_string_equal(sh_error_text(), wanted);
        assert_int_equal(sh_gguf_writer_finish(w), SH_ERR_ARGUMENT);
        sh_gguf_writer_close(w);
        struct stat about;
        assert_int_equal(stat(path, &about), 0);
        assert_int_equal(about.st_size, 3);
        assert_int_equal(files_in(folder), 1);
    }
    gb_free(&old);
    gb_folder_close(folder);
}

/* Writes 1 MiB where no file may grow past 64 KiB, as on a full disk. Exit status: what failed. */
static int write_too_much(const char *path) {
    static uint8_t data[1 << 20];
    sh_gguf_writer *w;
    const struct rlimit limit = {65536, 65536};
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit)) return 10;
    if (sh_gguf_writer_open(path, 32, &w)) return 11;
    if (sh_gguf_put_tensor(w, "t", 24, (uint64_t[]){sizeof data}, 1, sizeof data)) return 12;
    sh_status status = sh_gguf_write_data(w, data, sizeof data);
    if (!status) status = sh_gguf_writer_finish(w);
    if (status != SH_ERR_IO) return 13;
    if (!strstr(sh_error_text(), "out.gguf: cannot be written: File too large")) return 14;
    if (sh_gguf_writer_finish(w) != SH_ERR_IO) return 15;
    sh_gguf_writer_close(w);
    return 0;
}

static void test_full_disk(void **state) {
    (void)state;
    char folder[256], path[400];
    struct stat about;
    gb_folder_open(folder);
    snprintf(path, sizeof path, "%s/out.gguf", folder);
    for (int with_old = 0; with_old < 2; with_old++) {
        gguf_bytes old = {0};
        gb_bytes(&old, "old", 3);
        if (with_old) gb_save(&old, path);
        gb_free(&old);
        fflush(NULL);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) _exit(write_too_much(path));
        int result;
        assert_int_equal(waitpid(child, &result, 0), child);
        assert_true(WIFEXITED(result));
        assert_int_equal(WEXITSTATUS(result), 0);
        assert_int_equal(files_in(folder), with_old);
        if (with_old) {
            assert_int_equal(stat(path, &about), 0);
            assert_int_equal(about.st_size, 3);
        }
    }
    gb_folder_close(folder);
}

static void test_writer_open_errors(void **state) {
    (void)state;
    char folder[256], path[400], wanted[600];
    sh_gguf_writer *w;
    gb_folder_open(folder);
    snprintf(path, sizeof path, "%s/absent/out.gguf", folder);
    assert_int_equal(sh_gguf_writer_open(path, 32, &w), SH_ERR_IO);
    assert_null(w);
    assert_non_null(strstr(sh_error_text(), "cannot be written: No such file or directory"));
    assert_int_equal(sh_gguf_writer_open("/dev/full", 32, &w), SH_ERR_IO);
    assert_string_equal(sh_error_text(), "/dev/full: not a regular file; choose another name");
    assert_int_equal(sh_gguf_writer_open(folder, 32, &w), SH_ERR_IO);
    snprintf(wanted, sizeof wanted, "%s: not a regular file; choose another name", folder);
    assert_string_equal(sh_error_text(), wanted);
    assert_int_equal(sh_gguf_writer_open(path, 24, &w), SH_ERR_ARGUMENT);
    assert_non_null(strstr(sh_error_text(), "an alignment of 24, but it should be a power of two from 8 to 16777216"));
    gb_folder_close(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_write_and_read),     cmocka_unit_test(test_write_keys_alone),
        cmocka_unit_test(test_writer_misuse),      cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_writer_open_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
