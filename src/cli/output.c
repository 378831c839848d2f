/* output.c: standard output, with every failed write noticed, and what makes bytes of unknown origin safe to print.
 *
 * Owns standard output and the errno of its first failure. Refuses to go on after one: a full disk or a closed pipe ends the work. */
#include "cli/cli.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int failure; /* errno of the first failed write */

static bool check(bool ok) {
    if (!ok && !failure) failure = errno ? errno : EIO;
    return !failure;
}

bool cli_write(const char *bytes, size_t length) {
    if (failure) return false;
    return check(fwrite(bytes, 1, length, stdout) == length);
}

bool cli_print(const char *format, ...) {
    if (failure) return false;
    va_list arguments;
    va_start(arguments, format);
    int n = vfprintf(stdout, format, arguments);
    va_end(arguments);
    return check(n >= 0);
}

bool cli_flush(void) {
    if (failure) return false;
    return check(!fflush(stdout));
}

int cli_finish_output(int status) {
    cli_flush();
    if (fclose(stdout)) check(false);
    if (!failure || status >= CLI_SIGNAL) return status;
    if (failure == EPIPE) return CLI_SIGNAL + SIGPIPE; /* the reader has what it wanted: no message */
    int failed = cli_fail("writing standard output: %s", strerror(failure));
    return status ? status : failed;
}

/* ---- UTF-8 ------------------------------------------------------------------------------------------------ */

size_t cli_utf8_next(const char *bytes, size_t length, uint32_t *character, size_t *bad) {
    const unsigned char *s = (const unsigned char *)bytes;
    *bad = 1;
    *character = s[0];
    if (s[0] < 0x80) return 1;
    /* the second byte's range keeps out overlong forms, surrogates and what is past U+10FFFF (Unicode, table 3-7) */
    size_t n = s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : s[0] >= 0xe0 && s[0] < 0xf0 ? 3 : s[0] >= 0xf0 && s[0] < 0xf5 ? 4 : 0;
    unsigned char low = s[0] == 0xe0   ? 0xa0
                        : s[0] == 0xf0 ? 0x90
                                       : 0x80,
                  high = s[0] == 0xed   ? 0x9f
                         : s[0] == 0xf4 ? 0x8f
                                        : 0xbf;
    if (!n) return 0;
    *character = s[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if (i == length || s[i] < low || s[i] > high) {
            *bad = i; /* the longest beginning of a character makes one U+FFFD, as in the WHATWG encoding standard */
            return 0;
        }
        *character = *character << 6 | (s[i] & 0x3f);
        low = 0x80;
        high = 0xbf;
    }
    return n;
}

bool cli_is_utf8(const char *bytes, size_t length) {
    uint32_t character;
    size_t bad;
    for (size_t i = 0, n; i < length; i += n)
        if (!(n = cli_utf8_next(bytes + i, length - i, &character, &bad))) return false;
    return true;
}

bool cli_print_safe(const char *bytes, size_t length, bool quoted) {
    for (size_t i = 0, n; i < length && !failure; i += n) {
        uint32_t character;
        size_t bad;
        n = cli_utf8_next(bytes + i, length - i, &character, &bad);
        bool control = character < 0x20 || (character >= 0x7f && character < 0xa0);
        if (n && !control) {
            if (quoted && (character == '"' || character == '\\')) cli_write("\\", 1);
            cli_write(bytes + i, n);
            continue;
        }
        if (!n) n = bad;
        if (character == '\n')
            cli_print("\\n");
        else if (character == '\t')
            cli_print("\\t");
        else if (character == '\r')
            cli_print("\\r");
        else
            for (size_t j = 0; j < n; j++) cli_print("\\x%02x", (unsigned char)bytes[i + j]);
    }
    return !failure;
}
