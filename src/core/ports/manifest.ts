import type { LedgerNotice, SpawnAsked } from "../guard/ledger.ts";
import type { LimitAction } from "../guard/limits.ts";
import type { JsonObject } from "../tools/json.ts";
import type { CommandLine, ShellVariables } from "./command-line.ts";
import type { Provider } from "./provider.ts";

/**
 * What the folder of a product declares, and the entry of the list of products. Small, because hooks and status lines
 * load all manifests while agents wait for them; `load` imports the parts that read records.
 */
export interface Manifest extends Pick<Provider, "name" | "product" | "versions" | "isUnverified" | "docs" | "forkOf"> {
  /** Recognises what the product passes to its hooks; omitted if it has none. */
  readonly hookPayload?: HookPayload;
  /** Reads what the product passes to a status line command; omitted if it has none. */
  readonly statusLine?: StatusLine;
  /** Adds the ids of an agent to a shell call of a hook's payload; omitted if its hooks cannot change calls. */
  shellHook?(): Promise<(payload: JsonObject) => JsonObject | null>;
  /** How agents of other products start it with shell commands; omitted if unknown. */
  readonly commandLine?: CommandLine;
  /** Variables of its shell commands that name the agent; omitted if there are none. */
  readonly shellVariables?: ShellVariables;
  /**
   * Headers of its API requests that contain no credentials, in lower case, separated by spaces. The proxy records only
   * the values of known headers: what the product's `Dialect` reads must be listed, unless several products use it.
   */
  readonly apiHeaders?: string;
  /** Prefixes of such headers. */
  readonly apiHeaderPrefixes?: string;
  load(): Promise<Provider>;
}

/** Reads a string field of a hook's payload; null if it has none. */
export type PayloadField = (name: string) => string | null;

/** The payload of a hook, recognised without parsing it. */
export interface HookPayload {
  isHook(field: PayloadField): boolean;
  /** The root of a transcript that the payload names; null if the path does not show it. */
  rootOf(transcript: string): string | null;
  /** What its hooks state about spawns, and how a hook refuses one; omitted if they cannot. */
  readonly guard?: HookGuard;
  /** The payload has nothing that is unique to this product: products with unique payloads are tried first. */
  readonly isGeneric?: true;
}

/** How limits are enforced by a product's hooks. */
export interface HookGuard {
  /** What a payload states; null if nothing that limits depend on. Never throws. */
  read(payload: JsonObject, env: Readonly<Record<string, string | undefined>>): GuardNotice | null;
  /** The depth of the calling agent, in the beginning of `callerFile`; null if it is not there. */
  depthIn?(text: string): number | null;
  /** What the hook prints to refuse the call, or to warn about it. */
  output(action: LimitAction, text: string): string;
}

/** A line for the ledger of the thread; a spawn names the file with the depth of its caller. */
export type GuardNotice = LedgerNotice | (Omit<SpawnAsked, "callerDepth"> & { readonly callerFile: string | null });

export interface StatusLine {
  /** Null if the input is not this product's. */
  read(json: JsonObject): StatusRequest | null;
  readonly isGeneric?: true;
}

/** The session for which a product requests a status line. */
export interface StatusRequest {
  readonly thread: string;
  /** The transcript of the thread, and the folder with those of its agents. */
  readonly transcript: string | null;
  readonly folder: string | null;
  /** If a line is requested for each agent: their ids. */
  readonly rows: readonly string[] | null;
  readonly columns: number | null;
  /** The total cost according to the product. */
  readonly costUsd: number | null;
}

/** In the order to try: those that recognise only their own input, then the others. */
export const specificFirst = <T extends { readonly isGeneric?: true }>(all: readonly T[]): readonly T[] => [
  ...all.filter(({ isGeneric }) => isGeneric !== true),
  ...all.filter(({ isGeneric }) => isGeneric === true),
];
