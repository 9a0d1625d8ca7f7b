/** Scenarios for the real Claude Code. Each lists the versions it can run on, and why it cannot run on others. */
import type { Sandbox } from "./claude.ts";
import type { Asked, Block, Scripts, Step } from "./script.ts";
import type { Endings } from "./truth.ts";

/** Agents in `<session>/subagents/`, parents named in the files and in the requests. */
export const NEWEST = "2.1.326";
/** Nested agents whose files do not name their parent. */
export const MIDDLE = "2.1.197";
/**
 * Agents next to the main transcript, no ids in the requests, no nesting, warm-ups; background agents are stopped when
 * the CLI ends.
 */
export const OLD = "2.0.76";

export interface Scenario {
  name: string;
  versions: readonly string[];
  scripts: Scripts;
  endings?: Endings;
  env?: Record<string, string>;
  /** One run of the script `main`, unless given. */
  act?(sandbox: Sandbox, lastSession: () => string): Promise<void>;
}

const ALL = [NEWEST, MIDDLE, OLD];
const NESTING = [NEWEST, MIDDLE];

/** The tool was named Task before 2.1.63. */
export function agent(
  asked: Asked,
  script: string,
  how: { background?: boolean; type?: string; resume?: string } = {},
): Block {
  const tool = asked.request.tools?.find(({ name }) => name === "Agent" || name === "Task")?.name ?? "Agent";
  const { background = false, type = "general-purpose", ...resume } = how;
  return {
    tool,
    input: {
      description: `Run ${script}`,
      prompt: `Do it. @@${script}`,
      subagent_type: type,
      run_in_background: background,
      ...resume,
    },
  };
}

const bash = (command: string): Block => ({ tool: "Bash", input: { command, description: "Runs it" } });
/** Two agents with the same script need reports that can be distinguished. */
const ownReport: Step = ({ n }) => ({ text: `Report number ${n}.` });
const done = (script: string): Step[] => [bash(`echo ${script}`), { text: `${script} is done.` }];
const waiting: Step[] = [{ text: "Waiting." }, { text: "Noted." }, { text: "Noted again." }, { text: "And again." }];
const lostCall = { error: { status: 500, type: "api_error", message: "scripted failure" } };

const searchTool = (tool: string): Block => ({
  tool: "ToolSearch",
  input: { query: `select:${tool}`, max_results: 5 },
});

function reportedAgentId(asked: Asked): string {
  const id = /agentId: ([A-Za-z0-9_-]+)/.exec(JSON.stringify(asked.request.messages))?.[1];
  if (id === undefined) throw new Error("no agent has reported its id");
  return id;
}

const WORKFLOW = `export const meta = { name: 'tiny', description: 'Three agents', phases: [{ title: 'One', detail: 'first' }, { title: 'Two', detail: 'second' }] }
phase('One')
const first = await agent('Part one. @@W1', { label: 'w1' })
phase('Two')
const rest = await parallel([() => agent('Part two. @@W2', { label: 'w2' }), () => agent('Part two. @@W2', { label: 'w3' })])
return { first, rest }
`;

export const scenarios: Scenario[] = [
  {
    name: "one agent, in responses of several blocks",
    versions: ALL,
    scripts: {
      main: [(asked) => [{ text: "I delegate." }, agent(asked, "A")], { text: "All done." }],
      A: [
        [{ thinking: "What is there?" }, { text: "Looking." }, bash("ls"), bash("pwd"), bash("date")],
        { text: "A is done." },
      ],
    },
  },
  {
    name: "three agents at once, two with the same prompt",
    versions: ALL,
    scripts: {
      main: [
        (asked) => [agent(asked, "SAME"), agent(asked, "SAME"), agent(asked, "OTHER")],
        { text: "All three are done." },
      ],
      SAME: [bash("echo same"), ownReport],
      OTHER: done("OTHER"),
    },
  },
  {
    name: "nested agents with equal prompts at once",
    versions: NESTING,
    scripts: {
      main: [(asked) => [agent(asked, "A"), agent(asked, "B")], { text: "Both are done." }],
      A: [(asked) => [agent(asked, "LEAF"), agent(asked, "LEAF"), agent(asked, "DEEPER")], { text: "A is done." }],
      B: [bash("echo B"), (asked) => [agent(asked, "LEAF"), agent(asked, "LEAF")], { text: "B is done." }],
      LEAF: [bash("echo leaf"), ownReport],
      DEEPER: [(asked) => agent(asked, "DEEPEST"), { text: "DEEPER is done." }],
      DEEPEST: done("DEEPEST"),
    },
  },
  {
    name: "background agents, one of them outliving its parent",
    versions: NESTING,
    scripts: {
      main: [(asked) => [agent(asked, "A", { background: true }), agent(asked, "B", { background: true })], ...waiting],
      A: done("A"),
      B: [(asked) => agent(asked, "LATE", { background: true }), { text: "B is done." }],
      LATE: [bash("echo late"), { blocks: [{ text: "LATE is done." }], afterMs: 1500 }],
    },
  },
  {
    name: "a background agent that is cut off when the CLI ends",
    versions: [OLD],
    scripts: {
      main: [
        (asked) => agent(asked, "A"),
        (asked) => agent(asked, "LOST", { background: true }),
        { text: "Not waiting." },
      ],
      A: done("A"),
      LOST: [bash("echo lost"), { hang: true }],
    },
    // This version leaves no trace of its process: the end of the agent is unknown until the records are stale.
    endings: { LOST: { status: "shutdown", why: "the CLI ended while it waited for the model", untilSeen: "running" } },
  },
  {
    name: "agents that fail, and one that was refused",
    versions: ALL,
    env: { CLAUDE_CODE_MAX_RETRIES: "1" },
    scripts: {
      main: [
        (asked) => agent(asked, "AT_ONCE"),
        (asked) => agent(asked, "LATER"),
        (asked) => agent(asked, "NOBODY", { type: "no-such-type" }),
        (asked) => agent(asked, "TOOLS"),
        { text: "Saw it all." },
      ],
      AT_ONCE: [lostCall],
      LATER: [bash("echo first"), lostCall],
      TOOLS: [bash("exit 3"), { tool: "Read", input: { file_path: "/no/such/file" } }, { text: "Both tools failed." }],
    },
    endings: {
      AT_ONCE: { status: "errored", why: "API error 500" },
      LATER: { status: "errored", why: "API error 500 on its second turn" },
    },
  },
  {
    name: "a thread that is resumed, forked, and resumed again",
    versions: ALL,
    scripts: {
      main: [(asked) => agent(asked, "A"), { text: "First turn." }],
      main2: [(asked) => agent(asked, "B"), { text: "Second turn." }],
      main3: [(asked) => agent(asked, "C"), { text: "Forked turn." }],
      main4: [(asked) => agent(asked, "D"), { text: "Back in the first thread." }],
      A: done("A"),
      B: done("B"),
      C: done("C"),
      D: done("D"),
    },
    async act(sandbox, lastSession) {
      await sandbox.run("First. @@main");
      const first = lastSession();
      await sandbox.run("Second. @@main2", ["--resume", first]);
      await sandbox.run("Third. @@main3", ["--resume", first, "--fork-session"]);
      await sandbox.run("Fourth. @@main4", ["--resume", first]);
    },
  },
  {
    name: "a finished agent that is sent a message, at once and after a resume",
    versions: [NEWEST],
    scripts: {
      main: [(asked) => agent(asked, "A"), searchTool("SendMessage"), sendMessage("A2"), ...waiting],
      main2: [sendMessage("A3"), ...waiting],
      A: done("A"),
      A2: done("A2"),
      A3: done("A3"),
    },
    async act(sandbox, lastSession) {
      await sandbox.run("First. @@main");
      await sandbox.run("Again. @@main2", ["--resume", lastSession()]);
    },
  },
  {
    name: "a finished agent that is resumed by its parent",
    versions: [OLD],
    scripts: {
      main: [
        (asked) => agent(asked, "A"),
        (asked) => agent(asked, "A2", { resume: reportedAgentId(asked) }),
        { text: "Both jobs are done." },
      ],
      A: done("A"),
      A2: done("A2"),
    },
  },
  {
    name: "a workflow of three agents, two with the same prompt",
    versions: [NEWEST],
    scripts: { main: [{ tool: "Workflow", input: { script: WORKFLOW } }, ...waiting], W1: done("W1"), W2: [ownReport] },
  },
];

function sendMessage(script: string): Step {
  return (asked) => ({
    tool: "SendMessage",
    input: { to: reportedAgentId(asked), summary: "one more job for you", message: `One more. @@${script}` },
  });
}
