import type { AgentKey } from "../../core/facts/ids.ts";
import { redacted } from "../../core/redaction/redact-story.ts";
import { type RedactionRules, Redactor } from "../../core/redaction/redaction.ts";
import type { Story } from "../../core/views/story.ts";
import { htmlPage } from "../../exporters/html/page.ts";
import { jsonTree } from "../../exporters/json/tree.ts";
import { markdownDocument } from "../../exporters/markdown/document.ts";
import { perfettoTrace } from "../../exporters/perfetto/trace.ts";
import type { Library } from "../ingest/library.ts";
import type { FileFormat } from "./formats.ts";
import { readStory } from "./story.ts";

const RENDER: Readonly<Record<FileFormat, (story: Story, rules: RedactionRules) => string>> = {
  perfetto: perfettoTrace,
  html: htmlPage,
  markdown: markdownDocument,
  json: (story, { level }) => jsonTree(story, level),
};

/** Exports an agent with its subtree as one redacted file. */
export async function renderFile(
  format: FileFormat,
  library: Library,
  key: AgentKey,
  rules: RedactionRules,
): Promise<string> {
  const story = await readStory(library, library.forestOf([key]), key);
  return RENDER[format](redacted(story, new Redactor(rules)), rules);
}
