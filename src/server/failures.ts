import type { Context } from "hono";
import { HTTPException } from "hono/http-exception";
import { asFailure, type FailureCode } from "../app/failure.ts";
import { TooLarge } from "../core/tools/limits.ts";

export const STATUS = {
  usage: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  failed: 409,
  expired: 410,
  too_large: 413,
  unsupported: 415,
  invalid: 422,
  internal: 500,
  unavailable: 503,
} as const satisfies Record<FailureCode | string, number>;
export type ErrorCode = keyof typeof STATUS;

/** The shape of every error: what is wrong, and the next step if known. `more`: what a program needs to go on. */
export function refusal(c: Context, code: ErrorCode, message: string, next: string | null, more: object = {}) {
  return c.json({ error: { code, message, next, ...more } }, STATUS[code]);
}

/** The only place that turns an error into a response. */
export function errorResponse(c: Context, error: unknown, notify: (text: string) => void) {
  const response = expectedResponse(c, error);
  if (response !== null) return response;
  notify(`a request for ${c.req.path} failed: ${traceOf(error)}`);
  return refusal(
    c,
    "internal",
    error instanceof Error ? error.message : String(error),
    "this is a bug in retinue; see the terminal of the server",
  );
}

/** For the log. */
export const traceOf = (error: unknown) => (error instanceof Error ? (error.stack ?? error.message) : String(error));

/** The response to an error that is not a bug; null for a bug. */
export function expectedResponse(c: Context, error: unknown): Response | null {
  const failure = asFailure(error);
  if (failure !== null)
    return refusal(c, failure.code, failure.message, failure.next.length === 0 ? null : failure.next.join("\n"));
  if (error instanceof TooLarge)
    return refusal(c, "too_large", `the request is too large: ${error.message}`, "send smaller requests");
  if (error instanceof HTTPException)
    return refusal(c, error.status === 413 ? "too_large" : "usage", error.message, null);
  // The client disconnected during its request; not an error of the server.
  if (c.req.raw.signal.aborted) return refusal(c, "usage", "the request was aborted", null);
  return null;
}
