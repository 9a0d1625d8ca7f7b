/** If `retinue run` is killed, the wrapped command continues unaffected. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { beforeEach, describe, expect, it } from "vitest";
import { needsPosix } from "../support/needs.ts";
import { until } from "../support/server.ts";
import { json, NOISE, noise, outcome, SESSION, SPEAKING, STREAM, stage } from "../support/wrapped-runs.ts";

beforeEach(needsPosix("a standby process"));

describe("if retinue run is killed", () => {
  /** Number of kills. RETINUE_KILLS=100 takes a few minutes. */
  const KILLS = Number(process.env.RETINUE_KILLS ?? 3);
  const lines = STREAM.trim().split("\n");
  /** Prints a line every few milliseconds, and writes to a file how it ended, which survives the kill. */
  const slow = (home: string, text: readonly string[]) => `
const fs = require("node:fs");
const end = (how) => { fs.writeFileSync("${home}/ended", how); process.exit(); };
process.stdout.on("error", ({ code }) => end(code));
fs.writeFileSync("${home}/begun", String(process.pid));
const lines = ${JSON.stringify(text)};
const next = () => lines.length === 0 ? end("well") : process.stdout.write(lines.shift() + "\\n", () => setTimeout(next, 20));
next();`;
  const has = (home: string, name: string) =>
    existsSync(join(home, name)) && readFileSync(join(home, name), "utf8") !== "";

  it("the agent continues, its output still arrives, and its tree is complete", { timeout: 10 * 60_000 }, async () => {
    for (let n = 0; n < KILLS; n += 1) {
      const { home, env, program, start, recordings } = stage();
      const child = start(["--", program("claude", slow(home, lines)), ...SPEAKING], ["ignore", "pipe", "pipe"]);
      const ended = outcome(child);
      await until(() => has(home, "begun"));
      // Kill at moments from before the first line until after the last.
      await wait(Math.random() * lines.length * 25);
      child.kill("SIGKILL");
      const { stdout } = await ended;
      expect(readFileSync(join(home, "ended"), "utf8")).toBe("well");
      // The lines of a single read may be lost, and they must be consecutive. Nothing else is lost or repeated, and the
      // order is the same.
      const arrived = stdout.toString().trim().split("\n");
      const missing = lines.flatMap((line, i) => (arrived.includes(line) ? [] : [i]));
      expect(arrived).toEqual(lines.filter((_, i) => !missing.includes(i)));
      expect(missing).toEqual(missing.map((_, i) => (missing[0] ?? 0) + i));
      expect(recordings("claude")).toHaveLength(1);
      if (n > 0) continue;
      expect(await json(["tree", SESSION], env)).toMatchObject({
        status: "completed",
        prompt: "hello",
        children: [{ status: "completed" }],
      });
    }
  });

  it("a command that is not an agent can also continue to read its input", async () => {
    const { program, start, home } = stage();
    const echo = program(
      "wrapper",
      `require("node:fs").writeFileSync("${home}/begun", "x"); process.stdin.pipe(process.stdout);`,
    );
    const waits = `const timer = setInterval(() => { if (fs.existsSync("${home}/go")) { clearInterval(timer); ${NOISE} process.exitCode = 0; } }, 20);`;
    const typist = spawn(process.execPath, ["-e", waits], { stdio: ["ignore", "pipe", "ignore"] });
    const child = start(["--", echo], [typist.stdout, "pipe", "pipe"]);
    const ended = outcome(child);
    await until(() => has(home, "begun"));
    child.kill("SIGKILL");
    await once(child, "exit");
    writeFileSync(join(home, "go"), "");
    expect((await ended).stdout.equals(noise)).toBe(true);
  });

  it("the command still notices that its reader is gone", async () => {
    const { program, start, home } = stage();
    const child = start([
      "--",
      program(
        "claude",
        slow(
          home,
          Array.from({ length: 3_000 }, () => lines[0] ?? ""),
        ),
      ),
      ...SPEAKING,
    ]);
    await once(child.stdout ?? child, "data");
    child.kill("SIGKILL");
    await once(child, "exit");
    child.stdout?.destroy();
    await until(() => has(home, "ended"));
    expect(readFileSync(join(home, "ended"), "utf8")).toBe("EPIPE");
  });

  it("no standby process is left behind, and killing one does no harm", async ({ skip }) => {
    skip(process.platform !== "linux", "parent processes are read from /proc");
    const { program, start, home } = stage();
    const child = start(["--", program("claude", slow(home, lines)), ...SPEAKING], ["ignore", "pipe", "pipe"]);
    const ended = outcome(child);
    await until(() => has(home, "begun"));
    const children = () =>
      readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8").trim().split(" ").map(Number);
    await until(() => children().length === 2);
    const [standby] = children().filter((pid) => pid !== Number(readFileSync(join(home, "begun"), "utf8")));
    process.kill(standby ?? 0, "SIGKILL");
    expect(await ended).toMatchObject({ code: 0, stdout: Buffer.from(STREAM) });

    const other = stage();
    const quick = other.start(
      ["--", other.program("claude", slow(other.home, lines)), ...SPEAKING],
      ["ignore", "pipe", "pipe"],
    );
    const done = outcome(quick);
    await until(() => has(other.home, "begun"));
    const pids = readFileSync(`/proc/${quick.pid}/task/${quick.pid}/children`, "utf8").trim().split(" ");
    await done;
    await until(() => pids.every((pid) => !existsSync(`/proc/${pid}`)));
  });
});
