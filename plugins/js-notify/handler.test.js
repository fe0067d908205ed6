// `node --test` in this folder, with the SDK (`sdk/js/sandhog`) in it.

import assert from 'node:assert/strict';
import test from 'node:test';

import { FakeContext } from './sandhog/testing.js';
import { message, notify } from './handler.js';

const of = { repository: { full_name: 'ada/engine' }, sender: { login: 'ada' } };

test('a push is told with its first commits', () => {
  const commits = Array.from({ length: 6 }, (_, at) => ({ message: `step ${at}\n\nmore` }));
  const text = message({ ...of, ref: 'refs/heads/main', compare: 'https://e/x', commits });
  assert.equal(text, 'ada pushed 6 commits to ada/engine/main https://e/x\n- step 0\n- step 1\n- step 2\n- step 3\n- step 4\n- …');
  assert.equal(message({ ...of, ref: 'refs/heads/gone', commits: [] }), null);
});

test('each form has its message, and what nobody needs to hear of has none', () => {
  const pull = (action, merged) => message({ ...of, action, pull_request: { title: 'Faster', number: 7, merged } });
  assert.equal(pull('opened'), 'ada opened ada/engine#7: Faster');
  assert.equal(pull('closed', true), 'ada merged ada/engine#7: Faster');
  assert.equal(pull('labeled'), null);
  assert.equal(message({ ...of, action: 'opened', issue: { title: 'Slow', number: 8 } }), 'ada opened ada/engine#8: Slow');
  const run = (conclusion) => message({ ...of, workflow_run: { name: 'ci', conclusion, head_branch: 'main' } });
  assert.deepEqual([run('failure'), run('success')], ['ci ended with failure on ada/engine/main', null]);
  const alert = { status: 'firing', labels: { alertname: 'Disk', severity: 'page' }, annotations: { summary: 'full' } };
  assert.equal(message({ alerts: [alert, { status: 'resolved' }] }), 'page: Disk full\nresolved: an alert');
  assert.equal(message({ title: 'Done', text: 'all of it', url: 'https://e', level: 'info' }), 'info: Done https://e\nall of it');
});

test('the message becomes a job of the webhook handler', () => {
  const ctx = new FakeContext({ headers: { url: 'https://chat' }, config: { field: 'content', url: 'https://other' } });
  assert.deepEqual(notify({ title: 'Done' }, ctx), { text: 'Done', job: 'job-1' });
  const [job] = ctx.jobs;
  assert.deepEqual([job.kind, job.json(), job.headers], ['webhook', { content: 'Done' }, { url: 'https://chat' }]);
});

test('what cannot be told is permanent', () => {
  for (const event of [null, 7, [], { odd: 1 }]) {
    assert.throws(() => notify(event, new FakeContext()), { name: 'Permanent', code: 'unknown-event' });
  }
  assert.throws(() => notify({ title: 'Done' }, new FakeContext()), { name: 'Permanent', code: 'no-url' });
});
