import type { Problem, ProblemCode, Severity } from "../facts/problem.ts";

/** The result of `retinue doctor`: what was found, and what could not be read. */
export interface Examination {
  readonly home: string;
  readonly settings: { readonly path: string; readonly exists: boolean; readonly set: readonly string[] };
  readonly kept: { readonly path: string; readonly exists: boolean; readonly links: number };
  readonly index: { readonly path: string; readonly bytes: number; readonly files: number };
  readonly roots: readonly {
    readonly provider: string;
    readonly product: string;
    readonly path: string;
    /** Copied by `retinue import`. */
    readonly imported: boolean;
    /** Recordings of live sources. */
    readonly recorded: boolean;
    readonly exists: boolean;
    readonly files: number;
    readonly bytes: number;
  }[];
  /** Number of threads by the product version that wrote them last. */
  readonly versions: readonly {
    readonly provider: string;
    readonly version: string | null;
    readonly threads: number;
  }[];
  readonly threads: number;
  readonly agents: number;
  /** Internal transcripts, which are not agents. */
  readonly internal: number;
  /** How this operating system reports the processes of agents. */
  readonly system: {
    readonly platform: string;
    readonly processes: string;
    readonly writers: string;
    readonly locks: string;
  };
  readonly problems: readonly {
    readonly code: ProblemCode;
    readonly severity: Severity;
    readonly sentence: string;
    readonly count: number;
    readonly examples: readonly Problem[];
  }[];
}

/** Whether a root folder is worth a line: the folders for recordings of retinue itself are, once they have files. */
export const isListed = ({ recorded, files }: Examination["roots"][number]): boolean => !recorded || files > 0;
