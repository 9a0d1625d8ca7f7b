/**
 * Adding a product takes its folder and one line in the list of products. The tests add the line; everything else finds
 * the example by itself: reading, hooks, status line, wrapped commands, imports, API traffic, settings and URIs.
 */
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it, vi } from "vitest";
import { hook } from "../../src/app/hooks/hook.ts";
import { planHooks } from "../../src/app/hooks/hook-install.ts";
import { hookCommand, launcherPath } from "../../src/app/hooks/launcher.ts";
import { statusRequestIn } from "../../src/app/hooks/session-tree.ts";
import { importFile } from "../../src/app/import/import.ts";
import { readMachine } from "../../src/app/machine.ts";
import { resolve } from "../../src/app/query/resolve.ts";
import { readSettings } from "../../src/app/settings/settings.ts";
import { type Entry, readYaml } from "../../src/app/settings/yaml.ts";
import { threadKey } from "../../src/core/facts/ids.ts";
import { recordedNote } from "../../src/core/ports/recording.ts";
import { DEFAULT_REDACTION, Redactor } from "../../src/core/redaction/redaction.ts";
import type { AgentTree } from "../../src/core/views/agent.ts";
import { treeOf } from "../../src/core/views/record.ts";
import { PrintedBy } from "../../src/providers/kit/printed.ts";
import { PROVIDERS } from "../../src/providers/loaded.ts";
import { ExchangeReader } from "../../src/providers/proxy/exchange.ts";
import { providerContract } from "../contract/provider.ts";
import { recordedHome, recordedHomes } from "../support/fixtures.ts";
import { differences, type TreeNode } from "../support/judge.ts";
import { provider } from "./example-provider/provider.ts";

// The one line.
vi.mock("../../src/providers/index.ts", async (original) => ({
  ...(await original<object>()),
  ...(await import("./example-provider/manifest.ts")),
}));

const FIXTURES_OF_EXAMPLE = join(import.meta.dirname, "example-provider/fixtures");
const NESTED = recordedHome("example", "nested", FIXTURES_OF_EXAMPLE);
const THREAD = threadKey("example", "ex-41");

providerContract(provider, FIXTURES_OF_EXAMPLE);

const scratch = mkdtempSync(join(tmpdir(), "retinue-example-"));
afterAll(() => rmSync(scratch, { recursive: true }));
let homes = 0;
function emptyHome(): { HOME: string; RETINUE_HOME: string } {
  const home = join(scratch, String(homes++));
  mkdirSync(home);
  return { HOME: home, RETINUE_HOME: join(home, "retinue") };
}

/** The tree that retinue shows for the thread, with the providers of the list. */
async function shown(env: { HOME: string; RETINUE_HOME: string }, thread = THREAD): Promise<AgentTree> {
  const { forest } = await readMachine({ env });
  return treeOf(forest, thread, () => null);
}

const shapeOf = (tree: AgentTree): unknown => [tree.agentId, tree.children.map(shapeOf)];
const TRUE_SHAPE = [
  null,
  [
    ["alpha", [["beta", []]]],
    ["gamma", []],
  ],
];

it.each(recordedHomes("example", FIXTURES_OF_EXAMPLE))(
  "the records of $name give the true tree",
  async ({ home, threads }) => {
    const env = { ...emptyHome(), HOME: home };
    for (const thread of threads)
      expect(
        differences(
          thread,
          JSON.parse(JSON.stringify(await shown(env, threadKey("example", thread.root)))) as TreeNode,
        ),
      ).toEqual([]);
  },
);

it.each(["run", "hooks"])("recordings of %s give the same tree", async (source) => {
  const env = emptyHome();
  cpSync(join(NESTED.home, "../recordings/example", source), join(env.RETINUE_HOME, "recordings/example", source), {
    recursive: true,
  });
  expect(shapeOf(await shown(env))).toEqual(TRUE_SHAPE);
});

it("a hook's payload is recorded as the product's own, and its transcript is followed", async () => {
  const env = emptyHome();
  cpSync(join(NESTED.home, ".example"), join(env.HOME, "elsewhere"), { recursive: true });
  const payload = {
    hook_event_name: "Stop",
    session_id: "ex-41",
    example_version: "1.0.0",
    transcript_path: join(env.HOME, "elsewhere/threads/ex-41.jsonl"),
  };
  await hook(env, () => JSON.stringify(payload));
  expect(existsSync(join(env.RETINUE_HOME, "recordings/example/hooks/ex-41.jsonl"))).toBe(true);
  expect(shapeOf(await shown(env))).toEqual(TRUE_SHAPE);
});

it("hooks are installed in its settings", () => {
  const env = emptyHome();
  planHooks("install", "example", env).apply();
  expect(readFileSync(join(env.HOME, ".example/hooks.json"), "utf8")).toBe(
    `${JSON.stringify({ commands: [hookCommand(launcherPath(env))] })}\n`,
  );
});

it("a status line is requested for its threads", () => {
  expect(statusRequestIn({ example_thread: "ex-41", session_id: "ex-41" })).toMatchObject({
    provider: "example",
    thread: "ex-41",
  });
});

it("its output is recognised, and can be imported", async () => {
  const lines = readFileSync(join(NESTED.home, ".example/threads/ex-41.jsonl"), "utf8");
  expect(new PrintedBy(PROVIDERS).read(lines.split("\n")[0] ?? "")?.name).toBe("example");
  const env = emptyHome();
  const log = join(env.HOME, "log.jsonl");
  writeFileSync(log, lines);
  expect(await importFile(log, { env, replace: false })).toMatchObject({ provider: "example" });
  expect(shapeOf(await shown(env))).toEqual(TRUE_SHAPE);
});

it("its API traffic gives the same tree", async () => {
  const env = emptyHome();
  const folder = join(env.RETINUE_HOME, "recordings/proxy");
  mkdirSync(folder, { recursive: true });
  const asked = [null, "alpha", "beta", "gamma"].map((agent, i) =>
    exchange(`req-${i}`, {
      "x-example-thread": "ex-41",
      ...(agent === null ? {} : { "x-example-agent": agent }),
      ...(agent === "beta" ? { "x-example-parent": "alpha" } : {}),
    }),
  );
  writeFileSync(join(folder, "2026-11-17.jsonl"), asked.join(""));
  expect(shapeOf(await shown(env))).toEqual(TRUE_SHAPE);
});

/** A recorded exchange with Anthropic's API. */
function exchange(request: string, headers: Readonly<Record<string, string>>): string {
  const reader = new ExchangeReader(
    {
      request,
      method: "POST",
      path: "/v1/messages",
      upstream: "https://api.example",
      headers: Object.entries(headers).flat(),
      windowMs: null,
      process: null,
    },
    // As the proxy records it: values of headers that no product declares are withheld.
    { redactor: new Redactor(DEFAULT_REDACTION), seal: () => "[withheld]" },
  );
  const body = { model: "example-1", messages: [{ role: "user", content: `Do ${request}.` }] };
  const response = {
    id: `resp-${request}`,
    type: "message",
    model: "example-1",
    content: [{ type: "text", text: "done" }],
    stop_reason: "end_turn",
    usage: { input_tokens: 10, output_tokens: 2 },
  };
  const { row, pieces } = reader.asked(JSON.stringify(body), 100);
  const rows = [
    ...pieces,
    row,
    reader.answered(200, ["content-type", "application/json"]),
    ...reader.text(JSON.stringify(response), 100, 5),
    ...reader.ended("finished", null, 10),
  ];
  return rows.map((one) => recordedNote({ ...one }, Date.UTC(2026, 10, 17, 9))).join("");
}

it("settings and URIs accept its name", async () => {
  const { root } = readYaml("roots:\n  example: /srv/example\n") as { root: Entry };
  const { set, faults } = readSettings(root, "/home/dev");
  expect([set, faults]).toEqual([["roots.example"], []]);
  const { library } = await readMachine({ env: { ...emptyHome(), HOME: NESTED.home } });
  expect(resolve(library, "example://ex-41/beta").key).toContain("beta");
});
