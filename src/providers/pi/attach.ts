import { type Attach, isBefore, type Resuming } from "../../core/ports/attach.ts";
import { asNonBlank, asObject, asText, type JsonObject } from "../../core/tools/json.ts";
import { beginOf, forkOf, forkOfCopy, jsonOf } from "../kit/pi/attach.ts";
import { readMessage } from "../kit/pi/message.ts";
import { outcomesIn } from "./spawns.ts";

/** The version of session files that `pi` has written since 0.60. */
const VERSION = 3;
const ENTRY_DIGITS = 8;
const PROGRAM = "pi";

/**
 * `pi --fork` copies any session file into a new session. Agents of pi-subagents have one; those of the other
 * extensions are only messages in the records of their parent, or in a log: a session file is made from them. Tried
 * with 0.87.1.
 */
export const attach: Attach = {
  *resume(agent, ask): Resuming {
    const { until } = ask;
    const wanted = until === null ? agent.files : agent.files.filter(({ path }) => path === until.path);
    for (const { path } of wanted) {
      const found = yield path;
      if (found === null) continue;
      const records = found.filter((record) => isBefore(until, path, record)).map(jsonOf);
      const isSession = asObject(records[0])?.type === "session";
      const isLog = path.endsWith(".output");
      if (isSession && (agent.agent === null || !agent.above.includes(path))) {
        if (until === null) return forkOf(PROGRAM, path, ask);
        return forkOfCopy(
          PROGRAM,
          records.filter((record) => record !== null),
          ask,
        );
      }
      const messages = isLog ? loggedIn(records) : messagesOf(agent.agent ?? "", records);
      if (messages === null || messages.length === 0) return { unable: "its messages are not recorded" };
      if (until !== null && !isLog) return { unable: "its messages are one record, which cannot be cut" };
      // Without ids, the copies could not be distinguished from new responses.
      if (messages.some((json) => readMessage(json)?.response?.id === null))
        return { unable: "its responses have no ids" };
      const head = records.find((record) => record?.type === "session") ?? null;
      return forkOfCopy(PROGRAM, sessionOf(messages, asText(head?.cwd), ask.id), ask);
    }
    return { unable: "its transcript no longer exists" };
  },
  begin: (message, agent, ask) => beginOf(PROGRAM, message, agent, ask),
};

const messagesIn = (records: readonly (JsonObject | null)[]) =>
  records.map((record) => asObject(record?.message)).filter((message) => message !== null);

/** @tintinweb/pi-subagents logs the prompt twice: as it was given, and as the agent's first message. */
function loggedIn(records: readonly (JsonObject | null)[]): JsonObject[] {
  const messages = messagesIn(records);
  const [first, second] = messages;
  return first?.role === "user" && second?.role === "user" ? messages.slice(1) : messages;
}

/** The messages of the agent with this id, which are in the result of its call. */
function messagesOf(id: string, records: readonly (JsonObject | null)[]): readonly JsonObject[] | null {
  const open = messagesIn(records);
  // Grows during the loop: agents may be in the messages of other agents.
  for (const message of open) {
    const call = asNonBlank(message.toolCallId)?.replaceAll("/", "_");
    const outcomes = call === undefined ? [] : outcomesIn(asObject(message.details));
    for (const { index, messages } of outcomes) {
      if (id === `${call}.${index}` || (id === call && outcomes.length === 1)) return messages;
      open.push(...messages);
    }
  }
  return null;
}

function sessionOf(messages: readonly JsonObject[], cwd: string | null, id: string): JsonObject[] {
  const timeOf = (message: JsonObject | undefined) => new Date(readMessage(message ?? {})?.at ?? 0).toISOString();
  const entry = (i: number) => i.toString(16).padStart(ENTRY_DIGITS, "0");
  const head = {
    type: "session",
    version: VERSION,
    id,
    timestamp: timeOf(messages[0]),
    ...(cwd === null ? {} : { cwd }),
  };
  const entries = messages.map((message, i) => ({
    type: "message",
    id: entry(i + 1),
    parentId: i === 0 ? null : entry(i),
    timestamp: timeOf(message),
    message,
  }));
  return [head, ...entries];
}
