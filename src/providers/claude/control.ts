import type {
  AnnouncedCall,
  Control,
  ControlMessage,
  Interception,
  PermissionRequests,
  RunTracker,
  ToolDecision,
} from "../../core/ports/control.ts";
import { asList, asNonBlank, asObject, type JsonObject, parseJson } from "../../core/tools/json.ts";
import { hasFlag } from "../kit/command.ts";
import { runGuard } from "./run-guard.ts";
import { AGENT_TOOLS } from "./spawns.ts";

/** The output format of the given command: what the user expects on stdout. */
export type Format = "text" | "json" | "stream-json";

/** The control protocol of `--input-format stream-json` (measured with 2.1.325). */
export function controlOf(
  withJsonInput: readonly string[],
  { first, format, isFed }: { readonly first: string | null; readonly format: Format; readonly isFed: boolean },
): Control {
  let requests = 0;
  const request = (body: object): ControlMessage => {
    requests += 1;
    const id = `retinue-${requests}`;
    return { id, line: JSON.stringify({ type: "control_request", request_id: id, request: body }) };
  };
  return {
    withJsonInput,
    first,
    isFed,
    withInput: (prompt, text) => [prompt, text].filter((part) => part !== null && part !== "").join("\n"),
    shown: (line) => shownAs(format, line),
    send: message,
    interrupt: () => request({ subtype: "interrupt" }),
    stop: (agent) => request({ subtype: "stop_task", task_id: agent }),
    background: (call) => request({ subtype: "background_tasks", tool_use_id: call }),
    continueAgent: (agent, text) => message(continuation(agent, text)),
    responseIn: responseOf,
    track: () => new ClaudeRun(),
    interception: interceptionBy(request),
    permissions: PERMISSIONS,
  };
}

const message = (text: string): ControlMessage => ({
  id: null,
  line: JSON.stringify({ type: "user", message: { role: "user", content: text } }),
});

/** Agents cannot be reached from outside (measured with 2.1.325): only the main agent can send a message to them. */
const continuation = (agent: string, text: string) =>
  `Send the following message to the agent ${agent} with the SendMessage tool (to: ${JSON.stringify(agent)}), unchanged, and wait for its answer.\n\n${text}`;

const controlIn = (line: string): JsonObject | null =>
  line.includes('"control_') ? asObject(parseJson(line)?.value) : null;

const CONTROL = new Set<unknown>(["control_request", "control_response", "control_cancel_request"]);

function shownAs(format: Format, line: string): string | null {
  if (format === "stream-json") return CONTROL.has(controlIn(line)?.type) ? null : line;
  const result = line.includes('"result"') ? asObject(parseJson(line)?.value) : null;
  if (result?.type !== "result") return null;
  return format === "json" ? line : (asNonBlank(result.result) ?? "");
}

function responseOf(line: string): ReturnType<Control["responseIn"]> {
  const message = controlIn(line);
  const response = message?.type === "control_response" ? asObject(message.response) : null;
  const id = asNonBlank(response?.request_id);
  return id === null
    ? null
    : { id, error: response?.subtype === "error" ? (asNonBlank(response.error) ?? "the request was refused") : null };
}

/**
 * A result ends the turn. Agents in the background continue after it, and the end of each begins a turn of the main
 * agent, unless the main agent learned of it within its turn.
 */
class ClaudeRun implements RunTracker {
  readonly #spawnCalls = new Map<string, string>();
  #isOver = false;
  #background = 0;
  /** Ends of agents that the main agent has not learned of. */
  #unread = 0;

  spawnCall = (agent: string) => this.#spawnCalls.get(agent) ?? null;

  get state(): RunTracker["state"] {
    if (!this.#isOver || this.#background > 0) return "busy";
    return this.#unread > 0 ? "resuming" : "idle";
  }

  sent(): void {
    this.#isOver = false;
  }

  onLine(line: string): void {
    const message = LINES.test(line) ? asObject(parseJson(line)?.value) : null;
    if (message === null) return;
    if (message.type === "result") this.#isOver = true;
    else if (message.type === "user" && asNonBlank(message.parent_tool_use_id) === null) this.#unread = 0;
    else if (message.subtype === "background_tasks_changed") this.#background = asList(message.tasks).length;
    else if (message.subtype === "task_notification") this.#unread += 1;
    else if (message.subtype === "task_started") {
      const [task, call] = [asNonBlank(message.task_id), asNonBlank(message.tool_use_id)];
      if (task !== null && call !== null) this.#spawnCalls.set(task, call);
    } else if (message.subtype === "init") {
      this.#isOver = false;
      this.#unread = 0;
    }
  }
}

const LINES = /"(?:result|user|background_tasks_changed|task_notification|task_started|init)"/;

const CALLBACK = "retinue";

/**
 * `PreToolUse` callbacks. The product runs the hooks of its settings as well. A callback that is not answered denies the
 * call, and so does a closed stdin: `end` must come before.
 */
const interceptionBy = (request: (body: object) => ControlMessage): Interception => ({
  begin: ({ spawnsOnly, answerMs }) =>
    request({
      subtype: "initialize",
      hooks: {
        PreToolUse: [
          {
            matcher: spawnsOnly ? [...AGENT_TOOLS].join("|") : "*",
            hookCallbackIds: [CALLBACK],
            timeout: Math.ceil(answerMs / 1000),
          },
        ],
      },
    }),
  end: () => request({ subtype: "initialize", hooks: {} }),
  announcedIn,
  guard: runGuard,
  answer: (id, decision) => responseLine(id, answerOf(decision)),
});

function announcedIn(line: string): AnnouncedCall | null {
  const message = controlIn(line);
  const body = message?.type === "control_request" ? asObject(message.request) : null;
  const input = body?.subtype === "hook_callback" && body.callback_id === CALLBACK ? asObject(body.input) : null;
  const [request, tool] = [asNonBlank(message?.request_id), asNonBlank(input?.tool_name)];
  if (input === null || request === null || tool === null) return null;
  return {
    request,
    call: {
      callId: asNonBlank(body?.tool_use_id) ?? asNonBlank(input.tool_use_id) ?? "",
      tool,
      input: asObject(input.tool_input) ?? {},
      isSpawn: AGENT_TOOLS.has(tool),
      sessionId: asNonBlank(input.session_id) ?? "",
      agentId: asNonBlank(input.agent_id),
      agentType: asNonBlank(input.agent_type),
      cwd: asNonBlank(input.cwd),
    },
  };
}

const responseLine = (id: string, response: object) =>
  JSON.stringify({ type: "control_response", response: { subtype: "success", request_id: id, response } });

/** `allow` states nothing: the permission rules of the product still apply. */
function answerOf(decision: ToolDecision): object {
  if (decision === "allow") return {};
  const specific =
    "deny" in decision
      ? { permissionDecision: "deny", permissionDecisionReason: decision.deny }
      : { updatedInput: decision.input };
  return { hookSpecificOutput: { hookEventName: "PreToolUse", ...specific } };
}

const PROMPT_TOOL = "--permission-prompt-tool";
const OWN_RULES = ["--dangerously-skip-permissions", "--allow-dangerously-skip-permissions", PROMPT_TOOL];

/** `always` is not offered: the product would write a rule to the settings of the project. */
const PERMISSIONS: PermissionRequests = {
  enable: (command) => (hasFlag(command, ...OWN_RULES) ? command : [...command, PROMPT_TOOL, "stdio"]),
  askedIn: (line) => {
    const message = controlIn(line);
    const body = message?.type === "control_request" ? asObject(message.request) : null;
    const [id, tool] = [asNonBlank(message?.request_id), asNonBlank(body?.tool_name)];
    if (body?.subtype !== "can_use_tool" || id === null || tool === null) return null;
    return {
      id,
      tool,
      sessionId: null,
      agentId: asNonBlank(body.agent_id),
      input: asObject(body.input) ?? {},
      callId: asNonBlank(body.tool_use_id),
      replies: ["once", "reject"],
      always: [],
    };
  },
  closedIn: (line) => {
    const message = controlIn(line);
    if (message?.type === "control_cancel_request") return asNonBlank(message.request_id);
    return message?.type === "control_response" ? asNonBlank(asObject(message.response)?.request_id) : null;
  },
  answer: ({ id, input }, reply, text) =>
    responseLine(
      id,
      reply === "reject"
        ? { behavior: "deny", message: text ?? "The user rejected this call.", interrupt: false }
        : { behavior: "allow", updatedInput: input },
    ),
};
