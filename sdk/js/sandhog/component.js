// The sandbox side: the contract's exports lead here, and its imports are called from here only.
//
//     import { component } from './sandhog/component.js';
//     import { total } from './handler.js';
//
//     export const handler = component([total]);

import * as config from 'sandhog:job/config@0.1.0';
import * as context from 'sandhog:job/context@0.1.0';
import * as jobs from 'sandhog:job/enqueue@0.1.0';
import * as log from 'sandhog:job/log@0.1.0';
import * as progress from 'sandhog:job/progress@0.1.0';
import * as signing from 'sandhog:job/signing@0.1.0';

import { Context } from './context.js';
import { byKind, describe, dispatch } from './job.js';
import { Bytes } from './payload.js';
import { CheckpointError, Discard, EnqueueError, Permanent, RetryAfter, SignError, Snooze, text, verdict } from './verdict.js';

const NO_PROMISES = 'the handler gave back a promise: QuickJS waits for none, build with SpiderMonkey';

// What a call of the host refuses with is thrown: the value itself, or an error that carries it.
function refused(call, make) {
  try {
    return call();
  } catch (thrown) {
    throw make(thrown?.payload ?? thrown);
  }
}

// SpiderMonkey gives and takes 64-bit numbers as BigInt, QuickJS as Number, and `none` is `undefined` to the
// one and `null` to the other. Which it is, the first attempt's facts say.
let isQuickJs = false;
const whole = (number) => (isQuickJs ? Number(number) : BigInt(number));

const host = {
  remainingMs: () => context.remainingMs(),
  cancelled: () => context.cancelled(),
  config: (key) => config.get(key) ?? undefined,
  log: (level, line, fields) => log.log(level, line, fields),
  logEnabled: (level) => log.enabled(level),
  progress: (done, total, note) => progress.report(whole(done), total === undefined ? total : whole(total), note),
  checkpoint: (data) => refused(() => context.checkpoint(data), (why) => new CheckpointError(String(why))),
  enqueue(kind, { data: payload, contentType }, headers, options) {
    const job = { kind, payload, contentType, headers, options };
    return refused(() => jobs.enqueue(job), ({ tag, val }) => new EnqueueError(tag, val));
  },
  hmacSha256: (secret, text) =>
    refused(() => signing.hmacSha256(secret, text), ({ tag, val }) => new SignError(tag, val)),
};

/** A `JobError` as the contract's `job-error`. */
function answer(error) {
  if (error instanceof Snooze) return { tag: 'snooze', val: whole(error.waitMs) };
  if (error instanceof Discard) return { tag: 'discard', val: error.message };
  const details = Object.entries(error.details).map(([key, value]) => [key, String(value)]);
  details.push(...error.places.map((place) => ['at', place]));
  const failure = { code: String(error.code), message: error.message, details };
  if (error instanceof RetryAfter) return { tag: 'retry-after', val: [whole(error.waitMs), failure] };
  if (error instanceof Permanent) return { tag: 'permanent', val: failure };
  return { tag: 'retryable', val: failure };
}

/** The contract's `handler` with what `job()` gave back. `grants` says what the handlers wish to be
 * granted, in the form of a plugin's `NAME.toml`. */
export function component(handlers, { grants = '' } = {}) {
  const known = byKind(handlers);
  const output = ({ contentType, data }) => ({ contentType, payload: data });
  const failed = (thrown) => { throw answer(verdict(thrown)); };
  return {
    describe: () => describe(known, grants),
    handle(job) {
      isQuickJs = typeof job.deadlineMs !== 'bigint';
      if (isQuickJs) Math.random = randomFrom(`${job.id} ${job.attempt} ${Date.now()}`);
      const facts = { ...job, checkpoint: job.checkpoint ?? undefined };
      try {
        const done = dispatch(known, new Bytes(job.contentType, job.payload), new Context(facts, host));
        if (typeof done.then !== 'function') return output(done);
        if (isQuickJs) throw new Permanent(NO_PROMISES, { code: 'no-promises' });
        return done.then(output, failed);
      } catch (thrown) {
        return failed(thrown);
      }
    },
  };
}

/** Numbers from 0 to 1 that a text decides (sfc32). QuickJS draws its own from what was there when the component
 * was built: they would be the same in every attempt. */
function randomFrom(text) {
  const state = [0x9e3779b9, 0x243f6a88, 0xb7e15162, 1];
  for (let at = 0; at < text.length; at++) state[at % 3] = Math.imul(state[at % 3] ^ text.charCodeAt(at), 0x01000193);
  const next = () => {
    const [a, b, c, count] = state;
    const sum = (a + b + count) | 0;
    state[0] = b ^ (b >>> 9);
    state[1] = (c + (c << 3)) | 0;
    state[2] = (((c << 21) | (c >>> 11)) + sum) | 0;
    state[3] = (count + 1) | 0;
    return sum >>> 0;
  };
  for (let mixed = 0; mixed < 16; mixed++) next();
  return () => ((next() >>> 5) * 2 ** 26 + (next() >>> 6)) / 2 ** 53;
}

/** A console for the engine that has none: its lines go to the attempt's log. */
function consoleOf() {
  const to = (level) => (...parts) => log.log(level, parts.map(text).join(' '), []);
  return { debug: to('debug'), log: to('info'), info: to('info'), warn: to('warn'), error: to('error'), trace: to('trace') };
}

globalThis.console ??= consoleOf();
