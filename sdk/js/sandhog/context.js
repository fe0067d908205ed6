// One attempt at a job, as its handler sees it.

import { write } from './payload.js';
import { decodeText, encodeText } from './text.js';
import { milliseconds, text } from './verdict.js';

export const LEVELS = ['trace', 'debug', 'info', 'warn', 'error'];

/** One attempt at a job: its facts, and what the handler may ask of the host. */
export class Context {
  #job;
  #host;

  constructor(facts, host) {
    this.#job = facts;
    this.#host = host;
  }

  /** The job's id, the same for every attempt. */
  get jobId() { return this.#job.id; }
  /** The kind that chose this handler. */
  get kind() { return this.#job.kind; }
  /** The queue the job came through. */
  get queue() { return this.#job.queue; }
  /** This attempt's number, from 1. Attempts lost with their host do not count. */
  get attempt() { return this.#job.attempt; }
  /** How many attempts the job may use. */
  get maxAttempts() { return this.#job.maxAttempts; }
  /** Whether a failure of this attempt is the job's end. */
  get isLastAttempt() { return this.attempt >= this.maxAttempts; }
  /** Stable over all attempts of the job: hand it to services that know such keys. */
  get idempotencyKey() { return this.#job.idempotencyKey; }
  /** All headers in their order, as pairs; keys may repeat. */
  get headers() { return this.#job.headers; }
  /** Media type of the payload. */
  get contentType() { return this.#job.contentType; }
  /** When the job was accepted. */
  get enqueuedAt() { return new Date(Number(this.#job.enqueuedAtMs)); }
  /** When this attempt will be interrupted. */
  get deadline() { return new Date(Number(this.#job.deadlineMs)); }

  /** The header's value; the first when the key repeats. */
  header(key) {
    return this.headers.find(([known]) => known === key)?.[1];
  }

  /** Milliseconds until the attempt is interrupted. */
  remainingMs() {
    return Number(this.#host.remainingMs());
  }

  /** True once the attempt should end soon: cancelled, or its deadline is near. */
  cancelled() {
    return this.#host.cancelled();
  }

  /** Keeps a JSON value for the next attempt, or bytes as they are. It is durable when this returns.
   * Throws CheckpointError. */
  checkpoint(state) {
    this.#host.checkpoint(state instanceof Uint8Array ? state : write(state, 'the checkpoint').data);
  }

  /** The JSON value that the last checkpoint of an earlier attempt held. */
  lastCheckpoint() {
    const kept = this.#job.checkpoint;
    return kept === undefined || kept.length === 0 ? undefined : JSON.parse(decodeText(kept));
  }

  /** The bytes that the last checkpoint of an earlier attempt held. */
  lastCheckpointBytes() {
    return this.#job.checkpoint;
  }

  /** Says how far the attempt has come: steps done, of how many when known, and a short note. Only the
   * latest report is kept. */
  progress(done, total, note) {
    this.#host.progress(done, total, note);
  }

  /** Writes a line with fields to the attempt's log. What is too long is cut, what is too much is
   * dropped and counted. */
  log(level, line, fields = {}) {
    if (!LEVELS.includes(level)) throw new TypeError(`${level} is no level: there are ${LEVELS.join(', ')}`);
    this.#host.log(level, String(line), pairs(fields));
  }

  /** Whether a line of this level is kept; ask before building a costly one. */
  logEnabled(level) {
    return this.#host.logEnabled(level);
  }

  trace(line, fields) { this.log('trace', line, fields); }
  debug(line, fields) { this.log('debug', line, fields); }
  info(line, fields) { this.log('info', line, fields); }
  warn(line, fields) { this.log('warn', line, fields); }
  error(line, fields) { this.log('error', line, fields); }

  /** Adds a job and gives back its id. It is written in one record with this attempt's success; an
   * attempt that fails leaves none behind, and one whose key another job has is not added. `delay`,
   * `expiresIn`, `retryFor` and `uniqueFor` are durations, `options` further ones by their names in the
   * contract. Throws EnqueueError. */
  enqueue(kind, payload, wish = {}) {
    const { delay, expiresIn, retryFor, uniqueFor, tags = [], inBatch = false, headers = {}, options = {} } = wish;
    const span = (given) => (given === undefined ? undefined : milliseconds(given));
    const given = {
      queue: wish.queue,
      priority: wish.priority,
      'max-attempts': wish.maxAttempts,
      'delay-ms': span(delay),
      'expires-in-ms': span(expiresIn),
      'retry-for-ms': span(retryFor),
      group: wish.group,
      batch: inBatch ? 'own' : undefined,
      'unique-key': wish.uniqueKey,
      'unique-for-ms': span(uniqueFor),
      'unique-while': wish.uniqueWhile,
      'idempotency-key': wish.idempotencyKey,
      ...options,
    };
    const written = Object.entries(given).filter(([, value]) => value !== undefined);
    const said = [...written, ...tags.map((tag) => ['tag', tag])];
    return this.#host.enqueue(kind, write(payload, "the new job's payload"), pairs(headers), pairs(said));
  }

  /** A setting the operator gave this handler. */
  config(key) {
    return this.#host.config(key);
  }

  /** HMAC with SHA-256 over bytes or a text: 32 bytes. The host makes it with the operator's secret of
   * that name; the handler never holds the key. Throws SignError. */
  hmacSha256(secret, data) {
    return this.#host.hmacSha256(secret, typeof data === 'string' ? encodeText(data) : data);
  }
}

/** Pairs of texts, from pairs or from an object. */
function pairs(given) {
  const entries = Array.isArray(given) ? given : Object.entries(given);
  return entries.map(([key, value]) => [String(key), text(value)]);
}
