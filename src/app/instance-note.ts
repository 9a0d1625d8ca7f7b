import { readFileSync } from "node:fs";
import { join } from "node:path";
import { exists } from "../transports/system/system.ts";
import { type Env, retinueHome } from "./home.ts";

/** The server of this machine, as others find it. */
export interface Instance {
  readonly instance: string;
  readonly pid: number;
  readonly host: string;
  readonly port: number;
  readonly url: string;
  readonly token: string | null;
  /** Which of the services it sends to that the environment can switch on. */
  readonly traces: readonly string[];
}

/** Whether its process, or another one with its number by now, runs. */
export const mayRun = ({ pid }: Instance) => exists(pid);

export const instanceNote = (env: Env) => join(retinueHome(env), "server.json");

/** What the server that runs, or the last one that did, noted down of itself. */
export function notedInstance(env: Env): Instance | null {
  try {
    const { instance, pid, host, port, url, token = null, traces = [] } = JSON.parse(readFileSync(instanceNote(env), "utf8")) as Partial<Instance>;
    if (typeof instance !== "string" || typeof host !== "string" || !Number.isInteger(pid) || !Number.isInteger(port) || !URL.canParse(url ?? "")) return null;
    if ((token !== null && typeof token !== "string") || !Array.isArray(traces)) return null;
    return { instance, pid, host, port, url, token, traces } as Instance;
  } catch {
    // Not there, or not ours.
    return null;
  }
}
