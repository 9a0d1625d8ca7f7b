import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { ShipmentHead } from "../../core/ports/shipment.ts";
import { asNumber, asObject, parseJson } from "../../core/tools/json.ts";
import { visible } from "../../core/tools/visible.ts";
import { send } from "../../transports/send.ts";
import { productVersion } from "../version.ts";
import type { ShipTarget } from "./target.ts";

const zip = promisify(gzip);
export const POST_TIMEOUT_MS = 60_000;

const REFUSALS = new Set([400, 401, 403, 404, 405, 413, 422]);

/** The team server did not acknowledge a shipment. */
export class NotAcknowledged extends Error {
  /** When the server asks to try again; null if it does not say. */
  readonly retryAfterMs: number | null;
  /** It will not accept the shipment before the token, the address or the program is another one. */
  readonly isRefusal: boolean;

  constructor(reason: string, status: number | null, retryAfterMs: number | null) {
    super(reason);
    this.isRefusal = status !== null && REFUSALS.has(status);
    this.retryAfterMs = retryAfterMs;
  }
}

export const headOf = ({ machine }: ShipTarget): ShipmentHead => ({
  schema: "retinue/shipment@1",
  machine,
  version: productVersion(),
});

/** A line of a shipment with its revision. */
export const withRevision = (line: string, revision: number) => `${line.slice(0, -1)},"revision":${revision}}`;

export interface Posted {
  readonly bytes: number;
  /** The number of this machine's last shipment; null if the server does not count them. */
  readonly number: number | null;
  /** The server has this revision of something that was ignored; 0 if nothing was. */
  readonly newest: number;
  /** Threads that the server asks for as a whole. */
  readonly again: readonly string[];
}

/** Sends the lines until the server has stored them. Splits a shipment that is too large. Throws `NotAcknowledged`. */
export async function post(
  target: ShipTarget,
  token: string,
  lines: readonly string[],
  signal: AbortSignal,
): Promise<Posted> {
  const began = Date.now();
  const body = await zip(Buffer.from(`${[JSON.stringify(headOf(target)), ...lines].join("\n")}\n`));
  const outcome = await send({
    url: target.ingest,
    headers: {
      Authorization: `Bearer ${token}`,
      "Content-Type": "application/x-ndjson",
      "Content-Encoding": "gzip",
    },
    body,
    timeoutMs: POST_TIMEOUT_MS,
    signal,
  });
  if (outcome.is === "accepted") {
    await pace(target, body.length, began, signal);
    return { bytes: body.length, ...receiptIn(outcome.body) };
  }
  if (outcome.is === "too-large" && lines.length > 1) {
    const half = Math.ceil(lines.length / 2);
    const first = await post(target, token, lines.slice(0, half), signal);
    const { bytes, number, newest, again } = await post(target, token, lines.slice(half), signal);
    return { bytes: first.bytes + bytes, number, newest: Math.max(first.newest, newest), again };
  }
  const [line] = lines;
  const smaller = outcome.is === "too-large" && line !== undefined ? withoutText(line) : null;
  if (smaller !== null) return post(target, token, [smaller], signal);
  throw new NotAcknowledged(reasonOf(outcome), outcome.status, "retryAfterMs" in outcome ? outcome.retryAfterMs : null);
}

function receiptIn(body: Uint8Array): Pick<Posted, "number" | "newest" | "again"> {
  const receipt = asObject(parseJson(new TextDecoder().decode(body))?.value);
  const again = Array.isArray(receipt?.again) ? receipt.again.filter((uri) => typeof uri === "string") : [];
  return { number: asNumber(receipt?.shipments), newest: asNumber(receipt?.newest) ?? 0, again };
}

/** Keeps to the bandwidth of the settings. */
async function pace({ bandwidth }: ShipTarget, bytes: number, began: number, signal: AbortSignal): Promise<void> {
  if (bandwidth === null) return;
  const restMs = (bytes / bandwidth) * 1_000 - (Date.now() - began);
  // An abort ends the pause; the caller checks the signal.
  if (restMs > 0) await sleep(restMs, undefined, { signal }).catch(() => undefined);
}

/** An event that the server refuses because of its size, without its texts; null if there is nothing to leave out. */
function withoutText(line: string): string | null {
  const document = JSON.parse(line) as Record<string, unknown>;
  const event = asObject(document.event);
  if (event === null || (event.text === null && event.tool === null)) return null;
  const tool = asObject(event.tool);
  const left = `[left out: ${line.length} characters, more than the team server accepts]`;
  return JSON.stringify({
    ...document,
    event: { ...event, text: left, summary: null, tool: tool && { ...tool, input: null } },
  });
}

const HINTS: Readonly<Record<number, string>> = {
  401: "the team server does not accept the token",
  403: "the token may not ship",
  404: "no team server at this address",
};

function reasonOf({ status, reason }: { readonly status: number | null; readonly reason: string }): string {
  const hint = status === null ? undefined : HINTS[status];
  // The server's text is printed on terminals.
  return visible(hint === undefined ? reason : `${hint} (${reason})`);
}
