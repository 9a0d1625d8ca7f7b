import type { Named } from "../facts/display-name.ts";
import { asObject, asText } from "../tools/json.ts";
import { folderName } from "../tools/recorded-path.ts";
import type { AgentRecord, AgentTree, LinkRecord, RefusedRecord } from "../views/agent.ts";
import type { AgentEvent, EventRef, EventTool } from "../views/event.ts";
import type { SharedCall, SharedReport } from "../views/shared-tree.ts";
import type { Span } from "../views/span.ts";
import { type SpentRow, templateOf } from "../views/stats.ts";
import type { StoryCall } from "../views/story.ts";
import type { Why } from "../views/why.ts";
import { namesSecretFile, secretFiles, withoutFoundLines } from "./secret-files.ts";
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
/** Names whose redaction is remembered: those of tools, models and files are in every event. */
const MAX_NAMES = 1_000;
const SECRET_FILE = "[redacted: a file of secrets]";

/**
 * Removes what must not leave the machine from texts, values, records and events. Deterministic. URIs and ids of
 * sessions, agents and tool calls stay as they are: documents refer to each other by them.
 */
export class Redactor {
  readonly level: RedactionLevel;
  readonly #names = new Map<string, string>();
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

  /** By the user's rules first, because the built-in patterns may match a part of what they match. */
  #withoutOwn(text: string): string {
    const rest = this.#own.reduce(
      (message, pattern) => message.replace(pattern, (found) => (found === "" ? "" : SECRET)),
      text,
    );
    return withoutFoundLines(rest, this.#isSecretFile, SECRET);
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
      return namesSecretFile(value, this.#isSecretFile) ? (this.text(value).split("\n", 1)[0] ?? "") : SECRET;
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

  /** Names of folders, files, branches, agent types, models and tools: sent at every level, without secrets. */
  name<T extends string | null>(name: T): T {
    if (name === null) return name;
    const known = this.#names.get(name);
    if (known !== undefined) return known as T;
    if (this.#names.size >= MAX_NAMES) this.#names.clear();
    const clean = this.text(name);
    this.#names.set(name, clean);
    return clean as T;
  }

  /** What an agent is named after. */
  named({ type, title, name, description, prompt, agentId, sessionId }: Named): Named {
    return {
      type: this.name(type),
      title: this.message(title),
      // Chosen by a model or a person, as a title is.
      name: this.message(name),
      description: this.message(description),
      prompt: this.message(prompt),
      agentId,
      sessionId,
    };
  }

  agent<R extends AgentRecord>(record: R): R {
    return {
      ...record,
      productVersion: this.name(record.productVersion),
      ...this.named(record),
      result: this.message(record.result),
      cwd: this.name(record.cwd),
      project: this.#project(record),
      branch: this.name(record.branch),
      model: record.model.map((model) => this.name(model)),
      tools: { allowed: this.#toolRules(record.tools.allowed), denied: this.#toolRules(record.tools.denied) },
      activity: this.message(record.activity),
      statusReason: this.message(record.statusReason) ?? "",
      link: record.link && { ...record.link, evidence: this.#evidence(record.link) },
      warnings: record.warnings.map((warning) => this.text(warning)),
      refused: record.refused.map((one) => this.#refusal(one)),
      records: record.records.map((file) => ({ ...file, path: this.name(file.path) })),
    };
  }

  /** The last part of the folder. A secret may begin before it. */
  #project({ cwd, project }: Pick<AgentRecord, "cwd" | "project">): string | null {
    const clean = this.name(cwd);
    return this.name(cwd === null || clean === null || clean === cwd ? project : folderName(clean));
  }

  /** Such as `Bash(git push:*)`: what is in brackets is text. */
  #toolRules(rules: readonly string[] | null): readonly string[] | null {
    const rule = (one: string) => (this.level === "metadata" ? (one.split("(", 1)[0] ?? "") : one);
    return rules?.map((one) => rule(this.name(one))) ?? null;
  }

  #refusal<R extends RefusedRecord>(refused: R): R {
    return {
      ...refused,
      type: this.name(refused.type),
      description: this.message(refused.description),
      reason: this.message(refused.reason),
    };
  }

  /** Evidence; without texts only the rules and sources are left. */
  why(why: Why): Why {
    const says = (text: string) => this.message(text) ?? "";
    const piece = <P extends { readonly says: string; readonly from: string | null }>(one: P): P => ({
      ...one,
      says: says(one.says),
      from: this.name(one.from),
    });
    return {
      ...why,
      parentEvidence: why.parentEvidence.map(piece),
      undecided: why.undecided.map(says),
      refused: why.refused.map((one) => ({ ...this.#refusal(one), tool: this.name(one.tool) })),
      status: {
        ...why.status,
        statusReason: says(why.status.statusReason),
        activity: this.message(why.status.activity),
      },
      statusEvidence: why.statusEvidence.map(piece),
    };
  }

  /**
   * The usage of the agent that `of` is. The template is made again from the prompt without secrets: in the row's own
   * one, a secret is in pieces that no rule recognises.
   */
  spent(rows: readonly SpentRow[], of: Pick<AgentRecord, "cwd" | "prompt">): SpentRow[] {
    const template = mapped(this.message(of.prompt), templateOf);
    return rows.map((row) => ({
      ...row,
      model: this.name(row.model),
      type: this.name(row.type),
      project: this.#project({ cwd: of.cwd, project: row.project }),
      template,
    }));
  }

  span(span: Span): Span {
    return { ...span, name: this.name(span.name) };
  }

  call<C extends Pick<StoryCall, "model" | "vendor">>(call: C): C {
    return { ...call, model: this.name(call.model), vendor: this.name(call.vendor) };
  }

  /** A model call as it is shipped; `event` is the id of one. */
  sharedCall(call: SharedCall): SharedCall {
    return { ...this.call(call), event: mapped(call.event, (id) => this.text(id)) };
  }

  report(report: SharedReport): SharedReport {
    return { ...report, event: this.text(report.event) };
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
        // It contains the path of the transcript.
        id: this.text(event.id),
        text: event.kind === "toolResult" ? this.toolOutput(event.text, isSecret) : this.message(event.text),
        summary: this.message(event.summary),
        tool: tool && this.#tool(tool),
        spawn: event.spawn && {
          ...event.spawn,
          prompt: this.message(event.spawn.prompt),
          type: this.name(event.spawn.type),
        },
        status: event.status && { ...event.status, statusReason: this.message(event.status.statusReason) ?? "" },
        ref: event.ref && this.#ref(event.ref),
      };
    };
  }

  #tool(tool: EventTool): EventTool {
    return { ...tool, name: this.name(tool.name), input: this.toolInput(tool.input) };
  }

  #ref(ref: EventRef): EventRef {
    return { ...ref, path: this.name(ref.path) };
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
