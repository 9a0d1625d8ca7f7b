import type { AgentRecord, AgentTree, LinkRecord } from "./agent.ts";
import type { AgentEvent, EventTool } from "./event.ts";
import { asObject, asText } from "./json.ts";
import { namesSecretFile, secretFiles } from "./secret-files.ts";
import { isSecretName, isSecretPair, SECRET, withoutSecrets, withoutSplitSecrets } from "./secrets.ts";

/** `full`: everything but secrets. `no-tool-output`: the same, without what tools returned. `metadata`: no texts at all. */
export const REDACTION_LEVELS = ["full", "no-tool-output", "metadata"] as const;
export type RedactionLevel = (typeof REDACTION_LEVELS)[number];

export interface RedactionRules {
  readonly level: RedactionLevel;
  /** Regular expressions: what else is a secret. */
  readonly patterns: readonly string[];
  /** Globs: whose contents else are secret. */
  readonly paths: readonly string[];
}

export const DEFAULT_REDACTION: RedactionRules = { level: "full", patterns: [], paths: [] };

/** Texts that nest deeper than any person writes are not looked through. */
const MAX_DEPTH = 60;
const SECRET_FILE = "[redacted: a file of secrets]";

/** Takes out of texts, values, records and events what must not leave the machine. The same input gives the same output. */
export class Redactor {
  readonly level: RedactionLevel;
  readonly #own: readonly RegExp[];
  readonly #isSecretFile: (path: string) => boolean;

  constructor({ level, patterns, paths }: RedactionRules) {
    this.level = level;
    this.#own = patterns.map((pattern) => new RegExp(pattern, "gu"));
    this.#isSecretFile = secretFiles(paths);
  }

  /** A text without the secrets in it, whatever the level. */
  text(text: string): string {
    return withoutSecrets(this.#withoutOwn(text));
  }

  /** What the user names comes first: the usual patterns may take a part of it. */
  #withoutOwn(text: string): string {
    return this.#own.reduce((said, pattern) => said.replace(pattern, (found) => (found === "" ? "" : SECRET)), text);
  }

  /** A JSON value without the secrets in it, whatever the level: in its texts, and below keys that are called as secrets are. */
  value(value: unknown, depth = 0): unknown {
    if (typeof value === "string") return this.text(value);
    if (typeof value !== "object" || value === null) return value;
    if (depth > MAX_DEPTH) return SECRET;
    if (Array.isArray(value)) return this.#list(value, depth + 1);
    // `{"name": "PASSWORD", "value": "…"}` is how lists of variables and headers have it.
    const named = asText("name" in value ? value.name : "key" in value ? value.key : null);
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => {
        const isSecret = isGiven(item) && (isNamedSo(key, item) || (key === "value" && named !== null && isNamedSo(named, item)));
        return [this.text(key), isSecret ? SECRET : this.value(item, depth + 1)];
      }),
    );
  }

  /** Arguments of a command hold the value behind its flag, and pieces of a text may hold a key between them. */
  #list(items: readonly unknown[], depth: number): unknown[] {
    const isTexts = items.length > 1 && items.every((item) => typeof item === "string");
    const texts = isTexts ? withoutSplitSecrets(items.map((item) => this.#withoutOwn(item as string))) : null;
    return items.map((item, i) => {
      const flag = items[i - 1];
      if (typeof item === "string" && typeof flag === "string" && /^--?[a-z]/i.test(flag) && !item.startsWith("-") && isSecretName(flag)) return SECRET;
      return texts?.[i] ?? this.value(item, depth);
    });
  }

  /** Whether what stands in such a file is secret. */
  isSecretFile(path: string): boolean {
    return this.#isSecretFile(path);
  }

  /** Whether a call of a tool has to do with such a file. */
  touchesSecretFile(input: unknown): boolean {
    return textsIn(input).some((text) => namesSecretFile(text, this.#isSecretFile));
  }

  /** What a tool was told to do. Of a call that reads or writes a secret file, only where: its other words may be what stands there. */
  toolInput(input: unknown): unknown {
    if (this.level === "metadata") return null;
    return this.touchesSecretFile(input) ? this.#whereOnly(input) : this.value(input);
  }

  #whereOnly(value: unknown): unknown {
    if (typeof value === "string") return namesSecretFile(value, this.#isSecretFile) ? this.text(value.split("\n")[0] ?? "") : SECRET;
    if (Array.isArray(value)) return value.map((item) => this.#whereOnly(item));
    const object = asObject(value);
    return object === null ? value : Object.fromEntries(Object.entries(object).map(([key, item]) => [key, this.#whereOnly(item)]));
  }

  /** What a tool answered; `secret`: it is what stands in a secret file. */
  toolOutput(text: string | null, secret: boolean): string | null {
    if (text === null || this.level === "metadata") return null;
    if (this.level === "no-tool-output") return `[left out: ${text.length} characters]`;
    return secret ? SECRET_FILE : this.text(text);
  }

  /** What people and agents said. */
  said(text: string | null): string | null {
    return text === null || this.level === "metadata" ? null : this.text(text);
  }

  agent<R extends AgentRecord>(record: R): R {
    const text = (words: string) => this.text(words);
    return {
      ...record,
      title: this.said(record.title),
      name: mapped(record.name, text),
      description: this.said(record.description),
      prompt: this.said(record.prompt),
      result: this.said(record.result),
      cwd: mapped(record.cwd, text),
      branch: mapped(record.branch, text),
      activity: this.said(record.activity),
      statusReason: this.said(record.statusReason) ?? "",
      link: record.link && { ...record.link, evidence: this.#evidence(record.link) },
      warnings: record.warnings.map(text),
    };
  }

  tree(tree: AgentTree): AgentTree {
    return { ...this.agent(tree), children: tree.children.map((child) => this.tree(child)) };
  }

  /** Events of one agent or of many: what a call read is known when its result comes. */
  events(): (event: AgentEvent) => AgentEvent {
    const secretCalls = new Set<string>();
    return (event) => {
      const { tool } = event;
      const call = tool === null ? null : JSON.stringify([event.uri, tool.callId]);
      if (call !== null && event.kind === "toolCall" && this.touchesSecretFile(tool?.input)) secretCalls.add(call);
      const isSecret = call !== null && secretCalls.has(call);
      return {
        ...event,
        text: event.kind === "toolResult" ? this.toolOutput(event.text, isSecret) : this.said(event.text),
        summary: this.said(event.summary),
        tool: tool && this.#tool(tool),
        spawn: event.spawn && { ...event.spawn, prompt: this.said(event.spawn.prompt) },
        status: event.status && { ...event.status, statusReason: this.said(event.status.statusReason) ?? "" },
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

/** Counts and flags below the names of secrets are none. */
const isGiven = (value: unknown): value is string | string[] =>
  (typeof value === "string" && value !== "") || (Array.isArray(value) && value.every((item) => typeof item === "string"));
const isNamedSo = (name: string, value: string | string[]) => isSecretPair(name, typeof value === "string" ? value : value.join(""));

function textsIn(value: unknown, depth = 0): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null && depth <= MAX_DEPTH ? Object.values(value).flatMap((item) => textsIn(item, depth + 1)) : [];
}
