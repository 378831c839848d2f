/* complete.c: continues a prompt with a model, through the public library alone.
 *
 *   complete MODEL.gguf "Once upon a time" [TOKENS]
 *
 * Build it with `make -C examples` against an installed shohin; see the Makefile beside it. */
#include <shohin.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Says what went wrong. The library's text names the file, key or value concerned. */
static int failed(const char *doing) {
    fprintf(stderr, "complete: %s: %s\n", doing, sh_error_text());
    return 1;
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: complete MODEL.gguf PROMPT [TOKENS]\n");
        return 2;
    }

    /* NULL and 0 are what the _close calls accept, so that one exit serves every failure. */
    sh_engine *engine = NULL;
    sh_session *session = NULL;
    sh_gen *gen = NULL;
    sh_text *text = NULL;
    int32_t *ids = NULL;
    int status = 1;

    /* A model on a device. Several sessions, also of several threads, may share it. */
    sh_engine_options engine_options;
    sh_engine_options_default(&engine_options);
    engine_options.path = argv[1];
    if (sh_engine_open(&engine_options, &engine)) {
        failed("opening the model");
        goto done;
    }

    /* Where sequences of tokens live. */
    sh_session_options session_options;
    sh_session_options_default(&session_options);
    if (sh_session_open(engine, &session_options, &session)) {
        failed("opening a session");
        goto done;
    }

    /* Text to token ids, with the beginning that the model expects. */
    const sh_tokenizer *tokenizer = sh_engine_tokenizer(engine);
    size_t n_ids;
    if (sh_tokenize(tokenizer, argv[2], strlen(argv[2]), SH_TOKENIZE_BOS, &ids, &n_ids)) {
        failed("tokenizing the prompt");
        goto done;
    }

    sh_gen_options gen_options;
    sh_gen_options_default(engine, &gen_options);
    gen_options.prompt = ids;
    gen_options.n_prompt = n_ids;
    gen_options.max_tokens = argc > 3 ? atoll(argv[3]) : 64;
    gen_options.sampling.temperature = 0; /* the most likely token each time: the same text on every run */
    if (sh_gen_open(session, &gen_options, &gen) || sh_text_open(tokenizer, 0, &text)) {
        failed("starting to generate");
        goto done;
    }

    /* Each step feeds part of the prompt or draws a token. A token may be a part of a character; sh_text holds such
     * bytes back until the character is whole. */
    printf("%s", argv[2]);
    for (bool ended = false; !ended;) {
        sh_event events[3]; /* what one generator may have to tell at once */
        size_t n_events;
        if (sh_step(session, events, 3, &n_events)) {
            failed("generating");
            goto done;
        }
        for (size_t i = 0; i < n_events; i++) {
            const char *utf8;
            size_t length;
            if (events[i].kind == SH_EVENT_END) ended = true;
            if (events[i].kind != SH_EVENT_TOKEN) continue;
            if (sh_text_push(text, events[i].token, &utf8, &length)) {
                failed("turning a token into text");
                goto done;
            }
            fwrite(utf8, 1, length, stdout);
            fflush(stdout);
        }
    }
    const char *rest;
    size_t n_rest;
    sh_text_finish(text, &rest, &n_rest);
    printf("%.*s\n", (int)n_rest, rest);
    status = 0;

done:
    sh_text_close(text);
    sh_gen_close(gen);
    sh_free(ids);
    sh_session_close(session);
    sh_engine_close(engine);
    return status;
}
