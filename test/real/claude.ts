/** The real Claude Code, headless. */
import { join } from "node:path";
import { install } from "./install.ts";
import { openHome, type Sandbox } from "./sandbox.ts";

export type { Sandbox } from "./sandbox.ts";

export function installClaude(version: string): Promise<string[]> {
  const native = `@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`;
  return install({
    package: "@anthropic-ai/claude-code",
    version,
    programs: [native, "@anthropic-ai/claude-code/cli.js"],
  });
}

export function openSandbox(
  command: string[],
  modelUrl: string,
  extraEnv: Record<string, string> = {},
): Promise<Sandbox> {
  return openHome(
    async ({ temp }) => ({ command, env: { ...offline(temp, modelUrl), ...extraEnv } }),
    (prompt, flags) => [
      "-p",
      prompt,
      "--output-format",
      "stream-json",
      "--verbose",
      "--dangerously-skip-permissions",
      ...flags,
    ],
  );
}

/** No traffic except to the model. */
export function offline(temp: string, modelUrl: string): Record<string, string> {
  return {
    CLAUDE_CODE_TMPDIR: temp,
    ANTHROPIC_BASE_URL: modelUrl,
    ANTHROPIC_API_KEY: "not-a-key",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_TELEMETRY: "1",
    DISABLE_AUTOUPDATER: "1",
    DISABLE_ERROR_REPORTING: "1",
    // Lets root in a container skip permissions.
    IS_SANDBOX: "1",
  };
}

/** Options of the library's `run` for this sandbox. */
export const ownRunIn = ({ home, launch: { cwd, env } }: Sandbox) => ({
  cwd,
  env: { ...env, RETINUE_HOME: join(home, "retinue-data") },
});
