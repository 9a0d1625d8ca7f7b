/** Claude Code, Codex and OpenCode in one home, each as a command on PATH, so that one can start another. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { chmod, mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Usage } from "../support/judge.ts";
import { type ChatScripts, startChatModel } from "./chat-model.ts";
import { installClaude, offline } from "./claude.ts";
import { settings as codexSettings, installCodex } from "./codex/codex.ts";
import { startModel as startResponses } from "./codex/model.ts";
import type { Scripts as CodexScripts } from "./codex/script.ts";
import type { WireUsage as ResponseUsage } from "./codex/wire.ts";
import { startModel as startMessages } from "./model.ts";
import { configuration, environment, installOpenCode, writeSettings } from "./opencode.ts";
import { Group, type Run } from "./process.ts";
import type { Scripts as ClaudeScripts } from "./script.ts";
import { NO_USAGE, sum, usageOfCall } from "./usage.ts";

export interface LineageScripts {
  readonly claude?: ClaudeScripts;
  readonly codex?: CodexScripts;
  readonly opencode?: ChatScripts;
}

export interface LineageHome {
  readonly folder: string;
  readonly home: string;
  readonly project: string;
  readonly env: Record<string, string>;
  /** Starts a command as a user would in a terminal. */
  start(command: readonly string[], env?: Record<string, string>): Run;
  run(command: readonly string[], env?: Record<string, string>): Promise<void>;
  /** What the models served so far, by script. */
  served(): ReadonlyMap<string, Usage>;
  /** The tool calls among it. */
  calls(): readonly ServedCall[];
  /** Whether a request of a script contains the text. */
  asked(script: string, text: string): boolean;
  /** Whether the command of a script, whose output is in `$TMPDIR/<script>.out`, wrote the text there. */
  wrote(script: string, text: string): boolean;
  /** Waits until a model is asked for this step of a script. */
  reached(script: string, step: number): Promise<void>;
  dispose(): Promise<void>;
}

export interface ServedCall {
  readonly script: string;
  readonly id: string;
  /** As JSON. */
  readonly input: string;
}

export interface Installed {
  readonly claude: readonly string[];
  readonly codex: readonly string[];
  readonly opencode: readonly string[];
}

export async function installAll(): Promise<Installed> {
  return {
    claude: await installClaude("2.1.325"),
    codex: await installCodex("0.166.0"),
    opencode: await installOpenCode("1.18.33"),
  };
}

/** With direct tools. */
const CODEX_MODEL = "gpt-5.5";
/** Runs shell commands inside JavaScript. */
export const CODE_MODEL = "gpt-6.1-sol";

export async function openLineage(
  installed: Installed,
  scripts: LineageScripts,
  codexModel = CODEX_MODEL,
): Promise<LineageHome> {
  const folder = await realpath(await mkdtemp(join(process.env.RETINUE_REAL_FOLDER ?? tmpdir(), "retinue-lineage-")));
  const places = ["home", "repo", "tmp", "bin"].map((name) => join(folder, name));
  const [home, project, temp, bin] = places as [string, string, string, string];
  for (const path of places) await mkdir(path);
  const [messages, responses, chat] = await Promise.all([
    startMessages(scripts.claude ?? {}),
    startResponses(scripts.codex ?? {}),
    startChatModel(scripts.opencode ?? {}),
  ]);
  for (const [name, command] of Object.entries(installed)) {
    const line = (command as readonly string[]).map((word) => `"${word}"`).join(" ");
    await writeFile(join(bin, name), `#!/bin/sh\nexec ${line} "$@"\n`);
    await chmod(join(bin, name), 0o755);
  }
  await mkdir(join(home, ".codex"));
  await writeFile(join(home, ".codex", "config.toml"), codexSettings(responses.url, codexModel, ""));
  await writeFile(join(home, ".profile"), `PATH="${bin}:$PATH"\n`);
  await writeSettings(home, configuration(chat.url));
  await writeFile(join(project, "a.txt"), "alpha\n");
  await mkdir(join(project, "scripts"));
  const env: Record<string, string> = {
    ...environment(home),
    ...offline(temp, messages.url),
    PATH: `${bin}:${process.env.PATH ?? ""}`,
    TMPDIR: temp,
    SHELL: "/bin/bash",
    NO_KEY: "none",
  };
  const git = { cwd: project, env, stdio: "ignore" as const };
  execFileSync("git", ["init", "-q", "-b", "main"], git);
  const group = new Group();
  const options = { cwd: project, env };
  return {
    folder,
    home,
    project,
    env,
    start: (command, more = {}) => group.start(command, { ...options, env: { ...env, ...more } }),
    run: (command, more = {}) => group.run(command, { ...options, env: { ...env, ...more } }),
    served() {
      const all = new Map<string, Usage>();
      const count = (script: string | null, usage: Usage) => {
        if (script !== null) all.set(script, sum([all.get(script) ?? NO_USAGE, usage]));
      };
      for (const { finished, request, script, answer } of messages.exchanges)
        if (finished && request.tools?.length && answer !== null) count(script, usageOfCall(answer.usage));
      for (const { finished, script, answer } of responses.exchanges)
        if (finished && answer !== null) count(script, usageOfResponse(answer.usage));
      for (const [script, usage] of chat.served) count(script, { ...NO_USAGE, ...(usage as Partial<Usage>) });
      return all;
    },
    asked: (script, text) =>
      messages.exchanges.some((one) => one.script === script && JSON.stringify(one.request).includes(text)),
    wrote: (script, text) => {
      const path = join(temp, `${script}.out`);
      return existsSync(path) && readFileSync(path, "utf8").includes(text);
    },
    calls: () => [
      ...messages.exchanges.flatMap(({ script, answer }) =>
        (answer?.content ?? []).flatMap((block) =>
          block.type === "tool_use" && block.id !== undefined && script !== null
            ? [{ script, id: block.id, input: JSON.stringify(block.input) }]
            : [],
        ),
      ),
      ...responses.exchanges.flatMap(({ script, answer }) =>
        (answer?.output ?? []).flatMap((item) =>
          item.type === "function_call" && script !== null ? [{ script, id: item.call_id, input: item.arguments }] : [],
        ),
      ),
    ],
    async reached(script, step) {
      const models = [
        ...(scripts.claude?.[script] === undefined ? [] : [messages]),
        ...(scripts.codex?.[script] === undefined ? [] : [responses]),
        ...(scripts.opencode?.[script] === undefined ? [] : [chat]),
      ];
      await Promise.all(models.map((model) => model.reached(script, step)));
    },
    async dispose() {
      await group.endAll();
      await Promise.all([messages.close(), responses.close(), chat.close()]);
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

const usageOfResponse = ({ input_tokens, output_tokens, input_tokens_details }: ResponseUsage): Usage => ({
  ...NO_USAGE,
  calls: 1,
  inputTokens: input_tokens - input_tokens_details.cached_tokens,
  outputTokens: output_tokens,
  cacheReadTokens: input_tokens_details.cached_tokens,
});

/** Headless Claude Code, as a user starts it. */
export const claudeCommand = (prompt: string) => [
  "claude",
  "-p",
  prompt,
  "--output-format",
  "stream-json",
  "--verbose",
  "--dangerously-skip-permissions",
];
