/* json_check.c: json_check [PATH] < file: is this one valid JSON object, and what is in it?
 *
 * A test's own reader: strict (RFC 8259, one value and then nothing but a line end, valid UTF-8). PATH goes down by names and indices,
 * "positions.0.top.0.1"; the value's JSON text is printed, numbers as they stand, a string without its quotes, "#" last for the number
 * of elements. Exit status 1 and a line if it is not valid or has no such value. */
#include <json-c/json.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_all(size_t *length) {
    size_t capacity = 1 << 16;
    char *bytes = malloc(capacity);
    *length = 0;
    for (size_t n; bytes && (n = fread(bytes + *length, 1, capacity - *length, stdin)); *length += n) {
        if (*length + n < capacity) continue;
        char *larger = realloc(bytes, capacity *= 2);
        if (!larger) free(bytes);
        bytes = larger;
    }
    return bytes;
}

static json_object *down(json_object *value, char *path) {
    for (char *name = strtok(path, "."); name; name = strtok(NULL, ".")) {
        json_object *next = NULL;
        if (json_object_is_type(value, json_type_array)) {
            char *end;
            size_t index = strtoul(name, &end, 10);
            if (*end || index >= json_object_array_length(value)) return NULL;
            value = json_object_array_get_idx(value, index);
        } else if (json_object_is_type(value, json_type_object) && json_object_object_get_ex(value, name, &next)) {
            value = next;
        } else {
            return NULL;
        }
    }
    return value;
}

static int print(json_object *root, char *path) {
    size_t length = strlen(path);
    int counted = length >= 2 && !strcmp(path + length - 2, ".#");
    if (counted) path[length - 2] = 0;
    json_object *value = down(root, path);
    if (!value) {
        printf("null\n"); /* no such value, or null */
        return 1;
    }
    if (counted)
        printf("%zu\n", json_object_is_type(value, json_type_array) ? json_object_array_length(value)
                                                                    : (size_t)json_object_object_length(value));
    else if (json_object_is_type(value, json_type_string))
        printf("%s\n", json_object_get_string(value));
    else
        printf("%s\n", json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN));
    return 0;
}

int main(int argc, char **argv) {
    size_t length;
    char *bytes = read_all(&length);
    json_tokener *tokener = json_tokener_new();
    if (!bytes || !tokener) return 1;
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    if (!length || bytes[length - 1] != '\n') {
        printf("json_check: the text does not end in a line end\n");
        return 1;
    }
    json_object *root = json_tokener_parse_ex(tokener, bytes, (int)length - 1);
    enum json_tokener_error error = json_tokener_get_error(tokener);
    if (error != json_tokener_success || !json_object_is_type(root, json_type_object)) {
        printf("json_check: at byte %zu of %zu: %s\n", json_tokener_get_parse_end(tokener), length,
               error == json_tokener_success ? "no object" : json_tokener_error_desc(error));
        return 1;
    }
    int status = argc > 1 ? print(root, argv[1]) : 0;
    json_object_put(root);
    json_tokener_free(tokener);
    free(bytes);
    return status;
}
