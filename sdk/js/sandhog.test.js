// Tests of the SDK without a host: `node --test` in this folder.

import assert from 'node:assert/strict';
import test from 'node:test';

import * as sdk from './sandhog/index.js';
import { Bytes, Permanent, Retryable, job } from './sandhog/index.js';
import { FakeContext } from './sandhog/testing.js';

const about = { kind: 'total', timeout: '1m30s', maxAttempts: 5, backoff: 'fixed 1s', queue: 'slow', contentType: 'text/csv' };
const total = job(about, (order) => ({ total: order.items.reduce((sum, item) => sum + item, 0) }));
const raw = job({ kind: 'raw', raw: true }, (payload) => new Bytes('text/plain', payload.text().toUpperCase()));

const of = (run) => job({ kind: 'it' }, run);
const bytes = (data) => new Bytes(sdk.JSON_TYPE, data);

/** What a handler makes of bytes, as the host would see it. */
const ran = (handler, data = 'null') =>
  sdk.dispatch(sdk.byKind([handler]), bytes(data), new FakeContext({ kind: handler.about.kind }));

/** The verdict of a handler that throws. */
function thrown(handler, data) {
  try {
    ran(handler, data);
  } catch (error) {
    return error;
  }
  return assert.fail('nothing was thrown');
}

test('JSON goes in and comes out', () => {
  const done = ran(total, '{"items":[1,2]}');
  assert.deepEqual([done.contentType, done.text()], ['application/json', '{"total":3}']);
  assert.deepEqual(total({ items: [4] }, new FakeContext()), { total: 4 });
});

test('bytes stay as they are', () => {
  const done = ran(raw, 'abc');
  assert.deepEqual([done.contentType, done.text()], ['text/plain', 'ABC']);
});

test('nothing is an empty payload', () => {
  for (const run of [() => {}, (payload) => payload]) assert.equal(ran(of(run), '').data.length, 0);
});

test('a promise is waited for', async () => {
  assert.equal((await ran(of(async () => 7))).text(), '7');
  await assert.rejects(ran(of(async () => { throw new RangeError('far'); })), { name: 'Retryable', message: 'RangeError: far' });
  await assert.rejects(ran(of(async () => 1n)), { code: 'bad-output' });
});

test('what is no JSON is permanent', () => {
  for (const data of ['{"items":', new Uint8Array([0xff])]) {
    const error = thrown(total, data);
    assert.deepEqual([error instanceof Permanent, error.code], [true, 'bad-input']);
  }
});

test('a result that is no JSON is permanent', () => {
  const ring = {};
  ring.ring = ring;
  for (const value of [1n, ring, () => 1, new Uint8Array(1)]) {
    const error = thrown(of(() => value));
    assert.deepEqual([error instanceof Permanent, error.code], [true, 'bad-output']);
  }
});

test('what is thrown is retryable, with its text and its place', () => {
  function fails() {
    throw new TypeError('no such thing', { cause: new Error('below') });
  }
  const error = thrown(of(fails));
  assert.equal(error.constructor, Retryable);
  assert.equal(error.message, 'TypeError: no such thing; from Error: below');
  assert.match(error.places[0], /^fails \(.*sandhog\.test\.js:\d+:\d+\)$/);
  assert.equal(thrown(of(() => { throw 'a text'; })).message, 'a text');
  assert.equal(thrown(of(() => { throw { odd: 1 }; })).message, '{"odd":1}');
  assert.equal(thrown(of(() => { throw undefined; })).constructor, Retryable);
});

test('the frames of both kinds of engines are places', () => {
  const stack = (lines) => Object.assign(new Error('x'), { stack: lines.join('\n') });
  const spider = stack(['fails@handler.js:3:7', 'total<@handler.js:9:2', 'handle@sandhog/component.js:1:2', '']);
  assert.deepEqual(sdk.verdict(spider).places, ['fails (handler.js:3:7)', 'total< (handler.js:9:2)']);
  const quick = stack(['    at fails (./handler.js:3:7)', '    at <anonymous> (handler.js:9:2)', '    at dispatch (./sandhog/job.js:1:2)']);
  assert.deepEqual(sdk.verdict(quick).places, ['fails (handler.js:3:7)', '<anonymous> (handler.js:9:2)']);
});

test('verdicts keep what they were given', () => {
  const error = thrown(of(() => { throw new Permanent('no', { code: 'no-such', details: { id: 7 } }); }));
  assert.deepEqual([error.code, error.details, error.message], ['no-such', { id: 7 }, 'no']);
  assert.equal(thrown(total, '').constructor, Retryable);
  const other = () => sdk.dispatch(sdk.byKind([total]), bytes(''), new FakeContext({ kind: 'other' }));
  assert.throws(other, { code: 'unknown-kind' });
});

test('waits are seconds or texts', () => {
  for (const wait of [90, '90s', '1m30s']) assert.equal(new sdk.RetryAfter(wait, 'later').waitMs, 90_000);
  assert.equal(new sdk.Snooze(0.0001).waitMs, 1);
  for (const wait of [0, -1, NaN, Infinity, '', '90', '1.5s', '1 s', '0s', undefined]) {
    assert.throws(() => new sdk.Snooze(wait), RangeError, String(wait));
  }
});

test('a description has what was said and no more', () => {
  const told = JSON.parse(sdk.describe(sdk.byKind([total, raw]), 'grants.enqueue = ["x"]'));
  assert.deepEqual([told.schema, told.sdk.name, told.requires], [1, 'sandhog-js', { grants: 'grants.enqueue = ["x"]' }]);
  const first = { kind: 'total', timeout_ms: 90_000, max_attempts: 5, backoff: 'fixed 1s', queue: 'slow', content_type: 'text/csv' };
  assert.deepEqual(told.kinds, [first, { kind: 'raw' }]);
});

test('mistakes stop the build', () => {
  const run = (payload) => payload;
  for (const wrong of [{ kind: '' }, { kind: 'a b' }, { timeout: 'soon' }, { maxAttempts: 0 }, { queue: '' }, { max_attempts: 1 }]) {
    assert.throws(() => job({ kind: 'x', ...wrong }, run), Error, JSON.stringify(wrong));
  }
  assert.throws(() => job({ kind: 'x' }), /a function/);
  assert.throws(() => sdk.byKind([total, total]), /two handlers/);
  assert.throws(() => sdk.byKind([]), /needs a handler/);
  assert.throws(() => sdk.byKind([run]), /job\(\)/);
});

test('a context has facts and keeps calls', () => {
  const ctx = new FakeContext({ attempt: 25, headers: [['a', '1'], ['a', '2']], config: { key: 'value' }, checkpoint: { at: 7 } });
  assert.equal(ctx.isLastAttempt, true);
  assert.deepEqual([ctx.header('a'), ctx.header('b'), ctx.config('key'), ctx.config('none')], ['1', undefined, 'value', undefined]);
  assert.deepEqual(ctx.lastCheckpoint(), { at: 7 });
  assert.equal(ctx.enqueuedAt.toISOString(), '2026-01-01T00:00:00.000Z');
  assert.equal(ctx.remainingMs(), 30_000);
  ctx.warn('careful', { step: 2 });
  ctx.progress(1, 2, 'half');
  ctx.checkpoint({ at: 8 });
  assert.deepEqual(ctx.logs, [{ level: 'warn', line: 'careful', fields: { step: '2' } }]);
  assert.deepEqual(ctx.reports, [{ done: 1, total: 2, note: 'half' }]);
  assert.equal(sdk.decodeText(ctx.checkpoints[0]), '{"at":8}');
  assert.throws(() => ctx.log('loud', 'no such level'), TypeError);
  assert.equal(new FakeContext().lastCheckpoint(), undefined);
});

test('new jobs carry their options by the names of the contract', () => {
  const ctx = new FakeContext();
  const id = ctx.enqueue('mail', { to: 'a' }, { queue: 'slow', delay: '1m', priority: -3, maxAttempts: 2, headers: { h: 1 } });
  const [job] = ctx.jobs;
  assert.deepEqual([job.id, job.kind, job.json(), job.headers], [id, 'mail', { to: 'a' }, { h: '1' }]);
  assert.deepEqual(job.options, { queue: 'slow', priority: '-3', 'max-attempts': '2', 'delay-ms': '60000' });
});

test('new jobs say who they share with and what they must not be twice', () => {
  const ctx = new FakeContext();
  ctx.enqueue('mail', undefined, {
    expiresIn: '1h',
    retryFor: '2m',
    group: 'g',
    tags: ['a', 'b'],
    inBatch: true,
    uniqueKey: 'u',
    uniqueFor: '3s',
    uniqueWhile: 'running',
    idempotencyKey: 'i',
  });
  const [job] = ctx.jobs;
  assert.deepEqual(job.options, {
    'expires-in-ms': '3600000',
    'retry-for-ms': '120000',
    group: 'g',
    batch: 'own',
    'unique-key': 'u',
    'unique-for-ms': '3000',
    'unique-while': 'running',
    'idempotency-key': 'i',
  });
  assert.deepEqual(job.tags, ['a', 'b']);
});

test('refusals are errors', () => {
  const ctx = new FakeContext({ refuseJobs: 'no queue is granted', refuseCheckpoints: 'too large' });
  assert.throws(() => ctx.enqueue('mail'), { reason: 'denied', message: 'the new job is not allowed: no queue is granted' });
  assert.throws(() => ctx.checkpoint(1), { name: 'CheckpointError', message: 'too large' });
  assert.throws(() => ctx.hmacSha256('key', 'text'), sdk.SignError);
});

test('text is UTF-8 also where the engine has no word for it', () => {
  const { TextEncoder, TextDecoder } = globalThis;
  const texts = ['', 'plain', 'é ß', '日本語', '🦔 and more', 'x'.repeat(10_000)];
  const wrong = [[0xff], [0xc0, 0x80], [0xe2, 0x82], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0x80]];
  const encoded = texts.map((text) => new TextEncoder().encode(text));
  try {
    globalThis.TextEncoder = globalThis.TextDecoder = undefined;
    texts.forEach((text, at) => {
      assert.deepEqual(sdk.encodeText(text), encoded[at]);
      assert.equal(sdk.decodeText(encoded[at]), text);
    });
    assert.equal(sdk.decodeText(sdk.encodeText('\ud800')), '\ufffd');
    for (const bytes of wrong) assert.throws(() => sdk.decodeText(new Uint8Array(bytes)), TypeError, String(bytes));
  } finally {
    Object.assign(globalThis, { TextEncoder, TextDecoder });
  }
});
