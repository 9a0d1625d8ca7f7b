/** Which alerts were sent, by any process of this user: each event is reported once. */
import { randomBytes } from "node:crypto";
import { closeSync, fstatSync, readSync, writeSync } from "node:fs";
import { openPrivate, privateFolder, writePrivate } from "../../transports/private.ts";
import { join } from "../../transports/system/paths.ts";
import { renameOver } from "../../transports/system/rename.ts";
import { guardFolder } from "../guard/limits-file.ts";
import type { Env } from "../home.ts";

interface Claim {
  readonly at: number;
  readonly key: string;
  readonly by: string;
}

/**
 * `sent`: the caller sends the alert; `leftOut` earlier ones were not sent. `known`: another process sends it. `late`:
 * the limit per hour is reached.
 */
export type Claimed = { readonly is: "sent"; readonly leftOut: number } | { readonly is: "known" | "late" };

const HOUR_MS = 3_600_000;
export const PER_HOUR = 20;
/** Older claims are dropped when the file has grown to this size. */
const MAX_BYTES = 256 << 10;
const KEPT_MS = 7 * 24 * HOUR_MS;

const claimsPath = (env: Env) => join(guardFolder(env), "alerts.jsonl");

/** Claims an alert. The first process that appends the key sends it. */
export function claim(env: Env, key: string, now: number): Claimed {
  privateFolder(guardFolder(env));
  const own: Claim = { at: now, key, by: randomBytes(8).toString("hex") };
  const claims = append(env, own);
  if (claims.find((one) => one.key === key)?.by !== own.by) return { is: "known" };
  const earlier = firsts(claims).filter(({ by }) => by !== own.by);
  const sent = new Set<Claim>();
  for (const one of [...earlier, own])
    if ([...sent].filter(({ at }) => at > one.at - HOUR_MS).length < PER_HOUR) sent.add(one);
  if (!sent.has(own)) return { is: "late" };
  const lastSent = earlier.findLastIndex((one) => sent.has(one));
  return { is: "sent", leftOut: earlier.length - 1 - lastSent };
}

/** The first claim of each event, in the order of the file. */
const firsts = (claims: readonly Claim[]) =>
  [...new Map(claims.toReversed().map((one) => [one.key, one])).values()].reverse();

/** Appends a claim, and returns all claims of the file. */
function append(env: Env, own: Claim): readonly Claim[] {
  const file = openPrivate(claimsPath(env), "a+");
  try {
    writeSync(file, `\n${JSON.stringify(own)}\n`);
    const bytes = Buffer.alloc(fstatSync(file).size);
    const claims = readClaims(bytes.toString("utf8", 0, readSync(file, bytes, 0, bytes.length, 0)));
    if (bytes.length > MAX_BYTES) trim(env, claims, own.at);
    return claims;
  } finally {
    closeSync(file);
  }
}

function readClaims(text: string): Claim[] {
  return text.split("\n").flatMap((line) => {
    if (line === "") return [];
    try {
      return [JSON.parse(line) as Claim];
    } catch {
      // A line that was not written completely.
      return [];
    }
  });
}

/** Rewrites the file with recent claims only. */
function trim(env: Env, claims: readonly Claim[], now: number): void {
  const draft = `${claimsPath(env)}.${process.pid}`;
  const recent = claims.filter(({ at }) => at > now - KEPT_MS).slice(-MAX_BYTES / 512);
  writePrivate(draft, recent.map((one) => `${JSON.stringify(one)}\n`).join(""));
  renameOver(draft, claimsPath(env));
}
