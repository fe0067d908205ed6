// Write Sandhog job handlers as plain C functions.
//
//     #include "sandhog.h"
//
//     static sandhog_verdict measure(const sandhog_job *job) {
//         if (job->payload_len == 0) return sandhog_permanent("empty", "the payload is empty");
//         sandhog_info("measuring %zu bytes", job->payload_len);
//         return sandhog_json("{\"bytes\":%zu}", job->payload_len);
//     }
//
//     SANDHOG_HANDLERS({.kind = "measure", .timeout_ms = 10000, .max_attempts = 5, .run = measure})
//
// Every attempt has memory of its own that goes with it: nothing needs to be freed, and what is given here
// stays until the attempt ends. Texts end with a NUL. A crash (`abort`, a failed `assert`, a bad pointer) is a
// trap: three attempts, and what was printed before is in the job's log.

#ifndef SANDHOG_H
#define SANDHOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// A key with its value.
typedef struct {
    const char *key;
    const char *value;
} sandhog_pair;

// One attempt at a job.
typedef struct {
    const char *id;              // the same for every attempt
    const char *kind;            // what chose this handler
    const char *queue;           // the queue it came through
    const char *idempotency_key; // stable over all attempts: for services that know such keys
    const char *content_type;    // media type of the payload
    uint32_t attempt;            // from 1; attempts lost with their host do not count
    uint32_t max_attempts;       // how many the job may use
    uint64_t enqueued_at_ms;     // milliseconds since 1970
    uint64_t deadline_ms;        // when this attempt will be interrupted
    const sandhog_pair *headers; // in their order; keys may repeat
    size_t headers_len;
    const uint8_t *payload; // a NUL follows its last byte
    size_t payload_len;
    const uint8_t *checkpoint; // what the last checkpoint of an earlier attempt held; NULL without one
    size_t checkpoint_len;
} sandhog_job;

// The header's value, the first when the key repeats; NULL without one.
const char *sandhog_header(const sandhog_job *job, const char *key);

// What a handler gives back; made by one of the functions below.
typedef struct sandhog_verdict_s *sandhog_verdict;

// A handler of one kind. What is left out (zero) is left to the operator.
typedef struct {
    const char *kind;
    const char *summary;      // one line about it
    uint64_t timeout_ms;      // wall time of one attempt
    uint32_t max_attempts;    // attempts in all
    uint32_t trap_attempts;   // when they trap
    const char *backoff;      // the wait between attempts: "exponential 1s max 1h"
    const char *queue;        // the queue of jobs that name none
    const char *content_type; // the payload's media type, when the enqueue says none
    sandhog_verdict (*run)(const sandhog_job *job);
} sandhog_handler;

// The handlers of the component, once in a program.
#define SANDHOG_HANDLERS(...) const sandhog_handler sandhog_handlers[] = {__VA_ARGS__, {0}};
extern const sandhog_handler sandhog_handlers[];

// What they wish to be granted, in the form of a plugin's NAME.toml; once in a program, if at all.
#define SANDHOG_GRANTS(text) const char *const sandhog_grants = text;

// ---- Success

// Bytes as they are.
sandhog_verdict sandhog_bytes(const char *content_type, const void *data, size_t len);
// JSON, as printf writes it. Texts from elsewhere go through `sandhog_add_json`.
sandhog_verdict sandhog_json(const char *format, ...) __attribute__((format(printf, 1, 2)));
// No result.
sandhog_verdict sandhog_nothing(void);

// ---- Failure; each keeps the place where it was made. `code` is a short stable token for rules and metrics.

// Try again after the backoff.
#define sandhog_retryable(code, ...) sandhog_failed(0, 0, SANDHOG_HERE, code, __VA_ARGS__)
// Try again, not before so many milliseconds from now.
#define sandhog_retry_after(ms, code, ...) sandhog_failed(1, ms, SANDHOG_HERE, code, __VA_ARGS__)
// Never try again: to the dead letters.
#define sandhog_permanent(code, ...) sandhog_failed(2, 0, SANDHOG_HERE, code, __VA_ARGS__)
// With one more key and value for whoever reads the job's history.
sandhog_verdict sandhog_with(sandhog_verdict failure, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// Not a failure: run again in so many milliseconds, no attempt used.
sandhog_verdict sandhog_snooze(uint64_t ms);
// Drop the job, with the reason.
sandhog_verdict sandhog_discard(const char *format, ...) __attribute__((format(printf, 1, 2)));

typedef struct {
    const char *file, *function;
    int line;
} sandhog_place;
#ifdef __FILE_NAME__ // without the folders of the machine it was built on
#define SANDHOG_HERE ((sandhog_place){__FILE_NAME__, __func__, __LINE__})
#else
#define SANDHOG_HERE ((sandhog_place){__FILE__, __func__, __LINE__})
#endif
sandhog_verdict sandhog_failed(int tag, uint64_t ms, sandhog_place place, const char *code, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

// ---- The attempt

// True once the attempt should end soon: cancelled, or its deadline is near.
bool sandhog_cancelled(void);
// Milliseconds until the attempt is interrupted.
uint64_t sandhog_remaining_ms(void);
// Keeps bytes for the next attempt; durable when it returns NULL. Else why not.
const char *sandhog_checkpoint(const void *data, size_t len);
// How far it has come: steps done, of how many (0: not known), and a short note or NULL.
void sandhog_progress(uint64_t done, uint64_t total, const char *note);
// A setting the operator gave this handler; NULL when there is none.
const char *sandhog_config(const char *key);

typedef enum { SANDHOG_TRACE, SANDHOG_DEBUG, SANDHOG_INFO, SANDHOG_WARN, SANDHOG_ERROR } sandhog_level;
// Whether a line of this level is kept.
bool sandhog_log_enabled(sandhog_level level);
// Writes a line to the attempt's log. What is too long is cut, what is too much is dropped and counted.
void sandhog_log(sandhog_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
// The same with fields.
void sandhog_log_fields(sandhog_level level, const char *line, const sandhog_pair *fields, size_t len);
#define sandhog_info(...) sandhog_log(SANDHOG_INFO, __VA_ARGS__)
#define sandhog_warn(...) sandhog_log(SANDHOG_WARN, __VA_ARGS__)
#define sandhog_error(...) sandhog_log(SANDHOG_ERROR, __VA_ARGS__)

// A job to add when, and only when, this attempt succeeds.
typedef struct {
    const char *kind;
    const char *content_type;
    const void *payload;
    size_t payload_len;
    const sandhog_pair *headers;
    size_t headers_len;
    // `queue`, `priority`, `max-attempts`, `delay-ms`, `expires-in-ms`, `retry-for-ms`, `group`, `tag` (as often as
    // there are words), `batch` (`own`), `unique-key`, `unique-for-ms`, `unique-while`, `idempotency-key`. A job whose
    // key another one has when this attempt succeeds is not added.
    const sandhog_pair *options;
    size_t options_len;
} sandhog_new_job;
typedef enum { SANDHOG_TAKEN, SANDHOG_INVALID, SANDHOG_QUOTA, SANDHOG_DENIED, SANDHOG_OTHER } sandhog_taken;
// Adds it. `text` becomes its id when it is taken, else why not.
sandhog_taken sandhog_enqueue(const sandhog_new_job *job, const char **text);

// HMAC with SHA-256 over bytes, made by the host with the operator's secret of that name. NULL when the 32
// bytes are in `mac`; else why not.
const char *sandhog_hmac_sha256(const char *secret, const void *data, size_t len, uint8_t mac[32]);

// ---- Texts

// A text that grows; starts as {0}.
typedef struct {
    char *ptr;
    size_t len, room;
} sandhog_text;
// Adds what printf makes of it.
void sandhog_add(sandhog_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Adds bytes as a JSON string, with its quotes. What is no UTF-8 becomes U+FFFD.
void sandhog_add_json(sandhog_text *text, const void *data, size_t len);

#ifdef __cplusplus
}
#endif
#endif
