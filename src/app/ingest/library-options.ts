import type { Liveness } from "../../core/link/liveness.ts";
import type { Status } from "../../core/link/status.ts";
import type { Provider } from "../../core/ports/provider.ts";
import type { RootFilter, Store } from "../../core/ports/store.ts";
import type { AgentRecord } from "../../core/views/agent.ts";
import type { Price } from "../../core/views/record.ts";
import type { Env } from "../home.ts";
import type { OtherRoots } from "./discover.ts";
import type { Index } from "./index-file.ts";

export interface LibraryOptions {
  readonly env: Env;
  /** A plain store is not replaced if it fails. */
  readonly store: Store | Index;
  readonly price: Price;
  readonly providers?: readonly Provider[];
  readonly now?: () => number;
  readonly liveness?: Liveness;
  readonly roots?: OtherRoots;
  readonly staleAfterMs?: number;
  /**
   * Everything besides records that results depend on, such as custom prices. If it changes, all threads are linked
   * again; no file is read again.
   */
  readonly basis?: string;
  readonly onProgress?: OnProgress;
  /** Up to this many unread bytes are read at once, whatever page is requested. */
  readonly littleBytes?: number;
}

/** Reports progress: files done and total; bytes, if known. */
export type OnProgress = (done: number, all: number, bytes?: { readonly done: number; readonly all: number }) => void;

export interface ThreadFilter {
  readonly provider?: string;
  /** This folder and its subfolders. */
  readonly cwd?: string;
  /** Minimum time of the last activity, in epoch milliseconds. */
  readonly since?: number;
  readonly running?: boolean;
  readonly status?: Status;
  readonly project?: string;
  readonly limit?: number;
  readonly after?: ThreadPlace;
}

export type ThreadPlace = NonNullable<RootFilter["after"]>;

/** A thread and its position in the list, for paging. */
export interface ThreadRow {
  readonly record: AgentRecord;
  readonly place: ThreadPlace;
}
