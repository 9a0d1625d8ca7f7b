import type { LifecycleState, ReportedUsage, SpawnCalled, Unseen } from "../../core/facts/observation.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import { asAmount, asList, asNonBlank, asObject, asText, type JsonObject } from "../../core/tools/json.ts";
import * as key from "./keys.ts";
import { type Notification, notificationsIn } from "./notification.ts";
import { type Block, plainText, type Row } from "./rows.ts";

/** `Task` up to 2.1.62, `Agent` since. */
export const AGENT_TOOLS: ReadonlySet<string> = new Set(["Agent", "Task"]);
/** These do not always spawn agents, and the call does not contain the prompts. */
const WORKFLOW = "Workflow";
const MAYBE_TOOLS = new Set(["Skill", WORKFLOW]);

type ToolUse = Extract<Block, { is: "tool-use" }>;
type ToolResult = Extract<Block, { is: "tool-result" }>;

export function spawnCalled(use: ToolUse, row: Row, session: string): SpawnCalled | null {
  const makes = AGENT_TOOLS.has(use.name) ? "one" : MAYBE_TOOLS.has(use.name) ? "maybe" : null;
  if (makes === null) return null;
  const input = asObject(use.input) ?? {};
  const [prompt, name] = [asText(input.prompt), asNonBlank(input.name)];
  const team = asNonBlank(input.team_name) ?? asNonBlank(row.json.teamName);
  const mate = name !== null && team !== null ? [key.memberMatch(name, team)] : [];
  return {
    type: "spawn-called",
    call: key.call(session, use.id),
    tool: use.name,
    makes,
    prompt,
    agentType: makes === "one" ? (asNonBlank(input.subagent_type) ?? "general-purpose") : null,
    description: asNonBlank(input.description) ?? asNonBlank(input.skill),
    name,
    ...(name !== null && team !== null ? { unseen: mateOf(`${name}@${team}`) } : {}),
    offers:
      makes === "one"
        ? [...(prompt === null ? [] : [key.promptMatch(session, prompt)]), key.orderMatch(session), ...mate]
        : use.name === WORKFLOW && row.isSidechain === true
          ? [key.nestedRunMatch(session)]
          : [],
  };
}

/** The call returns at once and its agent keeps running: in the background, or as a team member. */
const LAUNCHED = /^(Async agent launched|Spawned successfully)/;

/** Team members are known by name and team, even if their sessions are not on this machine. */
const mateOf = (id: string): Unseen => ({ id, kind: "teammate" });

/** Reads what a tool result states about an agent: which one the call spawned, and how it began or ended. */
export function readToolResult(
  out: FindingsOf,
  result: ToolResult,
  row: Row,
  session: string,
  makes: SpawnCalled["makes"] | null,
): void {
  const call = key.call(session, result.id);
  const details = asObject(row.json.toolUseResult);
  const reported = reportedIn(details);
  const child = asNonBlank(details?.agentId);
  const status = asText(details?.status);
  const spawned = (id: string, rule: string, says: string) =>
    out.add({ type: "call-spawned", call, child: key.agent(session, id), rule, source: "parent_rollout", says });
  const lifecycle = (state: LifecycleState, says: string, text: string | null = null) =>
    out.add({
      type: "lifecycle",
      of: { call },
      state,
      source: "parent_rollout",
      says,
      result: text,
      ...(reported === null ? {} : { reported }),
    });

  const revived = asNonBlank(details?.resumedAgentId) ?? asNonBlank(details?.revivedAgentId);
  if (revived !== null) {
    out.add({
      type: "lifecycle",
      of: key.agent(session, revived),
      state: "revived",
      source: "parent_rollout",
      says: "a message from its parent revived it",
      result: null,
    });
    return;
  }
  // Agent files of -p runs have no toolUseResult; the text names the run, too.
  const runId =
    asNonBlank(details?.runId) ??
    (makes === "maybe" ? /(?:^|\n)Run ID: (wf_[\w-]+)/.exec(result.text)?.[1] : null) ??
    null;
  if (runId !== null) {
    out.add({ type: "call-aliased", alias: key.run(runId), call });
    return;
  }
  if (details !== null && child !== null) {
    spawned(child, "toolUseResult.agentId", `the result of its call names agent ${child}`);
    describeChild(out, details, child, session);
    if (status === "completed" || status === "forked")
      lifecycle("completed", `the result of its call has status ${status}`, finalReport(details, result));
    else lifecycle("launched", `the result of its call has status ${status ?? "launched"}`);
    return;
  }
  if (details !== null && status === "teammate_spawned") {
    const [name, team] = [asNonBlank(details.name), asNonBlank(details.team_name)];
    const id =
      asNonBlank(details.teammate_id) ??
      asNonBlank(details.agent_id) ??
      (name !== null && team !== null ? `${name}@${team}` : null);
    const [, ofName, ofTeam] = /^(.+)@([^@]+)$/.exec(id ?? "") ?? [];
    const match = key.memberMatch(name ?? ofName ?? "", team ?? ofTeam ?? "");
    if (id !== null) out.add({ type: "call-offers", call, match, unseen: mateOf(id) });
    lifecycle("launched", "the result of its call has status teammate_spawned");
    return;
  }
  if (result.isError && isRefused(result, row)) {
    out.add({ type: "call-refused", call, says: result.text.replace(BY_HOOK, "") });
    return;
  }
  if (result.isError) {
    const shutdown =
      row.json.toolDenialKind !== undefined ||
      /^(The user doesn't want|\[Request interrupted|\[Tool call interrupted)/.test(result.text);
    lifecycle(shutdown ? "shutdown" : "errored", `its call failed: ${firstLine(result.text)}`);
    return;
  }
  if (makes === null) return;
  // Agent files of -p runs have no toolUseResult; the text names the agent.
  const named = /(?:^|\n)agentId: ([A-Za-z0-9_-]+)/.exec(result.text)?.[1];
  if (named !== undefined) spawned(named, "tool_result text", `the text of its call's result names agent ${named}`);
  if (LAUNCHED.test(result.text)) lifecycle("launched", "the result of its call reports the launch");
  // An unknown status may be another way to launch an agent.
  else if (status === "completed" || (status === null && (named !== undefined || makes === "one")))
    lifecycle("completed", "its call has returned", finalReport(details, result));
}

/** The text before the reason of a hook that refused a call (2.1.325). */
const BY_HOOK = /^PreToolUse:\w+ hook error: /;

/** A hook or a permission rule refused the call: no agent was started. */
const isRefused = ({ text }: ToolResult, { json }: Row) =>
  BY_HOOK.test(text) || json.toolDenialKind === "permission-rule";

function describeChild(out: FindingsOf, details: JsonObject, child: string, session: string) {
  const status = asText(details.status);
  const agent = key.agent(session, child);
  const kind = status === "forked" ? "skill" : status === "teammate_spawned" ? "teammate" : null;
  const name = asNonBlank(details.name);
  if (kind !== null) out.add({ type: "agent-described", agent, kind, ...(name === null ? {} : { name }) });
  // The call's record may be missing.
  const [prompt, agentType, description] = [
    asNonBlank(details.prompt),
    asNonBlank(details.agentType) ?? asNonBlank(details.subagent_type),
    asNonBlank(details.description),
  ];
  const described = {
    ...(prompt === null ? {} : { prompt }),
    ...(agentType === null ? {} : { agentType }),
    ...(description === null ? {} : { description }),
  };
  if (Object.keys(described).length > 0) out.add({ type: "agent-described", agent, ...described });
}

/** Claude Code reports the context of the last request plus output, not the sum over requests. */
function reportedIn(details: JsonObject | null): ReportedUsage | null {
  if (details === null) return null;
  const [totalTokens, toolUses, durationMs] = [
    asAmount(details.totalTokens),
    asAmount(details.totalToolUseCount),
    asAmount(details.totalDurationMs),
  ];
  return totalTokens === null ? null : { totalTokens, toolUses, durationMs };
}

/** The same usage in a `task_notification`. */
export function reportedUsage(value: unknown): ReportedUsage | null {
  const usage = asObject(value);
  const totalTokens = asAmount(usage?.total_tokens);
  return totalTokens === null
    ? null
    : { totalTokens, toolUses: asAmount(usage?.tool_uses), durationMs: asAmount(usage?.duration_ms) };
}

function finalReport(details: JsonObject | null, result: ToolResult): string | null {
  const texts = asList(details?.content)
    .map((block) => asText(asObject(block)?.text) ?? "")
    .filter((text) => text !== "" && !text.startsWith("<tools-used-before-summary>"))
    .join("\n");
  return (
    asNonBlank(details?.result) ??
    asNonBlank(texts) ??
    asNonBlank(plainText(details?.content)) ??
    asNonBlank(result.text)
  );
}

const firstLine = (text: string) => (text.length > 160 ? `${text.slice(0, 160)}…` : text).split("\n")[0] ?? "";

/** Reads the ends of background agents from any text. */
export function readNotifications(out: FindingsOf, text: string, session: string): void {
  for (const note of notificationsIn(text)) for (const task of note.tasks) readNotification(out, note, task, session);
}

function readNotification(out: FindingsOf, note: Notification, task: string, session: string) {
  const agent = key.agent(session, task);
  if (note.isAgent && note.toolUse !== null)
    out.add({
      type: "call-spawned",
      call: key.call(session, note.toolUse),
      child: agent,
      rule: "task-notification",
      source: "parent_rollout",
      says: `a notification names the call and agent ${task}`,
    });
  if (note.agents !== null && note.toolUse !== null) {
    const { count, tokens } = note.agents;
    const agents = Array.from({ length: count }, (_, i) => key.agent(session, `${note.toolUse}.${i + 1}`));
    out.add({ type: "agents-stated", call: key.call(session, note.toolUse), agents, kind: "workflow", tokens });
    const says = `a notification about the end of their workflow reads ${JSON.stringify(firstLine(note.summary))}`;
    for (const of of agents)
      if (note.state !== null)
        out.add({ type: "lifecycle", of, state: note.state, source: "parent_rollout", says, result: null });
  }
  if (note.state !== null)
    out.add({
      type: "lifecycle",
      of: agent,
      state: note.state,
      source: "parent_rollout",
      says: `a notification to its parent reads ${JSON.stringify(firstLine(note.summary))}`,
      result: note.result,
    });
}
