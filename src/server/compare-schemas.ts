/** Schemas of `/compare`. */
import * as v from "valibot";
import { STATUSES } from "../core/link/status.ts";
import { MEASURES } from "../core/views/compare.ts";

const measured = v.object(Object.fromEntries(MEASURES.map((measure) => [measure, v.nullable(v.number())])));
const agent = v.object({
  uri: v.string(),
  name: v.string(),
  type: v.nullable(v.string()),
  status: v.picklist(STATUSES),
  model: v.array(v.string()),
  own: measured,
  tools: v.record(v.string(), v.number()),
  files: v.array(v.string()),
});
const spread = v.object({ threads: v.number(), least: v.number(), median: v.number(), most: v.number() });

export const Compared = v.pipe(
  v.object({
    left: v.array(v.string()),
    right: v.array(v.string()),
    trees: v.pipe(
      v.nullable(
        v.object({
          left: measured,
          right: measured,
          agents: v.array(
            v.object({
              depth: v.number(),
              matchedBy: v.nullable(v.picklist(["thread", "prompt", "description", "type", "place"])),
              left: v.nullable(agent),
              right: v.nullable(agent),
              differs: v.array(v.string()),
            }),
          ),
        }),
      ),
      v.description("null if one side has several threads"),
    ),
    measures: v.array(
      v.object({
        measure: v.picklist(MEASURES),
        left: v.nullable(spread),
        right: v.nullable(spread),
        difference: v.picklist(["clear", "few", "none", "unknown"]),
        chance: v.nullable(v.number()),
      }),
    ),
  }),
  v.metadata({ ref: "Compared" }),
);

export const CompareQuery = v.strictObject({
  left: v.pipe(v.string(), v.description("a URI, or several, separated by commas")),
  right: v.pipe(v.string(), v.description("the other side: a URI, or several, separated by commas")),
});
