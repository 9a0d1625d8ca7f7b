import { isOn, type Manifest } from "../manifest.ts";

export const otlp = {
  format: "otlp",
  title: "OpenTelemetry",
  switch: "TRACE_TO_OTLP",
  variables:
    "OTEL_EXPORTER_OTLP_ENDPOINT, _HEADERS, _PROTOCOL, _COMPRESSION, _TIMEOUT, OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES",
  // The endpoint alone is not enough, because other programs use it too.
  isTracing: (env) => isOn(env.TRACE_TO_OTLP) && !isOn(env.OTEL_SDK_DISABLED),
  refusesOld: false,
  open: async (env, redaction) => [(await import("./destination.ts")).otlpDestination(env, redaction)],
} as const satisfies Manifest;
