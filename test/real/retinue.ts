/** Runs the retinue command on the home that a product left. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import type { TreeNode, Usage } from "../support/judge.ts";
import { sum } from "./usage.ts";

export interface AgentRecord extends TreeNode {
  uri: string;
  schema: string;
  sessionId: string;
  usage: { own: Usage; internal: Usage | null };
  children: AgentRecord[];
}

const MAIN = join(import.meta.dirname, "../../src/cli/main.ts");
const TIMEOUT_MS = 60_000;
const MAX_BYTES = 64 * 1024 * 1024;

type Env = Record<string, string>;

export async function tree(thread: string, home: string, env: Env = {}): Promise<AgentRecord> {
  const record = (await retinue(home, env, "tree", thread)) as AgentRecord;
  if (record.schema !== "retinue/agent@1")
    throw new Error(`not an agent record: ${JSON.stringify(record).slice(0, 200)}`);
  return record;
}

/** The ids of all threads there are. */
export async function threads(home: string, env: Env = {}): Promise<string[]> {
  return ((await retinue(home, env, "ls")) as AgentRecord[]).map(({ sessionId }) => sessionId);
}

/**
 * How retinue's sums compare with the product's totals, thread by thread. Fails if they differ for an unknown reason.
 */
export async function verdicts(home: string): Promise<Map<string, string>> {
  const found = (await retinue(home, {}, "verify")) as { uri: string; verdict: string }[];
  return new Map(found.map(({ uri, verdict }) => [uri.slice(uri.indexOf("://") + 3), verdict]));
}

async function retinue(home: string, more: Env, ...args: string[]): Promise<unknown> {
  const env = {
    PATH: process.env.PATH ?? "",
    HOME: home,
    TMPDIR: join(home, "../tmp"),
    RETINUE_HOME: join(home, "retinue-data"),
    ...more,
  };
  const { stdout } = await promisify(execFile)(process.execPath, [MAIN, ...args, "--json"], {
    env,
    timeout: TIMEOUT_MS,
    maxBuffer: MAX_BYTES,
  });
  return JSON.parse(stdout);
}

export function everyone(record: AgentRecord): AgentRecord[] {
  return [record, ...record.children.flatMap(everyone)];
}

/** The usage in the tree, of its agents and of internal work. */
export function counted(trees: AgentRecord[]): Usage {
  return sum(
    trees.flatMap(everyone).flatMap(({ usage }) => (usage.internal ? [usage.own, usage.internal] : [usage.own])),
  );
}
