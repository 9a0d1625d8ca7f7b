/** Runs the real Claude Code, headless, in a home of its own that is thrown away afterwards. */
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { install } from "./install.ts";
import { Group, type Run } from "./process.ts";

export interface Sandbox {
  home: string;
  start(prompt: string, flags?: string[]): Run;
  /** Runs to the end; an exit code other than 0 is an error. */
  run(prompt: string, flags?: string[]): Promise<void>;
  dispose(): Promise<void>;
}

export function installClaude(version: string): Promise<string[]> {
  const native = `@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`;
  return install({ package: "@anthropic-ai/claude-code", version, programs: [native, "@anthropic-ai/claude-code/cli.js"] });
}

export async function openSandbox(command: string[], modelUrl: string, extraEnv: Record<string, string> = {}): Promise<Sandbox> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "retinue-real-")));
  const [home, project, temp] = ["home", "project", "tmp"].map((name) => join(folder, name)) as [string, string, string];
  for (const path of [home, project, temp]) await mkdir(path);
  await writeFile(join(project, "a.txt"), "alpha\n");
  const env = { ...cleanEnvironment(home, temp, modelUrl), ...extraEnv };
  const group = new Group();
  const commandFor = (prompt: string, flags: string[] = []) => [
    ...command,
    ...["-p", prompt, "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions", ...flags],
  ];

  return {
    home,
    start: (prompt, flags) => group.start(commandFor(prompt, flags), { cwd: project, env }),
    run: (prompt, flags) => group.run(commandFor(prompt, flags), { cwd: project, env }),
    async dispose() {
      await group.endAll();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** Nothing of the caller's own settings or account; no traffic but the model's. */
function cleanEnvironment(home: string, temp: string, modelUrl: string): Record<string, string> {
  return {
    PATH: process.env.PATH ?? "",
    HOME: home,
    TMPDIR: temp,
    CLAUDE_CODE_TMPDIR: temp,
    TERM: "dumb",
    LANG: "C.UTF-8",
    ANTHROPIC_BASE_URL: modelUrl,
    ANTHROPIC_API_KEY: "not-a-key",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_TELEMETRY: "1",
    DISABLE_AUTOUPDATER: "1",
    DISABLE_ERROR_REPORTING: "1",
    // Lets the superuser of a container skip permissions.
    IS_SANDBOX: "1",
  };
}
