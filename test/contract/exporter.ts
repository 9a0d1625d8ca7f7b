/**
 * The contract of all exporters: every agent once, every model call once, deterministic, no secrets, no active content.
 */
import { expect, it } from "vitest";
import type { Usage } from "../../src/core/facts/usage.ts";
import { redacted } from "../../src/core/redaction/redact-story.ts";
import { Redactor } from "../../src/core/redaction/redaction.ts";
import { everyone, type Story } from "../../src/core/views/story.ts";
import { recordedHomes } from "../support/fixtures.ts";
import { storiesOf } from "../support/stories.ts";

/** The content of an export, parsed from its output. */
export interface ReadBack {
  /** The agents below the thread; each must occur once. */
  readonly agents: readonly { readonly uri: string; readonly parent: string | null }[];
  /** The tokens of every model call, in any order: input including caches, and output including reasoning. */
  readonly calls: readonly { readonly input: number; readonly output: number }[];
}

export interface ExporterContract {
  readonly write: (story: Story) => string;
  /** Parses the output of `write`. */
  readonly read: (text: string) => ReadBack;
}

const SECRETS = ["DB_PASSWORD=hunter2secret", "ghp_abcdefghijklmnopqrstuvwxyz0123456789"] as const;

export function exporterContract(provider: string, { write, read }: ExporterContract): void {
  it(`${provider}: every agent once, below its parent; every model call once; equal output each time`, async () => {
    for (const { home } of recordedHomes(provider)) {
      for (const [i, story] of (await storiesOf(home)).entries()) {
        const text = write(story);
        if (i === 0) expect(write(story)).toBe(text);
        const { agents, calls } = read(text);
        const known = [...everyone(story)].slice(1).map(({ record: { uri, parent } }) => ({ uri, parent }));
        expect(agents.toSorted(byUri)).toEqual(known.toSorted(byUri));
        expect(calls.length).toBe(story.record.usage.subtree.calls);
        expect(sumsOf([...calls, ...undividedIn(story)])).toEqual(totalsOf(story));
      }
    }
  });

  it(`${provider}: contains no secrets and no active content`, async () => {
    const [home] = recordedHomes(provider);
    for (const story of await storiesOf(home?.home ?? "")) {
      const spoilt = withTexts(
        story,
        `</script><img src=x onerror=alert(1)> ${SECRETS.join(" ")} \u202e\u0000 \ud800 "; --boundary`,
      );
      const text = write(redacted(spoilt, new Redactor({ level: "full", patterns: [], paths: [] })));
      for (const secret of ["hunter2secret", SECRETS[1]]) expect(text).not.toContain(secret);
      read(text);
      const bare = write(redacted(spoilt, new Redactor({ level: "metadata", patterns: [], paths: [] })));
      expect(bare).not.toContain("onerror");
    }
  });
}

const byUri = (a: { readonly uri: string }, b: { readonly uri: string }) => (a.uri < b.uri ? -1 : 1);

function sumsOf(calls: ReadBack["calls"]) {
  return calls.reduce((sum, call) => ({ input: sum.input + call.input, output: sum.output + call.output }), {
    input: 0,
    output: 0,
  });
}

/** Usage that the tree knows only from the product's total. */
function undividedIn(story: Story): ReadBack["calls"] {
  return [...everyone(story)].flatMap(({ undivided }) =>
    undivided.map(({ inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens }) => ({
      input: inputTokens + cacheReadTokens + cacheWriteTokens,
      output: outputTokens,
    })),
  );
}

function totalsOf(story: Story) {
  const used: Usage = story.record.usage.subtree;
  const beside = [...everyone(story)]
    .flatMap(({ calls }) => calls)
    .reduce((sum, call) => sum + call.allOutput - call.tokens.outputTokens, 0);
  return { input: used.inputTokens + used.cacheReadTokens + used.cacheWriteTokens, output: used.outputTokens + beside };
}

function withTexts(story: Story, text: string): Story {
  const [, key] = SECRETS;
  const names = { type: key, cwd: `/home/dev/${key}`, project: key, branch: key, model: [key] };
  const texts = { title: text, name: text, description: text, prompt: text, result: text, statusReason: text };
  return {
    ...story,
    record: { ...story.record, ...names, ...texts },
    calls: story.calls.map((call) => ({ ...call, model: key })),
    steps: story.steps.map((step) => ({
      ...step,
      event: {
        ...step.event,
        text: step.event.text === null ? null : text,
        tool: step.event.tool && { ...step.event.tool, name: key, input: { command: text } },
      },
    })),
    children: story.children.map((child) => withTexts(child, text)),
  };
}
