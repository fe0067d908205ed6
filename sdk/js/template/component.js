// What is built: the contract's `handler`, made of the handlers named here.

import { greet } from './handler.js';
import { component } from './sandhog/component.js';

export const handler = component([greet]);
