/** What people call the kinds of events. */
const KIND_WORDS: Readonly<Record<string, string>> = {
  user: "Asked",
  assistant: "Said",
  reasoning: "Thought",
  toolCall: "Tool",
  toolResult: "Result",
  spawn: "Spawned",
  status: "Status",
  compaction: "Compacted",
  error: "Error",
  note: "Note",
};

export const kindInWords = (kind: string) => KIND_WORDS[kind] ?? kind;
