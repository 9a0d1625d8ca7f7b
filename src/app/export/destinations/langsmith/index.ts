import { isOn, type Manifest } from "../manifest.ts";

export const langSmith = {
  format: "langsmith",
  title: "LangSmith",
  switch: "TRACE_TO_LANGSMITH",
  variables:
    "CC_LANGSMITH_API_KEY or LANGSMITH_API_KEY, CC_LANGSMITH_PROJECT, LANGSMITH_ENDPOINT, CC_LANGSMITH_METADATA and others (docs/export.md)",
  isTracing: (env) => isOn(env.TRACE_TO_LANGSMITH),
  refusesOld: true,
  open: async (env, redaction, isPreview) =>
    (await import("./destination.ts")).langSmithDestinations(env, redaction, isPreview),
} as const satisfies Manifest;
