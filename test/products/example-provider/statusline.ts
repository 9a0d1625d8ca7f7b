import type { StatusLine } from "../../../src/core/ports/manifest.ts";
import { asNonBlank } from "../../../src/core/tools/json.ts";

export const statusLine: StatusLine = {
  read(json) {
    const thread = asNonBlank(json.example_thread);
    return thread === null
      ? null
      : { thread, transcript: asNonBlank(json.transcript), folder: null, rows: null, columns: null, costUsd: null };
  },
};
