/** `retinue self` in the shell tools of real agents finds that very agent. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { MAIN } from "../support/cli.ts";
import { claudeCommand, type Installed, installAll, openLineage } from "./lineage.ts";
import { type AgentRecord, everyone, threads, tree } from "./retinue.ts";

const INSTALL_MS = 600_000;
const SCENARIO_MS = 300_000;

let installed: Installed;
beforeAll(async () => {
  installed = await installAll();
}, INSTALL_MS);

const self = (name: string) =>
  `"${process.execPath}" "${MAIN}" self --json > "$TMPDIR/${name}.json" 2> "$TMPDIR/${name}.txt"`;
const bash = (name: string) => ({ tool: "Bash", input: { command: self(name), description: "Who am I" } });
const agent = (marker: string) => ({
  tool: "Agent",
  input: { description: `Task ${marker}`, prompt: `Do it. @@${marker}`, subagent_type: "general-purpose" },
});
const done = { text: "done" };
const scriptOf = ({ prompt }: { prompt?: string | null }) => /@@([A-Za-z0-9_-]+)/.exec(prompt ?? "")?.[1] ?? "";

describe("self", () => {
  it.each([
    {
      name: "in Claude Code: in the thread, and in two sub-agents at once",
      scripts: {
        claude: { main: [bash("main"), [agent("A"), agent("B")], done], A: [bash("A"), done], B: [bash("B"), done] },
      },
      command: claudeCommand("Begin. @@main"),
      scriptsAsking: ["main", "A", "B"],
    },
    {
      name: "in Codex",
      scripts: {
        codex: { root: [{ tool: "exec_command", input: { cmd: self("root"), yield_time_ms: 60_000 } }, done] },
      },
      command: ["codex", "exec", "Begin. @@root"],
      scriptsAsking: ["root"],
    },
    {
      name: "in Codex below Claude Code, whose variables are both set",
      scripts: {
        claude: { main: [{ tool: "Bash", input: { command: 'codex exec "Ask who you are. @@inner"' } }, done] },
        codex: { inner: [{ tool: "exec_command", input: { cmd: self("inner"), yield_time_ms: 60_000 } }, done] },
      },
      command: claudeCommand("Begin. @@main"),
      scriptsAsking: ["inner"],
    },
    {
      name: "in OpenCode, which names no session",
      scripts: {
        opencode: {
          look: [{ tools: [{ name: "bash", args: { command: self("look"), description: "Ask" } }] }, { text: "asked" }],
        },
      },
      command: ["opencode", "run", "Ask who you are. @@look"],
      scriptsAsking: ["look"],
    },
  ])(
    "$name",
    async ({ scripts, command, scriptsAsking }) => {
      const home = await openLineage(installed, scripts);
      onTestFinished(() => home.dispose());
      const env = { RETINUE_HOME: join(home.folder, "data") };
      await home.run(command, env);
      const agents: AgentRecord[] = [];
      for (const id of await threads(home.home, env)) agents.push(...everyone(await tree(id, home.home, env)));
      for (const script of scriptsAsking) {
        const path = join(home.folder, "tmp", script);
        expect(readFileSync(`${path}.txt`, "utf8")).toBe("");
        const said = JSON.parse(readFileSync(`${path}.json`, "utf8")) as { self: { uri: string } };
        expect([script, said.self.uri]).toEqual([script, agents.find((one) => scriptOf(one) === script)?.uri]);
      }
    },
    SCENARIO_MS,
  );
});
