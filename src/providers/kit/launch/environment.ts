import { type AgentKey, agentKey, callKey, threadKey } from "../../../core/facts/ids.ts";
import type { Starter } from "../../../core/facts/observation.ts";
import type { Manifest } from "../../../core/ports/manifest.ts";
import * as products from "../../index.ts";

type Environment = Readonly<Record<string, string | undefined>>;

const MANIFESTS: readonly Manifest[] = Object.values(products);

/** Set by the optional hook of retinue, for products that do not name the agent themselves. */
export const HOOK_VARIABLES = {
  thread: "RETINUE_PARENT_THREAD",
  agent: "RETINUE_PARENT_AGENT",
  call: "RETINUE_PARENT_CALL",
} as const;

/** All variables that are read from the environment of a process. Others may be secrets. */
export const STARTER_VARIABLES: readonly string[] = [
  ...MANIFESTS.flatMap(({ shellVariables: of }) =>
    [of?.thread, of?.agent, of?.call].filter((name) => name !== undefined),
  ),
  ...Object.values(HOOK_VARIABLES),
];

/** Variables that show that some agent started a process, without naming it. Several products set the first two. */
export const AGENT_MARKERS: readonly string[] = [
  "AGENT",
  "AI_AGENT",
  ...MANIFESTS.flatMap(({ shellVariables }) => shellVariables?.marks?.split(" ") ?? []),
];

const ID = /^[\w.:-]{6,100}$/;
const UUID = /^[\dA-Fa-f]{8}-[\dA-Fa-f-]{27}$/;

/** The agents that an environment names. */
export function startersIn(env: Environment): readonly Starter[] {
  const found = MANIFESTS.flatMap((manifest) => starterOf(manifest, env) ?? []);
  const hooked = hookStarter(env);
  // The hook names the agent of the same session more exactly.
  return hooked === null ? found : [...found.filter(({ agent }) => !isThreadOf(agent, hooked.agent)), hooked];
}

function starterOf({ name: provider, shellVariables: of }: Manifest, env: Environment): Starter | null {
  const thread = of?.thread === undefined ? undefined : env[of.thread]?.replace(UUID, (id) => id.toLowerCase());
  if (of?.thread === undefined || thread === undefined || !ID.test(thread)) return null;
  const [agent, call] = [of.agent, of.call].map((name) => (name === undefined ? undefined : env[name]));
  return {
    agent: agent !== undefined && ID.test(agent) ? agentKey(provider, thread, agent) : threadKey(provider, thread),
    exact: of.isAgent === true || agent !== undefined,
    call: call === undefined || !ID.test(call) ? null : callKey(provider, `${thread}/${call}`),
    says: `has the environment variable ${of.thread}, which names ${thread}`,
  };
}

const isThreadOf = (thread: AgentKey, agent: AgentKey) => agent === thread || agent.startsWith(`${thread}/`);

/** The hook writes `<provider>:<thread>`, the agent's id or nothing, and the id of the call. */
function hookStarter(env: Environment): Starter | null {
  const [provider = "", thread = ""] = (env[HOOK_VARIABLES.thread] ?? "").split(":");
  const [agent = "", call = ""] = [env[HOOK_VARIABLES.agent], env[HOOK_VARIABLES.call]];
  if (!ID.test(thread) || !/^[a-z]+$/.test(provider)) return null;
  return {
    agent: ID.test(agent) ? agentKey(provider, thread, agent) : threadKey(provider, thread),
    exact: true,
    call: ID.test(call) ? callKey(provider, call) : null,
    says: `has the environment variable ${HOOK_VARIABLES.thread}, which retinue's hook set`,
  };
}
