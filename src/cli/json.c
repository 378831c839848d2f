/* json.c: see json.h. Owns what is open; a failed write is kept by output.c. */
#include "cli/json.h"

#include "cli/cli.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { DEEPEST = 8 };

static struct {
    char close; /* bracket */
    bool any;   /* value in it yet */
} open_values[DEEPEST];
static int depth;
static bool new_line;

static void put_quoted(const char *bytes, size_t length) {
    cli_write("\"", 1);
    for (size_t i = 0; i < length;) {
        uint32_t character;
        size_t bad, n = cli_utf8_next(bytes + i, length - i, &character, &bad);
        if (!n)
            cli_write("\xef\xbf\xbd", 3);
        else if (character == '"' || character == '\\')
            cli_print("\\%c", (char)character);
        else if (character == '\n')
            cli_write("\\n", 2);
        else if (character == '\t')
            cli_write("\\t", 2);
        else if (character < 0x20)
            cli_print("\\u%04x", character);
        else
            cli_write(bytes + i, n);
        i += n ? n : bad;
    }
    cli_write("\"", 1);
}

/* What stands before a value. */
static void begin(const char *key) {
    if (depth) {
        assert((open_values[depth - 1].close == '}') == (key != NULL));
        if (open_values[depth - 1].any) cli_write(",", 1);
        open_values[depth - 1].any = true;
    }
    if (new_line) cli_write("\n", 1);
    new_line = false;
    if (!key) return;
    put_quoted(key, strlen(key));
    cli_write(":", 1);
}

void cli_json_open(const char *key, char bracket) {
    begin(key);
    assert(depth < DEEPEST);
    open_values[depth].close = bracket == '{' ? '}' : ']';
    open_values[depth++].any = false;
    cli_write(&bracket, 1);
}

void cli_json_close(void) {
    assert(depth);
    cli_write(&open_values[--depth].close, 1);
    if (!depth) cli_write("\n", 1);
}

void cli_json_break(void) {
    new_line = true;
}

void cli_json_text(const char *key, const char *bytes, size_t length) {
    begin(key);
    put_quoted(bytes, length);
}

void cli_json_string(const char *key, const char *text) {
    begin(key);
    if (text)
        put_quoted(text, strlen(text));
    else
        cli_write("null", 4);
}

void cli_json_hexadecimal(const char *key, const char *bytes, size_t length) {
    begin(key);
    cli_write("\"", 1);
    for (size_t i = 0; i < length; i++) cli_print("%02x", (unsigned char)bytes[i]);
    cli_write("\"", 1);
}

void cli_json_integer(const char *key, int64_t value) {
    begin(key);
    cli_print("%" PRId64, value);
}

void cli_json_unsigned(const char *key, uint64_t value) {
    begin(key);
    cli_print("%" PRIu64, value);
}

void cli_json_real(const char *key, double value) {
    begin(key);
    if (isfinite(value))
        cli_print("%.9g", value);
    else
        cli_write("null", 4);
}

void cli_json_bool(const char *key, bool value) {
    begin(key);
    cli_print("%s", value ? "true" : "false");
}
