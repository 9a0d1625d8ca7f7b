/** Runs the real Codex, headless, in a temporary home. */
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { install } from "../install.ts";
import { Group, type Run } from "../process.ts";
import type { Launch } from "../sandbox.ts";

/** A version, and the model that decides which sub-agent tools it offers. */
export interface Setup {
  name: string;
  version: string;
  model: string;
  features: string;
  /** The second sub-agent system: agents have paths and nest to any depth. */
  hasPaths: boolean;
}

export interface Sandbox {
  home: string;
  launch: Launch & { cwd: string };
  start(args: readonly string[]): Run;
  run(args: readonly string[]): Promise<void>;
  dispose(): Promise<void>;
}

const TARGET = process.arch === "arm64" ? "aarch64" : "x86_64";
const SYSTEM = process.platform === "darwin" ? "apple-darwin" : "unknown-linux-musl";

export function installCodex(version: string): Promise<string[]> {
  const vendor = `@openai/codex-${process.platform}-${process.arch}/vendor/${TARGET}-${SYSTEM}`;
  return install({ package: "@openai/codex", version, programs: [`${vendor}/bin/codex`, `${vendor}/codex/codex`] });
}

export async function openSandbox(
  command: readonly string[],
  modelUrl: string,
  { model, features }: Setup,
): Promise<Sandbox> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "retinue-real-")));
  const [home, project, temp] = ["home", "project", "tmp"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const codexHome = join(home, ".codex");
  for (const path of [home, project, temp, codexHome]) await mkdir(path);
  execFileSync("git", ["init", "-q", "-b", "main", project]);
  await writeFile(join(codexHome, "config.toml"), settings(modelUrl, model, features));
  const env = {
    PATH: process.env.PATH ?? "",
    HOME: home,
    CODEX_HOME: codexHome,
    TMPDIR: temp,
    NO_KEY: "none",
    TERM: "dumb",
    LANG: "C.UTF-8",
  };
  const group = new Group();
  return {
    home,
    launch: { command: [...command], env, cwd: project },
    start: (args) => group.start([...command, ...args], { cwd: project, env }),
    run: (args) => group.run([...command, ...args], { cwd: project, env }),
    async dispose() {
      await group.endAll();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** No account, no network except the model, and no questions to a person. */
export const settings = (modelUrl: string, model: string, features: string) => `model = "${model}"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[model_providers.scripted]
name = "scripted"
base_url = "${modelUrl}/v1"
env_key = "NO_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
[analytics]
enabled = false
[features]
plugins = false
remote_plugin = false
plugin_discovery_prefetch = false
apps = false
skill_search = false
fast_mode = false
${features}
`;
