// Job handlers for Sandhog.

import { job, Permanent } from './sandhog/index.js';

/** Greets somebody by name. */
export const greet = job(
  { kind: '{{name}}', summary: 'Greets somebody by name.', timeout: '10s', maxAttempts: 5 },
  (guest, ctx) => {
    const name = String(guest?.name ?? '').trim();
    if (name === '') throw new Permanent('there is nobody to greet', { code: 'no-name' });
    ctx.info(`greeting ${name}`);
    return { text: `Hello, ${name}!` };
  },
);
