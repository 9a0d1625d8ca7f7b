/** The stories that recordings tell, for those who test exporters. */

import { readStory } from "../src/app/export/story.ts";
import { readMachine } from "../src/app/machine.ts";
import type { Story } from "../src/core/story.ts";
import { homeEnv } from "./fixtures.ts";

/** One for each thread of a home; nobody in a recording is alive any more. */
export async function storiesOf(home: string): Promise<Story[]> {
  const { forest, library } = await readMachine({ env: homeEnv(home), liveness: () => "gone" });
  const stories: Story[] = [];
  for (const root of forest.roots) stories.push(await readStory(library, forest, root));
  return stories;
}
