import { ANONYMOUS, agentKey, partsOf } from "../../core/facts/ids.ts";
import { leadingTexts, type RequestRow, type TailPart } from "../../core/facts/traffic.ts";
import type { Caller, Dialect, Interpreter, ToolCall } from "../../core/ports/dialect.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import { asNonBlank, asText } from "../../core/tools/json.ts";
import { UNKNOWN_CALLER } from "../kit/caller.ts";
import { firstLine } from "../kit/text.ts";
import * as key from "./keys.ts";
import { NAME } from "./manifest.ts";
import { isRefusal, readSpawn, readSpawnResult, SPAWN } from "./spawns.ts";

/**
 * Grok's API requests: docs/formats/grok.md, "API traffic". Every agent names its own session, and a group that all
 * sessions of a tree share, but not its parent.
 */
export const wire: Dialect = {
  vendor: "",
  hasAsides: true,
  identify(asked): Caller | null {
    const { headers } = asked;
    const version = /^grok-shell\/([\w.-]+)/.exec(headers["user-agent"] ?? "")?.[1] ?? null;
    const own = asNonBlank(headers["x-grok-session-id"]);
    const group = asNonBlank(headers["x-grok-conv-group-id"]) ?? own;
    if (version === null || group === null) return null;
    const thread = key.session(own ?? group);
    const tag = tagOf(asked, own);
    return {
      ...UNKNOWN_CALLER,
      session: group,
      thread,
      agent: tag === null ? thread : null,
      isChildMaybe: true,
      version,
      cwd: asked.cwd,
      tag,
      ...(own === null ? { isAside: true as const } : {}),
      // The log has the usage of every response, without its id.
      hasNoResponseIds: true,
    };
  },
  isInternal: isSummary,
  prompt: (asked) =>
    asNonBlank(
      leadingTexts(asked)
        .map(withoutTag)
        .findLast((text) => !/^\s*<[\w-]+>/.test(text)),
    ),
  open: ({ session, thread }, _, saved) => new GrokInterpreter(session, partsOf(thread).thread, saved),
  response: (thread, id) => key.wireResponse(partsOf(thread).thread, id),
  unnamed: (thread, response) => agentKey(NAME, partsOf(thread).thread, `${ANONYMOUS}${response}`),
  namedIn: () => null,
  matches: ({ session }, prompt) => (prompt === null ? [] : [key.wirePromptMatch(session, prompt)]),
};

/** Requests for a title name no session. */
function tagOf(request: RequestRow, session: string | null): Caller["tag"] {
  if (session === null) return "title";
  return isSummary(request) || request.offered === 0 ? "auxiliary" : null;
}

/** Grok has every turn summarised, in the conversation itself. */
function isSummary({ headers }: RequestRow): boolean {
  return /^xai-/.test(headers["x-grok-req-id"] ?? "");
}

const withoutTag = (text: string) => /^\s*<user_query>\s*([\s\S]*?)\s*<\/user_query>\s*$/.exec(text)?.[1] ?? text;

interface Memory {
  readonly spawns: readonly string[];
}

class GrokInterpreter implements Interpreter {
  readonly #group: string;
  readonly #session: string;
  /** Calls that spawn an agent and have no result yet. */
  readonly #spawns: Set<string>;

  constructor(group: string, session: string, saved?: unknown) {
    this.#group = group;
    this.#session = session;
    this.#spawns = new Set((saved as Memory | undefined)?.spawns);
  }

  toolResults(out: FindingsOf, tail: readonly TailPart[]): void {
    for (const { id, text } of tail.flatMap(({ results }) => results)) {
      if (!this.#spawns.delete(id)) continue;
      // The API does not mark errors.
      const isError = isRefusal(text) || /^(Session error|Error\b)/.test(text);
      readSpawnResult(out, this.#session, id, isError ? { message: firstLine(text) } : { output: text }, text);
    }
  }

  called(out: FindingsOf, { id, name, input }: ToolCall): void {
    if (name !== SPAWN) return;
    this.#spawns.add(id);
    const prompt = asText(input.prompt);
    readSpawn(out, this.#session, id, input, null, prompt === null ? [] : [key.wirePromptMatch(this.#group, prompt)]);
  }

  key = (id: string) => key.call(this.#session, id);
  save = (): Memory => ({ spawns: [...this.#spawns] });
}
