import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { ShipmentHead } from "../../core/ports/shipment.ts";
import { asNumber, asObject, asText, parseJson } from "../../core/tools/json.ts";
import { visible } from "../../core/tools/visible.ts";
import { send } from "../../transports/send.ts";
import { productVersion } from "../version.ts";
import type { ShipTarget } from "./target.ts";

const zip = promisify(gzip);
export const POST_TIMEOUT_MS = 60_000;

/** What the status of a refusal means, and what the user can do about it. */
interface Refusal {
  readonly hint?: string;
  readonly advice?: string;
}

const NEW_TOKEN =
  "set a token of `retinue token create --scope ship` in RETINUE_TEAM_TOKEN, or in the file that team.token_file names";
const OTHER_ADDRESS = "check the address of the team server: --to, or team.url in the settings";
const REDIRECT: Refusal = {
  hint: "this address leads to another one",
  advice: "use the address that it leads to, such as https://host",
};
/** By status: the same shipment would be refused again. */
const REFUSALS: ReadonlyMap<number | null, Refusal> = new Map<number, Refusal>([
  // Not a receipt.
  [200, { advice: OTHER_ADDRESS }],
  ...[301, 302, 303, 307, 308].map((status) => [status, REDIRECT] as const),
  [401, { hint: "the team server does not accept the token", advice: NEW_TOKEN }],
  [403, { hint: "the token may not ship", advice: NEW_TOKEN }],
  [404, { hint: "no team server at this address", advice: OTHER_ADDRESS }],
  [405, { advice: OTHER_ADDRESS }],
  ...[400, 413, 422].map((status) => [status, {}] as const),
]);
/** The shortest pause that a server can ask for. With 0, `--once` would send without a pause for half a minute. */
const LEAST_PAUSE_MS = 1_000;

/** The team server did not acknowledge a shipment. */
export class NotAcknowledged extends Error {
  /** When the server asks to try again; null if it does not say. */
  readonly retryAfterMs: number | null;
  /** It will not accept the shipment before the token, the address or the program is another one. */
  readonly isRefusal: boolean;
  /** What the user can do about it; null: nothing. */
  readonly advice: string | null;

  constructor(reason: string, status: number | null, retryAfterMs: number | null) {
    super(reason);
    this.isRefusal = REFUSALS.has(status);
    this.advice = REFUSALS.get(status)?.advice ?? null;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The team server will not accept a document. */
export class DocumentRefused extends NotAcknowledged {
  /** The thread of the document. */
  readonly thread: string;

  constructor(reason: string, status: number, line: string) {
    super(reason, status, null);
    this.thread = (JSON.parse(line) as { readonly thread: string }).thread;
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
  /** Whose token it is; null if the server does not say so. */
  readonly owner: string | null;
  /** The numbers of these shipments of this machine; empty if the server does not count them. */
  readonly numbers: readonly number[];
  /** The server has this revision of something that was ignored; 0 if nothing was. */
  readonly newest: number;
  /** Threads that the server asks for as a whole. */
  readonly again: readonly string[];
}

/**
 * Sends the lines until the server has stored them. Splits a shipment that is too large. Throws `NotAcknowledged`, or
 * `DocumentRefused` if the server accepts all but one document.
 */
export async function post(
  target: ShipTarget,
  token: string,
  lines: readonly string[],
  signal: AbortSignal,
): Promise<Posted> {
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
    const receipt = receiptIn(outcome.body, lines.length);
    if (receipt === null)
      throw new NotAcknowledged("no team server at this address: its answer is no receipt", outcome.status, null);
    return { bytes: body.length, ...receipt };
  }
  const reason = reasonOf(outcome);
  const [line] = lines;
  if (outcome.is === "too-large" && line !== undefined) {
    if (lines.length > 1) return inHalves(lines, (half) => post(target, token, half, signal));
    const smaller = withoutText(line);
    if (smaller === null) throw new DocumentRefused(reason, outcome.status, line);
    return post(target, token, [smaller], signal);
  }
  if (outcome.is === "refused" && line !== undefined) {
    const refused = refusedLine(outcome.body, lines);
    if (refused !== null) throw new DocumentRefused(reason, outcome.status, refused);
    // Throws if not a document is refused, but the program as a whole.
    await post(target, token, [], signal);
    if (lines.length === 1) throw new DocumentRefused(reason, outcome.status, line);
    return inHalves(lines, (half) => post(target, token, half, signal));
  }
  const asked = "retryAfterMs" in outcome ? outcome.retryAfterMs : null;
  throw new NotAcknowledged(reason, outcome.status, asked === null ? null : Math.max(asked, LEAST_PAUSE_MS));
}

async function inHalves(
  lines: readonly string[],
  postHalf: (half: readonly string[]) => Promise<Posted>,
): Promise<Posted> {
  const middle = Math.ceil(lines.length / 2);
  const first = await postHalf(lines.slice(0, middle));
  const second = await postHalf(lines.slice(middle));
  return {
    ...second,
    bytes: first.bytes + second.bytes,
    numbers: [...first.numbers, ...second.numbers],
    newest: Math.max(first.newest, second.newest),
  };
}

/** Null if it is not a receipt for this many documents: another program may answer at the address. */
function receiptIn(body: Uint8Array, documents: number): Omit<Posted, "bytes"> | null {
  const receipt = objectIn(body);
  const stored = (asNumber(receipt?.accepted) ?? Number.NaN) + (asNumber(receipt?.ignored) ?? Number.NaN);
  if (stored !== documents) return null;
  const number = asNumber(receipt?.shipments);
  const again = Array.isArray(receipt?.again) ? receipt.again.filter((uri) => typeof uri === "string") : [];
  return {
    owner: asText(receipt?.owner),
    numbers: number === null ? [] : [number],
    newest: asNumber(receipt?.newest) ?? 0,
    again,
  };
}

/** The line that the server names as the reason of its refusal. */
function refusedLine(body: Uint8Array, lines: readonly string[]): string | null {
  const at = asNumber(asObject(objectIn(body)?.error)?.document);
  return at === null ? null : (lines[at] ?? null);
}

const objectIn = (body: Uint8Array) => asObject(parseJson(new TextDecoder().decode(body))?.value);

/** Of a document that is too large, texts longer than this are left out. */
const LONG_TEXT = 10_000;
/** Fields that identify something. */
const IDS = new Set(["thread", "uri", "agent", "parent", "id"]);

/** A document that the server refuses because of its size, without long texts or else without the input of its tool. */
function withoutText(line: string): string | null {
  const left = `[left out: ${line.length} characters, more than the team server accepts]`;
  const document = JSON.parse(line) as unknown;
  const shorter = JSON.stringify(document, (field, value: unknown) =>
    typeof value === "string" && value.length > LONG_TEXT && !IDS.has(field) ? left : value,
  );
  if (shorter.length < line.length) return shorter;
  const withoutInput = JSON.stringify(document, (field, value: unknown) => (field === "input" ? null : value));
  return withoutInput.length < line.length ? withoutInput : null;
}

function reasonOf({ status, reason }: { readonly status: number | null; readonly reason: string }): string {
  const hint = REFUSALS.get(status)?.hint;
  const message = asObject(asObject(parseJson(reason.slice(reason.indexOf(" ") + 1))?.value)?.error)?.message;
  const text = typeof message === "string" ? `${status}: ${message}` : reason;
  // The server's text is printed on terminals.
  return visible(hint === undefined ? text : `${hint} (${text})`);
}
