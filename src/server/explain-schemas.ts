/** Schemas of `/explain` and `/files`. */
import * as v from "valibot";
import { FILE_USES } from "../core/views/files.ts";
import { FINDING_KINDS } from "../core/views/findings/finding.ts";
import { count, text, time, Usage } from "./schemas.ts";

const ref = v.nullable(
  v.union([v.object({ path: v.string(), line: count }), v.object({ path: v.string(), row: v.string() })]),
);
export const Explanation = v.pipe(
  v.object({
    uri: v.string(),
    agents: count,
    findings: v.array(
      v.object({
        kind: v.picklist(FINDING_KINDS),
        agents: v.array(v.string()),
        says: v.string(),
        evidence: v.array(v.object({ says: v.string(), uri: v.string(), event: text, ref, at: time })),
        durationMs: v.nullable(v.number()),
      }),
    ),
    lost: v.pipe(Usage, v.description("own usage of agents without a result, or whose result was not used")),
    time: v.object({
      criticalMs: v.nullable(v.number()),
      path: v.array(v.object({ uri: v.string(), ms: v.number(), share: v.number(), waitedMs: v.number() })),
    }),
    cost: v.object({
      total: Usage,
      branches: v.array(v.object({ uri: v.string(), isOwn: v.boolean(), usage: Usage })),
    }),
  }),
  v.metadata({ ref: "Explanation" }),
);

const change = v.nullable(
  v.union([
    v.object({
      is: v.literal("edits"),
      edits: v.array(v.object({ path: text, before: v.string(), after: v.string() })),
    }),
    v.object({ is: v.literal("patch"), patch: v.string() }),
  ]),
);
export const Files = v.pipe(
  v.object({
    items: v.array(
      v.object({
        path: v.string(),
        reads: count,
        writes: count,
        edits: count,
        agents: v.array(v.string()),
        uses: v.array(
          v.object({
            uri: v.string(),
            kind: v.picklist(FILE_USES),
            at: time,
            event: v.string(),
            ref,
            tool: text,
            isError: v.boolean(),
            change: v.pipe(change, v.description("shortened if it is long")),
          }),
        ),
      }),
    ),
    next: v.null(),
  }),
  v.metadata({ ref: "Files" }),
);
