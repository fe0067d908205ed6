// Summarises the access log of a web server: lines in the common or combined format go in, what was asked for and
// how it was answered comes out as JSON.

#include <stdlib.h>
#include <string.h>

#include "sandhog.h"

// Paths that are told of, and paths that are counted at all: what else comes is counted together.
#define TOLD 20
#define COUNTED 4096
// Lines between two progress reports.
#define REPORT_EVERY 50000

typedef struct {
    const char *ptr;
    size_t len;
} span;

typedef struct {
    span path;
    uint64_t requests, bytes;
} row;

typedef struct {
    uint64_t requests, odd, bytes, other_paths;
    uint64_t by_class[6]; // by_class[4]: answers 400 to 499
    row rows[COUNTED];
    size_t len;
} summary;

// The text up to a character, which is taken away with it; the whole rest when the character is not there.
static span until(span *rest, char end) {
    const char *found = memchr(rest->ptr, end, rest->len);
    size_t len = found ? (size_t)(found - rest->ptr) : rest->len;
    span text = {rest->ptr, len};
    rest->ptr += len + (found != NULL);
    rest->len -= len + (found != NULL);
    return text;
}

// A number of digits alone; -1 for anything else.
static int64_t number(span text) {
    int64_t value = 0;
    if (text.len == 0 || text.len > 18) return -1;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9') return -1;
        value = value * 10 + (text.ptr[i] - '0');
    }
    return value;
}

// The row of a path, NULL when there are too many of them. Open addressing; a row without a path is free.
static row *row_of(summary *all, span path) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < path.len; i++) hash = (hash ^ (uint8_t)path.ptr[i]) * 16777619u;
    for (size_t tries = 0; tries < COUNTED; tries++) {
        row *at = &all->rows[(hash + tries) % COUNTED];
        if (!at->path.ptr) {
            if (all->len >= COUNTED * 3 / 4) return NULL;
            all->len++;
            at->path = path;
            return at;
        }
        if (at->path.len == path.len && memcmp(at->path.ptr, path.ptr, path.len) == 0) return at;
    }
    return NULL;
}

// HOST IDENT USER [TIME] "METHOD PATH PROTOCOL" STATUS BYTES ...
static bool add(summary *all, span line) {
    until(&line, '"');
    span request = until(&line, '"');
    until(&line, ' ');
    int64_t status = number(until(&line, ' '));
    span size = until(&line, ' ');
    int64_t bytes = size.len == 1 && size.ptr[0] == '-' ? 0 : number(size);
    if (status < 100 || status > 599 || bytes < 0) return false;
    until(&request, ' ');
    span target = until(&request, ' ');
    span path = until(&target, '?');
    all->requests++;
    all->bytes += (uint64_t)bytes;
    all->by_class[status / 100]++;
    row *found = row_of(all, path);
    if (!found) {
        all->other_paths++;
        return true;
    }
    found->requests++;
    found->bytes += (uint64_t)bytes;
    return true;
}

static int busier_first(const void *a, const void *b) {
    const row *one = a, *two = b;
    if (one->requests != two->requests) return one->requests < two->requests ? 1 : -1;
    size_t len = one->path.len < two->path.len ? one->path.len : two->path.len;
    int order = len ? memcmp(one->path.ptr, two->path.ptr, len) : 0;
    return order ? order : (one->path.len > two->path.len) - (one->path.len < two->path.len);
}

static sandhog_verdict told(summary *all) {
    qsort(all->rows, COUNTED, sizeof *all->rows, busier_first);
    sandhog_text json = {0};
    sandhog_add(&json, "{\"requests\":%llu,\"odd_lines\":%llu,\"bytes\":%llu,\"status\":{", (unsigned long long)all->requests,
                (unsigned long long)all->odd, (unsigned long long)all->bytes);
    for (int i = 1; i <= 5; i++)
        sandhog_add(&json, "%s\"%dxx\":%llu", i == 1 ? "" : ",", i, (unsigned long long)all->by_class[i]);
    sandhog_add(&json, "},\"paths\":[");
    for (size_t i = 0; i < TOLD && i < all->len; i++) {
        sandhog_add(&json, i ? ",{\"path\":" : "{\"path\":");
        sandhog_add_json(&json, all->rows[i].path.ptr, all->rows[i].path.len);
        sandhog_add(&json, ",\"requests\":%llu,\"bytes\":%llu}", (unsigned long long)all->rows[i].requests,
                    (unsigned long long)all->rows[i].bytes);
    }
    sandhog_add(&json, "],\"requests_of_other_paths\":%llu}", (unsigned long long)all->other_paths);
    return sandhog_bytes("application/json", json.ptr, json.len);
}

// Permanent failures: `empty`, `no-log` when not one line is of a known form.
static sandhog_verdict accesslog(const sandhog_job *job) {
    static summary all;
    span rest = {(const char *)job->payload, job->payload_len};
    if (rest.len == 0) return sandhog_permanent("empty", "the payload is empty: an access log was expected");
    sandhog_info("summarising %zu bytes", job->payload_len);
    for (uint64_t lines = 1; rest.len > 0; lines++) {
        span line = until(&rest, '\n');
        if (line.len > 0 && !add(&all, line)) all.odd++;
        if (lines % REPORT_EVERY == 0) sandhog_progress(job->payload_len - rest.len, job->payload_len, "bytes read");
    }
    if (all.requests == 0) {
        sandhog_verdict failure = sandhog_permanent("no-log", "no line is in the common or combined log format");
        return sandhog_with(failure, "lines", "%llu", (unsigned long long)all.odd);
    }
    return told(&all);
}

SANDHOG_HANDLERS({
    .kind = "accesslog",
    .summary = "Summarises a web server's access log.",
    .timeout_ms = 30000,
    .max_attempts = 5,
    .content_type = "text/plain",
    .run = accesslog,
})
