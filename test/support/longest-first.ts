/**
 * The order of test files. Vitest starts the slowest files first, but knows them only from an earlier run; without one
 * it starts the largest. These take long although they are short: started last, they would run alone at the end.
 */
import { BaseSequencer, type TestSpecification } from "vitest/node";

const LONG = [
  "test/cli/every-command.test.ts",
  "test/export/outbox.test.ts",
  "test/ingest/faults.test.ts",
  "test/proxy/recordings.test.ts",
  "test/server/cards.test.ts",
  "test/products/recordings.test.ts",
  "test/ingest/deep-trees.test.ts",
  "test/ingest/kills.test.ts",
  "test/export/tracing-replay.test.ts",
  "test/ingest/newest-first.test.ts",
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification) => LONG.some((path) => moduleId.endsWith(path));
    const sorted = await super.sort(files);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}
