import { type AgentKey, agentKey, type CallKey, callKey, threadKey } from "../../../core/facts/ids.ts";
import type { Starter } from "../../../core/facts/observation.ts";

/** A variable that a product sets in the environment of its shell commands. */
interface ParentVariable {
  readonly name: string;
  readonly provider: string;
  /** Its value is the agent itself; otherwise the top-level thread of the agent. */
  readonly exact: boolean;
}

/** Claude Code since 2.1, the same in all agents of a session; Codex since 0.107. */
export const PARENT_VARIABLES: readonly ParentVariable[] = [
  { name: "CLAUDE_CODE_SESSION_ID", provider: "claude", exact: false },
  { name: "CODEX_THREAD_ID", provider: "codex", exact: true },
];

/** Since Codex 0.166. */
const CODEX_CALL = "CODEX_TOOL_CALL_ID";

/** Set by the optional hook of retinue, for products that do not name the agent themselves. */
export const HOOK_VARIABLES = {
  thread: "RETINUE_PARENT_THREAD",
  agent: "RETINUE_PARENT_AGENT",
  call: "RETINUE_PARENT_CALL",
} as const;

/** All variables that are read from the environment of a process. Others may be secrets. */
export const STARTER_VARIABLES: readonly string[] = [
  ...PARENT_VARIABLES.map(({ name }) => name),
  CODEX_CALL,
  ...Object.values(HOOK_VARIABLES),
];

/** Variables that show that an agent is above a process, without naming it. */
export const AGENT_MARKERS: readonly string[] = [
  "CLAUDECODE",
  "CODEX_CI",
  "OPENCODE",
  "KILO",
  "AGENT",
  "AI_AGENT",
  "GEMINI_CLI",
  "QWEN_CODE",
  "COPILOT_CLI",
  "PI_CODING_AGENT",
];

const ID = /^[\w.:-]{6,100}$/;

/** The agents that an environment names. */
export function startersIn(env: Readonly<Record<string, string | undefined>>): readonly Starter[] {
  const found = PARENT_VARIABLES.flatMap(({ name, provider, exact }): Starter[] => {
    const id = env[name];
    if (id === undefined || !ID.test(id)) return [];
    const call = provider === "codex" ? env[CODEX_CALL] : undefined;
    return [
      {
        agent: threadKey(provider, id.toLowerCase()),
        exact,
        call: call === undefined || !ID.test(call) ? null : callKey(provider, `${id.toLowerCase()}/${call}`),
        says: `has the environment variable ${name}, which names ${id}`,
      },
    ];
  });
  const hooked = hookStarter(env);
  // The hook names the agent of the same session more exactly.
  return hooked === null ? found : [...found.filter(({ agent }) => !isThreadOf(agent, hooked.agent)), hooked];
}

const isThreadOf = (thread: AgentKey, agent: AgentKey) => agent === thread || agent.startsWith(`${thread}/`);

/** The hook writes `<provider>:<thread>`, the agent's id or nothing, and the id of the call. */
function hookStarter(env: Readonly<Record<string, string | undefined>>): Starter | null {
  const [provider = "", thread = ""] = (env[HOOK_VARIABLES.thread] ?? "").split(":");
  const [agent = "", call = ""] = [env[HOOK_VARIABLES.agent], env[HOOK_VARIABLES.call]];
  if (!ID.test(thread) || !/^[a-z]+$/.test(provider)) return null;
  const scope: CallKey | null = ID.test(call) ? callKey(provider, call) : null;
  return {
    agent: ID.test(agent) ? agentKey(provider, thread, agent) : threadKey(provider, thread),
    exact: true,
    call: scope,
    says: `has the environment variable ${HOOK_VARIABLES.thread}, which retinue's hook set`,
  };
}
