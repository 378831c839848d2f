/* shohin.h: inference for language models with one-bit and ternary weights.
 *
 * Three layers, each usable without the one above it:
 *   text        strings <-> token ids                         sh_tokenize, sh_text_push
 *   pass        rows of (token, position, sequence) -> logits sh_pass
 *   generation  prompts -> tokens                             sh_gen_open, sh_step
 *
 * An sh_engine is a loaded model on one device: read-only once open, and shared by threads. An sh_session
 * is a pool of KV pages and the sequences that live in it: used by one thread at a time, except for
 * sh_cancel, which any thread may call.
 *
 * The contract: on one engine, the logits of a row are the same bits however the tokens before it were fed:
 * one at a time, in one pass, in chunks of any size, after a rollback, from a forked sequence, beside other
 * sequences, with any number of threads.
 *
 * Every call that can fail returns an sh_status. After a failure sh_error_text() holds one line that names the
 * file, key, tensor or value concerned, with the numbers. A failed call leaves its session as it was. The library never
 * exits, prints or aborts on what it is given. Every _close and _free accepts NULL.
 */
#ifndef SHOHIN_H
#define SHOHIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define SH_API __attribute__((visibility("default")))
#else
#define SH_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- errors, version, log ------------------------------------------------------------------------------- */

typedef enum sh_status {
    SH_OK = 0,
    SH_ERR_ARGUMENT,    /* a value that the caller passed is outside its range */
    SH_ERR_IO,          /* the operating system refused to open, read or map a file */
    SH_ERR_FORMAT,      /* a file is damaged, or is not what it says it is */
    SH_ERR_UNSUPPORTED, /* understood, but not run here; the text names the way out */
    SH_ERR_MEMORY,      /* an allocation failed, or the KV pool is full */
    SH_ERR_CONTEXT,     /* a position or a prompt past the end of the context */
    SH_ERR_DEVICE,      /* the device reported a failure */
    SH_ERR_CANCELLED,   /* sh_cancel was called */
} sh_status;

/* "0.1.0". Static. */
SH_API const char *sh_version(void);

/* A status in words, such as "out of memory". Static. */
SH_API const char *sh_status_text(sh_status status);

/* The text of the latest failure on the calling thread, without a newline; "" if there was none. It stays valid until
 * the next failure on that thread. */
SH_API const char *sh_error_text(void);

typedef enum sh_log_level { SH_LOG_ERROR = 0, SH_LOG_WARN, SH_LOG_INFO, SH_LOG_DEBUG } sh_log_level;

/* Receives what the library would tell a person, one line without a newline at a time. By default nothing is
 * logged. Set it before opening anything; `log` is called from whichever thread is inside the library. NULL ends it. */
typedef void sh_log_fn(void *user, sh_log_level level, const char *line);
SH_API void sh_log_set(sh_log_fn *log, void *user);

/* Frees what the library allocated for the caller (the ids of sh_tokenize). */
SH_API void sh_free(void *memory);

/* ---- model files ---------------------------------------------------------------------------------------- */

typedef struct sh_file sh_file;

typedef struct sh_file_options {
    /* How blocks of GGUF type 42 are laid out: NULL or "auto" (told apart by the file's offsets and contents), "64",
     * "128" (scale first) or "codes-first" (128, scale last, as OxiBonsai writes it). */
    const char *q2_layout;
} sh_file_options;

SH_API void sh_file_options_default(sh_file_options *options);

/* Opens and checks a GGUF file; of a split file, any part (all parts are opened). The file stays mapped, and must not
 * change, until closed. `options` may be NULL. */
SH_API sh_status sh_file_open(const char *path, const sh_file_options *options, sh_file **out);
SH_API void sh_file_close(sh_file *file);

typedef struct sh_file_info {
    uint32_t version;         /* of GGUF: 2 or 3 */
    uint32_t parts;           /* files it is split into: 1 if it is not */
    uint64_t bytes;           /* of all parts */
    uint64_t parameters;      /* elements of all tensors */
    uint64_t n_metadata;      /* keys */
    uint64_t n_tensors;       /* in all parts */
    const char *architecture; /* general.architecture, "" if absent; owned by the file, like all texts here */
    const char *name;         /* general.name, "" if absent */
    const char *q2_layout;    /* how type 42 is read: "64", "128", "codes-first"; NULL if the file has none */
    const char *q2_reason;    /* and why; NULL likewise */
    const char *refusal;      /* why the file cannot be run; NULL if nothing in it stands against that */
} sh_file_info;

SH_API void sh_file_describe(const sh_file *file, sh_file_info *info);

typedef struct sh_tensor_info {
    const char *name; /* not terminated: `name_length` bytes */
    size_t name_length;
    const char *format; /* "Q1_0", ...; static */
    uint32_t type;      /* the type number in the file */
    uint32_t n_dims;    /* 1 to 4 */
    uint64_t dims[4];   /* the input dimension first; 1 past n_dims */
    uint64_t bytes;     /* of its data; 0 if the format's size is not known */
    uint64_t offset;    /* of its data in its part */
    uint32_t part;      /* 0 to parts - 1 */
} sh_tensor_info;

/* Tensor `index` of n_tensors, in file order. */
SH_API sh_status sh_file_tensor(const sh_file *file, uint64_t index, sh_tensor_info *info);

/* Metadata `index` of n_metadata as text: its key and its value. Long arrays are cut short with the number of their
 * elements. Both buffers are terminated, and cut if too small. */
SH_API sh_status sh_file_metadata(const sh_file *file, uint64_t index, char *key, size_t key_capacity, char *value,
                                  size_t value_capacity);

/* ---- text ----------------------------------------------------------------------------------------------- */

typedef struct sh_tokenizer sh_tokenizer; /* read-only: shared by threads */
typedef struct sh_text sh_text;           /* a stream of ids becoming text: one thread at a time */

/* The tokenizer that the file describes. `file` must outlive it. */
SH_API sh_status sh_tokenizer_open(const sh_file *file, sh_tokenizer **out);
SH_API void sh_tokenizer_close(sh_tokenizer *tokenizer);

typedef struct sh_tokenizer_info {
    uint32_t n_tokens;   /* ids 0 to n_tokens - 1 have a text */
    int32_t bos;         /* -1 if there is none, likewise below */
    int32_t eos;         /* */
    bool add_bos;        /* the model expects BOS in front of a text */
    const int32_t *ends; /* tokens that end a text, owned by the tokenizer */
    size_t n_ends;
} sh_tokenizer_info;

SH_API void sh_tokenizer_describe(const sh_tokenizer *tokenizer, sh_tokenizer_info *info);

enum {
    SH_TOKENIZE_SPECIAL = 1, /* control tokens in the text, such as <|im_end|>, become their ids; without it they are
                                plain characters, so text from a user never becomes a control token */
    SH_TOKENIZE_BOS = 2,     /* BOS goes in front if the model expects it */
};

/* Turns `length` bytes of UTF-8 into ids. Invalid bytes become U+FFFD as in the WHATWG encoding standard. *ids is the
 * caller's, freed by sh_free; NULL if there are none. */
SH_API sh_status sh_tokenize(const sh_tokenizer *tokenizer, const char *text, size_t length, uint32_t flags,
                             int32_t **ids, size_t *n_ids);

/* The bytes of one token, owned by the tokenizer and not terminated: they may be part of a character. A control token's
 * are its name. */
SH_API sh_status sh_token_bytes(const sh_tokenizer *tokenizer, int32_t id, const char **bytes, size_t *length);

/* True for control tokens, which sh_text leaves out unless asked. */
SH_API bool sh_token_is_control(const sh_tokenizer *tokenizer, int32_t id);

enum { SH_TEXT_CONTROL = 1 /* show control tokens by name */ };

SH_API sh_status sh_text_open(const sh_tokenizer *tokenizer, uint32_t flags, sh_text **out);
SH_API void sh_text_close(sh_text *text);

/* Adds a token and returns the text that is now certain: valid UTF-8, not terminated, owned by `text` until its next
 * call. Bytes that may still become a character are held back; what cannot become one turns into U+FFFD. */
SH_API sh_status sh_text_push(sh_text *text, int32_t id, const char **utf8, size_t *length);

/* Ends the stream: what was held back, as U+FFFD. The stream is then as new. */
SH_API void sh_text_finish(sh_text *text, const char **utf8, size_t *length);

/* ---- engine --------------------------------------------------------------------------------------------- */

typedef struct sh_engine sh_engine;

typedef struct sh_engine_options {
    const char *path;               /* of a GGUF file */
    const char *device;             /* "auto" or the name of a device; see sh_device_name */
    uint32_t threads;               /* 0: as many as the process may use cores */
    const char *q2_layout;          /* as in sh_file_options */
    const char *rope_scaling;       /* NULL: as the file says; "none"; "yarn" */
    float yarn_factor;              /* 0: as the file says */
    uint32_t yarn_original_context; /* 0: as the file says */
} sh_engine_options;

SH_API void sh_engine_options_default(sh_engine_options *options);
SH_API sh_status sh_engine_open(const sh_engine_options *options, sh_engine **out);
/* After every session of it. */
SH_API void sh_engine_close(sh_engine *engine);

/* The devices this library was built with: name 0, 1, ...; NULL past the last. */
SH_API const char *sh_device_name(size_t index);

/* How a token is drawn from logits, in this order: top_k, top_p, min_p, then temperature (llama.cpp's order). */
typedef struct sh_sampling {
    float temperature; /* 0: the most likely token; ties go to the lowest id */
    uint32_t top_k;    /* only the k most likely; 0: all */
    float top_p;       /* the fewest tokens whose probabilities reach this; 1: all */
    float min_p;       /* at least this share of the most likely token's probability; 0: all */
    uint64_t seed;     /* the numbers of token i are a function of (seed, choice, i) alone: Philox 4x32-10 */
    uint32_t choice;   /* tells apart several answers with one seed */
} sh_sampling;

typedef struct sh_engine_info {
    const char *device; /* owned by the engine, like all texts here */
    const char *name;   /* of the model */
    const char *architecture;
    uint32_t threads;
    uint32_t n_layers;
    uint32_t hidden;
    uint32_t ffn;
    uint32_t n_heads;
    uint32_t n_kv_heads;
    uint32_t head_dim;
    uint32_t vocabulary;            /* rows of the embedding: logits of a row */
    bool tied;                      /* the head is the embedding */
    uint32_t context;               /* positions that the file promises */
    const char *rope_scaling;       /* "none", "linear" or "yarn" */
    float rope_base;                /* */
    float rope_factor;              /* 1 if not scaled */
    uint32_t rope_original_context; /* 0 if not YaRN */
    float rope_attention_factor;    /* 1 if not YaRN */
    uint64_t parameters;
    uint64_t weight_bytes;  /* in the file */
    uint64_t kv_page_bytes; /* of 64 positions, all layers */
    sh_sampling sampling;   /* the defaults: the file's, then those of the model's family */
} sh_engine_info;

SH_API void sh_engine_describe(const sh_engine *engine, sh_engine_info *info);

/* Owned by the engine. */
SH_API const sh_tokenizer *sh_engine_tokenizer(const sh_engine *engine);

/* ---- session and sequences ------------------------------------------------------------------------------ */

typedef struct sh_session sh_session;
typedef uint32_t sh_seq; /* a sequence's number: of one session, never used twice in a row; 0 is none */

typedef struct sh_session_options {
    uint32_t context;   /* positions a sequence may have; 0: what the file promises or half of the free memory holds,
                           whichever is smaller */
    uint32_t sequences; /* that may live at once: 1 to 4096 */
    uint64_t positions; /* that all sequences may hold together; 0: the context */
    uint32_t rows;      /* that a pass may have: 1 to 65536 */
    bool unmerged;      /* run the op list as recorded, without merged steps: to test against */
} sh_session_options;

/* context 0, 16 sequences, positions 0, 512 rows. */
SH_API void sh_session_options_default(sh_session_options *options);
SH_API sh_status sh_session_open(sh_engine *engine, const sh_session_options *options, sh_session **out);
/* Closes its generators and frees its sequences as well. */
SH_API void sh_session_close(sh_session *session);

typedef struct sh_session_info {
    uint32_t context;     /* positions a sequence may have */
    uint32_t cut_from;    /* the file's context if memory made it smaller, else 0 */
    uint32_t rows;        /* that a pass may have */
    uint32_t sequences;   /* that may live at once */
    uint64_t kv_bytes;    /* reserved for the whole pool */
    uint64_t free_memory; /* when the session was opened */
} sh_session_info;

SH_API void sh_session_describe(const sh_session *session, sh_session_info *info);

/* Counted since the session was opened. */
typedef struct sh_session_stats {
    uint64_t passes;              /* sh_pass calls that reached the device and came back */
    uint64_t submissions;         /* to the device */
    uint64_t waits;               /* for the device */
    uint64_t rows;                /* fed */
    uint64_t head_rows;           /* rows that ran the final norm and head */
    uint64_t scratch_allocations; /* of working buffers: none while shapes repeat */
    uint64_t bytes_up;            /* inputs of passes to the device, page tables apart */
    uint64_t bytes_up_pages;      /* page tables */
    uint64_t bytes_down;          /* results */
    uint64_t pages_used;          /* KV pages in use now */
    uint64_t pages_copied;        /* partly filled pages of shared prefixes that were copied to be written */
} sh_session_stats;

SH_API void sh_session_get_stats(const sh_session *session, sh_session_stats *stats);

SH_API sh_status sh_seq_new(sh_session *session, sh_seq *out);
/* A new sequence that begins with the first `length` tokens of `from`; pages are shared. */
SH_API sh_status sh_seq_fork(sh_session *session, sh_seq from, uint32_t length, sh_seq *out);
/* Forgets all positions from `length` on. */
SH_API sh_status sh_seq_truncate(sh_session *session, sh_seq seq, uint32_t length);
SH_API sh_status sh_seq_length(const sh_session *session, sh_seq seq, uint32_t *length);
SH_API sh_status sh_seq_free(sh_session *session, sh_seq seq);

/* ---- pass ----------------------------------------------------------------------------------------------- */

enum {
    SH_WANT_NOTHING = 0, /* its keys and values only */
    SH_WANT_LOGITS = 1,  /* all logits */
    SH_WANT_ARGMAX = 2,  /* the most likely token: ties go to the lowest id, a NaN never wins */
};

typedef struct sh_row {
    int32_t token;     /* 0 to vocabulary - 1 */
    uint32_t position; /* its sequence's length plus its earlier rows in this pass */
    sh_seq seq;        /* */
    uint32_t want;     /* SH_WANT_ flags */
} sh_row;

typedef struct sh_result {
    const float *logits; /* [vocabulary], owned by the session until its next pass; NULL if not wanted */
    int32_t argmax;      /* -1 if not wanted, or if every logit is NaN */
} sh_result;

/* One forward pass over n rows (1 to the session's `rows`) of any sequences in any mix: prefill, verification,
 * decoding and scoring are this call. results has n elements, or is NULL if no row wants anything. On failure no
 * sequence has changed. */
SH_API sh_status sh_pass(sh_session *session, const sh_row *rows, size_t n, sh_result *results);

/* Makes the pass or step that runs now, or the next one, end early with SH_ERR_CANCELLED. From any thread, and from a
 * signal handler. */
SH_API void sh_cancel(sh_session *session);

/* ---- generation ----------------------------------------------------------------------------------------- */

/* A prompt being continued. It lives in a session, and keeps its sequence and pages, also when it has ended, until it or
 * the session is closed. */
typedef struct sh_gen sh_gen;

typedef struct sh_gen_options {
    const int32_t *prompt; /* copied; 1 to context ids */
    size_t n_prompt;
    int64_t max_tokens; /* -1: until it ends by itself or the context is full */
    bool ignore_ends;   /* go on past tokens that end a text */
    sh_sampling sampling;
    void *user; /* handed back in events */
} sh_gen_options;

/* The engine's default sampling, seed 0, no limit of tokens. */
SH_API void sh_gen_options_default(const sh_engine *engine, sh_gen_options *options);
SH_API sh_status sh_gen_open(sh_session *session, const sh_gen_options *options, sh_gen **out);
SH_API void sh_gen_close(sh_gen *gen);

typedef enum sh_event_kind {
    SH_EVENT_PROMPT, /* part of the prompt was fed: `fed` of `n_prompt` */
    SH_EVENT_TOKEN,  /* `token` was drawn */
    SH_EVENT_END,    /* nothing more comes; `reason` says why */
} sh_event_kind;

typedef enum sh_end_reason {
    SH_END_NONE = 0,
    SH_END_TOKEN,   /* the model drew a token that ends a text: `token` */
    SH_END_LIMIT,   /* max_tokens were drawn */
    SH_END_CONTEXT, /* the context is full */
    SH_END_FAILED,  /* no token could be drawn, as every logit is NaN: sh_error_text() has the words */
} sh_end_reason;

typedef struct sh_event {
    sh_gen *gen;
    void *user;
    sh_event_kind kind;
    sh_end_reason reason;
    int32_t token;
    size_t fed, n_prompt;
} sh_event;

/* One pass over the generators of the session that have not ended: decoding rows and chunks of prompts together, as many
 * as a pass has rows and the KV pool has pages; who is left out comes first next time. Writes at most `capacity` events,
 * of which there must be room for three for each live generator; *n is 0 when all have ended. On failure none has
 * moved; SH_ERR_MEMORY says that the pool is full and no live generator can go on until another is closed. */
SH_API sh_status sh_step(sh_session *session, sh_event *events, size_t capacity, size_t *n);

#ifdef __cplusplus
}
#endif

#endif
