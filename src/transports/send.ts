import { duration } from "../core/tools/format.ts";
import { MAX_RECEIPT } from "../core/tools/limits.ts";
import { readBody } from "./bounded.ts";

/** The result of a request, by what to do next. */
export type Outcome =
  | { readonly is: "accepted"; readonly status: number; readonly body: Uint8Array }
  /** The destination already has it. */
  | { readonly is: "known"; readonly status: number; readonly reason: string }
  /** The destination will never accept it. */
  | { readonly is: "refused"; readonly status: number; readonly reason: string; readonly body: Uint8Array }
  | { readonly is: "too-large"; readonly status: number; readonly reason: string }
  /** Unreachable or overloaded. `retryAfterMs` is the server's value. */
  | {
      readonly is: "unavailable";
      readonly status: number | null;
      readonly reason: string;
      readonly retryAfterMs: number | null;
    };

export interface Sending {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

const MAX_REASON = 2_000;

/** Posts the body. Never throws. Does not follow redirects, so that credentials are not sent elsewhere. */
export async function send({ url, headers, body, timeoutMs, signal }: Sending): Promise<Outcome> {
  const until = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(url, {
      method: "POST",
      headers,
      body: body as Uint8Array<ArrayBuffer>,
      redirect: "manual",
      signal: signal === undefined ? until : AbortSignal.any([until, signal]),
    });
    return outcomeOf(
      response.status,
      (await readBody(response.body, MAX_RECEIPT)).bytes,
      response.headers.get("retry-after"),
      Date.now(),
    );
  } catch (error) {
    return { is: "unavailable", status: null, reason: reasonOf(error, timeoutMs), retryAfterMs: null };
  }
}

export function outcomeOf(status: number, body: Uint8Array, retryAfter: string | null, now: number): Outcome {
  if (status >= 200 && status < 300) return { is: "accepted", status, body };
  const text = new TextDecoder().decode(body.subarray(0, MAX_REASON)).replace(/\s+/g, " ").trim();
  const reason = `${status}${text === "" ? "" : ` ${text}`}`;
  if (status === 409) return { is: "known", status, reason };
  if (status === 413) return { is: "too-large", status, reason };
  if (status === 400 || status === 422) return { is: "refused", status, reason, body };
  return { is: "unavailable", status, reason, retryAfterMs: retryAfterMs(retryAfter, now) };
}

/** Parses a `Retry-After` header: seconds, or a date. */
function retryAfterMs(value: string | null, now: number): number | null {
  if (value === null) return null;
  if (/^\d+(\.\d+)?$/.test(value.trim())) return Number(value) * 1_000;
  const at = Date.parse(value);
  return Number.isNaN(at) ? null : Math.max(0, at - now);
}

function reasonOf(error: unknown, timeoutMs: number): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === "TimeoutError") return `no response within ${duration(timeoutMs)}`;
  if (!(error.cause instanceof Error)) return error.message;
  const { code = "", message }: NodeJS.ErrnoException = error.cause;
  // "connect ECONNREFUSED 127.0.0.1:80" has the code already.
  return message.includes(code) ? message : [code, message].filter((part) => part !== "").join(": ");
}
