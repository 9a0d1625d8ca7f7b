import { describe, expect, it } from "vitest";
import { mailIn, notificationsIn } from "./mail.ts";
import type { Row } from "./rows.ts";

const CIPHER = `gAAAA${"x".repeat(60)}==`;
const row = (type: string, payload: object): Row => ({
  type,
  at: 0,
  ordinal: null,
  payload: payload as Row["payload"],
});
const letter = (kind: string, ...parts: object[]) =>
  row("response_item/agent_message", {
    author: "/root",
    recipient: "/root/a",
    content: [
      { type: "input_text", text: `Message Type: ${kind}\nTask name: /root/a\nSender: /root\nPayload:\n` },
      ...parts,
    ],
  });

describe("a message from one agent to another", () => {
  it.each([
    ["a task", letter("NEW_TASK", { encrypted_content: "do it" }), { is: "task", text: "do it" }],
    ["an encrypted task", letter("NEW_TASK", { encrypted_content: CIPHER }), { is: "task", text: null }],
    ["a message", letter("MESSAGE", { text: "a hint" }), { is: "message", text: "a hint" }],
    ["an answer", letter("FINAL_ANSWER", { text: "done" }), { is: "result", text: "done" }],
    [
      "a task of 0.140",
      row("inter_agent_communication", {
        author: "/root",
        recipient: "/root/a",
        content: "",
        encrypted_content: "do it",
        trigger_turn: true,
      }),
      { is: "task", text: "do it" },
    ],
    [
      "a task of 0.135, as the assistant's words",
      row("response_item/message", {
        role: "assistant",
        content: [
          { text: JSON.stringify({ author: "/root", recipient: "/root/a", content: "do it", trigger_turn: true }) },
        ],
      }),
      { is: "task", text: "do it" },
    ],
  ])("%s", (_name, of, mail) => {
    expect(mailIn(of)).toEqual({ author: "/root", recipient: "/root/a", ...mail });
  });

  it("is not JSON in the text of an assistant", () => {
    expect(
      mailIn(
        row("response_item/message", {
          role: "assistant",
          content: [{ text: '{"author":"Kafka","recipient":"Milena"}' }],
        }),
      ),
    ).toBeNull();
  });
});

it("includes the product's notifications about agents, by thread or by path", () => {
  const text = (agent: object) => `<subagent_notification>\n${JSON.stringify(agent)}\n</subagent_notification>`;
  expect(
    notificationsIn(
      text({ agent_id: "t1", status: "shutdown" }) + text({ agent_path: "/root/a", status: { completed: "x" } }),
    ),
  ).toEqual([
    { agent: "t1", status: "shutdown" },
    { agent: "/root/a", status: { completed: "x" } },
  ]);
  expect(notificationsIn("<subagent_notification>junk</subagent_notification>")).toEqual([]);
});
