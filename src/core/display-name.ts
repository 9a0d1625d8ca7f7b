import type { AgentKind } from "./observation.ts";

/** What a record tells about what an agent is called. */
export interface Named {
  readonly title: string | null;
  readonly description: string | null;
  readonly name: string | null;
  readonly prompt: string | null;
  readonly type: string | null;
  readonly agentId: string | null;
  readonly sessionId: string;
}

/** A name is one line; a prompt may be pages. */
const MAX_CHARS = 160;

/**
 * What an agent is called wherever people see it: its task, with its own name in front where it has one.
 * Its identity is its URI: two agents may well have one name.
 */
export function displayName({ title, description, name, prompt, type, agentId, sessionId }: Named): string {
  const task = lineOf(title) ?? lineOf(description) ?? lineOf(prompt);
  const called = lineOf(name);
  if (called !== null) return task === null || task === called ? called : cut(`${called}: ${task}`);
  return task ?? lineOf(type) ?? agentId ?? sessionId;
}

/** What kind of agent it is, as tracing tools group agents: its type, whatever task it was given. */
export const typeName = ({ type, name, kind }: Pick<Named, "type" | "name"> & { readonly kind: AgentKind }) => lineOf(type) ?? lineOf(name) ?? kind;

function lineOf(text: string | null): string | null {
  const line =
    text === null
      ? ""
      : cut(
          text
            .slice(0, 4 * MAX_CHARS)
            .replace(/\s+/g, " ")
            .trim(),
        );
  return line === "" ? null : line;
}

function cut(line: string): string {
  return line.length <= MAX_CHARS
    ? line
    : `${line
        .slice(0, MAX_CHARS - 1)
        .toWellFormed()
        .replace(/\ufffd$/, "")
        .trimEnd()}…`;
}
