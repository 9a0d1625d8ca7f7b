/**
 * Links, pipes, folders and disappearing files in place of a transcript. None stops the sync, and each gets a line in
 * `doctor`.
 */
import { execFile, execFileSync } from "node:child_process";
import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import type { Provider } from "../../src/core/ports/provider.ts";
import { provider as claude } from "../../src/providers/claude/provider.ts";
import { type SpoilableHome, scratchFolder, spoilable } from "../support/bad-input/homes.ts";
import { expectNothingLost, look } from "../support/bad-input/look.ts";
import { mainWriter, SESSION } from "../support/claude-records.ts";

const scratch = scratchFolder();
const PROJECT = "projects/-home-dev-repo";
const THREAD = `${PROJECT}/${SESSION}.jsonl`;
const AGENT = `${PROJECT}/${SESSION}/subagents/agent-a0b1.jsonl`;

/** A healthy recording plus one odd file: the recording is complete, and the odd file is reported. */
async function expectReported(
  odd: (home: SpoilableHome) => void,
  expected: readonly (readonly [code: string, path: string])[],
) {
  const home = spoilable(scratch(), "c-nested");
  odd(home);
  const seen = await look(home.home, home.data);
  expectNothingLost(home.home, home.threads, seen);
  expect(seen.machine.problems.map((problem) => [problem.code, problem.where]).sort()).toEqual(
    expected.map(([code, path]) => [code, home.at(path)]).sort(),
  );
  return seen;
}

describe("in the configuration folder", () => {
  it.each([
    ["a folder", (path: string) => mkdirSync(path, { recursive: true })],
    ...(process.platform === "win32" ? [] : [["a pipe", (path: string) => execFileSync("mkfifo", [path])] as const]),
  ] as const)("%s in place of a transcript is reported, and not opened", async (_what, make) => {
    await expectReported(
      (home) => {
        mkdirSync(home.at(PROJECT));
        make(home.at(THREAD));
      },
      [["file-unreadable", THREAD]],
    );
  });

  it.each([
    ["to a missing file", "nowhere.jsonl"],
    ["to itself", `${SESSION}.jsonl`],
    ["to a folder above", "../.."],
    ...(process.platform === "win32" ? [] : [["to a device that never ends", "/dev/zero"] as const]),
  ] as const)("a link %s in place of a transcript is reported, and not followed", async (_what, target) => {
    await expectReported(
      (home) => {
        mkdirSync(home.at(PROJECT));
        symlinkSync(target, home.at(THREAD));
      },
      [["link-not-followed", THREAD]],
    );
  });

  it("links in a cycle are reported, and not followed", async () => {
    await expectReported(
      (home) => {
        mkdirSync(home.at(PROJECT));
        symlinkSync("..", home.at(`${PROJECT}/up`));
        symlinkSync("../b", home.at(`${PROJECT}/a`));
        symlinkSync("../a", home.at(`${PROJECT}/b`));
      },
      ["up", "a", "b"].map((name) => ["link-not-followed", `${PROJECT}/${name}`]),
    );
  });

  it("a folder in place of a meta file or of a process file is reported", async () => {
    const meta = AGENT.replace(".jsonl", ".meta.json");
    await expectReported(
      (home) => {
        mkdirSync(home.at(meta), { recursive: true });
        mkdirSync(home.at("sessions/4711.json"), { recursive: true });
      },
      [
        ["file-unreadable", meta],
        ["file-unreadable", "sessions/4711.json"],
      ],
    );
  });

  it.each([
    ["file", ".jsonl", (path: Buffer) => writeFileSync(path, "{}\n")],
    ["folder", "", (path: Buffer) => mkdirSync(path)],
  ])("a %s whose name is not UTF-8 is reported", async (_what, end, make) => {
    const home = spoilable(scratch(), "c-nested");
    mkdirSync(home.at(PROJECT));
    let expected = [{ code: "file-unreadable", detail: "its name is not UTF-8" }];
    try {
      make(Buffer.concat([Buffer.from(`${home.at(PROJECT)}/`), Buffer.from(`\u00ff${end}`, "latin1")]));
    } catch {
      // Some file systems do not allow such names.
      expected = [];
    }
    const seen = await look(home.home, home.data);
    expect(seen.machine.problems).toMatchObject(expected);
    expect(seen.machine.problems).toHaveLength(expected.length);
  });

  it("empty folders alone are not reported", async () => {
    await expectReported(
      (home) => mkdirSync(home.at(`${PROJECT}/${SESSION}/subagents/workflows/wf_1`), { recursive: true }),
      [],
    );
  });

  it("empty files are reported, including meta files and process files", async () => {
    const documents = [AGENT.replace(".jsonl", ".meta.json"), "sessions/4711.json"];
    const seen = await expectReported(
      (home) => {
        for (const path of [THREAD, AGENT, ...documents]) home.put(path, "");
      },
      [["file-empty", THREAD], ["file-empty", AGENT], ...documents.map((path) => ["line-not-json", path] as const)],
    );
    expect(seen.machine.forest.agents.size).toBeGreaterThan(0);
  });

  it("root folders that are links to each other are reported", async () => {
    const home = join(scratch(), "circle");
    mkdirSync(join(home, ".claude"), { recursive: true });
    symlinkSync("sessions", join(home, ".claude/projects"));
    symlinkSync("projects", join(home, ".claude/sessions"));
    const seen = await look(home, join(scratch(), "none"));
    expect(seen.machine.problems.map((problem) => problem.code)).toEqual(["file-unreadable", "file-unreadable"]);
  });

  it("one configuration folder under two names is read once", async () => {
    const home = spoilable(scratch(), "c-nested");
    mkdirSync(join(home.home, ".config"));
    symlinkSync("../.claude", join(home.home, ".config/claude"));
    const once = await look(spoilable(scratch(), "c-nested").home, home.data);
    const twice = await look(home.home, join(home.data, "2"));
    expect(twice.machine.counts).toEqual(once.machine.counts);
  });
});

describe("while it is read", () => {
  /** Runs a function when a file is opened, or after its first record was read. */
  const meddling = (when: "opened" | "begun", what: (path: string) => void): Provider => ({
    ...claude,
    stream(path) {
      const stream = claude.stream(path);
      if (stream === null) return null;
      return {
        ...stream,
        open(file, saved) {
          const parser = stream.open(file, saved);
          if (when === "opened") what(file.path);
          return {
            push: (record, line) => {
              if (when === "begun" && line === 1) what(file.path);
              return parser.push(record, line);
            },
            events: (record, line) => parser.events(record, line),
            save: () => parser.save(),
          };
        },
      };
    },
  });
  const lines = (count: number) => {
    const main = mainWriter();
    return Array.from({ length: count }, (_, i) => `${JSON.stringify(main.user(`${i} ${"x".repeat(1_000)}`))}\n`).join(
      "",
    );
  };

  it("a file may disappear", async () => {
    const home = spoilable(scratch(), "c-nested");
    const path = home.put(THREAD, lines(3));
    const provider = meddling("opened", (file) => {
      if (file === path) rmSync(file);
    });
    const seen = await look(home.home, home.data, { providers: [provider] });
    expectNothingLost(home.home, home.threads, seen);
    expect(seen.machine.problems.map((problem) => [problem.code, problem.where])).toEqual([["file-unreadable", path]]);
  });

  it("a file may shrink", async () => {
    const home = spoilable(scratch(), "c-nested");
    const path = home.put(THREAD, lines(4_000));
    const provider = meddling("begun", (file) => {
      if (file === path) truncateSync(file, 2_500_000);
    });
    const seen = await look(home.home, home.data, { providers: [provider] });
    expectNothingLost(home.home, home.threads, seen);
    expect(seen.machine.problems.map((problem) => problem.code)).toEqual(["line-unfinished"]);
    expect(seen.shown.find((tree) => tree.sessionId === SESSION)?.counts.messages).toBeGreaterThan(1_000);
  });

  it("a file may grow", async () => {
    const home = spoilable(scratch(), "c-nested");
    const path = home.put(THREAD, lines(4_000));
    const provider = meddling("begun", (file) => {
      if (file === path) writeFileSync(file, lines(10), { flag: "a" });
    });
    const seen = await look(home.home, home.data, { providers: [provider] });
    expectNothingLost(home.home, home.threads, seen);
    expect(seen.machine.problems).toEqual([]);
  });
});

describe("a line of 200 MB", () => {
  const LENGTH = 200 * 1024 * 1024;
  /** Node.js and the modules of retinue use about 100 MB. */
  const MAX_RSS = 300 * 1024 * 1024;

  it.each([
    ["in the middle of a file", "\n", "line-too-long"],
    // It may still grow, and is then reported as too long.
    ["at its end", "", "line-unfinished"],
  ])("%s is reported and not kept, and the lines around it are read", async (_where, end, code) => {
    const home = spoilable(scratch(), "c-nested");
    const main = mainWriter();
    const file = openSync(home.put(THREAD, `${JSON.stringify(main.user("Begin."))}\n{"type":"user","message":"`), "a");
    // A sparse file: takes as long to read as any other line, and no time to write.
    ftruncateSync(file, LENGTH);
    writeSync(file, `"}${end}`);
    if (end !== "") writeSync(file, `${JSON.stringify(main.user("End."))}\n`);
    closeSync(file);
    const { rss, problems, messages } = await inOwnProcess(home);
    expect(problems).toEqual([[code, `${home.at(THREAD)}:2`]]);
    expect(messages).toBe(end === "" ? 1 : 2);
    expect(rss).toBeLessThan(MAX_RSS);
  });

  async function inOwnProcess({ home, data }: SpoilableHome) {
    const script = `
      import { readMachine } from ${JSON.stringify(new URL("../../src/app/machine.ts", import.meta.url).href)};
      const { problems, forest } = await readMachine({ env: ${JSON.stringify({ HOME: home, RETINUE_HOME: data })} });
      const messages = [...forest.agents.values()].find((agent) => agent.sessionId === ${JSON.stringify(SESSION)})?.messages;
      console.log(JSON.stringify({ rss: process.resourceUsage().maxRSS * 1024, problems: problems.map((p) => [p.code, p.where]), messages }));`;
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script]);
    return JSON.parse(stdout) as { rss: number; problems: [string, string][]; messages: number };
  }
});
