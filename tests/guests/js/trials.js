// Handlers that a test runs in a real runner: one for each thing that the JavaScript SDK promises.

import { Bytes, Discard, EnqueueError, Permanent, RetryAfter, Snooze, job } from './sandhog/index.js';
import { component } from './sandhog/component.js';

const soon = { maxAttempts: 2, backoff: 'fixed 1ms jitter 0' };

const echo = job({ kind: 'echo', summary: 'Gives back what it got, and what it knows of itself.', maxAttempts: 3 }, (payload, ctx) => ({
  payload,
  attempt: ctx.attempt,
  kind: ctx.kind,
  header: ctx.header('trial') ?? null,
}));

const raw = job({ kind: 'raw', raw: true }, (payload) => new Bytes('text/plain', payload.text().toUpperCase()));

const fail = job({ kind: 'fail', ...soon }, function fails(payload) {
  globalThis.console?.log('on standard output');
  throw new TypeError(`cannot read ${JSON.stringify(payload)}`);
});

const fatal = job({ kind: 'fatal' }, function fatal() {
  throw new Permanent('no such account', { code: 'no-account', details: { account: 17 } });
});

const drop = job({ kind: 'drop' }, () => {
  throw new Discard('the order was withdrawn');
});

// Asks for a wait the first time.
const again = job({ kind: 'again', ...soon }, (_, ctx) => {
  if (ctx.attempt === 1) throw new RetryAfter(0.001, 'the service asks for a moment', { code: 'busy' });
  return 'done';
});

// Snoozes once. That is no attempt, so a checkpoint remembers it.
const nap = job({ kind: 'nap', maxAttempts: 1 }, (_, ctx) => {
  if (ctx.lastCheckpoint() === undefined) {
    ctx.checkpoint({ slept: true });
    throw new Snooze(0.001);
  }
  return { attempt: ctx.attempt };
});

// Logs, reports and keeps a checkpoint, and fails the first time.
const steps = job({ kind: 'steps', ...soon }, (_, ctx) => {
  const at = ctx.lastCheckpoint()?.step ?? 0;
  ctx.info('beginning', { step: at });
  if (at === 0) {
    ctx.progress(1, 2, 'half way');
    ctx.checkpoint({ step: 1 });
    throw new Error('half way is not the end');
  }
  return { resumed: at, setting: ctx.config('colour') ?? 'none' };
});

// Says how far it is, and goes on until it is called off.
const linger = job({ kind: 'linger', timeout: '5m', maxAttempts: 1 }, (_, ctx) => {
  ctx.progress(1, 2, 'half way');
  while (!ctx.cancelled());
});

// Enqueues a job where it may, and says why where it may not.
const parent = job({ kind: 'parent' }, (_, ctx) => {
  try {
    return { child: ctx.enqueue('echo', { from: ctx.jobId }, { headers: { trial: 'child' } }) };
  } catch (error) {
    if (!(error instanceof EnqueueError)) throw error;
    return { reason: error.reason, text: error.message };
  }
});

const spin = job({ kind: 'spin', timeout: '500ms', maxAttempts: 1 }, () => {
  for (;;);
});

const greedy = job({ kind: 'greedy', maxAttempts: 1 }, () => {
  for (const kept = []; ; ) kept.push(new Uint8Array(1 << 20).fill(1));
});

const deep = job({ kind: 'deep', maxAttempts: 1 }, function down() {
  return down() + 1;
});

const later = job({ kind: 'later', maxAttempts: 1 }, async function later(payload) {
  await null;
  if (payload === null) throw new RangeError('not in time');
  return { payload };
});

const never = job({ kind: 'never', timeout: '500ms', maxAttempts: 1 }, () => new Promise(() => {}));

const ask = job({ kind: 'ask', maxAttempts: 1 }, async () => (await fetch('https://example.org/')).status);

// What it sees of the world.
const world = job({ kind: 'world' }, () => ({
  random: Math.random(),
  now: Date.now() / 1_000,
  globals: ['console', 'fetch', 'crypto', 'TextDecoder', 'setTimeout', 'URL', 'structuredClone', 'Intl', 'WebAssembly'].filter((name) => name in globalThis),
}));

export const handler = component([echo, raw, fail, fatal, drop, again, nap, steps, linger, parent, spin, greedy, deep, later, never, ask, world]);
