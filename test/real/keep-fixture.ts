/**
 * Keeps the home of a scenario as a fixture, if `RETINUE_KEEP_LINEAGE` names a folder. With `RETINUE_REAL_FOLDER=/home/dev`
 * the recorded paths need no changes.
 */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, relative } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Usage } from "../support/judge.ts";
import type { LineageHome } from "./lineage.ts";
import { type AgentRecord, everyone } from "./retinue.ts";
import { NO_USAGE, sum } from "./usage.ts";

/** What the products recorded; settings, caches and logs are left out. */
const RECORDS = [
  /^\.claude\/projects\//,
  /^\.codex\/sessions\//,
  /^\.local\/share\/(?:opencode|kilo)\/\w+\.db$/,
  /^\.(?:qwen\/projects|kimi-code\/sessions|factory\/sessions|factory\/state|copilot\/session-state)\//,
  /^\.grok\/sessions\/[^/]+\/[^/]+\/(?:updates\.jsonl|summary\.json|usage\.json)$/,
  /^\.grok\/logs\/unified\.jsonl$/,
  /^\.(?:pi|omp)\/agent\/sessions\//,
  /^\.gemini\/tmp\/[^/]+\/(?:chats\/|\.project_root$)/,
  /^\.cline\/data\/(?:sessions\/|db\/sessions\.db$)/,
];
const LONG = 1_500;
const PAGE_BYTES = 1_024;

/** The script of an agent, by the marker in its prompt. */
const scriptOf = ({ prompt }: { prompt?: string | null }) => /@@([A-Za-z0-9_-]+)/.exec(prompt ?? "")?.[1] ?? "";

export interface Kept {
  readonly name: string;
  readonly home: Pick<LineageHome, "home" | "served" | "calls" | "asked" | "wrote">;
  readonly roots: readonly AgentRecord[];
  /** The parent of every thread and agent, by script. */
  readonly tree: Readonly<Record<string, string | null>>;
  /** The parents of several threads with the same script: each was told the id of its own, or its command wrote it. */
  readonly shared: Readonly<Record<string, readonly (string | null)[]>>;
  readonly undecided: readonly string[];
  /** Scripts of prompts that continue the thread of another script. */
  readonly continues?: Readonly<Record<string, string>>;
}

export async function keepFixture(
  fixture: string,
  { name, home, roots, tree, shared, undecided, continues = {} }: Kept,
): Promise<void> {
  const target = process.env.RETINUE_KEEP_LINEAGE;
  if (target === undefined) return;
  for (const path of filesIn(home.home)) {
    const place = relative(home.home, path);
    if (!RECORDS.some((form) => form.test(place)) || statSync(path).size === 0) continue;
    const to = join(target, fixture, "home", place);
    await mkdir(dirname(to), { recursive: true });
    if (path.endsWith(".db")) copyDatabase(path, to);
    else await writeFile(to, shortened(withoutMachine(readFileSync(path, "utf8"))));
  }
  const agents = roots.flatMap(everyone);
  const uris = Map.groupBy(agents, scriptOf);
  const [served, calls] = [home.served(), home.calls()];
  const isMain = (one: AgentRecord) => scriptOf(one) === "main" || scriptOf(one) === "root";
  const threads = agents.filter(({ agentId }) => agentId == null).sort((a, b) => Number(isMain(b)) - Number(isMain(a)));
  const parentOf = (thread: AgentRecord) => {
    const script = scriptOf(thread);
    const own = (one: string | null) =>
      one !== null && (home.asked(one, thread.sessionId) || home.wrote(one, thread.sessionId));
    return shared[script] === undefined ? tree[script] : shared[script].find(own);
  };
  const isExternal = (thread: AgentRecord) => parentOf(thread) != null || undecided.includes(scriptOf(thread));
  const external = threads.filter(isExternal).map((thread) => {
    const script = scriptOf(thread);
    const parent = parentOf(thread);
    const call = calls.find((one) => one.script === parent && one.input.includes(`@@${script}`));
    return {
      child: thread.uri,
      parent: parent == null ? null : (uris.get(parent)?.[0]?.uri ?? null),
      ...(call === undefined ? {} : { toolCallId: call.id }),
      fromFiles: undecided.includes(script) ? "ambiguous: several threads or calls fit" : "decided",
    };
  });
  // Agents of a thread are below it by the product's own records.
  const scriptsOf = (uri: string) =>
    agents.filter((one) => one.uri === uri || one.uri.startsWith(`${uri}/`)).map(scriptOf);
  const usageOf = (uris: readonly string[]): Usage => {
    const scripts = new Set(uris.flatMap(scriptsOf));
    for (const [script, before] of Object.entries(continues)) if (scripts.has(before)) scripts.add(script);
    return sum([...scripts].map((script) => served.get(script) ?? NO_USAGE));
  };
  // A prompt that continues a thread has a script of its own, and no agent.
  const isContinued = [...served.keys()].some((script) => !uris.has(script));
  // The usage of a script cannot be divided among its threads.
  const isDivided = Object.values(shared).some((parents) => parents.includes(null));
  const sums = threads
    .filter((thread) => !isDivided && !isExternal(thread) && (isMain(thread) || !isContinued))
    .map(({ uri }, i) => {
      const own = usageOf([uri]);
      // The first one starts the others.
      return { root: uri, own, withExternal: i > 0 ? own : usageOf([uri, ...external.map(({ child }) => child)]) };
    });
  const truth = {
    scenario: name,
    threads: threads.map(({ uri }) => ({ uri, agents: [] })),
    external,
    notLinked: threads.filter((thread) => !isExternal(thread)).map(({ uri }) => ({ child: uri, parent: null })),
    sums,
  };
  await writeFile(join(target, fixture, "truth.json"), `${JSON.stringify(truth, null, 1)}\n`);
}

function* filesIn(folder: string): Generator<string> {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* filesIn(path);
    else if (entry.isFile()) yield path;
  }
}

/** With all of its log, and with small pages, to keep it small. */
function copyDatabase(from: string, to: string): void {
  const database = new DatabaseSync(from);
  database.exec(`PRAGMA journal_mode = DELETE; PRAGMA page_size = ${PAGE_BYTES}; VACUUM INTO '${to}'`);
  database.close();
}

/** Products name the folders from which they were started. */
const withoutMachine = (text: string) => text.replaceAll(process.cwd(), "/opt/retinue").replaceAll(homedir(), "/opt");

/** Instructions and lists of tools of the product are cut. */
const shortened = (text: string) =>
  text
    .split("\n")
    .map((line) => {
      try {
        return line.length < LONG ? line : JSON.stringify(cut(JSON.parse(line)));
      } catch {
        // Not a line of JSON.
        return line;
      }
    })
    .join("\n");

function cut(value: unknown): unknown {
  if (typeof value === "string") return value.length > LONG ? `${value.slice(0, 200)}…` : value;
  if (Array.isArray(value)) return value.map(cut);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, cut(one)]));
}
