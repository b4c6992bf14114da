// Computes draw version 1 again: commitment, Merkle leaf, seed and the rank of one number. The hash
// is WebCrypto's. This is pure code that needs no page, so that Node.js can test it with the
// published vectors.

const text = new TextEncoder();
const COMMIT = text.encode("fairgate/draw/v1/commit");
const SEED = text.encode("fairgate/draw/v1/seed");

export function fromHex(hex) {
  if (typeof hex !== "string" || hex.length % 2 || /[^0-9a-f]/i.test(hex)) throw new Error("not hex");
  return Uint8Array.from({ length: hex.length / 2 }, (_, i) => parseInt(hex.slice(2 * i, 2 * i + 2), 16));
}

export const toHex = (bytes) => [...bytes].map((b) => b.toString(16).padStart(2, "0")).join("");

/** Returns a non-negative integer as 8 bytes, big-endian. */
export function be64(number) {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(number));
  return bytes;
}

export async function sha256(...parts) {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    bytes.set(part, offset);
    offset += part.length;
  }
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}

export const commitment = (secret) => sha256(COMMIT, secret);

/** `beacon` is the 32 bytes of the drand round. It is empty if the room has no beacon. */
export const seed = (secret, n, root, beacon) => sha256(SEED, secret, be64(n), root, beacon);

export const holderOf = (secret) => sha256(secret);

export const leafHash = (number, holder) => sha256(Uint8Array.of(0), be64(number), holder);

/**
 * Computes the RFC 6962 root from a leaf and its inclusion path, which goes from the leaf upwards.
 * Returns null if the length of the path does not fit `number` and `n`.
 */
export async function rootFromPath(number, n, holder, path) {
  if (!(number >= 0 && number < n)) return null;
  let hash = await leafHash(number, holder);
  let [index, last] = [number, n - 1];
  for (const sibling of path) {
    if (last === 0) return null;
    if (index % 2 === 1 || index === last) {
      hash = await sha256(Uint8Array.of(1), sibling, hash);
      while (index % 2 === 0 && index !== 0) {
        index /= 2;
        last = Math.floor(last / 2);
      }
    } else {
      hash = await sha256(Uint8Array.of(1), hash, sibling);
    }
    index = Math.floor(index / 2);
    last = Math.floor(last / 2);
  }
  return last === 0 ? hash : null;
}

/**
 * The ChaCha20 keystream (20 rounds, zero nonce, counter from 0) as 32-bit words, one block of 16
 * at a time.
 */
export class Words {
  constructor(key) {
    const view = new DataView(key.buffer, key.byteOffset, 32);
    this.start = new Uint32Array(16);
    this.start.set([0x61707865, 0x3320646e, 0x79622d32, 0x6b206574]);
    for (let i = 0; i < 8; i++) this.start[4 + i] = view.getUint32(4 * i, true);
    this.block = new Uint32Array(16);
    this.used = 16;
  }

  next() {
    if (this.used === 16) this.refill();
    return this.block[this.used++];
  }

  refill() {
    const s = this.start;
    let [x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15] = s;
    const rotate = (v, by) => (v << by) | (v >>> (32 - by));
    for (let round = 0; round < 10; round++) {
      x0 = (x0 + x4) | 0; x12 = rotate(x12 ^ x0, 16); x8 = (x8 + x12) | 0; x4 = rotate(x4 ^ x8, 12);
      x0 = (x0 + x4) | 0; x12 = rotate(x12 ^ x0, 8); x8 = (x8 + x12) | 0; x4 = rotate(x4 ^ x8, 7);
      x1 = (x1 + x5) | 0; x13 = rotate(x13 ^ x1, 16); x9 = (x9 + x13) | 0; x5 = rotate(x5 ^ x9, 12);
      x1 = (x1 + x5) | 0; x13 = rotate(x13 ^ x1, 8); x9 = (x9 + x13) | 0; x5 = rotate(x5 ^ x9, 7);
      x2 = (x2 + x6) | 0; x14 = rotate(x14 ^ x2, 16); x10 = (x10 + x14) | 0; x6 = rotate(x6 ^ x10, 12);
      x2 = (x2 + x6) | 0; x14 = rotate(x14 ^ x2, 8); x10 = (x10 + x14) | 0; x6 = rotate(x6 ^ x10, 7);
      x3 = (x3 + x7) | 0; x15 = rotate(x15 ^ x3, 16); x11 = (x11 + x15) | 0; x7 = rotate(x7 ^ x11, 12);
      x3 = (x3 + x7) | 0; x15 = rotate(x15 ^ x3, 8); x11 = (x11 + x15) | 0; x7 = rotate(x7 ^ x11, 7);
      x0 = (x0 + x5) | 0; x15 = rotate(x15 ^ x0, 16); x10 = (x10 + x15) | 0; x5 = rotate(x5 ^ x10, 12);
      x0 = (x0 + x5) | 0; x15 = rotate(x15 ^ x0, 8); x10 = (x10 + x15) | 0; x5 = rotate(x5 ^ x10, 7);
      x1 = (x1 + x6) | 0; x12 = rotate(x12 ^ x1, 16); x11 = (x11 + x12) | 0; x6 = rotate(x6 ^ x11, 12);
      x1 = (x1 + x6) | 0; x12 = rotate(x12 ^ x1, 8); x11 = (x11 + x12) | 0; x6 = rotate(x6 ^ x11, 7);
      x2 = (x2 + x7) | 0; x13 = rotate(x13 ^ x2, 16); x8 = (x8 + x13) | 0; x7 = rotate(x7 ^ x8, 12);
      x2 = (x2 + x7) | 0; x13 = rotate(x13 ^ x2, 8); x8 = (x8 + x13) | 0; x7 = rotate(x7 ^ x8, 7);
      x3 = (x3 + x4) | 0; x14 = rotate(x14 ^ x3, 16); x9 = (x9 + x14) | 0; x4 = rotate(x4 ^ x9, 12);
      x3 = (x3 + x4) | 0; x14 = rotate(x14 ^ x3, 8); x9 = (x9 + x14) | 0; x4 = rotate(x4 ^ x9, 7);
    }
    const b = this.block;
    b[0] = x0 + s[0]; b[1] = x1 + s[1]; b[2] = x2 + s[2]; b[3] = x3 + s[3];
    b[4] = x4 + s[4]; b[5] = x5 + s[5]; b[6] = x6 + s[6]; b[7] = x7 + s[7];
    b[8] = x8 + s[8]; b[9] = x9 + s[9]; b[10] = x10 + s[10]; b[11] = x11 + s[11];
    b[12] = x12 + s[12]; b[13] = x13 + s[13]; b[14] = x14 + s[14]; b[15] = x15 + s[15];
    this.used = 0;
    if (++s[12] === 0x1_0000_0000) s[13] += 1;
  }
}

/**
 * Yields the swaps of the shuffle, from the last index down, as `[i, j]`: the entries at i and j
 * are swapped.
 */
export function* swaps(key, n) {
  const words = new Words(key);
  for (let i = n - 1; i > 0; i--) yield [i, below(words, i + 1)];
}

/**
 * Returns a number below `bound`. Rejects words from the largest multiple of `bound` up to 2^32
 * upwards, so that there is no modulo bias.
 */
function below(words, bound) {
  const limit = 0x1_0000_0000 - (0x1_0000_0000 % bound);
  let word = words.next();
  while (word >= limit) word = words.next();
  return word % bound;
}

/**
 * Returns the whole line: `line[rank]` is the number with that rank. This is for tests and small
 * rooms, because the line takes 4 bytes for each of the n numbers.
 */
export function line(key, n) {
  const a = Uint32Array.from({ length: n }, (_, i) => i);
  for (const [i, j] of swaps(key, n)) [a[i], a[j]] = [a[j], a[i]];
  return a;
}

/**
 * Returns the rank of one number. A number from n on joined after the freeze, and its rank is the
 * number itself.
 *
 * Follows only this number through the swaps, so the memory does not grow with n. The swap of index
 * i is the last one that changes this index. So a number that is swapped to i has reached its rank.
 *
 * `breathe(done)` is awaited now and then, so that the page can react meanwhile. `done` is the
 * share that is done, from 0 to 1.
 */
export async function rankOf(key, n, number, breathe = async () => {}) {
  if (!(number < n)) return number;
  const words = new Words(key);
  let position = number;
  for (let i = n - 1; i > 0; i--) {
    const j = below(words, i + 1);
    if (j === position) return i;
    if (i === position) position = j;
    if (i % 0x40000 === 0) await breathe(1 - i / n);
  }
  return position;
}
