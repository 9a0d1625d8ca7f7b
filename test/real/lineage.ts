/** Claude Code, Codex and OpenCode in one home, each as a command on PATH, so that one can start another. */
import { execFileSync } from "node:child_process";
import { chmod, mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ChatScripts, startChatModel } from "./chat-model.ts";
import { installClaude, offline } from "./claude.ts";
import { settings as codexSettings, installCodex } from "./codex/codex.ts";
import { startModel as startResponses } from "./codex/model.ts";
import type { Scripts as CodexScripts } from "./codex/script.ts";
import { startModel as startMessages } from "./model.ts";
import { configuration, environment, installOpenCode, writeSettings } from "./opencode.ts";
import { Group, type Run } from "./process.ts";
import type { Scripts as ClaudeScripts } from "./script.ts";

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
  served(): ReadonlyMap<string, number>;
  /** Waits until a model is asked for this step of a script. */
  reached(script: string, step: number): Promise<void>;
  dispose(): Promise<void>;
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

/** `model` of Codex with direct tools. */
const CODEX_MODEL = "gpt-5.5";

export async function openLineage(installed: Installed, scripts: LineageScripts): Promise<LineageHome> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "retinue-lineage-")));
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
  await writeFile(join(home, ".codex", "config.toml"), codexSettings(responses.url, CODEX_MODEL, ""));
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
      const counts = new Map<string, number>();
      const count = (script: string | null) => script !== null && counts.set(script, (counts.get(script) ?? 0) + 1);
      for (const one of messages.exchanges) if (one.finished && one.request.tools?.length) count(one.script);
      for (const one of responses.exchanges) if (one.finished) count(one.script);
      for (const [script, { calls }] of chat.served) counts.set(script, calls ?? 0);
      return counts;
    },
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
