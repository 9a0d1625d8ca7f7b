import { type Attach, isBefore, type Resuming } from "../../core/ports/attach.ts";
import { beginOf, forkOf, forkOfCopy, jsonOf } from "../kit/pi/attach.ts";

const PROGRAM = "omp";

/** Every agent has a session file, and `omp --fork` copies any session file into a new session. Tried with 18.2.3. */
export const attach: Attach = {
  *resume(agent, ask): Resuming {
    const { until } = ask;
    const wanted = until === null ? agent.files : agent.files.filter(({ path }) => path === until.path);
    for (const { path } of wanted) {
      const found = yield path;
      if (found === null || !path.endsWith(".jsonl")) continue;
      if (until === null) return forkOf(PROGRAM, path, ask);
      const records = found.filter((record) => isBefore(until, path, record)).map(jsonOf);
      return forkOfCopy(
        PROGRAM,
        records.filter((record) => record !== null),
        ask,
      );
    }
    return { unable: "its transcript no longer exists" };
  },
  begin: (message, agent, ask) => beginOf(PROGRAM, message, agent, ask),
};
