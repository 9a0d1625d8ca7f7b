import { type Scenario, Tally } from "../scenario.ts";
import { chaos } from "../team/chaos.ts";

const MACHINES = 4;
const ALIVE = 3;
/** Only the number of kills ends it. */
const LONG_MS = 3_600_000;

/** A small version of `npm run test:team`. */
export const teamServing: Scenario = {
  name: "team",
  fault: "SIGKILL of ship, team servers and PostgreSQL",
  weight: 1,
  // test/team/chaos.test.ts runs it in `npm test`.
  few: 0,
  cannot: () => (process.platform === "win32" ? "needs PostgreSQL for this system" : null),
  async run({ scratch, times, random }) {
    if (process.platform === "win32") return Object.assign(new Tally(), { faults: times });
    const { tally } = await chaos({
      scratch,
      random,
      machines: MACHINES,
      alive: ALIVE,
      kills: times,
      ms: LONG_MS,
      haste: 6,
      notify: () => {},
    });
    return tally;
  },
};
