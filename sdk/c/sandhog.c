// The layer between handlers in C and the bindings that wit-bindgen makes. Nothing is freed: the memory of an
// attempt goes with it.

#include "sandhog.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "handler_plugin.h"

#define VERSION "0.1.0"

// Handlers may wish for nothing.
__attribute__((weak)) const char *const sandhog_grants = "";

typedef handler_plugin_string_t string;

struct sandhog_verdict_s {
    enum { OK, FAILED, SNOOZED, DISCARDED } end;
    int tag; // of a failure: the contract's case
    uint64_t ms;
    const char *code;
    string said; // the result's bytes, a message, a reason
    const char *content_type;
    sandhog_pair *details;
    size_t details_len;
};

static void *memory(size_t len) {
    void *found = calloc(1, len ? len : 1);
    if (!found) {
        fprintf(stderr, "memory allocation of %zu bytes failed\n", len);
        abort();
    }
    return found;
}

// ---- Texts

static void room_for(sandhog_text *text, size_t more) {
    if (text->room - text->len > more) return;
    size_t room = text->room * 2 > text->len + more + 64 ? text->room * 2 : text->len + more + 64;
    char *grown = memory(room);
    if (text->len) memcpy(grown, text->ptr, text->len);
    free(text->ptr);
    text->ptr = grown;
    text->room = room;
}

static void add_formatted(sandhog_text *text, const char *format, va_list values) {
    va_list again;
    va_copy(again, values);
    int len = vsnprintf(NULL, 0, format, values);
    if (len > 0) {
        room_for(text, (size_t)len);
        vsnprintf(text->ptr + text->len, (size_t)len + 1, format, again);
        text->len += (size_t)len;
    }
    va_end(again);
}

void sandhog_add(sandhog_text *text, const char *format, ...) {
    va_list values;
    va_start(values, format);
    add_formatted(text, format, values);
    va_end(values);
}

// The length of the UTF-8 character at a place, 0 when there is none.
static size_t utf8_at(const uint8_t *at, size_t left) {
    size_t len = at[0] < 0x80 ? 1 : at[0] < 0xc2 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : at[0] < 0xf5 ? 4 : 0;
    if (len == 0 || len > left) return 0;
    for (size_t i = 1; i < len; i++)
        if ((at[i] & 0xc0) != 0x80) return 0;
    bool overlong = (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xf0 && at[1] < 0x90);
    bool no_char = (at[0] == 0xed && at[1] > 0x9f) || (at[0] == 0xf4 && at[1] > 0x8f);
    return overlong || no_char ? 0 : len;
}

void sandhog_add_json(sandhog_text *text, const void *data, size_t len) {
    const uint8_t *bytes = data;
    sandhog_add(text, "\"");
    for (size_t at = 0; at < len;) {
        size_t width = utf8_at(bytes + at, len - at);
        if (width == 0) {
            sandhog_add(text, "\xef\xbf\xbd");
            at++;
        } else if (width == 1 && (bytes[at] < 0x20 || bytes[at] == '"' || bytes[at] == '\\')) {
            sandhog_add(text, "\\u%04x", bytes[at++]);
        } else {
            room_for(text, width);
            memcpy(text->ptr + text->len, bytes + at, width);
            text->len += width;
            at += width;
        }
    }
    sandhog_add(text, "\"");
}

// A text of its own with a NUL behind it, which the host does not see.
static char *c_text(const void *data, size_t len) {
    char *text = memory(len + 1);
    if (len) memcpy(text, data, len);
    return text;
}

static string own(const char *text) {
    size_t len = text ? strlen(text) : 0;
    return (string){(uint8_t *)c_text(text, len), len};
}

// Texts that the host must take as UTF-8, whatever they are made of.
static string own_utf8(const char *text, size_t len) {
    sandhog_text clean = {0};
    room_for(&clean, 0);
    for (size_t at = 0; at < len;) {
        size_t width = utf8_at((const uint8_t *)text + at, len - at);
        sandhog_add(&clean, "%.*s", width ? (int)width : 3, width ? text + at : "\xef\xbf\xbd");
        at += width ? width : 1;
    }
    return (string){(uint8_t *)clean.ptr, clean.len};
}

static string formatted(const char *format, va_list values) {
    sandhog_text text = {0};
    room_for(&text, 0);
    add_formatted(&text, format, values);
    return own_utf8(text.ptr, text.len);
}

// ---- Verdicts

sandhog_verdict sandhog_bytes(const char *content_type, const void *data, size_t len) {
    sandhog_verdict verdict = memory(sizeof *verdict);
    verdict->content_type = content_type;
    verdict->said = (string){(uint8_t *)c_text(data, len), len};
    return verdict;
}

sandhog_verdict sandhog_nothing(void) { return sandhog_bytes("", "", 0); }

sandhog_verdict sandhog_json(const char *format, ...) {
    sandhog_verdict verdict = memory(sizeof *verdict);
    va_list values;
    va_start(values, format);
    verdict->said = formatted(format, values);
    va_end(values);
    verdict->content_type = "application/json";
    return verdict;
}

sandhog_verdict sandhog_with(sandhog_verdict failure, const char *key, const char *format, ...) {
    va_list values;
    va_start(values, format);
    string value = formatted(format, values);
    va_end(values);
    sandhog_pair *more = memory((failure->details_len + 1) * sizeof *more);
    if (failure->details_len) memcpy(more, failure->details, failure->details_len * sizeof *more);
    more[failure->details_len++] = (sandhog_pair){key, (const char *)value.ptr};
    failure->details = more;
    return failure;
}

sandhog_verdict sandhog_failed(int tag, uint64_t ms, sandhog_place place, const char *code, const char *format, ...) {
    sandhog_verdict verdict = memory(sizeof *verdict);
    va_list values;
    va_start(values, format);
    verdict->said = formatted(format, values);
    va_end(values);
    verdict->end = FAILED;
    verdict->tag = tag;
    verdict->ms = ms;
    verdict->code = code;
    return sandhog_with(verdict, "at", "%s:%d in %s", place.file, place.line, place.function);
}

sandhog_verdict sandhog_snooze(uint64_t ms) {
    sandhog_verdict verdict = memory(sizeof *verdict);
    verdict->end = SNOOZED;
    verdict->ms = ms;
    return verdict;
}

sandhog_verdict sandhog_discard(const char *format, ...) {
    sandhog_verdict verdict = memory(sizeof *verdict);
    va_list values;
    va_start(values, format);
    verdict->said = formatted(format, values);
    va_end(values);
    verdict->end = DISCARDED;
    return verdict;
}

// ---- The attempt

bool sandhog_cancelled(void) { return sandhog_job_context_cancelled(); }

uint64_t sandhog_remaining_ms(void) { return sandhog_job_context_remaining_ms(); }

const char *sandhog_checkpoint(const void *data, size_t len) {
    handler_plugin_list_u8_t bytes = {(uint8_t *)data, len};
    string why;
    if (sandhog_job_context_checkpoint(&bytes, &why)) return NULL;
    return c_text(why.ptr, why.len);
}

void sandhog_progress(uint64_t done, uint64_t total, const char *note) {
    string text = own(note);
    sandhog_job_progress_report(done, total ? &total : NULL, note ? &text : NULL);
}

const char *sandhog_config(const char *key) {
    string name = own(key), value;
    return sandhog_job_config_get(&name, &value) ? c_text(value.ptr, value.len) : NULL;
}

bool sandhog_log_enabled(sandhog_level level) { return sandhog_job_log_enabled((uint8_t)level); }

static handler_plugin_list_tuple2_string_string_t pairs(const sandhog_pair *given, size_t len) {
    handler_plugin_list_tuple2_string_string_t list = {memory(len * sizeof *list.ptr), len};
    for (size_t i = 0; i < len; i++) {
        list.ptr[i].f0 = own(given[i].key);
        list.ptr[i].f1 = own(given[i].value);
    }
    return list;
}

void sandhog_log_fields(sandhog_level level, const char *line, const sandhog_pair *fields, size_t len) {
    string text = own(line);
    handler_plugin_list_tuple2_string_string_t list = pairs(fields, len);
    sandhog_job_log_log((uint8_t)level, &text, &list);
}

void sandhog_log(sandhog_level level, const char *format, ...) {
    va_list values;
    va_start(values, format);
    string line = formatted(format, values);
    va_end(values);
    handler_plugin_list_tuple2_string_string_t none = {NULL, 0};
    sandhog_job_log_log((uint8_t)level, &line, &none);
}

sandhog_taken sandhog_enqueue(const sandhog_new_job *job, const char **text) {
    sandhog_job_enqueue_new_job_t wanted = {
        .kind = own(job->kind),
        .payload = {(uint8_t *)job->payload, job->payload_len},
        .content_type = own(job->content_type),
        .headers = pairs(job->headers, job->headers_len),
        .options = pairs(job->options, job->options_len),
    };
    string id;
    sandhog_job_enqueue_enqueue_error_t refused;
    bool taken = sandhog_job_enqueue_enqueue(&wanted, &id, &refused);
    // Each case of a refusal holds a text, at the same place.
    string said = taken ? id : refused.val.invalid;
    if (text) *text = c_text(said.ptr, said.len);
    if (taken) return SANDHOG_TAKEN;
    return refused.tag <= 3 ? (sandhog_taken)(SANDHOG_INVALID + refused.tag) : SANDHOG_OTHER;
}

const char *sandhog_hmac_sha256(const char *secret, const void *data, size_t len, uint8_t mac[32]) {
    string name = own(secret);
    handler_plugin_list_u8_t text = {(uint8_t *)data, len}, made;
    sandhog_job_signing_sign_error_t refused;
    if (!sandhog_job_signing_hmac_sha256(&name, &text, &made, &refused))
        return c_text(refused.val.denied.ptr, refused.val.denied.len);
    if (made.len != 32) return "the host's signature is not 32 bytes long";
    memcpy(mac, made.ptr, 32);
    return NULL;
}

// ---- The contract's exports

static void add_key(sandhog_text *json, const char *key, const char *value) {
    if (!value) return;
    sandhog_add(json, ",\"%s\":", key);
    sandhog_add_json(json, value, strlen(value));
}

static void add_number(sandhog_text *json, const char *key, uint64_t value) {
    if (value) sandhog_add(json, ",\"%s\":%llu", key, (unsigned long long)value);
}

bool exports_sandhog_job_handler_describe(string *host_info, string *ret, string *err) {
    (void)host_info, (void)err;
    sandhog_text json = {0};
    sandhog_add(&json, "{\"schema\":1,\"sdk\":{\"name\":\"sandhog-c\",\"version\":\"" VERSION "\"},\"kinds\":[");
    for (const sandhog_handler *handler = sandhog_handlers; handler->kind; handler++) {
        sandhog_add(&json, handler == sandhog_handlers ? "{\"kind\":" : ",{\"kind\":");
        sandhog_add_json(&json, handler->kind, strlen(handler->kind));
        add_key(&json, "summary", handler->summary);
        add_number(&json, "timeout_ms", handler->timeout_ms);
        add_number(&json, "max_attempts", handler->max_attempts);
        add_number(&json, "trap_attempts", handler->trap_attempts);
        add_key(&json, "backoff", handler->backoff);
        add_key(&json, "queue", handler->queue);
        add_key(&json, "content_type", handler->content_type);
        sandhog_add(&json, "}");
    }
    sandhog_add(&json, "],\"requires\":{\"grants\":");
    sandhog_add_json(&json, sandhog_grants, strlen(sandhog_grants));
    sandhog_add(&json, "}}");
    *ret = (string){(uint8_t *)json.ptr, json.len};
    return true;
}

static sandhog_pair *headers(const sandhog_job_types_list_pair_t *given) {
    sandhog_pair *found = memory(given->len * sizeof *found);
    for (size_t i = 0; i < given->len; i++) {
        found[i].key = c_text(given->ptr[i].f0.ptr, given->ptr[i].f0.len);
        found[i].value = c_text(given->ptr[i].f1.ptr, given->ptr[i].f1.len);
    }
    return found;
}

const char *sandhog_header(const sandhog_job *job, const char *key) {
    for (size_t i = 0; i < job->headers_len; i++)
        if (strcmp(job->headers[i].key, key) == 0) return job->headers[i].value;
    return NULL;
}

static sandhog_job seen(const exports_sandhog_job_handler_job_t *job) {
    const handler_plugin_list_u8_t *kept = &job->checkpoint.val;
    bool has = job->checkpoint.is_some;
    return (sandhog_job){
        .id = c_text(job->id.ptr, job->id.len),
        .kind = c_text(job->kind.ptr, job->kind.len),
        .queue = c_text(job->queue.ptr, job->queue.len),
        .idempotency_key = c_text(job->idempotency_key.ptr, job->idempotency_key.len),
        .content_type = c_text(job->content_type.ptr, job->content_type.len),
        .attempt = job->attempt,
        .max_attempts = job->max_attempts,
        .enqueued_at_ms = job->enqueued_at_ms,
        .deadline_ms = job->deadline_ms,
        .headers = headers(&job->headers),
        .headers_len = job->headers.len,
        .payload = (uint8_t *)c_text(job->payload.ptr, job->payload.len),
        .payload_len = job->payload.len,
        .checkpoint = has ? (uint8_t *)c_text(kept->ptr, kept->len) : NULL,
        .checkpoint_len = has ? kept->len : 0,
    };
}

static sandhog_verdict run(const sandhog_job *job) {
    for (const sandhog_handler *handler = sandhog_handlers; handler->kind; handler++)
        if (strcmp(handler->kind, job->kind) == 0) return handler->run(job);
    return sandhog_permanent("unknown-kind", "this component has no kind `%s`", job->kind);
}

static sandhog_job_types_failure_t failure(const struct sandhog_verdict_s *verdict) {
    sandhog_job_types_failure_t failure = {.code = own(verdict->code ? verdict->code : "error"), .message = verdict->said};
    failure.details.len = verdict->details_len;
    failure.details.ptr = memory(verdict->details_len * sizeof *failure.details.ptr);
    for (size_t i = 0; i < verdict->details_len; i++) {
        failure.details.ptr[i].f0 = own(verdict->details[i].key);
        failure.details.ptr[i].f1 = own(verdict->details[i].value);
    }
    return failure;
}

bool exports_sandhog_job_handler_handle(
    exports_sandhog_job_handler_job_t *job,
    exports_sandhog_job_handler_output_t *ret,
    exports_sandhog_job_handler_job_error_t *err
) {
    sandhog_job mine = seen(job);
    sandhog_verdict verdict = run(&mine);
    if (!verdict) verdict = sandhog_retryable("no-verdict", "the handler gave back no verdict");
    switch (verdict->end) {
    case OK:
        ret->content_type = own(verdict->content_type);
        ret->payload = (handler_plugin_list_u8_t){verdict->said.ptr, verdict->said.len};
        return true;
    case SNOOZED:
        err->tag = SANDHOG_JOB_TYPES_JOB_ERROR_SNOOZE;
        err->val.snooze = verdict->ms;
        return false;
    case DISCARDED:
        err->tag = SANDHOG_JOB_TYPES_JOB_ERROR_DISCARD;
        err->val.discard = verdict->said;
        return false;
    case FAILED:
        break;
    }
    err->tag = (uint8_t)verdict->tag;
    if (err->tag == SANDHOG_JOB_TYPES_JOB_ERROR_RETRY_AFTER) {
        err->val.retry_after.f0 = verdict->ms;
        err->val.retry_after.f1 = failure(verdict);
    } else {
        err->val.retryable = failure(verdict); // `permanent` lies at the same place
    }
    return false;
}
