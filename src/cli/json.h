/* json.h: writing one JSON object to standard output as it is made.
 *
 * Nothing is built in memory and nothing is allocated: a result of any length takes no memory, and no part of it can be lost to a failed
 * allocation (json-c, which the project reads JSON with, drops text silently when its print buffer cannot grow). Strings become valid
 * UTF-8, floats carry nine significant digits. In an object each value has a key, in an array NULL. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* bracket: '{' or '['. */
void cli_json_open(const char *key, char bracket);
/* Ends what was opened last; the outermost with a line end. */
void cli_json_close(void);
/* The next value begins a line. */
void cli_json_break(void);

/* Bytes that are no UTF-8 become U+FFFD, as in the WHATWG encoding standard. */
void cli_json_text(const char *key, const char *bytes, size_t length);
void cli_json_string(const char *key, const char *text); /* NULL gives null */
/* Two lower-case digits a byte. */
void cli_json_hexadecimal(const char *key, const char *bytes, size_t length);
void cli_json_integer(const char *key, int64_t value);
void cli_json_unsigned(const char *key, uint64_t value);
/* %.9g; null if it is not finite. */
void cli_json_real(const char *key, double value);
void cli_json_bool(const char *key, bool value);

#endif
