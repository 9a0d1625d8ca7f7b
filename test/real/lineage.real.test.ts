/** Real agents that start other real agents with shell commands: one tree, with the right parents and sums. */
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { MAIN } from "../support/cli.ts";
import type { Usage } from "../support/judge.ts";
import { keepFixture } from "./keep-fixture.ts";
import { claudeCommand, type Installed, installAll, openLineage } from "./lineage.ts";
import { HARD_LINEAGE } from "./lineage-hard-scenarios.ts";
import { LINEAGE } from "./lineage-scenarios.ts";
import { type AgentRecord, everyone, threads, tree } from "./retinue.ts";

const INSTALL_MS = 600_000;
const SCENARIO_MS = 300_000;

let installed: Installed;
beforeAll(async () => {
  installed = await installAll();
}, INSTALL_MS);

/** The script of an agent, by the marker in its prompt. */
const scriptOf = ({ prompt }: { prompt?: string | null }) => /@@([A-Za-z0-9_-]+)/.exec(prompt ?? "")?.[1] ?? "";

describe("agents that start agents", () => {
  it.each([...LINEAGE, ...HARD_LINEAGE].map((one) => [one.name, one] as const))(
    "%s",
    async (
      _,
      {
        fixture,
        scripts,
        codexModel,
        files = {},
        act,
        served,
        hooked,
        tree: expected,
        shared = {},
        undecided = [],
        continues = {},
      },
    ) => {
      const home = await openLineage(installed, scripts, codexModel);
      onTestFinished(() => home.dispose());
      for (const [path, text] of Object.entries(files)) {
        await mkdir(dirname(join(home.project, path)), { recursive: true });
        await writeFile(join(home.project, path), text);
        await chmod(join(home.project, path), 0o755);
      }
      const env = { RETINUE_HOME: join(home.folder, "data") };
      if (hooked) await home.run([process.execPath, MAIN, "hooks", "install", "claude", "--lineage", "--yes"], env);
      if (served) {
        const server = home.start([process.execPath, MAIN, "serve", "--no-open", "--port", "0"], env);
        while (!server.output().includes("http://")) await wait(100);
      }
      await (act ?? (({ run }) => run(claudeCommand("Begin. @@main"))))(home);
      const roots: AgentRecord[] = [];
      for (const id of await threads(home.home, env)) roots.push(await tree(id, home.home, env));
      const agents = roots.flatMap(everyone);
      const byUri = new Map(agents.map((record) => [record.uri, record]));
      const found = agents.map((record) => [scriptOf(record), parentOf(record, byUri)] as const);
      for (const [script, parent] of Object.entries(expected)) {
        const parents = found.filter(([own]) => own === script).map(([, its]) => its);
        expect([script, ...parents]).toContain(script);
        if (shared[script] !== undefined && !undecided.includes(script))
          expect(parents.toSorted()).toEqual(shared[script]);
        if (hooked && script === "same") {
          const rules = agents
            .filter((one) => scriptOf(one) === script)
            .map(({ link }) => (link as { rule?: string } | null | undefined)?.rule);
          expect(rules).toEqual(["environment", "environment"]);
        }
        // Without a link, or if they happen to end at different times, one for each agent.
        if (undecided.includes(script))
          expect(parents.every((one) => one === null) || new Set(parents).size === parents.length).toBe(true);
        else expect([script, parents.includes(parent)]).toEqual([script, true]);
      }
      expect(found.map(([script]) => script).filter((script) => !(script in expected))).toEqual([]);
      if (fixture !== undefined)
        await keepFixture(fixture, { name: _, home, roots, tree: expected, shared, undecided, continues });
      // Every response that a model served is counted once.
      expect(counted(agents)).toEqual(counted([...home.served().values()].map((own) => ({ usage: { own } }))));
    },
    SCENARIO_MS,
  );
});

const COUNTED = ["calls", "inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens"] as const;
const counted = (all: readonly { readonly usage: { readonly own: Usage } }[]) =>
  Object.fromEntries(COUNTED.map((field) => [field, all.reduce((total, { usage }) => total + usage.own[field], 0)]));

const parentOf = (record: AgentRecord, byUri: ReadonlyMap<string, AgentRecord>) => {
  const parent = (record as unknown as { parent: string | null }).parent;
  return parent === null ? null : scriptOf(byUri.get(parent) ?? {});
};
