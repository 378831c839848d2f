/* models.c: which model file a command means, and opening it as the options say.
 *
 * Owns the search for the demo model. Refuses to guess between files: -m, else SHOHIN_MODEL, else the one that came with the program. */
#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEMO_MODEL "stories-q1_0.gguf"

/* "<directory of the program>/../share/shohin/models": where both an installation and a build tree have it, so that a
 * program finds the model that came with it and not an older one of the system. */
static bool beside_program(char *path, size_t capacity) {
    char program[4096];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program);
    if (n <= 0 || (size_t)n == sizeof program) return false;
    while (n && program[n - 1] != '/') n--;
    int length = snprintf(path, capacity, "%.*s../share/shohin/models/" DEMO_MODEL, (int)n, program);
    return length > 0 && (size_t)length < capacity && !access(path, R_OK);
}

static bool installed(char *path, size_t capacity) {
#ifdef SHOHIN_MODEL_DIR
    int length = snprintf(path, capacity, "%s", SHOHIN_MODEL_DIR "/" DEMO_MODEL);
    return length > 0 && (size_t)length < capacity && !access(path, R_OK);
#else
    (void)path;
    (void)capacity;
    return false;
#endif
}

bool cli_model_path(const cli_options *options, char *path, size_t capacity) {
    const char *from_environment = getenv("SHOHIN_MODEL");
    const char *named = options->model                          ? options->model
                        : from_environment && *from_environment ? from_environment
                                                                : NULL;
    if (named) {
        int length = snprintf(path, capacity, "%s", named);
        if (length < 0 || (size_t)length >= capacity) {
            cli_fail("the model's path has %zu bytes, at most %zu can be", strlen(named), capacity - 1);
            return false;
        }
        /* The library cannot know where a name that nobody typed comes from. */
        if (options->model || !access(path, R_OK)) return true;
        cli_fail("%s, which SHOHIN_MODEL names: %s; correct it, or name a GGUF file by -m", path, strerror(errno));
        return false;
    }
    if (beside_program(path, capacity) || installed(path, capacity)) return true;
    cli_fail("no model: the demo model " DEMO_MODEL
             " is not installed beside the program; name a GGUF file by -m or in "
             "SHOHIN_MODEL");
    return false;
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

bool cli_file_open(const cli_options *options, const char *path, sh_file **file) {
    sh_file_options with;
    sh_file_options_default(&with);
    with.q2_layout = options->q2_layout;
    if (!sh_file_open(path, &with, file)) return true;
    cli_fail_library();
    return false;
}

void cli_engine_options(const cli_options *options, const char *path, sh_engine_options *engine) {
    sh_engine_options_default(engine);
    engine->path = path;
    if (options->device) engine->device = options->device;
    engine->threads = (uint32_t)options->threads;
    engine->q2_layout = options->q2_layout;
    engine->rope_scaling = options->rope_scaling;
    engine->yarn_factor = (float)options->yarn_factor;
    engine->yarn_original_context = (uint32_t)options->yarn_original_context;
}

bool cli_model_open(const cli_options *options, cli_model *model) {
    *model = (cli_model){.engine = NULL};
    if (!cli_model_path(options, model->path, sizeof model->path)) return false;
    char what[160];
    snprintf(what, sizeof what, "loading %.120s", base_name(model->path));
    sh_engine_options engine;
    cli_engine_options(options, model->path, &engine);
    double start = cli_now();
    cli_progress_begin(what, 0, NULL);
    sh_status status = sh_engine_open(&engine, &model->engine);
    cli_progress_end();
    model->load_seconds = cli_now() - start;
    if (status) {
        model->engine = NULL;
        cli_fail_library();
        return false;
    }
    model->tokenizer = sh_engine_tokenizer(model->engine);
    return true;
}

bool cli_session_open(const cli_options *options, const cli_model *model, sh_session **session) {
    sh_session_options with;
    sh_session_options_default(&with);
    with.context = (uint32_t)options->context;
    with.sequences = 1;
    with.rows = (uint32_t)options->batch;
    if (sh_session_open(model->engine, &with, session)) {
        *session = NULL;
        cli_fail_library();
        return false;
    }
    sh_session_info info;
    sh_session_describe(*session, &info);
    if (info.cut_from)
        cli_note(
            "the context is %u tokens instead of the file's %u, for want of memory (%.1f GiB are free); -c sets it",
            info.context, info.cut_from, (double)info.free_memory / 0x1p30);
    return true;
}

void cli_model_close(cli_model *model) {
    sh_engine_close(model->engine);
    model->engine = NULL;
}
