import { join } from "node:path";
import { MAX_NOTE } from "../core/tools/limits.ts";
import { readText } from "../transports/regular.ts";
import { exists } from "../transports/system/system.ts";
import { type Env, retinueHome } from "./home.ts";

/** The note of a running server, by which other commands find it. */
export interface Instance {
  readonly instance: string;
  readonly pid: number;
  readonly host: string;
  readonly port: number;
  readonly url: string;
  readonly token: string | null;
  /** The destinations that it sends traces to. */
  readonly traces: readonly string[];
}

/** Whether a process with this id exists. It may be another one by now. */
export const mayRun = ({ pid }: Instance) => exists(pid);

export const instanceNote = (env: Env) => join(retinueHome(env), "server.json");

/** The note of the running server, or of the last one. */
export function notedInstance(env: Env): Instance | null {
  try {
    const {
      instance,
      pid,
      host,
      port,
      url,
      token = null,
      traces = [],
    } = JSON.parse(readText(instanceNote(env), MAX_NOTE)) as Partial<Instance>;
    if (
      typeof instance !== "string" ||
      typeof host !== "string" ||
      !Number.isInteger(pid) ||
      !Number.isInteger(port) ||
      !URL.canParse(url ?? "")
    )
      return null;
    if ((token !== null && typeof token !== "string") || !Array.isArray(traces)) return null;
    return { instance, pid, host, port, url, token, traces } as Instance;
  } catch {
    // Missing or invalid.
    return null;
  }
}
