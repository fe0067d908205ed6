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
import { CheckpointError, Discard, EnqueueError, Permanent, RetryAfter, SignError, Snooze, verdict } from './verdict.js';

// What a call of the host refuses with is thrown: the value itself, or an error that carries it.
function refused(call, make) {
  try {
    return call();
  } catch (thrown) {
    throw make(thrown?.payload ?? thrown);
  }
}

const host = {
  remainingMs: () => context.remainingMs(),
  cancelled: () => context.cancelled(),
  config: (key) => config.get(key) ?? undefined,
  log: (level, line, fields) => log.log(level, line, fields),
  logEnabled: (level) => log.enabled(level),
  progress: (done, total, note) => progress.report(done, total, note),
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
  if (error instanceof Snooze) return { tag: 'snooze', val: BigInt(error.waitMs) };
  if (error instanceof Discard) return { tag: 'discard', val: error.message };
  const details = Object.entries(error.details).map(([key, value]) => [key, String(value)]);
  details.push(...error.places.map((place) => ['at', place]));
  const failure = { code: String(error.code), message: error.message, details };
  if (error instanceof RetryAfter) return { tag: 'retry-after', val: [BigInt(error.waitMs), failure] };
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
      try {
        const done = dispatch(known, new Bytes(job.contentType, job.payload), new Context(job, host));
        return typeof done.then === 'function' ? done.then(output, failed) : output(done);
      } catch (thrown) {
        return failed(thrown);
      }
    },
  };
}
