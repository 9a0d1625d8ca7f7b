import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { asSentence } from "./markup.ts";

const notification = (summary: string, rest = "", name = "task") =>
  `<${name}-notification>\n<${name}-id>a1</${name}-id>\n<status>completed</status>\n<summary>${summary}</summary>\n${rest}</${name}-notification>`;

describe("markup as sentences", () => {
  it.each([
    [
      notification('Agent "Run the full test suite" finished', "<result>All 42 pass.</result>\n"),
      "Run the full test suite finished: All 42 pass.",
    ],
    [notification('Agent "Old" completed', "<result>Done.</result>\n", "agent"), "Old completed: Done."],
    [
      notification('Background agent "Outer" didn\'t finish before the previous session ended'),
      "Outer didn't finish before the previous session ended",
    ],
    [
      notification('Background command "npm test" completed (exit code 0)'),
      'Background command "npm test" completed (exit code 0)',
    ],
    [notification(""), "Task a1 completed"],
    [`${notification('Agent "A" finished')}\n${notification('Agent "B" finished')}`, "A finished\nB finished"],
    [
      '<teammate-message teammate_id="alice" summary="s">The API is ready.</teammate-message>',
      "Message from alice: The API is ready.",
    ],
    ['<teammate-message teammate_id="bob">{"type":"idle_notification","from":"bob"}</teammate-message>', "bob is idle"],
    [
      "<command-name>/compact</command-name>\n<command-message>compact</command-message>\n<command-args>briefly</command-args>",
      "Ran /compact briefly",
    ],
    ["<local-command-stdout>Compacted</local-command-stdout>", "Printed: Compacted"],
    ["<local-command-stdout></local-command-stdout>", "Printed nothing"],
    ["<bash-input>ls</bash-input>", "Ran ls"],
    ["<bash-stdout>a</bash-stdout><bash-stderr>b</bash-stderr>", "Printed: a\nb"],
    ["<system-reminder>\nUse tabs.\n</system-reminder>", "Reminder to the model: Use tabs."],
  ])("%s", (text, sentence) => {
    expect(asSentence(text)).toBe(sentence);
  });

  it.each(["Please fix <b>this</b>.", "What does <system-reminder> mean?", "", "a < b"])(
    "is not recognised in user input: %s",
    (text) => {
      expect(asSentence(text)).toBeNull();
    },
  );

  it("is short for any text", () => {
    const tags = [
      "<task-notification>",
      "</task-notification>",
      "<summary>",
      "</summary>",
      "<teammate-message",
      ">",
      "<command-name>",
      "<system-reminder>",
      "x",
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...tags)), (pieces) => (asSentence(pieces.join(""))?.length ?? 0) <= 601),
    );
    expect(asSentence(notification("S", `<result>${"x".repeat(5_000)}</result>`))).toHaveLength(601);
  });
});
