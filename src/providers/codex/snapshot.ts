import { FindingsOf } from "../../core/ports/findings.ts";
import type { Parser, SourceFile } from "../../core/ports/provider.ts";
import { decodeText } from "../../core/tools/json.ts";
import { startersIn } from "../kit/launch/environment.ts";
import * as key from "./keys.ts";

/** The variables that are searched for in a snapshot. */
const READ = ["CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID"];

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
      const starters = startersIn(Object.fromEntries(READ.map((name) => [name, variableIn(text, name)])));
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
