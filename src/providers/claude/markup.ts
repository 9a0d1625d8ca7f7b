import { asObject, asText, parseJson } from "../../core/tools/json.ts";
import { notificationsIn } from "./notification.ts";
import { between } from "./tags.ts";

/** Longer texts are truncated; the record has the rest. */
const MAX_CHARS = 600;

/**
 * Converts markup that Claude Code writes for its model to a readable sentence: ends of background tasks, messages of
 * team members, commands and their output, reminders. Null for a text without such markup.
 */
export function asSentence(text: string): string | null {
  const sentence = [...notifications(text)].join("\n") || messages(text) || command(text) || note(text);
  return sentence === "" ? null : cut(sentence);
}

function* notifications(text: string): Generator<string> {
  for (const { summary, result, state, tasks } of notificationsIn(text)) {
    // `Agent "Run the tests" finished`
    const ended = summary.replace(/^(?:Background )?[Aa]gent "(.*?)" /, "$1 ");
    const output = result?.trim() ?? "";
    const sentence = ended || `Task ${tasks.join(", ")} ${state ?? "ended"}`;
    yield output === "" ? sentence : `${sentence}: ${output}`;
  }
}

/** Messages of team members name their sender. An idle notification is JSON. */
function messages(text: string): string {
  if (!text.includes("<teammate-message")) return "";
  const pieces = text.split("<teammate-message").slice(1);
  return pieces
    .map((piece) => {
      const end = piece.indexOf(">");
      const from = /teammate_id="([^"]*)"/.exec(piece.slice(0, Math.max(0, end)))?.[1] ?? "a team member";
      const body = (piece.slice(end + 1).split("</teammate-message>", 1)[0] ?? "").trim();
      const json = asObject(parseJson(body)?.value);
      return json?.type === "idle_notification"
        ? `${asText(json.from) ?? from} is idle`
        : `Message from ${from}: ${body}`;
    })
    .join("\n");
}

/** A CLI command and its output. */
function command(text: string): string {
  const start = text.trimStart();
  if (!/^<(?:command-|local-command-|bash-)/.test(start)) return "";
  const field = (name: string) => between(text, `<${name}>`, `</${name}>`)?.trim() ?? "";
  const ran =
    [field("command-name"), field("command-args")].filter((word) => word !== "").join(" ") || field("bash-input");
  const printed = ["local-command-stdout", "local-command-stderr", "bash-stdout", "bash-stderr"]
    .map(field)
    .filter((text) => text !== "")
    .join("\n");
  if (ran !== "") return printed === "" ? `Ran ${ran}` : `Ran ${ran}: ${printed}`;
  if (printed !== "") return `Printed: ${printed}`;
  const caveat = field("local-command-caveat");
  return caveat === "" ? "Printed nothing" : `Reminder to the model: ${caveat}`;
}

/** A text that consists of reminders only. */
function note(text: string): string {
  const trimmed = text.trim();
  const [open, close] = ["<system-reminder>", "</system-reminder>"];
  if (!trimmed.startsWith(open) || !trimmed.endsWith(close)) return "";
  const reminders = trimmed.split(open).map((piece) => piece.replace(close, "").trim());
  return `Reminder to the model: ${reminders.filter((text) => text !== "").join("\n")}`;
}

const cut = (text: string) =>
  text.length <= MAX_CHARS
    ? text
    : `${text
        .slice(0, MAX_CHARS)
        .toWellFormed()
        .replace(/\ufffd$/, "")
        .trimEnd()}…`;
