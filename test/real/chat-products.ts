/** Products that support any chat-completions model: how each is installed, started, and made to spawn an agent. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ChatTurn } from "./chat-model.ts";
import { install, installedAt } from "./install.ts";
import { openHome, type Sandbox } from "./sandbox.ts";

type Tool = NonNullable<ChatTurn["tools"]>[number];

export interface ChatProduct {
  name: string;
  install(): Promise<string[]>;
  open(command: string[], modelUrl: string): Promise<Sandbox>;
  /** Spawns an agent that runs a script, and waits for it. */
  spawn(script: string): Tool;
  /** A harmless tool. */
  work: Tool;
  nests: boolean;
  /** Its program, its shell tool, and a command line with which it starts itself. */
  shell: { program: string; run(command: string): Tool; line(prompt: string): string };
  /** The tool with which an agent ends; omitted if it ends with a response. */
  end?(text: string): Tool;
}

const native = `${process.platform}-${process.arch}`;
const task = (script: string) => ({ description: `Task ${script}`, prompt: `Do it. @@${script}` });

async function put(home: string, path: string, content: string | object): Promise<void> {
  const file = join(home, path);
  await mkdir(join(file, ".."), { recursive: true });
  await writeFile(file, typeof content === "string" ? content : JSON.stringify(content));
}

const kilo: ChatProduct = {
  name: "Kilo 7.7.9",
  install: () => {
    const name = `@kilocode/cli-${native}`;
    return install({ package: name, version: "7.7.9", programs: [`${name}/bin/kilo`] });
  },
  open: (command, modelUrl) =>
    openHome(
      async ({ home }) => {
        const model = {
          name: "Mock 1",
          tool_call: true,
          reasoning: true,
          limit: { context: 200_000, output: 8_192 },
          cost: { input: 1, output: 2, cache_read: 0.1, cache_write: 1.25 },
        };
        const mock = {
          npm: "@ai-sdk/openai-compatible",
          name: "Mock",
          options: { baseURL: modelUrl, apiKey: "not-a-key" },
          models: { "mock-1": model },
        };
        await put(home, ".config/kilo/kilo.json", {
          model: "mock/mock-1",
          small_model: "mock/mock-1",
          share: "disabled",
          autoupdate: false,
          lsp: false,
          formatter: false,
          snapshot: false,
          enabled_providers: ["mock"],
          permission: "allow",
          subagent_depth: 3,
          agent: { general: { permission: { task: "allow" } } },
          provider: { mock },
        });
        // Otherwise it installs its plugin from the network when it starts.
        const dependencies = { "@kilocode/plugin": "*", "@opencode-ai/plugin": "*" };
        await mkdir(join(home, ".config/kilo/node_modules"));
        await put(home, ".config/kilo/package.json", { dependencies });
        await put(home, ".config/kilo/package-lock.json", { lockfileVersion: 3, packages: { "": { dependencies } } });
        const off = "AUTOUPDATE MODELS_FETCH LSP_DOWNLOAD DEFAULT_PLUGINS EXTERNAL_SKILLS SESSION_INGEST SHARE";
        const env = Object.fromEntries(off.split(" ").map((what) => [`KILO_DISABLE_${what}`, "1"]));
        return { command, env: { ...env, KILO_TELEMETRY_LEVEL: "off" } };
      },
      (prompt, flags) => ["run", "--format", "json", "--auto", ...flags, prompt],
    ),
  spawn: (script) => ({ name: "task", args: { ...task(script), subagent_type: "general" } }),
  work: { name: "bash", args: { command: "ls", description: "list" } },
  nests: true,
  shell: {
    program: "kilo",
    run: (command) => ({ name: "bash", args: { command, description: "Ask" } }),
    line: (prompt) => `kilo run --auto "${prompt}"`,
  },
};

const qwen: ChatProduct = {
  name: "Qwen Code 0.24.4",
  install: () =>
    install({
      package: "@qwen-code/qwen-code",
      version: "0.24.4",
      programs: ["@qwen-code/qwen-code/cli-entry.js"],
    }),
  open: (command, modelUrl) =>
    openHome(
      async ({ home }) => {
        await put(home, ".qwen/settings.json", {
          privacy: { usageStatisticsEnabled: false },
          telemetry: { enabled: false },
          general: { enableAutoUpdate: false, disableAutoUpdate: true },
          security: { auth: { selectedType: "openai" }, folderTrust: { enabled: false } },
          model: { name: "mock-1" },
        });
        return { command, env: { OPENAI_API_KEY: "not-a-key", OPENAI_BASE_URL: modelUrl, OPENAI_MODEL: "mock-1" } };
      },
      (prompt, flags) => ["--approval-mode", "yolo", "--output-format", "stream-json", ...flags, "-p", prompt],
    ),
  spawn: (script) => ({
    name: "agent",
    args: { ...task(script), subagent_type: "general-purpose", run_in_background: false },
  }),
  work: { name: "glob", args: { pattern: "*.txt" } },
  nests: true,
  shell: {
    program: "qwen",
    run: (command) => ({ name: "run_shell_command", args: { command, is_background: false, description: "Ask" } }),
    line: (prompt) => `qwen --approval-mode yolo -p "${prompt}"`,
  },
};

const kimi: ChatProduct = {
  name: "Kimi Code 2.1.0",
  install: () =>
    install({
      package: "@moonshot-ai/kimi-code",
      version: "2.1.0",
      programs: ["@moonshot-ai/kimi-code/dist/main.mjs"],
    }),
  open: (command, modelUrl) =>
    openHome(
      async ({ home }) => {
        await put(
          home,
          ".kimi-code/config.toml",
          [
            'default_model = "mock"\ndefault_permission_mode = "auto"\ntelemetry = false',
            `[providers.mock]\ntype = "openai"\nbase_url = "${modelUrl}"\napi_key = "not-a-key"`,
            '[models.mock]\nprovider = "mock"\nmodel = "mock-1"\nmax_context_size = 200000\ncapabilities = ["tool_use"]',
            "[loop_control]\nmax_attempts_per_step = 1\n",
          ].join("\n"),
        );
        return { command, env: { KIMI_CODE_NO_AUTO_UPDATE: "1" } };
      },
      (prompt, flags) => [...flags, "--output-format", "stream-json", "-p", prompt],
    ),
  spawn: (script) => ({ name: "Agent", args: { ...task(script), subagent_type: "coder" } }),
  work: { name: "Bash", args: { command: "ls", description: "list" } },
  nests: false,
  shell: {
    program: "kimi",
    run: (command) => ({ name: "Bash", args: { command, description: "Ask" } }),
    line: (prompt) => `kimi -p "${prompt}"`,
  },
};

const droid: ChatProduct = {
  name: "Factory Droid 0.225.2",
  install: () => {
    const name = `@factory/cli-${native}`;
    return install({ package: name, version: "0.225.2", programs: [`${name}/bin/droid`] });
  },
  open: (command, modelUrl) =>
    openHome(
      async ({ home }) => {
        const model = "custom:Mock-0";
        const mock = { model: "mock-1", displayName: "Mock", baseUrl: modelUrl, apiKey: "not-a-key" };
        await put(home, ".factory/settings.json", {
          customModels: [{ ...mock, provider: "generic-chat-completion-api", maxOutputTokens: 8_192 }],
          model,
          cloudSessionSync: false,
          enableDroidShield: false,
          sessionDefaultSettings: { model },
        });
        const base = modelUrl.replace(/\/v1$/, "");
        return {
          command,
          env: {
            FACTORY_AIRGAP_ENABLED: "true",
            FACTORY_API_KEY: "not-a-key",
            FACTORY_API_BASE_URL: base,
            FACTORY_APP_BASE_URL: base,
            FACTORY_TELEMETRY_INGEST_BASE_URL: base,
            FACTORY_DISABLE_KEYRING: "1",
            FACTORY_DROID_AUTO_UPDATE_ENABLED: "false",
          },
        };
      },
      (prompt, flags) => [
        ...["exec", "-o", "stream-json", "--skip-permissions-unsafe", "-m", "custom:Mock-0"],
        ...flags,
        prompt,
      ],
    ),
  spawn: (script) => ({ name: "Task", args: { ...task(script), subagent_type: "worker", await: true } }),
  work: { name: "LS", args: { directory_path: "." } },
  nests: false,
  shell: {
    program: "droid",
    run: (command) => ({
      name: "Execute",
      args: { command, timeout: 60, riskLevel: "low", riskLevelReason: "It only reads." },
    }),
    line: (prompt) => `droid exec --skip-permissions-unsafe -m custom:Mock-0 "${prompt}"`,
  },
};

const cline: ChatProduct = {
  name: "Cline CLI 3.0.65",
  install: () => {
    const name = `@cline/cli-${native}`;
    return install({ package: name, version: "3.0.65", programs: [`${name}/bin/cline`] });
  },
  open: (command, modelUrl) =>
    openHome(
      async ({ home }) => {
        const provider = "openai-compatible";
        const settings = { provider, apiKey: "not-a-key", model: "mock-1", baseUrl: modelUrl };
        await put(home, ".cline/data/settings/providers.json", {
          version: 1,
          lastUsedProvider: provider,
          modes: {},
          providers: { [provider]: { settings, updatedAt: new Date(0).toISOString(), tokenSource: "manual" } },
        });
        const off = { CLINE_NO_AUTO_UPDATE: "1", CLINE_TELEMETRY_DISABLED: "1", DO_NOT_TRACK: "1" };
        // Otherwise it starts a server that outlives it.
        return { command, env: { ...off, CLINE_SESSION_BACKEND_MODE: "local" } };
      },
      (prompt, flags) => ["--json", ...flags, prompt],
    ),
  spawn: (script) => ({
    name: "spawn_agent",
    args: { systemPrompt: "You do what you are told.", task: `Do it. @@${script}` },
  }),
  work: { name: "run_commands", args: { commands: ["ls"] } },
  nests: true,
  shell: {
    program: "cline",
    run: (command) => ({ name: "run_commands", args: { commands: [command] } }),
    line: (prompt) => `cline "${prompt}"`,
  },
};

const grok: ChatProduct = {
  name: "Grok Build 1.0.41",
  install: () => {
    const name = `@xai-official/grok-${native}`;
    return install({ package: name, version: "1.0.41", programs: [`${name}/bin/grok.br`] });
  },
  open: (command, modelUrl) =>
    openHome(
      async ({ home }) => {
        await put(
          home,
          ".grok/config.toml",
          [
            '[models]\ndefault = "mock"',
            `[model.mock]\nname = "Mock"\nmodel = "mock-1"\nbase_url = "${modelUrl}"\nenv_key = "MOCK_KEY"`,
            "context_window = 200000\nmax_completion_tokens = 8192",
            "[features]\ntelemetry = false\n",
          ].join("\n"),
        );
        const off = { GROK_TELEMETRY_ENABLED: "0", GROK_TELEMETRY_TRACE_UPLOAD: "0", GROK_FEEDBACK_ENABLED: "0" };
        const env = { MOCK_KEY: "not-a-key", GROK_DISABLE_AUTOUPDATER: "1", GROK_SUBAGENTS_MAX_DEPTH: "3" };
        return { command, env: { ...off, ...env } };
      },
      (prompt, flags) => [
        ...["-m", "mock", "--output-format", "streaming-json", "--sandbox", "off", "--always-approve"],
        ...flags,
        "-p",
        prompt,
      ],
    ),
  spawn: (script) => ({ name: "spawn_subagent", args: { ...task(script), background: false } }),
  work: { name: "list_dir", args: { target_directory: "." } },
  nests: true,
  shell: {
    program: "grok",
    run: (command) => ({ name: "run_terminal_command", args: { command, description: "Ask" } }),
    line: (prompt) => `grok -m mock --sandbox off --always-approve -p "${prompt}"`,
  },
};

const omp: ChatProduct = {
  name: "oh-my-pi 18.2.3",
  install: async () => {
    const bun = `@oven/bun-${native}`;
    const product = { package: "@oh-my-pi/pi-coding-agent", version: "18.2.3" };
    const [program = ""] = await install({ ...product, programs: [`${bun}/bin/bun`], also: [`${bun}@1.4.4`] });
    return [program, join(installedAt(product), product.package, "dist/cli.js")];
  },
  open: (command, modelUrl) =>
    openHome(
      async ({ home }) => {
        const model = {
          id: "mock-1",
          name: "mock-1",
          reasoning: false,
          input: ["text"],
          cost: { input: 1, output: 2, cacheRead: 0.1, cacheWrite: 0 },
          contextWindow: 200_000,
          maxTokens: 8_000,
        };
        const mock = { baseUrl: modelUrl, api: "openai-completions", apiKey: "not-a-key", models: [model] };
        await put(home, ".omp/agent/models.yml", { providers: { mock } });
        const roles = ["default", "smol", "slow", "task"].map((role) => [role, "mock/mock-1"]);
        await put(home, ".omp/agent/config.yml", {
          async: { enabled: false },
          task: { maxRecursionDepth: 3 },
          modelRoles: Object.fromEntries(roles),
        });
        return { command, env: { PI_OFFLINE: "1", PI_SKIP_VERSION_CHECK: "1" } };
      },
      (prompt, flags) => [
        ...["--model", "mock/mock-1", "--auto-approve", "--no-title", "--mode", "json"],
        ...flags,
        "-p",
        prompt,
      ],
    ),
  spawn: (script) => ({ name: "task", args: { agent: "task", name: script, task: `Do it. @@${script}` } }),
  work: { name: "bash", args: { command: "ls" } },
  nests: true,
  end: (text) => ({ name: "yield", args: { data: { text } } }),
  shell: {
    program: "omp",
    run: (command) => ({ name: "bash", args: { command } }),
    line: (prompt) => `omp --model mock/mock-1 --no-title -p "${prompt}"`,
  },
};

export const CHAT_PRODUCTS: readonly ChatProduct[] = [kilo, qwen, kimi, droid, cline, grok, omp];
