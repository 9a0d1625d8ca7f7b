import { FindingsOf } from "../../core/ports/findings.ts";
import type { Parser, SourceFile } from "../../core/ports/provider.ts";
import { decodeText } from "../../core/tools/json.ts";
import { STARTER_VARIABLES, startersIn } from "../kit/launch/environment.ts";
import * as key from "./keys.ts";

/**
 * `shell_snapshots/<thread>.<nanoseconds>.sh`: the environment of the process, written when it starts and removed on a
 * clean exit. It contains secrets: only the variables that name a parent are searched for, and only they are kept.
 */
export function shellSnapshot(thread: string, startedAt: number, file: SourceFile): Parser {
  const speaker = key.thread(thread);
  return {
    push(record) {
      const out = new FindingsOf({ path: file.path, line: 0, at: startedAt, speaker, keys: [] });
      const { text } = decodeText(record);
      const starters = startersIn(Object.fromEntries(STARTER_VARIABLES.map((name) => [name, variableIn(text, name)])));
      // Nothing follows from missing variables: some products that start agents set none.
      if (starters.length > 0) out.add({ type: "starter-seen", thread: speaker, starters });
      return out;
    },
    events: () => [],
    save: () => null,
  };
}

const variableIn = (text: string, name: string) =>
  new RegExp(`^declare -x ${name}="([\\w-]{1,100})"$`, "m").exec(text)?.[1];
