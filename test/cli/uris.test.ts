/** `<provider>://<main>/<agent>`: which combinations name an agent, and the errors for the others. */
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { Failure } from "../../src/app/failure.ts";
import type { Library } from "../../src/app/ingest/library.ts";
import { openLibrary } from "../../src/app/open.ts";
import { resolve } from "../../src/app/query/resolve.ts";
import { loadSettings } from "../../src/app/settings/settings.ts";
import { partsOf } from "../../src/core/facts/ids.ts";
import { type Forest, type LinkedAgent, subtreeOf } from "../../src/core/link/forest.ts";
import { retinue } from "../support/cli.ts";
import { homeEnv, recordedHome } from "../support/fixtures.ts";

/** Trees of every product in one home. */
const CASES = [
  ["claude", "c-nested"],
  ["claude", "c3-nested-parallel"],
  ["claude", "v1.0.128"],
  ["codex", "v2-nested"],
  ["codex", "v1-nested"],
  ["codex", "v2-parallel"],
  ["opencode", "nested"],
  ["gemini", "parallel"],
  ["copilot", "nested"],
  ["pi", "nested"],
  ["pi", "tintin"],
] as const;

const scratch = mkdtempSync(join(tmpdir(), "retinue-uris-"));
const home = join(scratch, "home");
let library: Library;
let forest: Forest;
beforeAll(async () => {
  for (const [provider, name] of CASES) cpSync(recordedHome(provider, name).home, home, { recursive: true });
  const env = { ...homeEnv(home), RETINUE_HOME: join(scratch, "data") };
  library = await openLibrary({ env, settings: await loadSettings(env), notify: () => {} });
  await library.refresh();
  // Thousands of URIs use the same few forests, which do not change.
  const [forestOf, forests] = [library.forestOf.bind(library), new Map<string, Forest>()];
  library.forestOf = (keys) => {
    const found = forests.get(keys.join()) ?? forestOf(keys);
    forests.set(keys.join(), found);
    return found;
  };
  forest = library.forestOf(library.store.roots({ under: library.under, limit: 1_000 }).map(({ key }) => key));
});
afterAll(() => {
  library.close();
  rmSync(scratch, { recursive: true, force: true });
});

const outcome = (uri: string): string => {
  try {
    return resolve(library, uri).uri;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return [error.code, error.message, ...error.next].join("\n");
  }
};
const idOf = (agent: LinkedAgent) => agent.agentId ?? agent.sessionId;
const isThread = (agent: LinkedAgent) => partsOf(agent.key).agent === null;

describe("an agent is addressed below its thread, or below an ancestor that is also a thread", () => {
  it("for all pairs of agents", () => {
    const agents = [...forest.agents.values()];
    expect(agents.filter(({ depth }) => depth > 1).map(({ key }) => partsOf(key).provider)).toEqual(
      expect.arrayContaining(["claude", "codex", "opencode", "copilot", "pi"]),
    );
    for (const main of agents) {
      const below = new Set(subtreeOf(forest, main.key).slice(1));
      for (const agent of agents) {
        const uri = `${partsOf(main.key).provider}://${idOf(main)}/${idOf(agent)}`;
        const found = outcome(uri);
        if (isThread(main) && below.has(agent.key)) expect({ uri, found }).toEqual({ uri, found: agent.uri });
        else {
          // An id that is not a thread's is reported first; either way the correct URI is named.
          const right = isThread(main) ? agent.uri : main.uri;
          expect({ uri, found }).toEqual({ uri, found: expect.stringMatching(/^not_found\n/) });
          expect({ uri, found }).toEqual({ uri, found: expect.stringContaining(right) });
        }
      }
    }
  });

  it("also by prefixes", () => {
    const [root, child, , other] =
      recordedHome("opencode", "nested").threads[0]?.agents.map(({ agentId }) => agentId ?? "") ?? [];
    const thread = recordedHome("opencode", "nested").threads[0]?.root ?? "";
    const short = (id = "") => id.slice(0, 18);
    expect(root).toBe("");
    expect(outcome(`opencode://${short(thread)}/${short(child)}`)).toBe(`opencode://${thread}/${child}`);
    expect(outcome(`opencode://${short(child)}/${short(other)}`)).toBe(`opencode://${thread}/${other}`);
    expect(outcome(`opencode://${short(other)}/${short(child)}`)).toMatch(
      new RegExp(`not_found[\\s\\S]*opencode://${thread}/${child}`),
    );
  });

  it("and its URI is suggested if the thread is unknown", () => {
    const { root = "", agents } = recordedHome("codex", "v2-nested").threads[0] ?? { agents: [] };
    const alpha = agents[1]?.agentId ?? "";
    const found = outcome(`codex://00000000-0000-4000-8000-000000000000/${alpha}`);
    expect(found).toContain("no thread 00000000-0000-4000-8000-000000000000");
    expect(found).toContain(`codex://${root}/${alpha}`);
    expect(found).toContain("searched: ");
  });
});

describe("on the command line", () => {
  const { root = "", agents } = recordedHome("codex", "v2-nested").threads[0] ?? { agents: [] };
  const [, alpha = "", beta = "", gamma = ""] = agents.map(({ agentId }) => agentId ?? "");
  const nested = recordedHome("codex", "v2-nested").home;
  const headOf = async (...args: string[]) => {
    const { code, stdout, stderr } = await retinue(nested, args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    return parse(stdout.split("---\n")[1] ?? "", { version: "1.1" }) as Record<string, unknown> & {
      subagents?: { agent_id: string }[];
    };
  };

  it.each([
    ["its parent", `codex://${alpha}/${root}`, `codex://${root}`],
    ["itself", `codex://${alpha}/${alpha}`, `codex://${root}/${alpha}`],
    ["a root below itself", `codex://${root}/${root}`, `codex://${root}`],
    ["its grandparent", `codex://${gamma}/${alpha}`, `codex://${root}/${alpha}`],
    [
      "an agent below an unknown thread",
      `codex://00000000-0000-4000-8000-000000000000/${beta}`,
      `codex://${root}/${beta}`,
    ],
  ])("%s exits with 1 and names the correct URI", async (_, uri, right) => {
    const { code, stdout, stderr } = await retinue(nested, [uri]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr.split(/\s+/)).toContain(right);
  });

  it("a child thread's own id reads it as a thread of its own", async () => {
    const { subagents, ...head } = await headOf("--head", `codex://${alpha}`);
    expect(Object.keys(head)).toEqual([
      "uri",
      "thread_source",
      "provider",
      "session_id",
      "mode",
      "status",
      "status_source",
    ]);
    expect(head).toMatchObject({
      uri: `codex://${root}/${alpha}`,
      session_id: alpha,
      mode: "thread",
      status: "completed",
    });
    expect(subagents?.map(({ agent_id }) => agent_id)).toEqual([beta, gamma]);
    const { stdout } = await retinue(nested, [`codex://${alpha}`]);
    expect(stdout).toMatch(
      /\nmode: thread\nstatus: completed\nstatus_source: \w+\n---\n\n# Thread\n[\s\S]*\n## Timeline\n/,
    );
  });

  it("the same agent below its thread is read as an agent", async () => {
    expect(await headOf("--head", `codex://${root}/${alpha}`)).toMatchObject({
      session_id: root,
      mode: "subagent",
      agent_id: alpha,
    });
  });

  it("a thread's own frontmatter has its status", async () => {
    expect(await headOf(`codex://${root}`)).toMatchObject({
      mode: "thread",
      status: "completed",
      status_source: "child_rollout",
    });
  });
});
