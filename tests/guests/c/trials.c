// Handlers that a test runs in a real runner: one for each thing that the C layer promises.

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sandhog.h"

static sandhog_verdict echo(const sandhog_job *job) {
    const char *header = sandhog_header(job, "trial");
    sandhog_text json = {0};
    sandhog_add(&json, "{\"payload\":%.*s,\"attempt\":%u,\"kind\":", (int)job->payload_len, (const char *)job->payload, job->attempt);
    sandhog_add_json(&json, job->kind, strlen(job->kind));
    sandhog_add(&json, ",\"header\":");
    if (header) sandhog_add_json(&json, header, strlen(header));
    else sandhog_add(&json, "null");
    sandhog_add(&json, "}");
    return sandhog_bytes("application/json", json.ptr, json.len);
}

static sandhog_verdict raw(const sandhog_job *job) {
    char *text = malloc(job->payload_len + 1);
    for (size_t i = 0; i < job->payload_len; i++) text[i] = (char)toupper(job->payload[i]);
    return sandhog_bytes("text/plain", text, job->payload_len);
}

static sandhog_verdict fail(const sandhog_job *job) {
    puts("on standard output");
    return sandhog_retryable("error", "cannot read %s", (const char *)job->payload);
}

static sandhog_verdict fatal(const sandhog_job *job) {
    (void)job;
    return sandhog_with(sandhog_permanent("no-account", "no such account"), "account", "%d", 17);
}

static sandhog_verdict drop(const sandhog_job *job) {
    (void)job;
    return sandhog_discard("the order was withdrawn");
}

// Asks for a wait the first time.
static sandhog_verdict again(const sandhog_job *job) {
    if (job->attempt == 1) return sandhog_retry_after(1, "busy", "the service asks for a moment");
    return sandhog_json("\"done\"");
}

// Snoozes once. That is no attempt, so a checkpoint remembers it.
static sandhog_verdict nap(const sandhog_job *job) {
    if (job->checkpoint) return sandhog_json("{\"attempt\":%u}", job->attempt);
    const char *why = sandhog_checkpoint("slept", 5);
    return why ? sandhog_permanent("checkpoint", "%s", why) : sandhog_snooze(1);
}

// Logs, reports and keeps a checkpoint, and fails the first time.
static sandhog_verdict steps(const sandhog_job *job) {
    int at = job->checkpoint ? atoi((const char *)job->checkpoint) : 0;
    char text[16];
    snprintf(text, sizeof text, "%d", at);
    sandhog_log_fields(SANDHOG_INFO, "beginning", (sandhog_pair[]){{"step", text}}, 1);
    if (at == 0) {
        sandhog_progress(1, 2, "half way");
        const char *why = sandhog_checkpoint("1", 1);
        if (why) return sandhog_permanent("checkpoint", "%s", why);
        return sandhog_retryable("error", "half way is not the end");
    }
    const char *colour = sandhog_config("colour");
    return sandhog_json("{\"resumed\":%d,\"setting\":\"%s\"}", at, colour ? colour : "none");
}

// Says how far it is, and goes on until it is called off.
static sandhog_verdict linger(const sandhog_job *job) {
    (void)job;
    sandhog_progress(1, 2, "half way");
    while (!sandhog_cancelled()) {
    }
    return sandhog_nothing();
}

// Enqueues a job where it may, and says why where it may not.
static sandhog_verdict parent(const sandhog_job *job) {
    const char *names[] = {"taken", "invalid", "quota", "denied", "other"}, *text;
    sandhog_text payload = {0}, json = {0};
    sandhog_add(&payload, "{\"from\":\"%s\"}", job->id);
    sandhog_new_job child = {
        .kind = "echo",
        .content_type = "application/json",
        .payload = payload.ptr,
        .payload_len = payload.len,
        .headers = (sandhog_pair[]){{"trial", "child"}},
        .headers_len = 1,
    };
    sandhog_taken taken = sandhog_enqueue(&child, &text);
    if (taken == SANDHOG_TAKEN) return sandhog_json("{\"child\":\"%s\"}", text);
    sandhog_add(&json, "{\"reason\":\"%s\",\"text\":", names[taken]);
    sandhog_add_json(&json, text, strlen(text));
    sandhog_add(&json, "}");
    return sandhog_bytes("application/json", json.ptr, json.len);
}

static sandhog_verdict spin(const sandhog_job *job) {
    (void)job;
    for (volatile unsigned i = 0;; i++) {
    }
}

static sandhog_verdict greedy(const sandhog_job *job) {
    (void)job;
    for (size_t kept = 1;; kept++) {
        volatile char *more = malloc(1 << 20);
        if (!more) return sandhog_retryable("memory", "no memory after %zu MiB", kept);
        more[0] = 1;
    }
}

static int down(const volatile char *above) {
    volatile char here[1024];
    here[0] = above[0];
    return here[0] == 0 ? 0 : down(here) + here[0];
}

static sandhog_verdict deep(const sandhog_job *job) {
    return sandhog_json("%d", down((const char *)job->payload));
}

static sandhog_verdict crash(const sandhog_job *job) {
    assert(job->attempt == 0 && "this never holds");
    return NULL;
}

#define SOON .max_attempts = 2, .backoff = "fixed 1ms jitter 0"
SANDHOG_HANDLERS(
    {.kind = "echo", .summary = "Gives back what it got, and what it knows of itself.", .max_attempts = 3, .run = echo},
    {.kind = "raw", .run = raw},
    {.kind = "fail", SOON, .run = fail},
    {.kind = "fatal", .run = fatal},
    {.kind = "drop", .run = drop},
    {.kind = "again", SOON, .run = again},
    {.kind = "nap", .max_attempts = 1, .run = nap},
    {.kind = "steps", SOON, .run = steps},
    {.kind = "linger", .timeout_ms = 300000, .max_attempts = 1, .run = linger},
    {.kind = "parent", .run = parent},
    {.kind = "spin", .timeout_ms = 500, .max_attempts = 1, .run = spin},
    {.kind = "greedy", .max_attempts = 1, .run = greedy},
    {.kind = "deep", .max_attempts = 1, .run = deep},
    {.kind = "crash", .max_attempts = 1, .run = crash}
)
