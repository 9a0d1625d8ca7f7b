/** Sessions that a person continues elsewhere: forked, promoted, or resumed on another machine and imported. */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { AgentTree } from "../../src/core/views/agent.ts";
import type { Why } from "../../src/core/views/why.ts";
import { inFreshData, retinue, retinueJson } from "../support/cli.ts";
import { recordedHome } from "../support/fixtures.ts";

function copyOf(provider: string, name: string): { readonly home: string; readonly elsewhere: string } {
  const folder = mkdtempSync(join(tmpdir(), "retinue-continued-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const [home, elsewhere] = [join(folder, "home"), join(folder, "elsewhere")];
  cpSync(recordedHome(provider, name).home, home, { recursive: true });
  cpSync(home, elsewhere, { recursive: true });
  return { home, elsewhere };
}

/** The transcript of a thread in a home. */
function transcriptIn(home: string, id: string): string {
  const found = readdirSync(home, { recursive: true, encoding: "utf8" }).find((path) => path.endsWith(`${id}.jsonl`));
  return join(home, found ?? "none");
}

/** First, a fork of it, and a fork of that. */
const FORKS = [
  "027085e1-a406-43b9-a433-415a2b56950d",
  "7627ff93-32af-4f7e-9d5e-b64d55b328b1",
  "4ee141c9-fd2e-4687-8225-1c04f7b208bf",
] as const;
const [FIRST, SECOND, THIRD] = FORKS;

describe("a session that is continued elsewhere", () => {
  it("is named by its copies, and names them", async () => {
    const { home } = copyOf("claude", "h2-forks");
    await inFreshData(home, {}, async (env) => {
      const why = async (id: string) => (await retinueJson(home, ["why", `claude://${id}`], env)) as Why;
      expect(await why(FIRST)).toMatchObject({ forkedFrom: null, continuedIn: [`claude://${SECOND}`] });
      expect(await why(SECOND)).toMatchObject({
        forkedFrom: `claude://${FIRST}`,
        continuedIn: [`claude://${THIRD}`],
      });
      const { stdout } = await retinue(home, ["tree", `claude://${FIRST}`], env);
      expect(stdout).toContain(`continued in claude://${SECOND}, a copy of claude://${FIRST}`);
    });
  });

  it("names the copy of another machine once that is imported, and keeps its own usage", async () => {
    const { home, elsewhere } = copyOf("claude", "h2-forks");
    // Only the first session was here.
    for (const id of [SECOND, THIRD]) {
      const path = transcriptIn(home, id);
      rmSync(path);
      rmSync(path.replace(/\.jsonl$/, ""), { recursive: true, force: true });
    }
    await inFreshData(home, {}, async (env) => {
      const before = (await retinueJson(home, ["tree", FIRST], env)) as AgentTree;
      const { code, stderr } = await retinue(home, ["import", transcriptIn(elsewhere, SECOND)], env);
      expect({ code, stderr: code === 0 ? "" : stderr }).toEqual({ code: 0, stderr: "" });
      const why = (await retinueJson(home, ["why", FIRST], env)) as Why;
      expect(why.continuedIn).toEqual([`claude://${SECOND}`]);
      // Copied records count where they first happened.
      const copy = (await retinueJson(home, ["tree", SECOND], env)) as AgentTree;
      expect(copy).toMatchObject({ forkedFrom: `claude://${FIRST}`, usage: { own: { calls: 4 } } });
      expect(((await retinueJson(home, ["tree", FIRST], env)) as AgentTree).usage).toEqual(before.usage);
    });
  });

  it("is one thread if it was resumed on another machine under the same id", async () => {
    const { home, elsewhere } = copyOf("claude", "h2-forks");
    const whole = await inFreshData(
      home,
      {},
      async (env) => (await retinueJson(home, ["tree", FIRST], env)) as AgentTree,
    );
    // Here are only the first records of it; what followed is in the imported transcript.
    const path = transcriptIn(home, FIRST);
    const lines = readFileSync(path, "utf8").split("\n");
    writeFileSync(path, `${lines.slice(0, Math.floor(lines.length / 3)).join("\n")}\n`);
    await inFreshData(home, {}, async (env) => {
      const part = (await retinueJson(home, ["tree", FIRST], env)) as AgentTree;
      expect(part.usage.own.calls).toBeLessThan(whole.usage.own.calls);
      expect((await retinue(home, ["import", transcriptIn(elsewhere, FIRST)], env)).code).toBe(0);
      const after = (await retinueJson(home, ["tree", FIRST], env)) as AgentTree;
      expect(after.usage).toEqual(whole.usage);
      const ids = ((await retinueJson(home, ["ls", "--all"], env)) as { sessionId: string }[]).map(
        (one) => one.sessionId,
      );
      expect(ids.toSorted()).toEqual([...FORKS].toSorted());
    });
  });
});
