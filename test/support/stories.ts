/** Stories of recordings, for tests of exporters. */

import { dirname } from "node:path";
import { readStory } from "../../src/app/export/story.ts";
import { readMachine } from "../../src/app/machine.ts";
import type { Story } from "../../src/core/views/story.ts";
import { homeEnv } from "./fixtures.ts";

/** One for each thread of a home; no recorded agent is running. */
export async function storiesOf(home: string): Promise<Story[]> {
  // Recordings of retinue itself are next to the home.
  const env = { ...homeEnv(home), RETINUE_HOME: dirname(home) };
  const { forest, library } = await readMachine({ env, liveness: () => "gone" });
  const stories: Story[] = [];
  for (const root of forest.roots) stories.push(await readStory(library, forest, root));
  return stories;
}
