// Tests script/draw.js with the published vectors of the draw, and the page's check with changed
// records. The vectors are in the folder that FAIRGATE_DRAW names (default ../shared/draw from the
// repository's root).

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { check, verdict } from "../script/draw-check.js";
import { be64, commitment, fromHex, holderOf, leafHash, line, rankOf, rootFromPath, seed, sha256, toHex } from "../script/draw.js";

const folder = process.env.FAIRGATE_DRAW ?? join(import.meta.dirname, "../../../shared/draw");
const vectors = join(folder, "vectors.json");
const text = (words) => new TextEncoder().encode(words);
const holderOfVector = (number) => sha256(text("holder"), be64(number));

/** Returns root and paths of a small tree, computed directly by the definition in RFC 6962. */
async function tree(hashes) {
  if (hashes.length === 0) return { root: await sha256(), paths: [] };
  if (hashes.length === 1) return { root: hashes[0], paths: [[]] };
  let k = 1;
  while (k * 2 < hashes.length) k *= 2;
  const [left, right] = [await tree(hashes.slice(0, k)), await tree(hashes.slice(k))];
  return {
    root: await sha256(Uint8Array.of(1), left.root, right.root),
    paths: [...left.paths.map((path) => [...path, right.root]), ...right.paths.map((path) => [...path, left.root])],
  };
}

test("draw.js computes every value of the published vectors", async (t) => {
  if (!existsSync(vectors)) return t.skip(`SKIPPED: no ${vectors}`);
  for (const one of JSON.parse(readFileSync(vectors)).cases) {
    const secret = fromHex(one.secret);
    assert.equal(toHex(await commitment(secret)), one.commitment, `commitment of n=${one.n}`);
    const hashes = await Promise.all(Array.from({ length: one.n }, async (_, i) => leafHash(i, await holderOfVector(i))));
    const { root } = await tree(hashes);
    assert.equal(toHex(root), one.root, `root of n=${one.n}`);
    const key = await seed(secret, one.n, root, fromHex(one.beacon));
    assert.equal(toHex(key), one.seed, `seed of n=${one.n}`);
    const drawn = line(key, one.n);
    assert.deepEqual([...drawn.slice(0, 10)], one.line_first);
    const bytes = new Uint8Array(4 * one.n);
    drawn.forEach((number, rank) => new DataView(bytes.buffer).setUint32(4 * rank, number));
    assert.equal(toHex(await sha256(bytes)), one.line_sha256_be32, `line of n=${one.n}`);
  }
});

test("the rank of one number agrees with the whole line", async () => {
  for (const n of [1, 2, 3, 10, 257, 5000]) {
    const key = await sha256(text(`key ${n}`));
    const ranks = new Map([...line(key, n)].map((number, rank) => [number, rank]));
    for (let number = 0; number < n; number += n > 1000 ? 61 : 1) assert.equal(await rankOf(key, n, number), ranks.get(number), `n=${n} number=${number}`);
    assert.equal(await rankOf(key, n, n + 5), n + 5, "a late number keeps its own rank");
  }
});

test("an inclusion path gives the root for its own leaf only", async () => {
  for (let n = 1; n <= 34; n++) {
    const holders = await Promise.all(Array.from({ length: n }, (_, i) => holderOfVector(i)));
    const { root, paths } = await tree(await Promise.all(holders.map((holder, i) => leafHash(i, holder))));
    for (let i = 0; i < n; i++) {
      assert.equal(toHex((await rootFromPath(i, n, holders[i], paths[i])) ?? []), toHex(root), `leaf ${i} of ${n}`);
      assert.equal(await rootFromPath(i, n, holders[i], [...paths[i], root]), null, "a path too long");
      if (paths[i].length) assert.equal(await rootFromPath(i, n, holders[i], paths[i].slice(1)), null, "a path too short");
      const other = await rootFromPath((i + 1) % n, n, holders[i], paths[i]);
      if (n > 1) assert.ok(!other || toHex(other) !== toHex(root), "another number's path");
    }
  }
});

async function published() {
  const n = 12;
  const secrets = await Promise.all(Array.from({ length: n }, (_, i) => sha256(text(`visitor ${i}`))));
  const holders = await Promise.all(secrets.map(holderOf));
  const { root, paths } = await tree(await Promise.all(holders.map((holder, i) => leafHash(i, holder))));
  const secret = await sha256(text("room"));
  const key = await seed(secret, n, root, new Uint8Array());
  const signed = { room: "demo", n, voids: 0, root: toHex(root), frozen_at: "2027-01-10T09:00:00Z" };
  const pair = await crypto.subtle.generateKey({ name: "Ed25519" }, true, ["sign", "verify"]);
  const b64 = (bytes) => Buffer.from(bytes).toString("base64url");
  const head = `${b64(JSON.stringify({ alg: "EdDSA", kid: "k1", typ: "fairgate-freeze+jws" }))}.${b64(JSON.stringify(signed))}`;
  const signature = `${head}.${b64(await crypto.subtle.sign({ name: "Ed25519" }, pair.privateKey, text(head)))}`;
  const jwk = await crypto.subtle.exportKey("jwk", pair.publicKey);
  const record = { version: 1, ...signed, commitment: toHex(await commitment(secret)), signature, beacon_round: null, beacon: null, secret: toHex(secret), seed: toHex(key), drawn_at: "2027-01-10T09:00:01Z" };
  const rank = await rankOf(key, n, 5);
  return {
    record,
    place: { number: 5, rank },
    proof: { number: 5, holder: toHex(holders[5]), path: paths[5].map(toHex), rank },
    own: { secret: toHex(secrets[5]), commitment: record.commitment, root: record.root },
    jwks: { keys: [{ kty: jwk.kty, crv: jwk.crv, x: jwk.x, kid: "k1", alg: "EdDSA" }] },
  };
}

test("an honest draw passes every step", async () => {
  const steps = await check(await published());
  assert.deepEqual(steps.filter((step) => step.result !== "pass"), []);
  assert.deepEqual(steps.map((step) => step.step), ["commitment", "first_seen", "signature", "root_seen", "leaf", "holder", "seed", "rank"]);
  assert.equal(verdict(steps), "pass");
});

const flip = (hex) => (hex[0] === "0" ? "1" : "0") + hex.slice(1);
for (const [what, tamper] of Object.entries({
  commitment: (p) => (p.record.commitment = flip(p.record.commitment)),
  n: (p) => (p.record.n += 1),
  voids: (p) => (p.record.voids += 1),
  root: (p) => (p.record.root = flip(p.record.root)),
  beacon: (p) => (p.record.beacon = "00".repeat(32)),
  secret: (p) => (p.record.secret = flip(p.record.secret)),
  seed: (p) => (p.record.seed = flip(p.record.seed)),
  "rank given": (p) => (p.place.rank = (p.place.rank + 1) % 12),
  holder: (p) => (p.proof.holder = flip(p.proof.holder)),
  path: (p) => (p.proof.path[0] = flip(p.proof.path[0])),
  signature: (p) => (p.record.signature = p.record.signature.replace(/.{4}$/, "AAAA")),
  key: (p) => (p.jwks.keys = []),
  "root seen at the freeze": (p) => (p.own.root = flip(p.own.root)),
})) {
  test(`a draw with another ${what} fails the check`, async () => {
    const p = await published();
    tamper(p);
    assert.equal(verdict(await check(p)), "fail");
  });
}

test("steps for which this browser has no values are skipped and do not pass", async () => {
  const p = await published();
  p.own = {};
  p.jwks = null;
  const steps = await check(p);
  assert.deepEqual(steps.filter((step) => step.result === "skip").map((step) => step.step), ["first_seen", "signature", "root_seen", "holder"]);
  assert.equal(verdict(steps), "partly");
});
