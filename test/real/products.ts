/** Products besides Claude Code that are run for real: how each is installed, started, and made to spawn an agent. */
import { chmod, copyFile, mkdir, readdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type ServingModel, startGeminiModel } from "./gemini-model.ts";
import { install, installedAt } from "./install.ts";
import { startModel } from "./model.ts";
import { openHome, type Places, type Sandbox } from "./sandbox.ts";
import type { Block, Scripts } from "./script.ts";
import { NO_USAGE, usageOfCall } from "./usage.ts";

export interface RealProduct {
  name: string;
  provider: string;
  /** Installs it; returns the command that starts it. */
  install(): Promise<string[]>;
  model(scripts: Scripts): Promise<ServingModel>;
  open(command: string[], modelUrl: string): Promise<Sandbox>;
  /** Spawns agents: one call each, unless it has one call for several. */
  spawn(...scripts: string[]): Block[];
  /** A harmless tool. */
  work: Block;
  /** How an agent returns its result. */
  report(text: string): Block;
  nests: boolean;
  /** Its program, its shell tool, and a command line with which it starts itself. */
  shell: { program: string; run(command: string): Block; line(prompt: string): string };
  /** Records the lifetime of cache writes. */
  tellsHours: boolean;
  /** Writes process files, so that the end of a process is detected at once. */
  marksProcess: boolean;
  /** The status of an agent whose call was interrupted. */
  lost: string;
  totals: boolean;
}

const task = (script: string) => `Do it. @@${script}`;

/** The model that Claude Code uses as well. */
async function messagesModel(scripts: Scripts): Promise<ServingModel> {
  const model = await startModel(scripts);
  const served = () =>
    model.exchanges
      .filter(({ request }) => request.tools?.length)
      .map(({ script, step, answer, finished }) => ({
        script,
        step,
        finished,
        usage: answer && finished ? usageOfCall(answer.usage) : NO_USAGE,
      }));
  const requests = () => model.exchanges.map(({ request }) => JSON.stringify(request));
  return { ...model, served, requests };
}

const gemini: RealProduct = {
  name: "Gemini CLI 0.61.0",
  provider: "gemini",
  install: () =>
    install({ package: "@google/gemini-cli", version: "0.61.0", programs: ["@google/gemini-cli/bundle/gemini.js"] }),
  model: startGeminiModel,
  open: (command, modelUrl) =>
    openHome(
      async ({ home }) => {
        await mkdir(join(home, ".gemini"));
        const settings = {
          security: { auth: { selectedType: "gemini-api-key" }, folderTrust: { enabled: false } },
          privacy: { usageStatisticsEnabled: false },
          telemetry: { enabled: false },
          general: { disableAutoUpdate: true, enableAutoUpdate: false, checkForUpdates: false },
        };
        await writeFile(join(home, ".gemini/settings.json"), JSON.stringify(settings));
        return {
          command,
          env: {
            GEMINI_API_KEY: "not-a-key",
            GOOGLE_GEMINI_BASE_URL: modelUrl,
            GEMINI_TELEMETRY_ENABLED: "false",
            GEMINI_CLI_NO_RELAUNCH: "true",
          },
        };
      },
      (prompt, flags) => [
        "-m",
        "gemini-2.5-pro",
        "--approval-mode",
        "yolo",
        "--output-format",
        "stream-json",
        "--skip-trust",
        ...flags,
        "-p",
        prompt,
      ],
    ),
  spawn: (...scripts) =>
    scripts.map((script) => ({ tool: "invoke_agent", input: { agent_name: "generalist", prompt: task(script) } })),
  work: { tool: "list_directory", input: { dir_path: "." } },
  report: (text) => ({ tool: "complete_task", input: { result: { response: text } } }),
  shell: {
    program: "gemini",
    run: (command) => ({ tool: "run_shell_command", input: { command, description: "Ask" } }),
    line: (prompt) => `gemini -m gemini-2.5-pro --approval-mode yolo --skip-trust -p "${prompt}"`,
  },
  nests: false,
  tellsHours: true,
  marksProcess: false,
  lost: "shutdown",
  totals: false,
};

const copilot: RealProduct = {
  name: "Copilot CLI 1.0.102",
  provider: "copilot",
  install: () => {
    const native = `@github/copilot-${process.platform}-${process.arch}`;
    return install({ package: native, version: "1.0.102", programs: [`${native}/copilot`] });
  },
  model: messagesModel,
  open: (command, modelUrl) =>
    openHome(
      async () => ({
        command,
        env: {
          COPILOT_AUTO_UPDATE: "false",
          COPILOT_OFFLINE: "true",
          COPILOT_PROVIDER_BASE_URL: modelUrl,
          COPILOT_PROVIDER_TYPE: "anthropic",
          COPILOT_PROVIDER_API_KEY: "not-a-key",
          COPILOT_MODEL: "claude-sonnet-4-5",
        },
      }),
      (prompt, flags) => ["-p", prompt, "--allow-all-tools", "--output-format", "json", "--no-color", ...flags],
    ),
  spawn: (...scripts) =>
    scripts.map((script) => ({
      tool: "task",
      input: {
        agent_type: "general-purpose",
        name: script.toLowerCase(),
        description: `Run ${script}`,
        prompt: task(script),
        mode: "sync",
      },
    })),
  work: { tool: "bash", input: { command: "echo work", description: "Runs it" } },
  shell: {
    program: "copilot",
    run: (command) => ({ tool: "bash", input: { command, description: "Ask", mode: "sync", initial_wait: 60 } }),
    line: (prompt) => `copilot -p "${prompt}" --allow-all-tools`,
  },
  report: (text) => ({ text }),
  nests: true,
  tellsHours: false,
  marksProcess: true,
  lost: "shutdown",
  totals: true,
};

const PI = "@earendil-works/pi-coding-agent";
const PI_VERSION = "0.87.1";
const TINTIN = "@tintinweb/pi-subagents";

export type PiApi = "anthropic-messages" | "openai-completions" | "openai-responses";

export const installPi = () =>
  install({
    package: PI,
    version: PI_VERSION,
    programs: [`${PI}/dist/bundle/cli.js`, `${PI}/dist/cli.js`],
    also: [`${TINTIN}@0.14.1`],
  });

export const openPi = (
  command: string[],
  modelUrl: string,
  extension: "example" | "tintinweb",
  api: PiApi = "anthropic-messages",
) =>
  openHome(
    async (places) => ({ command: await preparePi(command, modelUrl, places, extension, api), env: piEnv(places) }),
    (prompt, flags) => [...flags, "--mode", "json", "-p", prompt],
  );

const piOf = (extension: "example" | "tintinweb"): RealProduct => ({
  name: `Pi ${PI_VERSION} with ${extension === "example" ? "its example extension" : TINTIN}`,
  provider: "pi",
  install: installPi,
  model: messagesModel,
  open: (command, modelUrl) => openPi(command, modelUrl, extension),
  spawn: (...scripts) =>
    extension === "tintinweb"
      ? scripts.map((script) => ({
          tool: "Agent",
          input: { subagent_type: "general-purpose", prompt: task(script), description: `Run ${script}` },
        }))
      : [
          scripts.length === 1
            ? { tool: "subagent", input: { agent: "boss", task: task(scripts[0] ?? "") } }
            : { tool: "subagent", input: { tasks: scripts.map((script) => ({ agent: "boss", task: task(script) })) } },
        ],
  work: { tool: "bash", input: { command: "echo work" } },
  shell: {
    program: "pi",
    run: (command) => ({ tool: "bash", input: { command } }),
    line: (prompt) => `pi -p "${prompt}"`,
  },
  report: (text) => ({ text }),
  nests: extension === "example",
  tellsHours: true,
  marksProcess: false,
  lost: extension === "example" ? "notFound" : "shutdown",
  totals: false,
});

const piEnv = ({ home }: Places) => ({
  PATH: `${join(home, ".local/bin")}:${process.env.PATH ?? ""}`,
  PI_OFFLINE: "1",
  PI_TELEMETRY: "0",
  PI_SKIP_VERSION_CHECK: "1",
});

async function preparePi(
  command: string[],
  modelUrl: string,
  { home }: Places,
  extension: "example" | "tintinweb",
  api: PiApi,
): Promise<string[]> {
  const agent = join(home, ".pi/agent");
  await mkdir(join(agent, "agents"), { recursive: true });
  const cost = { input: 1, output: 2, cacheRead: 0.1, cacheWrite: 1 };
  const model = {
    id: "mock-1",
    name: "mock-1",
    reasoning: false,
    input: ["text"],
    cost,
    contextWindow: 200_000,
    maxTokens: 8_000,
  };
  const providers = { mock: { baseUrl: modelUrl, api, apiKey: "not-a-key", models: [model] } };
  await writeFile(join(agent, "models.json"), JSON.stringify({ providers }));
  await writeFile(
    join(agent, "settings.json"),
    JSON.stringify({ defaultProvider: "mock", defaultModel: "mock-1", enableInstallTelemetry: false }),
  );
  // The example starts its agents by that name.
  const bin = join(home, ".local/bin");
  await mkdir(bin, { recursive: true });
  await writeFile(join(bin, "pi"), `#!/bin/sh\nexec ${command.map((part) => `'${part}'`).join(" ")} "$@"\n`);
  await chmod(join(bin, "pi"), 0o755);
  const modules = installedAt({ package: PI, version: PI_VERSION });
  if (extension === "tintinweb") return [...command, "-e", join(modules, TINTIN, "src/index.ts")];
  await writeFile(join(agent, "agents/boss.md"), "---\nname: boss\ndescription: Does it\n---\nYou are boss.\n");
  const [from, to] = [join(modules, PI, "examples/extensions/subagent"), join(agent, "extensions/subagent/index.ts")];
  await mkdir(dirname(to), { recursive: true });
  for (const file of await readdir(from))
    if (file.endsWith(".ts")) await copyFile(join(from, file), join(dirname(to), file));
  return command;
}

export const REAL_PRODUCTS: readonly RealProduct[] = [gemini, copilot, piOf("example"), piOf("tintinweb")];
