import { singleSpaced } from "../tools/spaces.ts";
import type { AgentKind } from "./observation.ts";

/** The fields of a record that name an agent. */
export interface Named {
  readonly title: string | null;
  readonly description: string | null;
  readonly name: string | null;
  readonly prompt: string | null;
  readonly type: string | null;
  readonly agentId: string | null;
  readonly sessionId: string;
}

/** A name is one line; a prompt may be pages long. */
const MAX_CHARS = 160;

/**
 * The name of an agent in all user interfaces: its task, preceded by its own name if it has one. Not unique; the URI
 * is.
 */
export function displayName({ title, description, name, prompt, type, agentId, sessionId }: Named): string {
  const task = lineOf(title) ?? lineOf(description) ?? lineOf(prompt);
  const ownName = lineOf(name);
  if (ownName !== null) return task === null || task === ownName ? ownName : cut(`${ownName}: ${task}`);
  return task ?? lineOf(type) ?? agentId ?? sessionId;
}

/** The agent type for tracing tools, which group by it. */
export const typeName = ({ type, name, kind }: Pick<Named, "type" | "name"> & { readonly kind: AgentKind }) =>
  lineOf(type) ?? lineOf(name) ?? kind;

function lineOf(text: string | null): string | null {
  const line = text === null ? "" : cut(singleSpaced(text.slice(0, 4 * MAX_CHARS)));
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
