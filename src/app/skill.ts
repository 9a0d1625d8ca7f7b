import { lstatSync } from "node:fs";
import { MAX_SETTINGS } from "../core/tools/limits.ts";
import { PROVIDERS } from "../providers/loaded.ts";
import { privateFolder, writePrivate } from "../transports/private.ts";
import { readText } from "../transports/regular.ts";
import { dirname, join } from "../transports/system/paths.ts";
import { Failure } from "./failure.ts";
import { type Env, retinueHome, userHome } from "./home.ts";

/** Products that read skills. */
export const SKILLED: readonly string[] = PROVIDERS.filter((p) => p.skills !== undefined).map((p) => p.name);

/** A skill in the common format (a folder with a SKILL.md): it tells an agent how to ask about its own tree. */
export const SKILL = `---
name: retinue
description: Shows which agents run in this session and what they do, cost and returned. Use it before you spawn agents, while you wait for agents, if an agent seems stuck or failed, or to see how much of a budget is left.
---

# retinue

\`retinue\` reads the records of coding agents on this machine. It only reads, and needs no set-up. Run it with your shell tool.

| to see | run |
| --- | --- |
| who you are, your siblings and what they do, limits, the whole tree | \`retinue self\` |
| the tree of any thread | \`retinue tree <uri>\` |
| what one agent was asked, did and returned | \`retinue <uri>\` |
| why an agent has this status or parent | \`retinue why <uri>\` |
| messages and tool calls of an agent as JSON lines | \`retinue events <uri>\` |
| earlier work, by words | \`retinue search <words>\` |
| running threads on this machine | \`retinue ls --running\` |

- Every command accepts \`--json\`. A URI is \`<product>://<thread>\` or \`<product>://<thread>/<agent>\`; \`retinue self\` prints yours.
- Before you spawn an agent for a task, check with \`retinue self\` whether a sibling already works on it.
- An agent with the status \`running\` and an activity such as "waits for a permission" cannot continue by itself: tell the user.
- Exit code 1: nothing was found. Do not guess then.
`;

/** A planned change to the file of the skill. */
export interface SkillChange {
  readonly path: string;
  /** Its content now; null if there is none. */
  readonly before: string | null;
  readonly isChanged: boolean;
  /** The content is not what retinue wrote. */
  readonly isEdited: boolean;
  apply(): void;
}

export function planSkill(name: string, env: Env): SkillChange {
  const provider = PROVIDERS.find((p) => p.name === name);
  if (provider?.skills === undefined)
    throw new Failure("usage", `${JSON.stringify(name)} is not a product whose skills folder is known`, [
      `write one of: ${SKILLED.join(", ")}`,
    ]);
  const path = join(provider.skills(env, userHome(env)), "retinue", "SKILL.md");
  const notePath = join(retinueHome(env), "skills", `${name}.md`);
  const before = textAt(path);
  return {
    path,
    before,
    isChanged: before !== SKILL,
    isEdited: before !== null && before !== SKILL && before !== textAt(notePath),
    apply() {
      if (textAt(path) !== before) throw new Failure("failed", `${path} was changed in the meantime`, ["try again"]);
      for (const file of [path, notePath]) {
        privateFolder(dirname(file));
        writePrivate(file, SKILL);
      }
    },
  };
}

function textAt(path: string): string | null {
  const isThere = lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  return isThere ? readText(path, MAX_SETTINGS) : null;
}
