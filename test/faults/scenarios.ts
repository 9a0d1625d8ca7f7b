import type { Scenario } from "./scenario.ts";
import { exporting } from "./scenarios/export.ts";
import { indexing, indexingLarge } from "./scenarios/index.ts";
import { clockJumps, diskFull, filesChange, locked, readOnly } from "./scenarios/machine.ts";
import { proxying } from "./scenarios/proxy.ts";
import { relaying } from "./scenarios/relay.ts";
import { running } from "./scenarios/run.ts";
import { serving } from "./scenarios/serve.ts";
import { teamServing } from "./scenarios/team.ts";

export const SCENARIOS: readonly Scenario[] = [
  indexing,
  indexingLarge,
  serving,
  running,
  relaying,
  proxying,
  exporting,
  teamServing,
  diskFull,
  readOnly,
  locked,
  clockJumps,
  filesChange,
];
