import { type FaultKind, StoreFault } from "../fault.ts";

/** Codes of the system and of PostgreSQL (its appendix A), or their first two characters. */
const FAULTS: ReadonlyMap<string, FaultKind> = new Map([
  ["ECONNABORTED", "unreachable"],
  ["ECONNREFUSED", "unreachable"],
  ["ECONNRESET", "unreachable"],
  ["EPIPE", "unreachable"],
  ["ETIMEDOUT", "unreachable"],
  ["EHOSTUNREACH", "unreachable"],
  ["ENETUNREACH", "unreachable"],
  ["ENOTFOUND", "unreachable"],
  ["EAI_AGAIN", "unreachable"],
  ["ENOENT", "unreachable"], // its socket
  ["08", "unreachable"], // connection exception
  ["57P01", "unreachable"], // admin shutdown
  ["57P02", "unreachable"], // crash shutdown
  ["57P03", "unreachable"], // cannot connect now
  ["57014", "busy"], // statement timeout
  ["55P03", "busy"], // lock not available
  ["40", "busy"], // serialization failure, deadlock
  ["53300", "busy"], // too many connections
  ["53", "unwritable"], // disk full, out of memory
  ["25006", "unwritable"], // read-only: a replica, or set by an administrator
  ["58", "unwritable"], // errors of files
]);

/** What the client says, without a code, of a connection that it lost, could not open in time, or cannot use any more. */
const LOST = /^(?:Connection terminated(?: unexpectedly)?|timeout expired|Client .* not queryable)$/;

/** What kind of error of the database this is; null for a bug. */
export function postgresFault(error: unknown): FaultKind | null {
  if (error instanceof StoreFault) return error.kind;
  if (!(error instanceof Error)) return null;
  const { code = "" } = error as NodeJS.ErrnoException;
  const { message } = error;
  if (code === "" && LOST.test(message)) return "unreachable";
  return FAULTS.get(code) ?? FAULTS.get(code.slice(0, 2)) ?? null;
}
