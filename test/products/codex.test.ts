/**
 * Threads of Codex, whatever the order and state of their files: each is a separate file, and together they form one
 * tree.
 */
import { spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { zstdCompressSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import { Library } from "../../src/app/ingest/library.ts";
import { readEvents } from "../../src/app/query/events.ts";
import { search } from "../../src/app/query/search.ts";
import type { Store } from "../../src/core/ports/store.ts";
import type { AgentTree } from "../../src/core/views/agent.ts";
import { treeOf } from "../../src/core/views/record.ts";
import { provider as codex } from "../../src/providers/codex/provider.ts";
import { MemoryStore } from "../../src/stores/memory.ts";
import { openSqliteStore } from "../../src/stores/sqlite/store.ts";
import { processLiveness } from "../../src/transports/processes.ts";
import { retinue, retinueJson } from "../support/cli.ts";
import { filesBelow, recordedHome } from "../support/fixtures.ts";
import { needsLinux } from "../support/needs.ts";

const NOW = Date.parse("2027-01-01");
const STORES: readonly [string, (folder: string) => Promise<Store>][] = [
  ["memory", async () => new MemoryStore()],
  ["sqlite", (folder) => openSqliteStore(join(folder, "index.sqlite"), "test")],
];

/** A home to which the files of a recording are added one by one. */
class Home {
  readonly path: string;
  readonly #from: string;
  /** From the file of the root on, in the order of creation. */
  readonly files: readonly string[];

  constructor(name: string) {
    this.path = mkdtempSync(join(tmpdir(), "retinue-codex-"));
    onTestFinished(() => rmSync(this.path, { recursive: true }));
    this.#from = recordedHome("codex", name).home;
    const time = (file: string) => file.slice(file.search(/[0-9a-f]{8}-[0-9a-f]{4}-7/));
    this.files = filesBelow(this.#from)
      .filter((file) => file.includes("rollout-"))
      .sort((a, b) => (time(a) < time(b) ? -1 : 1));
  }

  put(file: string, change: (text: string) => string = (text) => text): void {
    mkdirSync(join(this.path, file, ".."), { recursive: true });
    writeFileSync(join(this.path, file), change(readFileSync(join(this.#from, file), "utf8")));
  }

  putAll(): this {
    cpSync(this.#from, this.path, { recursive: true });
    return this;
  }

  library(store: Store, liveness: typeof processLiveness = () => "unknown"): Library {
    const env = { HOME: this.path, RETINUE_HOME: join(this.path, "data") };
    return new Library({ env, store, price: () => null, now: () => NOW, liveness, providers: [codex] });
  }
}

const idIn = (file: string) => /([0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{21})\.jsonl/.exec(file)?.[1] ?? "";

function treesOf(library: Library): AgentTree[] {
  const roots = library.store.roots({ under: library.under, limit: 99 }).map((r) => r.key);
  const forest = library.forestOf(roots);
  return forest.roots.map((key) => treeOf(forest, key, () => null));
}

/** The tree by the last part of each URI, with the calls of each agent. */
const shape = (tree: AgentTree): unknown => [
  tree.uri.split("/").at(-1),
  tree.usage.own.calls,
  ...tree.children.map(shape),
];

it("warns that the usage of a response is missing that the answer of a child cut off", async () => {
  const home = new Home("v2-single");
  const [root = "", child = ""] = home.files;
  const begun = (line: string) => line.includes('"type":"response_item","payload":{"type":"reasoning"');
  home.put(child);
  home.put(root, (text) => {
    const lines = text.split("\n");
    const mail = lines.findIndex((line) => line.includes('"type":"agent_message"'));
    return lines.toSpliced(mail, 0, lines.find(begun) ?? "").join("\n");
  });
  const [tree] = treesOf(await synced(home.library(new MemoryStore())));
  const [whole] = treesOf(await synced(new Home("v2-single").putAll().library(new MemoryStore())));
  expect(whole?.warnings).toEqual([]);
  expect(tree?.warnings).toEqual([expect.stringContaining("a response was cut off before Codex recorded its usage")]);
  expect(tree?.usage).toEqual(whole?.usage);
});

async function synced(library: Library): Promise<Library> {
  await library.refresh();
  return library;
}

describe.each(STORES)("threads that name each other, in the store %s", (_, open) => {
  it.each([
    ["root first", (files: readonly string[]) => files],
    ["root last", (files: readonly string[]) => files.toReversed()],
    [
      "the middle first",
      ([root = "", alpha = "", beta = "", gamma = ""]: readonly string[]) => [beta, gamma, root, alpha],
    ],
  ])("form one tree, %s", async (_order, order) => {
    const home = new Home("v2-nested");
    const [root, alpha, beta, gamma] = home.files.map(idIn);
    const store = await open(home.path);
    const library = home.library(store);
    for (const file of order(home.files)) {
      home.put(file);
      await library.refresh();
      expect(treesOf(library)).toHaveLength(1);
    }
    expect(treesOf(library).map(shape)).toEqual([[root, 4, [alpha, 3, [beta, 3, [gamma, 2]]]]]);
    expect(store.named(alpha ?? "", library.under).map((row) => row.uri)).toEqual([`codex://${root}/${alpha}`]);
    store.close();
  });

  it("are below a root whose own file is missing, which is reported", async () => {
    const home = new Home("v2-nested");
    const [root, ...below] = home.files;
    for (const file of below) home.put(file);
    const library = home.library(await open(home.path));
    await library.refresh();
    const [tree, ...more] = treesOf(library);
    expect({ uri: tree?.uri, status: tree?.status, more: more.length, below: tree?.counts.descendants }).toEqual({
      uri: `codex://${idIn(root ?? "")}`,
      status: "notFound",
      more: 0,
      below: 3,
    });
    expect(library.store.problems(1).map((p) => p.code)).toEqual(["thread-missing"]);
    library.close();
  });

  it("are below their root, although the file between them is missing", async () => {
    const home = new Home("v2-nested");
    const [root = "", alpha = "", , gamma = ""] = home.files;
    for (const file of [root, alpha, gamma]) home.put(file);
    const library = home.library(await open(home.path));
    await library.refresh();
    const beta = idIn(home.files[2] ?? "");
    expect(treesOf(library).map(shape)).toEqual([[idIn(root), 4, [idIn(alpha), 3, [beta, 0, [idIn(gamma), 2]]]]]);
    // Without alpha's file too, only the session id connects them.
    const other = new Home("v2-nested");
    for (const file of [root, gamma]) other.put(file, (text) => (file === root ? (text.split("\n")[0] ?? "") : text));
    const less = other.library(await open(other.path));
    await less.refresh();
    expect(treesOf(less).map(shape)).toEqual([[idIn(root), 0, [beta, 0, [idIn(gamma), 2]]]]);
    less.close();
    library.close();
  });

  it("of old versions, which name only their direct parent, form one tree", async () => {
    const home = new Home("v2-nested");
    const old = (text: string) =>
      text.replace(/"session_id":"[^"]*",/g, "").replace(/"parent_thread_id":"[^"]*","timestamp"/, '"timestamp"');
    for (const file of home.files.toReversed()) home.put(file, old);
    const library = home.library(await open(home.path));
    await library.refresh();
    const [root, alpha, beta, gamma] = home.files.map(idIn);
    expect(treesOf(library).map(shape)).toEqual([[root, 4, [alpha, 3, [beta, 3, [gamma, 2]]]]]);
    library.close();
  });
});

describe("a parent that was killed right after its spawn call", () => {
  const upToCall = (text: string) => {
    const lines = text.split("\n");
    return `${lines.slice(0, lines.findIndex((line) => /"type":"function_call",.*"name":"spawn_agent"/.test(line)) + 1).join("\n")}\n`;
  };

  it.each(["v1-single", "v2-single", "any-fork@0.107.0", "any-v2@0.121.0"])(
    "has only the child that its call spawned: %s",
    async (name) => {
      const home = new Home(name);
      const [root = "", child = ""] = home.files;
      home.put(root, upToCall);
      home.put(child);
      const library = home.library(new MemoryStore());
      await library.refresh();
      const [tree] = treesOf(library);
      expect(tree?.children.map((c) => [c.agentId, c.link?.toolCallId?.startsWith("call_")])).toEqual([
        [idIn(child), true],
      ]);
    },
  );

  it("has an agent for the call if the child left no file", async () => {
    const home = new Home("v2-single");
    home.put(home.files[0] ?? "", upToCall);
    const library = home.library(new MemoryStore());
    await library.refresh();
    expect(treesOf(library)[0]?.children.map((c) => [c.status, c.prompt])).toEqual([
      ["notFound", "[[role:alpha]] do the alpha task"],
    ]);
  });
});

describe.each(STORES)("a rollout that is moved, in the store %s", (_, open) => {
  const plain = (trees: readonly AgentTree[]): unknown =>
    trees.map(({ children, usage, counts, status, warnings }) => ({
      usage,
      counts,
      status,
      warnings,
      children: plain(children),
    }));

  it("gives the same tree when archived, compressed and restored, and is counted once", async () => {
    const home = new Home("v2-nested").putAll();
    const library = home.library(await open(home.path));
    await library.refresh();
    const before = plain(treesOf(library));
    const live = (file: string) => join(home.path, file);
    const archived = (file: string) =>
      join(home.path, ".codex/archived_sessions", file.slice(file.lastIndexOf("/") + 1));
    mkdirSync(join(home.path, ".codex/archived_sessions"));
    for (const file of home.files) renameSync(live(file), archived(file));
    await library.refresh();
    expect(plain(treesOf(library))).toEqual(before);
    expect(treesOf(library)[0]?.records.map((r) => r.path)).toEqual([archived(home.files[0] ?? "")]);
    for (const file of home.files) {
      writeFileSync(`${archived(file)}.zst`, zstdCompressSync(readFileSync(archived(file))));
      rmSync(archived(file));
    }
    await library.refresh();
    expect(plain(treesOf(library))).toEqual(before);
    for (const file of home.files) {
      rmSync(`${archived(file)}.zst`);
      home.put(file);
    }
    await library.refresh();
    expect(plain(treesOf(library))).toEqual(before);
    library.close();
  });

  it("is handled whether its removal or its new place is reported first", async () => {
    const home = new Home("v2-single").putAll();
    const [root = "", child = ""] = home.files.map((file) => join(home.path, file));
    const library = home.library(await open(home.path));
    await library.refresh();
    const before = plain(treesOf(library));
    const archive = join(home.path, ".codex/archived_sessions");
    mkdirSync(archive);
    const moved = (path: string) => join(archive, path.slice(path.lastIndexOf("/") + 1));
    for (const path of [root, child]) renameSync(path, moved(path));
    for (const path of [root, moved(root), moved(child), child]) await library.refreshPaths([path]);
    expect(plain(treesOf(library))).toEqual(before);
    library.close();
  });

  it("that is migrated in place is counted as before", async () => {
    const home = new Home("any-fork@0.121.0").putAll();
    const library = home.library(await open(home.path));
    await library.refresh();
    const numbers = (trees: readonly AgentTree[]): unknown =>
      trees.map(({ children, usage, status }) => ({ usage, status, children: numbers(children) }));
    const before = numbers(treesOf(library));
    const migrated = new Home("any-fork@0.121.0-migrated");
    for (const file of migrated.files) {
      // A new file replaces the old one.
      rmSync(join(home.path, file));
      cpSync(join(recordedHome("codex", "any-fork@0.121.0-migrated").home, file), join(home.path, file));
    }
    await library.refresh();
    expect(numbers(treesOf(library))).toEqual(before);
    library.close();
  });
});

describe("a compressed rollout", () => {
  it("is read and searched, and its problems are reported, like any other", async () => {
    const home = new Home("v2-packed").putAll();
    const library = home.library(new MemoryStore());
    await library.refresh();
    expect(library.unfinished()).toEqual([]);
    const [tree] = treesOf(library);
    const forest = library.forestOf(library.store.roots({ under: library.under, limit: 1 }).map((r) => r.key));
    const [root] = forest.roots;
    const events = await readEvents(library, forest, root === undefined ? [] : [root]);
    expect(events.map((e) => e.kind)).toContain("assistant");
    expect(events.filter((e) => e.usage !== null)).toHaveLength(tree?.usage.own.calls ?? 0);
    expect((await search(library, ["gamma", "result"], 5)).map((f) => f.snippet)).toContain("gamma result");
  });

  it("that is truncated is reported, and the part before it is shown", async () => {
    const home = new Home("v2-packed").putAll();
    const library = home.library(new MemoryStore());
    await library.refresh();
    const before = treesOf(library).map(shape);
    const path = join(home.path, home.files[0] ?? "");
    writeFileSync(path, readFileSync(path).subarray(0, 2_000));
    await library.refresh();
    expect(library.problems.map((p) => [p.code, p.where])).toEqual([["file-unreadable", path]]);
    expect(treesOf(library).map(shape)).toEqual(before);
  });
});

describe("a thread whose writer holds its lock", () => {
  it("runs, and is shut down when the lock is released", async (context) => {
    needsLinux("flock(1)")(context);
    const home = new Home("v2-kill");
    cpSync(join(recordedHome("codex", "v2-kill").home, "../home-at-kill"), home.path, { recursive: true });
    const locks = join(home.path, ".codex/thread-writer-locks");
    const held = readdirSync(locks).map((name) =>
      spawn("flock", [join(locks, name), "sleep", "30"], { stdio: "ignore", detached: true }),
    );
    const ended = held.map((child) => new Promise((resolve) => child.once("exit", resolve)));
    const library = home.library(new MemoryStore(), processLiveness);
    await library.refresh();
    const statuses = () => treesOf(library).flatMap((tree) => [tree.status, ...tree.children.map((c) => c.status)]);
    await expect.poll(statuses).toEqual(["running", "running"]);
    for (const child of held) process.kill(-(child.pid as number), "SIGKILL");
    await Promise.all(ended);
    await expect.poll(statuses).toEqual(["shutdown", "shutdown"]);
  });
});

describe("an agent of Codex", () => {
  const { home, threads } = recordedHome("codex", "v2-nested");
  const root = threads[0]?.root ?? "";
  const beta = threads[0]?.agents[2]?.agentId ?? "";

  it.each([
    ["its thread", `codex://${root}/${beta}`],
    ["its path", `codex://${root}/root/alpha/beta`],
    ["the path below latest", "codex://latest/root/alpha/beta"],
    ["the app's form", `codex://threads/${root}/root/alpha/beta`],
    ["agents://", `agents://codex/${root}/root/alpha/beta`],
    ["its thread alone", `codex://${beta}`],
  ])("can be addressed by %s", async (_name, uri) => {
    expect(((await retinueJson(home, ["tree", uri])) as AgentTree).uri).toBe(`codex://${root}/${beta}`);
  });

  it.each([
    [`codex://${root}/root/nobody`, 1, /no agent \/root\/nobody/],
    [`codex://${root}/a/b`, 2, /more than two parts/],
    ["codex://not-an-id!", 2, /cannot be a thread id/],
  ])("cannot be addressed by %s", async (uri, code, words) => {
    const result = await retinue(home, ["tree", uri]);
    expect({ code: result.code, stderr: result.stderr }).toEqual({ code, stderr: expect.stringMatching(words) });
  });

  it("has its parent confirmed by both transcripts and by Codex's own list", async () => {
    const { parentEvidence } = (await retinueJson(home, ["why", `codex://${root}/${beta}`])) as {
      parentEvidence: { rule: string; source: string; parent: string }[];
    };
    const agreeing = parentEvidence.filter((e) => e.parent === `codex://${root}/${threads[0]?.agents[1]?.agentId}`);
    expect(agreeing.map((e) => [e.rule, e.source])).toEqual([
      ["thread_spawn_edges", "protocol"],
      ["SubAgentActivity", "parent_rollout"],
      ["session_meta.parent_thread_id", "child_rollout"],
    ]);
  });

  it("is not a top-level thread, while a user's fork is, and names its origin", async () => {
    const forked = recordedHome("codex", "v2-archive-fork");
    const listed = (await retinueJson(forked.home, ["ls"])) as AgentTree[];
    const [first, second] = forked.threads.map((t) => t.root);
    expect(listed.map((r) => [r.sessionId, r.forkedFrom])).toEqual([
      [second, `codex://${first}`],
      [first, null],
    ]);
  });

  it("with an encrypted task is marked as such, and no ciphertext is shown", async () => {
    const secret = recordedHome("codex", "v2-encrypted");
    const uri = "codex://latest/root/alpha";
    const tree = (await retinueJson(secret.home, ["tree", uri])) as AgentTree;
    expect([tree.prompt, tree.description, tree.warnings]).toEqual([
      null,
      "/root/alpha",
      ["its task text is encrypted by Codex and cannot be shown"],
    ]);
    for (const words of [
      ["tree", "codex://latest"],
      [uri, "--full"],
      ["codex://latest", "--full"],
      ["events", "codex://latest", "--subtree"],
    ])
      expect((await retinue(secret.home, words)).stdout).not.toMatch(/gAAAA/);
  });
});
