// Checks a published draw for one visitor, step by step. Each step passes, fails, or is skipped
// because this browser cannot check it. This is pure code, except for WebCrypto, and needs no page.
// The words for each step are in the texts.

import { commitment, fromHex, holderOf, rankOf, rootFromPath, seed, toHex } from "./draw.js";

/**
 * Checks all steps. Returns `[{step, result: "pass" | "fail" | "skip", expected?}]`.
 *
 * - `record`: the answer of `GET …/draw`.
 * - `place`: `{number, rank}`.
 * - `proof`: the answer of `GET …/draw/proof/{number}`, or null for a number that joined after
 *   the freeze.
 * - `own`: what this browser stored, `{secret?, commitment?, root?}`.
 * - `jwks`: the public keys, or null if they could not be fetched.
 * - `progress(part)`: is awaited now and then. `part` is the share that is done, from 0 to 1.
 */
export async function check({ record, place, proof, own, jwks }, progress) {
  const steps = [];
  const say = (step, result, more = {}) => steps.push({ step, result, ...more });
  const judge = (step, holds, more) => say(step, holds ? "pass" : "fail", more);
  const bytes = (hex) => fromHex(hex ?? "");
  const secret = bytes(record.secret);
  const root = bytes(record.root);

  judge("commitment", toHex(await commitment(secret)) === record.commitment?.toLowerCase());
  if (own.commitment) judge("first_seen", own.commitment === record.commitment);
  else say("first_seen", "skip");

  const signed = await signature(record, jwks);
  say("signature", signed);

  if (own.root) judge("root_seen", own.root === record.root);
  else say("root_seen", "skip");

  const joinedLate = place.number >= record.n;
  if (joinedLate) {
    judge("late", place.rank === place.number);
  } else {
    const computedRoot = proof && (await rootFromPath(place.number, record.n, bytes(proof.holder), proof.path.map(bytes)));
    judge("leaf", Boolean(computedRoot) && proof.number === place.number && toHex(computedRoot) === record.root.toLowerCase());
    if (own.secret) judge("holder", Boolean(proof) && toHex(await holderOf(bytes(own.secret))) === proof.holder.toLowerCase());
    else say("holder", "skip");
  }

  const computedSeed = await seed(secret, record.n, root, bytes(record.beacon));
  judge("seed", toHex(computedSeed) === record.seed?.toLowerCase());
  if (!joinedLate) {
    const expected = await rankOf(computedSeed, record.n, place.number, progress);
    judge("rank", expected === place.rank && (!proof || proof.rank === undefined || proof.rank === null || proof.rank === expected), { expected });
  }
  return steps;
}

/**
 * Returns `fail` if the signed text differs from the record or the signature is wrong, `skip` if
 * the signature could not be checked, and otherwise `pass`.
 */
async function signature(record, jwks) {
  const parts = (record.signature ?? "").split(".");
  if (parts.length !== 3) return "fail";
  let header;
  let payload;
  try {
    header = JSON.parse(new TextDecoder().decode(base64url(parts[0])));
    payload = JSON.parse(new TextDecoder().decode(base64url(parts[1])));
  } catch {
    return "fail";
  }
  const isSame = ["room", "n", "voids", "root", "frozen_at"].every((name) => payload[name] === record[name]);
  if (!isSame) return "fail";
  const key = jwks?.keys?.find((candidate) => candidate.kid === header.kid);
  if (!key) return jwks ? "fail" : "skip";
  if (header.alg !== "EdDSA" || key.kty !== "OKP" || key.crv !== "Ed25519") return "fail";
  let imported;
  try {
    imported = await crypto.subtle.importKey("jwk", { kty: key.kty, crv: key.crv, x: key.x }, { name: "Ed25519" }, false, ["verify"]);
  } catch {
    return "skip"; // A browser without Ed25519.
  }
  const text = new TextEncoder().encode(`${parts[0]}.${parts[1]}`);
  return (await crypto.subtle.verify({ name: "Ed25519" }, imported, base64url(parts[2]), text)) ? "pass" : "fail";
}

function base64url(text) {
  const plain = atob(text.replace(/-/g, "+").replace(/_/g, "/"));
  return Uint8Array.from(plain, (c) => c.charCodeAt(0));
}

/**
 * Returns `fail` if a step fails, `partly` if the holder or the signature could not be checked, and
 * otherwise `pass`.
 */
export function verdict(steps) {
  if (steps.some((step) => step.result === "fail")) return "fail";
  return steps.some((step) => step.result === "skip" && ["holder", "signature"].includes(step.step)) ? "partly" : "pass";
}
