/** Scenarios for the real Codex. Each states on which of its two sub-agent systems it can run. */
import type { Sandbox, Setup } from "./codex.ts";
import { type Asked, type Block, findTool, resultsOf, type Scripts, type Step } from "./script.ts";
import type { Endings } from "./truth.ts";

const FIRST = "multi_agent = true\ncollab = true";
const SECOND = "multi_agent_v2 = true";

/** The newest with both systems, one with legacy rollouts, and one without paths, which records only turns. */
export const SETUPS: readonly Setup[] = [
  { name: "0.169.0, v2", version: "0.169.0", model: "gpt-6.1-sol", features: "", hasPaths: true },
  { name: "0.169.0, v1", version: "0.169.0", model: "gpt-5.5", features: "", hasPaths: false },
  { name: "0.166.0, v2", version: "0.166.0", model: "gpt-6.1-sol", features: "", hasPaths: true },
  { name: "0.166.0, v1", version: "0.166.0", model: "gpt-5.5", features: "", hasPaths: false },
  { name: "0.145.0, v2", version: "0.145.0", model: "gpt-5.1-codex", features: SECOND, hasPaths: true },
  { name: "0.145.0, v1", version: "0.145.0", model: "gpt-5.1-codex", features: FIRST, hasPaths: false },
  { name: "0.107.0, v1", version: "0.107.0", model: "gpt-5.1-codex", features: FIRST, hasPaths: false },
];
export const NEWEST = "0.169.0";

export interface Scenario {
  name: string;
  /** Omitted if it runs everywhere. */
  only?: (setup: Setup) => boolean;
  scripts: Scripts;
  endings?: Endings;
  /** One run of the script `main`, unless given. */
  act?(sandbox: Sandbox, lastThread: () => string): Promise<void>;
}

const HEADLESS = ["--json", "--skip-git-repo-check"];
export const exec = (prompt: string) => ["exec", ...HEADLESS, prompt];
export const resume = (thread: string, prompt: string) => ["exec", ...HEADLESS, "resume", thread, prompt];
const fork = (thread: string, prompt: string) => ["exec", "fork", ...HEADLESS, thread, prompt];

/** Spawns an agent; `fork` gives it the history so far. */
export function agent({ request }: Asked, script: string, fork = false): Block {
  const task = `Do it. @@${script}`;
  const isSecond = findTool(request, "list_agents") !== null;
  const input = isSecond
    ? { task_name: script, message: task, fork_turns: fork ? "all" : "none" }
    : { message: task, ...(fork ? { fork_context: true } : {}) };
  return { tool: "spawn_agent", input };
}

/** Waits for the agent that was spawned last. */
export function wait({ request }: Asked): Block {
  const tool = findTool(request, "wait_agent") === null ? "wait" : "wait_agent";
  const ids = resultsOf(request, "spawn_agent").flatMap(({ agent_id }) =>
    typeof agent_id === "string" ? [agent_id] : [],
  );
  const whom = ids.length === 0 ? {} : tool === "wait" ? { ids: ids.slice(-1) } : { targets: ids.slice(-1) };
  return { tool, input: { ...whom, timeout_ms: 20_000 } };
}

function shell({ request }: Asked, command: string): Block {
  if (findTool(request, "exec_command") !== null) return { tool: "exec_command", input: { cmd: command } };
  return { code: `const r = await tools.exec_command({cmd: ${JSON.stringify(command)}}); text(r.output);` };
}

const one = (script: string, fork = false): Step[] => [(asked) => agent(asked, script, fork), wait];
const done = (script: string): Step[] => [(asked) => shell(asked, `echo ${script}`), { text: `${script} is done.` }];

export const scenarios: readonly Scenario[] = [
  { name: "one agent", scripts: { main: [...one("a"), { text: "All done." }], a: done("a") } },
  {
    name: "agents one after the other, the first with the history of its parent",
    scripts: {
      main: [(asked) => shell(asked, "echo main"), ...one("a", true), ...one("b"), { text: "Both done." }],
      a: done("a"),
      b: done("b"),
    },
  },
  {
    name: "three agents at once",
    scripts: {
      main: [
        (asked) => ["a", "b", "c"].map((script) => agent(asked, script)),
        wait,
        wait,
        wait,
        { blocks: [{ text: "All three done." }], afterMs: 2_500 },
      ],
      a: done("a"),
      b: [(asked) => shell(asked, "echo b"), { blocks: [{ text: "b is done." }], afterMs: 300 }],
      c: [(asked) => shell(asked, "echo c"), { blocks: [{ text: "c is done." }], afterMs: 600 }],
    },
  },
  {
    name: "nested agents, forked and not",
    only: ({ hasPaths }) => hasPaths,
    scripts: {
      main: [...one("a", true), { text: "All done." }],
      a: [...one("b"), { text: "a is done." }],
      b: [...one("c", true), { text: "b is done." }],
      c: done("c"),
    },
  },
  {
    name: "an agent that fails at once, and one that fails later",
    // 0.107.0 ends completely when one of its agents fails.
    only: ({ version }) => version !== "0.107.0",
    scripts: {
      main: [...one("a"), ...one("b"), { text: "Saw it." }],
      a: [{ error: 400 }],
      b: [(asked) => shell(asked, "exit 3"), { error: 400 }],
    },
    endings: { a: "errored", b: "errored" },
  },
  {
    name: "a thread that is resumed, and goes on with other agents",
    scripts: {
      main: [...one("a"), { text: "First turn." }],
      main2: [...one("b"), { text: "Second turn." }],
      a: done("a"),
      b: done("b"),
    },
    async act(sandbox, lastThread) {
      await sandbox.run(exec("First. @@main"));
      await sandbox.run(resume(lastThread(), "Second. @@main2"));
    },
  },
  {
    name: "a thread that was killed and is resumed",
    only: ({ version }) => version === NEWEST,
    scripts: {
      main: [...one("a"), { text: "never" }],
      main2: [...one("b"), { text: "Second turn." }],
      a: [(asked) => shell(asked, "echo a"), { hang: true }],
      b: done("b"),
    },
    endings: { a: "shutdown" },
  },
  {
    name: "a thread that a person forks",
    only: ({ version }) => version === NEWEST,
    scripts: {
      main: [...one("a"), { text: "First turn." }],
      forked: [...one("b"), { text: "Forked turn." }],
      a: done("a"),
      b: done("b"),
    },
    async act(sandbox, lastThread) {
      await sandbox.run(exec("First. @@main"));
      await sandbox.run(fork(lastThread(), "Second. @@forked"));
    },
  },
];
