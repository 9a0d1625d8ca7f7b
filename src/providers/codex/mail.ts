import { asList, asNonBlank, asObject, asText, parseJson } from "../../core/tools/json.ts";
import { isCiphertext, type Row, textOf } from "./rows.ts";

/** A message from one agent to another. */
export interface Mail {
  /** Paths, such as `/root/alpha`. */
  readonly author: string;
  readonly recipient: string;
  /** `task`: an assignment. `result`: the end of a turn of the author. */
  readonly is: "task" | "message" | "result";
  /** Null if Codex encrypts it. */
  readonly text: string | null;
}

/** A notification of the product about a child. */
export interface Notification {
  /** A thread id (v1) or a path (v2). */
  readonly agent: string;
  readonly status: unknown;
}

const HEAD = /^Message Type: (\w+)\nTask name: [^\n]*\nSender: [^\n]*\nPayload:\n*/;
const NOTIFICATION = /<subagent_notification>\s*([\s\S]*?)\s*<\/subagent_notification>/g;

/** Since 0.143 an `agent_message`; 0.140 a separate line; up to 0.135 an assistant message whose text is JSON. */
export function mailIn({ type, payload }: Row): Mail | null {
  switch (type) {
    case "response_item/agent_message":
      return letter(payload.author, payload.recipient, payload.content);
    case "inter_agent_communication":
      return note(payload);
    case "response_item/message":
      return payload.role === "assistant" ? noteIn(textOf(payload.content)) : null;
    default:
      return null;
  }
}

/** Most texts are no JSON; an error of the parser takes longer than reading the whole record. */
const noteIn = (text: string) => (text.trimStart().startsWith("{") ? note(parseJson(text)?.value) : null);

function letter(from: unknown, to: unknown, content: unknown): Mail | null {
  const [author, recipient] = [asNonBlank(from), asNonBlank(to)];
  if (author === null || recipient === null) return null;
  const plain = textOf(content);
  const kind = HEAD.exec(plain)?.[1];
  const secret = asList(content).flatMap((part) => asNonBlank(asObject(part)?.encrypted_content) ?? []);
  const text = [plain.replace(HEAD, ""), ...secret].filter((part) => part !== "").join("\n");
  const is = kind === "FINAL_ANSWER" ? "result" : kind === "NEW_TASK" ? "task" : "message";
  return { author, recipient, is, text: isUnreadable(secret) ? null : text };
}

/** A message between agents as written up to 0.140. */
export function note(value: unknown): Mail | null {
  const json = asObject(value);
  const [author, recipient] = [asNonBlank(json?.author), asNonBlank(json?.recipient)];
  if (json === null || author === null || recipient === null || !author.startsWith("/")) return null;
  const text = asText(json.content) ?? "";
  const secret = asNonBlank(json.encrypted_content);
  const is = notificationsIn(text).length > 0 ? "result" : json.trigger_turn === true ? "task" : "message";
  return { author, recipient, is, text: secret === null ? text : isUnreadable([secret]) ? null : secret };
}

const isUnreadable = (secret: readonly string[]) => secret.some(isCiphertext);

/** The notifications in a text: a message between agents, or with v1 a user message. */
export function notificationsIn(text: string): Notification[] {
  return [...text.matchAll(NOTIFICATION)].flatMap(([, body = ""]) => {
    const json = asObject(parseJson(body)?.value);
    const agent = asNonBlank(json?.agent_path) ?? asNonBlank(json?.agent_id);
    return json === null || agent === null ? [] : [{ agent, status: json.status }];
  });
}
