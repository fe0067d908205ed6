// What goes into a handler and what comes out: JSON, or bytes as they are.

import { decodeText, encodeText } from './text.js';
import { Permanent, told } from './verdict.js';

export const JSON_TYPE = 'application/json';

/** Bytes as they are, with their media type: a payload that is not read as JSON, or a result that is
 * not written as JSON. */
export class Bytes {
  constructor(contentType, data) {
    this.contentType = contentType;
    this.data = typeof data === 'string' ? encodeText(data) : data;
  }

  /** The bytes as UTF-8 text; throws where they are none. */
  text() {
    return decodeText(this.data);
  }
}

/** A value as `Bytes`: `undefined` and `null` are no payload, `Bytes` stay as they are, the rest is JSON. */
export function write(value, what) {
  if (value === undefined || value === null) return new Bytes('', new Uint8Array(0));
  if (value instanceof Bytes) return value;
  let text, why = 'there is no JSON for it';
  try {
    if (!(value instanceof Uint8Array)) text = JSON.stringify(value);
    else why = 'wrap bytes in new Bytes(contentType, data)';
  } catch (error) {
    why = told(error);
  }
  if (text === undefined) throw new Permanent(`${what} cannot be written as JSON: ${why}`, { code: 'bad-output' });
  return new Bytes(JSON_TYPE, text);
}

/** A payload as JSON. One that cannot be read will not get better by trying again. */
export function read(payload) {
  if (payload.data.length === 0) return null;
  try {
    return JSON.parse(payload.text());
  } catch (error) {
    const details = { 'content-type': payload.contentType };
    throw new Permanent(`the payload is not the expected JSON: ${told(error)}`, { code: 'bad-input', details });
  }
}
