export const EXPORT_HELP = `
langsmith  CC_LANGSMITH_API_KEY or LANGSMITH_API_KEY, CC_LANGSMITH_PROJECT, LANGSMITH_ENDPOINT, CC_LANGSMITH_METADATA and the rest
otlp       OTEL_EXPORTER_OTLP_ENDPOINT, _HEADERS, _PROTOCOL, _COMPRESSION, _TIMEOUT, OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES
Both are sent to as agents work while a server runs, or by hooks, with TRACE_TO_LANGSMITH=true or TRACE_TO_OTLP=true.
What is sent waits in an outbox until it has arrived: retinue outbox.`;
