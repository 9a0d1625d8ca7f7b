/** Markup that products write for their models is shown as sentences; the markup itself stays in `text`. */
import { describe, expect, it } from "vitest";
import type { AgentEvent } from "../../src/core/views/event.ts";
import { retinue } from "../support/cli.ts";
import { recordedHome } from "../support/fixtures.ts";

const MARKUP = /<\/?(?:task|agent)-notification>|<teammate-message|<(?:local-)?command-|<system-reminder>|<task id=/;

async function eventsOf(provider: string, name: string, uri: string): Promise<AgentEvent[]> {
  const { stdout } = await retinue(recordedHome(provider, name).home, ["events", uri, "--subtree"]);
  return stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as AgentEvent);
}

describe("an event whose text is markup", () => {
  it.each([
    ["claude", "d-background", "Background A finished: "],
    ["claude", "u-nested-bg", " finished: "],
    ["claude", "j-compact", "Ran /compact"],
    ["claude", "m2-teams", "finished"],
    ["opencode", "background", "Background job completed: bg result", "opencode://ses_e1f19a12fffe5JL966sN26dSLC"],
  ])("shows it as a sentence: %s %s", async (provider, name, sentence, uri = "latest") => {
    const events = (await eventsOf(provider, name, uri)).filter(({ kind }) => kind === "user" || kind === "note");
    const summaries = events.flatMap(({ summary }) => summary ?? []);
    expect(summaries).toContainEqual(expect.stringContaining(sentence));
    expect(summaries.filter((summary) => MARKUP.test(summary))).toEqual([]);
    expect(
      events.filter(({ text, summary }) => summary === null && /^\s*</.test(text ?? "") && MARKUP.test(text ?? "")),
    ).toEqual([]);
    expect(events.filter(({ summary, text }) => summary !== null && !MARKUP.test(text ?? ""))).toEqual([]);
  });

  it("is a sentence in the Markdown view, with the record itself on request", async () => {
    const { home } = recordedHome("claude", "d-background");
    const { stdout } = await retinue(home, ["latest", "--full"]);
    expect(stdout).toMatch(/\n\nBackground A finished: [^\n]+\n\n```\n<task-notification>/);
  });
});
