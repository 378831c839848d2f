/* messages.c: everything that goes to standard error: failures, notes, the library's log, progress.
 *
 * Owns standard error and the one line of progress on it. Refuses to let a message's text move the cursor: names come from files and
 * command lines. */
#include "cli/cli.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static sh_log_level level = SH_LOG_WARN;

/* Progress is drawn by a thread of its own, so that it also moves while the library works without reporting. */
static struct {
    pthread_mutex_t lock; /* of all below, and of standard error */
    pthread_cond_t wake;
    pthread_t thread;
    bool running, stop;
    bool shown; /* the line is on the screen */
    char what[160];
    const char *unit;
    uint64_t done, total;
} progress = {.lock = PTHREAD_MUTEX_INITIALIZER};

double cli_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* ---- lines ------------------------------------------------------------------------------------------------ */

static void clear_progress(void) {
    if (progress.shown) fputs("\r\033[K", stderr);
    progress.shown = false;
}

static void make_printable(char *text) {
    size_t length = strlen(text);
    for (size_t i = 0; i < length;) {
        uint32_t character;
        size_t bad, n = cli_utf8_next(text + i, length - i, &character, &bad);
        if (n && character >= 0x20 && !(character >= 0x7f && character < 0xa0)) {
            i += n;
            continue;
        }
        memset(text + i, '?', n ? n : bad);
        i += n ? n : bad;
    }
}

static void put_line(const char *prefix, const char *format, va_list arguments) __attribute__((format(printf, 2, 0)));

static void put_line(const char *prefix, const char *format, va_list arguments) {
    char text[2048]; /* the library's lines have at most 1023 bytes, a path at most 4095: what is longer is cut */
    vsnprintf(text, sizeof text, format, arguments);
    make_printable(text);
    pthread_mutex_lock(&progress.lock);
    clear_progress();
    fprintf(stderr, "%s%s\n", prefix, text);
    pthread_mutex_unlock(&progress.lock);
}

int cli_fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    put_line("shohin: ", format, arguments);
    va_end(arguments);
    return CLI_FAILED;
}

int cli_fail_library(void) {
    return cli_fail("%s", sh_error_text());
}

int cli_wrong(const cli_command *command, const char *format, ...) {
    char text[600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    cli_fail("%s; see 'shohin %s%s--help'", text, command ? command->name : "", command ? " " : "");
    return CLI_WRONG;
}

void cli_note(const char *format, ...) {
    if (level == SH_LOG_ERROR) return;
    va_list arguments;
    va_start(arguments, format);
    put_line("shohin: ", format, arguments);
    va_end(arguments);
}

void cli_tell(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    put_line("", format, arguments);
    va_end(arguments);
}

/* ---- the library's log ------------------------------------------------------------------------------------ */

static void put_log(const char *prefix, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put_log(const char *prefix, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    put_line(prefix, format, arguments);
    va_end(arguments);
}

static void log_line(void *user, sh_log_level of, const char *line) {
    static const char *const prefixes[] = {"shohin: ", "shohin: warning: ", "shohin: ", "shohin: debug: "};
    (void)user;
    if (of <= level) put_log(prefixes[of], "%s", line);
}

void cli_set_log_level(const char *name) {
    static const char *const names[] = {"error", "warn", "info", "debug"};
    for (size_t i = 0; name && i < 4; i++)
        if (!strcmp(names[i], name)) level = (sh_log_level)i;
    sh_log_set(log_line, NULL);
}

/* ---- progress --------------------------------------------------------------------------------------------- */

static void draw_progress(void) {
    clear_progress();
    if (progress.total)
        fprintf(stderr, "%s: %llu of %llu %s (%llu %%)", progress.what, (unsigned long long)progress.done,
                (unsigned long long)progress.total, progress.unit,
                (unsigned long long)(100.0 * (double)progress.done / (double)progress.total));
    else
        fprintf(stderr, "%s ...", progress.what);
    fflush(stderr);
    progress.shown = true;
}

static void *progress_thread(void *unused) {
    (void)unused;
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += 1;
    pthread_mutex_lock(&progress.lock);
    while (!progress.stop) {
        if (!pthread_cond_timedwait(&progress.wake, &progress.lock, &at))
            continue; /* woken: to stop, or for no reason */
        draw_progress();
        at.tv_nsec += 200000000;
        if (at.tv_nsec >= 1000000000) {
            at.tv_nsec -= 1000000000;
            at.tv_sec++;
        }
    }
    clear_progress();
    fflush(stderr);
    pthread_mutex_unlock(&progress.lock);
    return NULL;
}

void cli_progress_begin(const char *what, uint64_t total, const char *unit) {
    const char *terminal = getenv("TERM");
    if (progress.running || level == SH_LOG_ERROR || !isatty(STDERR_FILENO) || !terminal || !strcmp(terminal, "dumb"))
        return;
    snprintf(progress.what, sizeof progress.what, "%s", what);
    make_printable(progress.what);
    progress.unit = unit;
    progress.total = total;
    progress.done = 0;
    progress.stop = false;
    pthread_condattr_t clock;
    if (pthread_condattr_init(&clock)) return;
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    if (!pthread_cond_init(&progress.wake, &clock)) {
        /* without a thread there is no progress to see, and nothing else is lost */
        progress.running = !pthread_create(&progress.thread, NULL, progress_thread, NULL);
        if (!progress.running) pthread_cond_destroy(&progress.wake);
    }
    pthread_condattr_destroy(&clock);
}

void cli_progress_set(uint64_t done) {
    if (!progress.running) return;
    pthread_mutex_lock(&progress.lock);
    progress.done = done;
    pthread_mutex_unlock(&progress.lock);
}

void cli_progress_end(void) {
    if (!progress.running) return;
    pthread_mutex_lock(&progress.lock);
    progress.stop = true;
    pthread_cond_signal(&progress.wake);
    pthread_mutex_unlock(&progress.lock);
    pthread_join(progress.thread, NULL);
    pthread_cond_destroy(&progress.wake);
    progress.running = false;
}
