// A context for native tests: facts chosen by the test, calls kept for it to look at.
//
//     const ctx = new FakeContext({ attempt: 2, headers: { width: '320' } });
//     assert.deepEqual(total({ items: [1, 2] }, ctx), { total: 3 });
//     assert.equal(ctx.logs[0].line, 'adding');

import { Context } from './context.js';
import { JSON_TYPE } from './payload.js';
import { encodeText } from './text.js';
import { CheckpointError, EnqueueError, SignError } from './verdict.js';

const ENQUEUED_AT = 1_767_225_600_000; // 2026-01-01T00:00:00Z
const ID = '01KDVDRC000000000000000000';

/**
 * A context without a host: a first attempt of 25, with 30 s to go and nothing else.
 *
 * `checkpoint` is what an earlier attempt left: a JSON value, or bytes. `signatures` says by the secret's
 * name which bytes `hmacSha256` gives; others are denied. `refuseJobs` and `refuseCheckpoints` are texts
 * with which every new job, or checkpoint, is refused. Other keys are facts of the attempt.
 */
export class FakeContext extends Context {
  constructor(given = {}) {
    const { config = {}, headers = {}, checkpoint, remainingMs = 30_000, isCancelled = false } = given;
    const { signatures = {}, refuseJobs, refuseCheckpoints } = given;
    const { kind = 'test', queue = 'default', attempt = 1, maxAttempts = 25, contentType = JSON_TYPE } = given;
    const did = { logs: [], jobs: [], reports: [], checkpoints: [], signed: [] };
    const isBytes = checkpoint === undefined || checkpoint instanceof Uint8Array;
    const facts = {
      id: ID,
      idempotencyKey: ID,
      kind,
      queue,
      attempt,
      maxAttempts,
      contentType,
      headers: Array.isArray(headers) ? headers : Object.entries(headers),
      enqueuedAtMs: ENQUEUED_AT,
      deadlineMs: ENQUEUED_AT + remainingMs,
      checkpoint: isBytes ? checkpoint : encodeText(JSON.stringify(checkpoint)),
    };
    super(facts, {
      remainingMs: () => remainingMs,
      cancelled: () => isCancelled,
      config: (key) => config[key],
      log: (level, line, fields) => did.logs.push({ level, line, fields: Object.fromEntries(fields) }),
      logEnabled: () => true,
      progress: (done, total, note) => did.reports.push({ done, total, note }),
      checkpoint(data) {
        if (refuseCheckpoints !== undefined) throw new CheckpointError(refuseCheckpoints);
        did.checkpoints.push(data);
      },
      enqueue(kind, payload, headers, options) {
        if (refuseJobs !== undefined) throw new EnqueueError('denied', refuseJobs);
        const id = `job-${did.jobs.length + 1}`;
        const isTag = ([key]) => key === 'tag';
        const of = Object.fromEntries(headers);
        const said = Object.fromEntries(options.filter((pair) => !isTag(pair)));
        const tags = options.filter(isTag).map(([, word]) => word);
        did.jobs.push({ id, kind, payload, headers: of, options: said, tags, json: () => JSON.parse(payload.text()) });
        return id;
      },
      hmacSha256(secret, data) {
        if (signatures[secret] === undefined) throw new SignError('denied', `no secret ${secret} in this fake`);
        did.signed.push([secret, data]);
        return signatures[secret];
      },
    });
    /** What the handler did, each in its order: `logs`, `jobs`, `reports`, `checkpoints`, `signed`. */
    Object.assign(this, did);
  }
}
