/**
 * Most tests run command lines in their own process (`retinue` in test/support/cli.ts). Here the installed program runs
 * them in a process, as a shell would, and must print the same and exit with the same code.
 */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FILE_FORMATS } from "../../src/app/export/formats.ts";
import { inFreshData, retinue, retinueProcess } from "../support/cli.ts";
import { caseNames, RECORDED, recordedHome } from "../support/fixtures.ts";

const NESTED = recordedHome("claude", "c-nested").home;
const THREAD = "cd09e48c-75db-4f67-b4b1-7cfca4bc9bb9";
const AGENT = `${THREAD}/aee8a9e31692ee37b`;
const TRANSCRIPT = join(NESTED, ".claude/projects/-home-dev-trial-runs-c-nested-repo", `${THREAD}.jsonl`);

const LINES: readonly (readonly string[])[] = [
  ["--version"],
  ["--help"],
  ["tree", "--help"],
  ["ls"],
  ["ls", "--json", "--limit", "1"],
  ["tree", "latest"],
  ["tree", "latest", "--timeline"],
  ["latest", "--full"],
  ["-I", AGENT],
  ["events", THREAD, "--subtree"],
  ["why", AGENT],
  ["stats"],
  ["search", "deeper"],
  ["verify"],
  ["doctor", "--json"],
  ["link", AGENT, THREAD],
  ["outbox"],
  ["import", TRANSCRIPT],
  ["completions", "zsh"],
  ...FILE_FORMATS.map((format) => ["export", format, "latest"]),
  // Wrong words, unknown threads, nothing found.
  ["tree"],
  ["tre", "latest"],
  ["ls", "--limit", "many"],
  ["tree", "0123456789ab"],
  ["unlink", AGENT],
  ["search", "nonsense", "words"],
];

/** Times of this run, and the folder of this run. */
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

describe("a process prints what the same command line prints here", () => {
  it.each(LINES.map((args) => [args]))("retinue %j", async (args) => {
    await expectSame(NESTED, args);
  });

  it.each(RECORDED.map(({ name }) => name))("a tree of %s", async (provider) => {
    const [name = ""] = caseNames(provider);
    const { home, threads } = recordedHome(provider, name);
    await expectSame(home, ["tree", threads[0]?.root ?? "", "--json"]);
  });
});
