// UTF-8, also where the engine has no TextEncoder and TextDecoder.

/** A text's bytes in UTF-8. */
export function encodeText(text) {
  if (typeof TextEncoder === 'function') return new TextEncoder().encode(text);
  const bytes = [];
  for (const char of text) {
    let code = char.codePointAt(0);
    if (code >= 0xd800 && code <= 0xdfff) code = 0xfffd; // half of a pair
    if (code < 0x80) bytes.push(code);
    else if (code < 0x800) bytes.push(0xc0 | (code >> 6), 0x80 | (code & 63));
    else if (code < 0x10000) bytes.push(0xe0 | (code >> 12), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63));
    else bytes.push(0xf0 | (code >> 18), 0x80 | ((code >> 12) & 63), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63));
  }
  return new Uint8Array(bytes);
}

/** The text of bytes in UTF-8; throws where they are none. */
export function decodeText(bytes) {
  if (typeof TextDecoder === 'function') return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  const least = [0, 0, 0x80, 0x800, 0x10000];
  const parts = [];
  let codes = [];
  for (let at = 0; at < bytes.length; ) {
    const first = bytes[at];
    const length = first < 0x80 ? 1 : first < 0xc0 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf8 ? 4 : 0;
    let code = length === 1 ? first : first & (0x7f >> length);
    let sound = length > 0 && at + length <= bytes.length;
    for (let i = 1; sound && i < length; i++) {
      sound = (bytes[at + i] & 0xc0) === 0x80;
      code = (code << 6) | (bytes[at + i] & 63);
    }
    if (!sound || code < least[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
      throw new TypeError(`no UTF-8 at byte ${at}`);
    }
    codes.push(code);
    if (codes.length === 4096) {
      parts.push(String.fromCodePoint(...codes));
      codes = [];
    }
    at += length;
  }
  return parts.join('') + String.fromCodePoint(...codes);
}
