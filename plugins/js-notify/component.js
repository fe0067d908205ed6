// What is built: the contract's `handler`, made of the handler here.

import { component } from './sandhog/component.js';
import { notify } from './handler.js';

const grants = `
# The queue that the message goes through to the webhook handler.
[grants]
enqueue = { queues = ["default"] }
`;

export const handler = component([notify], { grants });
