/* status.h: how a failure travels: an enum by value, its text in a buffer of the thread.
 *
 * Owns the text of the thread's latest failure. Refuses to allocate: reporting that memory ran out must not fail. */
#ifndef SH_BASE_STATUS_H
#define SH_BASE_STATUS_H

#include "shohin.h"

/* Sets the thread's error text (cut at 1023 bytes, control characters and invalid UTF-8 shown as '?': names come from
 * files) and returns `status`. */
sh_status sh_fail(sh_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Puts a text in front of the current error text: "path: " + what went wrong. Returns `status`. */
sh_status sh_fail_in(sh_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Texts from files are shown to people: what could upset a terminal or a JSON reader (control characters, invalid UTF-8)
 * becomes '?'. In place. */
void sh_make_printable(char *text);

void sh_log(sh_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A byte string inside something else, not terminated. For printf: "%.*s", SH_VIEW_ARG(v). */
typedef struct sh_view {
    const char *data;
    size_t length;
} sh_view;

#define SH_VIEW_ARG(v) (int)((v).length > 255 ? 255 : (v).length), ((v).data ? (v).data : "")

bool sh_view_is(sh_view view, const char *text);

#endif
