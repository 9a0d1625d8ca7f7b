import { describe, expect, it } from "vitest";
import { readUserText } from "./prompt.ts";

describe("the prompt of a person", () => {
  it.each([
    ["plain words", "Do it.", "Do it."],
    [
      "a message among team mates",
      '<teammate-message teammate_id="lead" color="blue">\nDo it.\n</teammate-message>',
      "Do it.",
    ],
    [
      "a workflow's task, indented by the harness",
      "[Workflow harness: task 1]\n  Do it.\n    Twice.",
      "Do it.\n  Twice.",
    ],
    [
      "a command with arguments",
      "<command-message>review</command-message>\n<command-name>/review</command-name>\n<command-args>the last commit</command-args>",
      "/review the last commit",
    ],
    ["a command without any", "<command-name>/review</command-name>", "/review"],
    [
      "words about a command",
      "What does <command-name>/clear</command-name> do?",
      "What does <command-name>/clear</command-name> do?",
    ],
    ["a message among team mates that is empty", "<teammate-message></teammate-message>", ""],
    [
      "a message that quotes another",
      "<teammate-message>He said <teammate-message>x</teammate-message>.\n</teammate-message> ",
      "He said <teammate-message>x</teammate-message>.",
    ],
    ["a frame that is not closed", "<teammate-message>x", "<teammate-message>x"],
    [
      "words with a team mate's message inside",
      "See <teammate-message>x</teammate-message> there.",
      "See <teammate-message>x</teammate-message> there.",
    ],
  ])("%s", (_what, text, words) => {
    expect(readUserText(text)).toEqual({ is: "prompt", text: words });
  });

  it.each([
    [
      "a built-in command",
      "<command-name>/clear</command-name>\n<command-message>clear</command-message>\n<command-args></command-args>",
    ],
    ["what it printed", "<local-command-stdout>Cleared.</local-command-stdout>"],
    ["a shell line of the person's own", "<bash-input>ls</bash-input>"],
    ["what that printed", "<bash-stdout>a.txt</bash-stdout><bash-stderr></bash-stderr>"],
  ])("is empty in %s", (_what, text) => {
    expect(readUserText(text)).toEqual({ is: "local" });
  });

  it.each(["[Request interrupted by user]", "[Request interrupted by user for tool use]"])("is empty in %s", (text) => {
    expect(readUserText(text)).toEqual({ is: "interrupt" });
  });

  it.each([
    ["blanks in a frame that is not closed", `<teammate-message>${" ".repeat(100_000)}x`],
    ["arguments that are never closed", `<command-name>/review</command-name>${"<command-args>".repeat(200_000)}`],
    ["reminders that are never closed", "<system-reminder>".repeat(200_000)],
    ["reminders by the thousand", "<system-reminder>x</system-reminder>".repeat(20_000)],
  ])("is found in linear time in %s", (_what, text) => {
    expect(readUserText(text).is).toBe("prompt");
  });
});
