/** Stories of recordings, for tests of exporters. */

import { dirname } from "node:path";
import { readStory } from "../../src/app/export/story.ts";
import { readMachine } from "../../src/app/machine.ts";
import type { Story } from "../../src/core/views/story.ts";
import { homeEnv } from "./fixtures.ts";

const known = new Map<string, Promise<readonly Story[]>>();

/** One for each thread of a home; no recorded agent is running. Recordings do not change, so each is read once. */
export function storiesOf(home: string): Promise<readonly Story[]> {
  const stories = known.get(home) ?? readStories(home);
  known.set(home, stories);
  return stories;
}

async function readStories(home: string): Promise<readonly Story[]> {
  // Recordings of retinue itself are next to the home.
  const env = { ...homeEnv(home), RETINUE_HOME: dirname(home) };
  const { forest, library } = await readMachine({ env, liveness: () => "gone" });
  const stories: Story[] = [];
  for (const root of forest.roots) stories.push(await readStory(library, forest, root));
  return stories;
}
