/** Events of an agent that only its spawn call names: the product may still name it while the command runs. */
import { expect, it } from "vitest";
import { readMachine } from "../../src/app/machine.ts";
import { EventReader, type More } from "../../src/app/query/events.ts";
import { scratchFolder, spoilable } from "../support/bad-input/homes.ts";
import { agentCall, mainWriter, SESSION, THREAD_FILE } from "../support/claude-records.ts";

const scratch = scratchFolder();
const CALL = "toolu_0123456789abcdef";

it.each([
  ["surely", 0],
  ["maybe", 1],
  ["no", 1],
] as const)(
  "if more records %s follow, %i spawns are reported, however long ago the call returned",
  async (more, spawns) => {
    const home = spoilable(scratch(), "a-single");
    const main = mainWriter();
    const records = [
      main.user("Begin."),
      main.assistant([agentCall(CALL, "Do it.")], { stop_reason: "tool_use" }),
      main.result(CALL, "Done."),
    ];
    home.put(THREAD_FILE, records.map((record) => `${JSON.stringify(record)}\n`).join(""));
    const { library, forest } = await readMachine({ env: { HOME: home.home, RETINUE_HOME: home.data } });
    const keys = [...forest.agents.values()].filter(({ sessionId }) => sessionId === SESSION).map(({ key }) => key);
    expect(keys).toHaveLength(2);
    const events = await new EventReader(library).next(forest, keys, more satisfies More);
    expect(events.filter(({ kind }) => kind === "spawn")).toHaveLength(spawns);
  },
);
