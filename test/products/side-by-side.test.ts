/** One home with recordings of all products: one list, no agent under another product, nothing that cannot be read. */
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { inFreshData, retinue, retinueJson } from "../support/cli.ts";
import { caseNames, isOnlyRecorded, RECORDED, type RecordedHome, recordedHome } from "../support/fixtures.ts";
import { differences, type TreeNode } from "../support/judge.ts";

const scratch = mkdtempSync(join(tmpdir(), "retinue-side-by-side-"));
afterAll(() => rmSync(scratch, { recursive: true, maxRetries: 3 }));

interface Listed {
  readonly uri: string;
}

const roots = (homes: readonly { readonly provider: string; readonly recorded: RecordedHome }[]) =>
  homes
    .flatMap(({ provider, recorded }) => recorded.threads.map(({ root }) => `${provider}://${root}`))
    .sort((a, b) => (a < b ? -1 : 1));

const PRODUCTS = RECORDED.filter(({ versions }) => versions !== null);
/** A recording of each product: the first one without optional threads. */
const chosen = PRODUCTS.flatMap(({ name: provider }) => {
  const all = caseNames(provider).map((name) => recordedHome(provider, name));
  const plain = all.find(
    ({ home, threads }) =>
      threads.length > 0 &&
      !isOnlyRecorded(home) &&
      !existsSync(join(home, "..", "tmp")) &&
      threads.every(({ optional }) => optional !== true),
  );
  return plain === undefined ? [] : [{ provider, recorded: plain }];
});

describe("all products in one home", () => {
  const home = join(scratch, "home");
  mkdirSync(home);
  for (const { recorded } of chosen) cpSync(recorded.home, home, { recursive: true });

  it("are all there", () => {
    expect(chosen.map(({ provider }) => provider)).toEqual(PRODUCTS.map(({ name }) => name));
  });

  it("are one list, each thread under its own product and with its own tree", async () => {
    await inFreshData(home, {}, async (env) => {
      const listed = (await retinueJson(home, ["ls", "--limit", "1000"], env)) as Listed[];
      expect(listed.map(({ uri }) => uri).sort()).toEqual(roots(chosen));
      for (const { provider, recorded } of chosen)
        for (const thread of recorded.threads) {
          const tree = (await retinueJson(home, ["tree", `${provider}://${thread.root}`], env)) as TreeNode;
          expect([provider, ...differences(thread, tree)]).toEqual([provider]);
        }
    });
  });

  it("have no problems", async () => {
    const { stdout, code } = await retinue(home, ["doctor", "--json"]);
    const { problems } = JSON.parse(stdout) as { problems: { severity: string }[] };
    expect([code, problems.filter(({ severity }) => severity !== "info")]).toEqual([0, []]);
  });
});

it("Pi and oh-my-pi in the same folder are told apart by the content of their files", async () => {
  const shared = chosen.filter(({ provider }) => provider === "pi" || provider === "omp");
  const agents = join(scratch, "shared");
  for (const { provider, recorded } of shared)
    cpSync(join(recorded.home, `.${provider}/agent`), agents, { recursive: true });
  const home = join(scratch, "empty");
  mkdirSync(home);
  const listed = (await retinueJson(home, ["ls"], { PI_CODING_AGENT_DIR: agents })) as Listed[];
  expect(listed.map(({ uri }) => uri).sort()).toEqual(roots(shared));
  expect(shared).toHaveLength(2);
});
