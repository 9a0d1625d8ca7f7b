import type { FindPosted, Parcel, Posted } from "../../core/ports/outbox.ts";
import type { RedactionRules } from "../../core/redaction/redaction.ts";
import type { Story } from "../../core/views/story.ts";
import type { Trace } from "../../exporters/trace/span.ts";
import { Failure } from "../failure.ts";
import type { OldTraces } from "./formats.ts";

export interface PlanOptions {
  readonly now: number;
  /** Null: the destination's default. */
  readonly old: OldTraces | null;
  /** Send a turn only when all of it has ended, because this process may not be running later to send the end. */
  readonly wholeTurns: boolean;
}

/** What to send of a thread to a destination. */
export interface Plan {
  readonly traces: number;
  readonly items: number;
  /** Number of traces skipped because of their age. */
  readonly tooOld: number;
  /** Number of spans skipped because a trace has too many. */
  readonly tooMany: number;
  /** More will follow even if no record is written. */
  readonly isOpen: boolean;
  /** Final spans that were not sent before. */
  parcels(find: FindPosted): readonly Parcel[];
}

/** A service that receives traces over HTTP, configured by environment variables. */
export interface Destination {
  readonly format: string;
  /** Stable; identifies the destination's items in the outbox. Contains no secrets. */
  readonly name: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Maximum size of one request. */
  readonly limit: { readonly items: number; readonly bytes: number };
  /** Null: redaction is disabled. */
  readonly redaction: RedactionRules | null;
  plan(thread: Story, traces: readonly Trace[], options: PlanOptions): Plan;
  /**
   * Ends a span that was sent when it began and is no longer in the records; null if spans are only sent once ended.
   */
  ending(thread: Story, posted: Posted, at: number): Parcel | null;
  encode(bodies: readonly Uint8Array[]): {
    readonly headers: Readonly<Record<string, string>>;
    readonly body: Uint8Array;
  };
  /** The same as readable text. */
  shown(bodies: readonly Uint8Array[]): string;
  /** The destination's message about items it accepted and dropped; null if it kept all. */
  turnedDown(response: Uint8Array): string | null;
}

/** `variable` names the setting to correct. */
export function checkedUrl(url: string, variable: string): string {
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url;
  throw new Failure("usage", `${variable}: ${url} is not a valid URL`, [
    "use a URL that begins with https:// or http://",
  ]);
}
