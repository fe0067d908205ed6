// The handler as a plain function: `npm test`.

import assert from 'node:assert/strict';
import test from 'node:test';

import { greet } from './handler.js';
import { FakeContext } from './sandhog/testing.js';

test('somebody is greeted', () => {
  const ctx = new FakeContext();
  assert.deepEqual(greet({ name: 'Ada' }, ctx), { text: 'Hello, Ada!' });
  assert.equal(ctx.logs[0].line, 'greeting Ada');
});

test('nobody is a permanent failure', () => {
  assert.throws(() => greet({ name: ' ' }, new FakeContext()), { name: 'Permanent', code: 'no-name' });
});
