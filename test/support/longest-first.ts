/**
 * The order of test files. Vitest starts the slowest files first, but knows them only from an earlier run; without one
 * it starts the largest. These take long although they are short: started last, they would run alone at the end.
 */
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that mostly wait alternate with files that keep a core busy. */
const LONG = [
  "test/cli/every-command.test.ts",
  "test/team/chaos.test.ts",
  "test/team/crowd.test.ts",
  "test/ingest/deep-trees.test.ts",
  "test/proxy/recordings.test.ts",
  "test/ingest/faults.test.ts",
  "test/products/recordings.test.ts",
  "test/ingest/newest-first.test.ts",
  "test/dashboard/log.test.ts",
  "test/server/process.test.ts",
  "test/cli/run.test.ts",
  "test/ingest/kills.test.ts",
  "test/products/providers.test.ts",
  "test/dashboard/pages.test.ts",
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const placeOf = ({ moduleId, project }: TestSpecification) => {
      const place = LONG.findIndex((path) => moduleId.endsWith(path));
      // Files of another project end a worker, so each of the small projects runs in one piece.
      return (project.name === "shared" ? LONG.length : 0) + (place < 0 ? LONG.length - 1 : place);
    };
    return (await super.sort(files)).sort((a, b) => placeOf(a) - placeOf(b));
  }
}
