import type { FaultKind } from "../fault.ts";

/** Codes of the client's connection, of the system and of PostgreSQL (its appendix A), or their first two characters. */
const FAULTS: ReadonlyMap<string, FaultKind> = new Map([
  ["CONNECTION_CLOSED", "busy"],
  ["CONNECTION_ENDED", "busy"],
  ["CONNECTION_DESTROYED", "busy"],
  ["CONNECT_TIMEOUT", "busy"],
  ["ECONNREFUSED", "busy"],
  ["ECONNRESET", "busy"],
  ["EPIPE", "busy"],
  ["ETIMEDOUT", "busy"],
  ["EHOSTUNREACH", "busy"],
  ["ENETUNREACH", "busy"],
  ["ENOTFOUND", "busy"],
  ["EAI_AGAIN", "busy"],
  ["ENOENT", "busy"], // its socket
  ["08", "busy"], // connection exception
  ["57P01", "busy"], // admin shutdown
  ["57P02", "busy"], // crash shutdown
  ["57P03", "busy"], // cannot connect now
  ["57014", "busy"], // statement timeout
  ["55P03", "busy"], // lock not available
  ["40", "busy"], // serialization failure, deadlock
  ["53300", "busy"], // too many connections
  ["53", "unwritable"], // disk full, out of memory
  ["25006", "unwritable"], // read-only: a replica, or set by an administrator
  ["58", "unwritable"], // errors of files
]);

/** What kind of error of the database this is; null for a bug. */
export function postgresFault(error: unknown): FaultKind | null {
  if (!(error instanceof Error)) return null;
  const { code = "" } = error as NodeJS.ErrnoException;
  const { message } = error;
  // The server said nothing else before it ended.
  if (code === "" && /terminating connection|connection terminated/i.test(message)) return "busy";
  return FAULTS.get(code) ?? FAULTS.get(code.slice(0, 2)) ?? null;
}
