import type { RedactionRules } from "../../core/redaction.ts";
import type { Story } from "../../core/story.ts";
import type { Trace } from "../../exporters/trace/span.ts";
import type { FindPosted, Parcel, Posted } from "../../stores/sqlite/outbox.ts";
import { Failure } from "../failure.ts";
import type { OldTraces } from "./formats.ts";

export interface PlanOptions {
  readonly now: number;
  /** Null: as is best for the destination. */
  readonly old: OldTraces | null;
  /** A turn is sent when all of it has ended, because nobody may be there later to tell the end of what goes on. */
  readonly wholeTurns: boolean;
}

/** What a thread comes to at a destination. */
export interface Plan {
  readonly traces: number;
  readonly items: number;
  /** Traces that are left out because of their age. */
  readonly tooOld: number;
  /** Parts that are left out because no trace may have so many. */
  readonly tooMany: number;
  /** There will be more to send, without a word being written. */
  readonly isOpen: boolean;
  /** What is certain and was not sent before. */
  parcels(find: FindPosted): readonly Parcel[];
}

/** A service that takes traces over HTTP, as the user's variables name it. */
export interface Destination {
  readonly format: "langsmith" | "otlp";
  /** The same for good; what waits for it is found by it. Holds no secrets. */
  readonly name: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** How much goes into one request. */
  readonly limit: { readonly items: number; readonly bytes: number };
  /** Null: the user wants none. */
  readonly redaction: RedactionRules | null;
  plan(thread: Story, traces: readonly Trace[], options: PlanOptions): Plan;
  /** The end of something that was sent when it began and that the thread's records no longer hold; null where nothing is sent before it ends. */
  ending(thread: Story, posted: Posted, at: number): Parcel | null;
  encode(bodies: readonly Uint8Array[]): { readonly headers: Readonly<Record<string, string>>; readonly body: Uint8Array };
  /** The same as a person can read it. */
  shown(bodies: readonly Uint8Array[]): string;
  /** What it says it did not keep of what it accepted; null where it kept all. */
  turnedDown(answer: Uint8Array): string | null;
}

/** `variable` names what the user has to mend. */
export function checkedUrl(url: string, variable: string): string {
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url;
  throw new Failure("usage", `${variable}: ${url} is no address to send to`, ["write one that begins with https:// or http://"]);
}
