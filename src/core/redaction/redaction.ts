import { asObject, asText } from "../tools/json.ts";
import type { AgentRecord, AgentTree, LinkRecord, RefusedRecord } from "../views/agent.ts";
import type { AgentEvent, EventTool } from "../views/event.ts";
import type { SpentRow } from "../views/stats.ts";
import type { Why } from "../views/why.ts";
import { namesSecretFile, secretFiles } from "./secret-files.ts";
import { isSecretName, isSecretPair, SECRET, withoutSecrets, withoutSplitSecrets } from "./secrets.ts";

/** `full`: everything except secrets. `no-tool-output`: the same without tool results. `metadata`: no texts at all. */
export const REDACTION_LEVELS = ["full", "no-tool-output", "metadata"] as const;
export type RedactionLevel = (typeof REDACTION_LEVELS)[number];

export interface RedactionRules {
  readonly level: RedactionLevel;
  /** Regular expressions of additional secrets. */
  readonly patterns: readonly string[];
  /** Globs of additional secret files. */
  readonly paths: readonly string[];
}

export const DEFAULT_REDACTION: RedactionRules = { level: "full", patterns: [], paths: [] };

/** Maximum nesting of values that are searched. */
const MAX_DEPTH = 60;
const SECRET_FILE = "[redacted: a file of secrets]";

/** Removes what must not leave the machine from texts, values, records and events. Deterministic. */
export class Redactor {
  readonly level: RedactionLevel;
  readonly #own: readonly RegExp[];
  readonly #isSecretFile: (path: string) => boolean;

  constructor({ level, patterns, paths }: RedactionRules) {
    this.level = level;
    this.#own = patterns.map((pattern) => new RegExp(pattern, "gu"));
    this.#isSecretFile = secretFiles(paths);
  }

  /** Removes secrets from a text, at any level. */
  text(text: string): string {
    return withoutSecrets(this.#withoutOwn(text));
  }

  /** The user's patterns first, because the built-in ones may match a part of them. */
  #withoutOwn(text: string): string {
    return this.#own.reduce(
      (message, pattern) => message.replace(pattern, (found) => (found === "" ? "" : SECRET)),
      text,
    );
  }

  /** Removes secrets from a JSON value, at any level: in its strings, and below keys with names of secrets. */
  value(value: unknown, depth = 0): unknown {
    if (typeof value === "string") return this.text(value);
    if (typeof value !== "object" || value === null) return value;
    if (depth > MAX_DEPTH) return SECRET;
    if (Array.isArray(value)) return this.#list(value, depth + 1);
    // `{"name": "PASSWORD", "value": "…"}`, as in lists of variables and headers.
    const named = asText("name" in value ? value.name : "key" in value ? value.key : null);
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => {
        const isSecret =
          isGiven(item) && (isNamedSo(key, item) || (key === "value" && named !== null && isNamedSo(named, item)));
        return [this.text(key), isSecret ? SECRET : this.value(item, depth + 1)];
      }),
    );
  }

  /** Command arguments have the value after its flag, and parts of a text may split a key. */
  #list(items: readonly unknown[], depth: number): unknown[] {
    const isTexts = items.length > 1 && items.every((item) => typeof item === "string");
    const texts = isTexts ? withoutSplitSecrets(items.map((item) => this.#withoutOwn(item as string))) : null;
    return items.map((item, i) => {
      const flag = items[i - 1];
      if (
        typeof item === "string" &&
        typeof flag === "string" &&
        /^--?[a-z]/i.test(flag) &&
        !item.startsWith("-") &&
        isSecretName(flag)
      )
        return SECRET;
      return texts?.[i] ?? this.value(item, depth);
    });
  }

  /** Whether the content of such a file is secret. */
  isSecretFile(path: string): boolean {
    return this.#isSecretFile(path);
  }

  /** Whether a tool call concerns such a file. */
  touchesSecretFile(input: unknown): boolean {
    return textsIn(input).some((text) => namesSecretFile(text, this.#isSecretFile));
  }

  /**
   * The input of a tool. For a call that reads or writes a secret file only the path, because other fields may contain
   * the content.
   */
  toolInput(input: unknown): unknown {
    if (this.level === "metadata") return null;
    return this.touchesSecretFile(input) ? this.#whereOnly(input) : this.value(input);
  }

  #whereOnly(value: unknown): unknown {
    if (typeof value === "string")
      return namesSecretFile(value, this.#isSecretFile) ? this.text(value.split("\n")[0] ?? "") : SECRET;
    if (Array.isArray(value)) return value.map((item) => this.#whereOnly(item));
    const object = asObject(value);
    return object === null
      ? value
      : Object.fromEntries(Object.entries(object).map(([key, item]) => [key, this.#whereOnly(item)]));
  }

  /** The result of a tool; `secret`: it is the content of a secret file. */
  toolOutput(text: string | null, secret: boolean): string | null {
    if (text === null || this.level === "metadata") return null;
    if (this.level === "no-tool-output") return `[left out: ${text.length} characters]`;
    return secret ? SECRET_FILE : this.text(text);
  }

  /** Texts of users and agents. */
  message(text: string | null): string | null {
    return text === null || this.level === "metadata" ? null : this.text(text);
  }

  agent<R extends AgentRecord>(record: R): R {
    const text = (words: string) => this.text(words);
    return {
      ...record,
      title: this.message(record.title),
      name: mapped(record.name, text),
      description: this.message(record.description),
      prompt: this.message(record.prompt),
      result: this.message(record.result),
      cwd: mapped(record.cwd, text),
      branch: mapped(record.branch, text),
      activity: this.message(record.activity),
      statusReason: this.message(record.statusReason) ?? "",
      link: record.link && { ...record.link, evidence: this.#evidence(record.link) },
      warnings: record.warnings.map(text),
      refused: record.refused.map((one) => this.#refusal(one)),
    };
  }

  #refusal<R extends RefusedRecord>(refused: R): R {
    return { ...refused, description: this.message(refused.description), reason: this.message(refused.reason) };
  }

  /** Evidence; without texts only the rules and sources are left. */
  why(why: Why): Why {
    const says = (text: string) => this.message(text) ?? "";
    return {
      ...why,
      parentEvidence: why.parentEvidence.map((piece) => ({ ...piece, says: says(piece.says) })),
      undecided: why.undecided.map(says),
      refused: why.refused.map((one) => this.#refusal(one)),
      status: {
        ...why.status,
        statusReason: says(why.status.statusReason),
        activity: this.message(why.status.activity),
      },
      statusEvidence: why.statusEvidence.map((piece) => ({ ...piece, says: says(piece.says) })),
    };
  }

  /** Usage: the template of a prompt is text. */
  spent(row: SpentRow): SpentRow {
    return { ...row, template: this.message(row.template) };
  }

  tree(tree: AgentTree): AgentTree {
    return { ...this.agent(tree), children: tree.children.map((child) => this.tree(child)) };
  }

  /** Events of one or several agents: whether a result is secret depends on its call. */
  events(): (event: AgentEvent) => AgentEvent {
    const secretCalls = new Set<string>();
    return (event) => {
      const { tool } = event;
      const call = tool === null ? null : JSON.stringify([event.uri, tool.callId]);
      if (call !== null && event.kind === "toolCall" && this.touchesSecretFile(tool?.input)) secretCalls.add(call);
      const isSecret = call !== null && secretCalls.has(call);
      return {
        ...event,
        text: event.kind === "toolResult" ? this.toolOutput(event.text, isSecret) : this.message(event.text),
        summary: this.message(event.summary),
        tool: tool && this.#tool(tool),
        spawn: event.spawn && { ...event.spawn, prompt: this.message(event.spawn.prompt) },
        status: event.status && { ...event.status, statusReason: this.message(event.status.statusReason) ?? "" },
      };
    };
  }

  #tool(tool: EventTool): EventTool {
    return { ...tool, input: this.toolInput(tool.input) };
  }

  #evidence({ rule, evidence: [first, ...rest] }: LinkRecord): LinkRecord["evidence"] {
    return this.level === "metadata" ? [rule] : [this.text(first), ...rest.map((piece) => this.text(piece))];
  }
}

const mapped = (text: string | null, how: (text: string) => string) => (text === null ? null : how(text));

/** Numbers and flags under the name of a secret are not secrets. */
const isGiven = (value: unknown): value is string | string[] =>
  (typeof value === "string" && value !== "") ||
  (Array.isArray(value) && value.every((item) => typeof item === "string"));
const isNamedSo = (name: string, value: string | string[]) =>
  isSecretPair(name, typeof value === "string" ? value : value.join(""));

function textsIn(value: unknown, depth = 0): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null && depth <= MAX_DEPTH
    ? Object.values(value).flatMap((item) => textsIn(item, depth + 1))
    : [];
}
