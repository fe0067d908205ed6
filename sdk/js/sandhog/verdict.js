// Everything a handler can say but success, and what the host refuses with.

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const FRAMES = 16; // of a stack that are kept, innermost first
// Frames that are the SDK's or the engine's, not the author's.
const CLASSES = /^(JobError|Retryable|Permanent|RetryAfter)$/;
const OWN = /(^|\/)(sandhog\/\w+|initializer)\.js:|^(native|<)/;

/** A verdict that is no success. Thrown as it is, the attempt is tried again after the backoff.
 * `code` is a short stable token for rules and metrics; `details` are keys and values for people. */
export class JobError extends Error {
  constructor(message, { code = 'error', details = {}, cause } = {}) {
    super(message);
    this.name = this.constructor.name;
    this.code = code;
    this.details = details;
    if (cause !== undefined) this.cause = cause;
  }
}

/** A failure that another attempt may mend. So is everything else that is thrown. */
export class Retryable extends JobError {}

/** A failure that no attempt will mend: the job goes to the dead letters at once. */
export class Permanent extends JobError {}

/** A failure to be tried again, not before `wait`: seconds, or a text like `90s`. */
export class RetryAfter extends JobError {
  constructor(wait, message, more) {
    super(message, more);
    this.waitMs = milliseconds(wait);
  }
}

/** No failure: run the job again in `wait`, without using an attempt. */
export class Snooze extends JobError {
  constructor(wait) {
    super('snoozed');
    this.waitMs = milliseconds(wait);
  }
}

/** Drop the job: it neither succeeded nor failed. */
export class Discard extends JobError {}

const REFUSALS = {
  invalid: 'the new job is not valid',
  quota: 'too many new jobs',
  denied: 'the new job is not allowed',
  other: 'the new job was not taken',
};

/** A new job was not taken. `reason` is `invalid`, `quota`, `denied` or `other`. */
export class EnqueueError extends Error {
  constructor(reason, text) {
    super(`${REFUSALS[reason]}: ${text}`);
    this.name = 'EnqueueError';
    this.reason = reason;
  }
}

/** There is no signature. `reason` is `denied`, `unavailable` or `other`. */
export class SignError extends Error {
  constructor(reason, text) {
    super(text);
    this.name = 'SignError';
    this.reason = reason;
  }
}

/** A checkpoint was not kept: too large, or the attempt is no longer the job's owner. */
export class CheckpointError extends Error {
  constructor(text) {
    super(text);
    this.name = 'CheckpointError';
  }
}

/** Milliseconds of a duration: seconds as a number, or a text such as `1m30s`. */
export function milliseconds(wait) {
  if (typeof wait === 'number') {
    if (!(wait > 0 && wait < 2 ** 43)) throw new RangeError(`the duration ${wait} is not a number of seconds above 0`);
    return Math.max(1, Math.round(wait * 1_000));
  }
  const text = String(wait).trim();
  if (!/^([0-9]+(ms|s|m|h|d))+$/.test(text)) {
    throw new RangeError(`\`${text}\` is no duration: write whole numbers with ms, s, m, h or d, such as 1m30s`);
  }
  let total = 0;
  for (const [, number, unit] of text.matchAll(/([0-9]+)([a-z]+)/g)) total += Number(number) * UNITS[unit];
  if (total === 0) throw new RangeError(`the duration \`${text}\` is zero`);
  return total;
}

/** What was thrown, as a `JobError` that says where. */
export function verdict(thrown) {
  const error = thrown instanceof JobError ? thrown : new Retryable(told(thrown));
  error.places ??= places(thrown);
  return error;
}

/** What was thrown in one line, with what caused it. */
export function told(thrown) {
  const texts = [];
  for (let left = 8; thrown !== undefined && left > 0; left--, thrown = thrown?.cause) {
    texts.push(thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : text(thrown));
  }
  return texts.join('; from ');
}

/** A value as a text for a person. */
export function text(value) {
  if (typeof value === 'string') return value;
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}

/** `greet (handler.js:7:11)` for each frame of an error's stack, without those of this file. */
function places(thrown) {
  const found = [];
  for (const line of String(thrown?.stack ?? '').split('\n')) {
    // `fn@file:line:column` and `at fn (file:line:column)`, the two ways of engines.
    const frame = /^\s*(?:at )?(.*?)[@ ]?\(?([^\s@()]+:\d+(?::\d+)?)\)?$/.exec(line);
    if (frame === null || OWN.test(frame[2]) || CLASSES.test(frame[1])) continue;
    const file = frame[2].replace(/^(file:\/\/)?\.?\/*/, '');
    found.push(frame[1] === '' ? file : `${frame[1]} (${file})`);
    if (found.length === FRAMES) break;
  }
  return found;
}
