/** `retinue run` is killed while its agent prints: the agent continues, and every line is recorded once. */
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { asObject, parseJson } from "../../../src/core/tools/json.ts";
import { FIXTURES } from "../../support/fixtures.ts";
import { environment, holdsInTime, Run } from "../process.ts";
import { type Scenario, Tally } from "../scenario.ts";
import { leftoversIn } from "../state.ts";

const SESSION = "16ff625c-81fc-41a2-88cf-4b4069d6af28";
const PACE_MS = 15;

export const running: Scenario = {
  name: "run",
  fault: "SIGKILL of run",
  weight: 3,
  few: 2,
  async run({ scratch, times, random }) {
    const home = join(scratch, "home");
    const data = join(scratch, "data");
    mkdirSync(home);
    const printed = readFileSync(join(FIXTURES, "claude/d-background/recordings/claude/run/stdout.jsonl"), "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.stringify(asObject(parseJson(line)?.value)?.raw))
      .slice(0, 40);
    writeFileSync(join(home, "lines"), printed.join("\n"));
    const agent = `#!${process.execPath}
const { readFileSync, writeFileSync } = require("node:fs");
const lines = readFileSync(${JSON.stringify(join(home, "lines"))}, "utf8").replaceAll(${JSON.stringify(SESSION)}, process.env.SESSION).split("\\n");
writeFileSync(process.env.MARK + ".begun", "");
process.stdout.on("error", (error) => { writeFileSync(process.env.MARK + ".failed", error.message); process.exit(1); });
const next = (i) => i < lines.length ? process.stdout.write(lines[i] + "\\n", () => setTimeout(next, ${PACE_MS}, i + 1)) : writeFileSync(process.env.MARK + ".done", "");
next(0);`;
    writeFileSync(join(home, "claude"), agent);
    chmodSync(join(home, "claude"), 0o755);
    const tally = new Tally();
    for (let n = 0; tally.faults < times; n += 1) {
      const session = SESSION.replace(/^.{8}/, n.toString(16).padStart(8, "0"));
      const mark = join(scratch, `agent-${n}`);
      const path = { PATH: `${home}:${process.env.PATH}`, SESSION: session, MARK: mark };
      const run = new Run(
        ["run", "--", "claude", "-p", "hello", "--output-format", "stream-json"],
        environment(home, data, path),
      );
      // From its start to the agent's end.
      await holdsInTime(() => existsSync(`${mark}.begun`) || run.isOver);
      if (!(await run.killAfter(random.next() * printed.length * PACE_MS * 1.3))) continue;
      tally.faults += 1;
      if (
        !(await holdsInTime(() => existsSync(`${mark}.done`) || existsSync(`${mark}.failed`))) ||
        existsSync(`${mark}.failed`)
      ) {
        tally.losses.push("the agent ended when its wrapper was killed");
        continue;
      }
      const folder = join(data, "recordings/claude/run");
      const wanted = printed.map((line) => line.replaceAll(SESSION, session));
      const recorded = () =>
        (existsSync(folder) ? readdirSync(folder) : [])
          .map((name) => readFileSync(join(folder, name), "utf8"))
          .filter((text) => text.includes(session))
          .flatMap((text) => text.trim().split("\n"))
          .flatMap((line) => {
            const raw = asObject(parseJson(line)?.value)?.raw;
            return raw === undefined ? [] : [JSON.stringify(raw)];
          });
      await holdsInTime(() => recorded().length >= wanted.length, 20_000);
      const found = recorded();
      tally.losses.push(
        ...wanted.filter((line) => !found.includes(line)).map((line) => `not recorded: ${line.slice(0, 100)}`),
      );
      if (found.length > new Set(wanted).size)
        tally.duplicates.push(`${found.length} lines recorded of ${wanted.length}`);
    }
    tally.leftovers.push(...leftoversIn(data));
    return tally;
  },
};
