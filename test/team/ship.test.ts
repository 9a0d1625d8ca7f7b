/** Machines that ship to a real team server: what it answers is what they show. */
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { explainAgent, filesOfAgent } from "../../src/app/explain/explain.ts";
import type { Library } from "../../src/app/ingest/library.ts";
import { loadSettings } from "../../src/app/settings/settings.ts";
import { Connection, shipOnce } from "../../src/app/ship/connection.ts";
import { targetOf } from "../../src/app/ship/target.ts";
import { agentOf, subtreeOf } from "../../src/core/link/forest.ts";
import { DEFAULT_REDACTION, Redactor } from "../../src/core/redaction/redaction.ts";
import type { AgentRecord, AgentTree } from "../../src/core/views/agent.ts";
import type { AgentEvent } from "../../src/core/views/event.ts";
import { treeOf } from "../../src/core/views/record.ts";
import { shortened } from "../../src/server/cut.ts";
import { openDatabase } from "../../src/stores/postgres/database.ts";
import { retinue } from "../support/cli.ts";
import { caseNames, filesBelow, RECORDED, recordedHome } from "../support/fixtures.ts";
import { localEvents } from "../support/local-events.ts";
import { libraryIn } from "../support/shipping.ts";
import { startTeam, type TestTeam } from "./server.ts";

const NOW = Date.UTC(2030, 0);
const REDACTOR = new Redactor(DEFAULT_REDACTION);

let team: TestTeam;
let scratch: string;
beforeAll(async () => {
  scratch = mkdtempSync(join(tmpdir(), "retinue-team-"));
  team = await startTeam(2);
});
afterAll(async () => {
  await team.close();
  rmSync(scratch, { recursive: true, force: true, maxRetries: 3 });
});

/** A home with these recordings. */
function machine(name: string, cases: readonly (readonly [string, string])[]): string {
  const home = join(scratch, name, "home");
  mkdirSync(home, { recursive: true });
  for (const [provider, one] of cases)
    cpSync(recordedHome(provider, one).home, home, { recursive: true, preserveTimestamps: true });
  return home;
}

const envOf = (home: string, token: string) => ({
  PATH: process.env.PATH ?? "",
  HOME: home,
  RETINUE_HOME: join(home, "..", "data"),
  RETINUE_TEAM_TOKEN: token,
});

async function shipFrom(library: Library, home: string, token: string, server = 0): Promise<string | null> {
  const env = envOf(home, token);
  const settings = await loadSettings(env);
  const target = targetOf(env, settings, team.servers[server]?.url);
  if (target === null) throw new Error("no target");
  const { signal } = new AbortController();
  const connection = await Connection.open({ env, settings, target, library, notify: () => {}, signal });
  try {
    return await shipOnce(connection, 60_000, signal);
  } finally {
    connection.close();
  }
}

/** JSON, without what only team servers add. */
const plain = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (key, item: unknown) => (key === "owner" ? undefined : item)));

async function expectAnswers(library: Library, token: string, server: number): Promise<number> {
  let threads = 0;
  for (const forest of library.forests()) {
    for (const root of forest.roots) {
      threads += 1;
      const at = `/api/agents/${encodeURIComponent(agentOf(forest, root).uri)}`;
      const tree = treeOf(forest, root, library.price);
      expect(plain(await team.json<AgentTree>(at, token, server))).toEqual(plain(REDACTOR.tree(tree)));
      for (const key of subtreeOf(forest, root)) {
        const { uri } = agentOf(forest, key);
        const path = `/api/agents/${encodeURIComponent(uri)}/events?limit=1000`;
        const { items } = await team.json<{ items: AgentEvent[] }>(path, token, server);
        const local = await localEvents(library, forest, key);
        expect(plain(items)).toEqual(plain(local.map((event) => shortened(event))));
      }
      expect(plain(await team.json(`${at}/explain`, token, server))).toEqual(
        plain(await explainAgent(library, forest, root)),
      );
      const files = await team.json<{ items: { path: string }[] }>(`${at}/files`, token, server);
      const local = await filesOfAgent(library, forest, root);
      expect(files.items.map(({ path }) => path)).toEqual(local.map(({ path }) => path));
    }
  }
  return threads;
}

describe("two machines", () => {
  it("see on either server what each of them shipped, and nothing of other owners", async () => {
    const [ann, bob] = [await team.token("ann", "ship", "core"), await team.token("bob", "ship")];
    const [readCore, readBob] = [await team.token("lead", "read", "core"), await team.token("bob", "read")];
    const homes = [
      machine("ann", [["claude", "c3-nested-parallel"]]),
      machine("bob", [["codex", "v1-nested"]]),
    ] as const;
    for (const [home, token] of [
      [homes[0], ann],
      [homes[1], bob],
    ] as const) {
      const url = team.servers[0]?.url ?? "";
      const { code, stderr } = await retinue(home, ["ship", "--once", "--to", url], envOf(home, token));
      expect([code, stderr]).toEqual([0, ""]);
    }
    const localOf = async (home: string) =>
      JSON.parse((await retinue(home, ["ls", "--json"], envOf(home, ""))).stdout) as AgentRecord[];
    const listed = await team.json<{ items: (AgentRecord & { owner: string })[] }>("/api/threads", readCore, 1);
    expect(plain(listed.items)).toEqual(plain(await localOf(homes[0])));
    expect(listed.items.map(({ owner }) => owner)).toEqual(["ann"]);
    const tree = await team.get(`/api/agents/${encodeURIComponent(listed.items[0]?.uri ?? "")}`, readCore);
    const text = await tree.text();
    expect(text.match(/"owner":"ann"/g)?.length).toBe(text.match(/"schema":"retinue\/agent@1"/g)?.length);
    const bobs = await team.json<{ items: AgentRecord[] }>("/api/threads", readBob, 1);
    expect(plain(bobs.items)).toEqual(plain(await localOf(homes[1])));
    const foreign = `/api/agents/${encodeURIComponent(bobs.items[0]?.uri ?? "")}`;
    expect((await team.get(foreign, readCore)).status).toBe(404);
    expect((await team.get(foreign, "wrong")).status).toBe(401);
    expect((await team.get("/api/threads", ann)).status).not.toBe(200);
    const refused = await retinue(homes[0], ["ship", "--once", "--to", team.servers[0]?.url ?? ""], {
      ...envOf(homes[0], readCore),
      RETINUE_HOME: join(scratch, "other-data"),
    });
    expect(refused.code).toBe(1);
  });
});

describe("the same thread on two machines of one person", () => {
  it.each([
    { order: ["half", "whole"], owner: "flo" },
    { order: ["whole", "half"], owner: "gus" },
  ])("is the copy that is ahead if they ship in the order $order", async ({ order, owner }) => {
    const [shipToken, readToken] = [await team.token(owner, "ship"), await team.token(owner, "read")];
    const homes = new Map(order.map((name) => [name, machine(`${owner}-${name}`, [["claude", "c3-nested-parallel"]])]));
    const half = homes.get("half") ?? "";
    const [path = ""] = filesBelow(half).filter((file) => /claude\/projects\/[^/]+\/[^/]+\.jsonl$/.test(file));
    const all = readFileSync(join(half, path), "utf8");
    writeFileSync(join(half, path), all.slice(0, all.lastIndexOf("\n", all.length / 2) + 1));
    const libraries = new Map([...homes].map(([name, home]) => [name, libraryIn(home, () => NOW)]));
    // The second time nothing is new, except what the server asks for.
    for (const name of [...order, ...order]) {
      const library = libraries.get(name) as Library;
      await library.refresh();
      expect(await shipFrom(library, homes.get(name) ?? "", shipToken)).toBeNull();
    }
    expect(await expectAnswers(libraries.get("whole") as Library, readToken, 1)).toBe(1);
  });
});

describe("a machine whose token is replaced by one of another person, and put back", () => {
  it("sends everything to the person whose token it is", async () => {
    const home = machine("hal", [["claude", "c-nested"]]);
    const [hal, ida] = await Promise.all(
      (["hal", "ida"] as const).map(async (owner) => ({
        ships: await team.token(owner, "ship"),
        reads: await team.token(owner, "read"),
      })),
    );
    const [path = ""] = filesBelow(home).filter((file) => /projects\/[^/]+\/[^/]+\.jsonl$/.test(file));
    const [line = ""] = readFileSync(join(home, path), "utf8")
      .split("\n")
      .filter((one) => one.includes('"type":"user"'));
    const library = libraryIn(home, () => NOW);
    let grown = 0;
    const shipGrown = async (person: typeof hal) => {
      grown += 1;
      const uuid = `22222222-0000-4000-8000-00000000000${grown}`;
      appendFileSync(join(home, path), `${JSON.stringify({ ...JSON.parse(line), uuid })}\n`);
      await library.refresh();
      expect(await shipFrom(library, home, person?.ships ?? "")).toBeNull();
      expect(await expectAnswers(library, person?.reads ?? "", 0)).toBe(1);
    };
    // The server has more shipments of the one than it will have of the other.
    for (const person of [hal, hal, hal, hal, hal, ida, hal, ida]) await shipGrown(person);
  });
});

describe("a team server whose database was restored from a backup", () => {
  it("gets again what it has lost, also if nothing is new", async () => {
    const [shipToken, readToken] = [await team.token("eve", "ship"), await team.token("eve", "read")];
    const home = machine("eve", [["claude", "c3-nested-parallel"]]);
    const library = libraryIn(home, () => NOW);
    await library.refresh();
    expect(await shipFrom(library, home, shipToken)).toBeNull();
    expect(await shipFrom(library, home, shipToken)).toBeNull();
    const database = await openDatabase(team.database);
    try {
      for (const statement of [
        "delete from retinue.events where owner = 'eve'",
        "delete from retinue.logs where owner = 'eve'",
        "update retinue.machines set shipments = 1 where owner = 'eve'",
      ])
        await database.all(statement, []);
    } finally {
      await database.close();
    }
    expect(await shipFrom(library, home, shipToken)).toBeNull();
    expect(await expectAnswers(library, readToken, 0)).toBe(1);
  });
});

describe("recordings of every product", () => {
  it("are on the team server as they are here, and follow when they grow", async () => {
    const [shipToken, readToken] = [await team.token("cid", "ship"), await team.token("cid", "read")];
    const home = machine(
      "cid",
      RECORDED.flatMap(({ name }) =>
        caseNames(name)
          .slice(0, 2)
          .map((one) => [name, one] as const),
      ),
    );
    const [path = ""] = filesBelow(home).filter((file) => /claude\/projects\/[^/]+\/[^/]+\.jsonl$/.test(file));
    const whole = readFileSync(join(home, path), "utf8");
    const half = whole.lastIndexOf("\n", whole.length / 2) + 1;
    writeFileSync(join(home, path), whole.slice(0, half));
    const library = libraryIn(home, () => NOW);
    await library.refresh();
    expect(await shipFrom(library, home, shipToken)).toBeNull();
    expect(await expectAnswers(library, readToken, 1)).toBeGreaterThan(RECORDED.length);
    appendFileSync(join(home, path), whole.slice(half));
    await library.refresh();
    expect(await shipFrom(library, home, shipToken, 1)).toBeNull();
    await expectAnswers(library, readToken, 0);
  });
});
