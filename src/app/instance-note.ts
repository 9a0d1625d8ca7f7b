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
    const noted = JSON.parse(readFileSync(instanceNote(env), "utf8")) as Partial<Instance>;
    if (typeof noted.url !== "string" || typeof noted.instance !== "string" || typeof noted.pid !== "number") return null;
    return { ...(noted as Instance), traces: noted.traces ?? [] };
  } catch {
    // Not there, or not ours.
    return null;
  }
}
