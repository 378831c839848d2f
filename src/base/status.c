/* status.c: status texts, the thread's error text and the log. See status.h. */
#include "base/status.h"

#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_CAPACITY = 1024 };

static _Thread_local char error_text[TEXT_CAPACITY];

static sh_log_fn *log_function;
static void *log_user;

const char *sh_version(void) {
    return SHOHIN_VERSION;
}

const char *sh_status_text(sh_status status) {
    switch (status) {
    case SH_OK: return "no error";
    case SH_ERR_ARGUMENT: return "invalid argument";
    case SH_ERR_IO: return "input/output error";
    case SH_ERR_FORMAT: return "damaged file";
    case SH_ERR_UNSUPPORTED: return "not supported";
    case SH_ERR_MEMORY: return "out of memory";
    case SH_ERR_CONTEXT: return "past the context";
    case SH_ERR_DEVICE: return "device failure";
    case SH_ERR_CANCELLED: return "cancelled";
    }
    return "unknown status";
}

const char *sh_error_text(void) {
    return error_text;
}

void sh_make_printable(char *text) {
    uint8_t *s = (uint8_t *)text;
    for (size_t n = strlen(text), length; n; s += length, n -= length)
        if (sh_utf8_next(s, n, &length) != SH_UTF8_CHARACTER || *s < 0x20 || *s == 0x7f) memset(s, '?', length);
}

sh_status sh_fail(sh_status status, const char *format, ...) {
    char text[TEXT_CAPACITY]; /* apart: an argument may be the old text itself */
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    sh_make_printable(text);
    memcpy(error_text, text, sizeof text);
    return status;
}

sh_status sh_fail_in(sh_status status, const char *format, ...) {
    char text[TEXT_CAPACITY];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n < 0) n = 0;
    if ((size_t)n < sizeof text - 1) snprintf(text + n, sizeof text - (size_t)n, "%s", error_text);
    sh_make_printable(text);
    memcpy(error_text, text, sizeof text);
    return status;
}

void sh_log_set(sh_log_fn *log, void *user) {
    log_function = log;
    log_user = user;
}

void sh_log(sh_log_level level, const char *format, ...) {
    if (!log_function) return;
    char text[TEXT_CAPACITY];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    sh_make_printable(text);
    log_function(log_user, level, text);
}

bool sh_view_is(sh_view view, const char *text) {
    return view.length == strlen(text) && memcmp(view.data, text, view.length) == 0;
}
