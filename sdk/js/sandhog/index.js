// Write Sandhog job handlers as plain JavaScript functions.
//
//     import { job, Permanent } from './sandhog/index.js';
//
//     export const total = job({ kind: 'total', timeout: '10s', maxAttempts: 5 }, (order, ctx) => {
//       if (order.items.length === 0) throw new Permanent('the order is empty', { code: 'empty-order' });
//       ctx.info('adding', { items: order.items.length });
//       return { total: order.items.reduce((sum, item) => sum + item, 0) };
//     });
//
// The payload is JSON, and so is what the function gives back; `Bytes` stands for bytes as they are.
// What is thrown fails the attempt, which is tried again; its text and place are kept in the job's
// history. `Permanent`, `RetryAfter`, `Snooze` and `Discard` say something else. What a handler may ask
// is in `context.js`. Nothing of it needs a host: `testing.js` has a context for tests, `component.js`
// is the sandbox side.

export { Context } from './context.js';
export { VERSION, byKind, describe, dispatch, job } from './job.js';
export { Bytes, JSON_TYPE } from './payload.js';
export { decodeText, encodeText } from './text.js';
export * from './verdict.js';
