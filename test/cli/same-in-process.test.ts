/**
 * Most tests run command lines in the process of the test (`retinue` in test/support/cli.ts). These tests start the
 * installed program in a process, as a shell would. It must print the same and exit with the same code.
 */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { inFreshData, retinue, retinueProcess } from "../support/cli.ts";
import { recordedHome } from "../support/fixtures.ts";

const NESTED = recordedHome("claude", "c-nested").home;
const THREAD = "cd09e48c-75db-4f67-b4b1-7cfca4bc9bb9";
const AGENT = `${THREAD}/aee8a9e31692ee37b`;
const TRANSCRIPT = join(NESTED, ".claude/projects/-home-dev-trial-runs-c-nested-repo", `${THREAD}.jsonl`);

const LINES: readonly (readonly string[])[] = [
  ["--version"],
  ["--help"],
  ["ls"],
  ["tree", "latest"],
  ["latest", "--full"],
  ["events", THREAD, "--subtree"],
  ["search", "deeper"],
  ["verify"],
  ["doctor", "--json"],
  ["link", AGENT, THREAD],
  ["import", TRANSCRIPT],
  ["export", "html", "latest"],
  // Wrong arguments, unknown threads, no results.
  ["tre", "latest"],
  ["ls", "--limit", "many"],
  ["tree", "0123456789ab"],
];

/** Replaces times and folders that differ between runs. */
const timeless = ({ code, stdout, stderr }: Awaited<ReturnType<typeof retinue>>, data: string) => {
  const plain = (text: string) => text.replaceAll(data, "DATA").replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME");
  return { code, stdout: plain(stdout), stderr: plain(stderr) };
};

async function expectSame(home: string, args: readonly string[]): Promise<void> {
  const [here, there] = await Promise.all(
    [retinue, retinueProcess].map((run) =>
      inFreshData(home, {}, async (env) => timeless(await run(home, args, env), env.RETINUE_HOME ?? "")),
    ),
  );
  expect(there).toEqual(here);
  expect(`${here?.stdout}${here?.stderr}`).not.toBe("");
}

describe("the installed program prints the same as the command line in the test process", () => {
  it.each(LINES.map((args) => [args]))("retinue %j", async (args) => {
    await expectSame(NESTED, args);
  });

  // Files, compressed files and a database.
  it.each([
    ["claude", "a-single"],
    ["codex", "v2-packed"],
    ["opencode", "nested"],
  ])("a tree of %s", async (provider, name) => {
    const { home, threads } = recordedHome(provider, name);
    await expectSame(home, ["tree", threads[0]?.root ?? "", "--json"]);
  });
});
