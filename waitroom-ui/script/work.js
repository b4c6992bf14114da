// Solves a part of a proof of work in a thread of its own: ALTCHA v2 with PBKDF2. It tries every
// `step`-th counter from `first` on, until the derived key begins with the wanted prefix.

import { fromHex, toHex } from "./draw.js";

async function solve({ parameters, first, step }) {
  const [nonce, salt, prefix] = [parameters.nonce, parameters.salt, parameters.keyPrefix].map(fromHex);
  const derivation = { name: "PBKDF2", hash: parameters.algorithm.split("/")[1], salt, iterations: parameters.cost };
  const password = new Uint8Array(nonce.length + 4);
  password.set(nonce);
  for (let counter = first; ; counter += step) {
    new DataView(password.buffer).setUint32(nonce.length, counter);
    const key = await crypto.subtle.importKey("raw", password, "PBKDF2", false, ["deriveBits"]);
    const derived = new Uint8Array(await crypto.subtle.deriveBits(derivation, key, parameters.keyLength * 8));
    if (prefix.every((byte, at) => derived[at] === byte)) return { counter, derivedKey: toHex(derived) };
  }
}

addEventListener("message", async ({ data }) => postMessage(await solve(data)));
