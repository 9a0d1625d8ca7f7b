/** `retinue statusline` as an agent calls it: from files alone, and from a running server. */
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { statusline } from "../../src/cli/statusline.ts";
import { recordedHome } from "../support/fixtures.ts";
import { startServer } from "../support/server.ts";

const RECORDED = recordedHome("claude", "c-nested");
const SESSION = RECORDED.threads[0]?.root ?? "";
const transcriptIn = (home: string) =>
  join(home, `.claude/projects/-home-dev-trial-runs-c-nested-repo/${SESSION}.jsonl`);
const agents = RECORDED.threads[0]?.agents.flatMap(({ agentId }) => agentId ?? []) ?? [];

function stage() {
  const scratch = mkdtempSync(join(tmpdir(), "retinue-statusline-"));
  onTestFinished(() => rmSync(scratch, { recursive: true, force: true }));
  const home = join(scratch, "home");
  cpSync(RECORDED.home, home, { recursive: true });
  return { home, env: { HOME: home, RETINUE_HOME: join(scratch, "data") } };
}

const asked =
  (home: string, more: object = {}) =>
  () =>
    JSON.stringify({ session_id: SESSION, transcript_path: transcriptIn(home), ...more });

describe("the status line", () => {
  it("shows the session's agents without a server and without an index", async () => {
    const { home, env } = stage();
    expect(await statusline(env, asked(home, { cost: { total_cost_usd: 0.25 } }))).toMatch(
      /^✔ 3 done · [\d.]+k tokens · \$0\.25\n$/,
    );
  });

  it("comes from the server if one is running", async () => {
    const server = await startServer(RECORDED.home);
    onTestFinished(() => server.close());
    expect(await statusline(server.env, asked(server.home))).toMatch(/^✔ 3 done · [\d.]+k tokens · \$[\d.]+\n$/);
  });

  it("has a line of JSON for each known agent that the product shows", async () => {
    const { home, env } = stage();
    const rows = (
      await statusline(env, asked(home, { columns: 30, tasks: [...agents, "nobody"].map((id) => ({ id })) }))
    )
      .trim()
      .split("\n");
    expect(rows.map((row) => (JSON.parse(row) as { id: string }).id).sort()).toEqual([...agents].sort());
    for (const row of rows) expect((JSON.parse(row) as { content: string }).content.length).toBeLessThanOrEqual(30);
  });

  it.each(["", "junk", "{}", '{"session_id":"00000000-0000-4000-8000-000000000000"}'])(
    "is empty for %j",
    async (input) => {
      expect(await statusline(stage().env, () => input)).toBe("");
    },
  );
});
