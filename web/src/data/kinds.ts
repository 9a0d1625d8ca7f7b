/** Labels of event kinds. */
const KIND_LABELS: Readonly<Record<string, string>> = {
  user: "User",
  assistant: "Assistant",
  reasoning: "Reasoning",
  toolCall: "Tool",
  toolResult: "Result",
  spawn: "Spawned",
  status: "Status",
  compaction: "Compacted",
  error: "Error",
  note: "Note",
};

export const kindLabel = (kind: string) => KIND_LABELS[kind] ?? kind;
