/** Recordings of agents that start agents, changed so that the most obvious link would be wrong. */
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { AgentTree } from "../../src/core/views/agent.ts";
import { inFreshData, retinueJson } from "../support/cli.ts";
import { FIXTURES } from "../support/fixtures.ts";

const DAY_MS = 86_400_000;
const OTHER_ID = "01a1e4c3-0000-7000-8000-000000000000";

/** A copy of the home of a recording. */
function copyOf(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), "retinue-lineage-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const home = join(folder, "home");
  cpSync(join(FIXTURES, "lineage", name, "home"), home, { recursive: true });
  return home;
}

/** The files of a product in a home, by the end of their names. */
function filesIn(folder: string, end = ".jsonl"): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((path) => join(folder, path))
    .filter((path) => path.endsWith(end) && statSync(path).isFile())
    .sort();
}

const edit = (path: string, change: (text: string) => string) =>
  writeFileSync(path, change(readFileSync(path, "utf8")));

/** All times of a text, moved. */
const moved = (text: string, byMs: number) =>
  text
    .replaceAll(/\b2026-11-\d\dT[\d:.]+Z/g, (at) => new Date(Date.parse(at) + byMs).toISOString())
    .replaceAll(/\b1794\d{9}\b/g, (at) => String(Number(at) + byMs));

const idIn = (path: string) => /([0-9a-f]{8}-[0-9a-f-]{27})\.jsonl$/.exec(path)?.[1] ?? "";

/** The same thread under another id. */
function renamed(path: string): void {
  edit(path, (text) => text.replaceAll(idIn(path), OTHER_ID));
  renameSync(path, path.replace(idIn(path), OTHER_ID));
}

/** Another thread with the same content, at another time. */
function copied(path: string, byMs: number): void {
  const copy = path.replace(idIn(path), OTHER_ID);
  cpSync(path, copy);
  // Records with the same ids would be copies of a resumed thread.
  edit(copy, (text) =>
    moved(text, byMs)
      .replaceAll(/\b[0-9a-f]{8}(?=-[0-9a-f]{4}-)/g, (part) => [...part].reverse().join(""))
      .replaceAll([...idIn(path).slice(0, 8)].reverse().join("") + idIn(path).slice(8), OTHER_ID)
      .replaceAll(/\b(msg|req|toolu|resp)_0?/g, "$1_9"),
  );
}

/** The threads of a product, and their parents. */
async function parentsOf(home: string, provider: string): Promise<Map<string, string | null>> {
  return inFreshData(home, {}, async (env) => {
    const roots = (await retinueJson(home, ["ls", "--all"], env)) as { uri: string }[];
    const all: AgentTree[] = [];
    for (const { uri } of roots) all.push((await retinueJson(home, ["tree", uri], env)) as AgentTree);
    for (const one of all) all.push(...one.children);
    return new Map(
      all.filter((one) => one.provider === provider && one.agentId === null).map(({ uri, parent }) => [uri, parent]),
    );
  });
}

const MAIN = "claude://eeca70dd-49d8-4121-85f1-70d58e523220";
const CODEX = "codex://01a1e4c3-9ab0-70d3-a253-b9b470b937ad";

describe("a thread is not linked", () => {
  it("if the command printed the id of another one, although prompt, folder and time fit", async () => {
    const home = copyOf("claude-codex");
    rmSync(join(home, ".codex/state_5.sqlite"));
    rmSync(join(home, ".codex/thread_history_1.sqlite"));
    const [rollout = ""] = filesIn(join(home, ".codex/sessions"));
    renamed(rollout);
    expect(await parentsOf(home, "codex")).toEqual(new Map([[`codex://${OTHER_ID}`, null]]));
  });

  it("if it began before the command", async () => {
    const home = copyOf("own-codex-claude");
    const [child = ""] = filesIn(join(home, ".claude/projects"));
    edit(child, (text) => moved(text, -5_000));
    expect([...(await parentsOf(home, "claude")).values()]).toEqual([null]);
  });

  it("if the script printed something else", async () => {
    const home = copyOf("own-makefile");
    const [rollout = ""] = filesIn(join(home, ".codex/sessions"));
    edit(rollout, (text) => text.replaceAll("a.txt is fine: one line, nothing to change.", "There is nothing to say."));
    expect([...(await parentsOf(home, "codex")).values()]).toEqual([null]);
  });

  it("if it is of another home folder", async () => {
    const home = copyOf("own-makefile");
    const other = join(home, "../other");
    cpSync(join(home, ".codex"), join(other, ".codex"), { recursive: true });
    rmSync(join(home, ".codex"), { recursive: true });
    const found = await inFreshData(home, { CODEX_HOME: join(other, ".codex") }, async (env) =>
      retinueJson(home, ["ls", "--all"], env),
    );
    expect((found as { uri: string }[]).map(({ uri }) => uri.split(":")[0]).sort()).toEqual(["claude", "codex"]);
  });
});

describe("after a kill, without a result of the command,", () => {
  const killed = () => {
    const home = copyOf("own-codex-claude");
    const [rollout = ""] = filesIn(join(home, ".codex/sessions"));
    edit(rollout, (text) => {
      const lines = text.split("\n");
      const result = lines.findIndex((line) => /"function_call_output"|"CommandExecution"/.test(line));
      return `${lines.slice(0, result).join("\n")}\n`;
    });
    return home;
  };

  it("a thread that fits is linked", async () => {
    expect([...(await parentsOf(killed(), "claude")).values()]).toEqual([expect.stringContaining("codex://")]);
  });

  it("the same command of a person, days later, is not", async () => {
    const home = killed();
    const [child = ""] = filesIn(join(home, ".claude/projects"));
    copied(child, 2 * DAY_MS);
    const parents = await parentsOf(home, "claude");
    expect(parents.get(`claude://${OTHER_ID}`)).toBeNull();
    expect([...parents.values()].filter((parent) => parent !== null)).toHaveLength(1);
  });
});

describe("of two threads with the same prompt", () => {
  it("that fit one command, none is linked, and both are named as possible", async () => {
    const home = copyOf("own-codex-claude");
    const [child = ""] = filesIn(join(home, ".claude/projects"));
    copied(child, 1);
    expect([...(await parentsOf(home, "claude")).values()]).toEqual([null, null]);
    const why = (await inFreshData(home, {}, async (env) =>
      retinueJson(home, ["why", `claude://${OTHER_ID}`], env),
    )) as { undecided: string[] };
    expect(why.undecided.join("\n")).toContain(`claude://${idIn(child)}`);
  });

  it("the one whose id was printed is linked", async () => {
    const home = copyOf("claude-codex");
    const [rollout = ""] = filesIn(join(home, ".codex/sessions"));
    copied(rollout, 1);
    expect(await parentsOf(home, "codex")).toEqual(
      new Map([
        [CODEX, MAIN],
        [`codex://${OTHER_ID}`, null],
      ]),
    );
  });
});

/** What Codex writes while it runs: its environment. */
function snapshot(home: string, thread: string, atMs: number, session: string | null): void {
  const folder = join(home, ".codex/shell_snapshots");
  mkdirSync(folder, { recursive: true });
  const named = session === null ? "" : `declare -x CLAUDE_CODE_SESSION_ID="${session}"\n`;
  writeFileSync(join(folder, `${thread}.${atMs}000000.sh`), `# Snapshot file\n${named}declare -x HOME="/home/dev"\n`);
}

const createdAt = (thread: string) => Number.parseInt(thread.replaceAll("-", "").slice(0, 12), 16);

describe("while Codex runs, its environment names the session that started it", () => {
  it("and not that of the user's own run, with the same prompt", async () => {
    const home = copyOf("own-beside-user");
    const [session = ""] = filesIn(join(home, ".claude/projects")).map(idIn);
    const [first = "", second = ""] = filesIn(join(home, ".codex/sessions")).map(idIn);
    snapshot(home, first, createdAt(first), session);
    snapshot(home, second, createdAt(second), null);
    expect(await parentsOf(home, "codex")).toEqual(
      new Map([
        [`codex://${second}`, null],
        [`codex://${first}`, `claude://${session}`],
      ]),
    );
  });

  it("or continued it, which is no start", async () => {
    const home = copyOf("own-continued");
    const [session = ""] = filesIn(join(home, ".claude/projects")).map(idIn);
    const [thread = ""] = filesIn(join(home, ".codex/sessions")).map(idIn);
    snapshot(home, thread, createdAt(thread) + 20_000, session);
    expect([...(await parentsOf(home, "codex")).values()]).toEqual([null]);
  });
});

describe("a command whose prompt is in a file", () => {
  /** Without a result of the command; the thread begins so much later than it did. */
  const killed = (byMs: number) => {
    const home = copyOf("own-codex-claude");
    const [rollout = ""] = filesIn(join(home, ".codex/sessions"));
    edit(rollout, (text) => {
      const lines = text
        .replaceAll(/claude -p [\\]+"What is in a.txt, exactly\? @@inner[\\]+"/g, "claude -p < p.md")
        .split("\n");
      const result = lines.findIndex((line) => /"function_call_output"|"CommandExecution"/.test(line));
      return `${lines.slice(0, result).join("\n")}\n`;
    });
    const [child = ""] = filesIn(join(home, ".claude/projects"));
    edit(child, (text) => moved(text, byMs));
    return home;
  };

  it("started a thread that began at once", async () => {
    expect([...(await parentsOf(killed(0), "claude")).values()]).toEqual([expect.stringContaining("codex://")]);
  });

  it("did not start one that began minutes later, if it never returned", async () => {
    expect([...(await parentsOf(killed(300_000), "claude")).values()]).toEqual([null]);
  });
});

it("a thread with another prompt is not linked to a command that reads no input", async () => {
  const home = copyOf("own-unrelated");
  const [transcript = ""] = filesIn(join(home, ".claude/projects"));
  edit(transcript, (text) => text.replaceAll("sleep 3; ls", "codex exec 'Count all lines.' </dev/null; sleep 3; ls"));
  expect([...(await parentsOf(home, "codex")).values()]).toEqual([null]);
});

it("times with another offset are the same times", async () => {
  const home = copyOf("own-codex-claude");
  const shifted = (text: string) =>
    text.replaceAll(/\b2026-11-\d\dT[\d:.]+Z/g, (at) =>
      new Date(Date.parse(at) + 7_200_000).toISOString().replace("Z", "+02:00"),
    );
  for (const path of filesIn(join(home, ".claude/projects"))) edit(path, shifted);
  expect([...(await parentsOf(home, "claude")).values()]).toEqual([expect.stringContaining("codex://")]);
});

/** After every other id: of two equal sessions, the first is the original. */
const COPY_ID = "ffffffff-0000-4000-8000-000000000000";

describe("a session that started a thread and was continued elsewhere", () => {
  it("keeps the thread: the copy of its command started nothing", async () => {
    for (const name of ["claude-codex", "claude-wrapper-codex"]) {
      const home = copyOf(name);
      const [transcript = ""] = filesIn(join(home, ".claude/projects"));
      const original = idIn(transcript);
      // Resumed under another id, with all records so far.
      const copy = transcript.replace(original, COPY_ID);
      cpSync(transcript, copy);
      edit(copy, (text) => text.replaceAll(original, COPY_ID));
      expect([...(await parentsOf(home, "codex")).values()]).toEqual([`claude://${original}`]);
    }
  });

  it("keeps it, too, if the thread itself was copied", async () => {
    const home = copyOf("own-codex-claude");
    const [child = ""] = filesIn(join(home, ".claude/projects"));
    const original = idIn(child);
    const copy = child.replace(original, COPY_ID);
    cpSync(child, copy);
    edit(copy, (text) => text.replaceAll(original, COPY_ID));
    const parents = await parentsOf(home, "claude");
    expect([...parents].filter(([, parent]) => parent !== null).map(([uri]) => uri)).toEqual([`claude://${original}`]);
  });
});
