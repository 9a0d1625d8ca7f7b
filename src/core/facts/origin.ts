/** The channel that an observation was received through. */
export const ORIGINS = ["transcript", "stream", "hook", "telemetry", "relay", "proxy"] as const;
export type Origin = (typeof ORIGINS)[number];

/**
 * Which observation counts if several origins have the same record:
 * - `record`: the product's own record, or an exact copy of it.
 * - `report`: what the product reported while it worked. The product's own record of the same key replaces it.
 * - `outside`: observed by the proxy, not by the product itself. The product's records decide who owns a record.
 */
type Authority = "record" | "report" | "outside";

const AUTHORITY: Readonly<Record<Origin, Authority>> = {
  transcript: "record",
  relay: "record",
  stream: "report",
  hook: "report",
  telemetry: "report",
  proxy: "outside",
};

/** An observation without an origin is from a transcript, as nearly all are. */
export interface FromOrigin {
  readonly origin?: Origin;
}

const authorityOf = ({ origin = "transcript" }: FromOrigin): Authority => AUTHORITY[origin];
// Without the table for nearly all observations: it is called several times for each.
export const isRecorded = (from: FromOrigin) => from.origin === undefined || authorityOf(from) === "record";
export const isReport = (from: FromOrigin) => authorityOf(from) === "report";
export const isOutside = (from: FromOrigin) => authorityOf(from) === "outside";
