// A handler as its author describes it, what a component says of itself, and one attempt.

import { read, write } from './payload.js';
import { Permanent, milliseconds, verdict } from './verdict.js';

export const VERSION = '0.1.0';

/**
 * Makes a function `(payload, ctx)` the handler of a kind of job, and gives it back.
 *
 * - `kind`: the function's name when left out
 * - `timeout`: wall time of one attempt, `'30s'` or seconds
 * - `maxAttempts`: attempts in all; `trapAttempts`: when the attempt traps
 * - `backoff`: the wait between attempts, `'exponential 1s max 1h'`
 * - `queue`: the queue of jobs that name none
 * - `contentType`: the payload's media type, when the enqueue says none
 * - `summary`: one line about it
 * - `raw`: true gives the payload as `Bytes`, not read as JSON
 *
 * The operator's settings for the kind come before these. What is wrong stops the build.
 */
export function job(options, run) {
  const { kind, timeout, maxAttempts, trapAttempts, backoff, queue, contentType, summary, raw = false, ...unknown } = options;
  const wrong = Object.keys(unknown);
  if (wrong.length > 0) throw new TypeError(`job() does not know ${wrong.join(', ')}`);
  if (typeof run !== 'function') throw new TypeError('job() takes the options and a function');
  const about = {
    kind: name('kind', kind ?? run.name),
    summary,
    timeout_ms: timeout === undefined ? undefined : milliseconds(timeout),
    max_attempts: count('maxAttempts', maxAttempts),
    trap_attempts: count('trapAttempts', trapAttempts),
    backoff,
    queue: queue === undefined ? undefined : name('queue', queue),
    content_type: contentType,
  };
  const handler = (payload, ctx) => run(payload, ctx);
  handler.about = about;
  handler.raw = raw;
  return handler;
}

function name(what, text) {
  if (typeof text === 'string' && /^[A-Za-z0-9_.:-]{1,128}$/.test(text)) return text;
  throw new TypeError(`${what} ${JSON.stringify(text)}: a name has 1 to 128 letters, digits, -, _, . or :`);
}

function count(what, number) {
  if (number === undefined || (Number.isInteger(number) && number > 0 && number < 2 ** 32)) return number;
  throw new TypeError(`${what} ${number}: a whole number from 1 to 4294967295 is needed`);
}

/** The handlers of a component by their kinds. */
export function byKind(handlers) {
  const known = new Map();
  for (const handler of handlers) {
    const kind = handler?.about?.kind;
    if (kind === undefined) throw new TypeError('a component is made of what job() gave back');
    if (known.has(kind)) throw new TypeError(`two handlers have the kind ${kind}`);
    known.set(kind, handler);
  }
  if (known.size === 0) throw new TypeError('a component needs a handler');
  return known;
}

/** The JSON of the contract's `describe`, schema 1. `grants` is in the form of a plugin's `NAME.toml`. */
export function describe(known, grants = '') {
  return JSON.stringify({
    schema: 1,
    sdk: { name: 'sandhog-js', version: VERSION },
    kinds: [...known.values()].map((handler) => handler.about),
    requires: grants === '' ? {} : { grants },
  });
}

/** Runs the handler of the context's kind over `Bytes`; a promise of `Bytes` when it gives a promise.
 * Whatever is thrown comes out as a `JobError` whose `places` say where it was thrown. */
export function dispatch(known, payload, ctx) {
  try {
    const handler = known.get(ctx.kind);
    if (handler === undefined) {
      const text = `this component has no kind \`${ctx.kind}\`; it has ${[...known.keys()].join(', ')}`;
      throw new Permanent(text, { code: 'unknown-kind' });
    }
    const value = handler(handler.raw ? payload : read(payload), ctx);
    if (typeof value?.then !== 'function') return write(value, 'the result');
    return value.then((done) => write(done, 'the result')).catch((thrown) => { throw verdict(thrown); });
  } catch (thrown) {
    throw verdict(thrown);
  }
}
