import type { Attach } from "../../core/ports/attach.ts";

/**
 * `--session` resumes a whole session in place, and agents are part of it. A first message is accepted only in prompt
 * mode, which ends after the response (2.1.0). The recorded model is not the alias that `-m` expects.
 */
export const attach: Attach = {
  resume: () => ({
    unable:
      "Kimi Code resumes whole sessions only, in place, and takes a first message only in prompt mode: continue the new session with kimi --continue",
  }),
  begin: (message, _, { args }) => ["kimi", ...args, `--prompt=${message}`],
};
