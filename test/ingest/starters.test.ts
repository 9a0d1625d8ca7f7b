/** The environment of a running thread's process decides which agent started the thread. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { StarterWatch } from "../../src/app/live/starters.ts";
import { openLibrary } from "../../src/app/open.ts";
import { loadSettings } from "../../src/app/settings/settings.ts";
import { threadKey } from "../../src/core/facts/ids.ts";
import { FIXTURES } from "../support/fixtures.ts";

const PARENT = threadKey("claude", "73ad292f-6f69-4109-a213-818e4e41024d");
const CHILD = threadKey("codex", "01a1e4c7-28ef-7c92-b254-9dfb2612a621");
const SECRET = "sk-not-a-real-secret";

function homeWithProcess() {
  const folder = mkdtempSync(join(tmpdir(), "retinue-starters-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const home = join(folder, "home");
  cpSync(join(FIXTURES, "lineage/claude-agent-codex-parallel-quiet/home"), home, { recursive: true });
  // The process of the thread is that of this test.
  const sessions = join(home, ".claude", "sessions");
  mkdirSync(sessions, { recursive: true });
  const sessionId = "73ad292f-6f69-4109-a213-818e4e41024d";
  writeFileSync(
    join(sessions, `${process.pid}.json`),
    JSON.stringify({ pid: process.pid, sessionId, cwd: "/", startedAt: Date.now() }),
  );
  return { HOME: home, RETINUE_HOME: join(folder, "data"), TMPDIR: folder };
}

describe("the processes of running threads", () => {
  it("are read once, and only the variables that name an agent are recorded", async () => {
    const env = homeWithProcess();
    const library = await openLibrary({ env, settings: await loadSettings(env), notify: () => {} });
    onTestFinished(() => library.close());
    await library.refresh();
    const pids: number[] = [];
    const watch = new StarterWatch(library, (pid, names) => {
      pids.push(pid);
      const all = { CODEX_THREAD_ID: CHILD.slice("codex:".length), OPENAI_API_KEY: SECRET };
      const variables = Object.fromEntries(Object.entries(all).filter(([name]) => names.has(name)));
      return { pid, startedAt: 1, ancestors: [], variables };
    });
    const recording = watch.check([PARENT]);
    watch.check([PARENT]);
    expect(pids).toEqual([process.pid]);
    const lines = readFileSync(recording ?? "", "utf8");
    expect(lines).toContain(CHILD);
    expect(lines).not.toContain(SECRET);
    // The record is read like every other one.
    await library.refresh();
    const { observations } = library.store.facts([PARENT], library.under);
    expect(observations.filter((o) => o.type === "starter-seen")).toMatchObject([
      { thread: PARENT, starters: [{ agent: CHILD, exact: true }] },
    ]);
  });

  it("are recorded as started by no agent if no variable names one; a marker without an id records nothing", async () => {
    const env = homeWithProcess();
    const library = await openLibrary({ env, settings: await loadSettings(env), notify: () => {} });
    onTestFinished(() => library.close());
    await library.refresh();
    const watch = new StarterWatch(library, (pid) => ({ pid, startedAt: 1, ancestors: [], variables: {} }));
    expect(readFileSync(watch.check([PARENT]) ?? "", "utf8")).toContain('"starters":[]');
    // The marker shows that an agent started it, but not which one.
    const marked = new StarterWatch(library, (pid) => ({
      pid,
      startedAt: 1,
      ancestors: [],
      variables: { AGENT: "1" },
    }));
    expect(marked.check([PARENT])).toBeNull();
  });
});
